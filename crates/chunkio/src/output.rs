//! [`DisjointOutput`]: the caller's memory, written by many threads, each part by one.
//!
//! The parts of a projection never overlap. The output grants the right to write each part once, whatever the
//! map does, and declares the memory filled only when all parts are written.
//!
//! [`SequentialOutput`] is simpler: parts follow one another, and each is split off the remaining memory.
//!
//! Only this module shares raw memory between threads. The kernels define the written content.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;

use crate::kernel::{self, ChunkLayout, Convert};
use crate::project::{ChunkPart, Projection, RunSlice};

/// Memory shared by the threads of one read.
pub(crate) struct DisjointOutput<'a> {
    memory: *mut u8,
    len: usize,
    item: usize,
    stream: bool,
    /// One bit per part: the right to write it was granted.
    taken: BitMarks,
    /// One bit per part: its memory was lent.
    lent: BitMarks,
    written: AtomicUsize,
    borrow: PhantomData<&'a mut [MaybeUninit<u8>]>,
}

// SAFETY: the memory is borrowed exclusively for `'a`. Threads write only through `OutputPart`s; there is one
// per part, and parts of one projection do not overlap.
unsafe impl Sync for DisjointOutput<'_> {}

/// The right to write one part.
pub(crate) struct OutputPart<'b> {
    board: &'b DisjointOutput<'b>,
}

/// Lets `work` fill all of `out` through a [`DisjointOutput`], in elements of `item` bytes.
///
/// `stream`: see [`kernel::load`].
///
/// # Errors
/// The error of `work`; `NC_EINTERNAL` if a part is missing.
pub(crate) fn scatter<R>(
    out: &mut OutBuf<'_>,
    projection: &Projection,
    item: usize,
    stream: bool,
    work: impl FnOnce(&DisjointOutput<'_>) -> Result<R>,
) -> Result<R> {
    let len = out.capacity();
    let board = DisjointOutput {
        memory: out.as_mut_ptr(),
        len,
        item,
        stream,
        taken: BitMarks::new(projection.total),
        lent: BitMarks::new(projection.total),
        written: AtomicUsize::new(0),
        borrow: PhantomData,
    };
    let result = work(&board)?;
    let written = board.written.load(Ordering::Acquire);
    if written != projection.total {
        let missing = projection.total - written;
        return Err(ErrorKind::Internal.context(format!("the map did not deliver {missing} of its tickets")));
    }
    // SAFETY: every part was written, and together they are the slab, hence the memory.
    unsafe { out.set_filled(len) };
    Ok(result)
}

impl DisjointOutput<'_> {
    /// Claims part `number`; an error if it was claimed before.
    pub(crate) fn claim_part(&self, number: usize) -> Result<OutputPart<'_>> {
        if self.taken.mark(number) {
            Ok(OutputPart { board: self })
        } else {
            Err(ErrorKind::Internal.context("the map returned a ticket that was not issued, or twice"))
        }
    }

    /// Lends the memory of part `number`, which is contiguous, until [`DisjointOutput::take_back`].
    pub(crate) fn lend(&self, number: usize, part: &ChunkPart) -> Option<OutBuf<'_>> {
        (part.is_contiguous() && self.taken.mark(number) && self.lent.mark(number))
            // SAFETY: the mark makes this the only right to the part, and the `OutBuf` carries it.
            .then(|| OutBuf::new(unsafe { self.bytes(part) }))
    }

    /// Takes lent memory back, filled or not.
    pub(crate) fn take_back(
        &self,
        number: usize,
        part: &ChunkPart,
        lent: OutBuf<'_>,
    ) -> Result<OutputPart<'_>> {
        let start = self.memory.addr() + part.mem_start * self.item;
        let same = lent.filled().as_ptr().addr() == start && lent.capacity() == part.elems * self.item;
        if same && self.lent.unmark(number) {
            Ok(OutputPart { board: self })
        } else {
            Err(ErrorKind::Internal.context("the map returned other memory than the lent one"))
        }
    }

    /// # Safety
    /// The caller has the right to the part and does not use it otherwise meanwhile.
    #[allow(clippy::mut_from_ref)] // Which is why it is unsafe.
    unsafe fn bytes(&self, part: &ChunkPart) -> &mut [MaybeUninit<u8>] {
        let (start, len) = (part.mem_start * self.item, part.elems * self.item);
        assert!(
            part.is_contiguous() && start <= self.len && len <= self.len - start,
            "a part inside the memory"
        );
        // SAFETY: checked to be inside the memory, and no other thread has this part.
        unsafe { std::slice::from_raw_parts_mut(self.memory.add(start).cast(), len) }
    }
}

