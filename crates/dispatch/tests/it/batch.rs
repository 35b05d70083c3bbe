//! The default batches return the right result for each ticket.

use std::mem::MaybeUninit;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;
use nczarr_storage::batch::{
    Payload, Ranges, ReadJob, ReadOutcome, ReadTicket, WriteJob, WriteTicket, read_parallel, write_parallel,
};
use nczarr_storage::{
    ByteRange, Key, MapCaps, ObjectInfo, Precondition, ReadOptions, Version, WriteOutcome, ZMap, ZMapExt,
};
use proptest::prelude::*;

use crate::world::{TestMap, all_caps};

/// The request of one piece of a job.
#[derive(Debug, Clone)]
pub struct Want {
    pub key: &'static str,
    pub ranges: Ranges,
    pub limit: usize,
    pub versioned: bool,
    pub room: Option<usize>,
}

impl Want {
    pub fn all(key: &'static str) -> Self {
        Self { key, ranges: Ranges::All, limit: 1 << 20, versioned: false, room: None }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Got {
    pub bytes: Option<Vec<u8>>,
    pub in_place: bool,
    pub version: bool,
}

pub type Results = Vec<Option<Result<Got, ErrorKind>>>;

pub struct Reads {
    wants: Vec<Want>,
    memory: Vec<Mutex<Option<&'static mut [MaybeUninit<u8>]>>>,
    threads: usize,
    next: AtomicUsize,
    results: Mutex<Results>,
}

impl Reads {
    pub fn new(wants: Vec<Want>, threads: usize) -> Self {
        let memory = wants
            .iter()
            .map(|want| Mutex::new(want.room.map(|room| vec![MaybeUninit::new(0xEE); room].leak())))
            .collect();
        let results = Mutex::new(vec![None; wants.len()]);
        Self { wants, memory, threads, next: AtomicUsize::new(0), results }
    }

    pub fn run(self, map: &dyn ZMap) -> Results {
        map.read_batch(&self);
        self.results.into_inner().unwrap()
    }
}

impl ReadJob for Reads {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let want = self.wants.get(index)?;
        key.set(&Key::new(want.key).unwrap());
        let into = self.memory[index].lock().unwrap().take().map(OutBuf::new);
        let ticket = ReadTicket::new(index, want.ranges.clone(), want.limit);
        Some(ticket.versioned(want.versioned).into(into))
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let got = found.map_err(|error| error.kind()).map(|found| match found {
            None => Got { bytes: None, in_place: false, version: false },
            Some((ReadOutcome::Bytes(bytes), version)) => {
                Got { bytes: Some(bytes.to_vec()), in_place: false, version: version.is_some() }
            }
            Some((ReadOutcome::InPlace, version)) => Got {
                bytes: Some(ticket.into.as_ref().unwrap().filled().to_vec()),
                in_place: true,
                version: version.is_some(),
            },
        });
        let old = self.results.lock().unwrap()[ticket.index].replace(got);
        assert!(old.is_none(), "ticket {} came back twice", ticket.index);
    }
}

fn found(bytes: &[u8]) -> Option<Result<Got, ErrorKind>> {
    Some(Ok(Got { bytes: Some(bytes.to_vec()), in_place: false, version: false }))
}

fn in_place(bytes: &[u8]) -> Option<Result<Got, ErrorKind>> {
    Some(Ok(Got { bytes: Some(bytes.to_vec()), in_place: true, version: false }))
}

const ABSENT: Option<Result<Got, ErrorKind>> = Some(Ok(Got { bytes: None, in_place: false, version: false }));
const TOO_MUCH: Option<Result<Got, ErrorKind>> = Some(Err(ErrorKind::Io));

#[test]
fn every_form_of_ticket_gets_its_bytes() {
    let one = |offset, len| Ranges::One(ByteRange { offset, len });
    let every =
        |offset, len, step, count| Ranges::Strided { first: ByteRange::new(offset, len), step, count };
    let list = |parts: &[(u64, u64)]| {
        Ranges::List(parts.iter().map(|&(offset, len)| ByteRange::new(offset, len)).collect())
    };
    let cases = [
        (Ranges::All, 10, None, found(b"0123456789")),
        (Ranges::All, 9, None, TOO_MUCH),
        (Ranges::All, 10, Some(10), in_place(b"0123456789")),
        (Ranges::All, 99, Some(12), in_place(b"0123456789")),
        (Ranges::All, 99, Some(9), TOO_MUCH),
        (Ranges::All, 99, Some(0), TOO_MUCH),
        (one(2, Some(3)), 3, None, found(b"234")),
        (one(2, Some(3)), 2, None, TOO_MUCH),
        (one(2, Some(3)), 3, Some(3), in_place(b"234")),
        (one(2, Some(3)), 9, Some(4), found(b"234")),
        (one(8, Some(5)), 5, None, found(b"89")),
        (one(8, Some(5)), 5, Some(5), in_place(b"89")),
        (one(8, None), 2, None, found(b"89")),
        (one(7, None), 2, None, TOO_MUCH),
        (one(8, None), 9, Some(2), in_place(b"89")),
        (one(7, None), 9, Some(2), TOO_MUCH),
        (one(99, Some(1)), 9, None, found(b"")),
        (one(u64::MAX, Some(u64::MAX)), 9, None, found(b"")),
        (Ranges::Suffix(3), 3, None, found(b"789")),
        (Ranges::Suffix(3), 2, None, TOO_MUCH),
        (Ranges::Suffix(30), 30, None, found(b"0123456789")),
        (every(1, 2, 3, 3), 6, None, found(b"124578")),
        (every(1, 2, 3, 3), 5, None, TOO_MUCH),
        (every(1, 2, 3, 4), 8, None, TOO_MUCH),
        (every(0, 1, 0, 3), 3, None, found(b"000")),
        (every(0, 1, u64::MAX, 3), 3, None, Some(Err(ErrorKind::Inval))),
        (every(0, u64::MAX, 1, u32::MAX), 3, None, TOO_MUCH),
        (every(4, 0, 1, 2), 0, None, found(b"")),
        (every(4, 1, 1, 0), 0, None, found(b"")),
        (list(&[(7, 2), (0, 1)]), 3, None, found(b"780")),
        (list(&[(7, 2), (9, 2)]), 9, None, TOO_MUCH),
        (list(&[(u64::MAX, 2)]), 9, None, Some(Err(ErrorKind::Inval))),
        (list(&[]), 0, None, found(b"")),
    ];
    for range_read in [true, false] {
        let map = TestMap::new(all_caps().range_read(range_read));
        map.write(&Key::new("k").unwrap(), b"0123456789").unwrap();
        for threads in [1, 3] {
            let wants = |key: &'static str, versioned| -> Vec<Want> {
                let want = |(ranges, limit, room, _): &(Ranges, usize, Option<usize>, _)| Want {
                    key,
                    ranges: ranges.clone(),
                    limit: *limit,
                    versioned,
                    room: *room,
                };
                cases.iter().map(want).collect()
            };
            let got = Reads::new(wants("k", false), threads).run(&map);
            for ((case, got), i) in cases.iter().zip(got).zip(0..) {
                assert_eq!(got, case.3, "case {i}: {case:?}, range_read {range_read}");
            }
            for (got, case) in Reads::new(wants("gone", false), threads).run(&map).into_iter().zip(&cases) {
                // A piece that exceeds its limit is refused before any read.
                assert!(
                    got == ABSENT || matches!(got, Some(Err(_))) && matches!(case.3, Some(Err(_))),
                    "{case:?}: {got:?}"
                );
            }
            // With a version the bytes are the same, but never in place. The whole object is read and counts
            // toward the limit.
            for (got, case) in Reads::new(wants("k", true), threads).run(&map).into_iter().zip(&cases) {
                match (got.unwrap(), &case.3) {
                    (Ok(got), Some(Ok(wanted))) => {
                        assert_eq!(got.bytes, wanted.bytes, "{case:?}");
                        assert!(got.version && !got.in_place);
                    }
                    (Ok(got), wanted) => assert!(got.bytes.unwrap().len() <= case.1, "{case:?} {wanted:?}"),
                    (Err(kind), Some(Ok(_))) => assert!(kind == ErrorKind::Io && case.1 < 10, "{case:?}"),
                    (Err(_), _) => {}
                }
            }
        }
    }
}

