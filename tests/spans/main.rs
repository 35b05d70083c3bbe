//! Spans of calls and their requests.
//!
//! This test has its own process. If a thread without a subscriber is the first to reach a span while there is
//! one subscriber, `tracing` disables the span for all threads.

use std::io;
use std::sync::{Arc, Mutex};

use nczarr::asynchronous::Workers;
use nczarr::storage::{ByteRange, Key, ZMapExt as _};
use nczarr::{CreateOptions, OpenOptions};
use nczarr_s3_server::{Config, Server};
use tracing_subscriber::fmt::format::FmtSpan;

#[derive(Debug, Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn create(place: &str) {
    let file = CreateOptions::new().create(place).unwrap();
    file.add_dimension("x", 200_000).unwrap();
    let v = file.add_variable::<i32>("v", &["x"]).unwrap();
    v.set_chunking(&[10_000]).unwrap();
    v.put(&vec![7; 200_000], ..).unwrap();
    file.close().unwrap();
}

/// Puts a dataset on the server, as objects and as an archive.
fn put_datasets(server: &Server) {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("x.zip");
    create(&format!("file://{}#mode=nczarr,zip", archive.display()));
    server.put("web", "x.zip", std::fs::read(archive).unwrap());
    let url = "memory://spans";
    create(url);
    let map = OpenOptions::new().open_map(url).unwrap();
    for key in map.keys(&Key::root()).unwrap() {
        let mut bytes = Vec::new();
        assert!(map.read(&key, ByteRange::ALL, &mut bytes).unwrap());
        server.put("web", &format!("x/{key}"), bytes);
    }
}

/// Opens a dataset, reads its variable and returns the log.
fn log_of_read(url: &str) -> String {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let workers = Workers::new(1);
            let file = workers.open(url).await.unwrap();
            let v = file.variable("v").unwrap();
            v.get::<f64>(..).await.unwrap();
            // The only thread is free after the spans of the calls have ended.
            file.close().await.unwrap();
        });
    });
    let bytes = lines.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn each_request_has_a_span_inside_that_of_its_call() {
    let server = Server::start(Config::default().web("web"));
    put_datasets(&server);
    for dataset in ["x#mode=nczarr", "x.zip#mode=nczarr,zip"] {
        server.clear_log();
        let log = log_of_read(&format!("http://me:hush@{}/web/{dataset}", server.host()));
        let requests = server.log().len();
        let spans = log.lines().filter(|line| {
            line.contains("nczarr::map")
                && line.contains("async call{place=\"http")
                && line.contains("}:request{place=http")
        });
        assert_eq!(spans.count(), requests, "{log}");
        assert!(log.contains("/v\"}:request{place=http"), "{log}");
        assert!(!log.contains("hush"), "{log}");
    }
}
