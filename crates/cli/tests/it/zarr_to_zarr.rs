//! Copies from Zarr to Zarr: other readers accept them, and they contain no additions.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{out, run, text};

fn put(store: &Path, key: &str, bytes: impl AsRef<[u8]>) {
    let path = store.join(key);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Copies a store; returns the documents of the variable, and the report.
fn copied(store: &Path, mode: &str) -> (Value, String) {
    let target = store.with_extension("copy");
    let _ = fs::remove_dir_all(&target);
    let output = run(["copy", text(store), &format!("file://{}#mode={mode}", target.display())]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{mode}: {said}");
    let name = if mode.contains("v3") { "v/zarr.json" } else { "v/.zarray" };
    (serde_json::from_str(&fs::read_to_string(target.join(name)).unwrap()).unwrap(), said)
}

#[test]
fn packbits_is_not_written_for_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("a.zarr");
    put(&store, ".zgroup", r#"{"zarr_format": 2}"#);
    let array = r#"{"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "|b1", "fill_value": false, "order": "C",
        "compressor": null, "filters": [{"id": "packbits"}]}"#;
    put(&store, "v/.zarray", array);
    put(&store, "v/0", [4, 0b1011_0000]);
    for mode in ["zarr", "nczarr", "zarr,v3", "nczarr,v3"] {
        let (document, said) = copied(&store, mode);
        assert!(!document.to_string().contains("packbits"), "{mode}: {document}");
        assert!(said.contains("filters") && said.contains("packbits"), "{mode}: {said}");
        assert!(out(&["dump", text(&store.with_extension("copy"))]).contains("v = 1, 0, 1, 1 ;"), "{mode}");
    }
}

#[test]
fn strings_of_any_length_get_no_attribute_of_a_width() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("a.zarr");
    put(&store, "zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#);
    let array = r#"{"zarr_format": 3, "node_type": "array", "shape": [2], "fill_value": "",
        "data_type": {"name": "fixed_length_utf32", "configuration": {"length_bytes": 12}},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}]}"#;
    put(&store, "v/zarr.json", array.replace("{\"name\": \"bytes\"}", LITTLE));
    let stored: Vec<u8> =
        ["abc", "ü\0\0"].concat().chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    put(&store, "v/c/0", stored);
    for mode in ["zarr,v3", "nczarr,v3"] {
        let (document, _) = copied(&store, mode);
        assert!(!document.to_string().contains("maxstrlen"), "{mode}: {document}");
        let target = store.with_extension("copy");
        assert_eq!(out(&["diff", text(&store), text(&target)]), "", "{mode}");
    }
}

const LITTLE: &str = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;

#[test]
fn codecs_that_cast_are_kept_in_version_3() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("a.zarr");
    put(&store, "zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#);
    let casts = r#"{"name": "scale_offset", "configuration": {"offset": -0.5, "scale": 10}},
        {"name": "cast_value", "configuration": {"data_type": "uint8", "rounding": "nearest-even", "out_of_range": "clamp"}},
        {"name": "bytes", "configuration": {"endian": "little"}}"#;
    let array = r#"{"zarr_format": 3, "node_type": "array", "shape": [4], "fill_value": 0.0, "data_type": "float64",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": [CASTS]}"#;
    put(&store, "v/zarr.json", array.replace("CASTS", casts));
    put(&store, "v/c/0", [0, 5, 10, 255]);
    let (document, said) = copied(&store, "zarr,v3");
    let codecs: Value = serde_json::from_str(&format!("[{casts}]")).unwrap();
    assert_eq!((&document["codecs"], said.as_str()), (&codecs, ""));
    let target = store.with_extension("copy");
    assert!(out(&["dump", text(&target)]).contains("v = -0.5, 0, 0.5, 25 ;"));
    for mode in ["zarr", "nczarr"] {
        let (document, said) = copied(&store, mode);
        assert!(!document.to_string().contains("cast"), "{document}");
        assert!(said.contains("cast_value") && said.contains("scale_offset"), "{said}");
        assert!(out(&["dump", text(&target)]).contains("v = -0.5, 0, 0.5, 25 ;"), "{mode}");
    }
}

#[test]
fn records_with_types_of_their_own_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("a.zarr");
    put(&store, "zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#);
    let array = r#"{"zarr_format": 3, "node_type": "array", "shape": [1],
        "fill_value": {"when": 0, "n": 0, "t": false},
        "data_type": {"name": "struct", "configuration": {"fields": [
            {"name": "when", "data_type": {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}},
            {"name": "n", "data_type": "int32"}, {"name": "t", "data_type": "bool"}]}},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": [LITTLE]}"#;
    put(&store, "v/zarr.json", array.replace("LITTLE", LITTLE));
    put(&store, "v/c/0", [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1]);
    for (target, mode) in [("a.v2", "zarr"), ("a.ncz", "nczarr"), ("a.nc4", "")] {
        let path = folder.path().join(target);
        let url = match mode {
            "" => text(&path).to_owned(),
            mode => format!("file://{}#mode={mode}", path.display()),
        };
        let kind: &[&str] = if mode.is_empty() { &["-k", "netCDF-4"] } else { &[] };
        let output = run([&["copy"], kind, &[text(&store), &url]].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{target}: {said}");
        assert!(
            said.contains("stored type") && said.contains("M8[s]") && said.contains("/v"),
            "{target}: {said}"
        );
    }
}

/// The array of records with fields of every kind, as zarr-python writes it.
const STRUCT_FIELDS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/reports/struct-fields.zarr");

fn document(store: &Path, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(store.join(name).join("zarr.json")).unwrap()).unwrap()
}

