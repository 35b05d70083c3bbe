//! [`ReadOnly`]: a map that rejects writes.

use std::sync::Arc;

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::batch::{ReadJob, WriteJob};
use nczarr_storage::{ByteRange, Key, MapCaps, OutBuf, Precondition, UpdateFn, Version, WriteOutcome, ZMap};

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

#[deny(clippy::missing_trait_methods)]
impl ZMap for ReadOnly {
    fn caps(&self) -> MapCaps {
        MapCaps {
            write: false,
            overwrite: false,
            delete: false,
            conditional_write: false,
            ..self.inner.caps()
        }
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        self.inner.len(key)
    }

    fn read(&self, key: &Key, range: ByteRange, out: &mut Vec<u8>) -> Result<bool> {
        self.inner.read(key, range, out)
    }

    fn children(&self, prefix: &Key) -> Result<Vec<String>> {
        self.inner.children(prefix)
    }

    fn possible_children(&self, prefix: &Key) -> Result<Vec<String>> {
        self.inner.possible_children(prefix)
    }

    fn invalid_names(&self, prefix: &Key) -> Result<Vec<String>> {
        self.inner.invalid_names(prefix)
    }

    fn write(&self, key: &Key, _value: &[u8]) -> Result<()> {
        Err(refused("write", key))
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        Err(refused("delete", key))
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }

    fn close(&self) -> Result<()> {
        self.inner.close()
    }

    fn exists(&self, key: &Key) -> Result<bool> {
        self.inner.exists(key)
    }

    fn list(&self, prefix: &Key) -> Result<Vec<Key>> {
        self.inner.list(prefix)
    }

    fn list_in_one_request(&self, prefix: &Key) -> Result<Option<Vec<Key>>> {
        self.inner.list_in_one_request(prefix)
    }

    fn max_key(&self) -> Option<usize> {
        self.inner.max_key()
    }

    fn max_segment(&self) -> Option<usize> {
        self.inner.max_segment()
    }

    fn parallel_writes(&self) -> bool {
        false
    }

    fn rename(&self, from: &Key, _to: &Key) -> Result<()> {
        Err(refused("rename", from))
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        self.inner.read_into(key, offset, out)
    }

    fn read_versioned(&self, key: &Key, _limit: usize, _out: &mut Vec<u8>) -> Result<Option<Version>> {
        Err(refused("read versions for writing", key))
    }

    fn write_if(&self, key: &Key, _value: &[u8], _expect: Precondition<'_>) -> Result<WriteOutcome> {
        Err(refused("write", key))
    }

    fn update(&self, key: &Key, _limit: usize, _change: &mut UpdateFn<'_>) -> Result<()> {
        Err(refused("update", key))
    }

    fn image(&self) -> Result<Vec<u8>> {
        self.inner.image()
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        self.inner.read_batch(job);
    }

    fn write_batch(&self, job: &dyn WriteJob) {
        // Rejects tickets before they are encoded.
        let mut key = Key::root();
        while let Some(ticket) = job.next(&mut key) {
            job.done(ticket, Err(refused("write", &key)));
        }
    }
}
