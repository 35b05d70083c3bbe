//! The bit shuffle. Bit `k` of byte `b` of element `i` of `n` is stored as bit `i % 8` of byte `i / 8` of row
//! `8 * b + k`. Each row has `n / 8` bytes.
//!
//! Blosc shuffles a block only if its number of elements is a multiple of eight, and copies it otherwise.
//! Bytes beyond the last whole element stay. A tile of elements takes three steps: its bytes go to planes,
//! the 8 by 8 bits of every eight bytes of a plane are transposed, and the results go to eight rows. The
//! first and last steps are byte shuffles ([`transpose`]).

use std::mem::MaybeUninit;

use nczarr_codec::OutBuf;
use nczarr_model::Result;

use crate::transpose::{self, Out};

/// Appends the elements of the bit rows `src`.
pub(super) fn unshuffle(src: &[u8], item: usize, dst: &mut OutBuf<'_>) -> Result<()> {
    match rows(src.len(), item) {
        None => dst.put(src),
        // SAFETY: `unshuffle_all` writes every byte of its output.
        Some(row) => unsafe {
            transpose::write_all(src.len(), dst, |out| unshuffle_all(src, item, row, out))
        },
    }
}

/// Appends the bit rows of the elements `src`.
pub(super) fn shuffle(src: &[u8], item: usize, dst: &mut OutBuf<'_>) -> Result<()> {
    match rows(src.len(), item) {
        None => dst.put(src),
        // SAFETY: `shuffle_all` writes every byte of its output.
        Some(row) => unsafe { transpose::write_all(src.len(), dst, |out| shuffle_all(src, item, row, out)) },
    }
}

/// Returns the length of a row in bytes, if the block is shuffled.
fn rows(len: usize, item: usize) -> Option<usize> {
    let elements = len / item.max(1);
    (elements > 0 && elements.is_multiple_of(8)).then_some(elements / 8)
}

/// Elements of a tile.
const TILE: usize = 1024;
/// Bytes of each row that a tile fills.
const WIDTH: usize = TILE / 8;

fn unshuffle_all(src: &[u8], item: usize, row: usize, out: &mut Out) {
    let (items, end) = out.split_at_mut(row * 8 * item);
    end.write_copy_of_slice(&src[row * 8 * item..]);
    let done = match item {
        1 => join::<1>(src, row, items),
        2 => join::<2>(src, row, items),
        4 => join::<4>(src, row, items),
        8 => join::<8>(src, row, items),
        16 => join::<16>(src, row, items),
        _ => 0,
    };
    // Process eight elements at a time.
    for (at, group) in items.chunks_exact_mut(8 * item).enumerate().skip(done) {
        for byte in 0..item {
            let bits = std::array::from_fn(|bit| src[(byte * 8 + bit) * row + at]);
            for (element, value) in turn(bits).into_iter().enumerate() {
                group[element * item + byte].write(value);
            }
        }
    }
}

fn shuffle_all(src: &[u8], item: usize, row: usize, out: &mut Out) {
    let (items, tail) = src.split_at(row * 8 * item);
    let (out, end) = out.split_at_mut(row * 8 * item);
    end.write_copy_of_slice(tail);
    let done = match item {
        1 => split::<1>(items, row, out),
        2 => split::<2>(items, row, out),
        4 => split::<4>(items, row, out),
        8 => split::<8>(items, row, out),
        16 => split::<16>(items, row, out),
        _ => 0,
    };
    for (at, group) in items.chunks_exact(8 * item).enumerate().skip(done) {
        for byte in 0..item {
            let bytes = std::array::from_fn(|element| group[element * item + byte]);
            for (bit, value) in turn(bytes).into_iter().enumerate() {
                out[(byte * 8 + bit) * row + at].write(value);
            }
        }
    }
}

/// Writes the elements of whole tiles. Returns the number of bytes used of each row.
fn join<const N: usize>(src: &[u8], row: usize, out: &mut Out) -> usize {
    let (items, _) = out.as_chunks_mut::<N>();
    let (tiles, _) = items.as_chunks_mut::<TILE>();
    let mut planes = [[[MaybeUninit::uninit(); 8]; WIDTH]; N];
    for (index, tile) in tiles.iter_mut().enumerate() {
        for (byte, plane) in planes.iter_mut().enumerate() {
            transpose::join(&src[byte * 8 * row + index * WIDTH..], row, plane);
            // SAFETY: `join` has written all of it.
            turn_all(unsafe { plane.as_flattened_mut().assume_init_mut() }.as_chunks_mut().0);
        }
        // SAFETY: all planes were written.
        let planes = unsafe { planes.as_flattened().as_flattened().assume_init_ref() };
        transpose::join(planes, TILE, tile);
    }
    tiles.len() * WIDTH
}

