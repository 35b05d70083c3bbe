//! [`ShardRewrite`]: builds a shard from an old one and changed chunks. Unchanged chunks are copied in
//! encoded form.
//!
//! Several threads encode changed chunks and append them: the order of chunks in a shard has no meaning. A
//! shard with a trailing index is streamed in parts and need not be in memory as a whole.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::{DimVec, run_on_new_threads};
use nczarr_storage::batch::{Payload, PutPart};

use super::index::{ShardEntry, ShardIndex};
use super::level::ShardLevel;

/// Smaller parts are joined before they are stored.
const PART: usize = 128 << 10;

/// The changed chunks of a shard.
pub(crate) trait ChunkEdits: Sync {
    /// Returns their number.
    fn count(&self) -> usize;

    /// Returns the chunk's numbers in its shards, outermost first. Edits are sorted by them.
    fn numbers(&self, edit: usize) -> &DimVec<usize>;

    /// Whether the chunk is removed.
    fn removes(&self, _edit: usize) -> bool {
        false
    }

    /// Encodes the chunk, into `new` or elsewhere. `old`: its old stored bytes.
    fn make(&self, edit: usize, old: Option<&[u8]>, new: &mut Vec<u8>) -> Result<Payload<'_>>;
}

/// Whether a new shard can be stored in parts.
pub(crate) fn has_parts(levels: &[Arc<ShardLevel>]) -> bool {
    levels.first().is_some_and(|level| !level.at_start && !level.is_wrapped())
}

/// The description of a new shard.
pub(crate) struct ShardRewrite<'r> {
    pub(crate) levels: &'r [Arc<ShardLevel>],
    pub(crate) edits: &'r dyn ChunkEdits,
    /// The number of threads that may encode its chunks.
    pub(crate) threads: usize,
}

