//! A hostile archive is read correctly or refused with an error that names it. Nothing outside it changes,
//! and memory stays bounded.

mod build;
mod cases;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use nczarr::storage::{ByteRange, Key, ZMapExt};
use nczarr::{ErrorKind, OpenOptions};

use crate::alloc;
use cases::{Case, Expect};

/// Memory allowed beyond the archive's size and a few times the decoded size of a member.
const SPARE: usize = 32 << 20;

/// Content outside the store that no read may return.
const SECRET: &[u8] = b"root:x:secret of somebody else";

/// A folder with a store, and unrelated files beside it.
pub struct Sandbox {
    folder: tempfile::TempDir,
    before: BTreeMap<PathBuf, Vec<u8>>,
}

impl Sandbox {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir_all(folder.path().join("outside/deep")).expect("a folder");
        for name in ["outside/secret", "outside/deep/secret", "secret"] {
            fs::write(folder.path().join(name), SECRET).expect("a file");
        }
        fs::create_dir(folder.path().join("inside")).expect("a folder");
        let mut this = Self { folder, before: BTreeMap::new() };
        this.before = this.outside();
        this
    }

    /// The path of a store. Its links to `../outside` lead out of it.
    pub fn store(&self, name: &str) -> PathBuf {
        self.folder.path().join("inside").join(name)
    }

    pub fn secret(&self) -> PathBuf {
        self.folder.path().join("outside/secret")
    }

    /// All files around the store, with their bytes.
    fn outside(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut found, mut open) = (BTreeMap::new(), vec![self.folder.path().to_owned()]);
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path == self.folder.path().join("inside") {
                    continue;
                }
                if path.is_dir() {
                    open.push(path.clone())
                } else {
                    drop(found.insert(path.clone(), fs::read(&path).expect("a file")))
                }
                found.entry(path).or_default();
            }
        }
        found
    }

    /// Returns the changes outside the store, and unexpected files in its folder.
    pub fn escapes(&self, store: &str) -> Vec<PathBuf> {
        let after = self.outside();
        let changed = |path: &&PathBuf| self.before.get(*path) != after.get(*path);
        let mut escapes: Vec<PathBuf> =
            after.keys().chain(self.before.keys()).filter(changed).cloned().collect();
        let beside = fs::read_dir(self.folder.path().join("inside")).expect("a folder");
        escapes.extend(
            beside.map(|entry| entry.expect("an entry").path()).filter(|path| !path.ends_with(store)),
        );
        escapes
    }
}

/// Whether bytes contain the secret content.
pub fn is_leak(bytes: &[u8]) -> bool {
    bytes.windows(SECRET.len()).any(|window| window == SECRET)
        || bytes.windows(7).any(|window| window == b"root:x:")
}

const VALUES: [i32; 4] = [1, 2, 3, 4];

/// The objects of a dataset with two variables of equal values.
fn objects() -> Vec<(String, Vec<u8>)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("x.zip").display().to_string();
    let file = nczarr::create(&path).expect("a dataset");
    file.add_dimension("x", 4).expect("a dimension");
    for name in ["v", "w"] {
        let variable = file.add_variable::<i32>(name, &["x"]).expect("a variable");
        variable.put(&VALUES, ..).expect("values");
    }
    file.close().expect("a dataset");
    let map = OpenOptions::new().open_map(&path).expect("a map");
    let read = |key: &Key| {
        let mut bytes = Vec::new();
        assert!(map.read(key, ByteRange::ALL, &mut bytes).expect("an object"));
        (key.to_string(), bytes)
    };
    map.keys(&Key::root()).expect("keys").iter().map(read).collect()
}

