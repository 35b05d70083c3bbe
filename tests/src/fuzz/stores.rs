//! Small datasets as seeds: those of the corpus in their own style, and the same in older styles.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nczarr::CreateOptions;
use nczarr_zmap_mem::MemMap;
use serde_json::{Map, Value, json};

use crate::samples;

/// The objects of a dataset by key.
pub type Store = Vec<(String, Vec<u8>)>;

/// Larger datasets are omitted, because a case should take microseconds.
const LARGEST: usize = 16 << 10;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// The paths of the files below a folder, sorted by name.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("a folder of the corpus")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn ends_with(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found == ending)
}

/// Classic files: names and bytes.
pub fn classic() -> Store {
    let mut paths = Vec::new();
    files(&corpus().join("netcdf-c/classic"), &mut paths);
    let paths = paths.into_iter().filter(|path| ends_with(path, "nc"));
    paths.map(|path| (name(&path), fs::read(&path).expect("a file of the corpus"))).collect()
}

/// Archives: names and bytes.
pub fn archives() -> Store {
    let mut paths = Vec::new();
    files(&corpus().join("netcdf-c/nczarr"), &mut paths);
    let paths = paths.into_iter().filter(|path| ends_with(path, "zip"));
    paths.map(|path| (name(&path), fs::read(&path).expect("a file of the corpus"))).collect()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Datasets in the present NCZarr style and plain Zarr datasets.
pub fn today() -> Vec<Store> {
    let mut all: Vec<_> =
        archives().iter().map(|(_, bytes)| unpacked(bytes)).filter(|store| !is_lower(store)).collect();
    all.extend(folders(&corpus().join("zarr/stores")));
    all.retain(|store| store.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() <= LARGEST);
    all
}

/// Zarr V3 datasets: foreign ones, and our own with shards, annotations or consolidated metadata.
pub fn v3() -> Vec<Store> {
    let mut all = folders(&corpus().join("nczarr-v3"));
    let plans = samples::all().into_iter();
    for (_, plan) in
        plans.filter(|(name, _)| ["groups", "unlimited", "scalars", "chars", "strings"].contains(name))
    {
        for modes in ["nczarr,v3", "zarr,v3,annotate", "nczarr,v3,consolidated"] {
            let map = MemMap::new();
            let file =
                CreateOptions::new().map(Arc::new(map.clone())).create(format!("memory://fuzz#mode={modes}"));
            let file = file.expect("a dataset in memory");
            let plan = if modes.contains("consolidated") { plan.sharded() } else { plan.clone() };
            plan.write(&file.root()).and_then(|()| file.close()).expect("its content");
            all.push(map.snapshot().into_iter().map(|(key, bytes)| (key, bytes.to_vec())).collect());
        }
    }
    all.retain(|store| store.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() <= LARGEST);
    all
}

/// The datasets below a folder. The name of each ends with `.zarr`.
fn folders(root: &Path) -> Vec<Store> {
    let mut paths = Vec::new();
    files(root, &mut paths);
    let mut stores: Vec<(PathBuf, Store)> = Vec::new();
    for path in paths {
        let Some(store) = path.ancestors().find(|folder| ends_with(folder, "zarr")) else { continue };
        let Ok(key) = path.strip_prefix(store) else { continue };
        let object = (key.to_string_lossy().into_owned(), fs::read(&path).expect("a file of the corpus"));
        match stores.last_mut() {
            Some((last, objects)) if last == store => objects.push(object),
            _ => stores.push((store.to_path_buf(), vec![object])),
        }
    }
    stores.into_iter().map(|(_, store)| store).collect()
}

/// Datasets with NCZarr metadata in `.zgroup` and `.zarray`, under names in lower case.
pub fn lower() -> Vec<Store> {
    archives().iter().map(|(_, bytes)| unpacked(bytes)).filter(is_lower).collect()
}

/// The same datasets with names in upper case.
pub fn upper() -> Vec<Store> {
    let mut all = lower();
    for (_, document) in all.iter_mut().flatten().filter(|(key, _)| is_document(key)) {
        let mut text = String::from_utf8_lossy(document).into_owned();
        for name in ["_nczarr_superblock", "_nczarr_group", "_nczarr_array", "_nczarr_attr"] {
            text = text.replace(name, &name.to_uppercase());
        }
        *document = text.into_bytes();
    }
    all
}

/// The same datasets with NCZarr metadata in separate objects.
pub fn keys() -> Vec<Store> {
    let moved = |store: Store| {
        let mut all = Store::new();
        for (key, bytes) in store {
            let parsed = if is_document(&key) { serde_json::from_slice(&bytes).ok() } else { None };
            let Some(Value::Object(mut members)) = parsed else {
                all.push((key, bytes));
                continue;
            };
            let folder = key.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
            if members.shift_remove("_nczarr_superblock").is_some() {
                all.push((
                    ".nczarr".to_owned(),
                    br#"{"zarr_format": 2, "nczarr_version": "1.0.0"}"#.to_vec(),
                ));
            }
            for (member, key) in
                [("_nczarr_group", ".nczgroup"), ("_nczarr_array", ".nczvar"), ("_nczarr_attr", ".nczattr")]
            {
                if let Some(mut value) = members.shift_remove(member) {
                    if let Some(Value::Object(types)) = value.get_mut("types") {
                        number_types(types);
                    }
                    all.push((format!("{folder}{key}"), value.to_string().into_bytes()));
                }
            }
            all.push((key, Value::Object(members).to_string().into_bytes()));
        }
        all
    };
    lower().into_iter().map(moved).collect()
}

/// Replaces types of attributes by numbers as text, as the oldest style stores them.
fn number_types(types: &mut Map<String, Value>) {
    for found in types.values_mut() {
        *found = json!(if found.as_str().is_some_and(|found| found.ends_with("S1")) { "2" } else { "4" });
    }
}

fn is_document(key: &str) -> bool {
    key.rsplit('/').next().is_some_and(|last| last.starts_with('.'))
}

fn is_lower(store: &Store) -> bool {
    let text = store.iter().find(|(key, _)| key == ".zgroup").map(|(_, text)| String::from_utf8_lossy(text));
    text.is_some_and(|text| text.contains("_nczarr_superblock"))
}

/// The members of an archive by key, without their common folder.
fn unpacked(archive: &[u8]) -> Store {
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(archive)).expect("an archive of the corpus");
    let mut members = Store::new();
    for index in 0..archive.len() {
        let mut member = archive.by_index(index).expect("a member");
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).expect("its bytes");
        let key = member.name().expect("its name").trim_start_matches('/').to_owned();
        if !member.is_dir() {
            members.push((key, bytes));
        }
    }
    let root = members
        .iter()
        .map(|(key, _)| key.rsplit_once('/').map_or("", |(folder, _)| folder))
        .min_by_key(|folder| folder.len());
    let root = root.filter(|root| !root.is_empty()).map_or(String::new(), |root| format!("{root}/"));
    members
        .into_iter()
        .filter_map(|(key, bytes)| Some((key.strip_prefix(&root)?.to_owned(), bytes)))
        .collect()
}

#[cfg(test)]
mod tests {
    use nczarr::OpenOptions;

    use super::*;

    #[test]
    fn seed_stores_are_datasets_of_their_style() {
        for (style, stores, at_least) in [
            ("today", today(), 50),
            ("v3", v3(), 15),
            ("lower", lower(), 1),
            ("upper", upper(), 1),
            ("keys", keys(), 1),
        ] {
            let opened = stores.iter().filter(|store| {
                let map = Arc::new(MemMap::from_objects(store.iter().cloned()).expect("keys"));
                let opened = OpenOptions::new().map(map).open("memory://fuzz");
                opened.is_ok_and(|file| ["today", "v3"].contains(&style) || file.model().vars().len() > 4)
            });
            assert!(opened.count() >= at_least, "{style}: {} stores", stores.len());
        }
        assert!(classic().len() > 30);
        assert!(archives().len() > 20);
    }
}
