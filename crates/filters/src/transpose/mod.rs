//! Byte shuffle: byte `b` of element `i` of `n` goes to `b * n + i`. Bytes beyond the last whole element
//! stay.
//!
//! [`join`] and [`split`] handle element sizes known at compile time, with planes at any place: with vectors
//! ([`simd`]) as far as possible, then with loops. Other sizes use loops, compiled twice on x86-64: for any
//! processor and for AVX2. The shuffle filter, blosc and szip share this module.

#[cfg(target_arch = "x86_64")]
pub(crate) mod simd;

use std::mem::MaybeUninit;

use nczarr_codec::OutBuf;
use nczarr_model::{ErrorKind, Result};

pub(crate) type Out = [MaybeUninit<u8>];

/// Appends the elements of the byte planes `src`.
pub(crate) fn unshuffle(src: &[u8], item: usize, dst: &mut OutBuf<'_>) -> Result<()> {
    // SAFETY: `unshuffle_all` writes every byte of its output.
    unsafe { write_all(src.len(), dst, |out| unshuffle_all(src, item, out)) }
}

/// Appends the byte planes of the elements `src`.
pub(crate) fn shuffle(src: &[u8], item: usize, dst: &mut OutBuf<'_>) -> Result<()> {
    // SAFETY: `shuffle_all` writes every byte of its output.
    unsafe { write_all(src.len(), dst, |out| shuffle_all(src, item, out)) }
}

/// Calls `write` with the next `len` bytes of the output.
///
/// # Safety
/// `write` must initialise all of its argument.
pub(crate) unsafe fn write_all(len: usize, dst: &mut OutBuf<'_>, write: impl FnOnce(&mut Out)) -> Result<()> {
    if dst.remaining() < len {
        return Err(ErrorKind::Filter.context(format!("{len} bytes do not fit the {} left", dst.remaining())));
    }
    dst.fill_with(|room| {
        let out = &mut room[..len];
        write(out);
        // SAFETY: all of `out` was initialised, by the promise of the caller.
        Ok(unsafe { out.assume_init_mut() })
    })
}

/// Writes elements whose byte `b` is in `planes` from `b * stride` on. Writes all of `items`.
pub(crate) fn join<const N: usize>(planes: &[u8], stride: usize, items: &mut [[MaybeUninit<u8>; N]]) {
    let count = items.len();
    let planes: [&[u8]; N] = std::array::from_fn(|byte| &planes[byte * stride..][..count]);
    #[cfg(target_arch = "x86_64")]
    let done = simd::join(planes, items);
    #[cfg(not(target_arch = "x86_64"))]
    let done = 0;
    for (index, item) in items.iter_mut().enumerate().skip(done) {
        for (place, plane) in item.iter_mut().zip(planes) {
            place.write(plane[index]);
        }
    }
}

/// Writes byte `b` of all elements to `planes` from `b * stride` on.
pub(crate) fn split<const N: usize>(items: &[[u8; N]], planes: &mut Out, stride: usize) {
    #[cfg(target_arch = "x86_64")]
    let done = simd::split(items, planes, stride);
    #[cfg(not(target_arch = "x86_64"))]
    let done = 0;
    for byte in 0..N {
        let plane = &mut planes[byte * stride..][..items.len()];
        for (place, item) in plane.iter_mut().zip(items).skip(done) {
            place.write(item[byte]);
        }
    }
}

fn unshuffle_all(src: &[u8], item: usize, out: &mut Out) {
    fn sized<const N: usize>(src: &[u8], out: &mut Out) {
        let (items, end) = out.as_chunks_mut::<N>();
        join(src, items.len(), items);
        end.write_copy_of_slice(&src[items.len() * N..]);
    }
    match item {
        0 | 1 => _ = out.write_copy_of_slice(src),
        2 => sized::<2>(src, out),
        4 => sized::<4>(src, out),
        8 => sized::<8>(src, out),
        16 => sized::<16>(src, out),
        _ => join_any(src, item, out),
    }
}