/// Reads all objects by key and all variables. Returns the first error.
fn read(path: &str) -> Result<(), Failure> {
    let map = OpenOptions::new().open_map(path).map_err(Failure::Refused)?;
    for key in map.keys(&Key::root()).map_err(Failure::Refused)? {
        if key.segments().any(|segment| !Key::is_segment(segment)) {
            return Err(Failure::Wrong(format!("{key:?} is listed, and is no key")));
        }
        let mut bytes = Vec::new();
        // The test does not decode members outside the dataset.
        if key.as_str().starts_with("bomb") {
            continue;
        }
        if map.read(&key, ByteRange::first(1 << 20), &mut bytes).is_ok() && is_leak(&bytes) {
            return Err(Failure::Wrong(format!("{key:?} reads what lies outside")));
        }
    }
    let file = nczarr::open(path).map_err(Failure::Refused)?;
    for name in ["v", "w"] {
        let values = file.variable(name).and_then(|variable| variable.get_values::<i32>(..));
        let values = values.map_err(Failure::Refused)?;
        if values == VALUES {
            continue;
        }
        // A chunk that the directory does not list reads as the fill value.
        let chunk = Key::new(&format!("{name}/0")).and_then(|key| map.len(&key)).map_err(Failure::Refused)?;
        if chunk.is_some() || values != [nczarr::model::fill::INT; 4] {
            return Err(Failure::Wrong(format!("{name} reads {values:?}")));
        }
        return Err(Failure::Absent);
    }
    Ok(())
}

enum Failure {
    /// A chunk is missing.
    Absent,
    Refused(nczarr::Error),
    /// The read returned data that were never written.
    Wrong(String),
}

fn run(case: &Case) -> Result<bool, String> {
    let sandbox = Sandbox::new();
    let store = sandbox.store("x.zip");
    fs::write(&store, &case.bytes).expect("an archive");
    let path = store.display().to_string();
    let (outcome, peak) = alloc::peak(|| read(&path));
    let is_read = match outcome {
        Ok(()) if case.expect == Expect::Refused => return Err("it was read".to_owned()),
        Ok(()) => true,
        Err(Failure::Wrong(why)) => return Err(why),
        Err(Failure::Absent) if case.expect == Expect::Read => return Err("a chunk is lost".to_owned()),
        Err(Failure::Absent) => false,
        Err(Failure::Refused(error)) => {
            let text = error.to_string();
            if case.expect == Expect::Read {
                return Err(format!("it was refused: {text}"));
            }
            if error.kind() == ErrorKind::Internal
                || !["x.zip", "v", "w"].iter().any(|name| text.contains(name))
            {
                return Err(format!("the error names no place or cause: {:?} {text}", error.kind()));
            }
            false
        }
    };
    // A member can be in memory three times: unpacked, passed on, and parsed.
    if peak > case.bytes.len() + 3 * case.declared + SPARE {
        return Err(format!("took {} KiB for {} KiB", peak >> 10, case.bytes.len() >> 10));
    }
    // A later writer that repacks the archive stays inside it too, and still reads the earlier content.
    let write = || -> nczarr::Result<()> {
        let file = OpenOptions::new().writable(true).open(&path)?;
        file.put_attribute("more", 1)?;
        file.close()?;
        nczarr::repack(&path).map(drop)
    };
    if case.bytes.len() < 1 << 20 && write().is_ok() && is_read && read(&path).is_err() {
        return Err("the written archive does not read any more".to_owned());
    }
    let _ = nczarr::delete(&path);
    let escapes = sandbox.escapes("x.zip");
    if !escapes.is_empty() {
        return Err(format!("escaped: {escapes:?}"));
    }
    Ok(is_read)
}

#[test]
fn hostile_archives_are_refused_or_read_right_within_bounds() {
    let _alone = alloc::alone();
    let cases = cases::all(&objects());
    let different: std::collections::HashSet<&[u8]> = cases.iter().map(|case| &*case.bytes).collect();
    let (mut read, mut failed) = (0, Vec::new());
    for case in &cases {
        match run(case) {
            Ok(is_read) => read += usize::from(is_read),
            Err(why) => failed.push(format!("{}: {why}", case.what)),
        }
    }
    let refused = cases.len() - read - failed.len();
    eprintln!(
        "hostile archives: {} ({} different), {read} read right, {refused} refused, {} failed",
        cases.len(),
        different.len(),
        failed.len()
    );
    assert!(different.len() >= 200 && read > 100 && refused > 100);
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n"));
}
