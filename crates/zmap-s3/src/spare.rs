//! [`Spare`]: memory of bodies that were decoded, for those that come next.
//!
//! Memory that nobody used before is slow at its first touch, and bodies of one array are all about as long. No more is
//! kept than [`MOST`], and nothing for longer than the map. It lies in huge pages where the system has them
//! ([`Buffer`]).

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use nczarr_dispatch::Buffer;

/// Bodies that are worth it: of so many bytes, and not of more.
pub(crate) const HELD: std::ops::RangeInclusive<u64> = 32 << 10..=2 << 20;
/// Memory has a multiple of so many bytes, that it may be used again for what is a little longer.
const STEP: usize = 64 << 10;
/// Bytes kept at most.
const MOST: usize = 32 << 20;

/// Memory nobody uses.
#[derive(Debug, Default)]
pub(crate) struct Spare(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    free: Vec<Buffer<u8>>,
    bytes: usize,
}

impl Spare {
    /// Room for a body of so many bytes; `None`: it is not worth it, or there is no memory.
    pub(crate) fn room(self: &Arc<Self>, length: u64) -> Option<Room> {
        let length = usize::try_from(length).ok().filter(|_| HELD.contains(&length))?;
        let memory = match self.take(length) {
            Some(memory) => memory,
            None => {
                let room = length.next_multiple_of(STEP);
                Buffer::fill(room, |out| out.put_zeros(room).map(drop)).ok()?
            }
        };
        Some(Room { memory: Some(memory), len: 0, home: Some(Arc::clone(self)) })
    }

    fn take(&self, length: usize) -> Option<Buffer<u8>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What was used last is nearest to the processor.
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

/// Memory that comes back when nobody needs what is in it.
#[derive(Debug)]
pub(crate) struct Room {
    /// There until it is dropped.
    memory: Option<Buffer<u8>>,
    /// Bytes that are written.
    len: usize,
    /// Whose it is; `None`: it is used once.
    home: Option<Arc<Spare>>,
}

impl Room {
    /// Bytes that are written.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// For one body of so many bytes; `None`: there is no memory.
    pub(crate) fn alone(length: u64) -> Option<Self> {
        let memory = Buffer::zeros(usize::try_from(length).ok()?).ok()?;
        Some(Self { memory: Some(memory), len: 0, home: None })
    }

    /// Where the rest of a body of `length` bytes is to be written, of which some are there.
    pub(crate) fn rest(&mut self, length: u64) -> &mut [u8] {
        let end = usize::try_from(length).unwrap_or(usize::MAX);
        self.memory.as_deref_mut().and_then(|memory| memory.get_mut(self.len..end)).unwrap_or_default()
    }

    /// So many bytes were written there.
    pub(crate) fn came(&mut self, some: usize) {
        self.len += some;
    }
}

impl AsRef<[u8]> for Room {
    /// What is written.
    fn as_ref(&self) -> &[u8] {
        self.memory.as_deref().and_then(|memory| memory.get(..self.len)).unwrap_or_default()
    }
}

impl From<Room> for Bytes {
    fn from(room: Room) -> Self {
        Self::from_owner(room)
    }
}

impl Drop for Room {
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
        let spare = Arc::new(Spare::default());
        let kept = || spare.0.lock().unwrap().bytes;
        let mut room = spare.room(STEP as u64 - 9).unwrap();
        room.rest(9).fill(7);
        room.came(9);
        room.rest(STEP as u64 - 9).fill(8);
        room.came(STEP - 18);
        assert!(room.rest(STEP as u64 - 9).is_empty() && room.len() == STEP - 9);
        let at = room.as_ref().as_ptr();
        let bytes = Bytes::from(room);
        let slice = bytes.slice(8..10);
        drop(bytes);
        assert_eq!((&slice[..], kept()), (&[7, 8][..], 0));
        drop(slice);
        assert_eq!(kept(), STEP);
        let mut again = spare.room(STEP as u64).unwrap();
        // Nothing of what was there before.
        assert_eq!((again.len(), again.as_ref(), kept()), (0, &[][..], 0));
        again.rest(2).copy_from_slice(&[1, 2]);
        again.came(2);
        assert!(again.as_ref() == [1, 2] && again.as_ref().as_ptr() == at);
        let longer = spare.room(STEP as u64 + 1).unwrap();
        drop((again, longer));
        assert_eq!(kept(), 3 * STEP);
        let rooms: Vec<_> = (0..40).map(|_| spare.room(*HELD.end()).unwrap()).collect();
        drop(rooms);
        assert!((MOST / 2..=MOST).contains(&kept()));
        let alone = Room::alone(5 << 20).unwrap();
        assert!(alone.as_ref().is_empty());
        let before = kept();
        drop(alone);
        assert_eq!(kept(), before);
        assert!(spare.room(*HELD.start() - 1).is_none() && spare.room(*HELD.end() + 1).is_none());
    }
}
