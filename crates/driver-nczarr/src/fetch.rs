//! Metadata documents from the map, many at a time: [`Source`].
//!
//! One batch per call; parsing happens on the map's threads. Knows keys and JSON, not what the documents mean: see
//! `nodes` for those of groups and arrays.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_dispatch::{ByteRange, Key, Limits, PrefetchedMap, Ranges, ReadJob, ReadOutcome, ReadTicket, Version, ZMap};
use nczarr_model::{Error, ErrorKind, Result};

use crate::consolidated::Consolidated;
use crate::json::{self, Json};

/// A document, `None` if there is none.
pub(crate) type Fetched = Result<Option<Json>>;

/// Documents are read with a first guess of this size.
const HINT: usize = 4096;

/// Where documents come from.
pub(crate) struct Source<'a> {
    pub(crate) map: &'a dyn ZMap,
    pub(crate) limits: &'a Limits,
    /// It answers in place of the map, if there is one.
    pub(crate) consolidated: Option<Consolidated<'a>>,
    /// Whether the map is asked for what that omits, too: others may have made it since.
    pub(crate) looks_behind: bool,
    /// The map, if it is one far away of which much is asked at once.
    pub(crate) survey: Option<&'a PrefetchedMap>,
}

impl Source<'_> {
    /// The names right below `prefix` that may be nodes, sorted bytewise. `known`: all of them, if the map was asked.
    ///
    /// # Errors
    /// What the map says.
    pub(crate) fn children(&self, prefix: &Key, known: Option<Vec<String>>) -> Result<Vec<String>> {
        let mut names = match &self.consolidated {
            Some(consolidated) if self.looks_behind => {
                let mut names = consolidated.children(prefix);
                names.extend(self.list(prefix)?);
                names.sort_unstable();
                names.dedup();
                names
            }
            Some(consolidated) => consolidated.children(prefix),
            // Whoever asks looks behind each name anyway.
            None => known.map_or_else(|| self.list(prefix), Ok)?,
        };
        names.retain(|name| !name.starts_with('.') && !name.is_empty());
        Ok(names)
    }

    /// The names right below `prefix`, from the map.
    ///
    /// # Errors
    /// The map's error. If the map cannot be listed, it adds a remedy.
    pub(crate) fn list(&self, prefix: &Key) -> Result<Vec<String>> {
        self.map.possible_children(prefix).map_err(|error| match is_no_list(&error) {
            true => {
                let what = "plain Zarr without consolidated metadata is found by a list alone, and there is none; write \
                            consolidated metadata, or open an array by its own URL";
                error.kind().context(format!("{what}: {}", error.what()))
            }
            false => error,
        })
    }

    /// Asks at once for the names below each of these prefixes, where one after the other would take long.
    pub(crate) fn look_below(&self, prefixes: &[Key]) {
        if let (Some(survey), None) = (self.survey, &self.consolidated) {
            survey.prefetch_children(prefixes);
        }
    }
}

/// Whether a failure means that the storage lists nothing, or not for this caller.
pub(crate) fn is_no_list(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Auth | ErrorKind::Perm)
}

/// Reads documents straight from the map, as they are.
pub(crate) fn read_bytes(map: &dyn ZMap, keys: &[Key], limits: &Limits) -> Vec<Result<Option<Vec<u8>>>> {
    if let [key] = keys {
        return vec![read_alone(map, key, limits)];
    }
    run(map, keys, limits, threads(keys), |bytes, _| Ok(bytes.to_vec()))
}

/// Reads the one document that is asked for. It may be all metadata there are: it stays where it is read, and is not copied
/// from the map's memory.
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

/// Reads and parses documents straight from the map.
pub(crate) fn read(map: &dyn ZMap, keys: &[Key], limits: &Limits) -> Vec<Fetched> {
    run(map, keys, limits, threads(keys), |bytes, key| parse(bytes, key, limits))
}

/// As [`read`], on this thread alone: for callers that hold a lock.
pub(crate) fn read_here(map: &dyn ZMap, keys: &[Key], limits: &Limits) -> Vec<Fetched> {
    run(map, keys, limits, 1, |bytes, key| parse(bytes, key, limits))
}

/// Reads documents on this thread alone, and makes `of` of the bytes of each where they lie.
pub(crate) fn read_as<T: Send>(
    map: &dyn ZMap,
    keys: &[Key],
    limits: &Limits,
    of: impl Fn(&[u8], &Key) -> Result<T> + Sync,
) -> Vec<Result<Option<T>>> {
    run(map, keys, limits, 1, of)
}

fn parse(bytes: &[u8], key: &Key, limits: &Limits) -> Result<Json> {
    json::parse(bytes, limits).map_err(|error| error.at(key))
}

/// How many threads reading so many small documents is worth.
fn threads(keys: &[Key]) -> usize {
    // Below this the pool costs more than it gives.
    if keys.len() < 32 { 1 } else { usize::MAX }
}

/// Makes `of` of the bytes of each document, on the thread that brings them.
fn run<T: Send>(
    map: &dyn ZMap,
    keys: &[Key],
    limits: &Limits,
    threads: usize,
    of: impl Fn(&[u8], &Key) -> Result<T> + Sync,
) -> Vec<Result<Option<T>>> {
    let job = Job {
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
    let lost = |key: &Key| Err(ErrorKind::Internal.context(format!("{key}: the map gave no answer")));
    found.into_iter().zip(keys).map(|(found, key)| found.unwrap_or_else(|| lost(key))).collect()
}

/// A ticket for a document.
pub(crate) fn ticket<'j>(index: usize, limits: &Limits) -> ReadTicket<'j> {
    let limit = usize::try_from(limits.document).unwrap_or(usize::MAX);
    ReadTicket { index, ranges: Ranges::All, hint: HINT, limit, versioned: false, into: None }
}

/// What the map found of a document.
pub(crate) fn bytes<'f>(
    found: Result<Option<(ReadOutcome<'f>, Option<Version>)>>,
    key: impl Fn() -> String,
) -> Result<Option<&'f [u8]>> {
    match found {
        Ok(None) => Ok(None),
        Ok(Some((ReadOutcome::Bytes(bytes), _))) => Ok(Some(bytes)),
        Ok(Some((ReadOutcome::InPlace, _))) => {
            Err(ErrorKind::Internal.context(format!("{}: the map read into a place that was not given", key())))
        }
        // A name that is only a prefix of others holds no document.
        Err(error) if error.kind() == ErrorKind::Empty => Ok(None),
        Err(error) => Err(error),
    }
}

struct Job<'a, T, F> {
    of: F,
    keys: &'a [Key],
    limits: &'a Limits,
    threads: usize,
    next: AtomicUsize,
    found: Mutex<Vec<Option<Result<Option<T>>>>>,
}

impl<T: Send, F: Fn(&[u8], &Key) -> Result<T> + Sync> ReadJob for Job<'_, T, F> {
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
        let found = bytes(found, || key.to_string());
        let document = found.and_then(|bytes| bytes.map(|bytes| (self.of)(bytes, key)).transpose());
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = all.get_mut(ticket.index) {
            *place = Some(document);
        }
    }
}
