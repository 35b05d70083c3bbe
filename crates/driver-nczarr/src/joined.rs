//! What several writers store in the one document that a node has in Zarr V3.
//!
//! It is what stands there now with what was changed here since it was stored last: members and attributes that nobody here
//! touched stay as they are, whoever wrote them and whatever they mean. Lengths count as `merge` has it, and so do NCZarr's
//! lists; its keys stay in the spelling they are found in (`keys`).

use std::collections::HashSet;

use dispatch::Limits;
use model::{ErrorKind, Result};

use crate::attrs::{ARRAY_DIMENSIONS, NCZARR_ARRAY, NCZARR_GROUP, NETCDF};
use crate::json::{self, Json, Object};
use crate::merge::{self, Merge, Merged};
use crate::v3::document::CONSOLIDATED;
use crate::v3::keys::{self, NCZARR_ATTRS};

/// The base of a document of which all that is said here is to be stored, whatever stands there.
pub(crate) const NOTHING: &str = "{}";

const ATTRIBUTES: &str = "attributes";
const DIMENSION_NAMES: &str = "dimension_names";
const NODE_TYPE: &str = "node_type";
const SHAPE: &str = "shape";

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
    for (name, value) in ours.iter() {
        let (was, found) = (base.get(name), other.get(name));
        let stored = match (name, found) {
            (NCZARR_GROUP, Some(found)) => {
                Some(lists(merge, [value, was.unwrap_or(&Json::Null), found], gone, missing)?)
            }
            _ if was == Some(value) => found.cloned(),
            (NCZARR_ATTRS, found) => Some(recorded(value, was, found)),
            (NCZARR_ARRAY | NETCDF, found) => changed(value, was, found),
            _ => Some(value.clone()),
        };
        if let Some(stored) = stored {
            all.insert(name.to_owned(), stored);
        }
    }
    for (name, value) in other.iter() {
        if !ours.contains_key(name) && !base.contains_key(name) {
            all.insert(name.to_owned(), value.clone());
        }
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

/// The recorded types and bits of attributes, in the spelling of those that are there.
fn recorded(ours: &Json, base: Option<&Json>, found: Option<&Json>) -> Json {
    let types = |value: Option<&Json>| value.map(keys::types).unwrap_or_default();
    let (our_types, base_types) = (types(Some(ours)), types(base));
    let mut now = types(found);
    let told: HashSet<&str> = our_types.iter().map(|(name, _)| name.as_str()).collect();
    now.retain(|(name, _)| told.contains(name.as_str()) || !base_types.iter().any(|(was, _)| was == name));
    for (name, ty) in our_types.iter().filter(|entry| !base_types.contains(entry)) {
        match now.iter_mut().find(|(known, _)| known == name) {
            Some(known) => known.1.clone_from(ty),
            None => now.push((name.clone(), ty.clone())),
        }
    }
    let nans = |value: Option<&Json>| value?.as_object()?.get("nan").cloned();
    let empty = || Some(Json::Object(Object::new()));
    let nans = changed(
        &nans(Some(ours)).or_else(empty).unwrap_or(Json::Null),
        nans(base).or_else(empty).as_ref(),
        nans(found).or_else(empty).as_ref(),
    );
    keys::stored_types(&now, nans.as_ref(), found)
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
