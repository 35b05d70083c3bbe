//! Decodes coded blocks to scanlines of samples.

use super::bits::SzipBitReader;
use super::{BlockCode, PAIR_SUM, SEGMENT, TO_THE_END, predict};

/// The reason why decoding stops.
pub(super) type Damage = &'static str;

const ENDS: Damage = "the stream ends";

/// Decodes a scanline. `samples` has room for all its blocks. Blocks with the first `wanted` samples must be
/// present.
///
/// Some encoders leave out the padding of the last scanline.
pub(super) fn line(
    code: BlockCode,
    bits: &mut SzipBitReader<'_>,
    samples: &mut [u16],
    wanted: usize,
) -> Result<(), Damage> {
    let (mut rest, mut at) = (&mut *samples, 0);
    while !rest.is_empty() && (at * code.block < wanted || bits.left() >= 8) {
        let done = blocks(code, bits, rest, at)?;
        (rest, at) = (rest.get_mut(done * code.block..).unwrap_or_default(), at + done);
    }
    if code.predict {
        let done = samples.len().min(at * code.block);
        predict::undo(&mut samples[..done], code.max());
    }
    Ok(())
}

/// Decodes the next blocks of a scanline that are coded together, from block `at` on. Returns their number.
fn blocks(
    code: BlockCode,
    bits: &mut SzipBitReader<'_>,
    rest: &mut [u16],
    at: usize,
) -> Result<usize, Damage> {
    let first = usize::from(code.predict && at == 0);
    let id = u32::from(bits.number(code.id_bits()).ok_or(ENDS)?);
    let pairs = id == 0 && bits.number(1).ok_or(ENDS)? == 1;
    let (block, _) = rest.split_at_mut_checked(code.block).ok_or("a scanline has no whole blocks")?;
    if id == code.plain_id() {
        numbers(block, bits, code.bits)?;
        return Ok(1);
    }
    let (reference, block) = block.split_at_mut(first);
    numbers(reference, bits, code.bits)?;
    match id.checked_sub(1) {
        Some(low) => split(block, bits, low, code.max())?,
        None if pairs => self::pairs(block, bits, first)?,
        None => {
            let count = zeros(code, bits, at)?;
            rest.get_mut(first..count * code.block).ok_or("zeros go beyond the end of a scanline")?.fill(0);
            return Ok(count);
        }
    }
    Ok(1)
}

fn numbers(samples: &mut [u16], bits: &mut SzipBitReader<'_>, width: u32) -> Result<(), Damage> {
    for sample in samples {
        *sample = bits.number(width).ok_or(ENDS)?;
    }
    Ok(())
}

/// Decodes all samples without their `low` lowest bits, then these bits.
fn split(samples: &mut [u16], bits: &mut SzipBitReader<'_>, low: u32, max: u16) -> Result<(), Damage> {
    for sample in samples.iter_mut() {
        let high = bits.zeros().ok_or(ENDS)?;
        let high =
            u16::try_from(high).ok().filter(|&high| high <= max >> low).ok_or("a sample is too large")?;
        *sample = high << low;
    }
    if low > 0 {
        for sample in samples {
            *sample |= bits.number(low).ok_or(ENDS)?;
        }
    }
    Ok(())
}

/// Decodes two samples per number. If a reference sample replaces the first of a pair, that one is 0.
fn pairs(samples: &mut [u16], bits: &mut SzipBitReader<'_>, first: usize) -> Result<(), Damage> {
    let (alone, samples) = samples.split_at_mut(first);
    let mut next = || {
        let number = bits.zeros().ok_or(ENDS)?;
        let sum = (0..=PAIR_SUM as usize)
            .find(|sum| number < (sum + 1) * (sum + 2) / 2)
            .ok_or("a pair is too large")?;
        let second = number - sum * (sum + 1) / 2;
        Ok::<_, Damage>([sum - second, second].map(|sample| sample as u16))
    };
    if let Some(second) = alone.first_mut() {
        let pair = next()?;
        if pair[0] != 0 {
            return Err("a pair has a sample beside the reference");
        }
        *second = pair[1];
    }
    for pair in samples.as_chunks_mut::<2>().0 {
        *pair = next()?;
    }
    Ok(())
}

/// Returns the number of zero blocks from block `at` on.
fn zeros(code: BlockCode, bits: &mut SzipBitReader<'_>, at: usize) -> Result<usize, Damage> {
    let number = bits.zeros().ok_or(ENDS)?.saturating_add(1);
    let left = code.blocks.saturating_sub(at);
    let count = match number {
        TO_THE_END => left.min(SEGMENT - at % SEGMENT),
        few if few < TO_THE_END => few,
        more => more - 1,
    };
    if count <= left { Ok(count) } else { Err("zeros go beyond the end of a scanline") }
}
