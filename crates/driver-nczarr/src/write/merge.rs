//! Merging of documents that several writers store: lengths of unlimited dimensions by maximum, lists of a
//! group by union.
//!
//! This module does no I/O: `store` passes the stored text and gets the merged one.

use std::collections::HashSet;

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::Limits;
use nczarr_model::{DimId, Model, Result};

use crate::metadata::attributes::{self, NCZARR_GROUP};
use crate::metadata::json::{self, Json, Object};
use crate::metadata::v3;
use crate::write::merge_v3;

/// The place of lengths in a document that other writers may have extended.
#[derive(Debug, Default)]
pub(crate) enum LengthMerge {
    /// No such lengths.
    #[default]
    None,
    /// In `shape`, at the positions of these dimensions.
    Shape(Vec<Option<DimId>>),
    /// In the group's `dimensions`. Other writers may also have added dimensions, variables and groups.
    Group(Vec<UnlimitedDim>),
}

/// An unlimited dimension of a group.
#[derive(Debug)]
pub(crate) struct UnlimitedDim {
    pub(crate) id: DimId,
    /// Its current name.
    pub(crate) name: String,
    /// Its name in the stored document; `None` for a new dimension whose name belonged to another.
    pub(crate) stored_name: Option<String>,
}

impl LengthMerge {
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

