//! Conversion of legacy documents into the current style.
//!
//! A document in the current style is unchanged: an upgrade may have stopped half-way. Invalid contents
//! pass through, and the reader of the current style reports them. Read [`array`] and [`group`] first.

use std::borrow::Cow;

use nczarr_dispatch::Limits;
use nczarr_model::{ErrorKind, NcType, Result};
use nczarr_storage::Key;

use super::{NCZARR, NCZATTR, NCZGROUP, NczarrVersion, WriterBugs};
use crate::flavour::nczarr_lists;
use crate::metadata::attributes::{
    self, NC_PROPERTIES, NCZARR_ARRAY, NCZARR_ATTR, NCZARR_GROUP, NCZARR_SUPERBLOCK,
};
use crate::metadata::json::{self, Json, Object, ObjectMembers, Value};
use crate::metadata::types::dtype::{DType, DTypeKind};
use crate::open::metadata_reader::{MetadataReader, read};
use crate::open::tree::RawRoot;

/// The current names of members, and their names in the upper-case style.
const UPPER: [(&str, &str); 4] = [
    (NCZARR_SUPERBLOCK, super::UPPER_SUPERBLOCK),
    (NCZARR_GROUP, "_NCZARR_GROUP"),
    (NCZARR_ARRAY, "_NCZARR_ARRAY"),
    (NCZARR_ATTR, "_NCZARR_ATTR"),
];

/// The documents of one node that exist.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NodeDocuments<'d, 't> {
    /// `.zarray` or `.zgroup`.
    pub(crate) marker: Option<&'d Value<'t>>,
    /// `.zattrs`.
    pub(crate) attrs: Option<&'d Value<'t>>,
    /// `.nczvar` or `.nczgroup`.
    pub(crate) own: Option<&'d Value<'t>>,
    /// `.nczattr`.
    pub(crate) types: Option<&'d Value<'t>>,
}

/// Converts the documents of the root.
///
/// # Errors
/// `NC_ENCZARR` for an invalid document; errors of the map.
pub(crate) fn root(source: &MetadataReader<'_>, root: &mut RawRoot, generation: NczarrVersion) -> Result<()> {
    let mut stored = [None, None, None];
    if generation == NczarrVersion::SeparateKeys {
        let keys = [NCZARR, NCZGROUP, NCZATTR].map(Key::new);
        let keys = keys.into_iter().collect::<Result<Vec<_>>>()?;
        for (place, found) in stored.iter_mut().zip(read(source.map, &keys, source.limits)) {
            *place = found?;
        }
    }
    let [nczarr, own, types] = stored.each_ref().map(Option::as_ref);
    let version = nczarr.and_then(|document| document.as_object()?.get("nczarr_version")?.as_str());
    let documents = NodeDocuments { marker: root.zgroup.as_ref(), attrs: root.attrs.as_ref(), own, types };
    let attrs = group(documents, generation, true);
    root.attrs = attrs;
    root.zgroup = root.zgroup.as_ref().map(|document| marker(document, WriterBugs::default()));
    root.version = version.map(str::to_owned);
    Ok(())
}

/// Returns the current `.zattrs` of an array.
pub(crate) fn array<'t>(documents: NodeDocuments<'_, 't>) -> Option<Value<'t>> {
    let own = own(documents, NCZARR_ARRAY).map(|own| {
        let scalar = own.get("storage").and_then(Value::as_str) == Some("scalar");
        let mut today = renamed(own, &[("dimrefs", "dimension_references")]);
        if scalar {
            today.insert("scalar", Value::int(1));
        }
        today.insert("storage", Value::string("chunked"));
        today
    });
    current_attrs(documents, own.map(|own| (NCZARR_ARRAY, Value::Object(own))).into_iter().collect())
}

