//! Attributes as JSON: stored unchanged where the format has JSON.

use std::fs;

use nczarr::{CreateOptions, ErrorKind, File, Kind};
use proptest::prelude::*;
use serde_json::{Value, json};

const PLAIN: [Kind; 2] = [Kind::ZarrV2, Kind::ZarrV3];
const ALL: [Kind; 4] = [Kind::ZarrV2, Kind::ZarrV3, Kind::NcZarrV2, Kind::NcZarrV3];

fn create(kind: Kind, path: &str) -> File {
    let file = CreateOptions::new().kind(kind).create(path).unwrap();
    file.add_dimension("x", 5).unwrap();
    file.add_variable::<f32>("v", &["x"]).unwrap();
    file
}

/// Returns the stored attributes of a node.
fn stored(kind: Kind, path: &str) -> Value {
    let read = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(format!("{path}/{name}")).unwrap()).unwrap()
    };
    match kind {
        Kind::ZarrV2 | Kind::NcZarrV2 => read(".zattrs"),
        _ => read("zarr.json")["attributes"].clone(),
    }
}

fn parsed(text: Option<String>) -> Option<Value> {
    text.map(|text| serde_json::from_str(&text).unwrap())
}

#[test]
fn any_json_is_stored_unchanged() {
    let samples = [
        json!({"a": [1, null, {"b": true}], "ü": "日本"}),
        json!([{"axes": ["y", "x"], "version": "0.4"}]),
        json!(true),
        json!([true, false]),
        json!(null),
        json!(7),
        json!([7]),
        json!(7.0),
        json!(5_000_000_000_u64),
        json!([1, 2.5]),
        json!("text"),
        json!(["text"]),
        json!([]),
        json!({}),
        json!([[1, 2], [3, 4]]),
        json!("{\"text\": 1}"),
        json!(["a", 1]),
    ];
    let folder = tempfile::tempdir().unwrap();
    for kind in PLAIN {
        for (at, sample) in samples.iter().enumerate() {
            let path = &format!("{}/{kind:?}-{at}", folder.path().display());
            let file = create(kind, path);
            let v = file.variable("v").unwrap();
            file.put_attribute_json("a", sample).unwrap();
            v.put_attribute_json("b", sample.to_string()).unwrap();
            assert_eq!(parsed(file.attribute_json("a").unwrap()).as_ref(), Some(sample), "{kind:?}");
            assert_eq!(parsed(v.attribute_json("b").unwrap()).as_ref(), Some(sample));
            assert_eq!(file.attribute_json("b").unwrap(), None);
            let shown = file.attribute("a").unwrap();
            file.close().unwrap();
            assert_eq!(&stored(kind, path)["a"], sample);
            assert_eq!(&stored(kind, &format!("{path}/v"))["b"], sample);

            // Reading again shows the same values, and writing something else keeps the JSON.
            let file = nczarr::append(path).unwrap();
            assert_eq!(file.attribute("a").unwrap(), shown);
            assert_eq!(parsed(file.attribute_json("a").unwrap()).as_ref(), Some(sample));
            file.put_attribute("other", 1).unwrap();
            file.variable("v").unwrap().put_attribute("other", 1).unwrap();
            file.close().unwrap();
            assert_eq!(&stored(kind, path)["a"], sample, "{kind:?}");
            assert_eq!(&stored(kind, &format!("{path}/v"))["b"], sample, "{kind:?}");
            let file = nczarr::open(path).unwrap();
            assert_eq!(parsed(file.attribute_json("a").unwrap()).as_ref(), Some(sample));
            assert_eq!(
                parsed(file.variable("v").unwrap().attribute_json("b").unwrap()).as_ref(),
                Some(sample)
            );
        }
    }
}

