//! Block kernels: move the elements of a part between a chunk and memory in one pass.
//!
//! A kernel is chosen per chunk and processes up to three nested runs. The same pass handles byte order, byte
//! planes (shuffle), strides and type conversion. The safe functions here check once that all bytes are
//! inside both sides; the kernels check nothing.
//!
//! Read first: [`ChunkLayout`], [`load`], [`save`].

mod bytes;
mod convert;
pub(crate) mod half_floats;
mod linear;
#[cfg(target_arch = "x86_64")]
mod linear_avx2;
mod moves;
mod row_side;
mod shuffle;
#[cfg(target_arch = "x86_64")]
mod simd;
mod stream;

use std::mem::MaybeUninit;

pub(crate) use bytes::{load_bytes, swap_bytes};
pub(crate) use convert::Convert;
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;

use crate::odometer::Odometer;
use crate::project::ChunkPart;

/// The byte layout of elements in a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkLayout {
    /// The size of an element: 1, 2, 4 or 8; any other size without planes and byte swap.
    pub(crate) item: usize,
    /// Whether the first bytes of all elements come first, then all second bytes, and so on.
    pub(crate) planes: bool,
    /// Whether the byte order differs from the native one.
    pub(crate) swap: bool,
}

impl ChunkLayout {
    /// Returns the layout of native elements.
    pub(crate) const fn native(item: usize) -> Self {
        Self { item, planes: false, swap: false }
    }

    /// Whether it is the layout in memory.
    pub(crate) fn is_native(&self) -> bool {
        !self.planes && !self.swap
    }
}

/// Up to three nested runs, innermost first; steps are in bytes.
#[derive(Debug, Clone, Copy)]
struct KernelRows {
    n: [usize; 3],
    src: [usize; 3],
    dst: [usize; 3],
    /// The element size, for sizes without a specialised kernel.
    item: usize,
    /// The distance between byte planes on the side of the chunk.
    pitch: usize,
}

/// Moves all elements of the rows from `src` to `dst`.
///
/// # Safety
/// All bytes of the rows are inside live memory on both sides, which do not overlap. Those of `src` are
/// initialised.
type Kernel = unsafe fn(src: *const u8, dst: *mut u8, rows: &KernelRows);

/// Runs `$body` for every row: `$s` and `$d` point at its first element.
macro_rules! each_row {
    ($src:expr, $dst:expr, $rows:expr, |$s:ident, $d:ident| $body:expr) => {{
        let rows: &KernelRows = $rows;
        for plane in 0..rows.n[2] {
            for row in 0..rows.n[1] {
                // SAFETY: the caller of the kernel promises that every row lies inside both sides.
                let ($s, $d) = unsafe {
                    (
                        $src.add(plane * rows.src[2] + row * rows.src[1]),
                        $dst.add(plane * rows.dst[2] + row * rows.dst[1]),
                    )
                };
                $body
            }
        }
    }};
}
use each_row;

/// Whether the processor has AVX2.
fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Whether to use vectors of a whole cache line. The first processors with them lower their clock; these lack
/// later byte instructions.
#[cfg(target_arch = "x86_64")]
fn has_lines() -> bool {
    use std::arch::is_x86_feature_detected;
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vbmi2")
}

/// Calls `run` with the byte offsets in chunk and memory, and the rows, for each block of a part.
fn each_block(
    part: &ChunkPart,
    chunk_step: usize,
    mem_step: usize,
    to_memory: bool,
    item: usize,
    pitch: usize,
    mut run: impl FnMut(usize, usize, &KernelRows),
) {
    let inner = part.dims.len().min(3);
    let (mut n, mut chunk, mut mem) = ([1; 3], [0; 3], [0; 3]);
    for (level, dim) in part.dims[..inner].iter().enumerate() {
        (n[level], chunk[level], mem[level]) = (dim.n, dim.chunk * chunk_step, dim.mem * mem_step);
    }
    let (src, dst) = if to_memory { (chunk, mem) } else { (mem, chunk) };
    let rows = KernelRows { n, src, dst, item, pitch };
    if part.dims.len() <= 3 {
        return run(part.chunk_start * chunk_step, part.mem_start * mem_step, &rows);
    }
    for (chunk, mem) in Odometer::new(&part.dims[3..], part.chunk_start, part.mem_start) {
        run(chunk * chunk_step, mem * mem_step, &rows);
    }
}

/// Panics unless the part is inside a chunk and a memory of these sizes, in elements.
fn check(part: &ChunkPart, chunk_elems: usize, mem_elems: usize) {
    let (chunk, mem) = part.extent();
    assert!(
        chunk <= chunk_elems && mem <= mem_elems,
        "a part inside {chunk_elems} and {mem_elems} elements: {part:?}"
    );
}

