//! [`ReadOnly`]: a map that rejects writes.

use std::sync::Arc;

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::batch::WriteJob;
use nczarr_storage::{
    Key, Layer, MapCaps, ObjectInfo, Precondition, ReadOptions, UpdateFn, WriteOutcome, ZMap,
};

/// A map without capabilities to change anything. Every method that would change an object returns `NC_EPERM`
/// with the key.
///
/// `sync` and `close` are forwarded: they make earlier writes durable, and release resources.
#[derive(Debug)]
pub struct ReadOnly {
    inner: Arc<dyn ZMap>,
}

impl ReadOnly {
    /// Wraps a map.
    pub fn new(inner: Arc<dyn ZMap>) -> Self {
        Self { inner }
    }
}

fn refused(what: &str, key: &Key) -> Error {
    ErrorKind::Perm.context(format!("key {:?}: cannot {what}; the map is read-only", key.as_str()))
}

impl Layer for ReadOnly {
    fn inner(&self) -> &dyn ZMap {
        &*self.inner
    }

    fn caps(&self) -> MapCaps {
        self.inner.caps().read_only()
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        if options.versioned {
            return Err(refused("read versions for writing", key));
        }
        self.inner.read_with(key, options, out)
    }

    fn write_if(&self, key: &Key, _value: &[u8], _expect: &Precondition) -> Result<WriteOutcome> {
        Err(refused("write", key))
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        Err(refused("delete", key))
    }

    fn rename(&self, from: &Key, _to: &Key) -> Result<()> {
        Err(refused("rename", from))
    }

    fn update(&self, key: &Key, _limit: usize, _change: &mut UpdateFn<'_>) -> Result<()> {
        Err(refused("update", key))
    }

    fn write_batch(&self, job: &dyn WriteJob) {
        // Rejects tickets before they are encoded.
        let mut key = Key::root();
        while let Some(ticket) = job.next(&mut key) {
            job.done(ticket, Err(refused("write", &key)));
        }
    }
}
