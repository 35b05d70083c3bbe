//! [`Scratch`]: memory for the bytes of one read, which a thread uses again for the next.

use std::ops::Deref;

use nczarr_model::{ErrorKind, Result};

/// Bytes in memory that is used again: only the first read that needs it zeroes it.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    memory: Vec<u8>,
    /// The number of bytes in use.
    len: usize,
}

impl Scratch {
    /// Removes all bytes. The memory stays.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Returns the size of its memory.
    pub(crate) fn capacity(&self) -> usize {
        self.memory.capacity()
    }

    /// Appends `len` bytes that `fill` writes.
    ///
    /// # Errors
    /// `NC_ENOMEM`; the errors of `fill`, which leave the bytes as they were.
    pub(crate) fn append(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        let no_memory = || ErrorKind::NoMem.context(format!("not enough memory for {len} bytes"));
        let end = self.len.checked_add(len).ok_or_else(no_memory)?;
        if end > self.memory.capacity() {
            // Chunks have similar sizes, so a reserve for the next ones saves moving the memory.
            let more = end.saturating_add(end / 8) - self.memory.len();
            self.memory.try_reserve_exact(more).map_err(|error| no_memory().caused_by(error))?;
        }
        if end > self.memory.len() {
            self.memory.resize(end, 0);
        }
        fill(&mut self.memory[self.len..end])?;
        self.len = end;
        Ok(())
    }
}

impl Deref for Scratch {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_read_leaves_the_bytes() {
        let mut scratch = Scratch::default();
        let put = |scratch: &mut Scratch, bytes: &[u8]| {
            scratch.append(bytes.len(), |room| {
                room.copy_from_slice(bytes);
                Ok(())
            })
        };
        put(&mut scratch, b"long before").unwrap();
        scratch.clear();
        assert!(scratch.is_empty());
        put(&mut scratch, b"ab").unwrap();
        put(&mut scratch, b"").unwrap();
        put(&mut scratch, b"cd").unwrap();
        let failed = scratch.append(3, |room| {
            room.fill(b'x');
            Err(ErrorKind::Io.context("no"))
        });
        assert!(failed.is_err());
        assert_eq!(*scratch, *b"abcd");
        assert_eq!(scratch.append(usize::MAX, |_| Ok(())).unwrap_err().kind(), ErrorKind::NoMem);
        assert_eq!(*scratch, *b"abcd");
    }
}
