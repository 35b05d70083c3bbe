//! [`ReadBuffer`]: the memory into which one thread reads objects.
//!
//! * Large buffers use huge pages, because a page fault costs as much as reading a small page.
//! * Smaller buffers begin at a cache line. Allocators place large blocks 16 bytes behind a page start, where
//!   `rep movsb`, the kernel's copy, takes three times as long on AMD Zen 3.
//!
//! The contents are undefined.

use nczarr_runtime::Allocation;
use nczarr_storage::OutBuf;

use super::read_failure::ReadFailure;

/// The usual size of a huge page.
const HUGE_PAGE: usize = 2 << 20;

/// Memory that only grows.
pub(super) struct ReadBuffer(Allocation);

impl Default for ReadBuffer {
    fn default() -> Self {
        Self(Allocation::EMPTY)
    }
}

impl ReadBuffer {
    /// Returns the capacity in bytes.
    pub(super) fn capacity(&self) -> usize {
        self.0.len()
    }

    /// Returns an empty output of `len` bytes.
    pub(super) fn room(&mut self, len: usize) -> Result<OutBuf<'_>, ReadFailure> {
        if len > self.0.len() {
            // Frees the old memory first: both together may exceed the available memory.
            self.0 = Allocation::EMPTY;
            self.0 = round_up(len)
                .and_then(|round_up| Allocation::unpooled(round_up).ok())
                .ok_or(ReadFailure::Memory(len as u64))?;
        }
        Ok(OutBuf::new(&mut self.0.uninit_bytes()[..len]))
    }
}

/// Rounds up a request. The next object is often a little larger, and untouched pages take no memory.
fn round_up(len: usize) -> Option<usize> {
    match len {
        HUGE_PAGE.. => len.checked_next_multiple_of(HUGE_PAGE),
        _ => Some((len + len / 16).min(HUGE_PAGE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_buffer_grows_and_keeps_its_memory() {
        let mut memory = ReadBuffer::default();
        let mut most = 0;
        for len in [
            0,
            1,
            8193,
            100,
            HUGE_PAGE - 1,
            HUGE_PAGE,
            5,
            HUGE_PAGE + 1,
            3 * HUGE_PAGE - 7,
            3 * HUGE_PAGE,
            64,
        ] {
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
            assert!(matches!(memory.room(too_much), Err(ReadFailure::Memory(_))));
            assert!(memory.room(10).is_ok());
        }
    }
}
