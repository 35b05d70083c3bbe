//! [`TracedMap`]: a map that logs each operation.

use std::sync::Arc;
use std::time::Instant;

use nczarr_model::Result;

use super::job::{TracedReads, TracedWrites};
use super::operation::log_operation;
use crate::OutBuf;
use nczarr_storage::batch::{ReadJob, WriteJob};
use nczarr_storage::{
    Key, Layer, ListMode, ObjectInfo, Precondition, ReadOptions, UpdateFn, WriteOutcome, ZMap,
};

/// A map around a map that logs one event per operation: name, key, bytes, microseconds and error.
#[derive(Debug)]
pub struct TracedMap {
    inner: Arc<dyn ZMap>,
}

impl TracedMap {
    /// Wraps a map.
    pub fn new(inner: Arc<dyn ZMap>) -> Self {
        Self { inner }
    }

    fn tell<T>(
        &self,
        op: &'static str,
        key: &Key,
        run: impl FnOnce() -> Result<T>,
        bytes: impl FnOnce(&T) -> u64,
    ) -> Result<T> {
        let started = Instant::now();
        let outcome = run();
        log_operation(op, key, outcome.as_ref().map(bytes), started);
        outcome
    }
}

fn none<T>(_: &T) -> u64 {
    0
}

impl Layer for TracedMap {
    fn inner(&self) -> &dyn ZMap {
        &*self.inner
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        self.tell("len", key, || self.inner.len(key), none)
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        let started = Instant::now();
        let outcome = self.inner.read_with(key, options, out);
        let bytes = outcome.as_ref().map(|found| if found.is_some() { out.len() as u64 } else { 0 });
        log_operation(if options.versioned { "read_versioned" } else { "read" }, key, bytes, started);
        outcome
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        let op = match mode {
            ListMode::Children => "search",
            ListMode::Keys => "list",
            ListMode::KeysInOneRequest => "list_once",
            _ => "names",
        };
        self.tell(op, prefix, || self.inner.list(prefix, mode), none)
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        let op = if matches!(expect, Precondition::Any) { "write" } else { "write_if" };
        let written = |outcome: &WriteOutcome| match outcome {
            WriteOutcome::Done(_) => value.len() as u64,
            WriteOutcome::Conflict => 0,
        };
        self.tell(op, key, || self.inner.write_if(key, value, expect), written)
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        self.tell("delete", key, || self.inner.delete(key), none)
    }

    fn sync(&self) -> Result<()> {
        self.tell("sync", &Key::root(), || self.inner.sync(), none)
    }

    fn close(&self) -> Result<()> {
        self.tell("close", &Key::root(), || self.inner.close(), none)
    }

    fn rename(&self, from: &Key, to: &Key) -> Result<()> {
        self.tell("rename", from, || self.inner.rename(from, to), none)
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        let started = Instant::now();
        let outcome = self.inner.read_into(key, offset, out);
        log_operation("read_into", key, outcome.as_ref().map(|_| out.filled().len() as u64), started);
        outcome
    }

    fn update(&self, key: &Key, limit: usize, change: &mut UpdateFn<'_>) -> Result<()> {
        self.tell("update", key, || self.inner.update(key, limit, change), none)
    }

    fn image(&self) -> Result<Vec<u8>> {
        self.tell("image", &Key::root(), || self.inner.image(), |bytes| bytes.len() as u64)
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        self.inner.read_batch(&TracedReads::new(job));
    }

    fn write_batch(&self, job: &dyn WriteJob) {
        self.inner.write_batch(&TracedWrites::new(job));
    }
}
