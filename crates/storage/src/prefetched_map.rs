//! [`PrefetchedMap`]: a map overlay that prefetches objects and listings, so that opening a remote dataset
//! takes few round trips.
//!
//! For a remote map ([`MapCaps::remote`](crate::MapCaps::remote)) it is faster to request all likely
//! objects at once than one after another. The overlay reads objects in one batch, in parallel with the
//! listing if that takes one request. Then it answers from memory, and forwards all other operations. So the
//! code that opens a dataset is the same for local and remote maps.
//!
//! Use it for opening only, because it does not refresh cached results. It caches errors too. It treats a
//! listing that failed or is too long as unknown. It knows no format: its callers name the keys.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use nczarr_model::{ErrorKind, Result};

use crate::batch::{ObjectSink, Ranges, ReadJob, ReadOutcome, ReadTicket};
use crate::{Forbidden, Key, Layer, Limits, ListMode, ObjectInfo, ReadOptions, Version, ZMap, ZMapExt};

/// The assumed size of a document, in bytes.
const HINT: usize = 4096;
/// The number of parallel listings.
const LISTS: usize = 32;
/// The largest number of listings that are prefetched.
const MOST_LISTS: usize = 10_000;

/// The result of a read; `None`: no such object.
type CachedObject = Result<Option<Arc<[u8]>>>;

/// A map, and the prefetched part of it.
#[derive(Debug)]
pub struct PrefetchedMap {
    map: Arc<dyn ZMap>,
    /// Never locked during a call of the map.
    known: RwLock<PrefetchedObjects>,
}

#[derive(Debug, Default)]
struct PrefetchedObjects {
    objects: HashMap<Key, CachedObject>,
    /// All keys, sorted; `asked`: whether they were requested.
    keys: Option<Arc<[Key]>>,
    asked: bool,
    /// The names below prefixes.
    names: BTreeMap<Key, Vec<String>>,
}

impl PrefetchedMap {
    /// Wraps a map; nothing is prefetched yet.
    pub fn new(map: Arc<dyn ZMap>) -> Self {
        Self { map, known: RwLock::default() }
    }

    fn read_known(&self) -> RwLockReadGuard<'_, PrefetchedObjects> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_known(&self) -> RwLockWriteGuard<'_, PrefetchedObjects> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the objects at `keys` that are not cached, in one batch. An object of more than
    /// [`Limits::document`] bytes is cached as an error. With `list`, also requests all keys in parallel, if
    /// one request returns them.
    pub fn prefetch(&self, keys: &[Key], limits: &Limits, list: bool) {
        let limit = usize::try_from(limits.document).unwrap_or(usize::MAX);
        let mut wanted: Vec<Key> = {
            let known = self.read_known();
            keys.iter().filter(|key| !known.is_known(key)).cloned().collect()
        };
        wanted.sort_unstable();
        wanted.dedup();
        let list = list && self.map.caps().list && !std::mem::replace(&mut self.write_known().asked, true);
        let (mut objects, mut all) = (Vec::new(), None);
        std::thread::scope(|scope| {
            let find = || self.map.keys_in_one_request(&Key::root()).ok().flatten();
            let beside = if list && !wanted.is_empty() {
                std::thread::Builder::new().spawn_scoped(scope, find).ok()
            } else {
                None
            };
            let is_beside = beside.is_some();
            objects = self.read_all(&wanted, limit);
            all = match beside {
                Some(beside) => beside.join().ok().flatten(),
                None if list && !is_beside => find(),
                None => None,
            };
        });
        let mut known = self.write_known();
        known.objects.extend(wanted.into_iter().zip(objects));
        if let Some(mut keys) = all {
            keys.sort_unstable();
            known.keys = Some(keys.into());
        }
    }

