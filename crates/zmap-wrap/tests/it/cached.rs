//! Reads through caches. Cached answers are never outdated.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use nczarr_model::ErrorKind;
use nczarr_storage::batch::Ranges;
use nczarr_storage::{ByteRange, OutBuf, Precondition, ZMap, ZMapExt};
use nczarr_zmap_mem::MemMap;
use nczarr_zmap_wrap::{Cached, Counting, Fault, Faults, Keep, Op, Slow, When};
use proptest::prelude::*;

use crate::{Batch, KEEP, World, key, read};

const ALL: Keep = Keep { absent: true, ..Keep::bytes(1 << 20) };

/// Makes both kinds of cache over a map.
fn both(world: &World, inner: &Arc<Counting>, keep: Keep) -> [(&'static str, Cached); 2] {
    [
        ("memory", Cached::in_memory(inner.clone(), keep)),
        ("disk", Cached::on_disk(inner.clone(), &world.path(), "a map", keep).unwrap()),
    ]
}

fn objects(objects: &[(&str, &str)]) -> Arc<Counting> {
    let objects = objects.iter().map(|(at, value)| ((*at).to_owned(), *value));
    Arc::new(Counting::new(Arc::new(MemMap::from_objects(objects).unwrap())))
}

fn part(map: &dyn ZMap, at: &str, range: ByteRange) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    map.read(&key(at), range, &mut out).unwrap().then_some(out)
}

fn into(map: &dyn ZMap, at: &str, offset: u64, room: usize) -> Option<Vec<u8>> {
    let mut memory = vec![0; room];
    let mut out = OutBuf::from_slice(&mut memory);
    map.read_into(&key(at), offset, &mut out).unwrap().then(|| out.filled().to_vec())
}

fn batch(map: &dyn ZMap, at: &str, ranges: Ranges) -> Option<Vec<u8>> {
    let job = Batch::reads(&[(at, ranges)]);
    map.read_batch(&job);
    job.fetched().remove(0).1.unwrap()
}

#[test]
fn read_objects_are_not_requested_again() {
    let world = World::new();
    type Ask = (&'static str, fn(&dyn ZMap) -> Option<Vec<u8>>, &'static str);
    // The first read of each row fills the cache. The cache then answers the others.
    let rows: &[&[Ask]] = &[
        &[
            ("all", |map| read(map, "a"), "abcdef"),
            ("all again", |map| batch(map, "a", Ranges::All), "abcdef"),
            ("a range", |map| part(map, "a", ByteRange::new(1, 2)), "bc"),
            ("into", |map| into(map, "a", 2, 3), "cde"),
            ("the end", |map| batch(map, "a", Ranges::Suffix(2)), "ef"),
            ("from", |map| batch(map, "a", Ranges::One(ByteRange { offset: 5, len: None })), "f"),
            (
                "several",
                |map| batch(map, "a", Ranges::List([ByteRange::new(4, 2), ByteRange::new(0, 1)].into())),
                "efa",
            ),
            (
                "steps",
                |map| batch(map, "a", Ranges::Strided { first: ByteRange::new(0, 1), step: 2, count: 3 }),
                "ace",
            ),
        ],
        &[
            ("more than there is", |map| part(map, "a", ByteRange::first(100)), "abcdef"),
            ("all", |map| read(map, "a"), "abcdef"),
        ],
        &[
            ("more room than there is", |map| into(map, "a", 0, 100), "abcdef"),
            ("all", |map| read(map, "a"), "abcdef"),
        ],
        &[
            ("more of the end", |map| batch(map, "a", Ranges::Suffix(100)), "abcdef"),
            ("all", |map| read(map, "a"), "abcdef"),
        ],
        &[
            ("a range", |map| part(map, "a", ByteRange::new(1, 2)), "bc"),
            ("again", |map| part(map, "a", ByteRange::new(1, 2)), "bc"),
            ("in a batch", |map| batch(map, "a", Ranges::One(ByteRange::new(1, 2))), "bc"),
            ("into", |map| into(map, "a", 1, 2), "bc"),
        ],
        &[
            ("beyond the end", |map| part(map, "a", ByteRange::new(4, 9)), "ef"),
            ("again", |map| part(map, "a", ByteRange::new(4, 9)), "ef"),
        ],
    ];
    for row in rows {
        let inner = objects(&[("a", "abcdef")]);
        for (place, cached) in both(&world, &inner, ALL) {
            for (i, (what, ask, expected)) in row.iter().enumerate() {
                inner.take();
                assert_eq!(ask(&cached).unwrap(), expected.as_bytes(), "{place}: {what}");
                let asked = inner.take().read();
                assert_eq!(asked.requests, u64::from(i == 0), "{place}: {what}");
            }
            let stats = cached.stats();
            assert_eq!((stats.hits, stats.misses), (row.len() as u64 - 1, 1), "{place}");
            assert!(stats.kept > 0);
        }
    }
}

