//! The documents that are held back, and their publication.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use nczarr::storage::{Key, Precondition, Version, WriteOutcome, ZMap, ZMapExt};
use nczarr_model::Result;

use super::document_batch::DocumentBatch;
use crate::copy::fingerprint::TextHash;

/// The number of remote objects deleted at a time.
const DELETED_AT_ONCE: usize = 16;

/// A map that holds documents back.
#[derive(Debug)]
pub struct DocumentHold {
    pub(super) inner: Arc<dyn ZMap>,
    /// The names of documents.
    names: &'static [&'static str],
    documents: Mutex<Documents>,
}

/// The documents, each with the number of its write.
#[derive(Debug, Default)]
pub(super) struct Documents {
    pub(super) all: BTreeMap<Key, (Arc<[u8]>, u64)>,
    writes: u64,
}

impl Documents {
    pub(super) fn put(&mut self, key: &Key, bytes: &[u8]) -> Version {
        self.writes += 1;
        self.all.insert(key.clone(), (bytes.into(), self.writes));
        Version::comparable(self.writes)
    }

    pub(super) fn put_if(&mut self, key: &Key, bytes: &[u8], expect: &Precondition) -> WriteOutcome {
        let there = self.all.get(key).map(|(_, write)| *write);
        let same = match expect {
            Precondition::Any => true,
            Precondition::Absent => there.is_none(),
            Precondition::Unchanged(version) => {
                there.is_some_and(|write| Version::comparable(write).same(version))
            }
        };
        if same { WriteOutcome::Done(Some(self.put(key, bytes))) } else { WriteOutcome::Conflict }
    }

    /// Returns the names directly below a prefix, sorted.
    pub(super) fn children(&self, prefix: &Key) -> Vec<String> {
        let below = self.all.keys().filter_map(|key| key.relative_to(prefix)?.split('/').next());
        let mut names: Vec<String> = below.map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the keys at or below a prefix, sorted.
    pub(super) fn keys(&self, prefix: &Key) -> Vec<String> {
        let below = self.all.keys().filter(|key| *key == prefix || key.relative_to(prefix).is_some());
        below.map(|key| key.as_str().to_owned()).collect()
    }
}

impl DocumentHold {
    /// Wraps `inner`; `names`: the last segments of the keys that are held back.
    pub fn new(inner: Arc<dyn ZMap>, names: &'static [&'static str]) -> Self {
        Self { inner, names, documents: Mutex::default() }
    }

    /// Returns the inner map.
    pub fn inner(&self) -> &dyn ZMap {
        &*self.inner
    }

    /// Stores the documents, the root's last. May be called again.
    ///
    /// # Errors
    ///
    /// Errors of the storage.
    pub fn publish(&self) -> Result<()> {
        let all = self.documents().all.clone();
        let all = all.into_iter().map(|(key, (bytes, _))| (key, bytes));
        let (root, below): (Vec<_>, Vec<_>) =
            all.partition(|(key, _)| key.parent().is_none_or(|key| key.is_root()));
        let job = DocumentBatch::new(below);
        self.inner.write_batch(&job);
        job.outcome()?;
        self.inner.sync()?;
        for (key, bytes) in root {
            self.inner.write(&key, &bytes)?;
        }
        self.inner.sync()
    }

    /// Removes every object, held back or stored, except the one of one name.
    ///
    /// # Errors
    ///
    /// Errors of the storage.
    pub fn clear(&self, but: &str) -> Result<()> {
        self.documents().all.clear();
        clear(&*self.inner, but)
    }

    /// Returns a hash over all documents that are held back.
    pub fn sum(&self) -> u64 {
        let documents = self.documents();
        let parts = documents.all.iter().flat_map(|(key, (bytes, _))| [key.as_str().as_bytes(), &bytes[..]]);
        TextHash::of(&parts.collect::<Vec<_>>())
    }

    pub(super) fn is_held(&self, key: &Key) -> bool {
        self.names.contains(&key.name())
    }

    pub(super) fn documents(&self) -> MutexGuard<'_, Documents> {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn held(&self, key: &Key) -> Option<(Arc<[u8]>, u64)> {
        self.documents().all.get(key).cloned()
    }
}

/// Removes every object of a map except the one of one name; remote ones in batches.
///
/// # Errors
///
/// The first failure.
pub fn clear(map: &dyn ZMap, but: &str) -> Result<()> {
    let keys: Vec<Key> = map.keys(&Key::root())?.into_iter().filter(|key| key.as_str() != but).collect();
    let next = AtomicUsize::new(0);
    let some = || {
        while let Some(key) = keys.get(next.fetch_add(1, Ordering::Relaxed)) {
            map.delete(key)?;
        }
        Ok(())
    };
    if !map.caps().remote {
        return some();
    }
    thread::scope(|scope| {
        let workers: Vec<_> = (0..DELETED_AT_ONCE.min(keys.len())).map(|_| scope.spawn(some)).collect();
        let mut outcome = Ok(());
        for worker in workers {
            outcome = outcome.and(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        outcome
    })
}