    /// Requests the names below each prefix in parallel ([`ZMapExt::possible_children`]). Failed requests are
    /// repeated on use.
    pub fn prefetch_children(&self, prefixes: &[Key]) {
        let wanted: Vec<&Key> = {
            let known = self.read_known();
            prefixes.iter().filter(|prefix| known.children_of(prefix).is_none()).take(MOST_LISTS).collect()
        };
        if wanted.len() < 2 || !self.map.caps().list {
            return;
        }
        let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            while let Some(prefix) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Ok(names) = self.map.possible_children(prefix) {
                    found.lock().unwrap_or_else(PoisonError::into_inner).push(((*prefix).clone(), names));
                }
            }
        };
        std::thread::scope(|scope| {
            // These threads only wait for answers. If one cannot start, the others do its work.
            for _ in 1..wanted.len().min(LISTS) {
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        self.write_known().names.extend(found.into_inner().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns all keys of the map, sorted, if they are known.
    pub fn cached_keys(&self) -> Option<Arc<[Key]>> {
        self.read_known().keys.clone()
    }

    /// Forgets absent objects and all listings, since another process may have written meanwhile.
    pub fn invalidate_absent(&self) {
        let mut known = self.write_known();
        known.objects.retain(|_, seen| matches!(seen, Ok(Some(_))));
        (known.keys, known.asked) = (None, true);
        known.names.clear();
    }

    fn read_all(&self, keys: &[Key], limit: usize) -> Vec<CachedObject> {
        let found = keys.iter().map(|_| Mutex::new(None)).collect();
        let job = PrefetchJob { keys, limit, next: AtomicUsize::new(0), found };
        if !keys.is_empty() {
            self.map.read_batch(&job);
        }
        let lost = |key: &Key| Err(ErrorKind::Internal.context(format!("{key}: the map gave no answer")));
        let found =
            job.found.into_iter().map(|found| found.into_inner().unwrap_or_else(PoisonError::into_inner));
        found.zip(keys).map(|(found, key)| found.unwrap_or_else(|| lost(key))).collect()
    }

    /// Returns the cached result for an object; `None`: unknown.
    fn cached(&self, key: &Key) -> Option<CachedObject> {
        let known = self.read_known();
        match known.objects.get(key) {
            Some(seen) => Some(seen.clone()),
            None => known.is_known(key).then_some(Ok(None)),
        }
    }
}

impl PrefetchedObjects {
    /// Whether the object at `key` is known: it was read, or it is not in the listing.
    fn is_known(&self, key: &Key) -> bool {
        self.objects.contains_key(key)
            || self.keys.as_ref().is_some_and(|keys| keys.binary_search(key).is_err())
    }

    /// Returns the sorted names directly below a prefix, if they are known.
    fn children_of(&self, prefix: &Key) -> Option<Vec<String>> {
        if let Some(names) = self.names.get(prefix) {
            return Some(names.clone());
        }
        let keys = self.keys.as_ref()?;
        // Keys below a prefix are adjacent: they begin with it and a slash.
        let start = if prefix.is_root() { String::new() } else { format!("{prefix}/") };
        let from = keys.partition_point(|key| *key.as_str() < *start);
        let rest = keys[from..].iter().map_while(|key| key.as_str().strip_prefix(&*start));
        let mut names: Vec<&str> = rest.filter_map(|rest| rest.split('/').next()).collect();
        names.dedup();
        names.sort_unstable();
        names.dedup();
        Some(names.into_iter().map(str::to_owned).collect())
    }
}

impl Layer for PrefetchedMap {
    fn inner(&self) -> &dyn ZMap {
        &*self.map
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        match self.cached(key) {
            Some(Ok(found)) => Ok(found.map(|bytes| bytes.len() as u64)),
            // Another request would be forbidden too.
            Some(Err(error)) if Forbidden::is_cause_of(&error) => Err(error),
            // An unreadable object may have a length.
            Some(Err(_)) | None => self.map.len(key),
        }
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        if options.versioned {
            return self.map.read_with(key, options, out);
        }
        match self.cached(key) {
            Some(seen) => {
                out.clear();
                let bytes = seen?;
                out.extend_from_slice(bytes.as_deref().map_or(&[], |bytes| options.range.cut(bytes)));
                Ok(bytes.map(|_| ObjectInfo::default()))
            }
            None => self.map.read_with(key, options, out),
        }
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        let known = match mode {
            ListMode::Children => self.cached_keys().and_then(|_| self.read_known().children_of(prefix)),
            ListMode::PossibleChildren => self.read_known().children_of(prefix),
            _ => None,
        };
        known.map_or_else(|| self.map.list(prefix, mode), |names| Ok(Some(names)))
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        self.map.read_batch(&RemainingReads { survey: self, job });
    }
}

/// Reads whole objects into memory.
struct PrefetchJob<'a> {
    keys: &'a [Key],
    limit: usize,
    next: AtomicUsize,
    found: Vec<Mutex<Option<CachedObject>>>,
}

impl ReadJob for PrefetchJob<'_> {
    fn threads(&self) -> usize {
        1
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        key.set(self.keys.get(index)?);
        Some(ReadTicket::new(index, Ranges::All, self.limit).hint(HINT))
    }

    fn remaining(&self) -> Option<usize> {
        Some(self.keys.len().saturating_sub(self.next.load(Ordering::Relaxed)))
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let Some(place) = self.found.get(ticket.index) else { return };
        let seen = match found {
            Ok(None) => Ok(None),
            Ok(Some((ReadOutcome::Bytes(bytes), _))) => Ok(Some(Arc::from(bytes))),
            Ok(Some((ReadOutcome::InPlace, _))) => Err(ErrorKind::Internal.context(format!(
                "{}: the map read into memory that the ticket does not have",
                self.keys[ticket.index]
            ))),
            // A mere prefix is not an object.
            Err(error) if error.kind() == ErrorKind::Empty => Ok(None),
            Err(error) => Err(error),
        };
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
    }
}

/// A batch without cached objects: these are answered at once.
struct RemainingReads<'a> {
    survey: &'a PrefetchedMap,
    job: &'a dyn ReadJob,
}

#[deny(clippy::missing_trait_methods)]
impl ReadJob for RemainingReads<'_> {
    fn threads(&self) -> usize {
        self.job.threads()
    }

    fn remaining(&self) -> Option<usize> {
        self.job.remaining()
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        loop {
            let ticket = self.job.next(key)?;
            // Only whole objects without a version are cached.
            if ticket.versioned || ticket.into.is_some() || !matches!(ticket.ranges, Ranges::All) {
                return Some(ticket);
            }
            match self.survey.cached(key) {
                None => return Some(ticket),
                Some(Ok(Some(bytes))) => {
                    let fits = ticket.check_len(key, bytes.len() as u64);
                    self.job.done(ticket, fits.map(|()| Some((ReadOutcome::Bytes(&bytes), None))));
                }
                Some(Ok(None)) => self.job.done(ticket, Ok(None)),
                Some(Err(error)) => self.job.done(ticket, Err(error)),
            }
        }
    }

    fn sink<'j>(&'j self, ticket: &ReadTicket<'_>) -> Option<Box<dyn ObjectSink + 'j>> {
        self.job.sink(ticket)
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        self.job.done(ticket, found);
    }
}
