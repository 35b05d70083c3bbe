//! [`Memory`]: where one thread reads objects to.
//!
//! A fresh small page costs as much as what is read to it, so much memory is of huge pages. What is in it means nothing.

use dispatch::{OutBuf, Piece};

use super::fetch::Fault;

/// The usual size of a huge page. Less memory is the allocator's.
const HUGE_PAGE: usize = 2 << 20;

/// Memory that only grows.
#[derive(Default)]
pub(super) struct Memory {
    few: Vec<u8>,
    /// In place of the other, once there was something large.
    many: Option<Piece>,
}

impl Memory {
    /// How many bytes there is room for.
    pub(super) fn capacity(&self) -> usize {
        self.many.as_ref().map_or(self.few.capacity(), Piece::len)
    }

    /// An empty output of `len` bytes.
    pub(super) fn room(&mut self, len: usize) -> Result<OutBuf<'_>, Fault> {
        let none = Fault::Memory(len as u64);
        if len < HUGE_PAGE && self.many.is_none() {
            self.few.clear();
            // The next object is often a little larger. What is not used of it is no memory yet.
            let ample = if len > self.few.capacity() { (len + len / 16).min(HUGE_PAGE) } else { len };
            if self.few.try_reserve_exact(ample).is_err() {
                return Err(none);
            }
            return Ok(OutBuf::new(&mut self.few.spare_capacity_mut()[..len]));
        }
        let many = match self.many.take() {
            Some(many) if many.len() >= len => many,
            smaller => {
                // The old memory goes first: both together may be more than there is.
                drop(smaller);
                self.few = Vec::new();
                let rounded = len.checked_next_multiple_of(HUGE_PAGE);
                match rounded.and_then(|rounded| Piece::alone(rounded).ok()) {
                    Some(many) => many,
                    None => return Err(none),
                }
            }
        };
        Ok(OutBuf::new(&mut self.many.insert(many).bytes()[..len]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_what_is_asked_and_it_is_kept() {
        let mut memory = Memory::default();
        let mut most = 0;
        for len in [0, 1, 8193, 100, HUGE_PAGE - 1, HUGE_PAGE, 5, HUGE_PAGE + 1, 3 * HUGE_PAGE - 7, 3 * HUGE_PAGE, 64] {
            let mut out = memory.room(len).ok().unwrap();
            assert_eq!((out.capacity(), out.filled().len()), (len, 0));
            out.zeroed(len).unwrap().fill(7);
            assert_eq!(out.filled().iter().filter(|&&byte| byte == 7).count(), len);
            assert!(memory.capacity() >= len.max(most), "{len}");
            most = memory.capacity();
        }
        assert_eq!(most, 3 * HUGE_PAGE);
        for too_much in [isize::MAX as usize, usize::MAX] {
            assert!(matches!(memory.room(too_much), Err(Fault::Memory(_))));
            assert!(memory.room(10).is_ok());
        }
    }
}