/// Returns the current `.zattrs` of a group.
pub(crate) fn group<'t>(
    documents: NodeDocuments<'_, 't>,
    generation: NczarrVersion,
    is_root: bool,
) -> Option<Value<'t>> {
    let mut ours = Vec::new();
    if let Some(own) = own(documents, NCZARR_GROUP) {
        let own = renamed(own, &[("dims", "dimensions"), ("vars", "arrays")]);
        ours.push((NCZARR_GROUP, Value::Object(own)));
    }
    if is_root {
        let stored = member(documents.marker, NCZARR_SUPERBLOCK).cloned();
        let new = || Value::Object([("version", Value::string("2.0.0"))].into_iter().collect());
        if generation != NczarrVersion::Current {
            ours.push((NCZARR_SUPERBLOCK, stored.unwrap_or_else(new)));
        }
    }
    current_attrs(documents, ours)
}

/// Returns `.zarray` or `.zgroup` without members that moved to `.zattrs`, and with the true type of
/// elements.
pub(crate) fn marker<'t>(document: &Value<'t>, defects: WriterBugs) -> Value<'t> {
    let Some(members) = document.as_object() else { return document.clone() };
    let mut today = ObjectMembers::new();
    for (name, value) in members {
        if UPPER.iter().any(|names| name == names.0 || name == names.1) {
            continue;
        }
        let value = match (name, value) {
            ("dtype", Value::String(text)) => {
                defects.true_type(text).map_or_else(|| value.clone(), |text| Value::String(text.into()))
            }
            ("fill_value", Value::Array(items)) if items.len() == 1 => items[0].clone(),
            _ => value.clone(),
        };
        today.insert(name.to_owned(), value);
    }
    Value::Object(today)
}

/// Whether the attributes of a node have the current style.
pub(crate) fn is_current(attrs: &Value<'_>) -> bool {
    let has = |name| attrs.as_object().is_some_and(|members| members.contains_key(name));
    has(NCZARR_ARRAY) || has(NCZARR_GROUP)
}

/// Returns a member of a document, under either of its names.
fn member<'d, 't>(document: Option<&'d Value<'t>>, name: &str) -> Option<&'d Value<'t>> {
    let members = document?.as_object()?;
    let upper = UPPER.iter().find(|names| names.0 == name).map_or(name, |names| names.1);
    members.get(upper).or_else(|| members.get(name))
}

/// Returns the node's own NCZarr object: dimension references of an array, lists of a group.
fn own<'d, 't>(documents: NodeDocuments<'d, 't>, name: &str) -> Option<&'d ObjectMembers<'t>> {
    documents.own.or_else(|| member(documents.marker, name))?.as_object()
}

fn renamed<'t>(members: &ObjectMembers<'t>, names: &[(&str, &'static str)]) -> ObjectMembers<'t> {
    let name_of = |name: &str| match names.iter().find(|names| names.0 == name) {
        Some((_, today)) => Cow::Borrowed(*today),
        None => Cow::Owned(name.to_owned()),
    };
    members.iter().map(|(name, value)| (name_of(name), value.clone())).collect()
}

/// Returns the attributes, followed by NCZarr's own (`ours`) and the recorded types; `None` if there are
/// none.
fn current_attrs<'t>(
    documents: NodeDocuments<'_, 't>,
    ours: Vec<(&'static str, Value<'t>)>,
) -> Option<Value<'t>> {
    let recorded = documents.types.or_else(|| member(documents.attrs, NCZARR_ATTR));
    let recorded = recorded.and_then(Value::as_object).and_then(|members| members.get("types")?.as_object());
    let mut today = ObjectMembers::new();
    match documents.attrs {
        Some(attrs) if is_current(attrs) => return Some(attrs.clone()),
        Some(Value::Object(members)) => {
            let old = |name: &str| UPPER.iter().any(|names| name == names.1) || name == NCZARR_ATTR;
            for (name, value) in members.iter().filter(|(name, _)| !old(name)) {
                today.insert(name.to_owned(), value.clone());
            }
        }
        Some(other) => return Some(other.clone()),
        None if ours.is_empty() && recorded.is_none() => return None,
        None => {}
    }
    let mut types: ObjectMembers<'_> =
        recorded.into_iter().flatten().map(|(name, value)| recorded_type(name, value)).collect();
    if today.contains_key(NC_PROPERTIES) && !types.contains_key(NC_PROPERTIES) {
        types.insert(NC_PROPERTIES, Value::string(">S1"));
    }
    for (name, value) in ours {
        today.insert(name, value);
        types.insert(name, Value::string("|J0"));
    }
    types.insert(NCZARR_ATTR, Value::string("|J0"));
    today.insert(NCZARR_ATTR, Value::Object([("types", Value::Object(types))].into_iter().collect()));
    Some(Value::Object(today))
}