    /// Extends the model's dimensions to the lengths of a stored document; returns whether one grew.
    /// `merge_v3`: the document is the only one of its node (V3).
    ///
    /// # Errors
    /// `NC_EBADDIM` for a dimension that the model does not have.
    pub(crate) fn grow(&self, model: &Model, document: &Json, joined: bool) -> Result<bool> {
        let mut grown = false;
        let lengths = match (self, joined) {
            (Self::Group(_), true) => v3::keys::group_attributes(document)
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

    /// Returns the lengths of unlimited dimensions in a stored document.
    fn lengths(&self, document: &Json) -> Vec<(DimId, u64)> {
        match self {
            Self::None => Vec::new(),
            Self::Shape(dims) => {
                let shape =
                    document.as_object().and_then(|members| members.get("shape")).and_then(Json::as_array);
                match shape.filter(|shape| shape.len() == dims.len()) {
                    None => Vec::new(),
                    Some(shape) => dims
                        .iter()
                        .zip(shape)
                        .filter_map(|(dim, len)| Some(((*dim)?, len.as_u64()?)))
                        .collect(),
                }
            }
            Self::Group(dims) => {
                let declared = group(document).and_then(declared);
                dims.iter()
                    .filter_map(|dim| {
                        let size = declared?.get(dim.stored_name.as_ref()?)?.as_object()?.get("size")?;
                        Some((dim.id, size.as_u64()?))
                    })
                    .collect()
            }
        }
    }

    /// Raises the lengths in `merge_document`, which is about to be stored, to those in `other`, which is
    /// stored.
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

/// The result of a merge.
#[derive(Debug)]
pub(crate) struct MergedDocument {
    pub(crate) text: String,
    /// Names whose listing is in doubt. Either we have always listed them and the stored list lacks them: the
    /// node may be gone, or its writer did not know it. Or the stored list adds them: a rename may not be
    /// complete.
    pub(crate) doubtful: Vec<String>,
}

/// The kind of document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeKind {
    /// The only document of a node, as in V3.
    SingleDocument,
    /// Attributes alone.
    Attrs,
    /// The document that makes a node an array, in V2.
    Marker,
}

/// Merges the changes from `base` to `ours` into the stored text `old`. Names in `gone` are not listed.
///
/// # Errors
/// `NC_ENCZARR` if our own text cannot be parsed, or the stored node is another one.
pub(crate) fn merge_documents(
    merge: &LengthMerge,
    kind: MergeKind,
    [ours, base]: [&str; 2],
    old: &[u8],
    gone: &[String],
    limits: &Limits,
) -> Result<MergedDocument> {
    let mut missing = Vec::new();
    if old == base.as_bytes() && gone.is_empty() {
        // No other writer stored anything, and our lengths only grow.
        return Ok(MergedDocument { text: ours.to_owned(), doubtful: missing });
    }
    // A document that cannot be parsed is replaced.
    let other = json::parse(old, limits).ok().and_then(Json::into_object);
    let Some(other) = other else { return Ok(MergedDocument { text: ours.to_owned(), doubtful: missing }) };
    let object = |text: &str| -> Result<Object> {
        Ok(json::parse(text.as_bytes(), limits)?.into_object().unwrap_or_default())
    };
    let texts = [object(ours)?, object(base)?, other];
    let all = match kind {
        MergeKind::SingleDocument => {
            Json::Object(merge_v3::merge_document(merge, &texts, gone, &mut missing)?)
        }
        MergeKind::Attrs => Json::Object(attributes::merge_attributes(
            merge,
            ZarrFormat::V2,
            texts.each_ref(),
            gone,
            &mut missing,
        )?),
        MergeKind::Marker => {
            let [ours, _, other] = texts;
            let mut ours = Json::Object(ours);
            merge.raise(&mut ours, &Json::Object(other));
            ours
        }
    };
    let mut text = String::with_capacity(old.len() + 64);
    json::write_strict(&all, &mut text);
    Ok(MergedDocument { text, doubtful: missing })
}

/// Adds the names that other writers added: those in `other` that are neither in ours nor in `base`. Names in
/// `base` only were removed by us.
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
            format!(
                "{{\"_nczarr_group\": {{\"dimensions\": {{{dims}}}, \"arrays\": [{arrays}], \"groups\": []}}}}"
            )
        };
        let group = |ours: &str, base: &str, other: &str, gone: &[String]| {
            merge_documents(
                &LengthMerge::Group(Vec::new()),
                MergeKind::Attrs,
                [ours, base],
                other.as_bytes(),
                gone,
                &Limits::default(),
            )
            .unwrap()
        };
        for (base, ours, other, gone, expected, missing) in [
            ("", "\"a\"", "", "", "\"a\"", ""),
            ("", "\"a\"", "\"b\"", "", "\"a\",\"b\"", "b"),
            ("", "\"a\"", "\"b\"", "b", "\"a\"", ""),
            ("\"x\"", "\"y\"", "\"x\",\"z\"", "", "\"y\",\"z\"", "z"),
            ("\"x\"", "\"x\",\"y\"", "\"x\",\"y\"", "", "\"x\",\"y\"", ""),
            // Another writer renamed `x`, or wrote the list without it.
            ("\"x\"", "\"x\"", "\"w\"", "", "\"x\",\"w\"", "x,w"),
            ("\"x\"", "\"x\"", "\"w\"", "x", "\"w\"", "w"),
        ] {
            let [base, ours, other, expected] =
                [base, ours, other, expected].map(|arrays| document(arrays, ""));
            let found = group(&ours, &base, &other, &[gone.to_owned()]);
            assert_eq!((found.text, found.doubtful.join(",")), (expected, missing.to_owned()));
        }
        let dims = |dims: &str| document("", dims);
        let (base, ours) = (dims("\"t\": 2, \"u\": 3"), dims("\"t\": 2, \"v\": 3"));
        let other = dims("\"t\": 2, \"u\": 3, \"s\": {\"size\": 4, \"unlimited\": 1}");
        assert_eq!(
            group(&ours, &base, &other, &[]).text,
            dims("\"t\": 2, \"v\": 3, \"s\": {\"size\": 4, \"unlimited\": 1}")
        );
        // An unreadable document is replaced. A document without lists adds nothing.
        for other in
            ["", "[]", "{\"_nczarr_group\": 1}", "{\"_nczarr_group\": {\"arrays\": 5, \"dimensions\": []}}"]
        {
            assert_eq!(group(&ours, &base, other, &[]).text, ours, "{other}");
        }
    }
}
