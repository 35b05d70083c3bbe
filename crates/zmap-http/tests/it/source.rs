//! One file, by ranges.

use nczarr::Place;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_model::ErrorKind;
use nczarr_s3_server::{Config as Kind, Fault, Rule, Server};
use nczarr_storage::source::{ByteSource, InitialRead};
use nczarr_storage::{ByteRange, Key, ZMap as _};
use nczarr_zmap_http::{HttpMap, HttpSource};

use crate::support::{content, patience, target};

#[test]
fn a_file_is_read_in_parts() {
    let server = Server::start(Kind::default().web("web"));
    let all = content(1, 20_000_000);
    server.put("web", "f", all.clone());
    for (part, at_hand) in
        [(InitialRead::Head(1000), 0..1000), (InitialRead::Tail(1000), 19_999_000..20_000_000)]
    {
        server.clear_log();
        let source = HttpSource::open(&target(&server, "web/f"), part, &patience()).unwrap();
        assert_eq!(source.len(), 20_000_000);
        assert_eq!(source.read(ByteRange::new(at_hand.start as u64, 1000)).unwrap(), all[at_hand]);
        assert_eq!(server.counts().total(), 1);
        for (at, len, requests) in
            [(5_000u64, 10u64, 1), (999, 19_000_001, 3), (19_999_999, 50, 1), (20_000_000, 5, 0)]
        {
            server.clear_log();
            let end = (at + len).min(20_000_000);
            assert_eq!(
                source.read(ByteRange::new(at, len)).unwrap(),
                all[at as usize..end as usize],
                "{at} {len}"
            );
            assert!(server.counts().total() <= requests, "{at} {len}: {:?}", server.counts());
        }
    }
}

#[test]
fn servers_without_ranges_are_read_whole() {
    let server = Server::start(Kind::default().web("web"));
    let all = content(1, 100_000);
    server.put("web", "f", all.clone());
    server.fault(Rule::new(Fault::RangeIgnored));
    for part in [InitialRead::Head(1000), InitialRead::Tail(1000)] {
        server.clear_log();
        let source = HttpSource::open(&target(&server, "web/f"), part, &patience()).unwrap();
        assert_eq!(source.read(ByteRange::new(500, 90_000)).unwrap(), all[500..90_500]);
        assert_eq!((source.len(), server.counts().total()), (100_000, 1));
    }
}

/// Servers without ranges and file states: one request yields the file or the reason.
#[test]
fn servers_without_range_support_get_one_request() {
    let path = tempfile::tempdir().unwrap();
    let path = path.path().join("x.nc").display().to_string();
    let file = nczarr::create(Place::url(format!("{path}#mode=cdf5"))).unwrap();
    file.put_attribute("title", "here").unwrap();
    file.close().unwrap();
    let small = std::fs::read(&path).unwrap();
    let server = Bare::start(vec![("/x.nc", small), ("/large.nc", vec![b'C'; (64 << 20) + 1])]);
    let url = |name: &str| format!("http://{}/{name}#mode=bytes", server.address);
    let file = nczarr::open(url("x.nc")).unwrap();
    assert!(file.attribute("title").is_some());
    assert_eq!(server.asked.load(Ordering::Relaxed), 1);
    let error = nczarr::open(url("large.nc")).unwrap_err();
    assert!(error.to_string().contains("ignores range requests"), "{error}");
    assert_eq!(server.asked.load(Ordering::Relaxed), 2);
    // Parts of objects are not cut from such responses.
    let map =
        HttpMap::new(&nczarr_url_infer::parse(&format!("http://{}", server.address)).unwrap(), &patience())
            .unwrap();
    let error = map.len(&Key::new("x.nc").unwrap()).unwrap_err();
    assert!(error.to_string().contains("ignores range requests"), "{error}");
    assert_eq!(server.asked.load(Ordering::Relaxed), 3);
}

/// A server that always sends whole files with their lengths.
struct Bare {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl Bare {
    fn start(files: Vec<(&'static str, Vec<u8>)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self { address: listener.local_addr().unwrap(), asked: Arc::default() };
        let asked = Arc::clone(&server.asked);
        // It ends with the process.
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
                let Some(first) = lines.next() else { continue };
                lines.find(String::is_empty);
                asked.fetch_add(1, Ordering::Relaxed);
                let body = files.iter().find(|(name, _)| first.split(' ').nth(1) == Some(name));
                let body = body.map_or(&[][..], |(_, body)| body);
                let head =
                    format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
                let _ = (&stream).write_all(head.as_bytes()).and_then(|()| (&stream).write_all(body));
            }
        });
        server
    }
}

#[test]
fn a_file_that_changes_is_an_error() {
    for fault in [Fault::Replaced, Fault::Grown, Fault::Removed] {
        let server = Server::start(Kind::default().web("web"));
        server.put("web", "f", content(1, 100_000));
        let source =
            HttpSource::open(&target(&server, "web/f"), InitialRead::Head(1000), &patience()).unwrap();
        server.fault(Rule::new(fault.clone()).times(1));
        for _ in 0..2 {
            let error = source.read(ByteRange::new(50_000, 10)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{fault:?}");
            assert!(error.to_string().contains("changed"), "{fault:?}: {error}");
        }
    }
    let server = Server::start(Kind::default().web("web"));
    let opened = HttpSource::open(&target(&server, "web/none"), InitialRead::Head(1), &patience());
    assert_eq!(opened.unwrap_err().kind(), ErrorKind::NotFound);
}