/// The same value in another form replaces the stored one.
#[test]
fn the_last_form_counts() {
    let folder = tempfile::tempdir().unwrap();
    for kind in PLAIN {
        let path = &format!("{}/{kind:?}", folder.path().display());
        let file = create(kind, path);
        file.put_attribute("n", 7).unwrap();
        file.put_attribute("t", "text").unwrap();
        file.close().unwrap();
        let file = nczarr::append(path).unwrap();
        assert_eq!(file.attribute_json("n").unwrap().as_deref(), Some("7"));
        file.put_attribute_json("n", "[7]").unwrap();
        assert_eq!(file.attribute_json("n").unwrap().as_deref(), Some("[7]"));
        file.close().unwrap();
        assert_eq!(stored(kind, path)["n"], json!([7]), "{kind:?}");
        let file = nczarr::append(path).unwrap();
        file.put_attribute_json("n", "true").unwrap();
        file.put_attribute_json("n", "[true]").unwrap();
        file.put_attribute_json("t", "{}").unwrap();
        file.put_attribute("t", "again").unwrap();
        assert_eq!(file.attribute_json("t").unwrap().as_deref(), Some("\"again\""));
        file.close().unwrap();
        assert_eq!(stored(kind, path)["n"], json!([true]));
        assert_eq!(stored(kind, path)["t"], json!("again"));
        let file = nczarr::append(path).unwrap();
        file.delete_attribute("n").unwrap();
        assert_eq!(file.attribute_json("n").unwrap(), None);
        file.close().unwrap();
        assert!(stored(kind, path).get("n").is_none());
    }
}

#[test]
fn nczarr_stores_json_that_its_values_become() {
    let folder = tempfile::tempdir().unwrap();
    for kind in [Kind::NcZarrV2, Kind::NcZarrV3] {
        let path = &format!("{}/{kind:?}", folder.path().display());
        let file = create(kind, path);
        let samples = [json!(7), json!([1, 2]), json!("text"), json!(["a", "b"]), json!({"k": [1, null]})];
        for (at, sample) in samples.iter().enumerate() {
            file.put_attribute_json(&format!("a{at}"), sample).unwrap();
        }
        let shown = file.attributes();
        // Its types say `ubyte` and `char` for these, which would be `1` and text.
        for refused in ["true", "null", "[true]"] {
            let error = file.put_attribute_json("r", refused).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BadType, "{refused}: {error}");
        }
        assert!(file.attribute("r").is_none());
        file.close().unwrap();
        for (at, sample) in samples.iter().enumerate() {
            assert_eq!(&stored(kind, path)[format!("a{at}")], sample, "{kind:?}");
        }
        assert_eq!(nczarr::open(path).unwrap().attributes(), shown);
    }
}

#[test]
fn wrong_json_and_other_formats_are_refused() {
    for kind in ALL {
        let file = create(kind, &format!("memory://json-attributes-{kind:?}"));
        for wrong in ["", "{", "text", "{'a': 1}", "NaN", "0x1f", "[1,]", "1 2", "01"] {
            let error = file.put_attribute_json("a", wrong).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Inval, "{wrong:?}: {error}");
            assert!(file.attribute("a").is_none());
        }
        let error = file.put_attribute_json("_ARRAY_DIMENSIONS", "1").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NameInUse);
        let fill = file.variable("v").unwrap().put_attribute_json("_FillValue", "1").unwrap_err();
        assert_eq!(fill.kind(), ErrorKind::Inval);
        assert_eq!(file.attribute_json("none").unwrap(), None);
    }
    for kind in [Kind::NetCdf4, Kind::Cdf1] {
        let file = CreateOptions::new().kind(kind).create_in_memory("x.nc", false).unwrap();
        let error = file.put_attribute_json("a", "1").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotNc4, "{error}");
        file.put_attribute("a", 1).unwrap();
        assert_eq!(file.attribute_json("a").unwrap(), None);
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e300..1e300f64).prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("\\PC{0,6}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn random_json(values in prop::collection::vec(any_json(), 1..4), annotate: bool) {
        for kind in PLAIN {
            let folder = tempfile::tempdir().unwrap();
            let path = &format!("{}/x", folder.path().display());
            let file = CreateOptions::new().kind(kind).annotate(annotate).create(path).unwrap();
            for (at, value) in values.iter().enumerate() {
                file.put_attribute_json(&format!("a{at}"), value).unwrap();
                prop_assert_eq!(parsed(file.attribute_json(&format!("a{at}")).unwrap()), Some(value.clone()));
            }
            let shown = file.attributes();
            file.close().unwrap();
            let file = nczarr::open(path).unwrap();
            prop_assert_eq!(file.attributes(), shown);
            for (at, value) in values.iter().enumerate() {
                prop_assert_eq!(parsed(file.attribute_json(&format!("a{at}")).unwrap()), Some(value.clone()));
                prop_assert_eq!(&stored(kind, path)[format!("a{at}")], value);
            }
        }
    }
}
