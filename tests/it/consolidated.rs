//! Consolidated metadata, through the facade.

use std::sync::Arc;

use nczarr::wrap::Counting;
use nczarr::{File, Limits, OpenOptions, Place, Values};
use nczarr_tests::plan::Plan;
use nczarr_tests::samples;
use serde_json::{Value, json};

struct Store(tempfile::TempDir);

impl Store {
    /// Makes a dataset of several groups in these modes.
    fn new(modes: &str) -> Self {
        let store = Self(tempfile::tempdir().unwrap());
        let (_, plan) = samples::all().into_iter().find(|(name, _)| *name == "groups").unwrap();
        plan.create(&store.url(modes)).unwrap();
        store
    }

    fn url(&self, modes: &str) -> String {
        format!("file://{}/a#mode={modes}", self.0.path().display())
    }

    fn document(&self, key: &str) -> Value {
        serde_json::from_str(&std::fs::read_to_string(self.0.path().join("a").join(key)).unwrap()).unwrap()
    }

    fn replace(&self, key: &str, document: &Value) {
        std::fs::write(self.0.path().join("a").join(key), document.to_string()).unwrap();
    }

    /// Opens the dataset. Also returns the number of requested objects.
    fn open(&self, modes: &str) -> (File, u64) {
        let counting = Arc::new(Counting::new(OpenOptions::new().open_map(self.url(modes)).unwrap()));
        let file = OpenOptions::new().map(counting.clone()).open(self.url(modes)).unwrap();
        (file, counting.take().read().requests)
    }
}

fn content(file: &File) -> String {
    format!("{:?}", Plan::of(file).unwrap())
}

#[test]
fn the_document_of_the_root_repeats_all_others() {
    for flavour in ["nczarr", "zarr"] {
        let store = Store::new(&format!("{flavour},v3,consolidated"));
        let mut root = store.document("zarr.json");
        let found = root.as_object_mut().unwrap().remove("consolidated_metadata").unwrap();
        assert_eq!((&found["kind"], &found["must_understand"]), (&json!("inline"), &json!(false)));
        let nodes = found["metadata"].as_object().unwrap();
        let names: Vec<&str> = nodes.keys().map(String::as_str).collect();
        assert_eq!(names.len(), 10, "{names:?}");
        for (name, document) in nodes {
            let mut document = document.clone();
            if document["node_type"] == "group" {
                let empty = document.as_object_mut().unwrap().remove("consolidated_metadata").unwrap();
                assert_eq!(empty, json!({"kind": "inline", "must_understand": false, "metadata": {}}));
            }
            assert_eq!(document, store.document(&format!("{name}/zarr.json")), "{name}");
        }
    }
}

#[test]
fn opening_asks_for_one_document() {
    for flavour in ["nczarr", "zarr"] {
        let store = Store::new(&format!("{flavour},v3,consolidated"));
        let (apart, many) = store.open(&format!("{flavour},v3,noconsolidated"));
        let (together, one) = store.open(&format!("{flavour},v3,consolidated"));
        assert_eq!(one, 1);
        assert!(many > 9, "{many}");
        let (untold, _) = store.open(flavour);
        assert_eq!(content(&together), content(&apart));
        assert_eq!(content(&untold), content(&apart));
        assert!(
            untold.info().notes.iter().any(|note| note == "metadata from zarr.json"),
            "{:?}",
            untold.info().notes
        );
    }
}

#[test]
fn a_document_that_is_too_long_is_an_error_that_names_it() {
    for (modes, key) in [("zarr,v2,consolidated", ".zmetadata"), ("zarr,v3,consolidated", "zarr.json")] {
        let store = Store::new(modes);
        let len = std::fs::metadata(store.0.path().join("a").join(key)).unwrap().len();
        let why = |document: u64| {
            let mut limits = Limits::default();
            limits.document = document;
            OpenOptions::new().limits(limits).open(store.url(modes)).err().map(|error| error.to_string())
        };
        assert_eq!(why(len * 1000), None);
        let error = why(len - 1).unwrap();
        assert!(error.contains(key) && error.contains(&format!("{} bytes", len - 1)), "{error}");
        // With a limit of one more byte the document is read. The error then reports a different limit.
        let error = why(len).unwrap();
        assert!(error.contains(key) && !error.contains(&format!("{len} bytes")), "{error}");
    }
}

