//! [`Spare`]: memory of bodies that were decoded, for those that come next.
//!
//! Memory that nobody used before is slow at its first touch, and bodies of one array are all about as long. No more is
//! kept than [`MOST`], and nothing for longer than the map. It lies in huge pages where the system has them
//! ([`Buffer`]).

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use dispatch::Buffer;

/// Bodies that are worth it: of so many bytes, and not of more.
const WORTH: std::ops::RangeInclusive<u64> = 32 << 10..=2 << 20;
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
        let length = usize::try_from(length).ok().filter(|_| WORTH.contains(&length))?;
        let memory = match self.take(length) {
            Some(memory) => memory,
            None => {
                let room = length.next_multiple_of(STEP);
                Buffer::fill(room, |out| out.zeroed(room).map(drop)).ok()?
            }
        };
        Some(Room { memory: Some(memory), len: 0, home: Arc::clone(self) })
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
    home: Arc<Spare>,
}

impl Room {
    /// Bytes that are written.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Writes what comes next; `false`: there is no room for it.
    pub(crate) fn put(&mut self, piece: &[u8]) -> bool {
        let rest = self.memory.as_deref_mut().and_then(|memory| memory.get_mut(self.len..)?.get_mut(..piece.len()));
        let Some(rest) = rest else { return false };
        rest.copy_from_slice(piece);
        self.len += piece.len();
        true
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
        if let Some(memory) = self.memory.take() {
            self.home.give(memory);
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
        assert!(room.put(&[7; 9]) && !room.put(&[7; STEP]) && room.put(&[8; STEP - 9]) && !room.put(&[1]));
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
        assert!(again.put(&[1, 2]) && again.as_ref() == [1, 2] && again.as_ref().as_ptr() == at);
        let longer = spare.room(STEP as u64 + 1).unwrap();
        drop((again, longer));
        assert_eq!(kept(), 3 * STEP);
        let rooms: Vec<_> = (0..40).map(|_| spare.room(*WORTH.end()).unwrap()).collect();
        drop(rooms);
        assert!((MOST / 2..=MOST).contains(&kept()));
        assert!(spare.room(*WORTH.start() - 1).is_none() && spare.room(*WORTH.end() + 1).is_none());
    }
}
