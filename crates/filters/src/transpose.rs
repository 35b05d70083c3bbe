//! Byte shuffle: byte `b` of element `i` of `n` goes to `b * n + i`, bytes beyond the last whole element stay.
//!
//! Plain loops the compiler turns into vector code, compiled twice on x86-64: once for any processor and once
//! for AVX2. Shared by the shuffle filter and blosc; knows neither.

use std::mem::MaybeUninit;

use dispatch::OutBuf;
use model::{ErrorKind, Result};

type Out = [MaybeUninit<u8>];

/// Appends the elements of the byte planes `src`.
pub(crate) fn unshuffle(src: &[u8], item: usize, dst: &mut OutBuf<'_>) -> Result<()> {
    // SAFETY: `unshuffle_all` writes every byte of its output.
    unsafe { write_all(src.len(), dst, |out| unshuffle_all(src, item, out)) }
}

/// Appends the byte planes of the elements `src`.
#[cfg(feature = "shuffle")]
pub(crate) fn shuffle(src: &[u8], item: usize, dst: &mut OutBuf<'_>) -> Result<()> {
    // SAFETY: `shuffle_all` writes every byte of its output.
    unsafe { write_all(src.len(), dst, |out| shuffle_all(src, item, out)) }
}

/// Lets `write` fill the next `len` bytes.
///
/// # Safety
/// `write` initialises all of its argument.
pub(crate) unsafe fn write_all(len: usize, dst: &mut OutBuf<'_>, write: impl FnOnce(&mut Out)) -> Result<()> {
    if dst.room() < len {
        return Err(ErrorKind::Filter.context(format!("{len} bytes do not fit the {} left", dst.room())));
    }
    dst.fill_with(|room| {
        let out = &mut room[..len];
        write(out);
        // SAFETY: all of `out` was initialised, by the promise of the caller.
        Ok(unsafe { out.assume_init_mut() })
    })
}

/// Compiles a function for AVX2 as well and chooses at run time.
macro_rules! for_avx2_too {
    ($name:ident, $body:ident) => {
        pub(crate) fn $name(src: &[u8], item: usize, out: &mut Out) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn avx2(src: &[u8], item: usize, out: &mut Out) {
                    $body(src, item, out);
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has AVX2.
                    return unsafe { avx2(src, item, out) };
                }
            }
            $body(src, item, out);
        }
    };
}
#[cfg(feature = "blosc")]
pub(crate) use for_avx2_too;

for_avx2_too!(unshuffle_all, unshuffle_body);
#[cfg(feature = "shuffle")]
for_avx2_too!(shuffle_all, shuffle_body);

#[inline(always)]
fn unshuffle_body(src: &[u8], item: usize, out: &mut Out) {
    match item {
        0 | 1 => _ = out.write_copy_of_slice(src),
        2 => join::<2>(src, out),
        4 => join::<4>(src, out),
        8 => join::<8>(src, out),
        _ => {
            let elements = src.len() / item;
            let (planes, tail) = src.split_at(elements * item);
            let (items, end) = out.split_at_mut(elements * item);
            // Tiles keep the strided writes in the nearest cache.
            for start in (0..elements).step_by(TILE) {
                let width = TILE.min(elements - start);
                let tile = &mut items[start * item..(start + width) * item];
                for (byte, plane) in planes.chunks_exact(elements).enumerate() {
                    for (element, &value) in tile.chunks_exact_mut(item).zip(&plane[start..]) {
                        element[byte].write(value);
                    }
                }
            }
            end.write_copy_of_slice(tail);
        }
    }
}

