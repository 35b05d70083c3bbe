//! [`ZMap`], the store of keys and bytes of one dataset, and its batches.
//!
//! A map stores objects and knows no Zarr, chunks or JSON. Batches are *pulled*: the map takes tickets from a
//! job and returns each one, from any number of threads. So a thread pool and an asynchronous client can both
//! run a transfer, and memory is bounded by the tickets in flight.

use std::fmt;

use nczarr_model::{ErrorKind, Result};

use crate::batch::{self, ReadJob, WriteJob};
use crate::{ByteRange, Key, ListMode, ObjectInfo, OutBuf, Precondition, ReadOptions, WriteOutcome};

/// The capabilities of a map. A method without its capability returns `NC_EPERM`.
///
/// ```
/// use nczarr_storage::MapCaps;
///
/// let caps = MapCaps::new().list(true).range_read(true);
/// assert!(caps.list && !caps.write);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct MapCaps {
    /// Objects can be written.
    pub write: bool,
    /// Existing objects can be replaced.
    pub overwrite: bool,
    /// Objects can be deleted.
    pub delete: bool,
    /// Keys can be found by [`ZMap::list`].
    pub list: bool,
    /// A range of an object can be read at a cost that does not grow with the object.
    pub range_read: bool,
    /// Reads return versions, and [`ZMap::write_if`] checks them: no update is lost between processes.
    pub conditional_write: bool,
    /// A ticket for parts of an object can request the version, at a cost that does not grow with the object.
    /// Versions are comparable ([`Version::same`](crate::Version::same)). A read-only map may have this
    /// capability.
    pub versioned_parts: bool,
    /// Each operation is a network request.
    pub remote: bool,
    /// Two threads store nearly twice as many small objects as one.
    ///
    /// True for files in a directory. False for memory, where a write is a copy, and for archives, where
    /// writes wait for each other.
    pub parallel_writes: bool,
    /// The maximum length of a key in bytes, if there is a limit for writes.
    pub max_key: Option<usize>,
    /// The maximum length of a segment in bytes, if there is a limit for writes.
    pub max_segment: Option<usize>,
}

impl MapCaps {
    /// No capability, and no limit.
    pub const fn new() -> Self {
        Self {
            write: false,
            overwrite: false,
            delete: false,
            list: false,
            range_read: false,
            conditional_write: false,
            versioned_parts: false,
            remote: false,
            parallel_writes: false,
            max_key: None,
            max_segment: None,
        }
    }

    nczarr_runtime::setters! {
        const
        write: bool,
        overwrite: bool,
        delete: bool,
        list: bool,
        range_read: bool,
        conditional_write: bool,
        versioned_parts: bool,
        remote: bool,
        parallel_writes: bool,
        max_key: Option<usize>,
        max_segment: Option<usize>,
    }

    /// These capabilities, without those that change objects.
    #[must_use]
    pub const fn read_only(self) -> Self {
        self.write(false).overwrite(false).delete(false).conditional_write(false).parallel_writes(false)
    }
}

/// The store of keys and bytes of one dataset.
///
/// Guarantees of every implementation:
/// * a write replaces the whole object or leaves the old one: no reader sees a part of it;
/// * an object is absent (`Ok(None)`, `Ok(false)`) only if the storage reports that the key does not exist;
///   every other failure is an error that names the key;
/// * an object's key is never a prefix of another object's key. Remote maps ([`MapCaps::remote`]) do not
///   check this. Their caller avoids such keys, and a mere prefix is a key without an object;
/// * nothing outside the dataset is ever touched.
///
/// [`ZMapExt`](crate::ZMapExt) has shorter forms of these methods for callers.
///
/// A read-only map with one object:
///
/// ```
/// use nczarr_storage::{Key, ListMode, MapCaps, ObjectInfo, ReadOptions, ZMap, ZMapExt};
/// use nczarr_model::Result;
///
/// #[derive(Debug)]
/// struct OneObject;
///
/// impl ZMap for OneObject {
///     fn caps(&self) -> MapCaps {
///         MapCaps::new().list(true)
///     }
///     fn len(&self, key: &Key) -> Result<Option<u64>> {
///         Ok((key.as_str() == "a").then_some(5))
///     }
///     fn read_with(
///         &self,
///         key: &Key,
///         options: ReadOptions,
///         out: &mut Vec<u8>,
///     ) -> Result<Option<ObjectInfo>> {
///         out.clear();
///         out.extend_from_slice(options.range.cut(b"hello"));
///         Ok((key.as_str() == "a").then(ObjectInfo::default))
///     }
///     fn list(&self, _prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
///         Ok((mode == ListMode::Children).then(|| vec!["a".to_owned()]))
///     }
/// }
///
/// assert!(OneObject.exists(&Key::new("a")?)?);
/// assert_eq!(OneObject.keys(&Key::root())?, [Key::new("a")?]);
/// # Ok::<(), nczarr_model::Error>(())
/// ```
pub trait ZMap: Send + Sync + fmt::Debug {
    /// Returns the capabilities of this map.
    fn caps(&self) -> MapCaps;