fn shuffle_all(src: &[u8], item: usize, out: &mut Out) {
    fn sized<const N: usize>(src: &[u8], out: &mut Out) {
        let (items, tail) = src.as_chunks::<N>();
        let (planes, end) = out.split_at_mut(items.len() * N);
        split(items, planes, items.len());
        end.write_copy_of_slice(tail);
    }
    match item {
        0 | 1 => _ = out.write_copy_of_slice(src),
        2 => sized::<2>(src, out),
        4 => sized::<4>(src, out),
        8 => sized::<8>(src, out),
        16 => sized::<16>(src, out),
        _ => split_any(src, item, out),
    }
}

/// Also compiles a function for AVX2, and chooses at run time.
macro_rules! for_avx2_too {
    ($name:ident, $body:ident) => {
        fn $name(src: &[u8], item: usize, out: &mut Out) {
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

for_avx2_too!(join_any, join_body);
for_avx2_too!(split_any, split_body);

/// Elements of a tile. The strided side of a tile fits in the first-level cache.
const TILE: usize = 64;

#[inline(always)]
fn join_body(src: &[u8], item: usize, out: &mut Out) {
    let elements = src.len() / item;
    let (planes, tail) = src.split_at(elements * item);
    let (items, end) = out.split_at_mut(elements * item);
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

#[inline(always)]
fn split_body(src: &[u8], item: usize, out: &mut Out) {
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

#[cfg(test)]
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

    fn sample(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
    }

    #[test]
    fn every_item_size_and_length_as_defined() {
        for item in (1..=20).chain([255, 256, 1000]) {
            for len in (0..70).chain([item * 32, item * 64 + 3, item * 65, 1024, 4099, item * 300 + item / 2])
            {
                let src = sample(len);
                let planes = run(shuffle, &src, item);
                assert_eq!(planes, slow(&src, item), "item {item}, {len} bytes");
                assert_eq!(run(unshuffle, &planes, item), src, "item {item}, {len} bytes");
            }
        }
    }

    #[test]
    fn loops_without_vectors_as_defined() {
        for item in 1..=20 {
            for len in [0, item - 1, item, item * 64 + 3, item * 200] {
                let src = sample(len);
                let mut memory = vec![MaybeUninit::new(0); len];
                split_body(&src, item, &mut memory);
                // SAFETY: all of it was initialised when it was made.
                let planes = unsafe { memory.assume_init_ref() };
                assert_eq!(planes, slow(&src, item), "item {item}, {len} bytes");
                let mut back = vec![MaybeUninit::new(0); len];
                join_body(planes, item, &mut back);
                // SAFETY: as above.
                assert_eq!(unsafe { back.assume_init_ref() }, src);
            }
        }
    }

    #[test]
    fn planes_may_lie_apart() {
        fn check<const N: usize>() {
            for (count, apart) in [(0, 0), (1, 0), (31, 2), (32, 0), (100, 29), (256, 64)] {
                let stride = count + apart;
                let src = sample(count * N);
                let mut memory = vec![MaybeUninit::new(0xa5); stride * N];
                split::<N>(src.as_chunks().0, &mut memory, stride);
                // SAFETY: all of it was initialised when it was made.
                let planes = unsafe { memory.assume_init_ref() };
                for (at, &byte) in planes.iter().enumerate() {
                    let (plane, element) = (at / stride, at % stride);
                    let expected = if element < count { src[element * N + plane] } else { 0xa5 };
                    assert_eq!(byte, expected, "{count} elements of {N}, byte {element} of plane {plane}");
                }
                let mut back = vec![[MaybeUninit::new(0); N]; count];
                join(planes, stride, &mut back);
                // SAFETY: as above.
                assert_eq!(unsafe { back.as_flattened().assume_init_ref() }, src);
            }
        }
        check::<2>();
        check::<4>();
        check::<5>();
        check::<8>();
        check::<16>();
    }

    #[test]
    fn too_little_room_is_an_error() {
        let mut memory = [MaybeUninit::uninit(); 7];
        assert_eq!(
            unshuffle(&[0; 8], 4, &mut OutBuf::new(&mut memory)).unwrap_err().kind(),
            ErrorKind::Filter
        );
    }
}
