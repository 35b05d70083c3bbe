//! Merging of the lists of a group: the union of the names of several writers.

use std::collections::HashSet;

use crate::metadata::attributes::NCZARR_GROUP;
use crate::metadata::json::{Json, Object};

/// Adds the names that other writers added: those in `other` that are neither in `ours` nor in `base`. This
/// session removed the names that only `base` has.
pub(crate) fn merge_lists(
    ours: &mut Json,
    base: &Json,
    other: &Json,
    gone: &[String],
    missing: &mut Vec<String>,
) {
    let (Some(other), Some(base)) = (group(other), group(base)) else { return };
    let Json::Object(members) = ours else { return };
    let Some(Json::Object(ours)) = members.get_mut(NCZARR_GROUP) else { return };
    merge_types(ours, base, other);
    for list in ["arrays", "groups"] {
        let Some(Json::Array(ours)) = ours.get_mut(list) else { continue };
        let theirs = other.get(list).and_then(Json::as_array).unwrap_or_default();
        let (base, their_names) = (names(base, list), names(other, list));
        ours.retain(|item| item.as_str().is_none_or(|name| !gone.iter().any(|gone| gone == name)));
        let own: HashSet<String> = ours.iter().filter_map(|item| Some(item.as_str()?.to_owned())).collect();
        missing
            .extend(own.iter().filter(|name| base.contains(*name) && !their_names.contains(*name)).cloned());
        let is_gone = |name: &str| gone.iter().any(|gone| gone == name);
        let is_new = |name: &str| !base.contains(name) && !own.contains(name) && !is_gone(name);
        let new = theirs.iter().filter(|item| item.as_str().is_some_and(is_new));
        missing.extend(new.clone().filter_map(|item| Some(item.as_str()?.to_owned())));
        ours.extend(new.cloned());
    }
    let (Some(theirs), Some(Json::Object(ours))) = (declared(other), ours.get_mut("dimensions")) else {
        return;
    };
    let base = declared(base);
    for (name, size) in theirs.iter() {
        if !ours.contains_key(name) && base.is_none_or(|base| !base.contains_key(name)) {
            ours.insert(name.to_owned(), size.clone());
        }
    }
}

/// Adds the types that other writers defined, by name.
fn merge_types(ours: &mut Object, base: &Object, other: &Object) {
    let types = |group: &Object| group.get("types").and_then(Json::as_array).unwrap_or_default().to_vec();
    let name = |item: &Json| item.as_object().and_then(|item| item.get("name")?.as_str().map(str::to_owned));
    let mut all = types(ours);
    let known: HashSet<_> = all.iter().chain(&types(base)).filter_map(name).collect();
    let new: Vec<Json> = types(other)
        .into_iter()
        .filter(|item| name(item).is_some_and(|name| !known.contains(&name)))
        .collect();
    if !new.is_empty() {
        all.extend(new);
        ours.insert("types", Json::Array(all));
    }
}

fn names(group: &Object, list: &str) -> HashSet<String> {
    let items = group.get(list).and_then(Json::as_array).unwrap_or_default();
    items.iter().filter_map(|item| Some(item.as_str()?.to_owned())).collect()
}

/// Returns the names of the arrays and groups that a group's attributes list.
pub(crate) fn listed(attributes: &Json) -> HashSet<String> {
    let lists = group(attributes).map(|group| ["arrays", "groups"].map(|list| names(group, list)));
    lists.into_iter().flatten().flatten().collect()
}

/// Returns the keys of a group.
pub(super) fn group(document: &Json) -> Option<&Object> {
    document.as_object()?.get(NCZARR_GROUP)?.as_object()
}

/// Returns the dimensions that a group declares.
pub(super) fn declared(group: &Object) -> Option<&Object> {
    group.get("dimensions")?.as_object()
}