#[test]
fn unread_parts_are_read_from_the_inner_map() {
    let inner = objects(&[("a", "abcdef"), ("p/q", "1")]);
    let cached = Cached::in_memory(inner, ALL);
    assert_eq!(part(&cached, "a", ByteRange::new(0, 3)).unwrap(), b"abc");
    assert_eq!(read(&cached, "a").unwrap(), b"abcdef");
    assert_eq!(part(&cached, "a", ByteRange::new(0, 0)).unwrap(), b"");
    assert_eq!(batch(&cached, "a", Ranges::Suffix(0)).unwrap(), b"");
    // The cache refuses the same limits and ranges as the inner map.
    for ranges in [Ranges::All, Ranges::List([ByteRange::new(5, 2)].into())] {
        let job = Batch::reads(&[("a", ranges)]);
        cached.read_batch(&Limited(&job));
        assert_eq!(job.fetched().remove(0).1.unwrap_err().kind(), ErrorKind::Io);
    }
    // A mere prefix is not an object, and is not cached as one.
    for _ in 0..2 {
        assert_eq!(
            cached.read(&key("p"), ByteRange::ALL, &mut Vec::new()).unwrap_err().kind(),
            ErrorKind::Empty
        );
    }
}

/// A batch with a limit of five bytes per ticket.
struct Limited<'b>(&'b Batch);

impl nczarr_storage::batch::ReadJob for Limited<'_> {
    fn threads(&self) -> usize {
        1
    }

    fn next<'j>(&'j self, key: &mut nczarr_storage::Key) -> Option<nczarr_storage::batch::ReadTicket<'j>> {
        let mut ticket = nczarr_storage::batch::ReadJob::next(self.0, key)?;
        ticket.limit = 5;
        Some(ticket)
    }

    fn done(
        &self,
        ticket: nczarr_storage::batch::ReadTicket<'_>,
        found: nczarr_model::Result<
            Option<(nczarr_storage::batch::ReadOutcome<'_>, Option<nczarr_storage::Version>)>,
        >,
    ) {
        nczarr_storage::batch::ReadJob::done(self.0, ticket, found);
    }
}

#[test]
fn every_way_to_write_is_seen() {
    let world = World::new();
    type Write = (&'static str, fn(&dyn ZMap), Option<&'static str>);
    let ways: &[Write] = &[
        ("write", |map| map.write(&key("a"), b"new").unwrap(), Some("new")),
        ("write_batch", |map| map.write_batch(&Batch::writes(&["b", "a"])), Some("a")),
        ("delete", |map| assert!(map.delete(&key("a")).unwrap()), None),
        ("rename from", |map| map.rename(&key("a"), &key("z")).unwrap(), None),
        (
            "rename to",
            |map| {
                map.delete(&key("a")).unwrap();
                assert_eq!(read(map, "a"), None);
                map.rename(&key("other"), &key("a")).unwrap();
            },
            Some("there"),
        ),
        (
            "write_if",
            |map| {
                let version = map.read_versioned(&key("a"), 100, &mut Vec::new()).unwrap().unwrap();
                map.write_if(&key("a"), b"changed", &Precondition::Unchanged(version.clone())).unwrap();
            },
            Some("changed"),
        ),
        (
            "update",
            |map| {
                map.update(&key("a"), 100, &mut |old, new| {
                    new.extend_from_slice(old.unwrap());
                    new.push(b'!');
                    Ok(())
                })
                .unwrap();
            },
            Some("abcdef!"),
        ),
        (
            "an object below an absent one",
            |map| {
                map.delete(&key("a")).unwrap();
                assert_eq!(read(map, "a"), None);
                map.write(&key("a/b/c"), b"x").unwrap();
                assert_eq!(map.len(&key("a")).unwrap_err().kind(), ErrorKind::Empty);
                map.delete(&key("a/b/c")).unwrap();
            },
            None,
        ),
    ];
    for &(way, write, expected) in ways {
        let inner = objects(&[("a", "abcdef"), ("other", "there")]);
        for (place, cached) in both(&world, &inner, ALL) {
            cached.write(&key("a"), b"abcdef").unwrap();
            cached.delete(&key("z")).unwrap();
            cached.write(&key("other"), b"there").unwrap();
            read(&cached, "a");
            part(&cached, "a", ByteRange::new(1, 2));
            write(&cached);
            let expected = expected.map(|text| text.as_bytes().to_vec());
            assert_eq!(read(&cached, "a"), expected, "{place}: {way}");
            let two = expected.as_ref().map(|bytes| ByteRange::new(1, 2).cut(bytes).to_vec());
            assert_eq!(part(&cached, "a", ByteRange::new(1, 2)), two, "{place}: {way}");
            assert_eq!(cached.exists(&key("a")).unwrap(), expected.is_some(), "{place}: {way}");
            assert_eq!(
                cached.len(&key("a")).unwrap(),
                expected.map(|bytes| bytes.len() as u64),
                "{place}: {way}"
            );
        }
    }
}

