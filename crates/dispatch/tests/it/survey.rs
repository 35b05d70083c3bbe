//! A survey answers like its map and asks it nothing twice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use nczarr_dispatch::Limits;
use nczarr_model::{ErrorKind, Result};
use nczarr_storage::batch::{Ranges, ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::{
    ByteRange, Key, ListMode, MapCaps, ObjectInfo, PrefetchedMap, ReadOptions, Version, ZMap, ZMapExt,
};
use proptest::prelude::*;

/// Remote objects that record each request. One object, `broken`, cannot be read.
#[derive(Debug, Default)]
struct Far {
    objects: Mutex<BTreeMap<String, Vec<u8>>>,
    /// The greatest length of one list page.
    page: usize,
    asked: Mutex<Vec<String>>,
}

impl Far {
    fn new(keys: &[&str], page: usize) -> Arc<Self> {
        let objects = keys.iter().map(|&key| (key.to_owned(), key.as_bytes().to_vec())).collect();
        Arc::new(Self { objects: Mutex::new(objects), page, asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<String> {
        let mut asked = std::mem::take(&mut *self.asked.lock().unwrap());
        asked.sort_unstable();
        asked
    }

    fn note(&self, what: impl Into<String>) {
        self.asked.lock().unwrap().push(what.into());
    }
}

impl ZMap for Far {
    fn caps(&self) -> MapCaps {
        MapCaps::new().list(true).remote(true)
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        self.note(key.as_str());
        match self.objects.lock().unwrap().get(key.as_str()) {
            Some(_) if key.name() == "broken" => Err(ErrorKind::Io.context("it breaks").at(key)),
            found => Ok(found.map(|bytes| bytes.len() as u64)),
        }
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        out.clear();
        if self.len(key)?.is_none() {
            return Ok(None);
        }
        out.extend_from_slice(options.range.cut(&self.objects.lock().unwrap()[key.as_str()]));
        Ok(Some(ObjectInfo::default()))
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        match mode {
            ListMode::Children => {}
            ListMode::KeysInOneRequest => {
                self.note("*");
                let keys: Vec<String> = self.objects.lock().unwrap().keys().cloned().collect();
                return Ok(Some(keys).filter(|keys| keys.len() <= self.page));
            }
            _ => return Ok(None),
        }
        self.note(format!("{prefix}/"));
        let start = if prefix.is_root() { String::new() } else { format!("{prefix}/") };
        let objects = self.objects.lock().unwrap();
        let rest = objects.keys().filter_map(|key| key.strip_prefix(&start)?.split('/').next());
        let mut names: Vec<String> = rest.map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        Ok(Some(names))
    }
}

/// The results of a batch by key.
type Brought = BTreeMap<String, std::result::Result<Option<Vec<u8>>, ErrorKind>>;

/// A batch that reads whole objects.
#[derive(Default)]
struct Batch {
    left: Mutex<Vec<Key>>,
    found: Mutex<Brought>,
    keys: Vec<Key>,
}

impl Batch {
    fn of(map: &dyn ZMap, keys: &[Key]) -> Brought {
        let job = Self { left: Mutex::new(keys.to_vec()), keys: keys.to_vec(), ..Self::default() };
        map.read_batch(&job);
        job.found.into_inner().unwrap()
    }
}

impl ReadJob for Batch {
    fn threads(&self) -> usize {
        1
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let mut left = self.left.lock().unwrap();
        key.set(&left.pop()?);
        Some(ReadTicket::new(left.len(), Ranges::All, 100).hint(1))
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let found = found.map_err(|error| error.kind()).map(|found| {
            found.map(|(found, _)| match found {
                ReadOutcome::Bytes(bytes) => bytes.to_vec(),
                ReadOutcome::InPlace => panic!("no place was given"),
            })
        });
        self.found.lock().unwrap().insert(self.keys[ticket.index].to_string(), found);
    }
}

fn keys(names: &[&str]) -> Vec<Key> {
    names.iter().map(|name| Key::new(name).unwrap()).collect()
}

proptest! {
    #[test]
    fn a_prefetched_map_answers_like_its_map(
        objects in prop::collection::btree_set("[ab](/[ab.]x?){0,2}|broken", 0..8),
        looked in prop::collection::vec("[ab](/[ab.]x?){0,2}|broken", 0..6),
        wanted in prop::collection::vec("[ab](/[ab.]x?){0,2}|broken", 1..8),
        page in 0usize..10,
        list in any::<bool>(),
        doubt in any::<bool>(),
    ) {
        let legal = |names: &[String]| -> Vec<Key> { names.iter().filter_map(|name| Key::new(name).ok()).collect() };
        let objects: Vec<&str> = objects.iter().map(String::as_str).filter(|name| Key::new(name).is_ok()).collect();
        let map = Far::new(&objects, page);
        let survey = PrefetchedMap::new(map.clone());
        let (looked, mut wanted) = (legal(&looked), legal(&wanted));
        wanted.sort_unstable();
        wanted.dedup();
        survey.prefetch(&looked, &Limits::default(), list);
        survey.prefetch_children(&looked);
        if doubt {
            survey.invalidate_absent();
        }
        map.asked();
        let seen = Batch::of(&survey, &wanted);
        let asked = map.asked();
        prop_assert_eq!(&seen, &Batch::of(&*map, &wanted));
        for key in &looked {
            prop_assert!(doubt || !asked.contains(&key.to_string()), "{} again", key);
        }
        for key in wanted.iter().chain([&Key::root()]) {
            prop_assert_eq!(survey.possible_children(key).unwrap(), map.possible_children(key).unwrap());
            prop_assert_eq!(survey.children(key).unwrap(), map.children(key).unwrap());
            prop_assert_eq!(survey.exists(key).ok(), map.exists(key).ok());
            let (mut a, mut b) = (Vec::new(), Vec::new());
            let range = ByteRange::new(1, 2);
            prop_assert_eq!(survey.read(key, range, &mut a).ok(), map.read(key, range, &mut b).ok());
            prop_assert_eq!(a, b);
        }
    }
}

#[test]
fn known_objects_are_not_requested_again() {
    let map = Far::new(&["a/x", "a/y", "b/x", "c"], 4);
    let survey = PrefetchedMap::new(map.clone());
    survey.prefetch(&keys(&["c", "d"]), &Limits::default(), true);
    assert_eq!(map.asked(), ["*", "c", "d"]);
    survey.prefetch(&keys(&["a/x", "c"]), &Limits::default(), true);
    assert_eq!(map.asked(), ["a/x"]);
    let found = Batch::of(&survey, &keys(&["a/x", "a/y", "a/z", "c", "d"]));
    assert_eq!(map.asked(), ["a/y"]);
    assert_eq!((&found["a/x"], &found["a/z"]), (&Ok(Some(b"a/x".to_vec())), &Ok(None)));
    assert_eq!(survey.possible_children(&Key::root()).unwrap(), ["a", "b", "c"]);
    assert_eq!(map.asked(), [""; 0]);
    // Another writer made changes. The survey asks again for objects that were absent.
    map.objects.lock().unwrap().insert("a/z".to_owned(), b"new".to_vec());
    survey.invalidate_absent();
    assert!(
        survey.exists(&Key::new("a/z").unwrap()).unwrap() && survey.exists(&Key::new("c").unwrap()).unwrap()
    );
    assert_eq!(map.asked(), ["a/z"]);
}

#[test]
fn unreadable_objects_are_errors_each_time() {
    let map = Far::new(&["x/broken"], 9);
    let survey = PrefetchedMap::new(map.clone());
    let key = Key::new("x/broken").unwrap();
    survey.prefetch(std::slice::from_ref(&key), &Limits::default(), false);
    map.asked();
    assert_eq!(survey.read(&key, ByteRange::ALL, &mut Vec::new()).unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(Batch::of(&survey, std::slice::from_ref(&key))["x/broken"], Err(ErrorKind::Io));
    assert_eq!(map.asked(), [""; 0]);
    assert!(survey.exists(&key).is_err());
}
