//! [`Memory`]: where one thread reads objects to.
//!
//! A fresh small page costs as much as what is read to it, so much memory is of huge pages. Less begins with a line of the
//! cache: an allocator's large pieces begin 16 bytes after a page does, and to there an AMD Zen 3 copies a page in more than
//! three times the time it takes to anywhere else (`rep movsb`, which is how the kernel copies). What is in it means nothing.

use nczarr_dispatch::{Allocation, OutBuf};

use super::fetch::Fault;

/// The usual size of a huge page.
const HUGE_PAGE: usize = 2 << 20;

/// Memory that only grows.
pub(super) struct Memory(Allocation);

impl Default for Memory {
    fn default() -> Self {
        Self(Allocation::EMPTY)
    }
}

impl Memory {
    /// How many bytes there is room for.
    pub(super) fn capacity(&self) -> usize {
        self.0.len()
    }

    /// An empty output of `len` bytes.
    pub(super) fn room(&mut self, len: usize) -> Result<OutBuf<'_>, Fault> {
        if len > self.0.len() {
            // The old memory goes first: both together may be more than there is.
            self.0 = Allocation::EMPTY;
            self.0 = ample(len).and_then(|ample| Allocation::unpooled(ample).ok()).ok_or(Fault::Memory(len as u64))?;
        }
        Ok(OutBuf::new(&mut self.0.uninit_bytes()[..len]))
    }
}

/// How much to take for so many bytes. The next object is often a little larger, and what is not used of it is no memory yet.
fn ample(len: usize) -> Option<usize> {
    match len {
        HUGE_PAGE.. => len.checked_next_multiple_of(HUGE_PAGE),
        _ => Some((len + len / 16).min(HUGE_PAGE)),
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
            out.put_zeros(len).unwrap().fill(7);
            assert_eq!(out.filled().iter().filter(|&&byte| byte == 7).count(), len);
            assert!(len < 64 || out.filled().as_ptr().addr().is_multiple_of(64), "{len}");
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
