//! Targets in S3, and on a web server for reading.

use nczarr::Place;
use std::path::Path;

use nczarr_bench::{AccessPattern, BenchTarget};
use s3_server::{Config, Server};

use crate::small;

#[test]
fn a_bucket_is_a_target_and_stays_empty() {
    let server = Server::start(Config::default().anonymous("bucket"));
    let prefix = format!("{}/bucket/prefix#mode=nczarr,s3", server.url());
    let report = small().targets([prefix.as_str()]).run().unwrap();
    assert_eq!(report.rows[0].map.as_deref(), Some("s3"));
    assert_eq!(report.rows[0].measured.len(), AccessPattern::ALL.len());
    assert!(server.keys("bucket").is_empty(), "{:?}", server.keys("bucket"));
}

#[test]
fn a_web_server_is_a_target_for_reading() {
    let server = Server::start(Config::default().web("web"));
    let web = format!("{}/web/x.zarr", server.url());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.zarr");
    let file = nczarr::create(Place::url(format!("{}#mode=zarr,v3,consolidated", path.display()))).unwrap();
    file.add_dimension("time", 100).unwrap();
    let level = file.add_variable::<f64>("level", &["time"]).unwrap();
    level.set_chunking(&[20]).unwrap();
    level.set_filter("zstd", &[3]).unwrap();
    level.put(&(0..100).map(f64::from).collect::<Vec<_>>(), ..).unwrap();
    file.close().unwrap();
    upload(&server, dir.path(), &path);
    let before = server.keys("web");

    let existing = BenchTarget::existing(&web, Some("level"));
    let report = small().targets([web.as_str(), "mem"]).target(existing).run().unwrap();
    assert_eq!(server.keys("web"), before);
    let rows: Vec<_> = report.rows.iter().map(|row| (row.filters.as_str(), row.chunks.as_slice())).collect();
    assert_eq!(rows, [("zstd,3", &[20][..]), ("zstd,3", &[20]), ("none", &[2, 5, 9])]);
    let row = &report.rows[0];
    assert_eq!((row.map.as_deref(), row.bytes), (Some("http"), 800));
    assert!(row.get(AccessPattern::Write).is_none() && row.get(AccessPattern::Read).is_some());
    assert!(report.table().lines().any(|line| line.contains("x.zarr level") && line.contains("  -  ")));
}

/// Puts all files of a folder on the server.
fn upload(server: &Server, root: &Path, path: &Path) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            upload(server, root, &entry.unwrap().path());
        }
        return;
    }
    let key = path.strip_prefix(root).unwrap().to_str().unwrap();
    server.put("web", key, std::fs::read(path).unwrap());
}