impl ShardRewrite<'_> {
    /// Replaces `out` by a shard with the chunks of `old` and the edits.
    pub(crate) fn whole(&self, old: Option<&[u8]>, out: &mut Vec<u8>) -> Result<()> {
        self.shard(0, 0..self.edits.count(), old, out)
    }

    /// Stores a shard with the edits alone, in parts; only if it [has parts](has_parts).
    pub(crate) fn parts(&self, put: &mut PutPart<'_>) -> Result<()> {
        let level = self.level(0)?;
        let mut small = Vec::new();
        let mut gather = |bytes: &[u8]| {
            if small.len() + bytes.len() >= PART && !small.is_empty() {
                put(&small)?;
                small.clear();
            }
            if bytes.len() >= PART {
                return put(bytes);
            }
            small.extend_from_slice(bytes);
            Ok(())
        };
        let index = self.body(0, 0..self.edits.count(), None, 0, &mut gather)?;
        let mut stored = Vec::new();
        level.render(&index, &mut stored)?;
        gather(&stored)?;
        if small.is_empty() { Ok(()) } else { put(&small) }
    }

    fn level(&self, depth: usize) -> Result<&ShardLevel> {
        self.levels
            .get(depth)
            .map(|level| &**level)
            .ok_or_else(|| ErrorKind::Internal.context("a shard in a chunk"))
    }

    /// Builds a shard of one level, with a range of edits.
    fn shard(&self, depth: usize, range: Range<usize>, old: Option<&[u8]>, out: &mut Vec<u8>) -> Result<()> {
        let level = self.level(depth)?;
        match old {
            None => self.unwrapped(depth, range, None, out)?,
            Some(stored) => level.unwrap(stored, |old| self.unwrapped(depth, range, Some(old), out))?,
        }
        level.wrap(out)
    }

    fn unwrapped(
        &self,
        depth: usize,
        range: Range<usize>,
        old: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let level = self.level(depth)?;
        out.clear();
        if level.at_start {
            out.resize(level.index_bytes, 0);
        }
        let start = out.len() as u64;
        let index = self.body(depth, range, old, start, &mut |bytes| {
            out.try_reserve(bytes.len()).map_err(|error| {
                ErrorKind::NoMem.context(format!("a shard of more than {} bytes", out.len())).caused_by(error)
            })?;
            out.extend_from_slice(bytes);
            Ok(())
        })?;
        if !level.at_start {
            return level.render(&index, out);
        }
        let mut stored = Vec::new();
        level.render(&index, &mut stored)?;
        match out.get_mut(..stored.len()) {
            Some(place) => place.copy_from_slice(&stored),
            None => return Err(ErrorKind::Internal.context("the shard's index has no place")),
        }
        Ok(())
    }

    /// Stores all chunks of a shard, from byte `start` on, and returns their positions.
    fn body(
        &self,
        depth: usize,
        range: Range<usize>,
        old: Option<&[u8]>,
        start: u64,
        put: &mut PutPart<'_>,
    ) -> Result<ShardIndex> {
        let level = self.level(depth)?;
        let number = |edit: usize| self.edits.numbers(edit).get(depth).copied().unwrap_or(usize::MAX);
        // Edits of the same nested shard are adjacent.
        let mut groups: Vec<Range<usize>> = Vec::new();
        for edit in range {
            match groups.last_mut() {
                Some(last) if number(last.start) == number(edit) => last.end = edit + 1,
                _ => groups.push(edit..edit + 1),
            }
        }
        let before = old.map(|old| level.index_of(old)).transpose()?;
        let was = |at: usize| match (&before, old) {
            (Some(before), Some(old)) => before.cut(at, old),
            _ => Ok(None),
        };
        let mut growing = ShardBuilder { level, index: ShardIndex::empty(level.total), end: start, put };
        if old.is_some() {
            let mut changed: Vec<usize> = groups.iter().map(|group| number(group.start)).collect();
            changed.sort_unstable();
            for at in (0..level.total).filter(|at| changed.binary_search(at).is_err()) {
                if let Some(chunk) = was(at)? {
                    growing.append(at, chunk)?;
                }
            }
        }
        let inner = depth + 1 < self.levels.len();
        let place = Mutex::new(&mut growing);
        let (next, failure) = (AtomicUsize::new(0), Mutex::new(None::<Error>));
        let make = |group: &Range<usize>, chunk: &mut Vec<u8>| -> Result<()> {
            let at = number(group.start);
            if !inner && self.edits.removes(group.start) {
                return Ok(());
            }
            chunk.clear();
            let payload = if inner {
                self.shard(depth + 1, group.clone(), was(at)?, chunk)?;
                Payload::Scratch
            } else {
                self.edits.make(group.start, was(at)?, chunk)?
            };
            let bytes = match payload {
                Payload::Scratch => chunk,
                Payload::Borrowed(bytes) => bytes,
            };
            place.lock().unwrap_or_else(PoisonError::into_inner).append(at, bytes)
        };
        run_on_new_threads(if inner { 1 } else { self.threads.min(groups.len()) }, &|| {
            let mut chunk = Vec::new();
            while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = make(group, &mut chunk) {
                    next.store(groups.len(), Ordering::Relaxed);
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    return;
                }
            }
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(growing.index),
        }
    }
}

/// A shard under construction.
struct ShardBuilder<'g, 'p, 'q> {
    level: &'g ShardLevel,
    index: ShardIndex,
    /// The offset of the next chunk.
    end: u64,
    put: &'p mut PutPart<'q>,
}

impl ShardBuilder<'_, '_, '_> {
    fn append(&mut self, number: usize, chunk: &[u8]) -> Result<()> {
        let entry = ShardEntry { offset: self.end, len: chunk.len() as u64 };
        let end = self.end.saturating_add(entry.len);
        if end > self.level.limit as u64 {
            return Err(ErrorKind::Io.context(format!("the new shard exceeds {} bytes", self.level.limit)));
        }
        (self.put)(chunk)?;
        self.end = end;
        self.index.set(number, entry);
        Ok(())
    }
}
