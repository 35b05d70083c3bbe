//! [`Rewrite`]: a new shard made of an old one and some new chunks. What is not changed is moved as it is stored.
//!
//! New chunks are made by several threads, each appending what it made: where in a shard a chunk lies means nothing. A shard
//! whose index comes last need not be in memory as a whole: it is handed on part by part.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nczarr_dispatch::{DimVec, Payload, PutPart, run_on_new_threads};
use nczarr_model::{Error, ErrorKind, Result};

use super::index::{Entry, Index};
use super::level::Level;

/// Parts of fewer bytes are put together before they are handed on.
const PART: usize = 128 << 10;

/// Changed chunks of a shard.
pub(crate) trait Edits: Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// The chunk's numbers in its shards, the outermost first; ascending.
    fn numbers(&self, edit: usize) -> &DimVec<usize>;

    /// The stored bytes of the chunk, in `new` or elsewhere; `old`: those it had.
    fn make(&self, edit: usize, old: Option<&[u8]>, new: &mut Vec<u8>) -> Result<Payload<'_>>;
}

/// Whether a shard without an old one can be handed on part by part.
pub(crate) fn has_parts(levels: &[Arc<Level>]) -> bool {
    levels.first().is_some_and(|level| !level.at_start && !level.is_wrapped())
}

/// How to make a shard.
pub(crate) struct Rewrite<'r> {
    pub(crate) levels: &'r [Arc<Level>],
    pub(crate) edits: &'r dyn Edits,
    /// How many threads may make its chunks.
    pub(crate) threads: usize,
}

impl Rewrite<'_> {
    /// Replaces `out` by a shard with the chunks of `old` and the edits.
    pub(crate) fn whole(&self, old: Option<&[u8]>, out: &mut Vec<u8>) -> Result<()> {
        self.shard(0, 0..self.edits.count(), old, out)
    }

    /// A shard with the edits alone, part by part; only if it [has parts](has_parts).
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

    fn level(&self, depth: usize) -> Result<&Level> {
        self.levels.get(depth).map(|level| &**level).ok_or_else(|| ErrorKind::Internal.context("a shard in a chunk"))
    }

    /// A shard of some level, with the edits of a range.
    fn shard(&self, depth: usize, range: Range<usize>, old: Option<&[u8]>, out: &mut Vec<u8>) -> Result<()> {
        let level = self.level(depth)?;
        match old {
            None => self.unwrapped(depth, range, None, out)?,
            Some(stored) => level.unwrap(stored, |old| self.unwrapped(depth, range, Some(old), out))?,
        }
        level.wrap(out)
    }

    fn unwrapped(&self, depth: usize, range: Range<usize>, old: Option<&[u8]>, out: &mut Vec<u8>) -> Result<()> {
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

    /// All chunks of a shard, from byte `start` of it on, and where they are.
    fn body(
        &self,
        depth: usize,
        range: Range<usize>,
        old: Option<&[u8]>,
        start: u64,
        put: &mut PutPart<'_>,
    ) -> Result<Index> {
        let level = self.level(depth)?;
        let number = |edit: usize| self.edits.numbers(edit).get(depth).copied().unwrap_or(usize::MAX);
        // Edits of the same chunk (of a shard in a shard) follow one another.
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
        let mut growing = Growing { level, index: Index::empty(level.total), end: start, put };
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
            chunk.clear();
            let payload = match inner {
                true => {
                    self.shard(depth + 1, group.clone(), was(at)?, chunk)?;
                    Payload::Scratch
                }
                false => self.edits.make(group.start, was(at)?, chunk)?,
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

/// A shard to which chunks are added.
struct Growing<'g, 'p, 'q> {
    level: &'g Level,
    index: Index,
    /// Where the next chunk goes.
    end: u64,
    put: &'p mut PutPart<'q>,
}

impl Growing<'_, '_, '_> {
    fn append(&mut self, number: usize, chunk: &[u8]) -> Result<()> {
        let entry = Entry { offset: self.end, len: chunk.len() as u64 };
        let end = self.end.saturating_add(entry.len);
        if end > self.level.limit as u64 {
            return Err(ErrorKind::Io.context(format!("the shard would have more than {} bytes", self.level.limit)));
        }
        (self.put)(chunk)?;
        self.end = end;
        self.index.set(number, entry);
        Ok(())
    }
}
