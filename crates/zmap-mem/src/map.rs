//! [`MemMap`]: the map's methods over an [`ObjectTable`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError};

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::run_on_pool;
use nczarr_storage::batch::{ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::{
    ByteRange, Key, ListMode, MapCaps, ObjectInfo, OutBuf, Precondition, ReadOptions, UpdateFn, Version,
    WriteOutcome, ZMap, ZMapExt,
};

use crate::store::{Intent, ObjectTable, PutOutcome, StoredObject};

/// The number of lost races after which [`MemMap::update`] takes turns with its competitors.
const RACES_BEFORE_TURNS: usize = 4;

/// The number of lost races after which it gives up.
const MAX_RACES: usize = 10_000;

/// A dataset in memory. Clones share it.
#[derive(Clone)]
pub struct MemMap {
    store: Arc<ObjectTable>,
    name: String,
    writable: bool,
}

/// The version of one object.
#[derive(PartialEq)]
struct MemVersion {
    store: u64,
    version: u64,
}

impl MemMap {
    /// Makes an empty dataset without a name.
    pub fn new() -> Self {
        Self::over(Arc::default(), String::new(), true)
    }

    /// Makes a dataset of these objects, in the form of [`MemMap::snapshot`].
    ///
    /// # Errors
    /// `NC_EINVAL` for an invalid key, `NC_EOBJECT` if one key is a prefix of another.
    pub fn from_objects(objects: impl IntoIterator<Item = (String, impl AsRef<[u8]>)>) -> Result<Self> {
        let map = Self::new();
        for (key, value) in objects {
            map.write(&Key::new(&key)?, value.as_ref())?;
        }
        Ok(map)
    }

    pub(crate) fn over(store: Arc<ObjectTable>, name: String, writable: bool) -> Self {
        Self { store, name, writable }
    }

    /// Returns the same dataset for reading only.
    #[must_use]
    pub fn read_only(&self) -> Self {
        Self { writable: false, ..self.clone() }
    }

    /// Returns all objects by key. Their bytes are shared, not copied.
    pub fn snapshot(&self) -> BTreeMap<String, Arc<[u8]>> {
        self.store.snapshot()
    }

    fn want_writable(&self, doing: &str, key: &Key) -> Result<()> {
        if self.writable {
            return Ok(());
        }
        Err(self.error(ErrorKind::Perm, key, &format!("cannot {doing}: opened read-only")))
    }

    fn error(&self, kind: ErrorKind, key: &Key, what: &str) -> Error {
        kind.context(format!("memory://{}: key {:?}: {what}", self.name, key.as_str()))
    }

    fn find(&self, key: &Key) -> Result<Option<StoredObject>> {
        let found = self.store.get(key.as_str());
        if found.is_none() && self.store.leads(key.as_str()) {
            return Err(self.error(ErrorKind::Empty, key, "a prefix of objects, not an object"));
        }
        Ok(found)
    }

    fn put(&self, key: &Key, value: &[u8], intent: Intent) -> Result<WriteOutcome> {
        self.want_writable("write", key)?;
        if key.is_root() {
            return Err(self.error(ErrorKind::Object, key, "the root cannot hold an object"));
        }
        match self.store.put(key.as_str(), value, intent) {
            PutOutcome::Done(version) => Ok(WriteOutcome::Done(Some(Version::comparable(MemVersion {
                store: self.store.id(),
                version,
            })))),
            PutOutcome::Lost => Ok(WriteOutcome::Conflict),
            PutOutcome::Collision => {
                Err(self.error(ErrorKind::Object, key, "is a prefix of an object or lies below one"))
            }
        }
    }

    fn serve(&self, key: &Key, ticket: &ReadTicket<'_>) -> Result<Option<(StoredObject, Option<Version>)>> {
        let Some(entry) = self.find(key)? else { return Ok(None) };
        let version = ticket.versioned.then(|| self.version(&entry));
        Ok(Some((entry, version)))
    }

    fn version(&self, entry: &StoredObject) -> Version {
        Version::comparable(MemVersion { store: self.store.id(), version: entry.version })
    }
}

impl Default for MemMap {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemMap")
            .field("name", &self.name)
            .field("writable", &self.writable)
            .finish_non_exhaustive()
    }
}

