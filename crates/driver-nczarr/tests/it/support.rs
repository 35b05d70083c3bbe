//! Helpers: a map in memory, filled by hand or from a file of documents; calls of the driver; data as
//! doubles.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use nczarr_dispatch::{
    Clobber, CreateRequest, Dataset, Driver, MemMut, MemRef, OpenRequest, Options, Registry,
};
use nczarr_driver_nczarr::NcZarrDriver;
use nczarr_model::{ErrorKind, GroupId, NcString, NcType, Result, Slab, VarId};
use nczarr_nc_table::NcDispatch;
use nczarr_runtime::OutBuf;
use nczarr_storage::batch::{Payload, WriteJob, WriteTicket};
use nczarr_storage::{
    Key, ListMode, MapCaps, ObjectInfo, Precondition, ReadOptions, Version, WriteOutcome, ZMap, ZMapExt,
};

/// An action that runs once, in the middle of a call into a map.
type Event = Box<dyn FnOnce() + Send>;

/// Actions by call, such as `read a/0`.
#[derive(Default)]
struct Events(Mutex<BTreeMap<String, Event>>);

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.lock().unwrap().keys()).finish()
    }
}

/// Objects in memory, and a record of the writes.
#[derive(Debug, Default)]
pub struct TestMap {
    objects: Mutex<BTreeMap<String, Vec<u8>>>,
    /// The number of writes of each object.
    versions: Mutex<BTreeMap<String, u64>>,
    writes: Mutex<Vec<String>>,
    /// Keys that were read, and prefixes that were listed. A prefix ends with a slash.
    asked: Mutex<Vec<String>>,
    /// The number of changes that succeed. Later changes fail.
    budget: Mutex<Option<usize>>,
    /// Makes a version check and its write one step.
    turn: Mutex<()>,
    events: Events,
    /// Batches take all available tickets before they write any.
    eager: AtomicBool,
    /// Batches write this many objects and skip the others.
    forgetful: Mutex<Option<usize>>,
}

impl TestMap {
    pub fn new(objects: &[(&str, &str)]) -> Arc<Self> {
        let map = Self::default();
        for (key, value) in objects {
            map.put(key, value.as_bytes());
        }
        Arc::new(map)
    }

    /// Loads the documents of a sample dataset. Each line has a key, a tab and a text.
    pub fn sample(name: &str) -> Arc<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name).with_extension("docs");
        let map = Self::default();
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let (key, text) = line.split_once('\t').unwrap();
            map.put(key, text.as_bytes());
        }
        Arc::new(map)
    }

    pub fn put(&self, key: &str, value: &[u8]) {
        self.objects.lock().unwrap().insert(key.to_owned(), value.to_owned());
    }

    pub fn remove(&self, key: &str) {
        self.objects.lock().unwrap().remove(key);
    }

    pub fn text(&self, key: &str) -> String {
        let objects = self.objects.lock().unwrap();
        let bytes = objects.get(key).unwrap_or_else(|| panic!("no {key}; there are {:?}", objects.keys()));
        String::from_utf8(bytes.clone()).unwrap()
    }

    pub fn json(&self, key: &str) -> serde_json::Value {
        serde_json::from_str(&self.text(key)).unwrap()
    }

    pub fn keys(&self) -> Vec<String> {
        self.objects.lock().unwrap().keys().cloned().collect()
    }

    pub fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        self.objects.lock().unwrap().clone()
    }

    pub fn take_writes(&self) -> Vec<String> {
        std::mem::take(&mut self.writes.lock().unwrap())
    }

    pub fn take_asked(&self) -> Vec<String> {
        let mut asked = std::mem::take(&mut *self.asked.lock().unwrap());
        asked.sort();
        asked
    }

    /// Runs an action in the middle of the next call of this kind for this key, before the call acts. The
    /// kinds are `len`, `read`, `write` and `delete`.
    pub fn once(&self, call: &str, event: impl FnOnce() + Send + 'static) {
        self.events.0.lock().unwrap().insert(call.to_owned(), Box::new(event));
    }

    fn come(&self, call: &str, key: &Key) {
        let event = self.events.0.lock().unwrap().remove(&format!("{call} {key}"));
        if let Some(event) = event {
            event();
        }
    }

    /// Lets this many more changes succeed.
    pub fn fail_after(&self, budget: Option<usize>) {
        *self.budget.lock().unwrap() = budget;
    }

    /// Lets batches take all tickets before they write any, as an asynchronous map does.
    pub fn be_eager(&self) {
        self.eager.store(true, Ordering::Relaxed);
    }

    /// Lets batches write only the first `kept` objects.
    pub fn be_forgetful(&self, kept: Option<usize>) {
        *self.forgetful.lock().unwrap() = kept;
    }

    fn write_now(&self, key: &Key, value: &[u8]) -> Result<()> {
        self.spend(key)?;
        self.writes.lock().unwrap().push(key.as_str().to_owned());
        *self.versions.lock().unwrap().entry(key.as_str().to_owned()).or_default() += 1;
        self.put(key.as_str(), value);
        Ok(())
    }

    fn version(&self, key: &Key) -> u64 {
        self.versions.lock().unwrap().get(key.as_str()).copied().unwrap_or(0)
    }

    fn spend(&self, key: &Key) -> Result<()> {
        if let Some(budget) = &mut *self.budget.lock().unwrap() {
            *budget = budget
                .checked_sub(1)
                .ok_or_else(|| ErrorKind::Io.context(format!("{key}: no more changes")))?;
        }
        Ok(())
    }
}

