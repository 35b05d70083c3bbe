//! The configured time limits a whole read: all requests, retries and pauses, heads and bodies.

use std::time::{Duration, Instant};

use nczarr_model::ErrorKind;
use nczarr_s3_server::{Config as Kind, Fault, Rule, Server};
use nczarr_storage::batch::Ranges;
use nczarr_storage::source::{ByteSource as _, InitialRead};
use nczarr_storage::{ByteRange, Key, ZMap as _, ZMapExt};
use nczarr_zmap_http::{Config, HttpMap, HttpSource, Settings};

use crate::support::{batch, content, target};

/// The time in the rc file.
const TIME: Duration = Duration::from_secs(2);
/// A read that takes longer ignores the time, even on a slow machine.
const LONGEST: Duration = Duration::from_secs(9);

type Operation = (&'static str, fn(&Server, &Settings) -> nczarr_model::Result<()>);

fn map(server: &Server, settings: &Settings) -> HttpMap {
    HttpMap::with_settings(&target(server, "web/x"), &Config::DEFAULT, settings).unwrap()
}

fn a() -> Key {
    Key::new("a").unwrap()
}

fn source(server: &Server, part: InitialRead, settings: &Settings) -> nczarr_model::Result<HttpSource> {
    HttpSource::with_settings(&target(server, "web/x/a"), part, &Config::DEFAULT, settings)
}

const OPERATIONS: &[Operation] = &[
    ("read", |server, settings| map(server, settings).read(&a(), ByteRange::ALL, &mut Vec::new()).map(drop)),
    ("read a range", |server, settings| {
        map(server, settings).read(&a(), ByteRange::new(0, 50_000_000), &mut Vec::new()).map(drop)
    }),
    ("length", |server, settings| map(server, settings).len(&a()).map(drop)),
    ("open a source", |server, settings| source(server, InitialRead::Head(64 << 20), settings).map(drop)),
    ("read a source", |server, settings| {
        server.no_faults();
        let source = source(server, InitialRead::Tail(1), settings)?;
        server.fault(Rule::new(Fault::Stall));
        source.read(ByteRange::ALL).map(drop)
    }),
    ("read a batch", |server, settings| {
        let parts = Ranges::Strided { first: ByteRange::new(0, 1), step: 2_000_000, count: 2 };
        let wanted =
            [("a".to_owned(), Ranges::All), ("a".to_owned(), Ranges::Suffix(1)), ("a".to_owned(), parts)];
        let mut failure = None;
        for answer in batch(&map(server, settings), &wanted, usize::MAX) {
            failure = answer.err().or(failure);
        }
        failure.map_or(Ok(()), Err)
    }),
];

#[test]
fn no_read_outlives_the_configured_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rc");
    std::fs::write(&path, format!("HTTP.TIMEOUT={}\n", TIME.as_secs())).unwrap();
    let rc = path.to_str().unwrap();
    // A silent server; one that sends only a head, or half a body; one that drips; one that redirects in
    // circles, slowly.
    let mut cases = Vec::new();
    for operation in OPERATIONS {
        cases.push((operation, Fault::Stall, 3_000_000, Kind::default()));
        for len in [1, 3_000_000] {
            cases.push((operation, Fault::StallBody, len, Kind::default()));
        }
        cases.push((operation, Fault::Status(503, "SlowDown"), 1, Kind::default()));
        let slow = Kind::default().latency(TIME / 2);
        cases.push((operation, Fault::Redirect(302, "/web/x/a".to_owned()), 1, slow));
    }
    cases.push((&OPERATIONS[0], Fault::Drip, 3_000_000, Kind::default().pause(TIME * 2 / 3)));
    cases.push((&OPERATIONS[1], Fault::Drip, 3_000_000, Kind::default().pause(TIME * 2 / 3)));
    std::thread::scope(|scope| {
        for (operation, fault, len, config) in cases {
            scope.spawn(move || {
                let server = Server::start(config.web("web"));
                server.put("web", "x/a", content(1, len));
                server.fault(Rule::new(fault.clone()));
                let variable = |name: &str| (name == "NCRCENV_RC").then(|| rc.to_owned());
                let settings = Settings::with_variables(&target(&server, "web/x"), &variable).unwrap();
                let since = Instant::now();
                let done = operation.1(&server, &settings);
                let took = since.elapsed();
                let what = format!("{} {fault:?} {len} bytes", operation.0);
                assert!(took < LONGEST, "{what}: {took:?}, {done:?}");
                assert!(done.is_err() || operation.0 == "read a source", "{what}: {done:?}");
            });
        }
    });
}

/// Without a configured time, a large read may exceed the deadline while bytes arrive.
#[test]
fn bytes_that_come_extend_the_default_deadline() {
    let server = Server::start(Kind::default().web("web").pause(Duration::from_millis(100)));
    let whole = content(1, 4_000_000);
    server.put("web", "x/a", whole.clone());
    server.fault(Rule::new(Fault::Drip));
    let mut config = Config::DEFAULT;
    config.deadline = Duration::from_millis(400);
    let read = |config: &Config| {
        let mut bytes = Vec::new();
        HttpMap::new(&target(&server, "web/x"), config)
            .unwrap()
            .read(&a(), ByteRange::ALL, &mut bytes)
            .map(|_| bytes)
    };
    assert!(read(&config).unwrap() == whole);
    config.slowest = None;
    let error = read(&config).unwrap_err();
    assert!(error.kind() == ErrorKind::Timeout && error.what().contains("timed out"), "{error}");
}