#[test]
fn a_write_that_fails_may_have_happened() {
    for fault in [Fault::Fail(ErrorKind::Io), Fault::Late(ErrorKind::Io), Fault::Torn(ErrorKind::Io)] {
        let inner = Arc::new(MemMap::from_objects([("a".to_owned(), "old.")]).unwrap());
        let slow = Slow::new(inner.clone()).faults(Faults::new(0).with(Op::WRITES, When::From(1), fault));
        let cached = Cached::in_memory(Arc::new(slow), ALL);
        assert_eq!(read(&cached, "a").unwrap(), b"old.");
        cached.write(&key("a"), b"new.").unwrap_err();
        assert_eq!(read(&cached, "a"), read(&*inner, "a"), "{fault:?}");
        cached.write_batch(&Batch::writes(&["a"]));
        assert_eq!(read(&cached, "a"), read(&*inner, "a"), "{fault:?}");
    }
}

#[test]
fn foreign_writes_are_seen_after_a_refresh() {
    let world = World::new();
    for absent in [false, true] {
        let inner = objects(&[("a", "old")]);
        for (place, cached) in both(&world, &inner, Keep { absent, ..ALL }) {
            inner.write(&key("a"), b"old").unwrap();
            inner.delete(&key("b")).unwrap();
            assert_eq!((read(&cached, "a").unwrap(), read(&cached, "b")), (b"old".to_vec(), None));
            inner.write(&key("a"), b"new").unwrap();
            inner.write(&key("b"), b"new").unwrap();
            assert_eq!(read(&cached, "a").unwrap(), b"old", "{place}: the cache knows no foreign writes");
            assert_eq!(read(&cached, "b").is_none(), absent, "{place}: absence is kept only if asked for");
            match absent {
                true => cached.refresh().unwrap(),
                false => cached.sync().unwrap(),
            }
            assert_eq!(
                (read(&cached, "a").unwrap(), read(&cached, "b").unwrap()),
                (b"new".to_vec(), b"new".to_vec())
            );
        }
    }
}

#[test]
fn on_disk_answers_are_there_the_next_time() {
    let world = World::new();
    let directory = world.path();
    let open = |inner: &Arc<Counting>, name| Cached::on_disk(inner.clone(), &directory, name, ALL).unwrap();
    let inner = objects(&[("a", "abcdef")]);
    let first = open(&inner, "one");
    read(&first, "a");
    read(&first, "absent");
    first.close().unwrap();
    let again = open(&inner, "one");
    inner.take();
    assert_eq!((read(&again, "a").unwrap(), read(&again, "absent")), (b"abcdef".to_vec(), None));
    assert_eq!(inner.take().read().requests, 0);
    // Datasets are separate. A refresh of one keeps the entries of the other.
    let other = open(&objects(&[("a", "other")]), "two");
    assert_eq!(read(&other, "a").unwrap(), b"other");
    other.refresh().unwrap();
    assert_eq!(read(&open(&inner, "one"), "a").unwrap(), b"abcdef");
    assert_eq!(inner.take().read().requests, 0);
}

#[test]
fn a_write_fails_if_its_cached_copy_cannot_be_removed() {
    let world = World::new();
    let directory = world.path();
    let inner = objects(&[("a", "old")]);
    let cached = Cached::on_disk(inner.clone(), &directory, "x", ALL).unwrap();
    read(&cached, "a");
    // Another process has replaced the folder by a file.
    let own = std::fs::read_dir(&directory).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_dir_all(&own).unwrap();
    std::fs::write(&own, "").unwrap();
    assert!(cached.write(&key("a"), b"new").is_err());
    let job = Batch::writes(&["a"]);
    cached.write_batch(&job);
    assert!(job.outcomes().remove(0).1.is_err());
    assert_eq!(read(&*inner, "a").unwrap(), b"old");
    assert_eq!(read(&cached, "a").unwrap(), b"old");
}

