//! Copies to a bucket.

use std::collections::BTreeMap;

use s3_server::{Config, Fault, Rule, Server};

use super::{Copy, args, folder, source, whole};
use crate::{failure, out};

/// Nothing of a copy in a bucket is a dataset before all of it is there.
#[test]
fn a_copy_far_away_goes_on() {
    if !out(&["plugins"]).lines().any(|line| line.starts_with("map           s3")) {
        return;
    }
    let folder = folder();
    let source = source(folder.path());
    let server = Server::start(Config::default());
    for (name, mode) in [("v2", "nczarr"), ("v3", "zarr,v3")] {
        let (blocks, expected) = whole(folder.path(), &source, &[], &format!("#mode={mode}"));
        let url = format!("http://key:secret@{}/bucket/{name}#mode={mode},s3", server.host());
        let stored = || -> BTreeMap<String, Vec<u8>> {
            let ours = server.keys("bucket").into_iter().filter_map(|key| Some(key.strip_prefix(name)?.to_owned()));
            ours.map(|key| (key[1..].to_owned(), server.get("bucket", &format!("{name}{key}")).unwrap())).collect()
        };
        let mut copy = Copy::start(&args(&[], &source, &url));
        assert_eq!(copy.records(blocks / 3), blocks / 3);
        copy.kill();
        let documents = |files: &BTreeMap<String, Vec<u8>>| {
            files.keys().filter(|key| key.contains(".z") || key.ends_with("zarr.json")).count()
        };
        assert!(documents(&stored()) == 0 && stored().contains_key(".ncz-copy"), "{:?}", stored().keys());
        let told = failure(&["info", &url]).1;
        assert!(told.contains("NC_ENOT"), "{told}");
        // The network goes.
        let mut copy = Copy::start(&args(&["--resume"], &source, &url));
        assert_eq!(copy.records(10), 10);
        server.fault(Rule::new(Fault::Status(403, "AccessDenied")));
        let (code, told) = copy.end();
        server.no_faults();
        assert!(code == Some(1) && told.contains("the same command with --resume goes on from there"), "{told}");
        assert!(!told.contains("secret"), "{told}");
        let (code, told) = failure(&["copy", "-c", "y/3,x/7", &source, &url]);
        assert!(code == 1 && told.contains("half of a copy is there"), "{told}");
        out(&["copy", "-c", "y/3,x/7", "--resume", &source, &url]);
        let found = stored();
        assert!(found == expected, "{:?}", found.keys());
    }
}
