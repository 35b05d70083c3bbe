//! Random faults of every kind in reads, writes and listings. Every result is right or an error, and in time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nczarr_model::Result;
use nczarr_storage::batch::{Ranges, ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::{ByteRange, Key, Precondition, Version, WriteOutcome, ZMap, ZMapExt};
use nczarr_zmap_s3::S3Map;
use s3_server::{Config, Fault, Op, Rule, Server, content};

use crate::common::access;

pub fn faults() -> Vec<Fault> {
    vec![
        Fault::Status(400, "RequestTimeout"),
        Fault::Status(400, "ExpiredToken"),
        Fault::Status(403, "AccessDenied"),
        Fault::Status(403, "RequestTimeTooSkewed"),
        Fault::Status(404, "NoSuchBucket"),
        Fault::Status(409, "ConditionalRequestConflict"),
        Fault::Status(412, "PreconditionFailed"),
        Fault::Status(416, "InvalidRange"),
        Fault::Status(429, "TooManyRequests"),
        Fault::Status(500, "InternalError"),
        Fault::Status(503, "SlowDown"),
        Fault::Page(404),
        Fault::Page(502),
        Fault::ErrorBody,
        Fault::Reset,
        Fault::Close,
        Fault::Stall,
        Fault::Garbage,
        Fault::Redirect(307, "http://127.0.0.1:1/".to_owned()),
        Fault::LostReply,
        Fault::CutBody,
        Fault::ResetBody,
        Fault::StallBody,
        Fault::Drip,
        Fault::ShortRange,
        Fault::LyingRange,
        Fault::OverlongRange,
        Fault::OtherRange,
        Fault::NoContentRange,
        Fault::BadContentRange,
        Fault::RangeIgnored,
        Fault::Replaced,
        Fault::Grown,
        Fault::NoETag,
        Fault::Chunked,
        Fault::ChunkedCut,
        Fault::Gzip,
        Fault::RepeatedPage,
        Fault::DoubledEntries,
        Fault::Reversed,
        Fault::EmptyPage,
        Fault::NoToken,
        Fault::EndlessPage,
        Fault::CutDocument,
    ]
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

/// Number of rounds of the long tests.
fn rounds(few: u64) -> u64 {
    std::env::var("NCZ_TEST_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(few)
}

/// Bytes of objects that are read as they arrive.
const SHORT: usize = 3000;
/// Bytes of objects that wait in the system until complete.
const LONG: usize = 100_000;

/// Longest time of one operation, even on a slow machine.
const LONGEST: Duration = Duration::from_secs(60);

fn map(server: &Server, fault: &Fault) -> S3Map {
    let mut access = access(server, "set");
    access.retries.deadline = Duration::from_secs(20);
    // A fault that delays a request costs its whole timeout.
    let slow = matches!(fault, Fault::Stall | Fault::StallBody);
    access.retries.stall = Duration::from_millis(if slow { 50 } else { 5000 });
    S3Map::open(access, true).unwrap()
}

fn chance(fault: &Fault, seed: u64) -> Rule {
    let slow = matches!(fault, Fault::Stall | Fault::StallBody);
    Rule::new(fault.clone()).chance(seed, if slow { 100 } else { 300 })
}

type Answer = Result<Option<Vec<u8>>>;

struct Job<'w> {
    len: usize,
    wanted: &'w [(String, Ranges)],
    next: AtomicUsize,
    found: Mutex<Vec<Option<Answer>>>,
}

impl ReadJob for Job<'_> {
    fn threads(&self) -> usize {
        2
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let (name, ranges) = self.wanted.get(index)?;
        key.set(&Key::new(name).unwrap());
        Some(ReadTicket::new(index, ranges.clone(), 10 * self.len).hint(1000))
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let found = found.map(|found| {
            found.map(|(found, _)| match found {
                ReadOutcome::Bytes(bytes) => bytes.to_vec(),
                ReadOutcome::InPlace => panic!("no place was given"),
            })
        });
        assert!(
            self.found.lock().unwrap()[ticket.index].replace(found).is_none(),
            "two answers for one ticket"
        );
    }
}

/// Returns every state that an object has had.
fn states(number: usize, len: usize, fault: &Fault, now: &[u8]) -> Vec<Vec<u8>> {
    let mut states = vec![content(number, len)];
    while matches!(fault, Fault::Replaced | Fault::Grown)
        && states.last().unwrap() != now
        && states.len() < 100
    {
        let mut state = states.last().unwrap().clone();
        state.iter_mut().for_each(|byte| *byte ^= 0x55);
        if *fault == Fault::Grown {
            state.extend_from_slice(b"and more");
        }
        states.push(state);
    }
    states
}

#[test]
fn reads() {
    reads_of(SHORT);
}

#[test]
fn reads_of_long_objects() {
    reads_of(LONG);
}

fn reads_of(len: usize) {
    let part = ByteRange::new;
    let shapes: [fn(usize) -> Ranges; 5] = [
        |_| Ranges::All,
        |number| Ranges::One(ByteRange::new(number as u64 * 10 + 1, 500)),
        |_| Ranges::Suffix(100),
        |_| Ranges::Strided { first: ByteRange::new(7, 50), step: 1000, count: 3 },
        |_| Ranges::List(Arc::from([ByteRange::new(2000, 9), ByteRange::new(0, 5)])),
    ];
    let (mut all, mut right, mut requests) = (0u64, 0u64, 0u64);
    for fault in faults() {
        for seed in 0..rounds(1) {
            let server = Server::start(Config::default().pause(Duration::from_micros(100)));
            let names: Vec<String> = (0..10).map(|number| format!("c/{number}")).collect();
            for (number, name) in names.iter().enumerate().take(9) {
                server.put("bucket", &format!("set/{name}"), content(number, len));
            }
            let map = map(&server, &fault);
            server.fault(chance(&fault, seed));
            for shape in shapes {
                let wanted: Vec<_> =
                    names.iter().enumerate().map(|(number, name)| (name.clone(), shape(number))).collect();
                let found = Mutex::new(wanted.iter().map(|_| None).collect());
                let job = Job { len, wanted: &wanted, next: AtomicUsize::new(0), found };
                let start = Instant::now();
                map.read_batch(&job);
                assert!(start.elapsed() < LONGEST, "{fault:?} {seed}: {:?}", start.elapsed());
                let found = job.found.into_inner().unwrap();
                for (number, (found, (name, ranges))) in found.into_iter().zip(&wanted).enumerate() {
                    let now = server.get("bucket", &format!("set/{name}")).unwrap_or_default();
                    all += 1;
                    right +=
                        u64::from(check(&found.expect("an answer"), (number, len), ranges, &fault, &now));
                }
                let (mut bytes, range) = (Vec::new(), part(11, 700));
                let single = map.read(&key("c/0"), range, &mut bytes).map(|found| found.then_some(bytes));
                let now = server.get("bucket", "set/c/0").unwrap_or_default();
                check(&single, (0, len), &Ranges::One(range), &fault, &now);
            }
            requests += server.counts().total();
        }
    }
    println!("{} kinds, {all} reads, {right} right, others errors, {requests} requests", faults().len());
    assert!(right * 2 > all, "{right} of {all}");
}

/// Whether a read succeeded; then its result must be right.
fn check(found: &Answer, (number, len): (usize, usize), ranges: &Ranges, fault: &Fault, now: &[u8]) -> bool {
    match found {
        Ok(Some(bytes)) => {
            let is_right = |state: &Vec<u8>| {
                ranges.cut(&key("k"), state, usize::MAX).is_ok_and(|right| *right == bytes[..])
            };
            assert!(
                states(number, len, fault, now).iter().any(is_right),
                "{fault:?}: {number} {ranges:?} is wrong"
            );
            true
        }
        Ok(None) => {
            assert_eq!(number, 9, "{fault:?}: {ranges:?} of a stored object read as absent");
            true
        }
        Err(error) => {
            assert!(error.to_string().contains("set/c/"), "{fault:?}: {error} names no object");
            false
        }
    }
}

#[test]
fn writes() {
    let (mut all, mut done, mut requests) = (0u64, 0u64, 0u64);
    for fault in faults() {
        for seed in 0..rounds(1) {
            let server = Server::start(Config::default().pause(Duration::from_micros(100)));
            let map = map(&server, &fault);
            let meddles = matches!(fault, Fault::Replaced | Fault::Grown);
            server.fault(chance(&fault, seed));
            let start = Instant::now();
            for number in 0..6 {
                let (name, old, new) =
                    (key(&format!("p/{number}")), content(number, 50), content(100 + number, 70));
                let object = format!("set/{name}");
                server.put("bucket", &object, old.clone());
                let written = map.write(&name, &new);
                let there = server.get("bucket", &object).expect("one of the two");
                all += 1;
                match written {
                    Ok(()) => {
                        done += 1;
                        assert!(there == new, "{fault:?} {seed}: a write is done, and was not");
                    }
                    Err(_) => assert!(
                        there == new || there == old || meddles,
                        "{fault:?} {seed}: a part was written"
                    ),
                }
                // There is no other writer, so the first write stays.
                let name = key(&format!("q/{number}"));
                let written = map.write_if(&name, &new, &Precondition::Absent);
                let there = server.get("bucket", &format!("set/{name}"));
                all += 1;
                match written {
                    Ok(WriteOutcome::Done(_)) => {
                        done += 1;
                        assert!(
                            there.as_deref() == Some(&new[..]) || meddles,
                            "{fault:?} {seed}: a write is done, and was not"
                        );
                    }
                    // A server that reports a lost race is believed. The loser reads again.
                    Ok(WriteOutcome::Conflict) => {
                        assert!(
                            matches!(fault, Fault::Status(412, _)),
                            "{fault:?} {seed}: a conflict without another writer"
                        );
                        assert!(there.is_none_or(|there| there == new), "{fault:?} {seed}");
                    }
                    Err(_) => assert!(there.is_none_or(|there| there == new) || meddles, "{fault:?} {seed}"),
                }
            }
            if !meddles {
                let (mut counted, mut unsure) = (0u64, 0u64);
                for _ in 0..10 {
                    let added = map.update(&key("n"), 100, &mut |old, new| {
                        let old = old.map_or(0, |old| u64::from_le_bytes(old.try_into().expect("a number")));
                        new.extend_from_slice(&(old + 1).to_le_bytes());
                        Ok(())
                    });
                    all += 1;
                    match added {
                        Ok(()) => counted += 1,
                        Err(_) => unsure += 1,
                    }
                }
                done += counted;
                let there = server
                    .get("bucket", "set/n")
                    .map_or(0, |there| u64::from_le_bytes(there.try_into().unwrap()));
                let range = counted..=counted + unsure;
                assert!(
                    range.contains(&there),
                    "{fault:?} {seed}: {there} counted, {counted} done, {unsure} failed"
                );
            }
            assert!(start.elapsed() < LONGEST * 3, "{fault:?} {seed}: {:?}", start.elapsed());
            requests += server.counts().total();
        }
    }
    println!("{} kinds, {all} writes, {done} done, others errors, {requests} requests", faults().len());
    assert!(done * 2 > all, "{done} of {all}");
}

#[test]
fn listings() {
    let names = ["a", "b/1", "b/2/x", "b/3", "c/0.0", "c/0.1", "c/1.0", "d", "e", "f/g/h", "i"];
    let (mut all, mut right, mut requests) = (0u64, 0u64, 0u64);
    for fault in faults() {
        for seed in 0..rounds(1) {
            let server = Server::start(Config::default().page(3).pause(Duration::from_micros(100)));
            names.iter().for_each(|name| server.put("bucket", &format!("set/{name}"), "x"));
            let map = map(&server, &fault);
            server.fault(chance(&fault, seed).on(Op::List));
            let start = Instant::now();
            for _ in 0..5 {
                for (prefix, expected) in [
                    ("", &["a", "b", "c", "d", "e", "f", "i"][..]),
                    ("b", &["1", "2", "3"]),
                    ("f", &["g"]),
                    ("z", &[]),
                ] {
                    let prefix = if prefix.is_empty() { Key::root() } else { key(prefix) };
                    all += 1;
                    if let Ok(found) = map.children(&prefix) {
                        assert_eq!(found, expected, "{fault:?} {seed}: below {prefix:?}");
                        right += 1;
                    }
                }
                all += 1;
                if let Ok(found) = map.keys(&Key::root()) {
                    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
                    assert_eq!(found, names, "{fault:?} {seed}");
                    right += 1;
                }
            }
            assert!(start.elapsed() < LONGEST * 3, "{fault:?} {seed}: {:?}", start.elapsed());
            requests += server.counts().total();
        }
    }
    println!("{} kinds, {all} listings, {right} right, others errors, {requests} requests", faults().len());
    assert!(right * 2 > all, "{right} of {all}");
}