/// A read after a write returns that value or a later one, with any number of threads.
#[test]
fn reads_after_a_write_never_return_an_older_value() {
    let world = World::new();
    let inner = objects(&[]);
    for (place, cached) in both(&world, &inner, KEEP) {
        let done = AtomicU64::new(0);
        let number = |bytes: Vec<u8>| u64::from_le_bytes(bytes.try_into().unwrap());
        cached.write(&key("n"), &0u64.to_le_bytes()).unwrap();
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..3)
                .map(|reader| {
                    let (cached, done) = (&cached, &done);
                    scope.spawn(move || {
                        let mut last = 0;
                        while last < 400 {
                            let least = done.load(SeqCst);
                            let seen = match reader {
                                0 => read(cached, "n"),
                                1 => batch(cached, "n", Ranges::All),
                                _ => into(cached, "n", 0, 8),
                            };
                            let seen = number(seen.unwrap());
                            assert!(seen >= least, "{place}: {seen} seen after {least} was written");
                            last = least;
                        }
                    })
                })
                .collect();
            for n in 1..=400u64 {
                match n % 3 {
                    0 => cached.write(&key("n"), &n.to_le_bytes()).unwrap(),
                    1 => cached
                        .update(&key("n"), 8, &mut |_, new| {
                            new.extend_from_slice(&n.to_le_bytes());
                            Ok(())
                        })
                        .unwrap(),
                    _ => {
                        let version = cached.read_versioned(&key("n"), 8, &mut Vec::new()).unwrap().unwrap();
                        cached
                            .write_if(&key("n"), &n.to_le_bytes(), &Precondition::Unchanged(version.clone()))
                            .unwrap();
                    }
                }
                done.store(n, SeqCst);
            }
            readers.into_iter().for_each(|reader| reader.join().unwrap());
        });
    }
}

#[derive(Debug, Clone)]
enum Step {
    Read(usize, u64, Option<u64>),
    Last(usize, u64),
    Into(usize, u64, usize),
    Len(usize),
    Write(usize, usize),
    Delete(usize),
    Rename(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let place = 0..6usize;
    prop_oneof![
        4 => (place.clone(), 0..40u64, prop::option::of(0..2000u64)).prop_map(|(at, offset, len)| Step::Read(at, offset / 2, len)),
        2 => (place.clone(), 0..2000u64).prop_map(|(at, count)| Step::Last(at, count)),
        2 => (place.clone(), 0..40u64, 0..2000usize).prop_map(|(at, offset, room)| Step::Into(at, offset, room)),
        1 => place.clone().prop_map(Step::Len),
        3 => (place.clone(), 0..1500usize).prop_map(|(at, len)| Step::Write(at, len)),
        1 => place.clone().prop_map(Step::Delete),
        1 => (place.clone(), place).prop_map(|(from, to)| Step::Rename(from, to)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// A cached map always answers like the inner map.
    #[test]
    fn a_cache_answers_like_its_inner_map(steps in prop::collection::vec(step(), 1..60), absent: bool, little: bool) {
        const KEYS: [&str; 6] = ["a", "a/b", "a/b/c", "d", "e/f", "e"];
        let world = World::new();
        let keep = Keep { absent, ..if little { KEEP } else { ALL } };
        for place in 0..2 {
            let inner = objects(&[]);
            let [memory, disk] = both(&world, &inner, keep);
            let cached = if place == 0 { memory.1 } else { disk.1 };
            for (i, step) in steps.iter().enumerate() {
                let same = |ask: &dyn Fn(&dyn ZMap) -> Result<String, ErrorKind>| (ask(&cached), ask(&*inner));
                let (ours, theirs) = match *step {
                    Step::Read(at, offset, len) => same(&|map| {
                        let mut out = Vec::new();
                        let found = map.read(&key(KEYS[at]), ByteRange { offset, len }, &mut out);
                        found.map(|found| format!("{found} {out:?}")).map_err(|error| error.kind())
                    }),
                    Step::Last(at, count) => same(&|map| {
                        let job = Batch::reads(&[(KEYS[at], Ranges::Suffix(count))]);
                        map.read_batch(&job);
                        let found = job.fetched().remove(0).1;
                        found.map(|found| format!("{found:?}")).map_err(|error| error.kind())
                    }),
                    Step::Into(at, offset, room) => same(&|map| {
                        let mut memory = vec![0; room];
                        let mut out = OutBuf::from_slice(&mut memory);
                        let found = map.read_into(&key(KEYS[at]), offset, &mut out);
                        found.map(|found| format!("{found} {:?}", out.filled())).map_err(|error| error.kind())
                    }),
                    Step::Len(at) => same(&|map| {
                        map.len(&key(KEYS[at])).map(|len| format!("{len:?}")).map_err(|error| error.kind())
                    }),
                    Step::Write(at, len) => {
                        let value: Vec<u8> = (0..len).map(|byte| (byte ^ i) as u8).collect();
                        // The map refuses keys below and above objects.
                        let _ = cached.write(&key(KEYS[at]), &value);
                        continue;
                    }
                    Step::Delete(at) => {
                        cached.delete(&key(KEYS[at])).unwrap();
                        continue;
                    }
                    Step::Rename(from, to) => {
                        let _ = cached.rename(&key(KEYS[from]), &key(KEYS[to]));
                        continue;
                    }
                };
                prop_assert_eq!(ours, theirs, "{}: {:?}", place, step);
            }
        }
    }
}