#[test]
fn nodes_missing_in_consolidated_metadata_are_found_locally() {
    let store = Store::new("zarr,v3,consolidated");
    let (whole, _) = store.open("zarr,noconsolidated");
    let mut root = store.document("zarr.json");
    let nodes = root["consolidated_metadata"]["metadata"].as_object_mut().unwrap();
    assert!(
        nodes.remove("g1/inner/own").is_some()
            && nodes.remove("g2").is_some()
            && nodes.remove("g2/own").is_some()
    );
    store.replace("zarr.json", &root);
    assert_eq!(content(&store.open("zarr").0), content(&whole));
    // With `consolidated` in the URL, the reader trusts consolidated metadata.
    assert!(store.open("zarr,consolidated").0.group("g1/inner").unwrap().variable("own").is_err());
}

#[test]
fn invalid_consolidated_metadata_is_reported_and_ignored() {
    let store = Store::new("nczarr,v3");
    let (whole, _) = store.open("nczarr");
    let plain = store.document("zarr.json");
    for (bad, word) in [
        (json!({"kind": "file", "must_understand": false}), "inline"),
        (json!({"kind": "inline", "metadata": {"own": {"zarr_format": 2}}}), "zarr_format"),
        (json!({"kind": "inline", "metadata": {"../own": {"zarr_format": 3, "node_type": "array"}}}), ".."),
        (json!([1]), "an object"),
    ] {
        let mut root = plain.clone();
        root["consolidated_metadata"] = bad;
        store.replace("zarr.json", &root);
        let (file, _) = store.open("nczarr");
        assert_eq!(content(&file), content(&whole));
        let notes = file.info().notes;
        assert!(notes.iter().any(|note| note.contains("zarr.json") && note.contains(word)), "{notes:?}");
    }
    let mut root = plain;
    root["consolidated_metadata"] = Value::Null;
    store.replace("zarr.json", &root);
    assert_eq!(content(&store.open("nczarr").0), content(&whole));
}

#[test]
fn a_damaged_node_is_its_own_problem_there_too() {
    let store = Store::new("zarr,v3,consolidated");
    let mut root = store.document("zarr.json");
    root["consolidated_metadata"]["metadata"]["g2/own"]["codecs"] = json!([{"name": "no such codec"}]);
    store.replace("zarr.json", &root);
    let (file, _) = store.open("zarr,consolidated");
    assert!(file.variable("g2/own").unwrap().get::<i32>(..).is_err());
    assert_eq!(file.variable("own").unwrap().get::<i32>(..).unwrap().as_slice(), [0, 1, 2]);
}

#[test]
fn later_changes_are_in_consolidated_metadata() {
    let store = Store::new("nczarr,v3,consolidated");
    let path = store.url("nczarr,v3,consolidated").replace("/a#", "/b#");
    let file = nczarr::create(&path).unwrap();
    file.add_unlimited_dimension("t").unwrap();
    file.add_variable::<i32>("v", &["t"]).unwrap();
    file.sync().unwrap();
    file.variable("v").unwrap().put(&[1, 2, 3], 0..3).unwrap();
    file.add_variable::<i32>("w", &["t"]).unwrap();
    file.put_attribute("late", 7).unwrap();
    file.close().unwrap();
    let text = std::fs::read_to_string(store.0.path().join("b/zarr.json")).unwrap();
    let root: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(root["attributes"]["late"], 7);
    let nodes = &root["consolidated_metadata"]["metadata"];
    assert_eq!((&nodes["v"]["shape"], nodes.as_object().unwrap().len()), (&json!([3]), 2));
}