    /// Returns the length in bytes of the object at `key`, or `None` if there is none.
    ///
    /// # Errors
    /// `NC_EEMPTY` if `key` is only a prefix of objects; otherwise the storage's error.
    fn len(&self, key: &Key) -> Result<Option<u64>>;

    /// Replaces `out` by the wanted bytes; `None` if there is no object. Bytes beyond the end are left out.
    ///
    /// A map without conditional writes may ignore [`ReadOptions::versioned`].
    ///
    /// # Errors
    /// As [`ZMap::len`]; `NC_EPERM` if versions are wanted and the map has no conditional writes.
    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>>;

    /// Returns the names or keys below `prefix` that `mode` describes, sorted bytewise, each once.
    ///
    /// `None` if the map does not implement this mode. The methods of [`ZMapExt`](crate::ZMapExt) then
    /// compose the answer from [`ListMode::Children`]. So a map that can list implements at least that mode.
    ///
    /// # Errors
    /// The storage's error. A prefix without objects gives an empty list, not an error.
    fn list(&self, _prefix: &Key, _mode: ListMode) -> Result<Option<Vec<String>>> {
        Ok(None)
    }

    /// Replaces the object at `key`, atomically, if it is in the expected state.
    ///
    /// A map without conditional writes calls [`Precondition::require_any`] first.
    ///
    /// # Errors
    /// `NC_EPERM` if the map cannot write, or if `expect` needs conditional writes and the map has none;
    /// `NC_EOBJECT` if `key` is a prefix of an object's key, or the reverse.
    fn write_if(&self, key: &Key, _value: &[u8], _expect: &Precondition) -> Result<WriteOutcome> {
        Err(unsupported("write", key))
    }

    /// Removes the object at `key`; `false` if there was none. Prefixes without objects vanish.
    ///
    /// # Errors
    /// `NC_EPERM` if the map cannot delete.
    fn delete(&self, key: &Key) -> Result<bool> {
        Err(unsupported("delete", key))
    }

    /// Makes all writes durable, as far as [`Durability`](crate::Durability) demands.
    ///
    /// # Errors
    /// The storage's error.
    fn sync(&self) -> Result<()> {
        Ok(())
    }

    /// Flushes, then releases files, locks, memory and connections. Idempotent.
    ///
    /// Other handles to the map may still exist. A later request acquires resources again or fails with
    /// `NC_EBADID`. Some resources remain: objects in memory, a cache, shared connections.
    ///
    /// # Errors
    /// The storage's error.
    fn close(&self) -> Result<()> {
        self.sync()
    }

    /// Moves every object at or below `from` to the same place below `to`, which must be empty.
    ///
    /// The default copies all objects, then deletes. A map with a real rename overrides it.
    ///
    /// # Errors
    /// `NC_EPERM` if the map cannot delete; `NC_EOBJECT` if `to` is not empty, or if one key is below the
    /// other; `NC_EINVAL` for the root. Nothing has changed then. An empty `from` is no error.
    fn rename(&self, from: &Key, to: &Key) -> Result<()> {
        batch::copy_then_delete(self, from, to)
    }

    /// Fills the empty `out` with bytes from `offset` on, up to its capacity; `false` if there is no object.
    ///
    /// # Errors
    /// As [`ZMap::len`].
    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        let mut bytes = Vec::new();
        let range = ByteRange::new(offset, out.capacity() as u64);
        let found = self.read_with(key, ReadOptions::new().range(range), &mut bytes)?;
        out.put(&bytes)?;
        Ok(found.is_some())
    }

    /// Reads the object, calls `change` to compute the new bytes, and writes these. If another writer changed
    /// the object meanwhile, the steps repeat. `change` gets the old bytes (or `None`) and an empty buffer
    /// for the new bytes.
    ///
    /// A longer object than `limit` is an error, not an allocation: a map reads at most one byte more.
    ///
    /// # Errors
    /// `NC_EPERM` if the map has no conditional writes; `NC_EIO` if the object is longer than `limit`; the
    /// error of `change`; an error that names the key after too many conflicts.
    fn update(&self, key: &Key, limit: usize, change: &mut UpdateFn<'_>) -> Result<()> {
        batch::compare_and_swap(self, key, limit, change)
    }

    /// Returns all bytes of a map that is one file in memory, with all changes; also after closing.
    ///
    /// # Errors
    /// `NC_EINMEMORY` if it is not.
    fn image(&self) -> Result<Vec<u8>> {
        Err(ErrorKind::InMemory.context("the map is not a file in memory"))
    }

    /// Runs a batch of reads.
    fn read_batch(&self, job: &dyn ReadJob) {
        batch::read_parallel(self, job);
    }

    /// Runs a batch of writes.
    fn write_batch(&self, job: &dyn WriteJob) {
        batch::write_parallel(self, job);
    }
}

/// The callback of [`ZMap::update`]: receives the old bytes and produces the new ones.
///
/// The key may be locked during the call: it must neither use the map nor wait for pool threads.
pub type UpdateFn<'c> = dyn FnMut(Option<&[u8]>, &mut Vec<u8>) -> Result<()> + 'c;

pub(crate) fn unsupported(what: &str, key: &Key) -> nczarr_model::Error {
    ErrorKind::Perm.context(format!("this map cannot {what}: key {key}"))
}
