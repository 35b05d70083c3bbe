//! [`ByteSource`]: the bytes of one file somewhere else, for formats that are a single file.
//!
//! Storage that is a map of objects may hold archives and classic files too, each in one object. Who opens such a file
//! (a driver, or the map of an archive) asks [`Registry::open_source`](crate::Registry::open_source), and knows neither
//! protocol nor requests.

mod ahead;
mod stretches;

use std::fmt;
use std::ops::Range;

use nczarr_model::{ErrorKind, Result};

use crate::{ByteRange, OutBuf};

pub use ahead::ReadAhead;

/// What is done with bytes that came, or with the failure.
pub type WhenRead = Box<dyn FnOnce(Result<Vec<u8>>) + Send>;

/// The part of a file that is probably wanted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// So many bytes from the start.
    Head(u64),
    /// So many bytes before the end.
    Tail(u64),
}

/// The bytes of one file, which stay as they were when it was opened.
///
/// Guarantee: all bytes ever answered are of one state of the file. If it has changed since, that is an error.
pub trait ByteSource: Send + Sync + fmt::Debug {
    /// How many bytes there are.
    fn len(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that were read when it was opened: reading them asks for nothing.
    fn at_hand(&self) -> Range<u64> {
        0..0
    }

    /// Begins to read a range, whose `len` is set, and returns at once; `then` is called on any thread, once. What lies
    /// beyond the end is left out, and nothing else.
    fn start(&self, range: ByteRange, then: WhenRead);

    /// Reads a range.
    ///
    /// # Errors
    /// What the storage says; `NC_EIO` if the file has changed.
    fn read(&self, range: ByteRange) -> Result<Vec<u8>> {
        let (send, receive) = std::sync::mpsc::sync_channel(1);
        self.start(
            range,
            Box::new(move |read| {
                // Who asked waits for it.
                let _ = send.send(read);
            }),
        );
        receive.recv().unwrap_or_else(|_| Err(ErrorKind::Internal.context("bytes that were asked for never came")))
    }

    /// Appends bytes from `offset` on to `out`, at most [`OutBuf::room`]; fewer only where the file ends.
    ///
    /// # Errors
    /// As [`ByteSource::read`].
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let room = out.room() as u64;
        let wanted = self.len().saturating_sub(offset).min(room);
        if wanted == 0 {
            return Ok(());
        }
        out.put(&self.read(ByteRange::new(offset, wanted))?)
    }
}
