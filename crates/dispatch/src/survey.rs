//! [`Survey`]: what one look at a map brought, so that opening a dataset far away waits as few times as it can.
//!
//! Where each operation is a request ([`MapCaps::remote`]) it costs less to ask for everything that may be there at once
//! than for one thing after the other. A survey reads objects in one batch, and the list of all keys beside it where
//! one request brings that; then it is a map that answers from what it saw, and asks for the rest. So who opens a dataset
//! needs no other way for what lies far away: it looks first, and goes on as ever.
//!
//! It is for the time of opening: what was seen is not looked at again. A failure is kept as the failure it is; a list that
//! failed or is too long is none. It knows no format: which keys matter, says who looks.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use nczarr_model::{ErrorKind, Result};

use crate::zmap::{
    ByteRange, Change, Expect, Found, MapCaps, Ranges, ReadJob, ReadTicket, Sink, WriteJob, Written, ZMap,
};
use crate::{Forbidden, Key, Limits, OutBuf, Version};

/// Documents are read with a first guess of this size.
const HINT: usize = 4096;
/// So many lists are asked for at a time.
const LISTS: usize = 32;
/// More lists than this are not asked for before they are needed.
const MOST_LISTS: usize = 10_000;

/// An object that was read, `None` if there is none.
type Seen = Result<Option<Arc<[u8]>>>;

/// A map, and what was seen of it.
#[derive(Debug)]
pub struct Survey {
    map: Arc<dyn ZMap>,
    /// Never held while the map is called.
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    objects: HashMap<Key, Seen>,
    /// All keys, sorted; known or not, they were asked for.
    keys: Option<Arc<[Key]>>,
    asked: bool,
    /// The names below some prefixes.
    names: BTreeMap<Key, Vec<String>>,
}

impl Survey {
    /// Nothing was seen yet.
    pub fn new(map: Arc<dyn ZMap>) -> Self {
        Self { map, known: RwLock::default() }
    }

