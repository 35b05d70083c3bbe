//! A simple map, dataset and plugins for the tests.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use nczarr_dispatch::{
    CacheConfig, CreateRequest, Dataset, DatasetInfo, Driver, DriverInfo, Editor, Format, FormatX,
    HeaderPadding, Magic, MemMut, MemRef, OpenRequest, Registry, VarData,
};
use nczarr_model::{
    CheckedSlab, Defined, Edit, ErrorKind, ModelCell, NcString, NcType, Result, Slab, Values, VarId, convert,
};
use nczarr_storage::{
    CreateMap, Key, ListMode, MapCaps, MapFactory, MapInfo, ObjectInfo, OpenMap, Precondition, ReadOptions,
    Version, WriteOutcome, ZMap, ZMapExt,
};

/// Objects in memory. Any operation can be made to fail or to lose a race.
#[derive(Debug, Default)]
pub struct TestMap {
    pub objects: Mutex<BTreeMap<Key, (u64, Vec<u8>)>>,
    pub caps: MapCaps,
    pub broken: AtomicBool,
    /// The number of conditional writes that lose their race.
    pub losses: AtomicUsize,
    pub reads: AtomicUsize,
    states: AtomicU64,
}

pub fn all_caps() -> MapCaps {
    MapCaps::new()
        .write(true)
        .overwrite(true)
        .delete(true)
        .list(true)
        .range_read(true)
        .conditional_write(true)
}

impl TestMap {
    pub fn new(caps: MapCaps) -> Self {
        Self { caps, ..Self::default() }
    }

    pub fn with(objects: &[(&str, &[u8])]) -> Self {
        let map = Self::new(all_caps());
        for (key, bytes) in objects {
            map.write(&Key::new(key).unwrap(), bytes).unwrap();
        }
        map
    }

    pub fn keys(&self) -> Vec<String> {
        self.objects.lock().unwrap().keys().map(Key::to_string).collect()
    }

    fn ready(&self, key: &Key) -> Result<()> {
        match self.broken.load(Ordering::Relaxed) {
            true => Err(ErrorKind::Io.context(format!("{key}: the disk is on fire"))),
            false => Ok(()),
        }
    }
}

impl ZMap for TestMap {
    fn caps(&self) -> MapCaps {
        self.caps
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        self.ready(key)?;
        Ok(self.objects.lock().unwrap().get(key).map(|(_, bytes)| bytes.len() as u64))
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        self.ready(key)?;
        if !options.versioned {
            self.reads.fetch_add(1, Ordering::Relaxed);
        }
        out.clear();
        let objects = self.objects.lock().unwrap();
        let Some((state, bytes)) = objects.get(key) else { return Ok(None) };
        out.extend_from_slice(options.range.cut(bytes));
        Ok(Some(ObjectInfo::new(options.versioned.then(|| Version::new(*state)))))
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        if mode != ListMode::Children {
            return Ok(None);
        }
        self.ready(prefix)?;
        let objects = self.objects.lock().unwrap();
        let mut names: Vec<String> = objects
            .keys()
            .filter_map(|key| key.relative_to(prefix))
            .filter_map(|rest| rest.split('/').next())
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        names.sort_unstable();
        names.dedup();
        Ok(Some(names))
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        self.ready(key)?;
        Ok(self.objects.lock().unwrap().remove(key).is_some())
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        self.ready(key)?;
        let lost = !matches!(expect, Precondition::Any)
            && self
                .losses
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                .is_ok();
        let mut objects = self.objects.lock().unwrap();
        let there = objects.get(key).map(|(state, _)| *state);
        let wanted = match expect {
            Precondition::Any => there,
            Precondition::Absent => None,
            Precondition::Unchanged(version) => version.get::<u64>().copied(),
        };
        if lost || there != wanted {
            return Ok(WriteOutcome::Conflict);
        }
        let state = self.states.fetch_add(1, Ordering::Relaxed);
        objects.insert(key.clone(), (state, value.to_vec()));
        Ok(WriteOutcome::Done(Some(Version::new(state))))
    }
}

/// A dataset that stores each element by its index.
#[derive(Debug)]
pub struct TestDataset {
    pub model: ModelCell,
    pub registry: Arc<Registry>,
    pub format: Format,
    pub writable: bool,
    pub commits: AtomicUsize,
    pub elements: Arc<Mutex<Elements>>,
}

pub type Elements = BTreeMap<(VarId, Vec<u64>), Element>;

#[derive(Debug, Clone)]
pub enum Element {
    Bytes(Vec<u8>),
    Text(NcString),
}

