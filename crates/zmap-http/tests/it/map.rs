//! Reads with as few requests as possible.

use std::sync::Arc;
use std::time::Duration;

use nczarr_model::ErrorKind;
use nczarr_s3_server::{Config as Kind, Fault, Rule, Server};
use nczarr_storage::batch::Ranges;
use nczarr_storage::{ByteRange, Key, ZMap, ZMapExt};

use crate::support::{batch, content, map, patience};

fn key(name: &str) -> Key {
    Key::new(name).unwrap()
}

fn server() -> Server {
    let server = Server::start(Kind::default().web("web"));
    server.put("web", "x/a", content(0, 1000));
    server.put("web", "x/empty", "");
    server.put("web", "x/odd é %?#/k", "odd");
    server
}

#[test]
fn single_reads() {
    let server = server();
    for (fault, ranges) in [(None, true), (Some(Fault::RangeIgnored), false), (Some(Fault::Chunked), true)] {
        server.no_faults();
        if let Some(fault) = fault.clone() {
            server.fault(Rule::new(fault));
        }
        let (map, all) = (map(&server, &patience()), content(0, 1000));
        if ranges || fault.is_none() {
            assert_eq!(map.len(&key("a")).unwrap(), Some(1000), "{fault:?}");
            assert_eq!(map.len(&key("none")).unwrap(), None);
        }
        assert_eq!(map.len(&key("empty")).unwrap(), Some(0), "{fault:?}");
        assert!(map.exists(&key("empty")).unwrap() && !map.exists(&key("b")).unwrap());
        let mut bytes = Vec::new();
        for (range, expected) in [
            (ByteRange::ALL, &all[..]),
            (ByteRange::first(10), &all[..10]),
            (ByteRange::new(990, 40), &all[990..]),
            (ByteRange { offset: 400, len: None }, &all[400..]),
            (ByteRange::new(1000, 5), &[]),
            (ByteRange::new(5000, 5), &[]),
            (ByteRange::new(5, 0), &[]),
        ] {
            assert!(map.read(&key("a"), range, &mut bytes).unwrap(), "{fault:?} {range:?}");
            assert_eq!(bytes, expected, "{fault:?} {range:?}");
            assert!(!map.read(&key("b"), range, &mut bytes).unwrap());
        }
        assert!(map.read(&key("odd é %?#/k"), ByteRange::ALL, &mut bytes).unwrap());
        assert_eq!(bytes, b"odd");
    }
}

#[test]
fn nothing_is_written_or_listed() {
    let server = server();
    let map = map(&server, &patience());
    assert_eq!(map.children(&Key::root()).unwrap_err().kind(), ErrorKind::Perm);
    // Both have an answer without a listing.
    assert_eq!(map.invalid_names(&Key::root()).unwrap(), [] as [String; 0]);
    assert!(map.keys_in_one_request(&Key::root()).unwrap().is_none());
    assert_eq!(map.keys(&Key::root()).unwrap_err().kind(), ErrorKind::Perm);
    assert_eq!(map.write(&key("a"), b"new").unwrap_err().kind(), ErrorKind::Perm);
    assert_eq!(map.delete(&key("a")).unwrap_err().kind(), ErrorKind::Perm);
    assert!(map.caps().remote && map.caps().range_read && !map.caps().write && !map.caps().list);
    assert_eq!(server.counts().total(), 0);
}

#[test]
fn a_batch_is_one_request_for_each_and_many_at_once() {
    let server = Server::start(Kind::default().web("web").latency(Duration::from_millis(20)));
    let names: Vec<String> = (0..200).map(|number| format!("c/{number}")).collect();
    for (number, name) in names.iter().enumerate().filter(|(number, _)| number % 10 != 9) {
        server.put("web", &format!("x/{name}"), content(number, 500 + number));
    }
    let wanted: Vec<_> = names.iter().map(|name| (name.clone(), Ranges::All)).collect();
    let mut config = patience();
    config.idle = Duration::from_secs(10);
    let found = batch(&map(&server, &config), &wanted, 10_000);
    for (number, found) in found.into_iter().enumerate() {
        let expected = (number % 10 != 9).then(|| content(number, 500 + number));
        assert_eq!(found.unwrap(), expected, "{number}");
    }
    let counts = server.counts();
    assert_eq!(counts.total(), 200);
    assert!((8..=config.requests).contains(&counts.at_once), "{}", counts.at_once);
}

#[test]
fn requests_in_flight_are_bounded() {
    let server = Server::start(Kind::default().web("web").latency(Duration::from_millis(5)));
    (0..40).for_each(|number| server.put("web", &format!("x/{number}"), content(number, 1000)));
    let wanted: Vec<_> = (0..40).map(|number| (number.to_string(), Ranges::All)).collect();
    for (requests, bytes, most) in [(3, u64::MAX, 3), (100, 1, 1), (100, 5000, 5)] {
        server.clear_log();
        let mut config = patience();
        (config.requests, config.bytes, config.idle) = (requests, bytes, Duration::from_secs(10));
        for (number, found) in batch(&map(&server, &config), &wanted, 2000).into_iter().enumerate() {
            assert_eq!(found.unwrap(), Some(content(number, 1000)));
        }
        assert!(server.counts().at_once <= most, "{} > {most}", server.counts().at_once);
    }
}