impl OutputPart<'_> {
    /// Copies a chunk's part. `part` is the projection's, except for its position in the chunk. Returns
    /// whether a value was out of range.
    pub(crate) fn load(
        self,
        chunk: &[u8],
        layout: &ChunkLayout,
        part: &ChunkPart,
        convert: Option<&Convert>,
    ) -> bool {
        let board = self.board;
        assert_eq!(board.item, convert.map_or(layout.item, |convert| convert.mem_item));
        let stream = board.stream && !part.is_contiguous();
        // SAFETY: this is the only right to the part's memory.
        let range = unsafe { kernel::load(chunk, layout, part, convert, board.memory, board.len, stream) };
        self.written();
        range
    }

    /// As [`OutputPart::load`], for some iterations of one run, from a piece of the chunk that starts at
    /// element `from`. The right to the part remains until [`OutputPart::complete`].
    pub(crate) fn load_some(
        &self,
        piece: &[u8],
        from: usize,
        layout: &ChunkLayout,
        part: &ChunkPart,
        slice: RunSlice,
        convert: Option<&Convert>,
    ) -> bool {
        let board = self.board;
        assert_eq!(board.item, convert.map_or(layout.item, |convert| convert.mem_item));
        let stream = board.stream && !part.is_contiguous();
        let mut some = part.slice_run(slice.run, slice.some);
        some.chunk_start = some.chunk_start.checked_sub(from).expect("a piece that holds the iterations");
        // SAFETY: as in `load`; some iterations are within the memory of all.
        unsafe { kernel::load(piece, layout, &some, convert, board.memory, board.len, stream) }
    }

    /// Sets all elements of the part to one value.
    pub(crate) fn fill(self, value: &[u8], part: &ChunkPart) {
        assert_eq!(value.len(), self.board.item);
        // SAFETY: as in `load`.
        unsafe { kernel::fill(value, part, self.board.memory, self.board.len) };
        self.written();
    }

    /// Lets `write` fill a part that is contiguous in memory. Returns the bytes written; the part counts as
    /// written only if all are.
    pub(crate) fn direct(
        self,
        part: &ChunkPart,
        write: impl FnOnce(&mut OutBuf<'_>) -> Result<()>,
    ) -> Result<usize> {
        // SAFETY: as in `load`.
        let memory = unsafe { self.board.bytes(part) };
        let (start, len) = (memory.as_ptr().cast::<u8>(), memory.len());
        let mut out = OutBuf::new(memory);
        write(&mut out)?;
        let filled = out.filled();
        if !std::ptr::eq(filled.as_ptr(), start) {
            return Err(ErrorKind::Internal.context("the output was replaced"));
        }
        let filled = filled.len();
        if filled == len {
            self.written();
        }
        Ok(filled)
    }

    /// Declares the part as written, through lent memory or piece by piece.
    pub(crate) fn complete(self) {
        self.written();
    }

    fn written(self) {
        self.board.written.fetch_add(1, Ordering::AcqRel);
    }
}

/// Memory that threads fill piece by piece, in order.
pub(crate) struct SequentialOutput<'a> {
    /// The number of pieces split off, and the remaining memory.
    rest: Mutex<(usize, &'a mut [MaybeUninit<u8>])>,
    written: AtomicUsize,
}

/// Lets `work` fill all of `out` through a [`SequentialOutput`].
///
/// # Errors
/// The error of `work`; `NC_EINTERNAL` if a part is missing.
pub(crate) fn in_pieces<R>(
    out: &mut OutBuf<'_>,
    work: impl FnOnce(&SequentialOutput<'_>) -> Result<R>,
) -> Result<R> {
    let len = out.capacity();
    // SAFETY: the memory of an output is contiguous and borrowed exclusively.
    let memory = unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast::<MaybeUninit<u8>>(), len) };
    let strip = SequentialOutput { rest: Mutex::new((0, memory)), written: AtomicUsize::new(0) };
    let result = work(&strip)?;
    let written = strip.written.load(Ordering::Acquire);
    if written != len {
        return Err(
            ErrorKind::Internal.context(format!("{} of {len} bytes were not delivered", len - written))
        );
    }
    // SAFETY: disjoint pieces were initialised, and their lengths add up to the whole memory.
    unsafe { out.set_filled(len) };
    Ok(result)
}

