//! [`SourceCache`]: the open sources of a virtual dataset, and the limits of their caches.
//!
//! Half of the cache is divided equally among all sources. The other half serves sources whose chunks need
//! more, until it is used up. If a chunk does not fit, each mapping decodes it again. Virtual sources divide
//! their share among their own sources.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::chunks::VirtualSource;
use super::mapping::{HERE, SourceName, VirtualMapping};

/// Most open sources of the same file. Each source in another file has its own open file.
const KEPT_HERE: usize = 4096;

/// Limits of the caches of sources.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheShare {
    /// Bytes of decoded chunks.
    pub(super) cache: usize,
    /// Open files.
    pub(super) files: usize,
}

impl Default for CacheShare {
    fn default() -> Self {
        Self { cache: 64 << 20, files: 48 }
    }
}

/// The open sources.
#[derive(Debug)]
pub(super) struct SourceCache {
    all: CacheShare,
    each: CacheShare,
    open: Mutex<CachedSources>,
}

#[derive(Debug, Default)]
struct CachedSources {
    sources: HashMap<SourceName, (Option<Arc<VirtualSource>>, u64)>,
    time: u64,
    /// Cache bytes that sources use beyond their shares.
    more: usize,
}

impl SourceCache {
    /// Makes the cache for the sources of these mappings, with the number of their numbered sources.
    pub(super) fn new<'m>(
        all: CacheShare,
        mappings: impl Iterator<Item = (&'m VirtualMapping, u64)>,
    ) -> Self {
        let mut known = HashSet::new();
        let (mut here, mut beside) = (0_usize, 0_usize);
        for (mapping, blocks) in mappings.filter(|(mapping, _)| known.insert(&mapping.names)) {
            let count = if mapping.is_numbered() { usize::try_from(blocks).unwrap_or(usize::MAX) } else { 1 };
            let sum = if &*mapping.names.file == HERE { &mut here } else { &mut beside };
            *sum = sum.saturating_add(count);
        }
        let open = here.min(KEPT_HERE) + beside.min(all.files);
        let each =
            CacheShare { cache: all.cache / 2 / open.max(1), files: (all.files / beside.max(1)).max(1) };
        Self { all, each, open: Mutex::default() }
    }

    /// Returns the share of one source.
    pub(super) fn share(&self) -> CacheShare {
        self.each
    }

    fn lock(&self) -> MutexGuard<'_, CachedSources> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves more cache for a source. Returns `bytes`, or 0 if there is too little left.
    pub(super) fn more(&self, bytes: usize) -> usize {
        let mut open = self.lock();
        match open.more.checked_add(bytes).filter(|&more| more <= self.all.cache / 2) {
            Some(more) => {
                open.more = more;
                bytes
            }
            None => 0,
        }
    }

    /// Returns a known source; `Some(None)` if it is known not to exist.
    pub(super) fn get(&self, names: &SourceName) -> Option<Option<Arc<VirtualSource>>> {
        let mut open = self.lock();
        open.time += 1;
        let time = open.time;
        let (source, used) = open.sources.get_mut(names)?;
        *used = time;
        Some(source.clone())
    }

    /// Keeps a source. If there are too many of its kind, the least recently used is closed.
    pub(super) fn insert(&self, names: &SourceName, source: Option<Arc<VirtualSource>>) {
        let mut open = self.lock();
        let here = &*names.file == HERE;
        let alike = |known: &SourceName| (&*known.file == HERE) == here;
        let most = if here { KEPT_HERE } else { self.all.files };
        let mut gone = vec![];
        if open.sources.keys().filter(|known| alike(known)).count() >= most {
            let oldest =
                open.sources.iter().filter(|(known, _)| alike(known)).min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(names, _)| names.clone()) {
                gone.extend(open.sources.remove(&oldest));
            }
        }
        let time = open.time;
        gone.extend(open.sources.insert(names.clone(), (source, time)));
        for source in gone.iter().filter_map(|(source, _)| source.as_ref()) {
            open.more = open.more.saturating_sub(source.more);
        }
    }
}