impl TestDataset {
    pub fn new(registry: Registry) -> Self {
        Self {
            model: ModelCell::default(),
            registry: Arc::new(registry),
            format: Format::NetCdf4,
            writable: true,
            commits: AtomicUsize::new(0),
            elements: Arc::default(),
        }
    }
}

impl Dataset for TestDataset {
    fn info(&self) -> DatasetInfo {
        DatasetInfo::new(&driver_info("test", &[], &[], &[]), self.format)
            .flavour("plain".to_owned())
            .version("1".to_owned())
            .writable(self.writable)
            .properties(Some("version=2,test=1".to_owned()))
            .superblock(Some(0))
    }

    fn model(&self) -> &ModelCell {
        &self.model
    }

    fn registry(&self) -> Option<&Arc<Registry>> {
        Some(&self.registry)
    }

    fn data(&self, var: VarId) -> Result<Arc<dyn VarData>> {
        let model = self.model.snapshot();
        let found = model.var(var)?;
        let dims = found.dims.iter().map(|&dim| model.dim(dim).unwrap().clone()).collect();
        Ok(Arc::new(TestData {
            id: var,
            xtype: found.xtype,
            dims,
            elements: Arc::clone(&self.elements),
            cache: Mutex::default(),
        }))
    }

    fn editor(&self) -> Result<&dyn Editor> {
        Ok(self)
    }

    fn close(&self) -> Result<()> {
        Ok(())
    }
}

impl Editor for TestDataset {
    fn admit(&self, edit: &Edit<'_>) -> Result<()> {
        match (self.writable, edit) {
            (false, _) => Err(ErrorKind::Perm.context("read-only")),
            (true, Edit::DefVar { name: "forbidden", .. }) => {
                Err(ErrorKind::StrictNc3.context("this format says no"))
            }
            _ => Ok(()),
        }
    }

    fn apply(&self, edit: &Edit<'_>) -> Result<Defined> {
        self.admit(edit)?;
        self.model.define(edit)
    }

    fn commit(&self, _padding: HeaderPadding) -> Result<()> {
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[derive(Debug)]
struct TestData {
    id: VarId,
    xtype: NcType,
    dims: Vec<nczarr_model::Dim>,
    elements: Arc<Mutex<Elements>>,
    cache: Mutex<CacheConfig>,
}

/// Returns every index of a slab in C order.
fn indices(slab: &Slab<'_>) -> Vec<Vec<u64>> {
    let mut all = vec![Vec::new()];
    for dim in 0..slab.rank() {
        all = all
            .into_iter()
            .flat_map(|index: Vec<u64>| {
                (0..slab.count[dim])
                    .map(move |i| [index.as_slice(), &[slab.start[dim] + i * slab.step(dim)]].concat())
            })
            .collect();
    }
    all
}

impl VarData for TestData {
    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        let elements = self.elements.lock().unwrap();
        let mut out_of_range = false;
        match out {
            MemMut::Fixed { ty, out } => {
                let zeros = Element::Bytes(vec![0; self.xtype.size().unwrap()]);
                for index in indices(slab) {
                    let Element::Bytes(bytes) = elements.get(&(self.id, index)).unwrap_or(&zeros) else {
                        panic!()
                    };
                    let value = Values::from_native_bytes(self.xtype, bytes).unwrap();
                    let (value, wrapped) = convert::convert_values(&value, ty)?;
                    out_of_range |= wrapped;
                    out.put(&value.to_native_bytes().unwrap())?;
                }
            }
            MemMut::Strings(strings) => {
                for (string, index) in strings.iter_mut().zip(indices(slab)) {
                    *string = match elements.get(&(self.id, index)) {
                        Some(Element::Text(text)) => text.clone(),
                        _ => NcString::new(),
                    };
                }
            }
            _ => unreachable!(),
        }
        if out_of_range { Err(ErrorKind::Range.context("a value")) } else { Ok(()) }
    }

    fn put(&self, slab: &CheckedSlab<'_>, data: MemRef<'_>) -> Result<()> {
        let mut elements = self.elements.lock().unwrap();
        match data {
            MemRef::Fixed { ty, bytes } => {
                assert_eq!(ty, self.xtype, "the tests write native types");
                for (item, index) in bytes.chunks(ty.size().unwrap()).zip(indices(slab)) {
                    elements.insert((self.id, index), Element::Bytes(item.to_vec()));
                }
            }
            MemRef::Strings(strings) => {
                for (string, index) in strings.iter().zip(indices(slab)) {
                    elements.insert((self.id, index), Element::Text(string.clone()));
                }
            }
            _ => unreachable!(),
        }
        for (dim, d) in self.dims.iter().enumerate() {
            if d.unlimited && !slab.is_empty() {
                d.grow(slab.end(dim));
            }
        }
        Ok(())
    }

    fn set_chunk_cache(&self, cache: CacheConfig) -> Result<()> {
        *self.cache.lock().unwrap() = cache;
        Ok(())
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        Some(vec![2; self.dims.len()])
    }
}

/// A driver that writes its name in the notes of its datasets.
pub struct TestDriver(pub DriverInfo);

pub const fn driver_info(
    name: &'static str,
    modes: &'static [&'static str],
    magic: &'static [Magic],
    markers: &'static [&'static str],
) -> DriverInfo {
    DriverInfo::new(name, FormatX::Udf(0), "made for tests").modes(modes).magic(magic).markers(markers)
}