/// Consolidated metadata of a dataset, from the root document or the document beside it.
fn of_dataset(place: &std::path::Path, format: &str) -> Option<String> {
    let text = |key: &str| std::fs::read_to_string(place.join(key)).ok();
    match format {
        "v2" => text(".zmetadata"),
        _ => {
            let root: Value = serde_json::from_str(&text("zarr.json")?).unwrap();
            root.get("consolidated_metadata").map(Value::to_string)
        }
    }
}

#[test]
fn a_last_writer_leaves_no_stale_consolidated_metadata() {
    for format in ["v2", "v3"] {
        let store = Store::new(&format!("nczarr,{format}"));
        let path = store.url(&format!("nczarr,{format},consolidated")).replace("/a#", "/b#");
        let file = nczarr::create(&path).unwrap();
        file.add_dimension("x", 3).unwrap();
        file.add_variable::<i32>("v", &["x"]).unwrap().put(&[1, 2, 3], ..).unwrap();
        // The dataset has no consolidated metadata yet.
        let other = OpenOptions::new()
            .writable(true)
            .open(Place::url(store.url("nczarr").replace("/a#", "/b#")))
            .unwrap();
        file.close().unwrap();
        other.variable("v").unwrap().put_attribute("note", "by another").unwrap();
        other.close().unwrap();
        let found = of_dataset(&store.0.path().join("b"), format);
        assert!(found.as_ref().is_none_or(|found| found.contains("by another")), "{format}: {found:?}");
        let file = nczarr::open(&path).unwrap();
        let note = file.variable("v").unwrap().attribute("note").unwrap();
        assert_eq!(note.values(), &Values::text("by another"), "{format}");
    }
}

/// Simulates a writer that was stopped after it stored the documents but before the consolidated metadata.
#[test]
fn writers_trust_documents_over_consolidated_metadata() {
    for format in ["v2", "v3"] {
        let store = Store::new(&format!("nczarr,{format}"));
        let path = store.url(&format!("nczarr,{format},consolidated")).replace("/a#", "/b#");
        let place = store.0.path().join("b");
        let file = nczarr::create(&path).unwrap();
        file.add_unlimited_dimension("t").unwrap();
        file.add_variable::<i32>("v", &["t"]).unwrap().put(&[1, 2], 0..2).unwrap();
        file.close().unwrap();
        let key = if format == "v2" { ".zmetadata" } else { "zarr.json" };
        let old = std::fs::read(place.join(key)).unwrap();
        let file = nczarr::append(&path).unwrap();
        file.variable("v").unwrap().put(&[3, 4], 2..4).unwrap();
        file.close().unwrap();
        if format == "v2" {
            std::fs::write(place.join(key), old).unwrap();
        }
        let file = nczarr::append(&path).unwrap();
        assert_eq!(file.dimension("t").unwrap().len(), 4, "{format}");
        file.variable("v").unwrap().put(&[5], 4..5).unwrap();
        file.close().unwrap();
        let file = nczarr::open(&path).unwrap();
        assert_eq!(file.variable("v").unwrap().get::<i32>(..).unwrap().to_vec(), [1, 2, 3, 4, 5], "{format}");
    }
}

#[test]
fn consolidated_metadata_is_written_after_definitions() {
    for (format, key) in [("v2", ".zmetadata"), ("v3", "zarr.json")] {
        let store = Store::new(&format!("nczarr,{format}"));
        let consolidated = || match std::fs::read_to_string(store.0.path().join("b").join(key)) {
            Ok(text) if key == "zarr.json" => serde_json::from_str::<Value>(&text)
                .unwrap()
                .get("consolidated_metadata")
                .map(Value::to_string),
            text => text.ok(),
        };
        let path = store.url(&format!("nczarr,{format},consolidated")).replace("/a#", "/b#");
        let file = nczarr::create(&path).unwrap();
        file.add_dimension("x", 3).unwrap();
        file.add_variable::<i32>("v", &["x"]).unwrap().put(&[1, 2, 3], ..).unwrap();
        assert_eq!(consolidated(), None, "{format}");
        file.sync().unwrap();
        assert!(consolidated().unwrap().contains("\"v"), "{format}");
        // A new definition removes the consolidated metadata, so no reader sees outdated metadata.
        file.add_variable::<i32>("w", &["x"]).unwrap().put(&[1, 2, 3], ..).unwrap();
        assert_eq!(consolidated(), None, "{format}");
        let other = OpenOptions::new()
            .writable(true)
            .open(Place::url(store.url("nczarr").replace("/a#", "/b#")))
            .unwrap();
        other.variable("v").unwrap().put_attribute("note", "by another").unwrap();
        other.close().unwrap();
        file.close().unwrap();
        let all = consolidated().unwrap();
        assert!(all.contains("\"w") && all.contains("by another"), "{format}: {all}");
    }
}

