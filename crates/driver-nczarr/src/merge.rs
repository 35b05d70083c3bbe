//! What several writers store in one document: of lengths of unlimited dimensions the greater counts, and a group holds
//! what any of them put there.
//!
//! Knows nothing of storing: `store` asks for the text that is to stand where another stands.

use std::collections::HashSet;

use nczarr_dispatch::{Limits, ZarrFormat};
use nczarr_model::{DimId, Model, Result};

use crate::attrs::{self, NCZARR_GROUP};
use crate::joined;
use crate::json::{self, Json, Object};
use crate::nodes;

/// Where a document holds lengths that may have grown elsewhere.
#[derive(Debug, Default)]
pub(crate) enum Merge {
    /// Nowhere.
    #[default]
    None,
    /// In `shape`, at the places of these dimensions.
    Shape(Vec<Option<DimId>>),
    /// In the group's `dimensions`. Others may have put dimensions, variables and groups there, too.
    Group(Vec<Unlimited>),
}

/// An unlimited dimension of a group.
#[derive(Debug)]
pub(crate) struct Unlimited {
    pub(crate) id: DimId,
    /// Its name.
    pub(crate) name: String,
    /// Its name in what was stored before; none of a new one where that name was another's.
    pub(crate) stored: Option<String>,
}

impl Merge {
    pub(crate) fn shape(dims: Vec<Option<DimId>>) -> Self {
        if dims.iter().all(Option::is_none) { Self::None } else { Self::Shape(dims) }
    }

    /// Whether lengths may have grown.
    pub(crate) fn has_lengths(&self) -> bool {
        match self {
            Self::None => false,
            Self::Shape(_) => true,
            Self::Group(dims) => !dims.is_empty(),
        }
    }

    /// Lets the model's dimensions grow to what a stored document says; answers whether one did. `joined`: it is the one
    /// document of a node.
    ///
    /// # Errors
    /// `NC_EBADDIM` for a dimension the model does not have.
    pub(crate) fn grow(&self, model: &Model, document: &Json, joined: bool) -> Result<bool> {
        let mut grown = false;
        let lengths = match (self, joined) {
            (Self::Group(_), true) => nodes::v3_attributes(document)
                .map(|attrs| attrs.map_or_else(Vec::new, |attrs| self.lengths(&attrs)))
                .unwrap_or_default(),
            _ => self.lengths(document),
        };
        for (dim, len) in lengths {
            let dim = model.dim(dim)?;
            grown |= len > dim.len();
            dim.grow(len);
        }
        Ok(grown)
    }

    /// The lengths of unlimited dimensions in a stored document.
    fn lengths(&self, document: &Json) -> Vec<(DimId, u64)> {
        match self {
            Self::None => Vec::new(),
            Self::Shape(dims) => {
                let shape = document.as_object().and_then(|members| members.get("shape")).and_then(Json::as_array);
                match shape.filter(|shape| shape.len() == dims.len()) {
                    None => Vec::new(),
                    Some(shape) => {
                        dims.iter().zip(shape).filter_map(|(dim, len)| Some(((*dim)?, len.as_u64()?))).collect()
                    }
                }
            }
            Self::Group(dims) => {
                let declared = group(document).and_then(declared);
                dims.iter()
                    .filter_map(|dim| {
                        let size = declared?.get(dim.stored.as_ref()?)?.as_object()?.get("size")?;
                        Some((dim.id, size.as_u64()?))
                    })
                    .collect()
            }
        }
    }

    /// Raises lengths in `document`, which is to be stored, to those in `other`, which is.
    pub(crate) fn raise(&self, document: &mut Json, other: &Json) {
        let lengths = self.lengths(other);
        let greater = |dim: DimId, len: &Json| {
            let (_, other) = lengths.iter().find(|(id, _)| *id == dim)?;
            (Some(*other) > len.as_u64()).then(|| Json::int(*other))
        };
        let Json::Object(members) = document else { return };
        match self {
            Self::None => {}
            Self::Shape(dims) => {
                if let Some(Json::Array(shape)) = members.get_mut("shape") {
                    for (dim, len) in dims.iter().zip(shape) {
                        if let Some(more) = dim.and_then(|dim| greater(dim, len)) {
                            *len = more;
                        }
                    }
                }
            }
            Self::Group(dims) => {
                let group = members.get_mut(NCZARR_GROUP);
                let declared = group.and_then(|group| match group {
                    Json::Object(group) => group.get_mut("dimensions"),
                    _ => None,
                });
                let Some(Json::Object(declared)) = declared else { return };
                for dim in dims {
                    if let Some(Json::Object(declared)) = declared.get_mut(&dim.name)
                        && let Some(size) = declared.get_mut("size")
                        && let Some(more) = greater(dim.id, size)
                    {
                        *size = more;
                    }
                }
            }
        }
    }
}

/// What is to be stored where something stands already.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) text: String,
    /// Names we have always listed and others list no more: they may be gone, or whoever wrote the list did not know them.
    /// And names that others list and we never did: whoever renamed them may have been stopped before the list told.
    pub(crate) missing: Vec<String>,
}

/// What kind of document it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The one document of a node, as in V3.
    Joined,
    /// Attributes alone.
    Attrs,
    /// What makes a node an array, in V2.
    Marker,
}

