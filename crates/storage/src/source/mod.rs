//! [`ByteSource`]: the bytes of one remote file, for single-file formats.
//!
//! Object storage may hold archives and classic files, each in one object. A driver, or an archive map, opens
//! such a file with `Registry::open_source`, and knows no protocol.

mod range_cache;
mod read_ahead;
mod shared_bytes;

use std::fmt;
use std::ops::Range;

use nczarr_model::{ErrorKind, Result};

use crate::{ByteRange, OutBuf};

pub use crate::factory::Backing;
pub use read_ahead::ReadAhead;
pub use shared_bytes::SharedBytes;

/// The callback of a read: receives the bytes or the error.
pub type ReadCallback = Box<dyn FnOnce(Result<Vec<u8>>) + Send>;

/// The part of a file that is probably read first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitialRead {
    /// This many bytes from the start.
    Head(u64),
    /// This many bytes at the end.
    Tail(u64),
}

/// The bytes of one file, in its state at opening.
///
/// Guarantee: all bytes are of one version of the file. If the file changed, reads fail.
pub trait ByteSource: Send + Sync + fmt::Debug {
    /// Returns the length in bytes.
    fn len(&self) -> u64;

    /// Whether the file is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the range that was read when opening: it needs no request.
    fn prefetched_range(&self) -> Range<u64> {
        0..0
    }

    /// Starts to read a range, whose `len` is set, and returns at once. `then` is called once, on any thread.
    /// Only bytes beyond the end are left out.
    fn start_read(&self, range: ByteRange, then: ReadCallback);

    /// Reads a range.
    ///
    /// # Errors
    /// `NC_EIO` if the file has changed; otherwise the storage's error.
    fn read(&self, range: ByteRange) -> Result<Vec<u8>> {
        let (send, receive) = std::sync::mpsc::sync_channel(1);
        self.start_read(
            range,
            Box::new(move |read| {
                // The receiver waits for it.
                let _ = send.send(read);
            }),
        );
        receive.recv().unwrap_or_else(|_| {
            Err(ErrorKind::Internal.context("the storage never delivered the requested bytes"))
        })
    }

    /// Appends bytes from `offset` on to `out`, until `out` is full or the file ends.
    ///
    /// # Errors
    /// As [`ByteSource::read`].
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let room = out.remaining() as u64;
        let wanted = self.len().saturating_sub(offset).min(room);
        if wanted == 0 {
            return Ok(());
        }
        out.put(&self.read(ByteRange::new(offset, wanted))?)
    }
}
