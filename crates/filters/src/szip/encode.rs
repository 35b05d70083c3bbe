//! Encodes scanlines of samples to blocks, each in its shortest form.

use nczarr_model::Result;

use super::bits::SzipBitWriter;
use super::{BlockCode, PAIR_SUM, SEGMENT, TO_THE_END, predict};

/// Encodes a scanline of whole blocks.
pub(super) fn line(code: BlockCode, samples: &mut [u16], bits: &mut SzipBitWriter<'_, '_>) -> Result<()> {
    let mut reference = None;
    if code.predict {
        predict::apply(samples, code.max());
        // The reference sample is stored alone, and counts as 0 in its block.
        reference = samples.first_mut().map(std::mem::take);
    }
    let mut zeros = 0;
    for (at, block) in samples.chunks_exact(code.block).enumerate() {
        if block.iter().all(|&sample| sample == 0) {
            zeros += 1;
            if (at + 1) % SEGMENT == 0 || at + 1 == code.blocks {
                put_zeros(code, reference.take(), zeros, true, bits)?;
                zeros = 0;
            }
            continue;
        }
        if zeros > 0 {
            put_zeros(code, reference.take(), zeros, false, bits)?;
            zeros = 0;
        }
        put_block(code, reference.take(), block, bits)?;
    }
    Ok(())
}

fn put_zeros(
    code: BlockCode,
    reference: Option<u16>,
    blocks: usize,
    to_the_end: bool,
    bits: &mut SzipBitWriter<'_, '_>,
) -> Result<()> {
    bits.number(0, code.id_bits() + 1)?;
    put_reference(code, reference, bits)?;
    let number = match blocks {
        few if few < TO_THE_END => few,
        _ if to_the_end => TO_THE_END,
        more => more + 1,
    };
    bits.zeros(number - 1)
}

fn put_reference(code: BlockCode, reference: Option<u16>, bits: &mut SzipBitWriter<'_, '_>) -> Result<()> {
    reference.map_or(Ok(()), |reference| bits.number(reference.into(), code.bits))
}

fn put_block(
    code: BlockCode,
    reference: Option<u16>,
    block: &[u16],
    bits: &mut SzipBitWriter<'_, '_>,
) -> Result<()> {
    let samples = block.get(usize::from(reference.is_some())..).unwrap_or_default();
    let plain = samples.len() as u64 * u64::from(code.bits);
    let (low, split) = best_split(code, samples);
    let pairs = pairs_bits(block);
    if plain <= split && plain <= pairs {
        bits.number(code.plain_id(), code.id_bits())?;
        put_reference(code, reference, bits)?;
        return samples.iter().try_for_each(|&sample| bits.number(sample.into(), code.bits));
    }
    if split < pairs {
        bits.number(low + 1, code.id_bits())?;
        put_reference(code, reference, bits)?;
        samples.iter().try_for_each(|&sample| bits.zeros((sample >> low).into()))?;
        let mask = (1 << low) - 1;
        return samples.iter().try_for_each(|&sample| bits.number(u32::from(sample) & mask, low));
    }
    bits.number(1, code.id_bits() + 1)?;
    put_reference(code, reference, bits)?;
    block.as_chunks::<2>().0.iter().try_for_each(|&pair| {
        let (sum, second) = (usize::from(pair[0]) + usize::from(pair[1]), usize::from(pair[1]));
        bits.zeros(sum * (sum + 1) / 2 + second)
    })
}

/// Returns the best number of low bits to split off, and the size in bits. The size first falls, then rises.
fn best_split(code: BlockCode, samples: &[u16]) -> (u32, u64) {
    let mut best = (0, u64::MAX);
    for low in 0..=code.plain_id() - 2 {
        let high: u64 = samples.iter().map(|&sample| u64::from(sample >> low)).sum();
        let length = high + samples.len() as u64 * (u64::from(low) + 1);
        if length >= best.1 {
            break;
        }
        best = (low, length);
    }
    best
}

/// Returns the size of paired coding in bits with its flag bit; the maximum if a pair is too large.
fn pairs_bits(block: &[u16]) -> u64 {
    let mut length = 1;
    for pair in block.as_chunks::<2>().0 {
        let (sum, second) = (u32::from(pair[0]) + u32::from(pair[1]), u32::from(pair[1]));
        if sum > PAIR_SUM {
            return u64::MAX;
        }
        length += u64::from(sum * (sum + 1) / 2 + second + 1);
    }
    length
}
