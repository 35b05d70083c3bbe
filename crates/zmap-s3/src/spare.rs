//! [`Spare`]: memory of bodies that were decoded, for those that come next.
//!
//! Memory that nobody used before is slow at its first touch, and bodies of one array are all about as long. No more is
//! kept than [`MOST`], and nothing for longer than the map.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// Shorter bodies are not worth keeping memory for.
pub(crate) const WORTH: usize = 32 << 10;
/// Bytes kept at most.
const MOST: usize = 32 << 20;

/// Memory nobody uses.
#[derive(Debug, Default)]
pub(crate) struct Spare(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    free: Vec<Vec<u8>>,
    bytes: usize,
}

impl Spare {
    /// Something empty with room for so many bytes, if there is such.
    pub(crate) fn take(&self, room: usize) -> Vec<u8> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What was used last is nearest to the processor.
        let Some(at) = kept.free.iter().rposition(|memory| memory.capacity() >= room) else { return Vec::new() };
        let memory = kept.free.remove(at);
        kept.bytes -= memory.capacity();
        memory
    }

    fn give(&self, mut memory: Vec<u8>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.capacity() <= MOST - kept.bytes {
            memory.clear();
            kept.bytes += memory.capacity();
            kept.free.push(memory);
        }
    }

    /// Bytes whose memory comes back when nobody needs them any more.
    pub(crate) fn lend(self: &Arc<Self>, memory: Vec<u8>) -> Bytes {
        if memory.capacity() < WORTH {
            return memory.into();
        }
        Bytes::from_owner(Lent { memory, home: Arc::clone(self) })
    }
}

/// Memory that comes back.
struct Lent {
    memory: Vec<u8>,
    home: Arc<Spare>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.memory
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.home.give(std::mem::take(&mut self.memory));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_and_no_more_than_is_allowed() {
        let spare = Arc::new(Spare::default());
        let memory = vec![7; WORTH];
        let at = memory.as_ptr();
        let bytes = spare.lend(memory);
        let slice = bytes.slice(1..2);
        drop(bytes);
        assert_eq!((&slice[..], spare.take(1).capacity()), (&[7][..], 0));
        drop(slice);
        assert_eq!(spare.take(WORTH + 1).capacity(), 0);
        let again = spare.take(WORTH);
        assert_eq!((again.as_ptr(), again.len()), (at, 0));
        assert_eq!(spare.take(1).capacity(), 0);
        for _ in 0..3 {
            drop([spare.lend(vec![0; MOST / 2]), spare.lend(Vec::from([0; 9]))]);
            let two = [spare.lend(vec![0; MOST / 2]), spare.lend(vec![0; MOST / 2])];
            drop(two);
            assert!(spare.0.lock().unwrap().bytes <= MOST);
        }
        drop(spare.lend(vec![0; MOST + 1]));
        assert!(spare.take(MOST + 1).is_empty());
    }
}