/// Makes all attribute values legal JSON that reads as before.
///
/// # Errors
/// A value that cannot be written, or an NCZarr key that is not legal JSON.
pub(crate) fn make_strict(mut document: Json, limits: &Limits) -> Result<Json> {
    let Json::Object(members) = &mut document else { return Ok(document) };
    if let Some(beside) = members.get_mut(NCZARR_ATTR) {
        drop_odd_types(beside);
    }
    let mut news = Vec::new();
    for (name, value) in members.iter().filter(|(_, value)| !value.is_strict()) {
        if [NCZARR_SUPERBLOCK, NCZARR_GROUP, NCZARR_ARRAY, NCZARR_ATTR].contains(&name) {
            return Err(ErrorKind::NcZarr.context(format!("member \"{name}\": the value is not legal JSON")));
        }
        let values = attributes::read(value, nczarr_lists::recorded_type(members, name));
        let mut text = String::new();
        attributes::write(&values, limits, true, &mut text).map_err(|error| error.at(name))?;
        let value = json::parse(text.as_bytes(), limits)?;
        news.push((name.to_owned(), value, attributes::recorded_type(&values)));
    }
    for (name, value, recorded) in news {
        if let Some(Json::Object(beside)) = members.get_mut(NCZARR_ATTR)
            && let Some(Json::Object(types)) = beside.get_mut("types")
        {
            types.insert(name.clone(), Json::string(recorded));
        }
        members.insert(name, value);
    }
    Ok(document)
}

/// Removes records beside the attributes that are not legal JSON; they name no type.
fn drop_odd_types(beside: &mut Json) {
    let Json::Object(beside) = beside else { return };
    let odd = |members: &Object| -> Vec<String> {
        members.iter().filter(|(_, value)| !value.is_strict()).map(|(name, _)| name.to_owned()).collect()
    };
    if let Some(Json::Object(types)) = beside.get_mut("types") {
        for name in odd(types) {
            types.remove(&name);
        }
    }
    for name in odd(beside) {
        beside.remove(&name);
    }
}

