//! Tests of wrapping maps: the conformance suite for maps, the features of each wrapper, and the forwarding
//! of every call.

mod cached;
mod forward;
mod recorder;
mod slow;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_conformance::check_map;
use nczarr_model::{ErrorKind, Result};
use nczarr_storage::batch::{Payload, Ranges, ReadJob, ReadOutcome, ReadTicket, WriteJob, WriteTicket};
use nczarr_storage::{ByteRange, Key, MapOptions, Precondition, Version, WriteOutcome, ZMap, ZMapExt};
use nczarr_zmap_file::FileMap;
use nczarr_zmap_mem::MemMap;
use nczarr_zmap_wrap::{Cached, Counting, Faults, Keep, ReadOnly, Slow};
use std::sync::Mutex;

/// Makes maps and directories for caches.
struct World {
    dir: tempfile::TempDir,
    count: AtomicUsize,
}

impl World {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), count: AtomicUsize::new(0) }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(self.count.fetch_add(1, Ordering::Relaxed).to_string())
    }
}

const KEEP: Keep = Keep { budget: 3000, largest: 1000, absent: false };

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn read(map: &dyn ZMap, at: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    map.read(&key(at), ByteRange::ALL, &mut out).unwrap().then_some(out)
}

type Wrap = (&'static str, fn(&World, Arc<dyn ZMap>) -> Arc<dyn ZMap>);

const WRAPS: &[Wrap] = &[
    ("counting", |_, map| Arc::new(Counting::new(map))),
    ("slow", |_, map| {
        Arc::new(Slow::new(map).per_request(std::time::Duration::from_secs(1)).faults(Faults::new(1)))
    }),
    ("cached, all", |_, map| {
        Arc::new(Cached::in_memory(map, Keep { absent: true, ..Keep::bytes(64 << 20) }))
    }),
    ("cached, little", |_, map| Arc::new(Cached::in_memory(map, Keep { absent: true, ..KEEP }))),
    ("cached, nothing", |_, map| Arc::new(Cached::in_memory(map, Keep::bytes(0)))),
    ("cached on disk", |world, map| {
        Arc::new(
            Cached::on_disk(map, &world.path(), "a map", Keep { absent: true, ..Keep::bytes(1 << 20) })
                .unwrap(),
        )
    }),
];

#[test]
fn each_is_a_map_over_memory_and_over_files() {
    let world = World::new();
    for (name, wrap) in WRAPS {
        check_map(&|| wrap(&world, Arc::new(MemMap::new())))
            .unwrap_or_else(|failure| panic!("{name}: {failure}"));
        check_map(&|| {
            wrap(&world, Arc::new(FileMap::create(world.path(), None, &MapOptions::default()).unwrap()))
        })
        .unwrap_or_else(|failure| panic!("{name}, files: {failure}"));
    }
}

#[test]
fn nested_wrappers_are_a_map() {
    let world = World::new();
    check_map(&|| {
        WRAPS.iter().fold(Arc::new(MemMap::new()), |map: Arc<dyn ZMap>, (_, wrap)| wrap(&world, map))
    })
    .unwrap();
    let inside_out = WRAPS.iter().rev();
    check_map(&|| {
        inside_out.clone().fold(Arc::new(MemMap::new()), |map: Arc<dyn ZMap>, (_, wrap)| wrap(&world, map))
    })
    .unwrap();
}

#[test]
fn a_view_for_reading_refuses_to_write_and_names_the_key() {
    check_map(&|| Arc::new(ReadOnly::new(Arc::new(MemMap::new())))).unwrap();
    let inner = Arc::new(MemMap::from_objects([("a/b".to_owned(), "old")]).unwrap());
    let map = ReadOnly::new(inner.clone());
    let writes = Batch::writes(&["a/b", "c"]);
    map.write_batch(&writes);
    let mut errors: Vec<_> = writes.outcomes().into_iter().map(|outcome| outcome.1.unwrap_err()).collect();
    errors.push(map.write(&key("a/b"), b"new").unwrap_err());
    errors.push(map.delete(&key("a/b")).unwrap_err());
    errors.push(map.rename(&key("a/b"), &key("d")).unwrap_err());
    errors.push(map.update(&key("a/b"), 100, &mut |_, _| panic!("not asked")).unwrap_err());
    errors.push(map.write_if(&key("a/b"), b"new", &nczarr_storage::Precondition::Absent).unwrap_err());
    for (i, error) in errors.iter().enumerate() {
        assert_eq!(error.kind(), ErrorKind::Perm);
        assert!(error.to_string().contains(if i == 1 { "\"c\"" } else { "\"a/b\"" }), "{error}");
    }
    assert_eq!(read(&map, "a/b").unwrap(), b"old");
    assert_eq!(inner.snapshot().len(), 1);
}

#[test]
fn requests_are_counted() {
    let map = Counting::new(Arc::new(MemMap::new()));
    use nczarr_zmap_wrap::{Count, Op};
    map.write(&key("a"), &[1; 10]).unwrap();
    map.write(&key("a/b"), &[1; 5]).unwrap_err();
    map.write_batch(&Batch::writes(&["b", "c"]));
    map.read_batch(&Batch::reads(&[("a", Ranges::All), ("b", Ranges::Suffix(2)), ("x", Ranges::All)]));
    map.update(&key("a"), 100, &mut |old, new| {
        new.extend_from_slice(&old.unwrap()[..4]);
        Ok(())
    })
    .unwrap();
    assert_eq!(read(&map, "a").unwrap().len(), 4);
    let counts = map.counts();
    let count = |calls, requests, failed, bytes| Count { calls, requests, failed, bytes };
    assert_eq!(counts.of(Op::Write), count(2, 2, 1, 15));
    assert_eq!(counts.of(Op::WriteBatch), count(1, 2, 0, 2));
    assert_eq!(counts.of(Op::ReadBatch), count(1, 3, 0, 11));
    assert_eq!(counts.of(Op::Update), count(1, 1, 0, 14));
    assert_eq!(counts.read(), count(2, 4, 0, 15));
    assert_eq!(counts.written(), count(4, 5, 1, 31));
    let text = counts.to_string();
    assert_eq!(text.lines().count(), 1 + 5, "{text}");
    assert!(text.contains("write_batch             1         2       0               2"), "{text}");
    assert_eq!(map.take(), counts);
    assert_eq!(map.counts(), nczarr_zmap_wrap::Counts::default());
}

/// A ticket number and the result of its read.
type Fetched = (usize, Result<Option<Vec<u8>>>);

/// A batch that records its results. Each write stores its key as text.
struct Batch {
    wanted: Vec<(Key, Ranges)>,
    next: AtomicUsize,
    fetched: Mutex<Vec<Fetched>>,
    written: Mutex<Vec<(usize, Result<WriteOutcome>)>>,
}

impl Batch {
    fn reads(wanted: &[(&str, Ranges)]) -> Self {
        let wanted = wanted.iter().map(|(at, ranges)| (key(at), ranges.clone())).collect();
        Self { wanted, next: AtomicUsize::new(0), fetched: Mutex::default(), written: Mutex::default() }
    }

    fn writes(keys: &[&str]) -> Self {
        Self::reads(&keys.iter().map(|&at| (at, Ranges::All)).collect::<Vec<_>>())
    }

    fn fetched(self) -> Vec<Fetched> {
        let mut fetched = self.fetched.into_inner().unwrap();
        fetched.sort_by_key(|(index, _)| *index);
        fetched
    }

    fn outcomes(self) -> Vec<(usize, Result<WriteOutcome>)> {
        let mut written = self.written.into_inner().unwrap();
        written.sort_by_key(|(index, _)| *index);
        written
    }

    fn take(&self, at: &mut Key) -> Option<(usize, Ranges)> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let (key, ranges) = self.wanted.get(index)?;
        at.set(key);
        Some((index, ranges.clone()))
    }
}

impl ReadJob for Batch {
    fn threads(&self) -> usize {
        1
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let (index, ranges) = self.take(key)?;
        Some(ReadTicket::new(index, ranges, 1 << 20).hint(10))
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let found = found.map(|found| {
            found.map(|(found, _)| match found {
                ReadOutcome::Bytes(bytes) => bytes.to_vec(),
                ReadOutcome::InPlace => ticket.into.unwrap().filled().to_vec(),
            })
        });
        self.fetched.lock().unwrap().push((ticket.index, found));
    }
}

impl WriteJob for Batch {
    fn threads(&self) -> usize {
        1
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        Some(WriteTicket { index: self.take(key)?.0, precondition: Precondition::Any })
    }

    fn value(&self, index: usize, scratch: &mut Vec<u8>) -> Result<Payload<'_>> {
        scratch.clear();
        scratch.extend_from_slice(self.wanted[index].0.as_str().as_bytes());
        Ok(Payload::Scratch)
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<WriteOutcome>) {
        self.written.lock().unwrap().push((ticket.index, outcome));
    }
}
