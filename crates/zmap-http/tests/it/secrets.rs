//! Secrets appear in no message at any log level.

use std::io::Write;
use std::sync::{Arc, Mutex};

use nczarr_s3_server::{Config as Kind, Fault, Rule, Server};
use nczarr_storage::source::{ByteSource as _, InitialRead};
use nczarr_storage::{ByteRange, Key, ZMapExt};
use nczarr_zmap_http::{HttpMap, HttpSource};

use crate::support::patience;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn secrets_are_not_printed() {
    let log = Log::default();
    let writer = log.clone();
    // Requests run on other threads, so the log is the process's.
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let server = Server::start(Kind::default().web("web"));
    server.put("web", "x/a", "0123456789");
    let url = format!("http://me:hush1@{}/web/x?sig=hush2#mode=zarr&token=hush3", server.host());
    let target = nczarr_url_infer::parse(&url).unwrap();
    let map = HttpMap::new(&target, &patience()).unwrap();
    let mut said = format!("{map:?} {target:?}");
    let mut bytes = Vec::new();
    for fault in [
        Fault::Status(503, "SlowDown"),
        Fault::Status(403, "AccessDenied"),
        Fault::Reset,
        Fault::Garbage,
        Fault::CutBody,
        Fault::Gzip,
        Fault::Redirect(302, "http://u:hush4@127.0.0.1:1/y?sig=hush5".to_owned()),
        Fault::Redirect(302, "ftp://u:hush4@127.0.0.1:1/y?sig=hush5".to_owned()),
    ] {
        server.no_faults();
        server.fault(Rule::new(fault.clone()));
        let error = map.read(&Key::new("a").unwrap(), ByteRange::ALL, &mut bytes).unwrap_err();
        said += &format!("\n{error} {error:?}");
        let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(&error);
        while let Some(inner) = cause {
            said += &format!("\n{inner} {inner:?}");
            cause = inner.source();
        }
    }
    server.no_faults();
    assert!(map.read(&Key::new("a").unwrap(), ByteRange::ALL, &mut bytes).unwrap());
    let url = format!("http://me:hush1@{}/web/x/a?sig=hush2", server.host());
    let source =
        HttpSource::open(&nczarr_url_infer::parse(&url).unwrap(), InitialRead::Head(2), &patience()).unwrap();
    assert_eq!(source.read(ByteRange::new(3, 2)).unwrap(), b"34");
    said += &format!("{source:?}");
    let logged = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(logged.contains("asking again"), "the log is heard");
    assert!(said.contains("/web/x"));
    for text in [logged, said] {
        for line in text.lines() {
            assert!(!line.contains("hush") && !line.contains("bWU6aHVzaDE="), "{line}");
        }
    }
}
