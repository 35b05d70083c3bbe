//! [`DocumentHold`] as a map: documents are in memory, other objects in the inner map.

use std::sync::Arc;

use nczarr::dispatch::OutBuf;
use nczarr::storage::batch::{ReadJob, WriteJob};
use nczarr::storage::{
    ByteRange, Key, Layer, ListMode, ObjectInfo, Precondition, ReadOptions, UpdateFn, Version, WriteOutcome,
    ZMap,
};
use nczarr_model::{ErrorKind, Result};

use super::batch::{HeldReads, HeldWrites};
use super::hold::DocumentHold;

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
