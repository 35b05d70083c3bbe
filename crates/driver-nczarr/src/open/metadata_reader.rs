//! Batch reading of metadata documents: [`MetadataReader`].
//!
//! Each call is one batch, and the map's threads parse. This module knows keys and JSON; `nodes` interprets
//! the documents of groups and arrays.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_dispatch::Limits;
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::batch::{Ranges, ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::{ByteRange, Key, PrefetchedMap, Version, ZMap, ZMapExt};

use crate::metadata::json::{self, Json};
use crate::metadata::v2::consolidated::Consolidated;

/// A document; `None` if it does not exist.
pub(crate) type Fetched = Result<Option<Json>>;

/// The first guess of a document's size in bytes.
const HINT: usize = 4096;

/// Reads documents from a map or from consolidated metadata.
pub(crate) struct MetadataReader<'a> {
    pub(crate) map: &'a dyn ZMap,
    pub(crate) limits: &'a Limits,
    /// Consolidated metadata, which replaces the map's documents.
    pub(crate) consolidated: Option<Consolidated<'a>>,
    /// Whether to also search the map for nodes that consolidated metadata omits: other writers may have
    /// added them.
    pub(crate) checks_map: bool,
    /// The prefetching overlay of a remote map.
    pub(crate) prefetched: Option<&'a PrefetchedMap>,
}

impl MetadataReader<'_> {
    /// Returns the names directly below `prefix` that may be nodes, sorted bytewise. `known`: all names, if
    /// the map was already listed.
    ///
    /// # Errors
    /// Errors of the map.
    pub(crate) fn children(&self, prefix: &Key, known: Option<Vec<String>>) -> Result<Vec<String>> {
        let mut names = match &self.consolidated {
            Some(consolidated) if self.checks_map => {
                let mut names = consolidated.children(prefix);
                names.extend(self.list(prefix)?);
                names.sort_unstable();
                names.dedup();
                names
            }
            Some(consolidated) => consolidated.children(prefix),
            // The caller examines each name in any case.
            None => known.map_or_else(|| self.list(prefix), Ok)?,
        };
        names.retain(|name| !name.starts_with('.') && !name.is_empty());
        Ok(names)
    }

    /// Lists the names directly below `prefix` in the map.
    ///
    /// # Errors
    /// Errors of the map. If it cannot list, the error adds a remedy.
    pub(crate) fn list(&self, prefix: &Key) -> Result<Vec<String>> {
        self.map.possible_children(prefix).map_err(|error| if cannot_list(&error) {
                let what = "plain Zarr without consolidated metadata needs a listing, which this storage does not have; write \
                            consolidated metadata, or open an array by its own URL";
                error.kind().context(format!("{what}: {}", error.what()))
            } else { error })
    }

    /// Prefetches the listings below all these prefixes at once, if the map is remote.
    pub(crate) fn prefetch_children(&self, prefixes: &[Key]) {
        if let (Some(prefetched), None) = (self.prefetched, &self.consolidated) {
            prefetched.prefetch_children(prefixes);
        }
    }
}

/// Whether an error means that the storage, or this caller, cannot list.
pub(crate) fn cannot_list(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Auth | ErrorKind::Perm)
}

/// Reads the bytes of documents from the map. A single one may be large, so it is not copied.
pub(crate) fn read_bytes(map: &dyn ZMap, keys: &[Key], limits: &Limits) -> Vec<Result<Option<Vec<u8>>>> {
    if let [key] = keys {
        return vec![read_alone(map, key, limits)];
    }
    read_small(map, keys, limits)
}

/// Reads the bytes of small documents from the map. It copies them, which costs less than asking for their
/// lengths.
pub(crate) fn read_small(map: &dyn ZMap, keys: &[Key], limits: &Limits) -> Vec<Result<Option<Vec<u8>>>> {
    read_batch(map, keys, limits, threads(keys), |bytes, _| Ok(bytes.to_vec()))
}

