//! Memory for bytes: [`Block`], the bytes of one decoded chunk, and [`Scratch`], what each thread keeps.
//!
//! Both are written through an [`OutBuf`], so that nothing is zeroed first and nothing unwritten is ever read.
//! Allocation fails with an error, not an abort: sizes come from outside. Where memory comes from, [`Allocation`] knows.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

use nczarr_dispatch::{Allocation, OutBuf};
use nczarr_model::{ErrorKind, Result};

/// Scratch beyond this is given back after use.
const KEEP: usize = 32 << 20;

/// Blocks from this size on are used again: fresh memory costs more than what is done with it.
const REUSED: usize = 16 << 10;

/// The most bytes of blocks that wait to be used again, in the whole process.
const WAITING: usize = 8 << 20;

static SPARE: Mutex<Vec<Block>> = Mutex::new(Vec::new());

/// The first `len` bytes of a piece.
///
/// # Safety
/// They are initialised.
unsafe fn first(piece: &Allocation, len: usize) -> &[u8] {
    debug_assert!(len <= piece.len());
    // SAFETY: they lie inside the piece, and are initialised as the caller promises.
    unsafe { std::slice::from_raw_parts(piece.start().as_ptr().cast(), len) }
}

/// How many bytes `out`, made over `start`, says are initialised; an error if it is another one by now.
fn written(out: &OutBuf<'_>, start: *const u8) -> Result<usize> {
    let filled = out.filled();
    match std::ptr::eq(filled.as_ptr(), start) {
        true => Ok(filled.len()),
        false => Err(ErrorKind::Internal.context("an output was exchanged for another")),
    }
}

/// Bytes of a fixed size, all initialised.
pub(crate) struct Block(Allocation);

impl Block {
    /// `len` bytes, written by `fill`.
    ///
    /// # Errors
    /// `NC_ENOMEM`; what `fill` says. If it writes fewer bytes: `short` of how many it wrote.
    pub(crate) fn new(
        len: usize,
        fill: impl FnOnce(&mut OutBuf<'_>) -> Result<()>,
        short: impl FnOnce(usize) -> nczarr_model::Error,
    ) -> Result<Self> {
        let mut raw = match Self::spare(len) {
            Some(mut block) => std::mem::replace(&mut block.0, Allocation::EMPTY),
            None => Allocation::new(len)?,
        };
        let start = raw.start().as_ptr().cast();
        let mut out = OutBuf::new(raw.uninit_bytes());
        fill(&mut out)?;
        match written(&out, start)? {
            filled if filled == len => Ok(Self(raw)),
            filled => Err(short(filled)),
        }
    }

    /// `len` bytes that were used before: initialised, and of no meaning. `None` if there are none.
    pub(crate) fn spare(len: usize) -> Option<Self> {
        if len < REUSED {
            return None;
        }
        let mut spare = SPARE.try_lock().ok()?;
        let at = spare.iter().position(|block| block.0.len() == len)?;
        Some(spare.swap_remove(at))
    }

    /// A copy.
    pub(crate) fn try_clone(&self) -> Result<Self> {
        Self::new(self.len(), |out| out.put(self), |_| ErrorKind::Internal.into())
    }
}

/// Where some bytes are, to be looked at for as long as their owner keeps them as they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    start: *const u8,
    len: usize,
}

// SAFETY: whoever looks promises that the bytes are there, on whatever thread.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl View {
    /// Of nothing.
    pub(crate) const NONE: Self = Self { start: std::ptr::dangling(), len: 0 };

    /// The bytes.
    ///
    /// # Safety
    /// Their owner lives, and nobody changes them as long as they are looked at.
    pub(crate) unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: a view is made from a slice only, and the caller promises the rest.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

/// What can say where its bytes are.
pub(crate) trait Viewed {
    /// A view of all bytes, which stay where they are until there is an exclusive borrow of `self`; of nothing if there
    /// is more to them than bytes.
    fn view(&self) -> View {
        View::NONE
    }
}

impl Viewed for Block {
    fn view(&self) -> View {
        View { start: self.as_ptr(), len: self.len() }
    }
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Block({} bytes)", self.len())
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if (REUSED..=WAITING).contains(&self.0.len())
            && let Ok(mut spare) = SPARE.try_lock()
            && spare.iter().map(|block| block.0.len()).sum::<usize>() + self.0.len() <= WAITING
        {
            spare.push(Self(std::mem::replace(&mut self.0, Allocation::EMPTY)));
        }
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `new` returns only blocks of which every byte was written.
        unsafe { first(&self.0, self.0.len()) }
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.0.start().as_ptr().cast(), self.0.len()) }
    }
}

/// Memory that is filled again and again and only grows.
pub(crate) struct Scratch {
    raw: Allocation,
    filled: usize,
}

impl Scratch {
    const EMPTY: Self = Self { raw: Allocation::EMPTY, filled: 0 };

