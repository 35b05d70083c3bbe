//! `ncz gen`, `copy` and `map put` to a server without conditional writes.
//!
//! `NCZ_S3_UNCONDITIONAL` may name another such server, with its keys: `http://id:secret@host:port`.

use s3_server::{Config, Fault, Rule, Server};

use crate::{failure, ncz, out, text};

const CDL: &str = "netcdf a { dimensions: x = 4; t = UNLIMITED; variables: int v(x); v:_ChunkSizes = 3; double r(t); \
                   data: v = 1, 2, 3, 4; r = 5, 6; }";

/// The kinds of store, with the flags of a copy.
const KINDS: [(&str, &[&str]); 7] = [
    ("nczarr", &[]),
    ("nczarr,v3", &[]),
    ("nczarr,consolidated", &[]),
    ("zarr", &[]),
    ("zarr,v3", &[]),
    ("zarr,v3,consolidated", &[]),
    ("zarr,v3", &["--shards", "64M"]),
];

#[test]
fn an_exclusive_user_writes_with_gen_and_copy() {
    if !out(&["plugins"]).lines().any(|line| line.starts_with("map           s3")) {
        return;
    }
    let own = Server::start(Config::default());
    own.fault(Rule::new(Fault::Unconditional));
    let endpoint =
        std::env::var("NCZ_S3_UNCONDITIONAL").unwrap_or(format!("http://key:secret@{}", own.host()));
    let folder = tempfile::tempdir().unwrap();
    let (cdl, local) = (folder.path().join("a.cdl"), folder.path().join("a.zarr"));
    std::fs::write(&cdl, CDL).unwrap();
    let (cdl, local) = (text(&cdl).to_owned(), text(&local).to_owned());
    out(&["gen", "-o", &local, &cdl]);
    let dump = |url: &str| out(&["dump", "-n", "a", url]);
    let is_whole = |url: &str| ["v = 1, 2, 3, 4 ;", "r = 5, 6 ;"].iter().all(|data| dump(url).contains(data));
    for (number, (kind, flags)) in KINDS.into_iter().enumerate() {
        let at = format!("{endpoint}/bucket/cli{number}-{}#mode={kind},s3", std::process::id());
        let copy = |more: &[&'static str]| {
            let words = ["copy"].into_iter().chain(flags.iter().copied()).chain(more.iter().copied());
            words.chain([local.as_str(), at.as_str()]).map(str::to_owned).collect::<Vec<_>>()
        };
        for args in [
            vec!["gen".to_owned(), "-o".to_owned(), at.clone(), cdl.clone()],
            copy(&[]),
            copy(&["--clobber"]),
            copy(&["--resume"]),
            vec!["map".to_owned(), "put".to_owned(), at.clone(), "key".to_owned(), cdl.clone()],
        ] {
            let (code, message) = failure(&args.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(
                code == 1 && message.contains("--exclusive") && !message.contains("secret"),
                "{args:?}: {message}"
            );
            assert_eq!(out(&["map", "ls", "-r", &at]), "", "{args:?}");
        }
        out(&["gen", "--exclusive", "-o", &at, &cdl]);
        assert!(is_whole(&at), "{kind}: {}", dump(&at));
        for more in [&["--exclusive", "--clobber"][..], &["--exclusive", "--clobber", "--resume"]] {
            let args = copy(more);
            out(&args.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(is_whole(&at), "{kind}: {}", dump(&at));
        }
        out(&["map", "put", "--exclusive", &at, "other", &cdl]);
        assert_eq!(out(&["map", "cat", &at, "other"]), CDL);
        out(&["map", "rm", &at, "other"]);
        out(&["rm", &at]);
        // The rc file works too.
        let rc = folder.path().join("rc");
        std::fs::write(&rc, "ZARR.EXCLUSIVE=true\n").unwrap();
        let output = ncz().env("NCRCENV_RC", &rc).args(["gen", "-o", &at, &cdl]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(is_whole(&at), "{kind}: {}", dump(&at));
        out(&["rm", &at]);
    }
    assert_eq!(own.keys("bucket"), [""; 0]);
}

/// The name of a file implies one writer.
#[test]
fn a_store_does_not_get_the_name_of_a_file() {
    if !out(&["plugins"]).lines().any(|line| line.starts_with("map           s3")) {
        return;
    }
    let server = Server::start(Config::default());
    let folder = tempfile::tempdir().unwrap();
    let cdl = folder.path().join("a.cdl");
    std::fs::write(&cdl, CDL).unwrap();
    let (cdl, local) = (text(&cdl).to_owned(), text(&folder.path().join("a.nc")).to_owned());
    out(&["gen", "-o", &local, &cdl]);
    for ending in ["nc", "nc4", "cdf", "h5", "zip", "NC"] {
        let at = format!("http://key:secret@{}/bucket/case.{ending}#mode=s3", server.host());
        for args in [["gen", "-o", &at, &cdl], ["copy", "--clobber", &local, &at]] {
            let (code, message) = failure(&args);
            assert!(code == 1 && message.contains("#mode=nczarr"), "{args:?}: {message}");
            assert_eq!(server.keys("bucket"), [""; 0], "{args:?}");
        }
    }
    // The promise allows it.
    let at = format!("http://key:secret@{}/bucket/case.nc#mode=nczarr,s3", server.host());
    out(&["copy", &local, &at]);
    assert!(server.keys("bucket").contains(&"case.nc/.zgroup".to_owned()));
    let at = format!("http://key:secret@{}/bucket/case.nc#mode=s3", server.host());
    assert!(out(&["dump", &at]).contains("v = 1, 2, 3, 4 ;"));
}

/// A web server that answers 403 for chunks that do not exist.
#[test]
fn an_rc_file_says_that_forbidden_keys_are_absent() {
    if !out(&["plugins"]).lines().any(|line| line.starts_with("map           http")) {
        return;
    }
    let server = Server::start(Config::default().web("web").unlisted("web"));
    let folder = tempfile::tempdir().unwrap();
    let (cdl, local, rc) =
        (folder.path().join("a.cdl"), folder.path().join("a.zarr"), folder.path().join("rc"));
    std::fs::write(&cdl, "netcdf a { dimensions: x = 4; variables: int v(x); v:_FillValue = -7; }").unwrap();
    out(&["gen", "-o", text(&local), text(&cdl)]);
    for entry in ["zarr.json", ".zgroup", ".zattrs", "v/.zarray", "v/.zattrs"] {
        if let Ok(bytes) = std::fs::read(local.join(entry)) {
            server.put("web", &format!("a.zarr/{entry}"), bytes);
        }
    }
    let url = format!("{}/web/a.zarr", server.url());
    let (code, message) = failure(&["dump", &url]);
    assert!(code == 1 && message.contains("forbidden=absent"), "{message}");
    std::fs::write(&rc, format!("[{}/web]ZARR.FORBIDDEN=absent\n", server.url())).unwrap();
    let output = ncz().env("NCRCENV_RC", &rc).args(["dump", &url]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && message.contains("v = _, _, _, _ ;"), "{message}");
    assert!(out(&["dump", "-n", "a", &format!("{url}#forbidden=absent")]).contains("_, _, _, _"));
}

/// Every command that reads, where listing is not allowed.
#[test]
fn commands_read_stores_that_forbid_listing() {
    let maps = out(&["plugins"]);
    if !["s3", "http"]
        .iter()
        .all(|map| maps.lines().any(|line| line.starts_with(&format!("map           {map}"))))
    {
        return;
    }
    let server = Server::start(Config::default().web("web").unlisted("web").unlisted("bucket"));
    let folder = tempfile::tempdir().unwrap();
    let cdl = folder.path().join("a.cdl");
    std::fs::write(&cdl, CDL).unwrap();
    for (number, kind) in
        ["nczarr", "nczarr,v3", "zarr,consolidated", "zarr,v3,consolidated"].into_iter().enumerate()
    {
        let local = folder.path().join(format!("a{number}.zarr"));
        out(&["gen", "-o", &format!("{}#mode={kind},file", text(&local)), text(&cdl)]);
        put(&server, &local, &format!("a{number}.zarr"));
        let expected = out(&["dump", "-n", "a", text(&local)]);
        for url in [
            format!("{}/web/a{number}.zarr", server.url()),
            format!("http://key:secret@{}/bucket/a{number}.zarr#mode=s3", server.host()),
        ] {
            assert_eq!(out(&["dump", "-n", "a", &url]), expected, "{url}");
            assert!(!out(&["info", &url]).contains("fault"), "{url}");
            assert_eq!(out(&["diff", &url, text(&local)]), "", "{url}");
            let copy = folder.path().join("copy.zarr");
            out(&["copy", "--clobber", &url, text(&copy)]);
            assert_eq!(out(&["diff", text(&copy), text(&local)]), "", "{url}");
        }
    }
}

fn put(server: &Server, path: &std::path::Path, key: &str) {
    if path.is_file() {
        for bucket in ["web", "bucket"] {
            server.put(bucket, key, std::fs::read(path).unwrap());
        }
        return;
    }
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        put(server, &entry.path(), &format!("{key}/{}", entry.file_name().to_str().unwrap()));
    }
}
