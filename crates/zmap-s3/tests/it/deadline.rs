//! The configured time limits a whole operation: all requests, retries and pauses, heads and bodies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::batch::{Ranges, ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::source::InitialRead;
use nczarr_storage::{ByteRange, Key, Precondition, Version, ZMap as _, ZMapExt};
use nczarr_zmap_s3::{Access, S3Map, S3Source};
use s3_server::{Config, Fault, Rule, Server, content};

use crate::common::{KEYS, access_as, key};

/// The time in the rc file.
const TIME: Duration = Duration::from_secs(2);
/// An operation that takes longer ignores the time, even on a slow machine.
const LONGEST: Duration = Duration::from_secs(9);

type Operation = (&'static str, fn(&Access) -> Result<()>);

fn map(access: &Access) -> S3Map {
    S3Map::open(access.clone(), true).unwrap()
}

fn read(access: &Access, range: ByteRange) -> Result<()> {
    map(access).read(&key("k"), range, &mut Vec::new()).map(drop)
}

fn in_parts(access: &Access) -> S3Map {
    let mut access = access.clone();
    (access.multipart_above, access.part) = (1000, 400);
    map(&access)
}

/// Operations of one request, unless an attempt fails.
const SIMPLE: &[Operation] = &[
    ("read", |access| read(access, ByteRange::ALL)),
    ("read a range", |access| read(access, ByteRange::new(1, 5))),
    ("read from a place on", |access| read(access, ByteRange { offset: 2, len: None })),
    ("length", |access| map(access).len(&key("k")).map(drop)),
    ("list", |access| map(access).keys(&Key::root()).map(drop)),
    ("search", |access| map(access).children(&Key::root()).map(drop)),
    ("list once", |access| map(access).keys_in_one_request(&Key::root()).map(drop)),
    ("write", |access| map(access).write(&key("k"), &content(1, 100_000))),
    ("open a source", |access| S3Source::open(access.clone(), InitialRead::Head(100)).map(drop)),
    ("read a batch", |access| {
        let job = Job { next: AtomicUsize::new(0), failure: std::sync::Mutex::default() };
        map(access).read_batch(&job);
        job.failure.into_inner().unwrap().map_or(Ok(()), Err)
    }),
];

/// Operations of several requests.
const COMPOSED: &[Operation] = &[
    ("delete", |access| map(access).delete(&key("k")).map(drop)),
    ("write conditionally", |access| {
        map(access).write_if(&key("k"), b"new", &Precondition::Absent).map(drop)
    }),
    ("read with a version", |access| map(access).read_versioned(&key("k"), 1000, &mut Vec::new()).map(drop)),
    ("update", |access| {
        map(access).update(&key("k"), 1 << 20, &mut |_, new| {
            new.extend_from_slice(b"new");
            Ok(())
        })
    }),
    ("write in parts", |access| in_parts(access).write(&key("k"), &content(1, 1500))),
    ("write in parts conditionally", |access| {
        in_parts(access).write_if(&key("k"), &content(1, 1500), &Precondition::Absent).map(drop)
    }),
];

struct Job {
    next: AtomicUsize,
    failure: std::sync::Mutex<Option<nczarr_model::Error>>,
}

impl ReadJob for Job {
    fn threads(&self) -> usize {
        2
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let ranges = match index {
            0 => Ranges::All,
            1 => Ranges::Suffix(10),
            2 => Ranges::One(ByteRange::new(3, 4)),
            _ => return None,
        };
        key.set(&Key::new("k").unwrap());
        Some(ReadTicket::new(index, ranges, usize::MAX).hint(1000))
    }

    fn done(&self, _: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        if let Err(error) = found {
            *self.failure.lock().unwrap() = Some(error);
        }
    }
}

/// Starts a server with one object, and returns access to a dataset with a short time.
fn begin(config: Config, len: usize, rc: &str, place: &str) -> (Server, Access) {
    let server = Server::start(config);
    server.put("bucket", "set/k", content(1, len));
    let variables = [KEYS, &[("NCRCENV_RC", rc)]].concat();
    let access = access_as(&format!("{}/bucket/{place}#mode=s3", server.url()), &variables);
    (server, access)
}

#[test]
fn no_operation_outlives_the_configured_time() {
    let folder = tempfile::tempdir().unwrap();
    let rc = folder.path().join("rc");
    std::fs::write(&rc, format!("HTTP.TIMEOUT={}\n", TIME.as_secs())).unwrap();
    let rc = rc.to_str().unwrap();
    // A server that falls silent, one that sends only a head, one that stops in the body, and one that drips.
    // A short body waits in the system; a longer one is read as it arrives.
    let dripping = || Config::default().pause(TIME * 2 / 3);
    let mut cases: Vec<(Operation, Fault, u64, usize, Config)> = Vec::new();
    for &operation in SIMPLE {
        cases.push((operation, Fault::Stall, 0, 50, Config::default()));
        for len in [1, 3000, 100_000, 3_000_000] {
            if !operation.0.starts_with("write") {
                cases.push((operation, Fault::StallBody, 0, len, Config::default()));
            }
        }
        if operation.0 == "read" {
            cases.extend([3000, 100_000, 3_000_000].map(|len| (operation, Fault::Drip, 0, len, dripping())));
        }
    }
    for &operation in COMPOSED {
        cases.extend((0..4).map(|after| (operation, Fault::Stall, after, 50, Config::default())));
    }
    std::thread::scope(|scope| {
        for (operation, fault, after, len, config) in cases {
            scope.spawn(move || {
                // A source is the object itself.
                let place = if operation.0 == "open a source" { "set/k" } else { "set" };
                let (server, access) = begin(config, len, rc, place);
                server.fault(Rule::new(fault.clone()).after(after));
                let since = Instant::now();
                let done = operation.1(&access);
                let took = since.elapsed();
                let what = format!("{} {fault:?} after {after}, {len} bytes", operation.0);
                assert!(took < LONGEST, "{what}: {took:?}, {done:?}");
                // An operation of few requests may end before the fault.
                assert!(done.is_err() || after > 0, "{what}: {done:?}");
            });
        }
    });
}

/// Each request is answered in time, but all together are not.
#[test]
fn several_slow_requests_have_one_time_together() {
    let folder = tempfile::tempdir().unwrap();
    let rc = folder.path().join("rc");
    std::fs::write(&rc, format!("HTTP.TIMEOUT={}\n", TIME.as_secs())).unwrap();
    let rc = rc.to_str().unwrap();
    std::thread::scope(|scope| {
        for operation in COMPOSED {
            scope.spawn(move || {
                let (_server, access) = begin(Config::default().latency(TIME * 3 / 4), 50, rc, "set");
                let done = operation.1(&access);
                let error = done.expect_err(operation.0).to_string();
                assert!(
                    error.contains("timed out after 2 s") || error.contains("no response within"),
                    "{error}"
                );
            });
        }
    });
}

/// Without a configured time, a large operation may exceed the deadline while bytes arrive.
#[test]
fn bytes_that_come_extend_the_default_deadline() {
    let server = Server::start(Config::default().pause(Duration::from_millis(100)));
    let whole = content(1, 4_000_000);
    server.put("bucket", "set/k", whole.clone());
    server.fault(Rule::new(Fault::Drip));
    let mut access = crate::common::access(&server, "set");
    access.retries.deadline = Duration::from_millis(400);
    let mut bytes = Vec::new();
    assert!(map(&access).read(&key("k"), ByteRange::ALL, &mut bytes).unwrap() && bytes == whole);
    access.retries.stretch = false;
    let error = map(&access).read(&key("k"), ByteRange::ALL, &mut bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(std::io::Error::from(error.clone()).kind(), std::io::ErrorKind::TimedOut);
    let error = error.to_string();
    assert!(error.contains("timed out after 0.4 s") && error.contains("bytes arrived"), "{error}");
}

/// The error at the deadline names the last failure.
#[test]
fn a_timeout_names_the_last_failure() {
    let server = Server::start(Config::default());
    server.fault(Rule::new(Fault::Status(503, "SlowDown")).times(1));
    server.fault(Rule::new(Fault::Stall));
    let mut access = crate::common::access(&server, "set");
    access.retries.deadline = Duration::from_millis(500);
    let map = Arc::new(map(&access));
    for error in [map.read(&key("k"), ByteRange::ALL, &mut Vec::new()).unwrap_err(), {
        server.no_faults();
        server.fault(Rule::new(Fault::Status(503, "SlowDown")).times(1));
        server.fault(Rule::new(Fault::Stall));
        map.keys(&Key::root()).unwrap_err()
    }] {
        assert_eq!(error.kind(), ErrorKind::Timeout);
        let error = error.to_string();
        assert!(error.contains("SlowDown") && error.contains("timed out after 0.5 s"), "{error}");
    }
}
