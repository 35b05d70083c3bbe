//! A server, a map of it, and short timeouts.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use nczarr_model::Result;
use nczarr_s3_server::Server;
use nczarr_storage::batch::{Ranges, ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::{Key, Version, ZMap};
use nczarr_zmap_http::{Config, HttpMap};

pub use nczarr_s3_server::content;

/// A configuration with timeouts short enough for tests, and long enough for slow machines.
pub fn patience() -> Config {
    let mut config = Config::DEFAULT;
    config.deadline = Duration::from_secs(20);
    config.idle = Duration::from_millis(300);
    config.connect = Duration::from_millis(300);
    config.pause = Duration::from_millis(1);
    config
}

pub fn target(server: &Server, path: &str) -> nczarr_storage::Target {
    nczarr_url_infer::parse(&format!("{}/{path}", server.url())).unwrap()
}

pub fn map(server: &Server, config: &Config) -> HttpMap {
    HttpMap::new(&target(server, "web/x"), config).unwrap()
}

pub type Answer = Result<Option<Vec<u8>>>;

/// Reads some objects, or ranges of them, in one batch.
pub fn batch(map: &dyn ZMap, wanted: &[(String, Ranges)], limit: usize) -> Vec<Answer> {
    let job = Job {
        wanted,
        limit,
        next: AtomicUsize::new(0),
        found: Mutex::new(wanted.iter().map(|_| None).collect()),
    };
    map.read_batch(&job);
    job.found.into_inner().unwrap().into_iter().map(|found| found.expect("an answer for each")).collect()
}

struct Job<'w> {
    wanted: &'w [(String, Ranges)],
    limit: usize,
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
        Some(ReadTicket::new(index, ranges.clone(), self.limit).hint(1000))
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let found = found.map(|found| {
            found.map(|(found, _)| match found {
                ReadOutcome::Bytes(bytes) => bytes.to_vec(),
                ReadOutcome::InPlace => panic!("no place was given"),
            })
        });
        let old = self.found.lock().unwrap()[ticket.index].replace(found);
        assert!(old.is_none(), "two answers for one ticket");
    }
}