/// Consecutive arrays share the same array document. Each reads as if it were alone, with all tested
/// attributes.
#[test]
fn arrays_with_equal_documents_keep_their_own_attributes() {
    let plain = json!({"units": "K", "_ARRAY_DIMENSIONS": ["x"]});
    let all = [
        plain.clone(),
        json!({}),
        json!({"units": "m", "add_offset": 0.5, "_ARRAY_DIMENSIONS": ["y"]}),
        json!({"_FillValue": 7, "_ARRAY_DIMENSIONS": ["x"]}),
        json!({"_FillValue": "a"}),
        json!({"_ARRAY_DIMENSIONS": ["x"], "_netcdf": {"type": "char"}}),
        json!({"_ARRAY_DIMENSIONS": ["x"], "_netcdf": {"fill": "unwritten", "types": {"n": "<i2"}}, "n": 5}),
        json!({"_ARRAY_DIMENSIONS": ["x", "y"], "_QuantizeBitRoundNumberOfSignificantBits": 3}),
        json!({"_nczarr_attr": {"types": {"n": "<i2"}}, "n": 5}),
        json!({"_nczarr_array": {"dimension_references": ["/x"], "storage": "chunked"}}),
    ];
    let mut order = vec![&plain];
    for (i, first) in all.iter().enumerate() {
        for second in &all[i..] {
            order.extend([first, second, first]);
        }
    }
    for (dtype, fill) in [
        ("<f4", json!(0.0)),
        ("<f8", json!("NaN")),
        ("<f4", Value::Null),
        ("<i2", json!(-32767)),
        ("|S1", json!("YQ==")),
        ("<U1", json!("a")),
        ("|b1", json!(false)),
        ("<M8[D]", json!(3)),
        ("<c8", json!([0.0, 1.0])),
        ("|V3", json!("AAAA")),
        ("<q4", json!(0)),
    ] {
        for zlib in [false, true] {
            let codec = if zlib { json!({"id": "zlib", "level": 1}) } else { Value::Null };
            let document = json!({"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": dtype, "fill_value": fill,
                                  "order": "C", "filters": null, "compressor": codec});
            let store = Store(tempfile::tempdir().unwrap());
            let mut documents = serde_json::Map::new();
            documents.insert(".zgroup".to_owned(), json!({"zarr_format": 2}));
            for (i, attrs) in order.iter().enumerate() {
                documents.insert(format!("v{i:03}/.zattrs"), (*attrs).clone());
                documents.insert(format!("v{i:03}/.zarray"), document.clone());
                std::fs::create_dir_all(store.0.path().join(format!("a/v{i:03}"))).unwrap();
            }
            for (key, document) in &documents {
                store.replace(key, document);
            }
            store.replace(".zmetadata", &json!({"metadata": documents, "zarr_consolidated_format": 1}));
            let (apart, _) = store.open("zarr,v2,noconsolidated");
            let (together, one) = store.open("zarr,v2,consolidated");
            assert_eq!(one, 1);
            let (apart, together) = (apart.model(), together.model());
            assert_eq!(together.vars().len(), order.len());
            for ((_, here), (id, there)) in together.vars().zip(apart.vars()) {
                assert_eq!(
                    format!("{here:?}"),
                    format!("{there:?}"),
                    "{dtype} {fill}: {}",
                    order[id.index()]
                );
            }
            assert!(
                together.dims().map(|dim| format!("{dim:?}")).eq(apart.dims().map(|dim| format!("{dim:?}")))
            );
        }
    }
}
