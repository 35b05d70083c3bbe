//! [`Cached`]: a map that caches reads of another map.
//!
//! * `part` describes the part of an object that an answer has.
//! * `in_flight` rejects answers that a write may have made stale.
//! * `answer_store` stores answers in `memory` or on `disk`.
//! * `map` has the map's methods, `job` its batches.

mod answer_store;
mod disk;
mod in_flight;
mod job;
mod map;
mod memory;
mod part;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use nczarr_model::Result;
use nczarr_storage::{Key, ZMap};

use answer_store::AnswerStore;
use disk::DiskStore;
use in_flight::{InFlightReads, SlotState, WriterGuard};
use memory::MemoryStore;
use part::{CachedAnswer, ObjectPart};

/// The limits of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Total bytes. On disk: of all maps that share the directory.
    pub budget: u64,
    /// The largest object or range that is cached, in bytes.
    pub largest: usize,
    /// Whether absent objects are cached. Then chunks that were never written take one request; an object
    /// that another process makes is invisible until [`Cached::refresh`].
    pub absent: bool,
}

impl Keep {
    /// Limits with this many bytes in total and a quarter of them per answer; absence is not cached.
    pub const fn bytes(budget: u64) -> Self {
        let largest = budget / 4;
        Self {
            budget,
            largest: if largest > usize::MAX as u64 { usize::MAX } else { largest as usize },
            absent: false,
        }
    }
}

/// Counters of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheStats {
    /// Reads answered from the cache.
    pub hits: u64,
    /// Reads that went to the inner map.
    pub misses: u64,
    /// Bytes answered from the cache.
    pub hit_bytes: u64,
    /// Approximate bytes in the cache.
    pub kept: u64,
}

/// A map that caches objects and ranges, up to a number of bytes.
///
/// *Invariant:* the cache is correct while all writes go through this map: writes, deletions and renames here
/// are visible at once to all threads. Writes of other processes become visible at [`Cached::refresh`], which
/// `sync` calls too. Until then a reader may see old objects beside new ones. So use it for data that do not
/// change, or that only this process changes.
///
/// Conditional writes and versions go to the inner map. So do listings, and requests for several ranges of an
/// object that is not cached as a whole.
///
/// On disk ([`Cached::on_disk`]) the answers outlive the process. A cache with the same directory and
/// identity uses them. So the identity must distinguish datasets and their states: use the URL, and a number
/// or date if the dataset is replaced now and then. Files appear complete, and each is verified when read.
#[derive(Debug)]
pub struct Cached {
    inner: Arc<dyn ZMap>,
    keep: Keep,
    gate: InFlightReads,
    shelf: AnswerStore,
    hits: AtomicU64,
    misses: AtomicU64,
    hit_bytes: AtomicU64,
}

/// A cached answer for a part of an object.
enum CacheAnswer {
    /// The object does not exist.
    Absent,
    /// The whole object.
    Whole(Arc<[u8]>),
    /// The part.
    Part(Arc<[u8]>),
}

impl Cached {
    /// Makes a cache in memory.
    pub fn in_memory(inner: Arc<dyn ZMap>, keep: Keep) -> Self {
        Self::over(inner, keep, AnswerStore::Memory(MemoryStore::new(keep.budget)))
    }

    /// Makes a cache in `directory`, which is created if necessary and may be shared with other maps.
    /// `identity` identifies the dataset.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn on_disk(inner: Arc<dyn ZMap>, directory: &Path, identity: &str, keep: Keep) -> Result<Self> {
        let disk = DiskStore::open(directory, identity, keep.budget, keep.largest)?;
        Ok(Self::over(inner, keep, AnswerStore::Disk(disk)))
    }

    fn over(inner: Arc<dyn ZMap>, keep: Keep, shelf: AnswerStore) -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            inner,
            keep,
            gate: InFlightReads::new(),
            shelf,
            hits: zero(),
            misses: zero(),
            hit_bytes: zero(),
        }
    }

    /// Drops all cached answers of this map, so that writes of other processes become visible.
    ///
    /// # Errors
    /// Errors of the file system if files cannot be removed.
    pub fn refresh(&self) -> Result<()> {
        self.gate.begin_all(|| self.shelf.clear()).map(drop)
    }

    /// Returns the counters.
    pub fn stats(&self) -> CacheStats {
        CacheStats {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            hit_bytes: self.hit_bytes.load(Relaxed),
            kept: self.shelf.bytes(),
        }
    }

    fn hit(&self, bytes: usize) {
        self.hits.fetch_add(1, Relaxed);
        self.hit_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Looks up an object (`part`: a part of it), and returns the state of its slot; no state during a write.
    fn find(&self, key: &Key, part: Option<ObjectPart>) -> (Option<CacheAnswer>, Option<SlotState>) {
        let Some(seen) = self.gate.look(key) else { return (None, None) };
        let exact =
            part.filter(|&part| part != ObjectPart::All).and_then(|part| self.shelf.get(key, part)).flatten();
        let answer = match exact {
            Some(bytes) => Some(CacheAnswer::Part(bytes)),
            None => self
                .shelf
                .get(key, ObjectPart::All)
                .map(|kept: CachedAnswer| kept.map_or(CacheAnswer::Absent, CacheAnswer::Whole)),
        };
        // A file may have been replaced after a writer began.
        let still = self.gate.look(key) == Some(seen);
        (answer.filter(|_| still), Some(seen))
    }

    /// Caches the inner map's answer, unless a writer interfered. `bytes` is `None` if the object does not
    /// exist.
    fn record_answer(&self, key: &Key, part: ObjectPart, bytes: Option<&[u8]>, seen: Option<SlotState>) {
        self.misses.fetch_add(1, Relaxed);
        let Some(seen) = seen else { return };
        let part = match bytes {
            Some(bytes) if bytes.len() > self.keep.largest => return,
            None if !self.keep.absent => return,
            // The request was for zero bytes.
            _ if matches!(part, ObjectPart::Range(_, 0) | ObjectPart::Last(0)) => return,
            Some(bytes) => part.answered(bytes.len()),
            None => ObjectPart::All,
        };
        if let Some(staged) = self.shelf.stage(key, part, bytes) {
            self.gate.if_unchanged(key, seen, || self.shelf.settle(key, staged));
            self.shelf.trim();
        }
    }

    /// Begins a change of an object.
    fn begin(&self, key: &Key) -> Result<WriterGuard<'_>> {
        let mut keys = vec![key.clone()];
        if self.keep.absent {
            // A key that becomes a prefix is no longer absent.
            keys.extend(std::iter::successors(key.parent(), Key::parent));
        }
        self.gate.begin(keys.iter(), || keys.iter().try_for_each(|key| self.shelf.forget(key)))
    }

    /// Begins a change of many objects.
    fn begin_all(&self) -> Result<WriterGuard<'_>> {
        self.gate.begin_all(|| self.shelf.clear())
    }
}
