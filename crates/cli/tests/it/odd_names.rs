//! Every command reports nodes with control characters or invalid UTF-8 in their names.
#![cfg(unix)]

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::{out, run, text};

/// The group `line<NEWLINE>break`, and the arrays `sea<TAB>temp`, `ok`, and one with a name that is not
/// UTF-8.
const NODES: [(&[u8], bool); 5] = [
    (b"ok", true),
    (b"sea\ttemp", true),
    (b"line\nbreak", false),
    (b"line\nbreak/v", true),
    (b"bad\xff", true),
];
/// Their displayed forms.
const SHOWN: [&str; 3] = ["/sea\\ttemp", "/line\\nbreak", "/bad\\xff"];

fn document(v3: bool, array: bool) -> (&'static str, &'static str) {
    match (v3, array) {
        (true, false) => ("zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#),
        (true, true) => (
            "zarr.json",
            r#"{"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "int8", "fill_value": 0,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
                "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}]}"#,
        ),
        (false, false) => (".zgroup", r#"{"zarr_format": 2}"#),
        (false, true) => (
            ".zarray",
            r#"{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|i1", "fill_value": 0, "order": "C",
                "compressor": null, "filters": null}"#,
        ),
    }
}

/// A store in a directory, all nodes below `base`.
fn directory(store: &Path, base: &str, v3: bool) {
    for (name, array) in [(&b""[..], false)].into_iter().chain(NODES) {
        let folder = store.join(base).join(OsStr::from_bytes(name));
        fs::create_dir_all(&folder).unwrap();
        let (document, text) = document(v3, array);
        fs::write(folder.join(document), text).unwrap();
    }
    let (document, text) = document(v3, false);
    fs::write(store.join(document), text).unwrap();
}

/// The same in an archive.
fn archive(path: &Path, v3: bool) {
    let mut writer = ZipWriter::new(fs::File::create(path).unwrap());
    for (name, array) in [(&b""[..], false)].into_iter().chain(NODES) {
        let (document, text) = document(v3, array);
        // No writer here makes such names in archives; the other members suffice.
        let Ok(name) = std::str::from_utf8(name) else { continue };
        let name = if name.is_empty() { document.to_owned() } else { format!("{name}/{document}") };
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap();
}

/// Runs each command over a store.
fn look(url: &str, prefix: &str, shown: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<String> = shown.iter().map(|shown| format!("{prefix}{shown}")).collect();
    let info = out(&["info", url]);
    let listed = out(&["map", "ls", "-r", url]);
    let validated = run(["validate", url]);
    let report = String::from_utf8(validated.stdout).unwrap();
    assert_eq!(validated.status.code(), Some(0), "{url}: only warnings: {report}");
    for path in &paths {
        assert!(info.contains(path), "{url}: info: {path}: {info}");
        assert!(
            report.lines().any(|line| line.starts_with("warning") && line.contains(path)),
            "{url}: {path}: {report}"
        );
        assert!(listed.contains(path.trim_start_matches('/')), "{url}: {path}: {listed}");
    }
    let target = |name: &str| format!("file://{}#mode=zarr,v3", folder.path().join(name).display());
    let strict = run(["copy", "--strict", url, &target("strict")]);
    assert_eq!(strict.status.code(), Some(1), "{url}");
    let plain = run(["copy", url, &target("plain")]);
    assert_eq!(plain.status.code(), Some(0), "{url}");
    for output in [strict, plain] {
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(paths.iter().all(|path| said.contains(path)), "{url}: {said}");
    }
}

#[test]
fn every_command_reports_nodes_with_invalid_names() {
    for v3 in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("a.zarr");
        directory(&store, "", v3);
        look(text(&store), "", &SHOWN);
        let store = folder.path().join("inside.zarr");
        directory(&store, "g", v3);
        look(text(&store), "/g", &SHOWN);
        // In a folder that is not a node itself.
        let store = folder.path().join("hollow.zarr");
        directory(&store, "", v3);
        let deep = store.join("folder/deeper");
        fs::create_dir_all(&deep).unwrap();
        fs::rename(store.join("sea\ttemp"), deep.join("sea\ttemp")).unwrap();
        look(text(&store), "", &["/folder/deeper/sea\\ttemp", "/line\\nbreak"]);
        let packed = folder.path().join("a.zip");
        archive(&packed, v3);
        look(text(&packed), "", &SHOWN[..2]);
    }
}

#[test]
fn consolidated_metadata_of_such_names_opens() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("a.zarr");
    directory(&store, "", false);
    let all = format!(
        r#"{{"zarr_consolidated_format": 1, "metadata": {{".zgroup": {{"zarr_format": 2}}, "ok/.zarray": {0},
            "sea\ttemp/.zarray": {0}, "line\nbreak/.zgroup": {{"zarr_format": 2}}}}}}"#,
        document(false, true).1
    );
    fs::write(store.join(".zmetadata"), all).unwrap();
    assert!(out(&["dump", text(&store)]).contains("ok = 0, 0 ;"));
    let info = out(&["info", text(&store)]);
    for shown in SHOWN {
        assert_eq!(info.matches(shown).count(), 1, "{info}");
    }
}
