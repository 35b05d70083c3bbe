//! Encodes blocks of literals only. Each byte gets a Huffman code; there are no matches.
//!
//! [`super::incompressible`] chooses the bytes.
//!
//! Source: RFC 1951, 3.2.2 and 3.2.7.

use std::array;

use super::incompressible::histogram;
use super::stream::{StreamFailure, StreamWriter};

/// Bytes that share one set of codes.
const BLOCK: usize = 64 << 10;
/// Longest code in bits. Four codes and the pending bits make at most 63 bits.
const LONGEST: u32 = 14;
/// The symbol that ends a block.
const END: usize = 256;
/// Code lengths written: literals, the end symbol, and two unused distances. Some decoders reject a single
/// distance code.
const LENGTHS: usize = END + 1 + 2;
/// Symbols of the largest code, and the inner nodes of its tree.
const NODES: usize = 2 * (END + 1);
/// The order of the lengths of the code-length code.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// Appends bytes as blocks of literals, or as stored blocks where they are shorter.
pub(super) fn put(src: &[u8], stream: &mut StreamWriter<'_>) -> Result<(), StreamFailure> {
    for block in src.chunks(BLOCK) {
        let mut counts = [0; END + 1];
        counts[..END].copy_from_slice(&histogram(block));
        counts[END] = 1;
        let lengths: [u8; END + 1] = lengths(&counts, LONGEST);
        let bits: usize =
            counts.iter().zip(lengths).map(|(&count, len)| count as usize * usize::from(len)).sum();
        // The codes themselves take 50 to 250 bytes.
        if bits / 8 + 256 > block.len() {
            stream.store(block)?;
            continue;
        }
        stream.put(0b100, 3)?;
        put_code_lengths(&lengths, stream)?;
        let codes: [u32; END + 1] = codes(&lengths);
        let (fours, rest) = block.as_chunks::<4>();
        for four in fours {
            let (mut bits, mut count) = (0, 0);
            for &byte in four {
                let code = codes[usize::from(byte)];
                bits |= u64::from(code >> 8) << count;
                count += code & 0xff;
            }
            stream.put(bits, count)?;
        }
        for symbol in rest.iter().map(|&byte| usize::from(byte)).chain([END]) {
            stream.put(u64::from(codes[symbol] >> 8), codes[symbol] & 0xff)?;
        }
    }
    Ok(())
}

/// Appends the code lengths of a block, in their own code.
fn put_code_lengths(literals: &[u8; END + 1], stream: &mut StreamWriter<'_>) -> Result<(), StreamFailure> {
    let mut all = [1; LENGTHS];
    all[..=END].copy_from_slice(literals);
    // Symbols, with extra bits: their number and value.
    let mut symbols = Vec::with_capacity(LENGTHS);
    for run in all.chunk_by(|a, b| a == b) {
        let (value, mut left) = (run[0], run.len());
        if value != 0 {
            symbols.push((value, 0, 0));
            left -= 1;
        }
        while left > 0 {
            let taken = match (value, left) {
                (0, 11..) => left.min(138),
                (0, 3..) => left.min(10),
                (1.., 3..) => left.min(6),
                _ => 1,
            };
            symbols.push(match (value, taken) {
                (value, 1) => (value, 0, 0),
                (0, 11..) => (18, taken as u64 - 11, 7),
                (0, _) => (17, taken as u64 - 3, 3),
                _ => (16, taken as u64 - 3, 2),
            });
            left -= taken;
        }
    }
    let mut counts = [0; 19];
    symbols.iter().for_each(|&(symbol, ..)| counts[usize::from(symbol)] += 1);
    let lengths: [u8; 19] = lengths(&counts, 7);
    let codes: [u32; 19] = codes(&lengths);
    let kept = 1 + ORDER.iter().rposition(|&symbol| lengths[symbol] > 0).unwrap_or(3).max(3);
    stream.put((LENGTHS - 2 - 257) as u64 | 1 << 5 | (kept as u64 - 4) << 10, 14)?;
    for &symbol in &ORDER[..kept] {
        stream.put(lengths[symbol].into(), 3)?;
    }
    for (symbol, number, bits) in symbols {
        let code = codes[usize::from(symbol)];
        stream.put(u64::from(code >> 8) | number << (code & 0xff), (code & 0xff) + bits)?;
    }
    Ok(())
}