impl SequentialOutput<'_> {
    /// Lets `fill` write the next piece. `len_of` returns its length for its number, or `None` at the end.
    ///
    /// # Errors
    /// The error of `fill`; `NC_EINTERNAL` if it wrote less than the piece, or if memory is exhausted.
    pub(crate) fn next<R>(
        &self,
        len_of: impl FnOnce(usize) -> Option<usize>,
        fill: impl FnOnce(usize, &mut OutBuf<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let (number, piece) = {
            let mut guard = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
            let (number, rest) = &mut *guard;
            let Some(len) = len_of(*number) else { return Ok(None) };
            let Some((piece, left)) = std::mem::take(rest).split_at_mut_checked(len) else {
                return Err(ErrorKind::Internal.context(format!("no memory for a piece of {len} bytes")));
            };
            *rest = left;
            *number += 1;
            (*number - 1, piece)
        };
        let (start, len) = (piece.as_ptr().cast::<u8>(), piece.len());
        let mut out = OutBuf::new(piece);
        let result = fill(number, &mut out)?;
        let filled = out.filled();
        if !std::ptr::eq(filled.as_ptr(), start) || filled.len() != len {
            return Err(ErrorKind::Internal
                .context(format!("{} of {len} bytes of a piece were written", filled.len())));
        }
        self.written.fetch_add(len, Ordering::AcqRel);
        Ok(Some(result))
    }
}

/// One bit per part; up to 64 without heap memory.
struct BitMarks {
    one: AtomicU64,
    more: Box<[AtomicU64]>,
    len: usize,
}

impl BitMarks {
    fn new(len: usize) -> Self {
        let words = if len > 64 { len.div_ceil(64) } else { 0 };
        Self { one: AtomicU64::new(0), more: (0..words).map(|_| AtomicU64::new(0)).collect(), len }
    }

    fn word(&self, at: usize) -> Option<&AtomicU64> {
        (at < self.len).then(|| self.more.get(at / 64).unwrap_or(&self.one))
    }

    /// Sets a bit. Returns whether it exists and was clear.
    fn mark(&self, at: usize) -> bool {
        let bit = 1 << (at % 64);
        self.word(at).is_some_and(|word| word.fetch_or(bit, Ordering::AcqRel) & bit == 0)
    }

    /// Clears a bit. Returns whether it was set.
    fn unmark(&self, at: usize) -> bool {
        let bit = 1 << (at % 64);
        self.word(at).is_some_and(|word| word.fetch_and(!bit, Ordering::AcqRel) & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills eight bytes in pieces of three bytes.
    fn run(pieces: usize, fill: impl Fn(usize, &mut OutBuf<'_>) -> Result<()>) -> Result<Vec<u8>> {
        let mut memory = [MaybeUninit::uninit(); 8];
        let mut out = OutBuf::new(&mut memory);
        in_pieces(&mut out, |strip| {
            while strip.next(|number| (number < pieces).then(|| 3.min(8 - 3 * number)), &fill)?.is_some() {}
            Ok(())
        })?;
        Ok(out.filled().to_vec())
    }

    #[test]
    fn a_strip_is_full_or_an_error() {
        let all = |number: usize, out: &mut OutBuf<'_>| out.put(&[number as u8; 3][..out.remaining()]);
        assert_eq!(run(3, all).unwrap(), [0, 0, 0, 1, 1, 1, 2, 2]);
        let kind = |result: Result<Vec<u8>>| result.unwrap_err().kind();
        assert_eq!(kind(run(2, all)), ErrorKind::Internal, "a piece is left out");
        assert_eq!(kind(run(3, |_, out| out.put(&[1]))), ErrorKind::Internal, "a piece is not full");
        assert_eq!(
            kind(run(3, |number, out| all(number, out).and(Err(ErrorKind::Io.into())))),
            ErrorKind::Io
        );
        let exchange = |_: usize, out: &mut OutBuf<'_>| {
            *out = OutBuf::from_slice(Box::leak(vec![1; 3].into_boxed_slice()));
            out.put_zeros(3).map(drop)
        };
        assert_eq!(kind(run(3, exchange)), ErrorKind::Internal, "another output does not count");
    }
}
