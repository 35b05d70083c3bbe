//! [`rewrite`]: a new shard made of an old one and some new chunks. What is not changed is moved as it is stored.
//!
//! New chunks are made by several threads, each appending what it made: where in a shard a chunk lies means nothing.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dispatch::{Payload, Small, pull_apart};
use model::{Error, ErrorKind, Result};

use super::index::{Entry, Index};
use super::level::Level;

/// Changed chunks of a shard.
pub(crate) trait Edits: Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// The chunk's numbers in its shards, the outermost first; ascending.
    fn numbers(&self, edit: usize) -> &Small<usize>;

    /// The stored bytes of the chunk, in `new` or elsewhere; `old`: those it had.
    fn make(&self, edit: usize, old: Option<&[u8]>, new: &mut Vec<u8>) -> Result<Payload<'_>>;
}

/// Appends to the empty `out` a shard with the chunks of `old` and `edits`, made by up to `threads` threads.
pub(crate) fn rewrite(
    levels: &[Arc<Level>],
    old: Option<&[u8]>,
    edits: &dyn Edits,
    threads: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    level(levels, 0, 0..edits.count(), old, edits, threads, out)
}

fn level(
    levels: &[Arc<Level>],
    depth: usize,
    range: std::ops::Range<usize>,
    old: Option<&[u8]>,
    edits: &dyn Edits,
    threads: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    let Some(this) = levels.get(depth) else {
        return Err(ErrorKind::Internal.context("a shard in a chunk"));
    };
    match old {
        None => make(levels, depth, range, None, edits, threads, out)?,
        Some(stored) => this.unwrap(stored, |old| make(levels, depth, range, Some(old), edits, threads, out))?,
    }
    this.wrap(out)
}

fn make(
    levels: &[Arc<Level>],
    depth: usize,
    range: std::ops::Range<usize>,
    old: Option<&[u8]>,
    edits: &dyn Edits,
    threads: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    let this = &levels[depth];
    let number = |edit: usize| edits.numbers(edit).get(depth).copied().unwrap_or(usize::MAX);
    // Edits of the same chunk (of a shard in a shard) follow one another.
    let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
    for edit in range {
        match groups.last_mut() {
            Some(last) if number(last.start) == number(edit) => last.end = edit + 1,
            _ => groups.push(edit..edit + 1),
        }
    }
    let before = old.map(|old| this.index_of(old)).transpose()?;
    out.clear();
    if this.at_start {
        out.resize(this.index_bytes, 0);
    }
    let mut index = Index::empty(this.total);
    if let (Some(before), Some(old)) = (&before, old) {
        let mut changed: Vec<usize> = groups.iter().map(|group| number(group.start)).collect();
        changed.sort_unstable();
        for at in 0..this.total {
            if changed.binary_search(&at).is_ok() {
                continue;
            }
            if let Some(chunk) = before.cut(at, old)? {
                append(this, out, &mut index, at, chunk)?;
            }
        }
    }
    let inner = depth + 1 < levels.len();
    let place = Mutex::new((&mut *out, &mut index));
    let (next, failure) = (AtomicUsize::new(0), Mutex::new(None::<Error>));
    let several = if inner { 1 } else { threads.min(groups.len()) };
    pull_apart(several, &|| {
        let mut chunk = Vec::new();
        while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
            let at = number(group.start);
            let made = (|| {
                let was = match (&before, old) {
                    (Some(before), Some(old)) => before.cut(at, old)?,
                    _ => None,
                };
                chunk.clear();
                let payload = match inner {
                    true => {
                        level(levels, depth + 1, group.clone(), was, edits, threads, &mut chunk)?;
                        Payload::Scratch
                    }
                    false => edits.make(group.start, was, &mut chunk)?,
                };
                let bytes = match payload {
                    Payload::Scratch => &chunk,
                    Payload::Caller(bytes) => bytes,
                };
                let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
                let (out, index) = &mut *place;
                append(this, out, index, at, bytes)
            })();
            if let Err(error) = made {
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                return;
            }
        }
    });
    if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    if this.at_start {
        let mut stored = Vec::new();
        this.render(&index, &mut stored)?;
        match out.get_mut(..stored.len()) {
            Some(place) => place.copy_from_slice(&stored),
            None => return Err(ErrorKind::Internal.context("the shard's index has no place")),
        }
        return Ok(());
    }
    this.render(&index, out)
}

fn append(level: &Level, out: &mut Vec<u8>, index: &mut Index, number: usize, chunk: &[u8]) -> Result<()> {
    let entry = Entry { offset: out.len() as u64, len: chunk.len() as u64 };
    if out.len().saturating_add(chunk.len()) > level.limit {
        return Err(ErrorKind::Io.context(format!("the shard would have more than {} bytes", level.limit)));
    }
    out.try_reserve(chunk.len()).map_err(|error| {
        ErrorKind::NoMem.context(format!("a shard of more than {} bytes", out.len())).caused_by(error)
    })?;
    out.extend_from_slice(chunk);
    index.set(number, entry);
    Ok(())
}