/// Writes the bits of whole tiles. Returns the number of bytes filled of each row.
fn split<const N: usize>(items: &[u8], row: usize, out: &mut Out) -> usize {
    let (items, _) = items.as_chunks::<N>();
    let (tiles, _) = items.as_chunks::<TILE>();
    let mut planes = [[[MaybeUninit::uninit(); 8]; WIDTH]; N];
    for (index, tile) in tiles.iter().enumerate() {
        transpose::split(tile, planes.as_flattened_mut().as_flattened_mut(), TILE);
        for (byte, plane) in planes.iter_mut().enumerate() {
            // SAFETY: `split` has written all planes.
            let words = unsafe { plane.as_flattened_mut().assume_init_mut() }.as_chunks_mut().0;
            turn_all(words);
            transpose::split(words, &mut out[byte * 8 * row + index * WIDTH..], row);
        }
    }
    tiles.len() * WIDTH
}

/// Transposes 8 by 8 bits: bit `i` of byte `k` becomes bit `k` of byte `i`.
#[inline(always)]
fn turn(bytes: [u8; 8]) -> [u8; 8] {
    let mut x = u64::from_le_bytes(bytes);
    for (shift, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let swap = (x ^ (x >> shift)) & mask;
        x ^= swap ^ (swap << shift);
    }
    x.to_le_bytes()
}

#[inline(always)]
fn turn_body(eights: &mut [[u8; 8]]) {
    for bytes in eights {
        *bytes = turn(*bytes);
    }
}

/// Transposes each group.
fn turn_all(eights: &mut [[u8; 8]]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn avx2(eights: &mut [[u8; 8]]) {
            turn_body(eights);
        }
        // One instruction does it. Its matrices have our rows in reverse; its vectors are the eight unit
        // vectors.
        #[target_feature(enable = "avx2,gfni")]
        fn gfni(eights: &mut [[u8; 8]]) {
            use std::arch::x86_64::*;
            let units = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
            let reverse = _mm256_broadcastsi128_si256(_mm_set_epi64x(0x08090a0b0c0d0e0f, 0x0001020304050607));
            let (groups, rest) = eights.as_chunks_mut::<4>();
            for group in groups {
                let place: *mut __m256i = group.as_mut_ptr().cast();
                // SAFETY: a group is the 32 bytes of a vector.
                unsafe {
                    let rows = _mm256_shuffle_epi8(_mm256_loadu_si256(place), reverse);
                    _mm256_storeu_si256(place, _mm256_gf2p8affine_epi64_epi8::<0>(units, rows));
                }
            }
            turn_body(rest);
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            if std::arch::is_x86_feature_detected!("gfni") {
                // SAFETY: the processor has both.
                return unsafe { gfni(eights) };
            }
            // SAFETY: the processor has AVX2.
            return unsafe { avx2(eights) };
        }
    }
    turn_body(eights);
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
            for count in [0, 1, 7, 8, 9, 16, 64, 248, 256, 264, 512, 1024, 1032, 2312] {
                for tail in [0, item - 1] {
                    let what = format!("{count} elements of {item} and {tail}");
                    let elements: Vec<u8> =
                        (0..count * item + tail).map(|i| (i * 37 + i / 11) as u8).collect();
                    let rows = slow(&elements, item);
                    let mut memory = vec![MaybeUninit::uninit(); rows.len()];
                    let mut out = OutBuf::new(&mut memory);
                    unshuffle(&rows, item, &mut out).unwrap();
                    assert_eq!(out.filled(), elements, "{what}");
                    let mut out = OutBuf::new(&mut memory);
                    shuffle(&elements, item, &mut out).unwrap();
                    assert_eq!(out.filled(), rows, "{what}");
                }
            }
        }
    }

    #[test]
    fn bits_are_turned_alike_one_by_one_and_together() {
        let mut eights: Vec<[u8; 8]> =
            (0..100u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
        let one_by_one: Vec<_> = eights.iter().map(|&bytes| turn(bytes)).collect();
        for (bytes, turned) in eights.iter().zip(&one_by_one) {
            for (i, k) in (0..64).map(|at| (at / 8, at % 8)) {
                assert_eq!(bytes[k] >> i & 1, turned[i] >> k & 1);
            }
        }
        turn_all(&mut eights);
        assert_eq!(eights, one_by_one);
    }
}
