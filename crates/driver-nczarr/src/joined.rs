//! What several writers store in the one document that a node has in Zarr V3.
//!
//! It is what stands there now with what was changed here since it was stored last: members and attributes that nobody here
//! touched stay as they are, whoever wrote them and whatever they mean. Lengths count as `merge` has it, and so do NCZarr's
//! lists; its keys stay in the spelling they are found in (`keys`).

use std::collections::HashSet;

use dispatch::Limits;
use model::{ErrorKind, Result};

use crate::attrs::{self, ARRAY_DIMENSIONS, NCZARR_ARRAY, NCZARR_GROUP, NETCDF};
use crate::json::{self, Json, Object};
use crate::merge::{self, Merge, Merged};
use crate::v3::document::CONSOLIDATED;
use crate::v3::keys::{self, NCZARR_ATTRS};

/// The base of a document of which all that is said here is to be stored, whatever stands there.
pub(crate) const NOTHING: &str = "{}";

const ATTRIBUTES: &str = "attributes";
const DIMENSION_NAMES: &str = "dimension_names";
const NODE_TYPE: &str = "node_type";
const NAN: &str = "nan";
const SHAPE: &str = "shape";
const TYPES: &str = "types";

/// What to store where `old` stands: that with what `ours` says otherwise than `base`, which is `ours` as it was when it
/// was stored last. Names in `gone` are not listed.
///
/// # Errors
/// `NC_ENCZARR` if an array stands where a group was, or the other way round, or one of another rank.
pub(crate) fn merged(
    merge: &Merge,
    ours: &str,
    base: &str,
    old: &[u8],
    gone: &[String],
    limits: &Limits,
) -> Result<Merged> {
    let mut missing = Vec::new();
    if old == base.as_bytes() && gone.is_empty() {
        // Nobody else wrote. Our lengths only grow.
        return Ok(Merged { text: ours.to_owned(), missing });
    }
    // What cannot be read holds nothing: it is replaced.
    let other = json::parse(old, limits).ok().and_then(Json::into_object);
    let Some(other) = other else { return Ok(Merged { text: ours.to_owned(), missing }) };
    let object =
        |text: &str| -> Result<Object> { Ok(json::parse(text.as_bytes(), limits)?.into_object().unwrap_or_default()) };
    let (ours, base) = (object(ours)?, object(base)?);
    if other.get(NODE_TYPE) != ours.get(NODE_TYPE) {
        return Err(ErrorKind::NcZarr.context("another writer put a node of another type in this place"));
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
        all.insert(SHAPE, shape(merge, ours, base.get(SHAPE), other)?);
    }
    let none = Object::new();
    let [our_attrs, base_attrs, other_attrs] =
        [&ours, &base, &other].map(|document| document.get(ATTRIBUTES).and_then(Json::as_object).unwrap_or(&none));
    let mut attrs = attributes(merge, [our_attrs, base_attrs, other_attrs], gone, &mut missing)?;
    if all.get(DIMENSION_NAMES) != other.get(DIMENSION_NAMES) {
        // Older names of the same dimensions.
        attrs.remove(ARRAY_DIMENSIONS);
    }
    if !attrs.is_empty() || other.contains_key(ATTRIBUTES) {
        all.insert(ATTRIBUTES, Json::Object(attrs));
    }
    // It is written when all that it repeats is.
    all.remove(CONSOLIDATED);
    let mut text = String::with_capacity(old.len() + 64);
    json::write_strict(&Json::Object(all), &mut text);
    Ok(Merged { text, missing })
}

/// A document without consolidated metadata; `None` if it has none.
pub(crate) fn without_consolidated(old: &[u8], limits: &Limits) -> Option<String> {
    let mut document = json::parse(old, limits).ok()?.into_object()?;
    document.remove(CONSOLIDATED)?;
    let mut text = String::with_capacity(1024);
    json::write_strict(&Json::Object(document), &mut text);
    Some(text)
}