/// Reads a single document into the vector that is returned; no copy.
fn read_alone(map: &dyn ZMap, key: &Key, limits: &Limits) -> Result<Option<Vec<u8>>> {
    let ticket = ticket(0, limits);
    let mut bytes = Vec::new();
    match map.read(key, ByteRange::first((ticket.limit as u64).saturating_add(1)), &mut bytes) {
        Ok(true) => ticket.check_len(key, bytes.len() as u64).map(|()| Some(bytes)),
        Ok(false) => Ok(None),
        Err(error) if error.kind() == ErrorKind::Empty => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads and parses documents from the map.
pub(crate) fn read(map: &dyn ZMap, keys: &[Key], limits: &Limits) -> Vec<Fetched> {
    read_batch(map, keys, limits, threads(keys), |bytes, key| parse(bytes, key, limits))
}

/// As [`read`], but on the calling thread only, for callers that hold a lock.
pub(crate) fn read_here(map: &dyn ZMap, keys: &[Key], limits: &Limits) -> Vec<Fetched> {
    read_batch(map, keys, limits, 1, |bytes, key| parse(bytes, key, limits))
}

fn parse(bytes: &[u8], key: &Key, limits: &Limits) -> Result<Json> {
    json::parse(bytes, limits).map_err(|error| error.in_key(key).at(key))
}

/// Returns the number of threads for reading this many small documents.
fn threads(keys: &[Key]) -> usize {
    // For fewer documents the pool costs more than it gains.
    if keys.len() < 32 { 1 } else { usize::MAX }
}

/// Applies `of` to the bytes of each document, on the thread that received it.
fn read_batch<T: Send>(
    map: &dyn ZMap,
    keys: &[Key],
    limits: &Limits,
    threads: usize,
    of: impl Fn(&[u8], &Key) -> Result<T> + Sync,
) -> Vec<Result<Option<T>>> {
    let job = DocumentJob {
        of,
        keys,
        limits,
        threads,
        next: AtomicUsize::new(0),
        found: Mutex::new(std::iter::repeat_with(|| None).take(keys.len()).collect()),
    };
    if !keys.is_empty() {
        map.read_batch(&job);
    }
    let found = job.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let lost =
        |key: &Key| Err(ErrorKind::Internal.context(format!("{key}: the map did not return this ticket")));
    found.into_iter().zip(keys).map(|(found, key)| found.unwrap_or_else(|| lost(key))).collect()
}

/// Returns the ticket for a document.
pub(crate) fn ticket<'j>(index: usize, limits: &Limits) -> ReadTicket<'j> {
    let limit = usize::try_from(limits.document).unwrap_or(usize::MAX);
    ReadTicket::new(index, Ranges::All, limit).hint(HINT)
}

/// Returns the bytes that the map delivered for a document.
pub(crate) fn bytes<'f>(
    found: Result<Option<(ReadOutcome<'f>, Option<Version>)>>,
    key: impl Fn() -> String,
) -> Result<Option<&'f [u8]>> {
    match found {
        Ok(None) => Ok(None),
        Ok(Some((ReadOutcome::Bytes(bytes), _))) => Ok(Some(bytes)),
        Ok(Some((ReadOutcome::InPlace, _))) => Err(ErrorKind::Internal.context(format!(
            "{}: the map reports a read into a caller's buffer, but none was passed",
            key()
        ))),
        // A key that is only a prefix of other keys holds no document.
        Err(error) if error.kind() == ErrorKind::Empty => Ok(None),
        Err(error) => Err(error),
    }
}

struct DocumentJob<'a, T, F> {
    of: F,
    keys: &'a [Key],
    limits: &'a Limits,
    threads: usize,
    next: AtomicUsize,
    found: Mutex<Vec<Option<Result<Option<T>>>>>,
}

impl<T: Send, F: Fn(&[u8], &Key) -> Result<T> + Sync> ReadJob for DocumentJob<'_, T, F> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        key.set(self.keys.get(index)?);
        Some(ticket(index, self.limits))
    }

    fn remaining(&self) -> Option<usize> {
        Some(self.keys.len().saturating_sub(self.next.load(Ordering::Relaxed)))
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let key = &self.keys[ticket.index];
        let found = bytes(found, || key.to_string()).map_err(|error| error.in_key(key));
        let document = found.and_then(|bytes| bytes.map(|bytes| (self.of)(bytes, key)).transpose());
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = all.get_mut(ticket.index) {
            *place = Some(document);
        }
    }
}
