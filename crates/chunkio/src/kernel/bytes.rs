//! [`load_bytes`]: loads elements at any byte distance. [`swap_bytes`]: changes the byte order in place.
//!
//! For contiguous arrays: the distance between records need not be a multiple of the element size.

use nczarr_model::Result;
use nczarr_runtime::OutBuf;

use super::{ChunkLayout, Convert, choose, each_block, write_all};
use crate::project::ChunkPart;

/// Appends a part of `bytes` to `out`. On the side of `bytes` the part's steps and start are in bytes; in
/// memory the elements are adjacent. Returns whether a value was out of the memory type's range.
///
/// # Errors
/// If `out` is too small.
pub(crate) fn load_bytes(
    bytes: &[u8],
    layout: &ChunkLayout,
    part: &ChunkPart,
    convert: Option<&Convert>,
    out: &mut OutBuf<'_>,
) -> Result<bool> {
    let item = layout.item;
    let mem_item = convert.map_or(item, |convert| convert.mem_item);
    let (last, mem) = part.extent();
    // The extent ends after the first byte of the last element.
    assert!(last + item - 1 <= bytes.len(), "a part inside {} bytes: {part:?}", bytes.len());
    assert!(
        !layout.planes && part.mem_start == 0 && mem == part.elems,
        "elements one after another: {part:?}"
    );
    let unit = part.dims[0].n == 1 || (part.dims[0].chunk == item && part.dims[0].mem == 1);
    let kernel = if convert.is_some() { None } else { Some(choose(layout, unit, true, false)) };
    let mut out_of_range = false;
    write_all(out, part.elems * mem_item, |memory| {
        let memory = memory.as_mut_ptr().cast::<u8>();
        each_block(part, 1, mem_item, true, mem_item, 0, |from, to, rows| {
            // SAFETY: checked above for the whole part, and the block is within it; the output is borrowed
            // exclusively and has room for all elements.
            unsafe {
                let (src, dst) = (bytes.as_ptr().add(from), memory.add(to));
                match (convert, kernel) {
                    (Some(convert), _) => out_of_range |= convert.load(layout, src, dst, rows, false),
                    (None, Some(kernel)) => kernel(src, dst, rows),
                    (None, None) => unreachable!("one of both is set"),
                }
            }
        });
    })?;
    Ok(out_of_range)
}

/// Reverses the bytes of each element of `item` bytes.
pub(crate) fn swap_bytes(bytes: &mut [u8], item: usize) {
    match item {
        1 => {}
        2 => swap::<2>(bytes),
        4 => swap::<4>(bytes),
        8 => swap::<8>(bytes),
        other => unreachable!("numbers of {other} bytes do not exist"),
    }
}

fn swap<const I: usize>(bytes: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        // SAFETY: the machine has AVX2.
        return unsafe { swap_avx2::<I>(bytes) };
    }
    swap_each::<I>(bytes);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn swap_avx2<const I: usize>(bytes: &mut [u8]) {
    swap_each::<I>(bytes);
}

#[inline(always)]
fn swap_each<const I: usize>(bytes: &mut [u8]) {
    for element in bytes.as_chunks_mut::<I>().0 {
        element.reverse();
    }
}