#[test]
fn a_failure_stays_with_its_ticket() {
    let map = TestMap::with(&[("a", b"1")]);
    map.broken.store(true, Ordering::Relaxed);
    for got in Reads::new(vec![Want::all("a"), Want::all("b")], 2).run(&map) {
        assert_eq!(got, Some(Err(ErrorKind::Io)));
    }
}

/// A job with a `done` that runs another batch on the same thread.
struct Nested<'m> {
    map: &'m TestMap,
    outer: Reads,
    inner: Mutex<Results>,
}

impl ReadJob for Nested<'_> {
    fn threads(&self) -> usize {
        2
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        self.outer.next(key)
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let inner = Reads::new(vec![Want::all("b"), Want::all("a")], 2).run(self.map);
        self.inner.lock().unwrap().extend(inner);
        self.outer.done(ticket, found);
    }
}

#[test]
fn a_batch_inside_a_batch_takes_no_bytes_away() {
    let map = TestMap::with(&[("a", b"outer"), ("b", b"inner and longer")]);
    let job = Nested { map: &map, outer: Reads::new(vec![Want::all("a"); 8], 2), inner: Mutex::default() };
    read_parallel(&map, &job);
    for got in job.outer.results.into_inner().unwrap() {
        assert_eq!(got, found(b"outer"));
    }
    for pair in job.inner.into_inner().unwrap().chunks(2) {
        assert_eq!(pair, [found(b"inner and longer"), found(b"outer")]);
    }
}

