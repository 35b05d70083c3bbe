//! [`begin`]: several parts of one chunk in a file elsewhere, all asked for at once.

use std::sync::{Arc, Mutex, PoisonError};

use nczarr_dispatch::{ByteRange, ByteSource, Key, Reply, coalesce, gather};
use nczarr_model::Result;

/// Bytes between two parts that are rather read than asked for apart.
const GAP: u64 = 64 << 10;

/// Parts that are on their way, and who waits for them.
struct Coming {
    key: Key,
    parts: Vec<ByteRange>,
    waiting: Mutex<Waiting>,
}

struct Waiting {
    /// The bytes that arrived, and their start in the chunk.
    pieces: Vec<(u64, Vec<u8>)>,
    /// How many are on their way.
    left: usize,
    /// `None`: it was answered.
    reply: Option<Reply>,
}

/// Begins to read parts of a chunk of `len` bytes that begins at `start`.
pub(super) fn begin(
    source: &Arc<dyn ByteSource>,
    (start, len): (u64, u64),
    key: Key,
    parts: Vec<ByteRange>,
    reply: Reply,
) {
    let stretches = coalesce(&parts, GAP);
    if stretches.is_empty() {
        return reply.send(Ok(Some((Vec::new(), None))));
    }
    let waiting = Waiting { pieces: Vec::new(), left: stretches.len(), reply: Some(reply) };
    let coming = Arc::new(Coming { key, parts, waiting: Mutex::new(waiting) });
    for stretch in stretches {
        let coming = Arc::clone(&coming);
        let from = stretch.offset.min(len);
        let range = ByteRange::new(start + from, stretch.len.unwrap_or(0).min(len - from));
        source.start(range, Box::new(move |read| coming.came(from, read)));
    }
}

impl Coming {
    fn came(&self, from: u64, read: Result<Vec<u8>>) {
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