/// Returns code lengths for symbol counts; 0 for unused symbols. No code is longer than `longest`. The code
/// is complete if there are two or more symbols.
fn lengths<const N: usize>(counts: &[u32; N], longest: u32) -> [u8; N] {
    let mut counts = *counts;
    loop {
        let found = huffman(&counts);
        if found.iter().all(|&len| u32::from(len) <= longest) {
            return found;
        }
        // Makes the counts more alike, and in the end equal.
        counts.iter_mut().filter(|count| **count > 0).for_each(|count| *count = *count / 2 + 1);
    }
}

/// Returns Huffman code lengths: joins the two rarest nodes repeatedly.
fn huffman<const N: usize>(counts: &[u32; N]) -> [u8; N] {
    let mut rare: [usize; N] = array::from_fn(|symbol| symbol);
    rare.sort_unstable_by_key(|&symbol| (counts[symbol] == 0, counts[symbol], symbol));
    let leaves = counts.iter().filter(|&&count| count > 0).count();
    let mut lengths = [0; N];
    if leaves < 2 {
        rare[..leaves].iter().for_each(|&only| lengths[only] = 1);
        return lengths;
    }
    // The nodes: symbols first, then inner nodes, both sorted by count.
    let (mut weights, mut parents, mut depths) = ([0; NODES], [0; NODES], [0_u8; NODES]);
    rare[..leaves].iter().zip(&mut weights).for_each(|(&symbol, weight)| *weight = counts[symbol]);
    let (mut leaf, mut joined) = (0, leaves);
    for node in leaves..2 * leaves - 1 {
        for _ in 0..2 {
            let is_leaf = leaf < leaves && (joined >= node || weights[leaf] <= weights[joined]);
            let next = if is_leaf { &mut leaf } else { &mut joined };
            parents[*next] = node;
            weights[node] += weights[*next];
            *next += 1;
        }
    }
    for node in (0..2 * leaves - 2).rev() {
        depths[node] = depths[parents[node]] + 1;
    }
    rare[..leaves].iter().zip(depths).for_each(|(&symbol, depth)| lengths[symbol] = depth);
    lengths
}

/// Returns each symbol's code: length in the low 8 bits, and above it the code with its first bit lowest.
fn codes<const N: usize>(lengths: &[u8; N]) -> [u32; N] {
    let mut codes = [0; N];
    let mut next = 0_u32;
    for len in 1..=15_u8 {
        for symbol in (0..N).filter(|&symbol| lengths[symbol] == len) {
            codes[symbol] = next.reverse_bits() >> (32 - u32::from(len)) << 8 | u32::from(len);
            next += 1;
        }
        next <<= 1;
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kraft's sum is one, and no code exceeds the longest length.
    #[test]
    fn codes_are_complete_and_not_too_long() {
        let mut state = 1_u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as u32
        };
        for round in 0..2000 {
            let used = 2 + round % 255;
            let mut counts = [0; END + 1];
            // From equal counts to Fibonacci numbers, which make the longest codes.
            let (mut a, mut b) = (1_u32, 1_u32);
            for place in 0..used {
                let symbol = (place * 7 + round) % (END + 1);
                counts[symbol] = match round % 3 {
                    0 => 1 + next() % 1000,
                    1 => 1 << (next() % 16),
                    _ => a,
                };
                (a, b) = (b, (a + b).min(60_000));
            }
            let lengths = lengths(&counts, LONGEST);
            let sum: u32 =
                lengths.iter().filter(|&&len| len > 0).map(|&len| 1 << (LONGEST - u32::from(len))).sum();
            assert_eq!(sum, 1 << LONGEST, "{counts:?}");
            assert!((0..=END).all(|symbol| (lengths[symbol] > 0) == (counts[symbol] > 0)));
        }
    }
}
