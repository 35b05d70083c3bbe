//! Memory: [`ChunkBuffer`], the bytes of a decoded chunk, and [`ScratchBuffer`], which each thread keeps.
//!
//! Both are written through an [`OutBuf`], so that nothing is zeroed first and unwritten memory is never
//! read. A failed allocation is an error, since files determine sizes. [`Allocation`] supplies the memory.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::{Allocation, OutBuf};

/// Larger scratch buffers are freed after use.
const KEEP: usize = 32 << 20;

/// Buffers from this size on are reused, because the page faults of new memory cost more than the work on it.
const REUSED: usize = 16 << 10;

/// The maximum of bytes kept for reuse in the process.
const WAITING: usize = 8 << 20;

static SPARE: Mutex<Vec<ChunkBuffer>> = Mutex::new(Vec::new());

/// Returns the first `len` bytes of an allocation.
///
/// # Safety
/// The bytes are initialised.
unsafe fn first(piece: &Allocation, len: usize) -> &[u8] {
    debug_assert!(len <= piece.len());
    // SAFETY: inside the allocation, and initialised as the caller promises.
    unsafe { std::slice::from_raw_parts(piece.start().as_ptr().cast(), len) }
}

/// Returns the number of bytes that `out`, created over `start`, has initialised; an error if it was
/// replaced.
fn written(out: &OutBuf<'_>, start: *const u8) -> Result<usize> {
    let filled = out.filled();
    if std::ptr::eq(filled.as_ptr(), start) {
        Ok(filled.len())
    } else {
        Err(ErrorKind::Internal.context("the output was replaced"))
    }
}

/// A buffer of a fixed size, completely initialised.
pub(crate) struct ChunkBuffer(Allocation);

impl ChunkBuffer {
    /// Creates a buffer of `len` bytes, written by `fill`.
    ///
    /// # Errors
    /// `NC_ENOMEM`; the error of `fill`; `short(written)` if it writes fewer bytes.
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

    /// Returns a reused buffer of `len` bytes: initialised, with arbitrary content. `None` if there is none.
    pub(crate) fn spare(len: usize) -> Option<Self> {
        if len < REUSED {
            return None;
        }
        let mut spare = SPARE.try_lock().ok()?;
        let at = spare.iter().position(|block| block.0.len() == len)?;
        Some(spare.swap_remove(at))
    }

    /// Copies the buffer.
    pub(crate) fn try_clone(&self) -> Result<Self> {
        Self::new(self.len(), |out| out.put(self), |_| ErrorKind::Internal.into())
    }
}

/// The address and length of bytes that their owner keeps unchanged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByteView {
    start: *const u8,
    len: usize,
}

// SAFETY: readers promise that the bytes are valid on their thread.
unsafe impl Send for ByteView {}
// SAFETY: as above.
unsafe impl Sync for ByteView {}

impl ByteView {
    /// A view of no bytes.
    pub(crate) const NONE: Self = Self { start: std::ptr::dangling(), len: 0 };

    /// Returns the bytes.
    ///
    /// # Safety
    /// The owner is alive, and the bytes do not change during the borrow.
    pub(crate) unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: views are created from slices only, and the caller promises the rest.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

/// A value that can supply a view of its bytes.
pub(crate) trait HasByteView {
    /// Returns a view of all bytes, valid until `self` is borrowed exclusively; of no bytes if there are
    /// other parts.
    fn view(&self) -> ByteView {
        ByteView::NONE
    }
}

impl HasByteView for ChunkBuffer {
    fn view(&self) -> ByteView {
        ByteView { start: self.as_ptr(), len: self.len() }
    }
}

impl std::fmt::Debug for ChunkBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Block({} bytes)", self.len())
    }
}

impl Drop for ChunkBuffer {
    fn drop(&mut self) {
        if (REUSED..=WAITING).contains(&self.0.len())
            && let Ok(mut spare) = SPARE.try_lock()
            && spare.iter().map(|block| block.0.len()).sum::<usize>() + self.0.len() <= WAITING
        {
            spare.push(Self(std::mem::replace(&mut self.0, Allocation::EMPTY)));
        }
    }
}

impl Deref for ChunkBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `new` returns only completely written buffers.
        unsafe { first(&self.0, self.0.len()) }
    }
}

impl DerefMut for ChunkBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.0.start().as_ptr().cast(), self.0.len()) }
    }
}

/// A buffer that is refilled and only grows.
pub(crate) struct ScratchBuffer {
    raw: Allocation,
    filled: usize,
}

impl ScratchBuffer {
    const EMPTY: Self = Self { raw: Allocation::EMPTY, filled: 0 };

