//! [`BufferPool`]: memory of decoded bodies for the next ones.
//!
//! New memory is slow at its first use, and the bodies of an array have similar lengths. The pool keeps at
//! most [`MOST`] bytes, and ends with the map. It uses huge pages where available ([`Buffer`]).

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use nczarr_runtime::Buffer;

/// Lengths of bodies in bytes for which the pool is worthwhile.
pub(crate) const HELD: std::ops::RangeInclusive<u64> = 32 << 10..=2 << 20;
/// Sizes are multiples of this, so memory can be reused for a slightly longer body.
const STEP: usize = 64 << 10;
/// Most bytes kept.
const MOST: usize = 32 << 20;

/// Unused memory.
#[derive(Debug, Default)]
pub(crate) struct BufferPool(Mutex<FreeBuffers>);

#[derive(Debug, Default)]
struct FreeBuffers {
    free: Vec<Buffer<u8>>,
    bytes: usize,
}

impl BufferPool {
    /// Returns memory for a body; `None` if pooling is not worthwhile or there is no memory.
    pub(crate) fn room(self: &Arc<Self>, length: u64) -> Option<PooledBuffer> {
        let length = usize::try_from(length).ok().filter(|_| HELD.contains(&length))?;
        let memory = match self.take(length) {
            Some(memory) => memory,
            None => {
                let room = length.next_multiple_of(STEP);
                Buffer::fill(room, |out| out.put_zeros(room).map(drop)).ok()?
            }
        };
        Some(PooledBuffer { memory: Some(memory), len: 0, home: Some(Arc::clone(self)) })
    }

    fn take(&self, length: usize) -> Option<Buffer<u8>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The memory used last is most likely still in the processor's cache.
        let at = kept.free.iter().rposition(|memory| memory.len() >= length)?;
        let memory = kept.free.remove(at);
        kept.bytes -= memory.len();
        Some(memory)
    }

    fn give(&self, memory: Buffer<u8>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.len() <= MOST - kept.bytes {
            kept.bytes += memory.len();
            kept.free.push(memory);
        }
    }
}

/// Memory that returns to the pool when dropped.
#[derive(Debug)]
pub(crate) struct PooledBuffer {
    /// Present until the drop.
    memory: Option<Buffer<u8>>,
    /// Number of bytes written.
    len: usize,
    /// The pool; `None`: the memory is not reused.
    home: Option<Arc<BufferPool>>,
}

impl PooledBuffer {
    /// Returns the number of bytes written.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns memory outside the pool for a body; `None` if there is no memory.
    pub(crate) fn alone(length: u64) -> Option<Self> {
        let memory = Buffer::zeros(usize::try_from(length).ok()?).ok()?;
        Some(Self { memory: Some(memory), len: 0, home: None })
    }

    /// Returns the unwritten memory of a body of `length` bytes.
    pub(crate) fn rest(&mut self, length: u64) -> &mut [u8] {
        let end = usize::try_from(length).unwrap_or(usize::MAX);
        self.memory.as_deref_mut().and_then(|memory| memory.get_mut(self.len..end)).unwrap_or_default()
    }

    /// Records that bytes were written.
    pub(crate) fn advance(&mut self, some: usize) {
        self.len += some;
    }
}

impl AsRef<[u8]> for PooledBuffer {
    /// Returns the bytes written.
    fn as_ref(&self) -> &[u8] {
        self.memory.as_deref().and_then(|memory| memory.get(..self.len)).unwrap_or_default()
    }
}

impl From<PooledBuffer> for Bytes {
    fn from(room: PooledBuffer) -> Self {
        Self::from_owner(room)
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        if let (Some(memory), Some(home)) = (self.memory.take(), &self.home) {
            home.give(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_and_no_more_than_is_allowed() {
        let spare = Arc::new(BufferPool::default());
        let kept = || spare.0.lock().unwrap().bytes;
        let mut room = spare.room(STEP as u64 - 9).unwrap();
        room.rest(9).fill(7);
        room.advance(9);
        room.rest(STEP as u64 - 9).fill(8);
        room.advance(STEP - 18);
        assert!(room.rest(STEP as u64 - 9).is_empty() && room.len() == STEP - 9);
        let at = room.as_ref().as_ptr();
        let bytes = Bytes::from(room);
        let slice = bytes.slice(8..10);
        drop(bytes);
        assert_eq!((&slice[..], kept()), (&[7, 8][..], 0));
        drop(slice);
        assert_eq!(kept(), STEP);
        let mut again = spare.room(STEP as u64).unwrap();
        // The buffer has no bytes of its earlier content.
        assert_eq!((again.len(), again.as_ref(), kept()), (0, &[][..], 0));
        again.rest(2).copy_from_slice(&[1, 2]);
        again.advance(2);
        assert!(again.as_ref() == [1, 2] && again.as_ref().as_ptr() == at);
        let longer = spare.room(STEP as u64 + 1).unwrap();
        drop((again, longer));
        assert_eq!(kept(), 3 * STEP);
        let rooms: Vec<_> = (0..40).map(|_| spare.room(*HELD.end()).unwrap()).collect();
        drop(rooms);
        assert!((MOST / 2..=MOST).contains(&kept()));
        let alone = PooledBuffer::alone(5 << 20).unwrap();
        assert!(alone.as_ref().is_empty());
        let before = kept();
        drop(alone);
        assert_eq!(kept(), before);
        assert!(spare.room(*HELD.start() - 1).is_none() && spare.room(*HELD.end() + 1).is_none());
    }
}