impl ZMap for MemMap {
    fn caps(&self) -> MapCaps {
        MapCaps::new()
            .write(self.writable)
            .overwrite(self.writable)
            .delete(self.writable)
            .list(true)
            .range_read(true)
            .conditional_write(self.writable)
            .versioned_parts(true)
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        Ok(self.find(key)?.map(|entry| entry.bytes.len() as u64))
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        if options.versioned {
            self.want_writable("read versions", key)?;
        }
        out.clear();
        let Some(entry) = self.find(key)? else { return Ok(None) };
        out.extend_from_slice(options.range.cut(&entry.bytes));
        Ok(Some(ObjectInfo::new(options.versioned.then(|| self.version(&entry)))))
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        out.clear();
        let Some(entry) = self.find(key)? else { return Ok(false) };
        out.put(ByteRange::new(offset, out.capacity() as u64).cut(&entry.bytes))?;
        Ok(true)
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        Ok(match mode {
            ListMode::Children | ListMode::PossibleChildren => Some(self.store.search(prefix.as_str())),
            ListMode::Keys => {
                let keys = self.store.list(prefix.as_str());
                Some(keys.iter().map(|key| key.to_string()).collect())
            }
            _ => None,
        })
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        let intent = match expect {
            Precondition::Any => Intent::Replace,
            Precondition::Absent => Intent::Create,
            Precondition::Unchanged(version) => match version.get::<MemVersion>() {
                Some(mark) if mark.store == self.store.id() => Intent::Swap(mark.version),
                _ => return Err(self.error(ErrorKind::Inval, key, "the version belongs to another map")),
            },
        };
        self.put(key, value, intent)
    }

    fn update(&self, key: &Key, limit: usize, change: &mut UpdateFn<'_>) -> Result<()> {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        let mut turn = None;
        for round in 0..MAX_RACES {
            if round == RACES_BEFORE_TURNS {
                turn = Some(self.store.updates.lock().unwrap_or_else(PoisonError::into_inner));
            }
            let version = self.read_versioned(key, limit.saturating_add(1), &mut old)?;
            if old.len() > limit {
                return Err(self.error(
                    ErrorKind::Io,
                    key,
                    &format!("the object is too long (expected at most {limit} bytes)"),
                ));
            }
            new.clear();
            change(version.is_some().then_some(&old[..]), &mut new)?;
            let expect = Precondition::unchanged(version);
            if let WriteOutcome::Done(_) = self.write_if(key, &new, &expect)? {
                return Ok(());
            }
        }
        drop(turn);
        Err(self.error(ErrorKind::Io, key, &format!("other writers interfered {MAX_RACES} times in a row")))
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        self.want_writable("delete", key)?;
        Ok(self.store.remove(key.as_str()))
    }

    fn rename(&self, from: &Key, to: &Key) -> Result<()> {
        self.want_writable("rename", from)?;
        if from.is_root() || to.is_root() {
            return Err(self.error(ErrorKind::Inval, from, &format!("cannot be moved to {:?}", to.as_str())));
        }
        let apart = from != to && to.relative_to(from).is_none() && from.relative_to(to).is_none();
        if apart && self.store.rename(from.as_str(), to.as_str()) {
            return Ok(());
        }
        Err(self.error(ErrorKind::Object, to, "already exists"))
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        run_on_pool(job.threads(), &|| {
            let mut key = Key::root();
            while let Some(ticket) = job.next(&mut key) {
                let found = match self.serve(&key, &ticket) {
                    Ok(Some((entry, version))) => match ticket.ranges.cut(&key, &entry.bytes, ticket.limit) {
                        Ok(bytes) => {
                            job.done(ticket, Ok(Some((ReadOutcome::Bytes(&bytes), version))));
                            continue;
                        }
                        Err(error) => Err(error),
                    },
                    Ok(None) => Ok(None),
                    Err(error) => Err(error),
                };
                job.done(ticket, found);
            }
        });
    }
}