impl Driver for TestDriver {
    fn info(&self) -> &DriverInfo {
        &self.0
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
        if !self.0.markers.is_empty() {
            request.registry.open_map(request)?;
        }
        Ok(Arc::new(Opened { driver: self.0.name, model: ModelCell::default() }))
    }

    fn create(&self, request: &CreateRequest<'_>) -> Result<Arc<dyn Dataset>> {
        if !self.0.markers.is_empty() {
            let map = request.registry.create_map(request)?;
            map.write(&Key::new(self.0.markers[0])?, b"{}")?;
            map.close()?;
        } else {
            std::fs::write(&request.target.path, self.0.magic[0].bytes).unwrap();
        }
        Ok(Arc::new(Opened { driver: self.0.name, model: ModelCell::default() }))
    }
}

/// A dataset that only knows its driver.
#[derive(Debug)]
pub struct Opened {
    driver: &'static str,
    model: ModelCell,
}

impl Dataset for Opened {
    fn info(&self) -> DatasetInfo {
        DatasetInfo::new(&driver_info(self.driver, &[], &[], &[]), Format::NetCdf4)
            .notes(vec!["opened".to_owned()])
    }

    fn model(&self) -> &ModelCell {
        &self.model
    }

    fn data(&self, _: VarId) -> Result<Arc<dyn VarData>> {
        Err(ErrorKind::NotVar.context("none here"))
    }

    fn close(&self) -> Result<()> {
        Ok(())
    }
}

/// Directories as simple maps.
pub struct Directories;

static DIRECTORIES: MapInfo = MapInfo::new("file", "directories, for tests").schemes(&["file"]);

#[derive(Debug)]
struct Directory(std::path::PathBuf);

impl ZMap for Directory {
    fn caps(&self) -> MapCaps {
        all_caps()
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        Ok(std::fs::metadata(self.0.join(key.as_str())).ok().map(|found| found.len()))
    }

    fn read_with(&self, _: &Key, _: ReadOptions, _: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        Err(ErrorKind::Perm.context("nothing reads here"))
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        if mode != ListMode::Children {
            return Ok(None);
        }
        let place = self.0.join(prefix.as_str());
        let entries =
            std::fs::read_dir(&place).map_err(|error| nczarr_model::Error::io(prefix.as_str(), error))?;
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(Some(names))
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        expect.require_any(key)?;
        std::fs::write(self.0.join(key.as_str()), value)
            .map_err(|error| nczarr_model::Error::io(key.as_str(), error))?;
        Ok(WriteOutcome::Done(None))
    }
}

impl MapFactory for Directories {
    fn info(&self) -> &MapInfo {
        &DIRECTORIES
    }

    fn open(&self, request: &OpenMap<'_>) -> Result<Arc<dyn ZMap>> {
        let path = std::path::PathBuf::from(&request.target.path);
        match path.is_dir() {
            true => Ok(Arc::new(Directory(path))),
            false => Err(ErrorKind::NotFound.context("no such directory")),
        }
    }

    fn create(&self, request: &CreateMap<'_>) -> Result<Arc<dyn ZMap>> {
        let path = std::path::PathBuf::from(&request.target.path);
        std::fs::create_dir(&path)
            .map_err(|error| nczarr_model::Error::io_at(&request.target.path, error))?;
        Ok(Arc::new(Directory(path)))
    }

    fn delete(&self, request: &OpenMap<'_>) -> Result<()> {
        std::fs::remove_dir_all(&request.target.path)
            .map_err(|error| nczarr_model::Error::io("delete", error))
    }
}

/// A map without files, or in files that begin with given bytes.
pub struct Elsewhere(pub MapInfo);

impl MapFactory for Elsewhere {
    fn info(&self) -> &MapInfo {
        &self.0
    }

    fn open(&self, _: &OpenMap<'_>) -> Result<Arc<dyn ZMap>> {
        Ok(Arc::new(TestMap::with(&[(".grid", b"{}")])))
    }
}
