//! Undoes the bit shuffle: bit `k` of byte `b` of element `i` of `n` was stored as bit `i % 8` of byte `i / 8` of row `8 * b + k`,
//! each row `n / 8` bytes.
//!
//! Blosc shuffles a block only if its whole elements are a multiple of eight, and copies it otherwise; bytes beyond the
//! last whole element stay. Plain loops, compiled for AVX2 as well (see [`transpose`]).

use std::mem::MaybeUninit;

use dispatch::OutBuf;
use model::Result;

use crate::transpose;

type Out = [MaybeUninit<u8>];

/// Appends the elements of the bit rows `src`.
pub(super) fn unshuffle(src: &[u8], item: usize, dst: &mut OutBuf<'_>) -> Result<()> {
    let elements = src.len() / item.max(1);
    if elements == 0 || !elements.is_multiple_of(8) {
        return dst.put(src);
    }
    // SAFETY: `unshuffle_all` writes every byte of its output.
    unsafe { transpose::write_all(src.len(), dst, |out| unshuffle_all(src, item, out)) }
}

transpose::for_avx2_too!(unshuffle_all, unshuffle_body);

#[inline(always)]
fn unshuffle_body(src: &[u8], item: usize, out: &mut Out) {
    match item {
        1 => join::<1>(src, out),
        2 => join::<2>(src, out),
        4 => join::<4>(src, out),
        8 => join::<8>(src, out),
        16 => join::<16>(src, out),
        _ => {
            let row = src.len() / item / 8;
            let (items, end) = out.split_at_mut(row * 8 * item);
            eights(src, item, 0, row, items);
            end.write_copy_of_slice(&src[row * 8 * item..]);
        }
    }
}

/// Words of eight bytes of a row that are worked on side by side.
const WORDS: usize = 16;
/// Elements of a tile.
const TILE: usize = WORDS * 64;
/// Eight bit rows of a tile, as long as loops over them stay loops and become vector code.
type Rows = [[u64; WORDS]; 8];

#[inline(always)]
fn join<const N: usize>(src: &[u8], out: &mut Out) {
    let row = src.len() / N / 8;
    let (items, end) = out.split_at_mut(row * 8 * N);
    end.write_copy_of_slice(&src[row * 8 * N..]);
    let (items, _) = items.as_chunks_mut::<N>();
    let (tiles, rest) = items.as_chunks_mut::<TILE>();
    let done = tiles.len() * TILE / 8;
    let mut planes = [[0; TILE]; N];
    for (index, tile) in tiles.iter_mut().enumerate() {
        for (byte, plane) in planes.iter_mut().enumerate() {
            let mut rows: Rows = [[0; WORDS]; 8];
            for (bit, words) in rows.iter_mut().enumerate() {
                let (bytes, _) = src[(byte * 8 + bit) * row + index * TILE / 8..].as_chunks::<8>();
                for (word, bytes) in words.iter_mut().zip(bytes) {
                    *word = u64::from_le_bytes(*bytes);
                }
            }
            turn_rows(&mut rows);
            let (places, _) = plane.as_chunks_mut::<8>();
            for (index, place) in places.iter_mut().enumerate() {
                *place = rows[index % 8][index / 8].to_le_bytes();
            }
        }
        for (element, item) in tile.iter_mut().enumerate() {
            for (place, plane) in item.iter_mut().zip(&planes) {
                place.write(plane[element]);
            }
        }
    }
    eights(src, N, done, row, rest.as_flattened_mut());
}

/// Makes of eight bit rows the bytes of their elements: word `w` of row `j` becomes elements `64 * w + 8 * j` and on.
#[inline(always)]
fn turn_rows(rows: &mut Rows) {
    // First byte j of all rows becomes word j ...
    for (distance, shift, mask) in
        [(4, 32, 0x0000_0000_ffff_ffff), (2, 16, 0x0000_ffff_0000_ffff), (1, 8, 0x00ff_00ff_00ff_00ff)]
    {
        for low in (0..8).filter(|row| row & distance == 0) {
            let (above, below) = rows.split_at_mut(low + distance);
            for (a, b) in above[low].iter_mut().zip(&mut below[0]) {
                (*a, *b) = ((*a & mask) | ((*b & mask) << shift), ((*a >> shift) & mask) | (*b & !mask));
            }
        }
    }
    // ... then the bits inside each word are turned.
    for words in rows {
        for word in words {
            *word = turn(*word);
        }
    }
}

/// Bit `i` of byte `k` becomes bit `k` of byte `i`.
#[inline(always)]
fn turn(mut x: u64) -> u64 {
    for (shift, mask) in [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)] {
        let swap = (x ^ (x >> shift)) & mask;
        x ^= swap ^ (swap << shift);
    }
    x
}

/// Eight elements at a time, from byte `done` of every row on.
#[inline(always)]
fn eights(src: &[u8], item: usize, done: usize, row: usize, items: &mut Out) {
    for (at, group) in (done..row).zip(items.chunks_exact_mut(8 * item)) {
        for byte in 0..item {
            let bits: [u8; 8] = std::array::from_fn(|bit| src[(byte * 8 + bit) * row + at]);
            for (element, value) in turn(u64::from_le_bytes(bits)).to_le_bytes().into_iter().enumerate() {
                group[element * item + byte].write(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, bit by bit.
    fn slow(elements: &[u8], item: usize) -> Vec<u8> {
        let count = elements.len() / item;
        let mut rows = elements.to_vec();
        if !count.is_multiple_of(8) {
            return rows;
        }
        rows[..count * item].fill(0);
        for element in 0..count {
            for byte in 0..item {
                for bit in 0..8 {
                    let set = elements[element * item + byte] >> bit & 1;
                    rows[(byte * 8 + bit) * (count / 8) + element / 8] |= set << (element % 8);
                }
            }
        }
        rows
    }

    #[test]
    fn every_item_size_and_length_as_defined() {
        for item in (1..=17).chain([255]) {
            for count in [1, 7, 8, 9, 16, 64, 248, 256, 264, 512, 1032] {
                for tail in [0, item - 1] {
                    let elements: Vec<u8> = (0..count * item + tail).map(|i| (i * 37 + i / 11) as u8).collect();
                    let rows = slow(&elements, item);
                    let mut memory = vec![MaybeUninit::uninit(); rows.len()];
                    let mut out = OutBuf::new(&mut memory);
                    unshuffle(&rows, item, &mut out).unwrap();
                    assert_eq!(out.filled(), elements, "{count} elements of {item} and {tail}");
                    if count % 8 == 0 {
                        // As processors without AVX2 run it.
                        let mut memory = vec![MaybeUninit::new(0); rows.len()];
                        unshuffle_body(&rows, item, &mut memory);
                        // SAFETY: all of it was initialised when it was made.
                        assert_eq!(unsafe { memory.assume_init_ref() }, elements);
                    }
                }
            }
        }
    }
}
