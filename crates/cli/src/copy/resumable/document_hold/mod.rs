//! [`DocumentHold`]: a map that holds documents back until everything else is stored.
//!
//! Drivers recognise a dataset of many objects by its documents (`.zgroup`, `zarr.json` …). This map keeps
//! written documents in memory until [`DocumentHold::publish`] stores them, the root's last. *Invariant:*
//! before that, the storage contains chunks only, which no reader takes for a dataset. A resumed copy defines
//! everything anew and finds the chunks in place.
//!
//! Documents already in the storage, from a copy that stopped while it published, are hidden.

mod batch;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use nczarr::dispatch::OutBuf;
use nczarr::storage::batch::{ReadJob, WriteJob};
use nczarr::storage::{
    ByteRange, Key, Layer, ListMode, ObjectInfo, Precondition, ReadOptions, UpdateFn, Version, WriteOutcome,
    ZMap, ZMapExt,
};
use nczarr_model::{ErrorKind, Result};

use super::super::fingerprint::TextHash;
use batch::{DocumentBatch, HeldReads, HeldWrites};

/// The number of remote objects deleted at a time.
const DELETED_AT_ONCE: usize = 16;

/// A map that holds documents back.
#[derive(Debug)]
pub struct DocumentHold {
    inner: Arc<dyn ZMap>,
    /// The names of documents.
    names: &'static [&'static str],
    documents: Mutex<Documents>,
}

/// Each with the number of its write.
#[derive(Debug, Default)]
struct Documents {
    all: BTreeMap<Key, (Arc<[u8]>, u64)>,
    writes: u64,
}

impl Documents {
    fn put(&mut self, key: &Key, bytes: &[u8]) -> Version {
        self.writes += 1;
        self.all.insert(key.clone(), (bytes.into(), self.writes));
        Version::comparable(self.writes)
    }

    fn put_if(&mut self, key: &Key, bytes: &[u8], expect: &Precondition) -> WriteOutcome {
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
    fn children(&self, prefix: &Key) -> Vec<String> {
        let below = self.all.keys().filter_map(|key| key.relative_to(prefix)?.split('/').next());
        let mut names: Vec<String> = below.map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the keys at or below a prefix, sorted.
    fn keys(&self, prefix: &Key) -> Vec<String> {
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

    fn is_held(&self, key: &Key) -> bool {
        self.names.contains(&key.name())
    }

    fn documents(&self) -> MutexGuard<'_, Documents> {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self, key: &Key) -> Option<(Arc<[u8]>, u64)> {
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

impl Layer for DocumentHold {
    fn inner(&self) -> &dyn ZMap {
        &*self.inner
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        if self.is_held(key) {
            Ok(self.held(key).map(|(bytes, _)| bytes.len() as u64))
        } else {
            self.inner.len(key)
        }
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        if !self.is_held(key) {
            return self.inner.read_with(key, options, out);
        }
        out.clear();
        let Some((bytes, write)) = self.held(key) else { return Ok(None) };
        out.extend_from_slice(options.range.cut(&bytes));
        Ok(Some(ObjectInfo::new(options.versioned.then(|| Version::comparable(write)))))
    }

    /// A group exists here only through its documents.
    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        match mode {
            ListMode::Children | ListMode::PossibleChildren => Ok(Some(self.documents().children(prefix))),
            ListMode::Keys | ListMode::KeysInOneRequest => Ok(Some(self.documents().keys(prefix))),
            _ => self.inner.list(prefix, mode),
        }
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        if self.is_held(key) {
            Ok(self.documents().all.remove(key).is_some())
        } else {
            self.inner.delete(key)
        }
    }

    /// Documents remain to be stored: the inner map stays open until this one is dropped.
    fn close(&self) -> Result<()> {
        self.inner.sync()
    }

    /// A copy renames nothing and lists no chunks here.
    fn rename(&self, from: &Key, _to: &Key) -> Result<()> {
        Err(ErrorKind::Perm
            .context(format!("key {:?}: an unfinished copy does not rename objects", from.as_str())))
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        if !self.is_held(key) {
            return self.inner.read_into(key, offset, out);
        }
        let found = self.held(key);
        if let Some((bytes, _)) = &found {
            out.put(ByteRange::new(offset, out.capacity() as u64).cut(bytes))?;
        }
        Ok(found.is_some())
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        if self.is_held(key) {
            Ok(self.documents().put_if(key, value, expect))
        } else {
            self.inner.write_if(key, value, expect)
        }
    }

    fn update(&self, key: &Key, limit: usize, change: &mut UpdateFn<'_>) -> Result<()> {
        if !self.is_held(key) {
            return self.inner.update(key, limit, change);
        }
        let mut documents = self.documents();
        let mut new = Vec::new();
        let old = documents.all.get(key).map(|(bytes, _)| Arc::clone(bytes));
        if let Some(old) = old.as_ref().filter(|old| old.len() > limit) {
            return Err(ErrorKind::Io.context(format!("key {key}: {} bytes, more than {limit}", old.len())));
        }
        change(old.as_deref(), &mut new)?;
        documents.put(key, &new);
        Ok(())
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        self.inner.read_batch(&HeldReads { job, hold: self });
    }

    fn write_batch(&self, job: &dyn WriteJob) {
        self.inner.write_batch(&HeldWrites { job, hold: self });
    }
}
