//! A map that keeps objects in memory by key. The factory keeps datasets by name, `shelf://name`.
//!
//! Your storage replaces [`Objects`]. The rules of [`ZMap`] apply. A write replaces the whole object. An
//! object is absent only if the storage reports that it does not exist; any other failure is an error. A key
//! is never a prefix of another object's key.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use nczarr_storage::{
    Clobber, CreateMap, ErrorKind, Key, ListMode, MapCaps, MapFactory, MapInfo, MapPlugin, ObjectInfo,
    OpenMap, Precondition, ReadOptions, Result, Target, WriteOutcome, ZMap, inventory,
};

static INFO: MapInfo = MapInfo::new("shelf", "memory of this process").schemes(&["shelf"]);

type Objects = RwLock<BTreeMap<String, Arc<[u8]>>>;

static SHELVES: Mutex<BTreeMap<String, Arc<Objects>>> = Mutex::new(BTreeMap::new());

fn shelves() -> MutexGuard<'static, BTreeMap<String, Arc<Objects>>> {
    SHELVES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens, creates and deletes datasets on shelves.
pub struct Shelves;

impl Shelves {
    fn name(target: &Target) -> String {
        format!("shelf://{}{}", target.host.as_deref().unwrap_or_default(), target.path_text())
    }
}

impl MapFactory for Shelves {
    fn info(&self) -> &MapInfo {
        &INFO
    }

    fn open(&self, request: &OpenMap<'_>) -> Result<Arc<dyn ZMap>> {
        let name = Self::name(request.target);
        match shelves().get(&name) {
            Some(objects) => Ok(Arc::new(Shelf { objects: Arc::clone(objects), writable: request.writable })),
            None => Err(ErrorKind::NotFound.context(format!("{name}: no such shelf"))),
        }
    }

    fn create(&self, request: &CreateMap<'_>) -> Result<Arc<dyn ZMap>> {
        let name = Self::name(request.target);
        let mut shelves = shelves();
        if let Some(old) = shelves.get(&name) {
            let old = old.read().unwrap_or_else(PoisonError::into_inner);
            // Replaces existing objects only if they contain a marker of a dataset.
            let is_dataset = request.markers.iter().any(|marker| old.contains_key(*marker));
            if !old.is_empty() && (request.clobber == Clobber::Refuse || !is_dataset) {
                return Err(ErrorKind::Object.context(format!("{name} exists and is not empty")));
            }
        }
        let objects = Arc::<Objects>::default();
        shelves.insert(name, Arc::clone(&objects));
        Ok(Arc::new(Shelf { objects, writable: true }))
    }

    fn delete(&self, request: &OpenMap<'_>) -> Result<()> {
        let name = Self::name(request.target);
        match shelves().remove(&name) {
            Some(_) => Ok(()),
            None => Err(ErrorKind::NotFound.context(format!("{name}: no such shelf"))),
        }
    }
}

#[derive(Debug)]
struct Shelf {
    objects: Arc<Objects>,
    writable: bool,
}

/// Returns the keys of objects below a prefix.
fn below<'o>(objects: &'o BTreeMap<String, Arc<[u8]>>, prefix: &Key) -> impl Iterator<Item = &'o str> {
    let start = if prefix.is_root() { String::new() } else { format!("{prefix}/") };
    let from = objects.range(start.clone()..).map(|(key, _)| key.as_str());
    from.map_while(move |key| key.strip_prefix(&start))
}

impl Shelf {
    /// Returns the object, or `None` if it does not exist. A mere prefix is an error.
    fn get(&self, key: &Key) -> Result<Option<Arc<[u8]>>> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        match objects.get(key.as_str()) {
            None if below(&objects, key).next().is_some() => {
                Err(ErrorKind::Empty.context(format!("key {key}")))
            }
            found => Ok(found.cloned()),
        }
    }

    fn check_writable(&self, key: &Key) -> Result<()> {
        if self.writable {
            Ok(())
        } else {
            Err(ErrorKind::Perm.context(format!("opened for reading: key {key}")))
        }
    }
}

impl ZMap for Shelf {
    // The trait's default methods refuse everything that is not declared here, for instance conditional
    // writes.
    fn caps(&self) -> MapCaps {
        let write = self.writable;
        MapCaps::new().write(write).overwrite(write).delete(write).list(true).range_read(true)
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        Ok(self.get(key)?.map(|bytes| bytes.len() as u64))
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        let Some(bytes) = self.get(key)? else { return Ok(None) };
        out.clear();
        out.extend_from_slice(options.range.cut(&bytes));
        Ok(Some(ObjectInfo::default()))
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        // Other lists are composed of this one.
        if mode != ListMode::Children {
            return Ok(None);
        }
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        let names = below(&objects, prefix).filter_map(|rest| rest.split('/').next());
        // The names are sorted as names, not as keys: the key `a.b` comes before `a/c`, but the name `a.b`
        // comes after `a`.
        let names: BTreeSet<String> = names.map(str::to_owned).collect();
        Ok(Some(names.into_iter().collect()))
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        self.check_writable(key)?;
        expect.require_any(key)?;
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        let mut above = key.parent();
        while let Some(parent) = above {
            if objects.contains_key(parent.as_str()) {
                return Err(ErrorKind::Object.context(format!("key {key}: {parent} is an object")));
            }
            above = parent.parent();
        }
        if key.is_root() || below(&objects, key).next().is_some() {
            return Err(ErrorKind::Object.context(format!("key {key:?} is a prefix of objects")));
        }
        objects.insert(key.as_str().to_owned(), value.into());
        Ok(WriteOutcome::Done(None))
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        self.check_writable(key)?;
        Ok(self.objects.write().unwrap_or_else(PoisonError::into_inner).remove(key.as_str()).is_some())
    }
}

inventory::submit! { MapPlugin(&Shelves) }
