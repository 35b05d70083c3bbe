//! One file, by ranges.

use dispatch::{ByteRange, ByteSource, Part};
use model::ErrorKind;
use nczarr_s3_server::{Config as Kind, Fault, Rule, Server};
use zmap_http::HttpSource;

use crate::support::{content, patience, target};

#[test]
fn a_file_is_read_in_parts() {
    let server = Server::start(Kind::default().web("web"));
    let all = content(1, 20_000_000);
    server.put("web", "f", all.clone());
    for (part, at_hand) in [(Part::Head(1000), 0..1000), (Part::Tail(1000), 19_999_000..20_000_000)] {
        server.clear_log();
        let source = HttpSource::open(&target(&server, "web/f"), part, &patience()).unwrap();
        assert_eq!(source.len(), 20_000_000);
        assert_eq!(source.read(ByteRange::new(at_hand.start as u64, 1000)).unwrap(), all[at_hand]);
        assert_eq!(server.counts().total(), 1);
        for (at, len, requests) in [(5_000u64, 10u64, 1), (999, 19_000_001, 3), (19_999_999, 50, 1), (20_000_000, 5, 0)]
        {
            server.clear_log();
            let end = (at + len).min(20_000_000);
            assert_eq!(source.read(ByteRange::new(at, len)).unwrap(), all[at as usize..end as usize], "{at} {len}");
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
    for part in [Part::Head(1000), Part::Tail(1000)] {
        server.clear_log();
        let source = HttpSource::open(&target(&server, "web/f"), part, &patience()).unwrap();
        assert_eq!(source.read(ByteRange::new(500, 90_000)).unwrap(), all[500..90_500]);
        assert_eq!((source.len(), server.counts().total()), (100_000, 2));
    }
}

#[test]
fn a_file_that_changes_is_an_error() {
    for fault in [Fault::Replaced, Fault::Grown, Fault::Removed] {
        let server = Server::start(Kind::default().web("web"));
        server.put("web", "f", content(1, 100_000));
        let source = HttpSource::open(&target(&server, "web/f"), Part::Head(1000), &patience()).unwrap();
        server.fault(Rule::new(fault.clone()).times(1));
        for _ in 0..2 {
            let error = source.read(ByteRange::new(50_000, 10)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{fault:?}");
            assert!(error.to_string().contains("changed"), "{fault:?}: {error}");
        }
    }
    let server = Server::start(Kind::default().web("web"));
    let opened = HttpSource::open(&target(&server, "web/none"), Part::Head(1), &patience());
    assert_eq!(opened.unwrap_err().kind(), ErrorKind::NotFound);
}