/// Copies a store to Zarr V3; the report is empty, and readers see the same data.
fn copied_to_v3(source: &Path, target: &Path) {
    let _ = fs::remove_dir_all(target);
    let output = run(["copy", text(source), &format!("file://{}#mode=zarr,v3", target.display())]);
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(out(&["diff", text(source), text(target)]), "");
}

#[test]
fn records_keep_the_types_of_their_fields_in_version_3() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (Path::new(STRUCT_FIELDS), folder.path().join("copy.zarr"));
    copied_to_v3(source, &target);
    for name in ["rec", "recbig", "rectime"] {
        let (from, to) = (document(source, name), document(&target, name));
        for member in ["data_type", "codecs", "shape", "chunk_grid"] {
            assert_eq!(to[member], from[member], "{name}: {member}");
        }
    }
    let fill = &document(&target, "rectime")["fill_value"];
    let expected = r#"{"when": 0, "dur": 0, "u": "", "c": [0.0, 0.0], "h": 0.0, "t": false}"#;
    assert_eq!(*fill, serde_json::from_str::<Value>(expected).unwrap());
}

/// An array of two records; the second is absent.
const RECORDS: &str = r#"{"zarr_format": 3, "node_type": "array", "shape": [2],
    "fill_value": {"when": -7, "in": {"u": "ü", "h": "NaN"}, "t": true},
    "data_type": {"name": "struct", "configuration": {"fields": [
        {"name": "when", "data_type": {"name": "numpy.datetime64", "configuration": {"unit": "m", "scale_factor": 15}}},
        {"name": "in", "data_type": {"name": "struct", "configuration": {"fields": [
            {"name": "u", "data_type": {"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}}},
            {"name": "h", "data_type": "float16"}]}}},
        {"name": "t", "data_type": "bool"}]}},
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "codecs": [ORDER]}"#;

#[test]
fn records_keep_their_byte_order_and_fill_value_in_version_3() {
    let stored = [0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 97, 0, 1, 0xf6, 0, 0x3c, 0, 1];
    let fill = [255, 255, 255, 255, 255, 255, 255, 249, 0, 0, 0, 0xfc, 0, 0, 0, 0, 0x7e, 0, 1];
    let in_order = |mut record: [u8; 19], order: &str| {
        if order == "little" {
            [0..8, 8..12, 12..16, 16..18].into_iter().for_each(|number| record[number].reverse());
        }
        record
    };
    let folder = tempfile::tempdir().unwrap();
    for order in ["big", "little"] {
        let (store, target) = (folder.path().join(order), folder.path().join(format!("{order}.copy")));
        put(&store, "zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#);
        put(&store, "v/zarr.json", RECORDS.replace("ORDER", &LITTLE.replace("little", order)));
        put(&store, "v/c/0", in_order(stored, order));
        copied_to_v3(&store, &target);
        let (from, to) = (document(&store, "v"), document(&target, "v"));
        for member in ["data_type", "codecs", "fill_value", "chunk_grid"] {
            assert_eq!(to[member], from[member], "{order}: {member}");
        }
        assert_eq!(fs::read(target.join("v/c/0")).unwrap(), in_order(stored, order), "{order}");
        // A chunk that was absent holds the fill value.
        assert_eq!(fs::read(target.join("v/c/1")).unwrap(), in_order(fill, order), "{order}");
    }
}

#[test]
fn records_of_the_older_name_keep_it_in_version_3() {
    let folder = tempfile::tempdir().unwrap();
    let (store, target) = (folder.path().join("a.zarr"), folder.path().join("b.zarr"));
    put(&store, "zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#);
    let array = r#"{"zarr_format": 3, "node_type": "array", "shape": [1], "fill_value": "YgAAAAE=",
        "data_type": {"name": "structured", "configuration": {"fields": [
            ["u", {"name": "fixed_length_utf32", "configuration": {"length_bytes": 4}}], ["t", "bool"]]}},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "codecs": [LITTLE]}"#;
    put(&store, "v/zarr.json", array.replace("LITTLE", LITTLE));
    put(&store, "v/c/0", [97, 0, 0, 0, 1]);
    copied_to_v3(&store, &target);
    let (from, to) = (document(&store, "v"), document(&target, "v"));
    for member in ["data_type", "codecs", "fill_value"] {
        assert_eq!(to[member], from[member], "{member}");
    }
    assert_eq!(fs::read(target.join("v/c/0")).unwrap(), [97, 0, 0, 0, 1]);
}