/// The lengths of an array: the greater ones along unlimited dimensions, ours along others if we changed them.
fn shape(merge: &Merge, ours: &Json, base: Option<&Json>, other: &Json) -> Result<Json> {
    let lens = |value: &Json| value.as_array().map(<[Json]>::to_vec).unwrap_or_default();
    let (our_lens, mut lens_now) = (lens(ours), lens(other));
    if our_lens.len() != lens_now.len() {
        return Err(ErrorKind::NcZarr.context("another writer put an array of another rank in this place"));
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

/// The attributes: `[ours, base, other]`. Those that are there come in our order.
fn attributes(
    merge: &Merge,
    [ours, base, other]: [&Object; 3],
    gone: &[String],
    missing: &mut Vec<String>,
) -> Result<Object> {
    let mut all = Object::new();
    for (name, value) in ours.iter().filter(|(name, _)| *name != NETCDF) {
        let (was, found) = (base.get(name), other.get(name));
        let stored = match (name, found) {
            (NCZARR_GROUP, Some(found)) => {
                Some(lists(merge, [value, was.unwrap_or(&Json::Null), found], gone, missing)?)
            }
            (NCZARR_ATTRS, found) => Some(recorded([ours, base], value, was, found)),
            _ if was == Some(value) => found.cloned(),
            (NCZARR_ARRAY, found) => changed(value, was, found),
            _ => Some(value.clone()),
        };
        if let Some(stored) = stored {
            all.insert(name.to_owned(), stored);
        }
    }
    let is_annotated = ours.contains_key(NETCDF) || base.contains_key(NETCDF);
    for (name, value) in other.iter().filter(|(name, _)| !(is_annotated && *name == NETCDF)) {
        if !ours.contains_key(name) && !base.contains_key(name) {
            all.insert(name.to_owned(), value.clone());
        }
    }
    if is_annotated && let Some(said) = annotation([ours, base], [ours, base, other].map(|attrs| attrs.get(NETCDF))) {
        all.insert(NETCDF, said);
    }
    Ok(all)
}

/// A group's lists, in the spelling of those that are there.
fn lists(merge: &Merge, [ours, base, found]: [&Json; 3], gone: &[String], missing: &mut Vec<String>) -> Result<Json> {
    let document = |lists: &Json| {
        let attrs: Object = [(NCZARR_GROUP, lists.clone())].into_iter().collect();
        keys::group(&attrs).map(Json::Object)
    };
    // Lists that cannot be understood are replaced.
    let Ok(other) = document(found) else { return Ok(ours.clone()) };
    let mut ours = document(ours)?;
    let base = if base.is_null() { Json::Object(Object::new()) } else { document(base)? };
    merge.raise(&mut ours, &other);
    merge::merge_lists(&mut ours, &base, &other, gone, missing);
    let merged = ours.as_object().and_then(|attrs| attrs.get(NCZARR_GROUP)).and_then(Json::as_object);
    Ok(merged.map_or_else(|| found.clone(), |merged| keys::stored_group(merged, found)))
}

/// What is recorded of attributes beside them, `[ours, base]`.
struct Touched<'a> {
    attrs: [&'a Object; 2],
    types: [Vec<(String, String)>; 2],
    nans: [Option<&'a Object>; 2],
}

impl<'a> Touched<'a> {
    fn new(attrs: [&'a Object; 2], recorded: [Option<&'a Json>; 2], types: fn(&Json) -> Vec<(String, String)>) -> Self {
        Self {
            attrs,
            types: recorded.map(|recorded| recorded.map(types).unwrap_or_default()),
            nans: recorded.map(|recorded| recorded?.as_object()?.get(NAN)?.as_object()),
        }
    }

    /// Whether we changed an attribute: then what is recorded of it is ours, too.
    fn is_changed(&self, name: &str) -> bool {
        let [ours, base] = &self.attrs;
        let [our_types, base_types] = self.types.each_ref().map(|types| types.iter().find(|(of, _)| of == name));
        let [our_nans, base_nans] = self.nans.map(|nans| nans.and_then(|nans| nans.get(name)));
        // What a key holds is no value of that type.
        let is_key = attrs::is_reserved(name) || keys::is_reserved(name);
        !is_key && ours.get(name) != base.get(name) || our_types != base_types || our_nans != base_nans
    }

    fn types(&self, found: Vec<(String, String)>) -> Vec<(String, String)> {
        self.merged(&self.types[0], found)
    }

    fn nans(&self, found: Option<&Json>) -> Json {
        let list = |nans: &Object| nans.iter().map(|(name, bits)| (name.to_owned(), bits.clone())).collect();
        let found =
            found.and_then(Json::as_object).and_then(|found| found.get(NAN)?.as_object()).map_or_else(Vec::new, list);
        Json::Object(self.merged(&self.nans[0].map_or_else(Vec::new, list), found).into_iter().collect())
    }

    fn merged<T: Clone>(&self, ours: &[(String, T)], found: Vec<(String, T)>) -> Vec<(String, T)> {
        let our = |name: &str| ours.iter().find(|(of, _)| of == name);
        let known: HashSet<String> = found.iter().map(|(name, _)| name.clone()).collect();
        let kept = found.into_iter().filter_map(|(name, value)| match self.is_changed(&name) {
            true => our(&name).cloned(),
            false => Some((name, value)),
        });
        let mut all: Vec<(String, T)> = kept.collect();
        all.extend(ours.iter().filter(|(name, _)| !known.contains(name) && self.is_changed(name)).cloned());
        all
    }
}

/// NCZarr's types and bits of attributes, in the spelling of those that are there.
fn recorded(attrs: [&Object; 2], ours: &Json, base: Option<&Json>, found: Option<&Json>) -> Json {
    let touched = Touched::new(attrs, [Some(ours), base], keys::types);
    let types = touched.types(found.map(keys::types).unwrap_or_default());
    keys::stored_types(&types, Some(&touched.nans(found)), found)
}

/// An annotation: `None` if nothing is left to say.
fn annotation(attrs: [&Object; 2], [ours, base, found]: [Option<&Json>; 3]) -> Option<Json> {
    let types = |annotation: &Json| {
        let types = annotation.as_object().and_then(|annotation| annotation.get(TYPES)?.as_object());
        let text = |(name, ty): (&str, &Json)| Some((name.to_owned(), ty.as_str()?.to_owned()));
        types.into_iter().flat_map(Object::iter).filter_map(text).collect()
    };
    let touched = Touched::new(attrs, [ours, base], types);
    let merged = match ours {
        Some(ours) => changed(ours, base, found),
        // What we had to say we have no longer.
        None => found.map(|found| changed(&Json::Object(Object::new()), base, Some(found)).unwrap_or(Json::Null)),
    };
    let mut merged = merged?.into_object()?;
    let types = touched.types(found.map(types).unwrap_or_default());
    let types = types.into_iter().map(|(name, ty)| (name, Json::string(ty))).collect();
    for (name, values) in [(TYPES, Json::Object(types)), (NAN, touched.nans(found))] {
        match values.as_object().is_some_and(|values| !values.is_empty()) {
            true => merged.insert(name, values),
            false => drop(merged.remove(name)),
        }
    }
    (!merged.is_empty()).then_some(Json::Object(merged))
}

/// What of an object we changed, in what is found there; `None` if nothing is there and nothing was changed.
fn changed(ours: &Json, base: Option<&Json>, found: Option<&Json>) -> Option<Json> {
    if Some(ours) == base {
        return found.cloned();
    }
    let (Some(our), Some(found)) = (ours.as_object(), found.and_then(Json::as_object)) else {
        return Some(ours.clone());
    };
    let none = Object::new();
    let base = base.and_then(Json::as_object).unwrap_or(&none);
    let mut all = Object::new();
    for (name, value) in our.iter() {
        if let Some(value) = changed(value, base.get(name), found.get(name)) {
            all.insert(name.to_owned(), value);
        }
    }
    for (name, value) in found.iter() {
        if !our.contains_key(name) && !base.contains_key(name) {
            all.insert(name.to_owned(), value.clone());
        }
    }
    Some(Json::Object(all))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn merge_all(ours: &Value, base: &Value, old: &str, gone: &[String]) -> (Value, Vec<String>) {
        let [ours, base] = [ours, base].map(Value::to_string);
        let merged = merged(&Merge::None, &ours, &base, old.as_bytes(), gone, &Limits::default()).unwrap();
        (serde_json::from_str(&merged.text).unwrap(), merged.missing)
    }

    fn node(attributes: &BTreeMap<String, u8>, by_name: bool) -> Value {
        let types = attributes.iter().map(|(name, value)| (name.clone(), if value % 2 == 0 { "int8" } else { "char" }));
        let types = match by_name {
            true => types.map(|(name, ty)| (name, json!(ty))).collect::<serde_json::Map<_, _>>().into(),
            false => types.map(|(name, ty)| json!({"name": name, "configuration": {"type": ty}})).collect::<Value>(),
        };
        let mut attributes = json!(attributes);
        attributes[NCZARR_ATTRS] = json!({"attribute_types": types});
        json!({"zarr_format": 3, "node_type": "group", "attributes": attributes})
    }

    proptest! {
        /// Each attribute and its type for itself: what we changed is ours, what we did not change is theirs.
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
        let base = group(json!([{"name": "x", "size": 2, "unlimited": 0}]), json!(["a"]), "subgroups", json!([]));
        let ours = group(
            json!([{"name": "x", "size": 2, "unlimited": 0}, {"name": "y", "size": 3, "unlimited": 1}]),
            json!(["b"]),
            "subgroups",
            json!(["g"]),
        );
        let theirs =
            group(json!({"x": 2, "z": {"size": 4, "unlimited": 0}}), json!(["a", "c"]), "groups", json!(["h"]));
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
    fn another_node_in_the_place_is_an_error() {
        let array = json!({"node_type": "array", "shape": [2], "attributes": {"a": 1}});
        let (base, limits) = (array.to_string().replace('1', "2"), Limits::default());
        for other in ["{}", "{\"node_type\": \"group\"}", "{\"node_type\": \"array\", \"shape\": [2,2]}"] {
            let outcome = merged(&Merge::None, &array.to_string(), &base, other.as_bytes(), &[], &limits);
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::NcZarr, "{other}");
        }
        // What is no document is replaced.
        for other in ["", "[]", "{"] {
            let found = merged(&Merge::None, &array.to_string(), &base, other.as_bytes(), &[], &limits).unwrap();
            assert_eq!(found.text, array.to_string());
        }
    }
}
