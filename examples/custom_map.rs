//! Keeps a dataset in a storage map of its own: objects in a `BTreeMap`.
//!
//! `cargo run --example custom_map`. The book's page on plugins explains the trait.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use nczarr::storage::{Key, ListMode, MapCaps, ObjectInfo, Precondition, ReadOptions, WriteOutcome, ZMap};
use nczarr::{CreateOptions, ErrorKind, OpenOptions, Place, Result};

/// Objects by key. One lock keeps each call atomic.
#[derive(Debug, Default)]
struct TreeMap(Mutex<BTreeMap<String, Vec<u8>>>);

impl TreeMap {
    fn objects(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether `key` is only the beginning of keys, as a directory is.
fn is_prefix(objects: &BTreeMap<String, Vec<u8>>, key: &Key) -> bool {
    objects.keys().any(|other| other.strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with('/')))
}

/// The length or content of `key`: a mere prefix is an error.
fn find<'o>(objects: &'o BTreeMap<String, Vec<u8>>, key: &Key) -> Result<Option<&'o Vec<u8>>> {
    match objects.get(key.as_str()) {
        None if is_prefix(objects, key) => {
            Err(ErrorKind::Empty.context(format!("{key}: a prefix of objects")))
        }
        found => Ok(found),
    }
}

impl ZMap for TreeMap {
    // The map can list, write and read ranges. It has no conditional writes, so datasets are opened
    // `exclusive`.
    fn caps(&self) -> MapCaps {
        MapCaps::new().list(true).write(true).overwrite(true).delete(true).range_read(true)
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        Ok(find(&self.objects(), key)?.map(|object| object.len() as u64))
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        out.clear();
        let objects = self.objects();
        let Some(object) = find(&objects, key)? else { return Ok(None) };
        out.extend_from_slice(options.range.cut(object));
        Ok(Some(ObjectInfo::default()))
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        // Other lists are composed of this one.
        if mode != ListMode::Children {
            return Ok(None);
        }
        let start = if prefix.as_str().is_empty() { String::new() } else { format!("{prefix}/") };
        let objects = self.objects();
        let below = objects.keys().filter_map(|key| key.strip_prefix(&start));
        let names: BTreeSet<&str> = below.filter_map(|rest| rest.split('/').next()).collect();
        Ok(Some(names.into_iter().map(str::to_owned).collect()))
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        expect.require_any(key)?;
        let mut objects = self.objects();
        // One object cannot lie inside another.
        let mut parent = key.parent();
        while let Some(above) = parent.filter(|above| !above.as_str().is_empty()) {
            if objects.contains_key(above.as_str()) {
                return Err(ErrorKind::Object.context(format!("{key}: {above} is an object")));
            }
            parent = above.parent();
        }
        if is_prefix(&objects, key) {
            return Err(ErrorKind::Object.context(format!("{key}: a prefix of objects")));
        }
        objects.insert(key.as_str().to_owned(), value.to_vec());
        Ok(WriteOutcome::Done(None))
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        Ok(self.objects().remove(key.as_str()).is_some())
    }
}

fn main() -> Result<()> {
    let map = Arc::new(TreeMap::default());
    let file =
        CreateOptions::new().map(map.clone()).exclusive(true).create(Place::path("tree").mode("nczarr"))?;
    file.add_dimension("x", 6)?;
    let field = file.add_variable::<i32>("field", &["x"])?;
    field.set_chunking(&[4])?;
    field.put(&[1, 2, 3, 4, 5, 6], ..)?;
    file.close()?;
    for (key, object) in map.objects().iter() {
        println!("{key}: {} bytes", object.len());
    }

    let file = OpenOptions::new().map(map).open(Place::path("tree").mode("nczarr"))?;
    println!("{:?}", file.variable("field")?.get_values::<i32>(..)?);
    assert_eq!(file.variable("field")?.get_values::<i32>(3..5)?, [4, 5]);
    Ok(())
}