    fn read_known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_known(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the objects at `keys`, those that were not seen yet, all at once; one of more than
    /// [`Limits::document`] bytes is an error when it is asked for. With `list` all keys of the map are asked for beside, if
    /// one request brings them.
    pub fn look(&self, keys: &[Key], limits: &Limits, list: bool) {
        let limit = usize::try_from(limits.document).unwrap_or(usize::MAX);
        let mut wanted: Vec<Key> = {
            let known = self.read_known();
            keys.iter().filter(|key| !known.tells(key)).cloned().collect()
        };
        wanted.sort_unstable();
        wanted.dedup();
        let list = list && self.map.caps().list && !std::mem::replace(&mut self.write_known().asked, true);
        let (mut objects, mut all) = (Vec::new(), None);
        std::thread::scope(|scope| {
            let find = || self.map.list_once(&Key::root()).ok().flatten();
            let beside = match list && !wanted.is_empty() {
                true => std::thread::Builder::new().spawn_scoped(scope, find).ok(),
                false => None,
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

    /// Asks for the names below each of these prefixes, all at once, as [`ZMap::names`]. What fails is told when it is asked
    /// for.
    pub fn look_below(&self, prefixes: &[Key]) {
        let wanted: Vec<&Key> = {
            let known = self.read_known();
            prefixes.iter().filter(|prefix| known.below(prefix).is_none()).take(MOST_LISTS).collect()
        };
        if wanted.len() < 2 || !self.map.caps().list {
            return;
        }
        let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            while let Some(prefix) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Ok(names) = self.map.names(prefix) {
                    found.lock().unwrap_or_else(PoisonError::into_inner).push(((*prefix).clone(), names));
                }
            }
        };
        std::thread::scope(|scope| {
            // They wait for answers and do nothing else. One that cannot be had leaves more for the others.
            for _ in 1..wanted.len().min(LISTS) {
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        self.write_known().names.extend(found.into_inner().unwrap_or_else(PoisonError::into_inner));
    }

    /// All keys of the map, sorted, if they are known.
    pub fn keys(&self) -> Option<Arc<[Key]>> {
        self.read_known().keys.clone()
    }

    /// Forgets what was not there and all lists: somebody may have written in between.
    pub fn doubt(&self) {
        let mut known = self.write_known();
        known.objects.retain(|_, seen| matches!(seen, Ok(Some(_))));
        (known.keys, known.asked) = (None, true);
        known.names.clear();
    }

    fn read_all(&self, keys: &[Key], limit: usize) -> Vec<Seen> {
        let found = keys.iter().map(|_| Mutex::new(None)).collect();
        let job = Look { keys, limit, next: AtomicUsize::new(0), found };
        if !keys.is_empty() {
            self.map.read_batch(&job);
        }
        let lost = |key: &Key| Err(ErrorKind::Internal.context(format!("{key}: the map gave no answer")));
        let found = job.found.into_iter().map(|found| found.into_inner().unwrap_or_else(PoisonError::into_inner));
        found.zip(keys).map(|(found, key)| found.unwrap_or_else(|| lost(key))).collect()
    }

    /// What is known of an object; `None`: nothing.
    fn seen(&self, key: &Key) -> Option<Seen> {
        let known = self.read_known();
        match known.objects.get(key) {
            Some(seen) => Some(seen.clone()),
            None => known.tells(key).then_some(Ok(None)),
        }
    }
}

impl Known {
    /// Whether it is known what is at `key`: it was read, or is none of all keys.
    fn tells(&self, key: &Key) -> bool {
        self.objects.contains_key(key) || self.keys.as_ref().is_some_and(|keys| keys.binary_search(key).is_err())
    }

    /// The names right below a prefix, sorted, if they are known.
    fn below(&self, prefix: &Key) -> Option<Vec<String>> {
        if let Some(names) = self.names.get(prefix) {
            return Some(names.clone());
        }
        let keys = self.keys.as_ref()?;
        // Keys below a prefix stand together: they begin with it and a slash.
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

#[deny(clippy::missing_trait_methods)]
impl ZMap for Survey {
    fn caps(&self) -> MapCaps {
        self.map.caps()
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        match self.seen(key) {
            Some(Ok(Some(bytes))) => Ok(Some(bytes.len() as u64)),
            _ => self.map.len(key),
        }
    }

    fn read(&self, key: &Key, range: ByteRange, out: &mut Vec<u8>) -> Result<bool> {
        match self.seen(key) {
            Some(seen) => {
                out.clear();
                let bytes = seen?;
                out.extend_from_slice(bytes.as_deref().map_or(&[], |bytes| range.cut(bytes)));
                Ok(bytes.is_some())
            }
            None => self.map.read(key, range, out),
        }
    }

    fn search(&self, prefix: &Key) -> Result<Vec<String>> {
        let all = self.keys().and_then(|_| self.read_known().below(prefix));
        all.map_or_else(|| self.map.search(prefix), Ok)
    }

    fn names(&self, prefix: &Key) -> Result<Vec<String>> {
        let known = self.read_known().below(prefix);
        known.map_or_else(|| self.map.names(prefix), Ok)
    }

    fn unnamable(&self, prefix: &Key) -> Result<Vec<String>> {
        self.map.unnamable(prefix)
    }

    fn write(&self, key: &Key, value: &[u8]) -> Result<()> {
        self.map.write(key, value)
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        self.map.delete(key)
    }

    fn sync(&self) -> Result<()> {
        self.map.sync()
    }

    fn close(&self) -> Result<()> {
        self.map.close()
    }

    fn exists(&self, key: &Key) -> Result<bool> {
        match self.seen(key) {
            Some(Ok(found)) => Ok(found.is_some()),
            // Another request would be refused too.
            Some(Err(error)) if Forbidden::caused(&error) => Err(error),
            // What cannot be read may be there all the same.
            Some(Err(_)) | None => self.map.exists(key),
        }
    }

    fn list(&self, prefix: &Key) -> Result<Vec<Key>> {
        self.map.list(prefix)
    }

    fn list_once(&self, prefix: &Key) -> Result<Option<Vec<Key>>> {
        self.map.list_once(prefix)
    }

    fn max_key(&self) -> Option<usize> {
        self.map.max_key()
    }

    fn max_segment(&self) -> Option<usize> {
        self.map.max_segment()
    }

    fn parallel_writes(&self) -> bool {
        self.map.parallel_writes()
    }

    fn rename(&self, from: &Key, to: &Key) -> Result<()> {
        self.map.rename(from, to)
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        self.map.read_into(key, offset, out)
    }

    fn read_versioned(&self, key: &Key, limit: usize, out: &mut Vec<u8>) -> Result<Option<Version>> {
        self.map.read_versioned(key, limit, out)
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: Expect<'_>) -> Result<Written> {
        self.map.write_if(key, value, expect)
    }

    fn update(&self, key: &Key, limit: usize, change: &mut Change<'_>) -> Result<()> {
        self.map.update(key, limit, change)
    }

    fn image(&self) -> Result<Vec<u8>> {
        self.map.image()
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        self.map.read_batch(&Rest { survey: self, job });
    }

    fn write_batch(&self, job: &dyn WriteJob) {
        self.map.write_batch(job);
    }
}

/// Reads whole objects and keeps their bytes.
struct Look<'a> {
    keys: &'a [Key],
    limit: usize,
    next: AtomicUsize,
    found: Vec<Mutex<Option<Seen>>>,
}

impl ReadJob for Look<'_> {
    fn threads(&self) -> usize {
        1
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        key.set(self.keys.get(index)?);
        Some(ReadTicket { index, ranges: Ranges::All, hint: HINT, limit: self.limit, versioned: false, into: None })
    }

    fn left(&self) -> Option<usize> {
        Some(self.keys.len().saturating_sub(self.next.load(Ordering::Relaxed)))
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(Found<'_>, Option<Version>)>>) {
        let Some(place) = self.found.get(ticket.index) else { return };
        let seen = match found {
            Ok(None) => Ok(None),
            Ok(Some((Found::Bytes(bytes), _))) => Ok(Some(Arc::from(bytes))),
            Ok(Some((Found::InPlace, _))) => Err(ErrorKind::Internal
                .context(format!("{}: the map read into a place that was not given", self.keys[ticket.index]))),
            // A name that is only a prefix of others is no object.
            Err(error) if error.kind() == ErrorKind::Empty => Ok(None),
            Err(error) => Err(error),
        };
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
    }
}

/// A batch without the objects that were seen: they are answered as soon as they are asked for.
struct Rest<'a> {
    survey: &'a Survey,
    job: &'a dyn ReadJob,
}

#[deny(clippy::missing_trait_methods)]
impl ReadJob for Rest<'_> {
    fn threads(&self) -> usize {
        self.job.threads()
    }

    fn left(&self) -> Option<usize> {
        self.job.left()
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        loop {
            let ticket = self.job.next(key)?;
            // Whole objects without a version are all that is asked for here.
            if ticket.versioned || ticket.into.is_some() || !matches!(ticket.ranges, Ranges::All) {
                return Some(ticket);
            }
            match self.survey.seen(key) {
                None => return Some(ticket),
                Some(Ok(Some(bytes))) => {
                    let fits = ticket.check_len(key, bytes.len() as u64);
                    self.job.done(ticket, fits.map(|()| Some((Found::Bytes(&bytes), None))));
                }
                Some(Ok(None)) => self.job.done(ticket, Ok(None)),
                Some(Err(error)) => self.job.done(ticket, Err(error)),
            }
        }
    }

    fn sink<'j>(&'j self, ticket: &ReadTicket<'_>) -> Option<Box<dyn Sink + 'j>> {
        self.job.sink(ticket)
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(Found<'_>, Option<Version>)>>) {
        self.job.done(ticket, found);
    }
}
