//! Metadata documents from the map, many at a time: [`Source`].
//!
//! One batch per call; parsing happens on the map's threads. Consolidated metadata answers first, when there is any.
//! Knows keys and JSON, not what the documents mean.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use dispatch::{Found, Key, Limits, Ranges, ReadJob, ReadTicket, Version, ZMap};
use model::{ErrorKind, Result};

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
    pub(crate) consolidated: Option<Consolidated>,
}

impl Source<'_> {
    /// The documents at `keys`. `direct`: one that consolidated metadata omits is looked for in the map.
    pub(crate) fn fetch(&self, keys: &[Key], direct: bool) -> Vec<Fetched> {
        let Some(consolidated) = &self.consolidated else { return read(self.map, keys, self.limits) };
        let mut found: Vec<Fetched> = keys.iter().map(|key| Ok(consolidated.document(key).cloned())).collect();
        if direct {
            let missing: Vec<usize> = (0..keys.len()).filter(|&i| matches!(found[i], Ok(None))).collect();
            let wanted: Vec<Key> = missing.iter().map(|&i| keys[i].clone()).collect();
            for (i, document) in missing.into_iter().zip(read(self.map, &wanted, self.limits)) {
                found[i] = document;
            }
        }
        found
    }

    /// The names right below `prefix` that may be nodes, sorted bytewise.
    ///
    /// # Errors
    /// What the map says.
    pub(crate) fn children(&self, prefix: &Key) -> Result<Vec<String>> {
        let mut names = match &self.consolidated {
            Some(consolidated) => consolidated.children(prefix),
            None => self.map.search(prefix)?,
        };
        names.retain(|name| !name.starts_with('.') && !name.is_empty());
        Ok(names)
    }
}

/// Reads and parses documents straight from the map.
pub(crate) fn read(map: &dyn ZMap, keys: &[Key], limits: &Limits) -> Vec<Fetched> {
    // Below this many small documents the pool costs more than it gives.
    run(map, keys, limits, if keys.len() < 32 { 1 } else { usize::MAX })
}

/// As [`read`], on this thread alone: for callers that hold a lock.
pub(crate) fn read_here(map: &dyn ZMap, keys: &[Key], limits: &Limits) -> Vec<Fetched> {
    run(map, keys, limits, 1)
}

fn run(map: &dyn ZMap, keys: &[Key], limits: &Limits, threads: usize) -> Vec<Fetched> {
    let job = Job {
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
    keys.iter().zip(found).map(|(key, found)| found.unwrap_or_else(|| lost(key))).collect()
}

struct Job<'a> {
    keys: &'a [Key],
    limits: &'a Limits,
    threads: usize,
    next: AtomicUsize,
    found: Mutex<Vec<Option<Fetched>>>,
}

impl ReadJob for Job<'_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        key.set(self.keys.get(index)?);
        let limit = usize::try_from(self.limits.document).unwrap_or(usize::MAX);
        Some(ReadTicket { index, ranges: Ranges::All, hint: HINT, limit, versioned: false, into: None })
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(Found<'_>, Option<Version>)>>) {
        let key = &self.keys[ticket.index];
        let document = match found {
            Ok(None) => Ok(None),
            Ok(Some((Found::Bytes(bytes), _))) => {
                json::parse(bytes, self.limits).map(Some).map_err(|error| error.at(key))
            }
            Ok(Some((Found::InPlace, _))) => {
                Err(ErrorKind::Internal.context(format!("{key}: the map read into a place that was not given")))
            }
            // A name that is only a prefix of others holds no document.
            Err(error) if error.kind() == ErrorKind::Empty => Ok(None),
            Err(error) => Err(error),
        };
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = all.get_mut(ticket.index) {
            *place = Some(document);
        }
    }
}