#[test]
fn ranges_that_are_near_are_one_request() {
    let server = server();
    let all = content(7, 1_000_000);
    server.put("web", "x/long", all.clone());
    let part = ByteRange::new;
    let list = |parts: &[ByteRange]| Ranges::List(Arc::from(parts));
    let map = map(&server, &patience());
    for (ranges, expected, requests) in [
        (
            list(&[part(10, 5), part(0, 3), part(20_000, 2)]),
            [&all[10..15], &all[..3], &all[20_000..20_002]].concat(),
            1,
        ),
        (list(&[part(0, 3), part(500_000, 4)]), [&all[..3], &all[500_000..500_004]].concat(), 2),
        (list(&[part(4, 0)]), Vec::new(), 1),
        (
            Ranges::Strided { first: part(100, 2), step: 200_000, count: 4 },
            [100, 200_100, 400_100, 600_100].iter().flat_map(|&at| all[at..at + 2].to_vec()).collect(),
            4,
        ),
        (Ranges::Suffix(10), all[999_990..].to_vec(), 1),
        (Ranges::Suffix(0), Vec::new(), 1),
        (Ranges::One(part(999_000, 5000)), all[999_000..].to_vec(), 1),
        (Ranges::One(ByteRange { offset: 999_000, len: None }), all[999_000..].to_vec(), 1),
    ] {
        server.clear_log();
        let found = batch(&map, &[("long".to_owned(), ranges.clone())], 10_000).remove(0).unwrap();
        assert_eq!(found.unwrap(), expected, "{ranges:?}");
        assert_eq!(server.counts().total(), requests, "{ranges:?}");
        let absent = batch(&map, &[("none".to_owned(), ranges.clone())], 10_000).remove(0);
        assert_eq!(absent.unwrap(), None, "{ranges:?}");
    }
    // A missing part is an error, and so is a file that exceeds the limit.
    for (ranges, limit) in
        [(list(&[part(0, 3), part(999_999, 4)]), 100), (Ranges::All, 100), (list(&[part(0, 300)]), 100)]
    {
        let error = batch(&map, &[("long".to_owned(), ranges.clone())], limit).remove(0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{ranges:?}: {error}");
    }
}

#[test]
fn parts_are_of_one_state() {
    let server = server();
    server.put("web", "x/long", content(7, 1_000_000));
    let parts = Arc::from([ByteRange::new(0, 3), ByteRange::new(500_000, 4)]);
    let wanted = [("long".to_owned(), Ranges::List(parts))];
    let map = map(&server, &patience());
    // Replaced once: read again, in the new state.
    server.fault(Rule::new(Fault::Replaced).after(1).times(1));
    let found = batch(&map, &wanted, 100).remove(0).unwrap().unwrap();
    let now = server.get("web", "x/long").unwrap();
    assert_eq!(found, [&now[..3], &now[500_000..500_004]].concat());
    assert_eq!(server.counts().total(), 4);
    // Replaced repeatedly: an error.
    server.no_faults();
    server.fault(Rule::new(Fault::Replaced));
    let error = batch(&map, &wanted, 100).remove(0).unwrap_err();
    assert!(error.to_string().contains("changed"), "{error}");
}

#[test]
fn redirects_are_followed_and_limited() {
    let (server, other) = (server(), Server::start(Kind::default().web("web")));
    other.put("web", "there", "bytes of the other");
    let mut bytes = Vec::new();
    let map = map(&server, &patience());
    for status in [301, 302, 303, 307, 308] {
        server.fault(Rule::new(Fault::Redirect(status, format!("{}/web/there", other.url()))).times(1));
        assert!(map.read(&key("a"), ByteRange::ALL, &mut bytes).unwrap());
        assert_eq!(bytes, b"bytes of the other");
    }
    server.fault(Rule::new(Fault::Redirect(302, "a".to_owned())));
    let error = map.read(&key("a"), ByteRange::ALL, &mut bytes).unwrap_err();
    assert!(error.to_string().contains("more than 10 redirects"), "{error}");
    assert_eq!(server.counts().total(), 5 + 11);
    for location in ["http://169.254.169.254/latest/meta-data", "http://[fe80::1]/x", "file:///etc/passwd"] {
        server.no_faults();
        server.fault(Rule::new(Fault::Redirect(302, location.to_owned())));
        map.read(&key("a"), ByteRange::ALL, &mut bytes).unwrap_err();
    }
}

#[test]
fn credentials_are_not_sent_to_another_host() {
    let (server, other) = (server(), Server::start(Kind::default().web("web")));
    other.put("web", "there", "bytes");
    let url = format!("http://me:hush@{}/web/x", server.host());
    let map = nczarr_zmap_http::HttpMap::new(&nczarr_url_infer::parse(&url).unwrap(), &patience()).unwrap();
    let mut bytes = Vec::new();
    server.fault(Rule::new(Fault::Redirect(302, format!("{}/web/there", other.url()))).times(1));
    assert!(map.read(&key("a"), ByteRange::ALL, &mut bytes).unwrap());
    server.fault(Rule::new(Fault::Redirect(302, "/web/x/empty".to_owned())).times(1));
    assert!(map.read(&key("a"), ByteRange::ALL, &mut bytes).unwrap());
    assert!(server.log().iter().all(|entry| entry.header("authorization") == Some("Basic bWU6aHVzaA==")));
    assert_eq!((server.counts().total(), other.counts().total()), (3, 1));
    assert_eq!(other.log()[0].header("authorization"), None);
}