impl ZMap for TestMap {
    fn caps(&self) -> MapCaps {
        MapCaps::new()
            .write(true)
            .overwrite(true)
            .delete(true)
            .list(true)
            .range_read(true)
            .conditional_write(true)
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        self.come("len", key);
        Ok(self.objects.lock().unwrap().get(key.as_str()).map(|value| value.len() as u64))
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        out.clear();
        let _turn = options.versioned.then(|| {
            // An action may write, and needs the lock itself.
            self.come("read", key);
            self.turn.lock().unwrap()
        });
        self.come("read", key);
        self.asked.lock().unwrap().push(key.as_str().to_owned());
        let objects = self.objects.lock().unwrap();
        let Some(value) = objects.get(key.as_str()) else { return Ok(None) };
        out.extend_from_slice(options.range.cut(value));
        Ok(Some(ObjectInfo::new(options.versioned.then(|| Version::new(self.version(key))))))
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        if mode != ListMode::Children {
            return Ok(None);
        }
        self.asked.lock().unwrap().push(format!("{prefix}/"));
        let mut names: Vec<String> = Vec::new();
        for key in self.objects.lock().unwrap().keys() {
            let rest = if prefix.is_root() {
                Some(key.as_str())
            } else {
                key.strip_prefix(prefix.as_str()).and_then(|rest| rest.strip_prefix('/'))
            };
            if let Some(rest) = rest {
                names.push(rest.split('/').next().unwrap().to_owned());
            }
        }
        names.sort();
        names.dedup();
        Ok(Some(names))
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        self.come("delete", key);
        self.spend(key)?;
        Ok(self.objects.lock().unwrap().remove(key.as_str()).is_some())
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        if let Precondition::Any = expect {
            self.come("write", key);
        }
        let _turn = self.turn.lock().unwrap();
        let fits = match expect {
            Precondition::Any => true,
            Precondition::Absent => !self.exists(key)?,
            Precondition::Unchanged(version) => version.get() == Some(&self.version(key)),
        };
        if !fits {
            return Ok(WriteOutcome::Conflict);
        }
        self.write_now(key, value)?;
        Ok(WriteOutcome::Done(Some(Version::new(self.version(key)))))
    }

    fn write_batch(&self, job: &dyn WriteJob) {
        let mut left = *self.forgetful.lock().unwrap();
        let write = |key: &Key, ticket: WriteTicket, left: &mut Option<usize>| {
            if let Some(left) = left {
                match left.checked_sub(1) {
                    Some(less) => *left = less,
                    None => return,
                }
            }
            let mut scratch = Vec::new();
            let outcome = job.value(ticket.index, &mut scratch).and_then(|payload| match payload {
                Payload::Scratch => self.write(key, &scratch),
                Payload::Borrowed(bytes) => self.write(key, bytes),
            });
            job.done(ticket, outcome.map(|()| WriteOutcome::Done(None)));
        };
        let (mut key, mut taken) = (Key::root(), Vec::new());
        while let Some(ticket) = job.next(&mut key) {
            assert!(matches!(ticket.precondition, Precondition::Any), "metadata asks for no versions here");
            match self.eager.load(Ordering::Relaxed) {
                true => taken.push((key.clone(), ticket)),
                false => write(&key, ticket, &mut left),
            }
        }
        for (key, ticket) in taken {
            write(&key, ticket, &mut left);
        }
    }
}

