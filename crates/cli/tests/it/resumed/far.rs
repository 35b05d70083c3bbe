//! Copies to a bucket.

use std::collections::BTreeMap;

use s3_server::{Config, Fault, Rule, Server};

use super::{Copy, args, folder, same, source, whole};
use crate::{failure, out, text};

/// A copy in a bucket is not a dataset until it is complete.
#[test]
fn a_remote_copy_resumes() {
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
            let ours =
                server.keys("bucket").into_iter().filter_map(|key| Some(key.strip_prefix(name)?.to_owned()));
            ours.map(|key| (key[1..].to_owned(), server.get("bucket", &format!("{name}{key}")).unwrap()))
                .collect()
        };
        let mut copy = Copy::start(&args(&[], &source, &url));
        assert_eq!(copy.records(blocks / 3), blocks / 3);
        copy.kill();
        let documents = |files: &BTreeMap<String, Vec<u8>>| {
            files.keys().filter(|key| key.contains(".z") || key.ends_with("zarr.json")).count()
        };
        assert!(documents(&stored()) == 0 && stored().contains_key(".ncz-copy"), "{:?}", stored().keys());
        let message = failure(&["info", &url]).1;
        assert!(message.contains("NC_ENOT"), "{message}");
        // The network fails.
        let mut copy = Copy::start(&args(&["--resume"], &source, &url));
        assert_eq!(copy.records(10), 10);
        server.fault(Rule::new(Fault::Status(403, "AccessDenied")));
        let (code, message) = copy.end();
        server.no_faults();
        assert!(
            code == Some(1) && message.contains("run the same command with --resume to continue"),
            "{message}"
        );
        assert!(!message.contains("secret"), "{message}");
        let (code, message) = failure(&["copy", "-c", "y/3,x/7", &source, &url]);
        assert!(code == 1 && message.contains("an unfinished copy is there"), "{message}");
        out(&["copy", "-c", "y/3,x/7", "--resume", &source, &url]);
        let found = stored();
        assert!(found == expected, "{:?}", found.keys());
    }
}

/// With two copies to one place, the later one continues; the other stops, and removes nothing.
#[test]
fn concurrent_copies_to_one_target_delete_nothing() {
    let folder = folder();
    let source = source(folder.path());
    let (blocks, expected) = whole(folder.path(), &source, &[], "");
    let target = folder.path().join("copy.zarr");
    std::fs::create_dir(&target).unwrap();
    let flags = |jobs: &'static str| args(&["--resume", "--jobs", jobs], &source, text(&target));
    // A copy that has written nothing resumable yet.
    let first = Copy::start(&["copy", "--memory", "700", "-c", "y/3,x/7", &source, text(&target)]);
    drop(first.end());
    same(&target, &expected, "one copy");
    std::fs::remove_dir_all(&target).unwrap();
    std::fs::create_dir(&target).unwrap();
    let mut first = Copy::start(&flags("1"));
    assert_eq!(first.records(10), 10);
    let mut second = Copy::start(&flags("2"));
    assert_eq!(second.records(5), 5);
    let (code, message) = first.end();
    assert!(code == Some(1) && message.contains("another copy writes there"), "{message}");
    assert_eq!(second.end().0, Some(0));
    same(&target, &expected, &format!("{blocks} blocks"));
}

/// An existing partial copy stays, even if it was empty and the resuming copy fails at once.
#[test]
fn an_existing_partial_copy_stays() {
    let folder = folder();
    let source = source(folder.path());
    let (_, expected) = whole(folder.path(), &source, &[], "");
    let target = folder.path().join("copy.zarr");
    std::fs::create_dir(&target).unwrap();
    let mut first = Copy::start(&args(&[], &source, text(&target)));
    assert_eq!(first.records(40), 40);
    first.kill();
    let record = target.join(".ncz-copy");
    let written = std::fs::read_to_string(&record).unwrap();
    let mut nothing: Vec<String> = written.lines().map(str::to_owned).collect();
    for line in &mut nothing {
        for name in ["blocks", "variables"] {
            if line.starts_with(&format!("  \"{name}\": ")) {
                *line = format!("  \"{name}\": 0{}", if line.ends_with(',') { "," } else { "" });
            }
        }
    }
    std::fs::write(&record, nothing.join("\n")).unwrap();
    // An object's key is the prefix of another object.
    let held = target.join("plain/0.0");
    std::fs::remove_file(&held).unwrap();
    std::fs::create_dir(&held).unwrap();
    std::fs::write(held.join("x"), b"x").unwrap();
    // A process killed while it writes the record leaves a temporary one, which the next copy removes.
    let passing = |name: &String| name == ".nczarr-lock" || name.starts_with(".ncz-copy.new-");
    let files =
        || crate::copy_place::files(&target).into_keys().filter(|name| !passing(name)).collect::<Vec<_>>();
    let before = files();
    let dry = out(&["copy", "-c", "y/3,x/7", "--clobber", "--dry-run", &source, text(&target)]);
    assert!(dry.contains("bytes in all") && files() == before);
    let (code, message) = failure(&[
        "copy",
        "-c",
        "y/3,x/7",
        "--resume",
        &source,
        &format!("{}#dimension_separator=/", text(&target)),
    ]);
    assert!(code == 1 && message.contains("dimension_separator=/"), "{message}");
    let (code, message) = failure(&["copy", "-c", "y/3,x/7", "--resume", &source, text(&target)]);
    assert!(code == 1 && message.contains("plain/0.0"), "{message}");
    assert_eq!(files(), before, "{message}");
    std::fs::remove_dir_all(&held).unwrap();
    out(&["copy", "-c", "y/3,x/7", "--resume", &source, text(&target)]);
    same(&target, &expected, "");
}
