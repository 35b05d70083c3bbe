//! [`Forbidden`]: an object that the storage refuses without saying whether there is one.
//!
//! A server that does not allow listing answers 403 for a key that does not exist. So a 403 tells nothing about the key. A
//! map marks such an error with [`Forbidden`], and whoever opens a dataset decides what it means. [`ForbiddenIsAbsent`]
//! is the map for those who know that every such key is absent.

use std::fmt;
use std::sync::Arc;

use nczarr_model::{Error, ErrorKind, Result};

use crate::zmap::{ByteRange, Change, Expect, Found, MapCaps, ReadJob, ReadTicket, Sink, WriteJob, Written, ZMap};
use crate::{Key, OutBuf, Version};

/// The cause of an error where the storage refused an object, and did not say whether there is one.
///
/// ```
/// use nczarr_dispatch::Forbidden;
/// use nczarr_model::ErrorKind;
///
/// let error = ErrorKind::Auth.context("the server answered 403").caused_by(Forbidden);
/// assert!(Forbidden::caused(&error));
/// assert!(Forbidden::explained(error).to_string().contains("forbidden=absent"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forbidden;

impl Forbidden {
    /// Whether an error means that: refused, and perhaps absent.
    pub fn caused(error: &Error) -> bool {
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause {
            if error.is::<Self>() {
                return true;
            }
            cause = error.source();
        }
        false
    }

    /// The error of reading one object of a map, with the option that takes it for absence.
    #[must_use]
    pub fn explained(error: Error) -> Error {
        if !Self::caused(&error) {
            return error;
        }
        let what = format!("{}; if the key does not exist, forbidden=absent reads it as absent", error.what());
        error.kind().context(what).caused_by(Self)
    }
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a server that does not allow listing answers so for keys that do not exist")
    }
}

impl std::error::Error for Forbidden {}

/// A map in which every object that the storage refuses is absent.
#[derive(Debug)]
pub(crate) struct ForbiddenIsAbsent(pub(crate) Arc<dyn ZMap>);

/// An answer in which a refusal is absence.
fn settled<T>(found: Result<T>, absent: T) -> Result<T> {
    match found {
        Err(error) if Forbidden::caused(&error) => Ok(absent),
        found => found,
    }
}

#[deny(clippy::missing_trait_methods)]
impl ZMap for ForbiddenIsAbsent {
    fn caps(&self) -> MapCaps {
        // An object that counts as absent must not be overwritten.
        MapCaps { write: false, overwrite: false, delete: false, conditional_write: false, ..self.0.caps() }
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        settled(self.0.len(key), None)
    }

    fn read(&self, key: &Key, range: ByteRange, out: &mut Vec<u8>) -> Result<bool> {
        settled(self.0.read(key, range, out), false)
    }

    fn search(&self, prefix: &Key) -> Result<Vec<String>> {
        self.0.search(prefix)
    }

    fn names(&self, prefix: &Key) -> Result<Vec<String>> {
        self.0.names(prefix)
    }

    fn unnamable(&self, prefix: &Key) -> Result<Vec<String>> {
        self.0.unnamable(prefix)
    }

    fn write(&self, key: &Key, _value: &[u8]) -> Result<()> {
        Err(only_read(key))
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        Err(only_read(key))
    }

    fn sync(&self) -> Result<()> {
        self.0.sync()
    }

    fn close(&self) -> Result<()> {
        self.0.close()
    }

    fn exists(&self, key: &Key) -> Result<bool> {
        settled(self.0.exists(key), false)
    }

    fn list(&self, prefix: &Key) -> Result<Vec<Key>> {
        self.0.list(prefix)
    }

    fn list_once(&self, prefix: &Key) -> Result<Option<Vec<Key>>> {
        self.0.list_once(prefix)
    }

    fn max_key(&self) -> Option<usize> {
        self.0.max_key()
    }

    fn max_segment(&self) -> Option<usize> {
        self.0.max_segment()
    }

    fn parallel_writes(&self) -> bool {
        self.0.parallel_writes()
    }

    fn rename(&self, from: &Key, _to: &Key) -> Result<()> {
        Err(only_read(from))
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        settled(self.0.read_into(key, offset, out), false)
    }

    fn read_versioned(&self, key: &Key, limit: usize, out: &mut Vec<u8>) -> Result<Option<Version>> {
        settled(self.0.read_versioned(key, limit, out), None)
    }

    fn write_if(&self, key: &Key, _value: &[u8], _expect: Expect<'_>) -> Result<Written> {
        Err(only_read(key))
    }

    fn update(&self, key: &Key, _limit: usize, _change: &mut Change<'_>) -> Result<()> {
        Err(only_read(key))
    }

    fn image(&self) -> Result<Vec<u8>> {
        self.0.image()
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        self.0.read_batch(&Settled(job));
    }

    fn write_batch(&self, job: &dyn WriteJob) {
        let mut key = Key::root();
        while let Some(ticket) = job.next(&mut key) {
            job.done(ticket, Err(only_read(&key)));
        }
    }
}

fn only_read(key: &Key) -> Error {
    ErrorKind::Perm.context(format!("key {key}: with forbidden=absent a dataset is only read"))
}

/// A job whose answers are settled.
struct Settled<'a>(&'a dyn ReadJob);

#[deny(clippy::missing_trait_methods)]
impl ReadJob for Settled<'_> {
    fn threads(&self) -> usize {
        self.0.threads()
    }

    fn left(&self) -> Option<usize> {
        self.0.left()
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        self.0.next(key)
    }

    fn sink<'j>(&'j self, ticket: &ReadTicket<'_>) -> Option<Box<dyn Sink + 'j>> {
        self.0.sink(ticket)
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(Found<'_>, Option<Version>)>>) {
        self.0.done(ticket, settled(found, None));
    }
}