/// Returns a registry with all filters of the project.
pub fn registry() -> Arc<Registry> {
    static TABLE: nczarr_dispatch::PluginTable = nczarr_dispatch::PluginTable {
        drivers: &[&NcZarrDriver],
        filters: nczarr_filters::BUILTIN,
        elements: nczarr_filters::BUILTIN_ELEMENTS,
        data_types: &[&nczarr_driver_nczarr::Bfloat16],
        chunk_grids: &[&nczarr_driver_nczarr::RectilinearGrid],
        ..nczarr_dispatch::PluginTable::EMPTY
    };
    Arc::new(Registry::new().with_table(&TABLE))
}

pub fn open_with(
    map: &Arc<TestMap>,
    modes: &str,
    writable: bool,
    options: &Options,
) -> Result<Arc<dyn Dataset>> {
    let target = nczarr_url_infer::parse(&format!("file:///some/store.v1.zarr#mode={modes},file")).unwrap();
    NcZarrDriver.open(
        &OpenRequest::new(&target, options, &registry())
            .writable(writable)
            .map(Some((Arc::clone(map) as Arc<dyn ZMap>).into())),
    )
}

pub fn open(map: &Arc<TestMap>) -> Result<Arc<dyn Dataset>> {
    open_with(map, "nczarr", false, &Options::default())
}

pub fn open_rw(map: &Arc<TestMap>) -> Arc<dyn Dataset> {
    open_with(map, "nczarr", true, &Options::default()).unwrap()
}

pub fn create_with(
    map: &Arc<TestMap>,
    fragment: &str,
    clobber: Clobber,
    classic: bool,
) -> Result<Arc<dyn Dataset>> {
    create_among(&registry(), map, fragment, clobber, classic)
}

pub fn create_among(
    registry: &Arc<Registry>,
    map: &Arc<TestMap>,
    fragment: &str,
    clobber: Clobber,
    classic: bool,
) -> Result<Arc<dyn Dataset>> {
    let target = nczarr_url_infer::parse(&format!("file:///some/store.v1.zarr#{fragment}")).unwrap();
    NcZarrDriver.create(
        &CreateRequest::new(&target, &Options::default(), registry)
            .clobber(clobber)
            .classic_model(classic)
            .map(Some((Arc::clone(map) as Arc<dyn ZMap>).into())),
    )
}

pub fn create(map: &Arc<TestMap>, modes: &str) -> Arc<dyn Dataset> {
    create_with(map, &format!("mode={modes},file"), Clobber::Refuse, false).unwrap()
}

/// Returns the variable at an escaped path.
pub fn var(dataset: &dyn Dataset, path: &str) -> VarId {
    dataset.model().snapshot().var_at(GroupId::ROOT, path).unwrap()
}

pub fn try_put(
    dataset: &dyn Dataset,
    var: VarId,
    start: &[u64],
    count: &[u64],
    values: &[f64],
) -> Result<()> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    dataset.put_vara(var, start, count, MemRef::Fixed { ty: NcType::Double, bytes: &bytes })
}

pub fn put(dataset: &dyn Dataset, var: VarId, start: &[u64], count: &[u64], values: &[f64]) {
    try_put(dataset, var, start, count, values).unwrap();
}

/// Reads a whole variable of numbers.
pub fn get(dataset: &dyn Dataset, var: VarId) -> Vec<f64> {
    try_get(dataset, var).unwrap()
}

pub fn try_get(dataset: &dyn Dataset, var: VarId) -> Result<Vec<f64>> {
    let shape = dataset.model().snapshot().shape(var)?;
    let start = vec![0; shape.len()];
    let mut bytes = vec![0u8; shape.iter().product::<u64>() as usize * 8];
    let out = MemMut::Fixed { ty: NcType::Double, out: &mut OutBuf::from_slice(&mut bytes) };
    dataset.data(var)?.get(&Slab::new(&start, &shape).check(&shape, |_| false)?, out)?;
    Ok(bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect())
}

pub fn put_text(
    dataset: &dyn Dataset,
    var: VarId,
    start: &[u64],
    count: &[u64],
    texts: &[&str],
) -> Result<()> {
    let strings: Vec<NcString> = texts.iter().map(|&text| text.into()).collect();
    dataset.put_vara(var, start, count, MemRef::Strings(&strings))
}

/// Reads a whole variable of strings.
pub fn get_text(dataset: &dyn Dataset, var: VarId) -> Vec<String> {
    let shape = dataset.model().snapshot().shape(var).unwrap();
    let start = vec![0; shape.len()];
    let mut strings = vec![NcString::new(); shape.iter().product::<u64>() as usize];
    let slab = Slab::new(&start, &shape).check(&shape, |_| false).unwrap();
    dataset.data(var).unwrap().get(&slab, MemMut::Strings(&mut strings)).unwrap();
    strings.iter().map(|text| text.to_text().into_owned()).collect()
}
