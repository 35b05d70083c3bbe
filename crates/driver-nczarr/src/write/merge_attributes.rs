//! Three-way merge of one node's attributes: this session's changes are applied to the stored attributes.
//!
//! Attributes that this session did not change keep their stored value and their record beside it. `merge`
//! merges NCZarr's lists. NCZarr's keys keep their stored spelling (`v3::keys`).

use std::collections::HashSet;

use nczarr_codec::ZarrFormat;
use nczarr_model::Result;

use crate::metadata::attributes::{EXACT_MEMBERS, NCZARR_ARRAY, NCZARR_ATTR, NCZARR_GROUP, NETCDF};
use crate::metadata::json::{Json, Object};
use crate::metadata::v3::keys::{self, NCZARR_ATTRS};
use crate::write::length_merge::LengthMerge;
use crate::write::merge_lists::merge_lists;

const DIMENSIONS: &str = "dimensions";
const TYPES: &str = "types";

/// Returns the attributes to store in place of `other`, from `[ours, base, other]`. Our attributes come
/// first, in our order. Names in `gone` are not listed; `missing` gets the names that
/// `MergedDocument` reports.
///
/// # Errors
/// `NC_ENCZARR` if our own lists cannot be read back.
pub(crate) fn merge_attributes(
    merge: &LengthMerge,
    format: ZarrFormat,
    [ours, base, other]: [&Object; 3],
    gone: &[String],
    missing: &mut Vec<String>,
) -> Result<Object> {
    let mut all = Object::new();
    for (name, value) in ours.iter().filter(|(name, _)| *name != NETCDF) {
        let (was, found) = (base.get(name), other.get(name));
        let stored = match (name, found) {
            (NCZARR_GROUP, Some(found)) => {
                Some(lists(merge, format, [value, was.unwrap_or(&Json::Null), found], gone, missing)?)
            }
            (NCZARR_ATTRS, found) => Some(merge_recorded_types([ours, base], value, was, found)),
            (NCZARR_ATTR, found) => {
                let nothing = Json::Object(Object::new());
                merge_annotation([ours, base], [Some(value), was, found.or(Some(&nothing))])
            }
            // A value that is not strict JSON is written as it was parsed.
            _ if was == Some(value) => {
                found.map(|found| if found.is_strict() { found } else { value }).cloned()
            }
            (NCZARR_ARRAY, found) => apply_changes(value, was, found),
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
    if is_annotated
        && let Some(said) = merge_annotation([ours, base], [ours, base, other].map(|attrs| attrs.get(NETCDF)))
    {
        all.insert(NETCDF, said);
    }
    Ok(all)
}

/// Merges a group's lists and keeps the stored spelling.
fn lists(
    merge: &LengthMerge,
    format: ZarrFormat,
    [ours, base, found]: [&Json; 3],
    gone: &[String],
    missing: &mut Vec<String>,
) -> Result<Json> {
    let document = |lists: &Json| {
        let attrs: Object = [(NCZARR_GROUP, lists.clone())].into_iter().collect();
        Ok(Json::Object(if format == ZarrFormat::V3 { keys::group(&attrs)? } else { attrs }))
    };
    // Replaces stored lists that cannot be parsed.
    let other: Result<Json> = document(found);
    let Ok(other) = other else { return Ok(ours.clone()) };
    let mut ours = document(ours)?;
    let base = if base.is_null() {
        // Other writers added everything that is stored.
        Json::Object([(NCZARR_GROUP, Json::Object(Object::new()))].into_iter().collect())
    } else {
        document(base)?
    };
    merge.raise(&mut ours, &other);
    merge_lists(&mut ours, &base, &other, gone, missing);
    let merged = ours.as_object().and_then(|attrs| attrs.get(NCZARR_GROUP)).and_then(Json::as_object);
    Ok(match merged {
        Some(merged) if format == ZarrFormat::V3 => keys::stored_group(merged, found),
        Some(merged) => Json::Object(merged.clone()),
        None => found.clone(),
    })
}

/// The types and exact values recorded beside attributes, as `[ours, base]`; finds the attributes that we
/// changed.
struct AttributeChanges<'a> {
    attrs: [&'a Object; 2],
    types: [Vec<(String, String)>; 2],
    /// By the members of [`EXACT_MEMBERS`].
    kept: [[Option<&'a Object>; 2]; 2],
}

impl<'a> AttributeChanges<'a> {
    fn new(
        attrs: [&'a Object; 2],
        recorded: [Option<&'a Json>; 2],
        types: fn(&Json) -> Vec<(String, String)>,
    ) -> Self {
        Self {
            attrs,
            types: recorded.map(|recorded| recorded.map(types).unwrap_or_default()),
            kept: EXACT_MEMBERS
                .map(|member| recorded.map(|recorded| recorded?.as_object()?.get(member)?.as_object())),
        }
    }

    /// Whether we changed an attribute. Then our record beside it also wins.
    fn is_changed(&self, name: &str) -> bool {
        let [ours, base] = &self.attrs;
        let [our_types, base_types] =
            self.types.each_ref().map(|types| types.iter().find(|(of, _)| of == name));
        let is_kept_otherwise = self.kept.iter().any(|kept| {
            let [ours, base] = kept.map(|kept| kept.and_then(|kept| kept.get(name)));
            ours != base
        });
        // The value of a reserved key does not have the recorded type.
        let is_key = crate::metadata::attributes::is_reserved(name) || keys::is_reserved(name);
        !is_key && ours.get(name) != base.get(name) || our_types != base_types || is_kept_otherwise
    }

    fn types(&self, found: Vec<(String, String)>) -> Vec<(String, String)> {
        self.merged(&self.types[0], found)
    }

    /// Returns the members of [`EXACT_MEMBERS`] to store.
    fn kept(&self, found: Option<&Json>) -> [(&'static str, Json); 2] {
        let list = |kept: &Object| kept.iter().map(|(name, kept)| (name.to_owned(), kept.clone())).collect();
        let mut all = EXACT_MEMBERS.into_iter().zip(&self.kept).map(|(member, [ours, _])| {
            let found = found.and_then(Json::as_object).and_then(|found| found.get(member)?.as_object());
            let merged = self.merged(&ours.map_or_else(Vec::new, list), found.map_or_else(Vec::new, list));
            (member, Json::Object(merged.into_iter().collect()))
        });
        std::array::from_fn(|at| all.next().unwrap_or((EXACT_MEMBERS[at], Json::Null)))
    }

    fn merged<T: Clone>(&self, ours: &[(String, T)], found: Vec<(String, T)>) -> Vec<(String, T)> {
        let our = |name: &str| ours.iter().find(|(of, _)| of == name);
        let known: HashSet<String> = found.iter().map(|(name, _)| name.clone()).collect();
        let kept = found.into_iter().filter_map(|(name, value)| {
            if self.is_changed(&name) { our(&name).cloned() } else { Some((name, value)) }
        });
        let mut all: Vec<(String, T)> = kept.collect();
        all.extend(ours.iter().filter(|(name, _)| !known.contains(name) && self.is_changed(name)).cloned());
        all
    }
}

/// Merges NCZarr's V3 record of attribute types and exact values and keeps the stored spelling.
fn merge_recorded_types(attrs: [&Object; 2], ours: &Json, base: Option<&Json>, found: Option<&Json>) -> Json {
    let touched = AttributeChanges::new(attrs, [Some(ours), base], keys::types);
    let types = touched.types(found.map(keys::types).unwrap_or_default());
    keys::stored_types(&types, &touched.kept(found), found)
}

/// Merges an annotation; `None` if it would be empty.
fn merge_annotation(attrs: [&Object; 2], [ours, base, found]: [Option<&Json>; 3]) -> Option<Json> {
    merge_records(attrs, [ours, base, found])
        .filter(|merged| merged.as_object().is_some_and(|merged| !merged.is_empty()))
}

/// Merges the record beside attributes, `[ours, base, found]`, by name: an annotation, or `_nczarr_attr` in
/// V2.
fn merge_records(attrs: [&Object; 2], [ours, base, found]: [Option<&Json>; 3]) -> Option<Json> {
    let types = |beside: &Json| {
        let types = beside.as_object().and_then(|beside| beside.get(TYPES)?.as_object());
        let text = |(name, ty): (&str, &Json)| Some((name.to_owned(), ty.as_str()?.to_owned()));
        types.into_iter().flat_map(Object::iter).filter_map(text).collect()
    };
    let touched = AttributeChanges::new(attrs, [ours, base], types);
    let merged = match ours {
        Some(ours) => apply_changes(ours, base, found),
        // This session has no record any more.
        None => found.map(|found| {
            apply_changes(&Json::Object(Object::new()), base, Some(found)).unwrap_or(Json::Null)
        }),
    };
    let mut merged = merged?.into_object()?;
    let [our_dims, base_dims] = [ours, base].map(|beside| beside?.as_object()?.get(DIMENSIONS)?.as_object());
    if let Some(dims) = our_dims.filter(|_| our_dims != base_dims) {
        // All our dimensions, in our order: the stored annotation may declare fewer.
        let stored = merged.remove(DIMENSIONS).and_then(Json::into_object).unwrap_or_default();
        let len = |name: &str, ours: &Json| stored.get(name).unwrap_or(ours).clone();
        let mut all: Object = dims.iter().map(|(name, ours)| (name.to_owned(), len(name, ours))).collect();
        for (name, theirs) in stored.iter().filter(|(name, _)| !dims.contains_key(name)) {
            all.insert(name.to_owned(), theirs.clone());
        }
        merged.insert(DIMENSIONS, Json::Object(all));
    }
    let types = touched.types(found.map(types).unwrap_or_default());
    let types = types.into_iter().map(|(name, ty)| (name, Json::string(ty))).collect();
    for (name, values) in [(TYPES, Json::Object(types))].into_iter().chain(touched.kept(found)) {
        if values.as_object().is_some_and(|values| !values.is_empty()) {
            merged.insert(name, values)
        } else {
            drop(merged.remove(name))
        }
    }
    Some(Json::Object(merged))
}

/// Applies our changes of a value to the stored one; `None` if nothing is stored and nothing was changed.
fn apply_changes(ours: &Json, base: Option<&Json>, found: Option<&Json>) -> Option<Json> {
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
        if let Some(value) = apply_changes(value, base.get(name), found.get(name)) {
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
