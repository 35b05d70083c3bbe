//! [`RowSide`]: one side of a row of elements, adjacent or not.

use std::mem::MaybeUninit;

use super::{ChunkLayout, Kernel, KernelRows, choose};

/// Elements per piece: a piece on the stack fits the first-level cache.
pub(super) const PIECE: usize = 512;

/// One side of a row function: direct if its elements are adjacent, else through a kernel and a buffer on the
/// stack.
pub(super) struct RowSide {
    pub(super) item: usize,
    pub(super) step: usize,
    pub(super) pitch: usize,
    pub(super) kernel: Option<Kernel>,
}

impl RowSide {
    pub(super) fn new(
        layout: &ChunkLayout,
        item: usize,
        step: usize,
        pitch: usize,
        to_piece: bool,
        stream: bool,
    ) -> Self {
        let unit = step == if layout.planes { 1 } else { item };
        let moved = (layout.planes || layout.swap) && item > 1;
        let kernel = (moved || !unit || stream).then(|| choose(layout, unit, to_piece, stream));
        Self { item, step, pitch, kernel }
    }

    /// Returns the row of a piece; `outside` is the step on this side.
    fn rows(&self, n: usize, to_piece: bool) -> KernelRows {
        let (outside, inside) = ([self.step, 0, 0], [self.item, 0, 0]);
        let (src, dst) = if to_piece { (outside, inside) } else { (inside, outside) };
        KernelRows { n: [n, 1, 1], src, dst, item: self.item, pitch: self.pitch }
    }
}

/// Lets `row` work on `n` adjacent elements: in place if they are adjacent on both sides, else on the stack.
///
/// # Safety
/// The elements are inside both sides, and at most [`PIECE`] if a side has a kernel. `row` reads all of them
/// from its first argument, which is initialised, and writes all of them to its second.
pub(super) unsafe fn run_through_stack(
    n: usize,
    from: &RowSide,
    src: *const u8,
    to: &RowSide,
    dst: *mut u8,
    row: impl FnOnce(*const u8, *mut u8) -> bool,
) -> bool {
    let (mut input, mut output) =
        ([MaybeUninit::<u8>::uninit(); PIECE * 8], [MaybeUninit::<u8>::uninit(); PIECE * 8]);
    // SAFETY: the stack has room for the elements, and each byte that is read was written: by a kernel, or by
    // `row`.
    unsafe {
        let src = match from.kernel {
            None => src,
            Some(kernel) => {
                kernel(src, input.as_mut_ptr().cast(), &from.rows(n, true));
                input.as_ptr().cast()
            }
        };
        let out_of_range = row(src, if to.kernel.is_some() { output.as_mut_ptr().cast() } else { dst });
        if let Some(kernel) = to.kernel {
            kernel(output.as_ptr().cast(), dst, &to.rows(n, false));
        }
        out_of_range
    }
}