/// Copies a part of a chunk to memory. Returns whether a value was out of the memory type's range.
///
/// `stream`: the result is large and not read soon, so whole lines may bypass the caches.
///
/// # Safety
/// `mem` points to `mem_len` bytes. No other thread accesses the part's bytes, and `chunk` is elsewhere.
pub(crate) unsafe fn load(
    chunk: &[u8],
    layout: &ChunkLayout,
    part: &ChunkPart,
    convert: Option<&Convert>,
    mem: *mut u8,
    mem_len: usize,
    stream: bool,
) -> bool {
    let item = layout.item;
    let elems = chunk.len() / item;
    let step = if layout.planes { 1 } else { item };
    let mem_item = convert.map_or(item, |convert| convert.mem_item);
    check(part, elems, mem_len / mem_item);
    let mut out_of_range = false;
    let kernel = if convert.is_some() { None } else { Some(choose(layout, is_unit(part), true, stream)) };
    each_block(part, step, mem_item, true, item, elems, |from, to, rows| {
        // SAFETY: checked above for the whole part, and the block is within it; a byte plane of the chunk has
        // `elems` bytes, so the last plane ends with the chunk.
        unsafe {
            let (src, dst) = (chunk.as_ptr().add(from), mem.add(to));
            match (convert, kernel) {
                (Some(convert), _) => out_of_range |= convert.load(layout, src, dst, rows, stream),
                (None, Some(kernel)) => kernel(src, dst, rows),
                (None, None) => unreachable!("one of both is set"),
            }
        }
    });
    if stream {
        stream::fence();
    }
    out_of_range
}

/// Copies memory to a part of a chunk. Returns whether a value was out of the stored type's range.
pub(crate) fn save(
    mem: &[u8],
    part: &ChunkPart,
    convert: Option<&Convert>,
    layout: &ChunkLayout,
    chunk: &mut [MaybeUninit<u8>],
) -> bool {
    let item = layout.item;
    let elems = chunk.len() / item;
    let step = if layout.planes { 1 } else { item };
    let mem_item = convert.map_or(item, |convert| convert.mem_item);
    check(part, elems, mem.len() / mem_item);
    let mut out_of_range = false;
    let kernel = if convert.is_some() { None } else { Some(choose(layout, is_unit(part), false, false)) };
    let start = chunk.as_mut_ptr().cast::<u8>();
    each_block(part, step, mem_item, false, item, elems, |to, from, rows| {
        // SAFETY: as in `load`; the chunk is borrowed exclusively.
        unsafe {
            let (src, dst) = (mem.as_ptr().add(from), start.add(to));
            match (convert, kernel) {
                (Some(convert), _) => out_of_range |= convert.save(layout, src, dst, rows),
                (None, Some(kernel)) => kernel(src, dst, rows),
                (None, None) => unreachable!("one of both is set"),
            }
        }
    });
    out_of_range
}

/// Sets every element of a part of memory to `value`.
///
/// # Safety
/// As [`load`].
pub(crate) unsafe fn fill(value: &[u8], part: &ChunkPart, mem: *mut u8, mem_len: usize) {
    let item = value.len();
    check(part, usize::MAX, mem_len / item);
    let kernel: Kernel = match item {
        1 => moves::repeat::<1>,
        2 => moves::repeat::<2>,
        4 => moves::repeat::<4>,
        8 => moves::repeat::<8>,
        _ => moves::repeat_any,
    };
    each_block(part, 0, item, true, item, 0, |_, to, rows| {
        // SAFETY: checked above; the source is one element, and all its steps are 0.
        unsafe { kernel(value.as_ptr(), mem.add(to), rows) }
    });
}

/// As [`save`], into an initialised chunk.
pub(crate) fn save_in(
    mem: &[u8],
    part: &ChunkPart,
    convert: Option<&Convert>,
    layout: &ChunkLayout,
    chunk: &mut [u8],
) -> bool {
    // SAFETY: the same memory; `save` writes only initialised elements.
    let chunk = unsafe { std::slice::from_raw_parts_mut(chunk.as_mut_ptr().cast(), chunk.len()) };
    save(mem, part, convert, layout, chunk)
}

/// As [`save`], into a chunk of `len` bytes at the end of `out`. Elements outside the part become `fill`.
///
/// # Errors
/// If `out` is too small.
pub(crate) fn save_out(
    mem: &[u8],
    part: &ChunkPart,
    convert: Option<&Convert>,
    layout: &ChunkLayout,
    fill: &[u8],
    len: usize,
    out: &mut OutBuf<'_>,
) -> Result<bool> {
    let mut out_of_range = false;
    write_all(out, len, |chunk| {
        if part.elems * layout.item != len {
            fill_chunk(fill, layout, chunk);
        }
        out_of_range = save(mem, part, convert, layout, chunk);
    })?;
    Ok(out_of_range)
}

/// Copies a part that fills `out`, without conversion.
pub(crate) fn load_part(chunk: &[u8], layout: &ChunkLayout, part: &ChunkPart, out: &mut OutBuf<'_>) {
    let len = out.capacity();
    assert_eq!(part.elems * layout.item, len);
    let mem = out.as_mut_ptr();
    if part.elems == 1 && layout.is_native() {
        check(part, chunk.len() / layout.item, 1);
        // SAFETY: checked; the element is all of the output.
        unsafe {
            std::ptr::copy_nonoverlapping(chunk.as_ptr().add(part.chunk_start * layout.item), mem, len)
        };
    } else {
        // SAFETY: the output is borrowed exclusively.
        unsafe { load(chunk, layout, part, None, mem, len, false) };
    }
    // SAFETY: a part inside the memory that has as many elements is all of it.
    unsafe { out.set_filled(len) };
}