/// What to store where `old` stands: what it says, with what was changed here, `[ours, base]`, since it was stored last. Names in
/// `gone` are not listed.
///
/// # Errors
/// `NC_ENCZARR` if our own text cannot be read back, or another node is in the place.
pub(crate) fn merged(
    merge: &Merge,
    kind: Kind,
    [ours, base]: [&str; 2],
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
    let texts = [object(ours)?, object(base)?, other];
    let all = match kind {
        Kind::Joined => Json::Object(joined::document(merge, &texts, gone, &mut missing)?),
        Kind::Attrs => Json::Object(attrs::merged(merge, ZarrFormat::V2, texts.each_ref(), gone, &mut missing)?),
        Kind::Marker => {
            let [ours, _, other] = texts;
            let mut ours = Json::Object(ours);
            merge.raise(&mut ours, &Json::Object(other));
            ours
        }
    };
    let mut text = String::with_capacity(old.len() + 64);
    json::write_strict(&all, &mut text);
    Ok(Merged { text, missing })
}

/// Adds what others put into a group: what is in `other`, and neither in ours nor in `base`, from where we took it away.
pub(crate) fn merge_lists(ours: &mut Json, base: &Json, other: &Json, gone: &[String], missing: &mut Vec<String>) {
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
        missing.extend(own.iter().filter(|name| base.contains(*name) && !their_names.contains(*name)).cloned());
        let is_gone = |name: &str| gone.iter().any(|gone| gone == name);
        let is_new = |name: &str| !base.contains(name) && !own.contains(name) && !is_gone(name);
        let new = theirs.iter().filter(|item| item.as_str().is_some_and(is_new));
        missing.extend(new.clone().filter_map(|item| Some(item.as_str()?.to_owned())));
        ours.extend(new.cloned());
    }
    let (Some(theirs), Some(Json::Object(ours))) = (declared(other), ours.get_mut("dimensions")) else { return };
    let base = declared(base);
    for (name, size) in theirs.iter() {
        if !ours.contains_key(name) && base.is_none_or(|base| !base.contains_key(name)) {
            ours.insert(name.to_owned(), size.clone());
        }
    }
}

/// Adds the types that others defined: those of names that neither we nor `base` have.
fn merge_types(ours: &mut Object, base: &Object, other: &Object) {
    let types = |group: &Object| group.get("types").and_then(Json::as_array).unwrap_or_default().to_vec();
    let name = |item: &Json| item.as_object().and_then(|item| item.get("name")?.as_str().map(str::to_owned));
    let mut all = types(ours);
    let known: HashSet<_> = all.iter().chain(&types(base)).filter_map(name).collect();
    let new: Vec<Json> =
        types(other).into_iter().filter(|item| name(item).is_some_and(|name| !known.contains(&name))).collect();
    if !new.is_empty() {
        all.extend(new);
        ours.insert("types", Json::Array(all));
    }
}

fn names(group: &Object, list: &str) -> HashSet<String> {
    let items = group.get(list).and_then(Json::as_array).unwrap_or_default();
    items.iter().filter_map(|item| Some(item.as_str()?.to_owned())).collect()
}

/// The names of the arrays and groups that the attributes of a group list.
pub(crate) fn listed(attributes: &Json) -> HashSet<String> {
    let lists = group(attributes).map(|group| ["arrays", "groups"].map(|list| names(group, list)));
    lists.into_iter().flatten().flatten().collect()
}

fn group(document: &Json) -> Option<&Object> {
    document.as_object()?.get(NCZARR_GROUP)?.as_object()
}

fn declared(group: &Object) -> Option<&Object> {
    group.get("dimensions")?.as_object()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_added_stays_and_what_we_took_away_goes() {
        let document = |arrays: &str, dims: &str| {
            format!("{{\"_nczarr_group\": {{\"dimensions\": {{{dims}}}, \"arrays\": [{arrays}], \"groups\": []}}}}")
        };
        let group = |ours: &str, base: &str, other: &str, gone: &[String]| {
            merged(&Merge::Group(Vec::new()), Kind::Attrs, [ours, base], other.as_bytes(), gone, &Limits::default())
                .unwrap()
        };
        for (base, ours, other, gone, expected, missing) in [
            ("", "\"a\"", "", "", "\"a\"", ""),
            ("", "\"a\"", "\"b\"", "", "\"a\",\"b\"", "b"),
            ("", "\"a\"", "\"b\"", "b", "\"a\"", ""),
            ("\"x\"", "\"y\"", "\"x\",\"z\"", "", "\"y\",\"z\"", "z"),
            ("\"x\"", "\"x\",\"y\"", "\"x\",\"y\"", "", "\"x\",\"y\"", ""),
            // Another took `x` away by renaming it, or wrote the list without knowing it.
            ("\"x\"", "\"x\"", "\"w\"", "", "\"x\",\"w\"", "x,w"),
            ("\"x\"", "\"x\"", "\"w\"", "x", "\"w\"", "w"),
        ] {
            let [base, ours, other, expected] = [base, ours, other, expected].map(|arrays| document(arrays, ""));
            let found = group(&ours, &base, &other, &[gone.to_owned()]);
            assert_eq!((found.text, found.missing.join(",")), (expected, missing.to_owned()));
        }
        let dims = |dims: &str| document("", dims);
        let (base, ours) = (dims("\"t\": 2, \"u\": 3"), dims("\"t\": 2, \"v\": 3"));
        let other = dims("\"t\": 2, \"u\": 3, \"s\": {\"size\": 4, \"unlimited\": 1}");
        assert_eq!(
            group(&ours, &base, &other, &[]).text,
            dims("\"t\": 2, \"v\": 3, \"s\": {\"size\": 4, \"unlimited\": 1}")
        );
        // What cannot be read is replaced, what has no lists adds nothing.
        for other in ["", "[]", "{\"_nczarr_group\": 1}", "{\"_nczarr_group\": {\"arrays\": 5, \"dimensions\": []}}"] {
            assert_eq!(group(&ours, &base, other, &[]).text, ours, "{other}");
        }
    }
}
