//! Replacing datasets in buckets, except where they are the source.

use std::collections::BTreeMap;

use s3_server::{Config, Server};

use crate::{ncz, out, run, text};

const CDL: &str =
    "netcdf a { dimensions: x = 4; variables: int v(x); int w(x); data: v = 1, 2, 3, 4; w = 5, 6, 7, 8; }";

/// A server, unless this build lacks S3, and the text of a dataset in a file.
fn begin() -> Option<(Server, tempfile::TempDir, String)> {
    let has_s3 = out(&["plugins"]).lines().any(|line| line.starts_with("map           s3"));
    let folder = tempfile::tempdir().unwrap();
    let cdl = folder.path().join("a.cdl");
    std::fs::write(&cdl, CDL).unwrap();
    let cdl = text(&cdl).to_owned();
    has_s3.then(|| (Server::start(Config::default()), folder, cdl))
}

fn stored(server: &Server) -> BTreeMap<String, Vec<u8>> {
    let keys = server.keys("bucket").into_iter();
    keys.map(|key| (key.clone(), server.get("bucket", &key).unwrap())).collect()
}

#[test]
fn a_copy_onto_its_source_is_refused_under_any_url() {
    let Some((server, _folder, cdl)) = begin() else { return };
    let by_address = |key: &str| format!("http://key:secret@{}/bucket/{key}#mode=nczarr,s3", server.host());
    // An endpoint from another configuration, and another name of the same machine.
    let by_name = |key: &str| format!("s3://bucket/{key}#mode=nczarr,s3");
    let alias = |key: &str| by_address(key).replace("127.0.0.1", "localhost");
    for key in ["a.zarr", "a.zarr/inner"] {
        out(&["gen", "-o", &by_address(key), &cdl]);
    }
    let before = stored(&server);
    assert!(before.contains_key("a.zarr/inner/v/0"), "{:?}", before.keys());
    for (source, target) in [
        (by_address("a.zarr"), by_address("a.zarr")),
        (by_address("a.zarr"), by_address("a.zarr/")),
        (by_address("a.zarr/inner"), by_address("a.zarr")),
        (by_address("a.zarr"), by_address("a.zarr/inner")),
        (by_address("a.zarr"), by_address("a.zarr/new")),
        (by_address("a.zarr"), by_name("a.zarr")),
        (by_name("a.zarr/inner"), by_address("a.zarr")),
        (by_address("a.zarr"), by_name("a.zarr/inner")),
        (by_name("a.zarr"), by_name("a.zarr")),
        (alias("a.zarr"), by_address("a.zarr")),
        (by_address("a.zarr/inner"), alias("a.zarr")),
    ] {
        let output = ncz()
            .args(["copy", "--clobber", "-d", "5", &source, &target])
            .env("AWS_ENDPOINT_URL", format!("http://{}", server.host()))
            .env("AWS_ACCESS_KEY_ID", "key")
            .env("AWS_SECRET_ACCESS_KEY", "secret")
            .env("AWS_REGION", "us-east-1")
            .output()
            .unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{source} {target}: {message}");
        assert!(
            message.contains("source and target overlap") && !message.contains("secret"),
            "{source} {target}: {message}"
        );
        assert!(stored(&server) == before, "{source} {target}: {:?}", stored(&server).keys());
    }
    // A name with the same prefix is another place, and a target may be replaced.
    for _ in 0..2 {
        out(&["copy", "--clobber", &by_address("a.zarr/inner"), &by_address("a.zarr2")]);
        assert_eq!(
            out(&["dump", "-n", "a", &by_address("a.zarr2")]),
            out(&["dump", "-n", "a", &by_address("a.zarr/inner")])
        );
    }
    assert!(!stored(&server).keys().any(|key| key.contains(".ncz-copy")), "{:?}", stored(&server).keys());
}

#[test]
fn a_text_replaces_a_dataset() {
    let Some((server, _folder, cdl)) = begin() else { return };
    let url = format!("http://key:secret@{}/bucket/a.zarr#mode=nczarr,s3", server.host());
    out(&["gen", "-o", &url, &cdl]);
    let before = out(&["dump", "-n", "a", &url]);
    let refused = run(["gen", "-o", &url, &cdl]);
    assert_eq!(refused.status.code(), Some(1));
    std::fs::write(
        &cdl,
        CDL.replace("1, 2, 3, 4", "4, 3, 2, 1").replace("int w(x)", "int u(x)").replace("w =", "u ="),
    )
    .unwrap();
    assert_eq!(out(&["dump", "-n", "a", &url]), before);
    out(&["gen", "--clobber", "-o", &url, &cdl]);
    let after = out(&["dump", "-n", "a", &url]);
    assert!(after.contains("v = 4, 3, 2, 1 ;") && !after.contains('w'), "{after}");
}