/// Copies all elements of a chunk, in native form, to `out`.
///
/// # Errors
/// If `out` is too small.
pub(crate) fn load_out(
    chunk: &[u8],
    layout: &ChunkLayout,
    whole: &ChunkPart,
    out: &mut OutBuf<'_>,
) -> Result<()> {
    assert!(whole.is_contiguous() && whole.elems * layout.item == chunk.len());
    write_all(out, chunk.len(), |mem| {
        // SAFETY: the memory is borrowed exclusively.
        unsafe { load(chunk, layout, whole, None, mem.as_mut_ptr().cast(), mem.len(), false) };
    })
}

/// Appends a chunk of `len` bytes whose elements are all `value` (native byte order) to `out`.
///
/// # Errors
/// If `out` is too small.
pub(crate) fn fill_out(value: &[u8], layout: &ChunkLayout, len: usize, out: &mut OutBuf<'_>) -> Result<()> {
    write_all(out, len, |chunk| fill_chunk(value, layout, chunk))
}

/// Sets all native elements to `value`.
pub(crate) fn fill_in(value: &[u8], elements: &mut [u8]) {
    // SAFETY: the same memory; only bytes of `value` are written to it.
    let chunk = unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), elements.len()) };
    fill_chunk(value, &ChunkLayout::native(value.len()), chunk);
}

/// Appends `len` bytes; `write` must write all of them.
fn write_all(out: &mut OutBuf<'_>, len: usize, write: impl FnOnce(&mut [MaybeUninit<u8>])) -> Result<()> {
    out.fill_with(|room| {
        let found = room.len();
        let bytes = room.get_mut(..len).ok_or_else(|| {
            ErrorKind::Internal.context(format!("room for {found} bytes where a chunk of {len} goes"))
        })?;
        write(bytes);
        // SAFETY: the callers in this module write every element of a chunk, which is all of these bytes.
        Ok(unsafe { bytes.assume_init_mut() })
    })
}

/// Sets all elements of a chunk of this layout to `value` (native byte order).
fn fill_chunk(value: &[u8], layout: &ChunkLayout, chunk: &mut [MaybeUninit<u8>]) {
    let elems = chunk.len() / layout.item;
    let mut swapped = [0; 8];
    let stored = if layout.is_native() {
        &value[..layout.item]
    } else {
        let stored = &mut swapped[..layout.item];
        stored.copy_from_slice(&value[..layout.item]);
        if layout.swap {
            stored.reverse();
        }
        stored
    };
    if layout.planes {
        for (plane, &byte) in chunk.chunks_exact_mut(elems.max(1)).zip(stored) {
            plane.fill(MaybeUninit::new(byte));
        }
    } else if elems > 0 {
        // SAFETY: the chunk is borrowed exclusively, and is all of the memory.
        unsafe { fill(stored, &ChunkPart::whole(elems), chunk.as_mut_ptr().cast(), chunk.len()) }
    }
}

/// Whether the innermost run has no gaps on either side.
fn is_unit(part: &ChunkPart) -> bool {
    part.dims[0].chunk == 1 && part.dims[0].mem == 1
}

/// Returns the kernel for a layout; `unit`: rows have no gaps.
fn choose(layout: &ChunkLayout, unit: bool, to_memory: bool, stream: bool) -> Kernel {
    match layout.item {
        1 => choose_item::<1>(layout, unit, to_memory, stream),
        2 => choose_item::<2>(layout, unit, to_memory, stream),
        4 => choose_item::<4>(layout, unit, to_memory, stream),
        8 => choose_item::<8>(layout, unit, to_memory, stream),
        _ => {
            // Elements of other sizes have native byte order by now, and only numbers have planes.
            assert!(layout.is_native(), "elements of {} bytes as they are in memory", layout.item);
            if unit { moves::copy_any } else { moves::step_any }
        }
    }
}

fn choose_item<const I: usize>(layout: &ChunkLayout, unit: bool, to_memory: bool, stream: bool) -> Kernel {
    let avx2 = has_avx2();
    if layout.planes && I > 1 {
        return match (to_memory, unit) {
            (true, true) => shuffle::unshuffle::<I>(layout.swap, avx2, stream),
            (true, false) => shuffle::unshuffle_strided::<I>(layout.swap),
            (false, true) => shuffle::shuffle::<I>(layout.swap, avx2),
            (false, false) => shuffle::shuffle_strided::<I>(layout.swap),
        };
    }
    match (layout.swap && I > 1, unit) {
        (false, true) if stream => stream::copy::<I>(avx2),
        (false, true) => moves::rows::<I>(avx2),
        (false, false) => moves::strided::<I>(false, avx2),
        (true, true) if stream => stream::swapped::<I>(avx2),
        (true, true) => moves::swapped::<I>(avx2),
        (true, false) => moves::strided::<I>(true, avx2),
    }
}

#[cfg(test)]
mod tests;