#[test]
fn reads_exceed_the_limit_by_at_most_one_byte() {
    // A map that fails on a read of more than 101 bytes.
    #[derive(Debug)]
    struct Wary;
    impl ZMap for Wary {
        fn caps(&self) -> MapCaps {
            all_caps()
        }

        fn len(&self, _: &Key) -> Result<Option<u64>> {
            Ok(Some(u64::MAX))
        }

        fn read_with(&self, _: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
            let wanted = options.range.len.expect("an endless read");
            assert!(wanted <= 101, "{wanted} bytes");
            out.clear();
            out.resize(wanted as usize, 7);
            Ok(Some(ObjectInfo::default()))
        }
    }
    let want = |ranges| Want { limit: 100, ranges, ..Want::all("k") };
    let wants = vec![
        want(Ranges::All),
        want(Ranges::One(ByteRange { offset: 5, len: None })),
        want(Ranges::Suffix(101)),
        want(Ranges::Strided { first: ByteRange::new(0, 51), step: 60, count: 2 }),
        Want { room: Some(100), ..want(Ranges::All) },
    ];
    for got in Reads::new(wants, 1).run(&Wary) {
        assert_eq!(got, TOO_MUCH);
    }
}

/// A key, the result of encoding, and the expected state of the object.
type Piece = (&'static str, Result<&'static [u8], ErrorKind>, Precondition);

struct Writes {
    pieces: Vec<Piece>,
    threads: usize,
    next: AtomicUsize,
    results: Mutex<Vec<Option<Result<bool, ErrorKind>>>>,
}

impl WriteJob for Writes {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let (name, _, expect) = self.pieces.get(index)?;
        key.set(&Key::new(name).unwrap());
        Some(WriteTicket { index, precondition: expect.clone() })
    }

    fn value(&self, index: usize, scratch: &mut Vec<u8>) -> Result<Payload<'_>> {
        match self.pieces[index].1 {
            Err(kind) => Err(kind.context("cannot encode")),
            Ok(bytes) if index.is_multiple_of(2) => Ok(Payload::Borrowed(bytes)),
            Ok(bytes) => {
                scratch.clear();
                scratch.extend_from_slice(bytes);
                Ok(Payload::Scratch)
            }
        }
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<WriteOutcome>) {
        let outcome =
            outcome.map(|written| matches!(written, WriteOutcome::Done(_))).map_err(|error| error.kind());
        assert!(self.results.lock().unwrap()[ticket.index].replace(outcome).is_none());
    }
}

#[test]
fn every_write_returns_its_outcome() {
    for threads in [1, 4] {
        let map = TestMap::with(&[("there", b"old"), ("same", b"old")]);
        let mut bytes = Vec::new();
        let version = map.read_versioned(&Key::new("same").unwrap(), 99, &mut bytes).unwrap().unwrap();
        let pieces = vec![
            ("a", Ok(&b"caller"[..]), Precondition::Any),
            ("b", Ok(&b"scratch"[..]), Precondition::Any),
            ("c", Err(ErrorKind::Filter), Precondition::Any),
            ("d", Ok(&b"new"[..]), Precondition::Absent),
            ("there", Ok(&b"lost"[..]), Precondition::Absent),
            ("same", Ok(&b"new"[..]), Precondition::Unchanged(version.clone())),
            ("there", Ok(&b"lost"[..]), Precondition::Unchanged(version)),
        ];
        let job = Writes {
            results: Mutex::new(vec![None; pieces.len()]),
            pieces,
            threads,
            next: AtomicUsize::new(0),
        };
        write_parallel(&map, &job);
        let results: Vec<_> = job.results.into_inner().unwrap().into_iter().map(Option::unwrap).collect();
        let wanted = [Ok(true), Ok(true), Err(ErrorKind::Filter), Ok(true), Ok(false), Ok(true), Ok(false)];
        assert_eq!(results, wanted);
        let objects = map.objects.lock().unwrap();
        let there: Vec<_> =
            objects.iter().map(|(key, (_, bytes))| (key.as_str(), bytes.as_slice())).collect();
        assert_eq!(
            there,
            [("a", &b"caller"[..]), ("b", b"scratch"), ("d", b"new"), ("same", b"new"), ("there", b"old")]
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every form of request returns the slice of the object, or an error if the object is too short.
    #[test]
    fn parts_are_slices(
        object in proptest::collection::vec(any::<u8>(), 0..40),
        parts in proptest::collection::vec((0u64..50, 0u64..20), 0..6),
        range_read: bool,
        versioned: bool,
    ) {
        let map = TestMap::new(all_caps().range_read(range_read));
        map.write(&Key::new("k").unwrap(), &object).unwrap();
        let slice = |&(offset, len): &(u64, u64)| match len {
            0 => Some(&[][..]),
            _ => object.get(offset as usize..(offset + len) as usize),
        };
        let wanted: Option<Vec<&[u8]>> = parts.iter().map(slice).collect();
        let ranges = Ranges::List(parts.iter().map(|&(offset, len)| ByteRange::new(offset, len)).collect());
        let want = Want { ranges, versioned, ..Want::all("k") };
        let got = Reads::new(vec![want], 1).run(&map).remove(0).unwrap();
        match wanted {
            Some(wanted) => prop_assert_eq!(got.unwrap().bytes.unwrap(), wanted.concat()),
            None => prop_assert_eq!(got.unwrap_err(), ErrorKind::Io),
        }
    }
}