/// Returns a recorded type in the current spelling: legacy records are type numbers, or spell char
/// differently.
fn recorded_type<'t>(name: &str, value: &Value<'t>) -> (String, Value<'t>) {
    let number = value.as_str().and_then(|text| text.parse::<i32>().ok()).and_then(NcType::from_code);
    let today = match (number, value.as_str()) {
        (Some(ty), _) => Some(DType::attribute_name(ty, 1)),
        (None, Some(text)) if DType::kind_of(text) == DTypeKind::Utf32(1) => Some(">S1".to_owned()),
        _ => None,
    };
    (name.to_owned(), today.map_or_else(|| value.clone(), |text| Value::String(text.into())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::json::{parse, text};

    fn value(text: &str) -> Json {
        parse(text.as_bytes(), &Limits::default()).unwrap()
    }

    fn printed(value: Option<Value<'_>>) -> String {
        value.as_ref().map_or_else(String::new, text)
    }

    #[test]
    fn all_styles_of_an_array_become_one() {
        let today = r#"{"u": [5], "_nczarr_array": {"dimension_references": ["/x"], "storage": "chunked"}, "_nczarr_attr": {"types": {"u": "<i4", "c": ">S1", "s": "|S1", "_nczarr_array": "|J0", "_nczarr_attr": "|J0"}}}"#;
        let plain = value(r#"{"u": [5]}"#);
        let (own, types) = (
            value(r#"{"dimrefs": ["/x"], "storage": "contiguous"}"#),
            value(r#"{"types": {"u": "4", "c": "2", "s": "12"}}"#),
        );
        let documents =
            NodeDocuments { attrs: Some(&plain), own: Some(&own), types: Some(&types), marker: None };
        assert_eq!(printed(array(documents)), today);
        for (array_name, attr_name, char) in
            [("_NCZARR_ARRAY", "_NCZARR_ATTR", "<U1"), ("_nczarr_array", "_nczarr_attr", ">S1")]
        {
            let marker =
                value(&format!(r#"{{"{array_name}": {{"dimrefs": ["/x"], "storage": "chunked"}}}}"#));
            let attrs = value(&format!(
                r#"{{"u": [5], "{attr_name}": {{"types": {{"u": "<i4", "c": "{char}", "s": "|S1"}}}}}}"#
            ));
            let documents =
                NodeDocuments { marker: Some(&marker), attrs: Some(&attrs), ..NodeDocuments::default() };
            assert_eq!(printed(array(documents)), today);
        }
        let done = value(today);
        let documents = NodeDocuments { attrs: Some(&done), own: Some(&own), ..NodeDocuments::default() };
        assert_eq!(printed(array(documents)), today);
    }

    #[test]
    fn a_scalar_is_marked_and_nothing_stays_nothing() {
        let own = value(r#"{"dimrefs": [], "storage": "scalar"}"#);
        let documents = NodeDocuments { own: Some(&own), ..NodeDocuments::default() };
        assert!(printed(array(documents)).starts_with(
            r#"{"_nczarr_array": {"dimension_references": [], "storage": "chunked", "scalar": 1}, "_nczarr_attr""#
        ));
        assert_eq!(array(NodeDocuments::default()), None);
        assert_eq!(group(NodeDocuments::default(), NczarrVersion::SeparateKeys, false), None);
        for odd in ["[]", "4", "null"] {
            let odd = value(odd);
            let documents =
                NodeDocuments { attrs: Some(&odd), own: Some(&odd), types: Some(&odd), marker: Some(&odd) };
            assert_eq!(array(documents), Some(odd.clone()));
            assert_eq!(marker(&odd, WriterBugs::default()), odd);
        }
    }

    #[test]
    fn groups_and_the_root() {
        let zgroup = value(
            r#"{"zarr_format": 2, "_NCZARR_SUPERBLOCK": {"version": "1.9"}, "_NCZARR_GROUP": {"dims": {"x": 4}, "vars": ["a"], "groups": []}}"#,
        );
        let documents = NodeDocuments { marker: Some(&zgroup), ..NodeDocuments::default() };
        assert_eq!(
            printed(group(documents, NczarrVersion::UpperCase, true)),
            r#"{"_nczarr_group": {"dimensions": {"x": 4}, "arrays": ["a"], "groups": []}, "_nczarr_superblock": {"version": "1.9"}, "_nczarr_attr": {"types": {"_nczarr_group": "|J0", "_nczarr_superblock": "|J0", "_nczarr_attr": "|J0"}}}"#
        );
        assert_eq!(text(&marker(&zgroup, WriterBugs::default())), r#"{"zarr_format": 2}"#);
    }

    #[test]
    fn markers_describe_the_stored_array() {
        let zarray = value(r#"{"dtype": ">i4", "fill_value": [7], "_nczarr_array": {}, "x": 1}"#);
        let defects = WriterBugs { swapped: true, wide_char: true };
        assert_eq!(text(&marker(&zarray, defects)), r#"{"dtype": "<i4", "fill_value": 7, "x": 1}"#);
        let zarray = value(r#"{"dtype": "<U1", "fill_value": ""}"#);
        assert_eq!(text(&marker(&zarray, defects)), r#"{"dtype": ">S1", "fill_value": ""}"#);
        assert_eq!(marker(&zarray, WriterBugs::default()), zarray);
    }
}
