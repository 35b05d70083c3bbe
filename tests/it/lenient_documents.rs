//! Documents that zarr-python reads although they violate the specification: null, and values of another JSON
//! type.

use std::fs;
use std::path::Path;

use nczarr::File;

fn v2(store: &Path, dtype: &str, fill: &str) -> File {
    fs::create_dir_all(store.join("v")).unwrap();
    fs::write(store.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    let document = format!(
        r#"{{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "{dtype}", "fill_value": {fill}, "order": "C",
            "compressor": null, "filters": null}}"#
    );
    fs::write(store.join("v/.zarray"), document).unwrap();
    nczarr::open(store.to_str().unwrap()).unwrap()
}

fn v3(store: &Path, data_type: &str, fill: &str, more: &str) -> File {
    fs::create_dir_all(store.join("v")).unwrap();
    let group = format!(r#"{{"zarr_format": 3, "node_type": "group"{more}}}"#);
    fs::write(store.join("zarr.json"), group).unwrap();
    let document = format!(
        r#"{{"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "{data_type}", "fill_value": {fill},
            "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [2]}}}},
            "chunk_key_encoding": {{"name": "default", "configuration": null}},
            "codecs": [{{"name": "bytes", "configuration": {{"endian": "little"}}}}]{more}}}"#
    );
    fs::write(store.join("v/zarr.json"), document).unwrap();
    nczarr::open(store.to_str().unwrap()).unwrap()
}

#[test]
fn fill_values_of_another_json_type_are_read() {
    let folder = tempfile::tempdir().unwrap();
    // The values that zarr-python 3.4 reads.
    for (at, (v2_type, v3_type, fill, expected)) in [
        ("<i4", "int32", "\"-9999\"", -9999.0),
        ("<i4", "int32", "\" 7\"", 7.0),
        ("<i4", "int32", "true", 1.0),
        ("<i4", "int32", "false", 0.0),
        ("<i4", "int32", "2.0", 2.0),
        ("|u1", "uint8", "\"200\"", 200.0),
        ("|u1", "uint8", "true", 1.0),
        ("<f4", "float32", "\"-9999\"", -9999.0),
        ("<f4", "float32", "\"1.5\"", 1.5),
        ("<f8", "float64", "\"1e3\"", 1000.0),
        ("<f8", "float64", "true", 1.0),
        ("<f8", "float64", "\"-inf\"", f64::NEG_INFINITY),
        ("|b1", "bool", "1", 1.0),
        ("|b1", "bool", "2.0", 1.0),
        ("|b1", "bool", "0", 0.0),
    ]
    .into_iter()
    .enumerate()
    {
        let files = [
            v2(&folder.path().join(format!("{at}.v2")), v2_type, fill),
            v3(&folder.path().join(format!("{at}.v3")), v3_type, fill, ""),
        ];
        for file in files {
            let found = file.variable("v").unwrap().get_values::<f64>(..);
            let found = found.unwrap_or_else(|error| panic!("{v2_type} {fill}: {error}"));
            assert_eq!(found, [expected; 2], "{v2_type} {fill}");
        }
    }
    for fill in ["\"abc\"", "\"1.5\"", "{}", "[1, 2]", "\"0x10\""] {
        let file = v2(&folder.path().join("bad.v2"), "<i4", fill);
        assert!(file.variable("v").unwrap().get_values::<f64>(..).is_err(), "{fill}");
    }
}

#[test]
fn null_members_count_as_absent() {
    let folder = tempfile::tempdir().unwrap();
    for (at, more) in ["\"attributes\": null", "\"dimension_names\": null", "\"storage_transformers\": null"]
        .into_iter()
        .enumerate()
    {
        let store = folder.path().join(at.to_string());
        let group = if more.contains("attributes") { format!(", {more}") } else { String::new() };
        let file = v3(&store, "int32", "7", &group);
        assert!(file.attributes().is_empty(), "{more}");
        drop(file);
        let path = store.join("v/zarr.json");
        let text = fs::read_to_string(&path).unwrap();
        let text = text.trim_end().strip_suffix('}').unwrap();
        fs::write(&path, if group.is_empty() { format!("{text}, {more}}}") } else { format!("{text}}}") })
            .unwrap();
        let file = nczarr::open(store.to_str().unwrap()).unwrap();
        assert_eq!(file.variable("v").unwrap().get_values::<i32>(..).unwrap(), [7, 7], "{more}");
    }
    // The document of attributes is null as a whole.
    let store = folder.path().join("v2");
    v2(&store, "<i4", "7");
    for key in [".zattrs", "v/.zattrs"] {
        fs::write(store.join(key), "null").unwrap();
    }
    let file = nczarr::open(store.to_str().unwrap()).unwrap();
    assert_eq!(file.variable("v").unwrap().get_values::<i32>(..).unwrap(), [7, 7]);
}

#[test]
fn leniently_read_values_are_written_strictly() {
    let folder = tempfile::tempdir().unwrap();
    let file = v2(&folder.path().join("a"), "<i4", "\"-9999\"");
    let target = folder.path().join("b");
    let copy = nczarr::create(format!("file://{}#mode=zarr", target.display())).unwrap();
    copy.add_dimension("x", 2).unwrap();
    let fill = file.variable("v").unwrap().fill_value().unwrap();
    let variable = copy.add_variable::<i32>("v", &["x"]).unwrap();
    variable.set_fill(fill).unwrap();
    copy.close().unwrap();
    let document: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(target.join("v/.zarray")).unwrap()).unwrap();
    assert_eq!(document["fill_value"], serde_json::json!(-9999));
}
