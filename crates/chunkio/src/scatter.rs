//! [`Board`]: the caller's memory, written by many threads at once, each part by one.
//!
//! The parts of a projection never overlap; the board hands out the right to write each of them once, whatever
//! the map that drives the transfer does, and calls the memory filled only when all were written.
//!
//! [`Strip`] is the simpler thing where parts follow one another: each is cut off the memory that is left.
//!
//! The only module that shares raw memory between threads; what is written there, the kernels know.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_dispatch::OutBuf;
use nczarr_model::{ErrorKind, Result};

use crate::kernel::{self, Convert, Layout};
use crate::project::{Part, Projection};

/// Memory shared by the threads of one read.
pub(crate) struct Board<'a> {
    memory: *mut u8,
    len: usize,
    item: usize,
    stream: bool,
    /// One bit per part: somebody has, or had, the right to write it.
    taken: Marks,
    /// One bit per part: its memory was lent.
    lent: Marks,
    written: AtomicUsize,
    borrow: PhantomData<&'a mut [MaybeUninit<u8>]>,
}

// SAFETY: the memory is borrowed exclusively for `'a`; threads write through `Slot`s only, of which there is one per
// part, and parts of one projection do not overlap.
unsafe impl Sync for Board<'_> {}

/// The right to write one part.
pub(crate) struct Slot<'b> {
    board: &'b Board<'b>,
}

/// Lets `work` fill all of `out` through a board, in elements of `item` bytes.
///
/// `stream`: see [`kernel::load`].
///
/// # Errors
/// Whatever `work` says; `NC_EINTERNAL` if a part was left out.
pub(crate) fn scatter<R>(
    out: &mut OutBuf<'_>,
    projection: &Projection,
    item: usize,
    stream: bool,
    work: impl FnOnce(&Board<'_>) -> Result<R>,
) -> Result<R> {
    let len = out.capacity();
    let board = Board {
        memory: out.as_mut_ptr(),
        len,
        item,
        stream,
        taken: Marks::new(projection.total),
        lent: Marks::new(projection.total),
        written: AtomicUsize::new(0),
        borrow: PhantomData,
    };
    let result = work(&board)?;
    let written = board.written.load(Ordering::Acquire);
    if written != projection.total {
        let missing = projection.total - written;
        return Err(ErrorKind::Internal.context(format!("the map did not deliver {missing} of its tickets")));
    }
    // SAFETY: every part was written, and the parts of a projection are all of the slab, hence of the memory.
    unsafe { out.set_filled(len) };
    Ok(result)
}

impl Board<'_> {
    /// The right to write part `number`; an error if somebody has had it.
    pub(crate) fn slot(&self, number: usize) -> Result<Slot<'_>> {
        match self.taken.mark(number) {
            true => Ok(Slot { board: self }),
            false => Err(ErrorKind::Internal.context("the map returned a ticket that is not its own")),
        }
    }

    /// Lends the memory of part `number`, which is contiguous in it, to be filled and brought back.
    pub(crate) fn lend(&self, number: usize, part: &Part) -> Option<OutBuf<'_>> {
        (part.is_contiguous() && self.taken.mark(number) && self.lent.mark(number))
            // SAFETY: the mark makes this the only right to the part, and it goes with the `OutBuf`.
            .then(|| OutBuf::new(unsafe { self.bytes(part) }))
    }

    /// Takes lent memory back: all of it was written, or the right to write it is needed after all.
    pub(crate) fn take_back(&self, number: usize, part: &Part, lent: OutBuf<'_>) -> Result<Slot<'_>> {
        let start = self.memory.addr() + part.mem_start * self.item;
        let same = lent.filled().as_ptr().addr() == start && lent.capacity() == part.elems * self.item;
        match same && self.lent.unmark(number) {
            true => Ok(Slot { board: self }),
            false => Err(ErrorKind::Internal.context("the map returned other memory than it was lent")),
        }
    }

    /// # Safety
    /// The caller holds the right to the part, and uses it for nothing else meanwhile.
    #[allow(clippy::mut_from_ref)] // Which is why it is unsafe.
    unsafe fn bytes(&self, part: &Part) -> &mut [MaybeUninit<u8>] {
        let (start, len) = (part.mem_start * self.item, part.elems * self.item);
        assert!(part.is_contiguous() && start <= self.len && len <= self.len - start, "a part inside the memory");
        // SAFETY: checked to lie inside the memory, and nobody else has this part.
        unsafe { std::slice::from_raw_parts_mut(self.memory.add(start).cast(), len) }
    }
}

