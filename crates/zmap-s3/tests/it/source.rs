//! One object by ranges, and datasets that are one object, with request counts.

use std::path::Path;

use nczarr::{ErrorKind, Place, Result};
use nczarr_storage::ByteRange;
use nczarr_storage::source::{ByteSource as _, InitialRead};
use nczarr_zmap_s3::S3Source;
use s3_server::{Config, Fault, Op, Rule, Server, content};

use crate::common::access;

#[test]
fn an_object_is_read_in_parts() {
    let server = Server::start(Config::default());
    let all = content(1, 20_000_000);
    server.put("bucket", "f", all.clone());
    for (part, prefetched_range) in
        [(InitialRead::Head(1000), 0..1000), (InitialRead::Tail(1000), 19_999_000..20_000_000)]
    {
        server.clear_log();
        let source = S3Source::open(access(&server, "f"), part).unwrap();
        assert_eq!(source.len(), 20_000_000);
        assert_eq!(
            source.read(ByteRange::new(prefetched_range.start as u64, 1000)).unwrap(),
            all[prefetched_range]
        );
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
            assert_eq!(server.counts().of(Op::Get), server.counts().total());
        }
    }
    server.put("bucket", "empty", "");
    let source = S3Source::open(access(&server, "empty"), InitialRead::Tail(100)).unwrap();
    assert_eq!((source.len(), source.read(ByteRange::new(0, 10)).unwrap()), (0, Vec::new()));
    let none = S3Source::open(access(&server, "none"), InitialRead::Head(1)).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::NotFound, "{none}");
}

#[test]
fn an_object_that_changes_is_an_error() {
    for fault in [Fault::Replaced, Fault::Grown, Fault::Removed] {
        let server = Server::start(Config::default());
        server.put("bucket", "f", content(1, 20_000_000));
        let source = S3Source::open(access(&server, "f"), InitialRead::Head(1000)).unwrap();
        server.fault(Rule::new(fault.clone()).after(1).times(1));
        // The object changes from the second of three requests on.
        for range in [ByteRange::new(2000, 18_000_000), ByteRange::new(50_000, 10)] {
            let error = source.read(range).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{fault:?}: {error}");
            assert!(error.to_string().contains("changed"), "{fault:?}: {error}");
        }
    }
}

#[test]
fn one_object_by_every_kind_of_fault() {
    let all = content(1, 40_000);
    let (mut asked, mut right) = (0, 0);
    for fault in crate::campaign::faults() {
        let server = Server::start(Config::default());
        server.put("bucket", "f", all.clone());
        let mut access = access(&server, "f");
        access.retries.stall = std::time::Duration::from_millis(300);
        let source = S3Source::open(access, InitialRead::Tail(1000)).unwrap();
        server.fault(Rule::new(fault.clone()).chance(1, 300));
        for at in (0..39_000).step_by(3_000) {
            asked += 1;
            if let Ok(bytes) = source.read(ByteRange::new(at as u64, 1_000)) {
                assert!(bytes == all[at..at + 1_000], "{fault:?}: {at} is wrong");
                right += 1;
            }
        }
    }
    assert!(right * 2 > asked, "{right} of {asked}");
}

/// Makes a dataset of 128 chunks of 100 numbers at a path.
fn make(at: &str) -> Result<Vec<i32>> {
    let values: Vec<i32> = (0..12_800).map(|at| at * at - 7).collect();
    let file = nczarr::create(Place::url(at))?;
    file.add_dimension("x", 12_800)?;
    let v = file.add_variable::<i32>("v", &["x"])?;
    if !at.contains("cdf") {
        v.set_chunking(&[100])?;
    }
    v.put(&values, ..)?;
    file.close()?;
    Ok(values)
}

/// Counts the requests of opening and reading all of `v` of a file, stored as an object.
fn requests(path: &Path, name: &str, form: fn(&Server, &str) -> String, values: &[i32]) -> (u64, u64) {
    let server = Server::start(Config::default());
    server.put("bucket", &format!("dir/{name}"), std::fs::read(path).unwrap());
    let url = form(&server, name);
    let file = nczarr::open(&url).unwrap_or_else(|error| panic!("{name}: {error}"));
    let opened = server.counts().total();
    server.clear_log();
    assert_eq!(file.variable("v").unwrap().get_values::<i32>(..).unwrap(), values, "{name}");
    let counts = server.counts();
    assert_eq!(counts.of(Op::Get), counts.total(), "{name}: {counts:?}");
    let error = nczarr::OpenOptions::new().writable(true).open(&url).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Perm, "{name}: {error}");
    let missing = nczarr::open(url.replace("dir/", "none/")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{name}: {missing}");
    (opened, counts.total())
}

#[test]
fn archives_and_classic_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    for (made, name, form, opening, reading) in [
        (
            "#mode=zarr,zip",
            "z.zip",
            (|server: &Server, name: &str| {
                format!("http://key:secret@{}/bucket/dir/{name}#mode=zarr,zip,s3", server.host())
            }) as fn(&Server, &str) -> String,
            3,
            128,
        ),
        (
            "#mode=nczarr,zip",
            "n.zip",
            |server, name| {
                format!(
                    "s3://key:secret@bucket/dir/{name}#mode=zip&endpoint={}&aws.region=here",
                    server.url()
                )
            },
            3,
            128,
        ),
        (
            "#mode=nczarr,zip",
            "b.zip",
            |server, name| format!("http://key:secret@{}/bucket/dir/{name}#mode=bytes,s3", server.host()),
            4,
            128,
        ),
        (
            "#mode=cdf1",
            "c.nc",
            |server, name| format!("http://key:secret@{}/bucket/dir/{name}#mode=bytes,s3", server.host()),
            2,
            1,
        ),
        (
            "#mode=cdf5",
            "c5.nc",
            |server, name| format!("s3://key:secret@bucket/dir/{name}#mode=bytes&endpoint={}", server.url()),
            2,
            1,
        ),
    ] {
        let path = folder.path().join(name);
        let values = make(&format!("{}{made}", path.display())).unwrap();
        let (opened, read) = requests(&path, name, form, &values);
        println!("{name}: {opened} requests to open, {read} to read");
        assert!(opened <= opening && read <= reading, "{name}: {opened} {read}");
    }
}
