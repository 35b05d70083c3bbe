//! [`Cached`]: a map that keeps what was read.
//!
//! `part` says what an answer is, `gate` lets in what is still true, `shelf` keeps it: in `memory` or on `disk`. `map` has
//! the map's methods, `job` its batches.

mod disk;
mod gate;
mod job;
mod map;
mod memory;
mod part;
mod shelf;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use nczarr_dispatch::{Key, ZMap};
use nczarr_model::Result;

use disk::Disk;
use gate::{Gate, Seen, Writing};
use memory::Memory;
use part::Part;
use shelf::{Kept, Shelf};

/// How much is kept, and what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Bytes in all. On disk: of all maps that share the directory.
    pub budget: u64,
    /// Objects and ranges up to this many bytes.
    pub largest: usize,
    /// Whether it is kept that there is no object. Chunks that were never written are then asked for once; an object that
    /// somebody else makes is not seen until [`Cached::refresh`].
    pub absent: bool,
}

impl Keep {
    /// So many bytes in all, each answer at most a quarter of them; absence is not kept.
    pub const fn bytes(budget: u64) -> Self {
        let largest = budget / 4;
        Self { budget, largest: if largest > usize::MAX as u64 { usize::MAX } else { largest as usize }, absent: false }
    }
}

/// How a cache does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheStats {
    /// Reads that were answered without the map inside.
    pub hits: u64,
    /// Reads that it was asked for.
    pub misses: u64,
    /// Bytes that were answered without it.
    pub hit_bytes: u64,
    /// Bytes that are kept now, about.
    pub kept: u64,
}

/// A map that keeps the objects and ranges that were read, up to a number of bytes.
///
/// It is true as long as nobody writes the storage but through this map: writing, deleting and moving here are seen at
/// once, by all threads. What others write is seen after [`Cached::refresh`], which `sync` calls too (a dataset's `sync`
/// does): until then a reader may get old objects beside new ones. So it is for data that nobody changes, or for a
/// single process that does.
///
/// Conditional writes and versions go to the map inside, and so do names and lists, and requests for several ranges of an
/// object that is not kept as a whole.
///
/// On disk ([`Cached::on_disk`]) the answers outlive the process. Whoever opens the same directory with the same identity gets
/// them, so the identity has to tell of everything that makes another dataset or another state of it: its URL, and a
/// number or a date if it is replaced now and then. Files appear whole, and each is checked when it is read.
#[derive(Debug)]
pub struct Cached {
    inner: Arc<dyn ZMap>,
    keep: Keep,
    gate: Gate,
    shelf: Shelf,
    hits: AtomicU64,
    misses: AtomicU64,
    hit_bytes: AtomicU64,
}

/// What is known of a part of an object.
enum Answer {
    /// There is no object.
    Absent,
    /// The object as a whole.
    Whole(Arc<[u8]>),
    /// The part.
    Part(Arc<[u8]>),
}

impl Cached {
    /// Keeps answers in memory.
    pub fn in_memory(inner: Arc<dyn ZMap>, keep: Keep) -> Self {
        Self::over(inner, keep, Shelf::Memory(Memory::new(keep.budget)))
    }

    /// Keeps answers in `directory`, which is made if need be; other maps may use it too. `identity` names the dataset.
    ///
    /// # Errors
    /// What the system says of the directory.
    pub fn on_disk(inner: Arc<dyn ZMap>, directory: &Path, identity: &str, keep: Keep) -> Result<Self> {
        let disk = Disk::open(directory, identity, keep.budget, keep.largest)?;
        Ok(Self::over(inner, keep, Shelf::Disk(disk)))
    }

    fn over(inner: Arc<dyn ZMap>, keep: Keep, shelf: Shelf) -> Self {
        let zero = || AtomicU64::new(0);
        Self { inner, keep, gate: Gate::new(), shelf, hits: zero(), misses: zero(), hit_bytes: zero() }
    }

    /// Forgets everything that is kept of this map: what others wrote is seen from now on.
    ///
    /// # Errors
    /// What the system says if files cannot be taken away.
    pub fn refresh(&self) -> Result<()> {
        self.gate.begin_every(|| self.shelf.clear()).map(drop)
    }

    /// How it does.
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

    /// What is known of an object (`part`: of this part of it), and the state in which it was looked for; none while
    /// somebody writes.
    fn find(&self, key: &Key, part: Option<Part>) -> (Option<Answer>, Option<Seen>) {
        let Some(seen) = self.gate.look(key) else { return (None, None) };
        let exact = part.filter(|&part| part != Part::All).and_then(|part| self.shelf.get(key, part)).flatten();
        let answer = match exact {
            Some(bytes) => Some(Answer::Part(bytes)),
            None => self.shelf.get(key, Part::All).map(|kept: Kept| kept.map_or(Answer::Absent, Answer::Whole)),
        };
        // A file may be of a time after a writer came; what is in memory is not.
        let still = self.gate.look(key) == Some(seen);
        (answer.filter(|_| still), Some(seen))
    }

    /// Keeps what the map inside answered, if nobody wrote meanwhile; `bytes`: `None` if there is no object.
    fn learn(&self, key: &Key, part: Part, bytes: Option<&[u8]>, seen: Option<Seen>) {
        self.misses.fetch_add(1, Relaxed);
        let Some(seen) = seen else { return };
        let part = match bytes {
            Some(bytes) if bytes.len() > self.keep.largest => return,
            None if !self.keep.absent => return,
            // No bytes were asked for.
            _ if matches!(part, Part::Range(_, 0) | Part::Last(0)) => return,
            Some(bytes) => part.answered(bytes.len()),
            None => Part::All,
        };
        if let Some(staged) = self.shelf.stage(key, part, bytes) {
            self.gate.if_unchanged(key, seen, || self.shelf.settle(key, staged));
            self.shelf.trim();
        }
    }

    /// Somebody is about to change an object.
    fn begin(&self, key: &Key) -> Result<Writing<'_>> {
        let mut keys = vec![key.clone()];
        if self.keep.absent {
            // A key that is a prefix now is no longer just absent.
            keys.extend(std::iter::successors(key.parent(), Key::parent));
        }
        self.gate.begin(keys.iter(), || keys.iter().try_for_each(|key| self.shelf.forget(key)))
    }

    /// Somebody is about to move objects.
    fn begin_every(&self) -> Result<Writing<'_>> {
        self.gate.begin_every(|| self.shelf.clear())
    }
}
