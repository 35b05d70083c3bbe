//! [`begin`]: requests several parts of one chunk of a remote file at once.

use std::sync::{Arc, Mutex, PoisonError};

use nczarr_model::Result;
use nczarr_storage::batch::{FetchReply, coalesce, gather};
use nczarr_storage::source::ByteSource;
use nczarr_storage::{ByteRange, Key};

/// Parts that are at most this many bytes apart are requested together.
const GAP: u64 = 64 << 10;

/// Requested parts, and the caller's reply.
struct PartsRequest {
    key: Key,
    parts: Vec<ByteRange>,
    waiting: Mutex<PartsProgress>,
}

struct PartsProgress {
    /// Arrived bytes, with their offset in the chunk.
    pieces: Vec<(u64, Vec<u8>)>,
    /// Number of requests under way.
    left: usize,
    /// `None` once the reply was sent.
    reply: Option<FetchReply>,
}

/// Starts to read parts of a chunk of `len` bytes at offset `start`.
pub(super) fn begin(
    source: &Arc<dyn ByteSource>,
    start: u64,
    len: u64,
    key: Key,
    parts: Vec<ByteRange>,
    reply: FetchReply,
) {
    let stretches = coalesce(&parts, GAP);
    if stretches.is_empty() {
        return reply.send(Ok(Some((Vec::new(), None))));
    }
    let waiting = PartsProgress { pieces: Vec::new(), left: stretches.len(), reply: Some(reply) };
    let coming = Arc::new(PartsRequest { key, parts, waiting: Mutex::new(waiting) });
    for stretch in stretches {
        let coming = Arc::clone(&coming);
        let from = stretch.offset.min(len);
        let range = ByteRange::new(start + from, stretch.len.unwrap_or(0).min(len - from));
        source.start_read(range, Box::new(move |read| coming.arrived(from, read)));
    }
}

impl PartsRequest {
    fn arrived(&self, from: u64, read: Result<Vec<u8>>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.left -= 1;
        let found = match read {
            Ok(bytes) => {
                waiting.pieces.push((from, bytes));
                if waiting.left > 0 {
                    return;
                }
                waiting.pieces.sort_unstable_by_key(|(from, _)| *from);
                gather(&self.key, &self.parts, &waiting.pieces)
            }
            Err(error) => Err(error),
        };
        if let Some(reply) = waiting.reply.take() {
            reply.send(found.map(|bytes| Some((bytes, None))));
        }
    }
}
