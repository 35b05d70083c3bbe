//! A stopped call: reads are abandoned, and writes make no further attempt.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nczarr_storage::batch::{Ranges, ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::threads::StopSignal;
use nczarr_storage::{ByteRange, ErrorKind, Key, Result, Version, ZMap as _, ZMapExt as _};
use nczarr_zmap_s3::S3Map;
use s3_server::{Config, Fault, Rule, Server};

use crate::common::{access, key};

/// Runs `work` until the server has `requests` requests, then stops it. Returns the result.
fn stopped<T: Send>(server: &Server, requests: usize, work: impl FnOnce() -> T + Send) -> T {
    let signal = StopSignal::default();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| StopSignal::run(Some(&signal), work));
        let start = Instant::now();
        while server.log().len() < requests {
            assert!(start.elapsed() < Duration::from_secs(60), "no request came");
            std::thread::yield_now();
        }
        signal.stop();
        running.join().unwrap()
    })
}

#[test]
fn a_stopped_read_ends_while_the_server_hangs() {
    let server = Server::start(Config::default());
    server.put("bucket", "set/a", [1; 100]);
    server.fault(Rule::new(Fault::Stall));
    let map = S3Map::open(access(&server, "set"), false).unwrap();
    let error = stopped(&server, 1, || map.read(&key("a"), ByteRange::ALL, &mut Vec::new())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    assert_eq!(server.log().len(), 1);
    let signal = StopSignal::default();
    signal.stop();
    let late = || map.read_with(&key("a"), Default::default(), &mut Vec::new());
    assert_eq!(StopSignal::run(Some(&signal), late).unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(server.log().len(), 1, "no request follows");
    server.no_faults();
    assert!(map.read(&key("a"), ByteRange::ALL, &mut Vec::new()).unwrap(), "the map is as good as before");
}

#[test]
fn a_stopped_listing_ends_while_the_server_hangs() {
    let server = Server::start(Config::default().page(1));
    (0..3).for_each(|at| server.put("bucket", &format!("set/{at}"), [1]));
    server.fault(Rule::new(Fault::Stall).after(1));
    let map = S3Map::open(access(&server, "set"), false).unwrap();
    let error = stopped(&server, 2, || map.keys(&Key::root())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    assert_eq!(server.log().len(), 2, "the third page is not asked for");
}

/// Many reads of one object.
struct Reads {
    count: usize,
    next: AtomicUsize,
    ended: Mutex<Vec<Option<ErrorKind>>>,
}

impl ReadJob for Reads {
    fn threads(&self) -> usize {
        2
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let index = self.next.fetch_add(1, Ordering::SeqCst);
        *key = Key::new("a").unwrap();
        (index < self.count).then(|| ReadTicket::new(index, Ranges::All, 1000))
    }

    fn done(&self, _: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        self.ended.lock().unwrap().push(found.err().map(|error| error.kind()));
    }
}

#[test]
fn a_stopped_batch_ends_and_returns_every_ticket() {
    let server = Server::start(Config::default());
    server.put("bucket", "set/a", [1; 100]);
    server.fault(Rule::new(Fault::Stall));
    let map = S3Map::open(access(&server, "set"), false).unwrap();
    let job = Reads { count: 1000, next: AtomicUsize::new(0), ended: Mutex::default() };
    stopped(&server, 1, || map.read_batch(&job));
    let requests = server.log().len();
    let ended = job.ended.into_inner().unwrap();
    assert_eq!(ended, [Some(ErrorKind::Cancelled); 1000]);
    assert!(requests < 1000, "{requests}");
}

/// The server accepts no write, so a write would be tried eight times.
#[test]
fn a_stopped_write_makes_no_further_attempt() {
    let server = Server::start(Config::default());
    let mut access = access(&server, "set");
    access.retries.pause = Duration::from_secs(60);
    access.retries.deadline = Duration::from_secs(600);
    let map = S3Map::open(access, true).unwrap().exclusive(true);
    server.fault(Rule::new(Fault::Status(503, "SlowDown")));
    let error = stopped(&server, 1, || map.write(&key("a"), &[1; 100])).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::S3 | ErrorKind::Cancelled), "{error}");
    assert_eq!(server.log().len(), 1);
}