#[cfg(feature = "shuffle")]
#[inline(always)]
fn shuffle_body(src: &[u8], item: usize, out: &mut Out) {
    match item {
        0 | 1 => _ = out.write_copy_of_slice(src),
        2 => split::<2>(src, out),
        4 => split::<4>(src, out),
        8 => split::<8>(src, out),
        _ => {
            let elements = src.len() / item;
            let (items, tail) = src.split_at(elements * item);
            let (planes, end) = out.split_at_mut(elements * item);
            for start in (0..elements).step_by(TILE) {
                let width = TILE.min(elements - start);
                let tile = &items[start * item..(start + width) * item];
                for (byte, plane) in planes.chunks_exact_mut(elements).enumerate() {
                    for (place, element) in plane[start..].iter_mut().zip(tile.chunks_exact(item)) {
                        place.write(element[byte]);
                    }
                }
            }
            end.write_copy_of_slice(tail);
        }
    }
}

/// Elements per tile.
const TILE: usize = 64;

#[inline(always)]
fn join<const N: usize>(src: &[u8], out: &mut Out) {
    let elements = src.len() / N;
    let (items, end) = out.as_chunks_mut::<N>();
    let items = &mut items[..elements];
    let planes: [&[u8]; N] = std::array::from_fn(|byte| &src[byte * elements..][..elements]);
    for (index, item) in items.iter_mut().enumerate() {
        for (place, plane) in item.iter_mut().zip(planes) {
            place.write(plane[index]);
        }
    }
    end.write_copy_of_slice(&src[elements * N..]);
}

#[cfg(feature = "shuffle")]
#[inline(always)]
fn split<const N: usize>(src: &[u8], out: &mut Out) {
    let (items, tail) = src.as_chunks::<N>();
    let (planes, end) = out.split_at_mut(items.len() * N);
    if !items.is_empty() {
        for (byte, plane) in planes.chunks_exact_mut(items.len()).enumerate() {
            for (place, item) in plane.iter_mut().zip(items) {
                place.write(item[byte]);
            }
        }
    }
    end.write_copy_of_slice(tail);
}

#[cfg(all(test, feature = "shuffle"))]
mod tests {
    use super::*;

    fn run(f: impl Fn(&[u8], usize, &mut OutBuf<'_>) -> Result<()>, src: &[u8], item: usize) -> Vec<u8> {
        let mut memory = vec![MaybeUninit::uninit(); src.len()];
        let mut out = OutBuf::new(&mut memory);
        f(src, item, &mut out).unwrap();
        out.filled().to_vec()
    }

    /// The definition, byte by byte.
    fn slow(src: &[u8], item: usize) -> Vec<u8> {
        let elements = src.len() / item;
        let mut out = src.to_vec();
        for element in 0..elements {
            for byte in 0..item {
                out[byte * elements + element] = src[element * item + byte];
            }
        }
        out
    }

    #[test]
    fn every_item_size_and_length_as_defined() {
        for item in (1..=20).chain([255, 256, 1000]) {
            for len in (0..70).chain([item * 64 + 3, item * 65, 1024, 4099, item * 300 + item / 2]) {
                let src: Vec<u8> = (0..len).map(|i| (i * 7 + i / 251) as u8).collect();
                let planes = run(shuffle, &src, item);
                assert_eq!(planes, slow(&src, item), "item {item}, {len} bytes");
                assert_eq!(run(unshuffle, &planes, item), src, "item {item}, {len} bytes");
                // The bodies themselves, as processors without AVX2 run them.
                let mut memory = vec![MaybeUninit::new(0); len];
                shuffle_body(&src, item, &mut memory);
                let mut back = vec![MaybeUninit::new(0); len];
                // SAFETY: all of it was initialised when it was made.
                unshuffle_body(unsafe { memory.assume_init_ref() }, item, &mut back);
                // SAFETY: as above.
                assert_eq!(unsafe { back.assume_init_ref() }, src);
            }
        }
    }

    #[test]
    fn too_little_room_is_an_error() {
        let mut memory = [MaybeUninit::uninit(); 7];
        assert_eq!(unshuffle(&[0; 8], 4, &mut OutBuf::new(&mut memory)).unwrap_err().kind(), ErrorKind::Filter);
    }
}
