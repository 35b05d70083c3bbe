//! Attributes of Zarr as JSON: a copy to Zarr keeps them, or names the changed ones; `diff` reports
//! differences.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{out, run, text};

/// Makes a store with these attributes at the root, a group and an array.
fn store(folder: &Path, name: &str, v3: bool, attributes: &Map<String, Value>) -> PathBuf {
    let store = folder.join(name);
    let put = |key: &str, document: Value| {
        let path = store.join(key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, document.to_string()).unwrap();
    };
    for (place, array) in [("", false), ("g/", false), ("g/v/", true)] {
        if v3 {
            let mut document = match array {
                false => json!({"zarr_format": 3, "node_type": "group"}),
                true => json!({
                    "zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "int8", "fill_value": 0,
                    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
                    "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}],
                }),
            };
            document["attributes"] = attributes.clone().into();
            put(&format!("{place}zarr.json"), document);
        } else {
            put(&format!("{place}.zattrs"), attributes.clone().into());
            match array {
                false => put(&format!("{place}.zgroup"), json!({"zarr_format": 2})),
                true => put(
                    &format!("{place}.zarray"),
                    json!({
                        "zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|i1", "fill_value": 0, "order": "C",
                        "compressor": null, "filters": null,
                    }),
                ),
            }
        }
    }
    store
}

/// Returns the attributes of a node that the copy must preserve.
fn stored(store: &Path, place: &str, names: &Map<String, Value>) -> Map<String, Value> {
    let read = |name: &str| -> Option<Value> {
        serde_json::from_str(&fs::read_to_string(store.join(place).join(name)).ok()?).unwrap()
    };
    let found = match read("zarr.json") {
        Some(mut document) => document["attributes"].take(),
        None => read(".zattrs").unwrap_or_default(),
    };
    let found = found.as_object().cloned().unwrap_or_default();
    found.into_iter().filter(|(name, _)| names.contains_key(name)).collect()
}

fn copy(from: &Path, mode: &str) -> (PathBuf, String) {
    let target = from.with_extension(format!("to-{}", mode.replace(',', "-")));
    let output = run(["copy", text(from), &format!("file://{}#mode={mode}", target.display())]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{mode}: {said}");
    (target, said)
}

fn any_json() -> impl Strategy<Value = Value> {
    let text = prop::sample::select(vec![
        "",
        "a",
        "[1,2]",
        "[1, 2]",
        "{}",
        "{\"a\":1}",
        "null",
        "true",
        "NaN",
        "1",
        "1.5",
        "größe",
        "a\nb",
        "\"q\"",
        "[\"a\"]",
        "[]",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1000i32..1000).prop_map(|number| Value::from(f64::from(number) / 8.0)),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]{1,2}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn copies_between_plain_stores_keep_the_json(values in prop::collection::vec(any_json(), 1..12), v3: bool) {
        let attributes: Map<String, Value> =
            values.into_iter().enumerate().map(|(at, value)| (format!("a{at}"), value)).collect();
        let folder = tempfile::tempdir().unwrap();
        let source = store(folder.path(), "source.zarr", v3, &attributes);
        let mut from = source.clone();
        for mode in if v3 { ["zarr", "zarr,v3"] } else { ["zarr,v3", "zarr"] } {
            let (target, said) = copy(&from, mode);
            prop_assert_eq!(&said, "", "{}", mode);
            for place in ["", "g", "g/v"] {
                prop_assert_eq!(&stored(&target, place, &attributes), &attributes, "{} {}", mode, place);
            }
            prop_assert_eq!(out(&["diff", text(&source), text(&target)]), "");
            from = target;
        }
        for mode in ["nczarr", "nczarr,v3"] {
            let (target, said) = copy(&source, mode);
            for (place, path) in [("", "/"), ("g", "/g"), ("g/v", "/g/v")] {
                let found = stored(&target, place, &attributes);
                for (name, value) in &attributes {
                    let is_told = said.contains(&format!("{path}:{name}"));
                    prop_assert!(found.get(name) == Some(value) || is_told, "{mode} {path}:{name} {value}: {said}");
                }
            }
        }
    }
}

#[test]
fn diff_distinguishes_json_with_equal_netcdf_values() {
    let folder = tempfile::tempdir().unwrap();
    let one = |name: &str, value: Value| {
        let attributes = [("a".to_owned(), value)].into_iter().collect();
        store(folder.path(), name, true, &attributes)
    };
    for (at, (left, right)) in [
        (json!("[1,2]"), json!([1, 2])),
        (json!([7]), json!(7)),
        (json!(true), json!(1)),
        (json!(null), json!("null")),
    ]
    .into_iter()
    .enumerate()
    {
        let (left, right) = (one(&format!("{at}.l.zarr"), left), one(&format!("{at}.r.zarr"), right));
        let output = run(["diff", text(&left), text(&right)]);
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        for path in ["", "/g", "/g/v"] {
            assert!(said.contains(&format!("{path}:a: ")), "{at} {path}: {said}");
        }
        assert_eq!(out(&["diff", text(&left), text(&left)]), "");
    }
}

#[test]
fn a_list_of_text_is_an_array_of_strings() {
    let folder = tempfile::tempdir().unwrap();
    let attributes = json!({"names": ["a", "b c"], "one": ["x"], "mixed": ["a", 1], "none": []});
    for v3 in [false, true] {
        let store =
            store(folder.path(), if v3 { "3.zarr" } else { "2.zarr" }, v3, attributes.as_object().unwrap());
        let header = out(&["dump", "-h", text(&store)]);
        for line in
            ["string v:names = \"a\", \"b c\" ;", "string v:one = \"x\" ;", "v:mixed = \"[\\\"a\\\",1]\" ;"]
        {
            assert!(header.contains(line), "{line}: {header}");
        }
    }
}
