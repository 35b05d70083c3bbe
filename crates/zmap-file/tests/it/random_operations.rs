//! Runs random sequences of operations on a directory, on memory and on a sorted map. All three agree.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use nczarr_model::ErrorKind;
use nczarr_storage::{ByteRange, Key, MapOptions, Precondition, Version, WriteOutcome, ZMap, ZMapExt};
use nczarr_zmap_file::FileMap;
use nczarr_zmap_mem::MemMap;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Op {
    Write(String, u8),
    Create(String, u8),
    /// Remembers the version for [`Op::Swap`].
    Look(String),
    Swap(String, u8),
    Update(String),
    Delete(String),
    Rename(String, String),
    Read(String, u64, Option<u64>),
    Search(String),
    List(String),
}

fn key() -> impl Strategy<Value = String> {
    // With few names, keys often collide. In byte order, `a!` comes before `a/`, and `a0` after it.
    let name = prop::sample::select(vec!["a", "b", "a!", "a0", ".z"]);
    prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (key(), any::<u8>()).prop_map(|(key, seed)| Op::Write(key, seed)),
        2 => (key(), any::<u8>()).prop_map(|(key, seed)| Op::Create(key, seed)),
        2 => key().prop_map(Op::Look),
        2 => (key(), any::<u8>()).prop_map(|(key, seed)| Op::Swap(key, seed)),
        1 => key().prop_map(Op::Update),
        4 => key().prop_map(Op::Delete),
        2 => (key(), key()).prop_map(|(from, to)| Op::Rename(from, to)),
        3 => (key(), 0..700_u64, prop::option::of(0..700_u64)).prop_map(|(key, at, len)| Op::Read(key, at, len)),
        2 => prop_oneof![Just(String::new()), key()].prop_map(Op::Search),
        1 => prop_oneof![Just(String::new()), key()].prop_map(Op::List),
    ]
}

fn value(seed: u8) -> Vec<u8> {
    (0..usize::from(seed) * 5).map(|i| seed.wrapping_add(i as u8)).collect()
}

/// The result of an operation, in a comparable form.
#[derive(Debug, PartialEq)]
enum Answer {
    Done,
    Lost,
    Failed(ErrorKind),
    Absent,
    Bytes(Vec<u8>),
    Truth(bool),
    Names(Vec<String>),
}

/// The sorted map: objects, and the remembered versions.
#[derive(Default)]
struct Oracle {
    objects: BTreeMap<String, (u64, Vec<u8>)>,
    seen: BTreeMap<String, u64>,
    clock: u64,
}

fn is_below(key: &str, prefix: &str) -> bool {
    prefix.is_empty() || key.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'))
}

impl Oracle {
    fn is_prefix(&self, key: &str) -> bool {
        self.objects.keys().any(|object| is_below(object, key))
    }

    fn collides(&self, key: &str) -> bool {
        self.objects.keys().any(|object| is_below(object, key) || is_below(key, object))
    }

    fn put(&mut self, key: &str, value: Vec<u8>) -> Answer {
        if self.collides(key) {
            return Answer::Failed(ErrorKind::Object);
        }
        self.clock += 1;
        self.objects.insert(key.to_owned(), (self.clock, value));
        Answer::Done
    }

    fn run(&mut self, op: &Op) -> Answer {
        match op {
            Op::Write(key, seed) => self.put(key, value(*seed)),
            Op::Create(key, _) if self.objects.contains_key(key) => Answer::Lost,
            Op::Create(key, seed) => self.put(key, value(*seed)),
            Op::Look(key) => match self.objects.get(key) {
                Some((version, bytes)) => {
                    self.seen.insert(key.clone(), *version);
                    Answer::Bytes(bytes.clone())
                }
                None if self.is_prefix(key) => Answer::Failed(ErrorKind::Empty),
                None => Answer::Absent,
            },
            Op::Swap(key, seed) => match (self.seen.get(key), self.objects.get(key)) {
                (None, _) => Answer::Absent,
                (Some(seen), Some((now, _))) if seen == now => self.put(key, value(*seed)),
                _ => Answer::Lost,
            },
            Op::Update(key) => match self.objects.get(key) {
                Some((_, bytes)) => {
                    let mut bytes = bytes.clone();
                    bytes.push(b'+');
                    self.put(key, bytes)
                }
                None if self.is_prefix(key) => Answer::Failed(ErrorKind::Empty),
                None => self.put(key, vec![b'+']),
            },
            Op::Delete(key) => Answer::Truth(self.objects.remove(key).is_some()),
            Op::Rename(from, to) => {
                let mut moving: Vec<_> =
                    self.objects.keys().filter(|key| is_below(key, from)).cloned().collect();
                moving.extend(self.objects.contains_key(from).then(|| from.clone()));
                let nested = from == to || is_below(from, to) || is_below(to, from);
                let taken = self.objects.contains_key(to) || self.is_prefix(to);
                let below_object = self.objects.keys().any(|object| is_below(to, object));
                if nested || taken || !moving.is_empty() && below_object {
                    return Answer::Failed(ErrorKind::Object);
                }
                for old in moving {
                    let object = self.objects.remove(&old).unwrap();
                    self.objects.insert(format!("{to}{}", &old[from.len()..]), object);
                }
                // A map may keep or change versions when an object is renamed.
                self.seen.clear();
                Answer::Done
            }
            Op::Read(key, at, len) => match self.objects.get(key) {
                Some((_, bytes)) => {
                    let from = (*at as usize).min(bytes.len());
                    let to = len.map_or(bytes.len(), |len| (from + len as usize).min(bytes.len()));
                    Answer::Bytes(bytes[from..to].to_vec())
                }
                None if self.is_prefix(key) => Answer::Failed(ErrorKind::Empty),
                None => Answer::Absent,
            },
            Op::Search(prefix) => {
                let skip = if prefix.is_empty() { 0 } else { prefix.len() + 1 };
                let below = self.objects.keys().filter(|key| is_below(key, prefix));
                let names: BTreeSet<_> =
                    below.map(|key| key[skip..].split('/').next().unwrap().to_owned()).collect();
                Answer::Names(names.into_iter().collect())
            }
            Op::List(prefix) => Answer::Names(
                self.objects.keys().filter(|key| *key == prefix || is_below(key, prefix)).cloned().collect(),
            ),
        }
    }
}

