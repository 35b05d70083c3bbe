//! A map in memory for tests, filled by hand or from a directory; and the driver called on it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use dispatch::{
    ByteRange, Clobber, CreateRequest, Dataset, Driver, Key, MapCaps, OpenRequest, Options, Registry, ZMap,
};
use driver_nczarr::NcZarrDriver;
use model::{ErrorKind, Result};

/// Objects in memory, and a record of what was written.
#[derive(Debug, Default)]
pub struct TestMap {
    objects: Mutex<BTreeMap<String, Vec<u8>>>,
    writes: Mutex<Vec<String>>,
    /// Writes after this many fail.
    budget: Mutex<Option<usize>>,
}

impl TestMap {
    pub fn new(objects: &[(&str, &str)]) -> Arc<Self> {
        let map = Self::default();
        for (key, value) in objects {
            map.put(key, value.as_bytes());
        }
        Arc::new(map)
    }

    pub fn from_dir(root: &Path) -> Arc<Self> {
        let map = Self::default();
        let mut open = vec![root.to_owned()];
        while let Some(dir) = open.pop() {
            for entry in std::fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let key = path.strip_prefix(root).unwrap().to_str().unwrap();
                    map.put(key, &std::fs::read(&path).unwrap());
                }
            }
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

    pub fn keys(&self) -> Vec<String> {
        self.objects.lock().unwrap().keys().cloned().collect()
    }

    pub fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        self.objects.lock().unwrap().clone()
    }

    pub fn take_writes(&self) -> Vec<String> {
        std::mem::take(&mut self.writes.lock().unwrap())
    }

    /// Lets `budget` more writes pass.
    pub fn fail_after(&self, budget: Option<usize>) {
        *self.budget.lock().unwrap() = budget;
    }

    fn spend(&self, key: &Key) -> Result<()> {
        if let Some(budget) = &mut *self.budget.lock().unwrap() {
            *budget = budget.checked_sub(1).ok_or_else(|| ErrorKind::Io.context(format!("{key}: no more writes")))?;
        }
        Ok(())
    }
}

impl ZMap for TestMap {
    fn caps(&self) -> MapCaps {
        MapCaps { write: true, overwrite: true, delete: true, list: true, range_read: true, ..MapCaps::default() }
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        Ok(self.objects.lock().unwrap().get(key.as_str()).map(|value| value.len() as u64))
    }

    fn read(&self, key: &Key, range: ByteRange, out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let objects = self.objects.lock().unwrap();
        let Some(value) = objects.get(key.as_str()) else { return Ok(false) };
        let from = (range.offset as usize).min(value.len());
        let to = range.len.map_or(value.len(), |len| (from + len as usize).min(value.len()));
        out.extend_from_slice(&value[from..to]);
        Ok(true)
    }

    fn search(&self, prefix: &Key) -> Result<Vec<String>> {
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
        Ok(names)
    }

    fn write(&self, key: &Key, value: &[u8]) -> Result<()> {
        self.spend(key)?;
        self.writes.lock().unwrap().push(key.as_str().to_owned());
        self.put(key.as_str(), value);
        Ok(())
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        self.spend(key)?;
        Ok(self.objects.lock().unwrap().remove(key.as_str()).is_some())
    }
}

/// All filters of the project.
pub fn registry() -> Arc<Registry> {
    static TABLE: dispatch::Table = dispatch::Table {
        drivers: &[&NcZarrDriver],
        maps: &[],
        filters: filters::BUILTIN,
        elements: filters::BUILTIN_ELEMENTS,
        known: &[],
    };
    Arc::new(Registry::new().with_table(&TABLE))
}

pub fn open_with(map: &Arc<TestMap>, path: &str, writable: bool, options: &Options) -> Result<Arc<dyn Dataset>> {
    let target = url_infer::parse(path)?;
    NcZarrDriver.open(&OpenRequest {
        target: &target,
        writable,
        options,
        registry: &registry(),
        map: Some(Arc::clone(map) as Arc<dyn ZMap>),
    })
}

pub fn open(map: &Arc<TestMap>) -> Result<Arc<dyn Dataset>> {
    open_with(map, "file:///some/store.zarr#mode=nczarr,file", false, &Options::default())
}

pub fn open_rw(map: &Arc<TestMap>) -> Arc<dyn Dataset> {
    open_with(map, "file:///some/store.zarr#mode=nczarr,file", true, &Options::default()).unwrap()
}

pub fn create(map: &Arc<TestMap>, fragment: &str) -> Arc<dyn Dataset> {
    let target = url_infer::parse(&format!("file:///some/store.zarr#{fragment}")).unwrap();
    NcZarrDriver
        .create(&CreateRequest {
            target: &target,
            clobber: Clobber::Refuse,
            classic_model: false,
            options: &Options::default(),
            registry: &registry(),
            map: Some(Arc::clone(map) as Arc<dyn ZMap>),
            markers: &[],
        })
        .unwrap()
}