impl Slot<'_> {
    /// Copies a chunk's part here. `part` is the projection's, save that its place in the chunk may be another.
    /// Answers whether a value was out of range.
    pub(crate) fn load(self, chunk: &[u8], layout: &Layout, part: &Part, convert: Option<&Convert>) -> bool {
        let board = self.board;
        assert_eq!(board.item, convert.map_or(layout.item, |convert| convert.mem_item));
        let stream = board.stream && !part.is_contiguous();
        // SAFETY: this slot is the only right to the part's place in memory.
        let range = unsafe { kernel::load(chunk, layout, part, convert, board.memory, board.len, stream) };
        self.written();
        range
    }

    /// As [`Slot::load`], for some iterations of one of the part's runs, out of a piece of the chunk that begins with its
    /// element number `from`. The right to the part stays; [`Slot::complete`] ends it.
    pub(crate) fn load_some(
        &self,
        piece: &[u8],
        from: usize,
        layout: &Layout,
        part: &Part,
        (run, some): (usize, Range<usize>),
        convert: Option<&Convert>,
    ) -> bool {
        let board = self.board;
        assert_eq!(board.item, convert.map_or(layout.item, |convert| convert.mem_item));
        let stream = board.stream && !part.is_contiguous();
        let mut some = part.some(run, some);
        some.chunk_start = some.chunk_start.checked_sub(from).expect("a piece that holds the iterations");
        // SAFETY: as in `load`; some iterations lie in memory where all of them do.
        unsafe { kernel::load(piece, layout, &some, convert, board.memory, board.len, stream) }
    }

    /// Sets all elements of the part to one value.
    pub(crate) fn fill(self, value: &[u8], part: &Part) {
        assert_eq!(value.len(), self.board.item);
        // SAFETY: as in `load`.
        unsafe { kernel::fill(value, part, self.board.memory, self.board.len) };
        self.written();
    }

    /// Lets `write` fill a part that is contiguous in memory. Answers how many bytes it wrote; if not all, the part
    /// does not count as written.
    pub(crate) fn direct(self, part: &Part, write: impl FnOnce(&mut OutBuf<'_>) -> Result<()>) -> Result<usize> {
        // SAFETY: as in `load`.
        let memory = unsafe { self.board.bytes(part) };
        let (start, len) = (memory.as_ptr().cast::<u8>(), memory.len());
        let mut out = OutBuf::new(memory);
        write(&mut out)?;
        let filled = out.filled();
        if !std::ptr::eq(filled.as_ptr(), start) {
            return Err(ErrorKind::Internal.context("an output was exchanged for another"));
        }
        let filled = filled.len();
        if filled == len {
            self.written();
        }
        Ok(filled)
    }

    /// All of the part was written: by who was lent its memory, or piece by piece.
    pub(crate) fn complete(self) {
        self.written();
    }

    fn written(self) {
        self.board.written.fetch_add(1, Ordering::AcqRel);
    }
}

/// Memory that threads fill piece by piece, in the order of the pieces.
pub(crate) struct Strip<'a> {
    /// How many pieces were cut off, and the memory after them.
    rest: Mutex<(usize, &'a mut [MaybeUninit<u8>])>,
    written: AtomicUsize,
}

/// Lets `work` fill all of `out` through a strip.
///
/// # Errors
/// Whatever `work` says; `NC_EINTERNAL` if a piece was left out.
pub(crate) fn in_pieces<R>(out: &mut OutBuf<'_>, work: impl FnOnce(&Strip<'_>) -> Result<R>) -> Result<R> {
    let len = out.capacity();
    // SAFETY: the memory of an output is one piece of so many bytes, borrowed exclusively.
    let memory = unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast::<MaybeUninit<u8>>(), len) };
    let strip = Strip { rest: Mutex::new((0, memory)), written: AtomicUsize::new(0) };
    let result = work(&strip)?;
    let written = strip.written.load(Ordering::Acquire);
    if written != len {
        return Err(ErrorKind::Internal.context(format!("{} of {len} bytes were not delivered", len - written)));
    }
    // SAFETY: pieces of the memory that do not overlap were initialised, and their lengths add up to all of it.
    unsafe { out.set_filled(len) };
    Ok(result)
}

impl Strip<'_> {
    /// Lets `fill` write the next piece. `len_of` tells its length by its number, or that there are no more.
    ///
    /// # Errors
    /// Whatever `fill` says; `NC_EINTERNAL` if it wrote less than the piece, or there is less memory.
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
            return Err(ErrorKind::Internal.context(format!("{} of {len} bytes of a piece were written", filled.len())));
        }
        self.written.fetch_add(len, Ordering::AcqRel);
        Ok(Some(result))
    }
}

/// One bit per part; up to 64 without the heap.
struct Marks {
    one: AtomicU64,
    more: Box<[AtomicU64]>,
    len: usize,
}

impl Marks {
    fn new(len: usize) -> Self {
        let words = if len > 64 { len.div_ceil(64) } else { 0 };
        Self { one: AtomicU64::new(0), more: (0..words).map(|_| AtomicU64::new(0)).collect(), len }
    }

    fn word(&self, at: usize) -> Option<&AtomicU64> {
        (at < self.len).then(|| self.more.get(at / 64).unwrap_or(&self.one))
    }

    /// Sets a bit; whether it exists and was not set.
    fn mark(&self, at: usize) -> bool {
        let bit = 1 << (at % 64);
        self.word(at).is_some_and(|word| word.fetch_or(bit, Ordering::AcqRel) & bit == 0)
    }

    /// Clears a bit; whether it was set.
    fn unmark(&self, at: usize) -> bool {
        let bit = 1 << (at % 64);
        self.word(at).is_some_and(|word| word.fetch_and(!bit, Ordering::AcqRel) & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills eight bytes in pieces of three.
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
        assert_eq!(kind(run(3, |number, out| all(number, out).and(Err(ErrorKind::Io.into())))), ErrorKind::Io);
        let exchange = |_: usize, out: &mut OutBuf<'_>| {
            *out = OutBuf::from_slice(Box::leak(vec![1; 3].into_boxed_slice()));
            out.put_zeros(3).map(drop)
        };
        assert_eq!(kind(run(3, exchange)), ErrorKind::Internal, "another output does not count");
    }
}