fn read(map: &dyn ZMap, key: &Key, range: ByteRange) -> nczarr_model::Result<Answer> {
    let mut out = Vec::new();
    Ok(if map.read(key, range, &mut out)? { Answer::Bytes(out) } else { Answer::Absent })
}

fn written(written: WriteOutcome) -> Answer {
    match written {
        WriteOutcome::Done(_) => Answer::Done,
        WriteOutcome::Conflict => Answer::Lost,
    }
}

fn run(map: &dyn ZMap, seen: &mut BTreeMap<String, Version>, op: &Op) -> Answer {
    let key = |text: &str| Key::new(text).unwrap();
    let mut done = || -> nczarr_model::Result<Answer> {
        Ok(match op {
            Op::Write(k, seed) => {
                map.write(&key(k), &value(*seed))?;
                Answer::Done
            }
            Op::Create(k, seed) => written(map.write_if(&key(k), &value(*seed), &Precondition::Absent)?),
            Op::Look(k) => {
                let mut out = Vec::new();
                match map.read_versioned(&key(k), usize::MAX, &mut out)? {
                    Some(version) => {
                        seen.insert(k.clone(), version);
                        Answer::Bytes(out)
                    }
                    None => Answer::Absent,
                }
            }
            Op::Swap(k, seed) => match seen.get(k) {
                None => Answer::Absent,
                Some(version) => written(map.write_if(
                    &key(k),
                    &value(*seed),
                    &Precondition::Unchanged(version.clone()),
                )?),
            },
            Op::Update(k) => {
                map.update(&key(k), usize::MAX, &mut |old, new| {
                    new.extend_from_slice(old.unwrap_or_default());
                    new.push(b'+');
                    Ok(())
                })?;
                Answer::Done
            }
            Op::Delete(k) => Answer::Truth(map.delete(&key(k))?),
            Op::Rename(from, to) => {
                map.rename(&key(from), &key(to))?;
                seen.clear();
                Answer::Done
            }
            Op::Read(k, offset, len) => read(map, &key(k), ByteRange { offset: *offset, len: *len })?,
            Op::Search(k) => Answer::Names(map.children(&key(k))?),
            Op::List(k) => {
                Answer::Names(map.keys(&key(k))?.iter().map(|key| key.as_str().to_owned()).collect())
            }
        })
    };
    done().unwrap_or_else(|error| Answer::Failed(error.kind()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn directory_memory_and_a_sorted_map_agree(ops in prop::collection::vec(op(), 1..60)) {
        let scratch = tempfile::tempdir().unwrap();
        let file = Arc::new(FileMap::create(scratch.path().join("it"), None, &MapOptions::default()).unwrap());
        let memory = MemMap::new();
        let mut oracle = Oracle::default();
        let (mut of_file, mut of_memory) = (BTreeMap::new(), BTreeMap::new());
        for (i, op) in ops.iter().enumerate() {
            let expected = oracle.run(op);
            prop_assert_eq!(&run(&*file, &mut of_file, op), &expected, "file, step {}: {:?}", i, op);
            prop_assert_eq!(&run(&memory, &mut of_memory, op), &expected, "memory, step {}: {:?}", i, op);
        }
        file.sync().unwrap();
        // No temporary files and no empty directories remain.
        let mut files = 0;
        let mut open = vec![file.path().to_owned()];
        while let Some(dir) = open.pop() {
            let mut entries = 0;
            for entry in std::fs::read_dir(&dir).unwrap() {
                let entry = entry.unwrap();
                entries += 1;
                if entry.file_type().unwrap().is_dir() {
                    open.push(entry.path());
                } else if entry.file_name() != ".nczarr-lock" {
                    files += 1;
                }
            }
            let is_root = dir == file.path();
            prop_assert!(entries > 0 || is_root, "{} is empty", dir.display());
        }
        prop_assert_eq!(files, oracle.objects.len());
    }
}
