//! Three-way merge of the V3 document of a node: this session's changes are applied to the stored document.
//!
//! Members that this session did not change keep their stored value. `merge` merges lengths,
//! `merge_attributes` attributes.

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::Limits;
use nczarr_model::{ErrorKind, Result};

use crate::metadata::attributes::ARRAY_DIMENSIONS;
use crate::metadata::json::{self, Json, Object};
use crate::metadata::v3::document::CONSOLIDATED;
use crate::write::length_merge::LengthMerge;
use crate::write::merge_attributes::merge_attributes;

/// The base text for which the whole of `ours` counts as changed.
pub(crate) const EMPTY_BASE: &str = "{}";

const ATTRIBUTES: &str = "attributes";
const DIMENSION_NAMES: &str = "dimension_names";
const NODE_TYPE: &str = "node_type";
const SHAPE: &str = "shape";

/// Returns the document to store in place of `other`: the changes from `base` (last stored) to `ours` applied
/// to `other` (stored now). Names in `gone` are not listed; `missing` gets the names that `MergedDocument`
/// reports.
///
/// # Errors
/// `NC_ENCZARR` if the stored node is of another type, or an array of another rank.
pub(crate) fn merge_document(
    merge: &LengthMerge,
    [ours, base, other]: &[Object; 3],
    gone: &[String],
    missing: &mut Vec<String>,
) -> Result<Object> {
    if other.get(NODE_TYPE) != ours.get(NODE_TYPE) {
        return Err(ErrorKind::NcZarr.context("another writer replaced the node by one of another type"));
    }
    let mut all = other.clone();
    for (name, value) in ours.iter().filter(|(name, value)| base.get(name) != Some(value)) {
        match name {
            ATTRIBUTES => {}
            SHAPE if other.contains_key(SHAPE) => {}
            _ => all.insert(name.to_owned(), value.clone()),
        }
    }
    if let (Some(ours), Some(other)) = (ours.get(SHAPE), other.get(SHAPE)) {
        all.insert(SHAPE, merge_shape(merge, ours, base.get(SHAPE), other)?);
    }
    let none = Object::new();
    let attrs = [ours, base, other]
        .map(|document| document.get(ATTRIBUTES).and_then(Json::as_object).unwrap_or(&none));
    let mut attrs = merge_attributes(merge, ZarrFormat::V3, attrs, gone, missing)?;
    if all.get(DIMENSION_NAMES) != other.get(DIMENSION_NAMES) {
        // Older names of the same dimensions.
        attrs.remove(ARRAY_DIMENSIONS);
    }
    if !attrs.is_empty() || other.contains_key(ATTRIBUTES) {
        all.insert(ATTRIBUTES, Json::Object(attrs));
    }
    // Consolidated metadata is written after the documents that it repeats.
    all.remove(CONSOLIDATED);
    Ok(all)
}

/// Returns a document without its consolidated metadata; `None` if it has none.
pub(crate) fn without_consolidated(old: &[u8], limits: &Limits) -> Option<String> {
    let mut document = json::parse(old, limits).ok()?.into_object()?;
    document.remove(CONSOLIDATED)?;
    let mut text = String::with_capacity(1024);
    json::write_strict(&Json::Object(document), &mut text);
    Some(text)
}

