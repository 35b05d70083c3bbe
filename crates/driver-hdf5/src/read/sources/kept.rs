//! [`Kept`]: the sources of a virtual dataset that stay open, and how much of them is kept in memory.
//!
//! Of what may be kept together one half is divided among all sources. The other half is for those whose chunks are larger
//! than that, as long as it lasts: without room for one of them it would be decoded anew for each mapping. Sources that are
//! virtual themselves divide their share among their own.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::assembled::Source;
use super::mapping::{HERE, Mapping, Names};

/// Sources of the same file that are kept; of other files each has one open.
const KEPT_HERE: usize = 4096;

/// What the sources of a virtual dataset may keep together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    /// Bytes of decoded chunks.
    pub(super) cache: usize,
    /// Open files.
    pub(super) files: usize,
}

impl Default for Share {
    fn default() -> Self {
        Self { cache: 64 << 20, files: 48 }
    }
}

/// The sources that are open.
#[derive(Debug)]
pub(super) struct Kept {
    all: Share,
    each: Share,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    sources: HashMap<Names, (Option<Arc<Source>>, u64)>,
    time: u64,
    /// Bytes beyond their shares that they keep.
    more: usize,
}

impl Kept {
    /// For the sources of these mappings, of some of which there are so many, numbered.
    pub(super) fn new<'m>(all: Share, mappings: impl Iterator<Item = (&'m Mapping, u64)>) -> Self {
        let mut known = HashSet::new();
        let (mut here, mut beside) = (0_usize, 0_usize);
        for (mapping, blocks) in mappings.filter(|(mapping, _)| known.insert(&mapping.names)) {
            let count = if mapping.is_numbered() { usize::try_from(blocks).unwrap_or(usize::MAX) } else { 1 };
            let sum = if &*mapping.names.file == HERE { &mut here } else { &mut beside };
            *sum = sum.saturating_add(count);
        }
        let open = here.min(KEPT_HERE) + beside.min(all.files);
        let each = Share { cache: all.cache / 2 / open.max(1), files: (all.files / beside.max(1)).max(1) };
        Self { all, each, open: Mutex::default() }
    }

    /// What a source may keep.
    pub(super) fn share(&self) -> Share {
        self.each
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many bytes more for a source, if they are there; else none.
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

    /// A source that is known; of one that is not there, that it is not.
    pub(super) fn get(&self, names: &Names) -> Option<Option<Arc<Source>>> {
        let mut open = self.lock();
        open.time += 1;
        let time = open.time;
        let (source, used) = open.sources.get_mut(names)?;
        *used = time;
        Some(source.clone())
    }

    /// Keeps a source, in place of the one of its kind that was not used for the longest time if they are too many.
    pub(super) fn insert(&self, names: &Names, source: Option<Arc<Source>>) {
        let mut open = self.lock();
        let here = &*names.file == HERE;
        let alike = |known: &Names| (&*known.file == HERE) == here;
        let most = if here { KEPT_HERE } else { self.all.files };
        let mut gone = vec![];
        if open.sources.keys().filter(|known| alike(known)).count() >= most {
            let oldest = open.sources.iter().filter(|(known, _)| alike(known)).min_by_key(|(_, (_, used))| *used);
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