    /// Lets `fill` write at most `limit` bytes, and returns them.
    pub(crate) fn fill(
        &mut self,
        limit: usize,
        fill: impl FnOnce(&mut OutBuf<'_>) -> Result<()>,
    ) -> Result<&[u8]> {
        self.filled = 0;
        if self.raw.len() < limit {
            // The old memory is freed first: both together may exceed the available memory.
            self.raw = Allocation::EMPTY;
            self.raw = Allocation::unpooled(limit)?;
        }
        let start = self.raw.start().as_ptr().cast();
        let mut out = OutBuf::new(&mut self.raw.uninit_bytes()[..limit]);
        fill(&mut out)?;
        self.filled = written(&out, start)?;
        Ok(self.written())
    }

    /// Returns the bytes of the last [`ScratchBuffer::fill`].
    pub(crate) fn written(&self) -> &[u8] {
        // SAFETY: an `OutBuf` over this memory initialised this many bytes, and only `fill` writes.
        unsafe { first(&self.raw, self.filled) }
    }
}

/// The two buffers of a thread for decoding or encoding a chunk.
pub(crate) struct ScratchPair {
    pub(crate) one: ScratchBuffer,
    pub(crate) two: ScratchBuffer,
}

thread_local! {
    static KEPT: Cell<Option<ScratchPair>> = const { Cell::new(None) };
}

/// Runs `work` with this thread's buffers. They are moved out: a nested call gets new ones.
pub(crate) fn with_scratch<R>(work: impl FnOnce(&mut ScratchPair) -> R) -> R {
    let mut pair =
        KEPT.take().unwrap_or(ScratchPair { one: ScratchBuffer::EMPTY, two: ScratchBuffer::EMPTY });
    let result = work(&mut pair);
    for scratch in [&mut pair.one, &mut pair.two] {
        if scratch.raw.len() > KEEP {
            *scratch = ScratchBuffer::EMPTY;
        }
    }
    KEPT.set(Some(pair));
    result
}

/// Replaces the content of `out` by the bytes that `fill` writes, at most `limit`; nothing is zeroed.
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
    // SAFETY: the `OutBuf` over the vector's memory initialised its first `filled` bytes.
    unsafe { out.set_len(filled) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_full_blocks_exist() {
        let block = ChunkBuffer::new(5, |out| out.put(b"hello"), |_| ErrorKind::Trunc.into()).unwrap();
        assert_eq!(&*block, b"hello");
        assert_eq!(block.as_ptr() as usize % 8, 0);
        let mut copy = block.try_clone().unwrap();
        copy[0] = b'j';
        assert_eq!((&*block, &*copy), (&b"hello"[..], &b"jello"[..]));
        let error = ChunkBuffer::new(5, |out| out.put(b"hell"), |n| ErrorKind::Trunc.context(n.to_string()))
            .map(drop);
        assert_eq!(error.unwrap_err().what(), "4");
        assert!(ChunkBuffer::new(0, |_| Ok(()), |_| ErrorKind::Trunc.into()).unwrap().is_empty());
        let huge =
            ChunkBuffer::new(isize::MAX as usize - 63, |_| Ok(()), |_| ErrorKind::Trunc.into()).map(drop);
        assert_eq!(huge.unwrap_err().kind(), ErrorKind::NoMem);
    }

    #[test]
    fn another_output_does_not_count() {
        let exchange = |out: &mut OutBuf<'_>| {
            *out = OutBuf::from_slice(Box::leak(vec![1; 8].into_boxed_slice()));
            out.put_zeros(8).map(drop)
        };
        let kind = |result: Result<()>| result.unwrap_err().kind();
        assert_eq!(
            kind(ChunkBuffer::new(8, exchange, |_| ErrorKind::Trunc.into()).map(drop)),
            ErrorKind::Internal
        );
        with_scratch(|pair| assert_eq!(kind(pair.one.fill(8, exchange).map(drop)), ErrorKind::Internal));
        assert_eq!(kind(fill_vec(&mut Vec::new(), 8, exchange)), ErrorKind::Internal);
    }

    #[test]
    fn blocks_are_used_again() {
        // No other test uses this size.
        let len = REUSED + 4321;
        assert!(ChunkBuffer::spare(len).is_none());
        let block = |byte: u8| {
            ChunkBuffer::new(len, |out| out.put(&vec![byte; len]), |_| ErrorKind::Trunc.into()).unwrap()
        };
        drop((block(1), block(2)));
        // Another test may hold the lock. Then `spare` returns no buffer, but never a wrong one.
        let again = [ChunkBuffer::spare(len), ChunkBuffer::spare(len)];
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