/// Merges shapes: the greater length along unlimited dimensions, ours along others if we changed it.
fn merge_shape(merge: &LengthMerge, ours: &Json, base: Option<&Json>, other: &Json) -> Result<Json> {
    let lens = |value: &Json| value.as_array().map(<[Json]>::to_vec).unwrap_or_default();
    let (our_lens, mut lens_now) = (lens(ours), lens(other));
    if our_lens.len() != lens_now.len() {
        return Err(ErrorKind::NcZarr.context("another writer replaced the array by one of another rank"));
    }
    let before = base.map(lens).unwrap_or_default();
    for (at, (now, our)) in lens_now.iter_mut().zip(our_lens).enumerate() {
        if before.get(at) != Some(&our) {
            *now = our;
        }
    }
    let document = |shape: Json| Json::Object([(SHAPE, shape)].into_iter().collect());
    let mut raised = document(Json::Array(lens_now));
    merge.raise(&mut raised, &document(other.clone()));
    merge.raise(&mut raised, &document(ours.clone()));
    Ok(raised.into_object().and_then(|mut document| document.remove(SHAPE)).unwrap_or_else(|| ours.clone()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::metadata::attributes::NCZARR_GROUP;
    use crate::metadata::v3::keys::{self, NCZARR_ATTRS};
    use crate::write::merge::{MergeKind, merge_documents};

    fn merge_all(ours: &Value, base: &Value, old: &str, gone: &[String]) -> (Value, Vec<String>) {
        let [ours, base] = [ours, base].map(Value::to_string);
        let merged = merge_documents(
            &LengthMerge::None,
            MergeKind::SingleDocument,
            [&ours, &base],
            old.as_bytes(),
            gone,
            &Limits::default(),
        )
        .unwrap();
        (serde_json::from_str(&merged.text).unwrap(), merged.doubtful)
    }

    fn node(attributes: &BTreeMap<String, u8>, by_name: bool) -> Value {
        let types = attributes
            .iter()
            .map(|(name, value)| (name.clone(), if value % 2 == 0 { "int8" } else { "char" }));
        let types = if by_name {
            types.map(|(name, ty)| (name, json!(ty))).collect::<serde_json::Map<_, _>>().into()
        } else {
            types.map(|(name, ty)| json!({"name": name, "configuration": {"type": ty}})).collect::<Value>()
        };
        let mut attributes = json!(attributes);
        attributes[NCZARR_ATTRS] = json!({"attribute_types": types});
        json!({"zarr_format": 3, "node_type": "group", "attributes": attributes})
    }

    proptest! {
        /// The merge treats each attribute and its type separately. Our changes win. Unchanged attributes
        /// take the value of the other writer.
        #[test]
        fn attributes_of_two_writers(
            [ours, base, other] in prop::array::uniform3(prop::collection::btree_map("[a-d]", 0u8..3, 0..4)),
            by_name: bool,
        ) {
            let mut old = node(&other, by_name);
            old["foreign"] = json!({"must_understand": false});
            let (found, _) = merge_all(&node(&ours, false), &node(&base, false), &old.to_string(), &[]);
            let mut expected = BTreeMap::new();
            for name in ["a", "b", "c", "d"] {
                let of = if ours.get(name) == base.get(name) { &other } else { &ours };
                expected.extend(of.get(name).map(|value| (name.to_owned(), *value)));
            }
            prop_assert_eq!(&found["foreign"], &old["foreign"]);
            let mut attributes = found["attributes"].clone();
            let types = attributes.as_object_mut().unwrap().remove(NCZARR_ATTRS);
            prop_assert_eq!(attributes, json!(expected));
            let types = json::parse(types.unwrap().to_string().as_bytes(), &Limits::default()).unwrap();
            let types: BTreeMap<String, String> = keys::types(&types).into_iter().collect();
            for (name, value) in &expected {
                prop_assert_eq!(&types[name], if value % 2 == 0 { "int8" } else { "char" });
            }
            prop_assert!(types.keys().all(|name| expected.contains_key(name)), "{types:?} {expected:?}");
        }
    }

    #[test]
    fn lists_of_two_writers_in_either_spelling() {
        let group = |dims: Value, arrays: Value, groups: &str, list: Value| json!({"node_type": "group", "attributes": {NCZARR_GROUP: {"dimensions": dims, "arrays": arrays, groups: list}}});
        let base =
            group(json!([{"name": "x", "size": 2, "unlimited": 0}]), json!(["a"]), "subgroups", json!([]));
        let ours = group(
            json!([{"name": "x", "size": 2, "unlimited": 0}, {"name": "y", "size": 3, "unlimited": 1}]),
            json!(["b"]),
            "subgroups",
            json!(["g"]),
        );
        let theirs = group(
            json!({"x": 2, "z": {"size": 4, "unlimited": 0}}),
            json!(["a", "c"]),
            "groups",
            json!(["h"]),
        );
        let (found, missing) = merge_all(&ours, &base, &theirs.to_string(), &[]);
        let dims = json!({
            "x": {"size": 2, "unlimited": 0}, "y": {"size": 3, "unlimited": 1}, "z": {"size": 4, "unlimited": 0}
        });
        assert_eq!(found, group(dims, json!(["b", "c"]), "groups", json!(["g", "h"])));
        assert_eq!(missing, ["c", "h"]);
        let (found, _) = merge_all(&ours, &base, &theirs.to_string(), &["c".to_owned(), "h".to_owned()]);
        let lists = &found["attributes"][NCZARR_GROUP];
        assert_eq!((&lists["arrays"], &lists["groups"]), (&json!(["b"]), &json!(["g"])));
    }

    #[test]
    fn another_node_or_an_unreadable_one_is_an_error() {
        let array = json!({"node_type": "array", "shape": [2], "attributes": {"a": 1}});
        let (base, limits) = (array.to_string().replace('1', "2"), Limits::default());
        let others = ["{}", "{\"node_type\": \"group\"}", "{\"node_type\": \"array\", \"shape\": [2,2]}"];
        // A document that cannot be read may hold changes of another writer.
        for other in others.into_iter().chain(["", "[]", "{"]) {
            let outcome = merge_documents(
                &LengthMerge::None,
                MergeKind::SingleDocument,
                [&array.to_string(), &base],
                other.as_bytes(),
                &[],
                &limits,
            );
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::NcZarr, "{other}");
        }
    }
}
