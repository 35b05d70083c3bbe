//! [`ZMapExt`]: the methods that callers use, composed of a map's own.

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::StopSignal;

use crate::batch;
use crate::zmap::unsupported;
use crate::{ByteRange, Key, ListMode, Precondition, ReadOptions, Version, WriteOutcome, ZMap};

/// Short forms of the methods of [`ZMap`]. Every map has them, and no map can change them. After a stop of
/// the call, each method that sends a request fails at once.
///
/// ```
/// use nczarr_storage::{ByteRange, Key, Result, ZMap, ZMapExt};
///
/// /// Returns the first bytes of each object below a prefix.
/// fn headers(map: &dyn ZMap, prefix: &Key) -> Result<Vec<Vec<u8>>> {
///     let mut headers = Vec::new();
///     for key in map.keys(prefix)? {
///         let mut header = Vec::new();
///         if map.read(&key, ByteRange::first(8), &mut header)? {
///             headers.push(header);
///         }
///     }
///     Ok(headers)
/// }
/// ```
pub trait ZMapExt: ZMap {
    /// Whether there is an object at `key`; a mere prefix is not an object.
    ///
    /// # Errors
    /// As [`ZMap::len`], without `NC_EEMPTY`.
    fn exists(&self, key: &Key) -> Result<bool> {
        StopSignal::check_current()?;
        match self.len(key) {
            Ok(len) => Ok(len.is_some()),
            Err(error) if error.kind() == ErrorKind::Empty => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Replaces `out` by a range of the object; `false` if there is no object. Bytes beyond the end are left
    /// out.
    ///
    /// # Errors
    /// As [`ZMap::len`].
    fn read(&self, key: &Key, range: ByteRange, out: &mut Vec<u8>) -> Result<bool> {
        StopSignal::check_current()?;
        Ok(self.read_with(key, ReadOptions::new().range(range), out)?.is_some())
    }

    /// As [`ZMapExt::read`] of the first `limit` bytes, with the version of the object; `None` if there is no
    /// object.
    ///
    /// # Errors
    /// `NC_EPERM` if the map has no conditional writes.
    fn read_versioned(&self, key: &Key, limit: usize, out: &mut Vec<u8>) -> Result<Option<Version>> {
        StopSignal::check_current()?;
        let options = ReadOptions::new().range(ByteRange::first(limit as u64)).versioned(true);
        match self.read_with(key, options, out)? {
            Some(info) => info.version.map(Some).ok_or_else(|| unsupported("read versions", key)),
            None if self.caps().conditional_write => Ok(None),
            None => Err(unsupported("read versions", key)),
        }
    }

    /// Replaces the object at `key`, atomically.
    ///
    /// # Errors
    /// As [`ZMap::write_if`]. A conflict is `NC_EINTERNAL`: no state was expected.
    fn write(&self, key: &Key, value: &[u8]) -> Result<()> {
        StopSignal::check_current()?;
        match self.write_if(key, value, &Precondition::Any)? {
            WriteOutcome::Done(_) => Ok(()),
            WriteOutcome::Conflict => Err(ErrorKind::Internal
                .context(format!("key {key}: the map reports a conflict of an unconditional write"))),
        }
    }

    /// Returns the next segments below `prefix` that lead to an object, sorted bytewise, each once.
    ///
    /// # Errors
    /// `NC_EPERM` if the map cannot list; otherwise the storage's error. A prefix without objects gives an
    /// empty list, not an error.
    fn children(&self, prefix: &Key) -> Result<Vec<String>> {
        StopSignal::check_current()?;
        self.list(prefix, ListMode::Children)?.ok_or_else(|| unsupported("list", prefix))
    }

    /// Returns the names of [`ListMode::PossibleChildren`], sorted bytewise, each once.
    ///
    /// # Errors
    /// As [`ZMapExt::children`].
    fn possible_children(&self, prefix: &Key) -> Result<Vec<String>> {
        self.list(prefix, ListMode::PossibleChildren)?.map_or_else(|| self.children(prefix), Ok)
    }

    /// Returns the names of [`ListMode::InvalidNames`], sorted, each once.
    ///
    /// # Errors
    /// The storage's error.
    fn invalid_names(&self, prefix: &Key) -> Result<Vec<String>> {
        Ok(self.list(prefix, ListMode::InvalidNames)?.unwrap_or_default())
    }

    /// Returns all keys of objects at or below `prefix`, sorted bytewise.
    ///
    /// # Errors
    /// As [`ZMapExt::children`].
    fn keys(&self, prefix: &Key) -> Result<Vec<Key>> {
        StopSignal::check_current()?;
        match self.list(prefix, ListMode::Keys)? {
            Some(keys) => keys.into_iter().map(Key::try_from).collect(),
            None => batch::walk(self, prefix),
        }
    }

    /// Returns all keys of objects below `prefix`, sorted bytewise, if a single request suffices; `None`
    /// otherwise. The key `prefix` itself is left out.
    ///
    /// # Errors
    /// The storage's error.
    fn keys_in_one_request(&self, prefix: &Key) -> Result<Option<Vec<Key>>> {
        let keys = self.list(prefix, ListMode::KeysInOneRequest)?;
        keys.map(|keys| keys.into_iter().map(Key::try_from).collect()).transpose()
    }
}

impl<M: ZMap + ?Sized> ZMapExt for M {}