    /// Lets `fill` write at most `limit` bytes, and returns what it wrote.
    pub(crate) fn fill(&mut self, limit: usize, fill: impl FnOnce(&mut OutBuf<'_>) -> Result<()>) -> Result<&[u8]> {
        self.filled = 0;
        if self.raw.len() < limit {
            // The old memory goes first: both together may be more than there is.
            self.raw = Allocation::EMPTY;
            self.raw = Allocation::unpooled(limit)?;
        }
        let start = self.raw.start().as_ptr().cast();
        let mut out = OutBuf::new(&mut self.raw.uninit_bytes()[..limit]);
        fill(&mut out)?;
        self.filled = written(&out, start)?;
        Ok(self.written())
    }

    /// What the last [`Scratch::fill`] wrote.
    pub(crate) fn written(&self) -> &[u8] {
        // SAFETY: an `OutBuf` over this memory said that so many bytes are initialised, and nothing but `fill` writes.
        unsafe { first(&self.raw, self.filled) }
    }
}

/// What one thread needs to decode or encode a chunk: two buffers that filters work between.
pub(crate) struct Pair {
    pub(crate) one: Scratch,
    pub(crate) two: Scratch,
}

thread_local! {
    static KEPT: Cell<Option<Pair>> = const { Cell::new(None) };
}

/// Runs `work` with this thread's buffers. They are taken, not borrowed: should `work` come here again, it gets new ones.
pub(crate) fn with_scratch<R>(work: impl FnOnce(&mut Pair) -> R) -> R {
    let mut pair = KEPT.take().unwrap_or(Pair { one: Scratch::EMPTY, two: Scratch::EMPTY });
    let result = work(&mut pair);
    for scratch in [&mut pair.one, &mut pair.two] {
        if scratch.raw.len() > KEEP {
            *scratch = Scratch::EMPTY;
        }
    }
    KEPT.set(Some(pair));
    result
}

/// Replaces the contents of `out` by what `fill` writes, at most `limit` bytes; nothing is zeroed.
pub(crate) fn fill_vec(
    out: &mut Vec<u8>,
    limit: usize,
    fill: impl FnOnce(&mut OutBuf<'_>) -> Result<()>,
) -> Result<()> {
    out.clear();
    out.try_reserve_exact(limit)
        .map_err(|error| ErrorKind::NoMem.context(format!("{limit} bytes")).caused_by(error))?;
    let filled = {
        let start = out.as_ptr();
        let mut room = OutBuf::new(&mut out.spare_capacity_mut()[..limit]);
        fill(&mut room)?;
        written(&room, start)?
    };
    // SAFETY: the `OutBuf` over the vector's own memory said that its first `filled` bytes are initialised.
    unsafe { out.set_len(filled) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_full_blocks_exist() {
        let block = Block::new(5, |out| out.put(b"hello"), |_| ErrorKind::Trunc.into()).unwrap();
        assert_eq!(&*block, b"hello");
        assert_eq!(block.as_ptr() as usize % 8, 0);
        let mut copy = block.try_clone().unwrap();
        copy[0] = b'j';
        assert_eq!((&*block, &*copy), (&b"hello"[..], &b"jello"[..]));
        let error = Block::new(5, |out| out.put(b"hell"), |n| ErrorKind::Trunc.context(n.to_string())).map(drop);
        assert_eq!(error.unwrap_err().what(), "4");
        assert!(Block::new(0, |_| Ok(()), |_| ErrorKind::Trunc.into()).unwrap().is_empty());
        let huge = Block::new(isize::MAX as usize - 63, |_| Ok(()), |_| ErrorKind::Trunc.into()).map(drop);
        assert_eq!(huge.unwrap_err().kind(), ErrorKind::NoMem);
    }

    #[test]
    fn another_output_does_not_count() {
        let exchange = |out: &mut OutBuf<'_>| {
            *out = OutBuf::from_slice(Box::leak(vec![1; 8].into_boxed_slice()));
            out.put_zeros(8).map(drop)
        };
        let kind = |result: Result<()>| result.unwrap_err().kind();
        assert_eq!(kind(Block::new(8, exchange, |_| ErrorKind::Trunc.into()).map(drop)), ErrorKind::Internal);
        with_scratch(|pair| assert_eq!(kind(pair.one.fill(8, exchange).map(drop)), ErrorKind::Internal));
        assert_eq!(kind(fill_vec(&mut Vec::new(), 8, exchange)), ErrorKind::Internal);
    }

    #[test]
    fn blocks_are_used_again() {
        // A size that no other test uses.
        let len = REUSED + 4321;
        assert!(Block::spare(len).is_none());
        let block = |byte: u8| Block::new(len, |out| out.put(&vec![byte; len]), |_| ErrorKind::Trunc.into()).unwrap();
        drop((block(1), block(2)));
        // Another test may hold the lock just now: then there is none to be had, never a wrong one.
        let again = [Block::spare(len), Block::spare(len)];
        assert!(again.iter().flatten().all(|block| block.len() == len && [1, 2].contains(&block[0])));
        drop(again);
        assert!(block(3).iter().all(|&byte| byte == 3));
    }

    #[test]
    fn scratch_is_taken_and_put_back() {
        let place = with_scratch(|pair| {
            assert_eq!(pair.one.fill(8, |out| out.put(b"abc")).unwrap(), b"abc");
            assert!(pair.two.written().is_empty());
            assert!(pair.one.fill(2, |out| out.put(b"abc")).is_err());
            assert!(pair.one.written().is_empty(), "nothing of a failure is kept");
            let inner = with_scratch(|inner| inner.one.fill(8, |out| out.put(b"x")).unwrap().as_ptr());
            let outer = pair.one.fill(8, |out| out.put(b"y")).unwrap().as_ptr();
            assert_ne!(inner, outer);
            outer
        });
        with_scratch(|pair| assert_eq!(pair.one.fill(8, |out| out.put(b"z")).unwrap().as_ptr(), place));
        with_scratch(|pair| assert!(pair.one.fill(KEEP + 1, |_| Ok(())).is_ok()));
        with_scratch(|pair| assert_eq!(pair.one.raw.len(), 0));
    }

    #[test]
    fn a_vector_is_filled_without_zeroing() {
        let mut bytes = b"old contents".to_vec();
        fill_vec(&mut bytes, 3, |out| out.put(b"new")).unwrap();
        assert_eq!(bytes, b"new");
        assert!(fill_vec(&mut bytes, 3, |out| out.put(b"long")).is_err());
        assert!(bytes.is_empty());
    }
}
