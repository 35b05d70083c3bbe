//! Renaming of dimensions, so that the dataset opens at every intermediate state.
//!
//! Arrays name their dimensions, and a group declares them, in separate objects that are written one after
//! the other. So the group declares both names before the first array has the new one, and only the new name
//! after the last array ([`declare_both`]).
//!
//! A group cannot declare a new name that another dimension still has. Such a dimension gets a temporary name
//! first, and everything is written twice ([`intermediate_model`]). After a crash the dataset opens; a
//! dimension may be declared twice or have a temporary name.

use nczarr_codec::ZarrFormat;
use nczarr_model::{DimId, Edit, ErrorKind, GroupId, Model, Result};
use nczarr_storage::Key;

use crate::dataset::catalog::Catalog;
use crate::dataset::node_id::NodeId;
use crate::flavour::kind::Flavour;
use crate::metadata::attributes::NCZARR_GROUP;
use crate::metadata::json::{self, Json, Object};
use crate::metadata::v3::keys;
use crate::write::committed::CommittedMetadata;
use crate::write::documents::DocumentKind;
use crate::write::store::DocumentStore;

/// The prefix of temporary dimension names.
const RENAMING: &str = "_renaming_";

/// A dimension that was renamed since it was stored.
struct RenamedDim {
    dim: DimId,
    old: String,
    new: String,
}

/// Returns the dimensions of a group that were renamed since it was stored.
fn renamed_dims(model: &Model, committed: &CommittedMetadata, group: GroupId) -> Vec<RenamedDim> {
    let stored = committed.dims.get(group.index()).map(Vec::as_slice).unwrap_or_default();
    let renamed = stored.iter().filter_map(|(dim, old)| {
        let new = &model.dim(*dim).ok()?.name;
        (new != old).then(|| RenamedDim { dim: *dim, old: old.clone(), new: new.clone() })
    });
    renamed.collect()
}

/// Returns the model to store before this one, if dimensions take the names of other dimensions.
///
/// # Errors
/// Errors of the model.
pub(crate) fn intermediate_model(model: &Model, committed: &CommittedMetadata) -> Result<Option<Model>> {
    let mut between = None;
    for (id, group) in model.groups() {
        let renamed = renamed_dims(model, committed, id);
        let is_taken = |name: &str| renamed.iter().any(|other| other.old == name);
        let mut number = 0;
        for one in renamed.iter().filter(|one| is_taken(&one.new)) {
            let name = loop {
                number += 1;
                let name = format!("{RENAMING}{number}");
                if !group.dims.contains_key(&name) && !is_taken(&name) {
                    break name;
                }
            };
            let between = between.get_or_insert_with(|| model.clone());
            between.apply(&Edit::RenameDim { dim: one.dim, name: &name })?;
        }
    }
    Ok(between)
}

/// Rewrites the documents of groups so that they declare renamed dimensions under both names.
///
/// # Errors
/// Errors of the storage.
pub(crate) fn declare_both(catalog: &Catalog, model: &Model, committed: &CommittedMetadata) -> Result<()> {
    if catalog.flavour != Flavour::NcZarr {
        return Ok(());
    }
    for (id, _) in model.groups() {
        let renamed = renamed_dims(model, committed, id);
        if renamed.is_empty() {
            continue;
        }
        let part = if catalog.format == ZarrFormat::V3 { DocumentKind::Marker } else { DocumentKind::Attrs };
        let mut key = Key::root();
        NodeId::Group(id).key(&catalog.read_state(), part, &mut key)?;
        let limits = &catalog.options.limits;
        let limit = usize::try_from(limits.document).unwrap_or(usize::MAX);
        let outcome = DocumentStore { catalog }.update(&key, limit, &mut |old, new| {
            // Another writer deleted the document, so no reader can see it.
            let old = old.ok_or(ErrorKind::NoObject)?;
            let document = json::parse(old, limits).ok();
            match document.and_then(|document| declaring_both(document, &renamed, catalog.format)) {
                Some(document) => new.extend_from_slice(json::text(&document).as_bytes()),
                None => new.extend_from_slice(old),
            }
            Ok(())
        });
        match outcome {
            Err(error) if error.kind() == ErrorKind::NoObject => {}
            outcome => outcome?,
        }
    }
    Ok(())
}

/// Returns a group's document with both names of each renamed dimension; `None` if it declares no dimensions.
fn declaring_both(mut document: Json, renamed: &[RenamedDim], format: ZarrFormat) -> Option<Json> {
    if format == ZarrFormat::V2 {
        add_new_names(&mut document, renamed)?;
        return Some(document);
    }
    let Json::Object(members) = &mut document else { return None };
    let Some(Json::Object(attrs)) = members.get_mut("attributes") else { return None };
    let found = attrs.get(NCZARR_GROUP)?.clone();
    let alone: Object = [(NCZARR_GROUP, found.clone())].into_iter().collect();
    let mut lists = Json::Object(keys::group(&alone).ok()?);
    add_new_names(&mut lists, renamed)?;
    let lists = keys::stored_group(lists.as_object()?.get(NCZARR_GROUP)?.as_object()?, &found);
    attrs.insert(NCZARR_GROUP, lists);
    Some(document)
}

/// Adds the new names to attributes in V2's form.
fn add_new_names(attrs: &mut Json, renamed: &[RenamedDim]) -> Option<()> {
    let Json::Object(attrs) = attrs else { return None };
    let Some(Json::Object(group)) = attrs.get_mut(NCZARR_GROUP) else { return None };
    let Some(Json::Object(dims)) = group.get_mut("dimensions") else { return None };
    for RenamedDim { old, new, .. } in renamed {
        if let Some(declared) = dims.get(old).cloned()
            && !dims.contains_key(new)
        {
            dims.insert(new.clone(), declared);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use nczarr_dispatch::Limits;

    use super::*;

    #[test]
    fn both_names_are_declared_in_either_spelling() {
        let renamed = |old: &str, new: &str| RenamedDim {
            dim: Model::new().add_dim(GroupId::ROOT, "x", 1, false).unwrap(),
            old: old.into(),
            new: new.into(),
        };
        let renamed = [renamed("x", "y"), renamed("gone", "z"), renamed("t", "x")];
        let lists =
            |dims: &str| format!("{{\"_nczarr_group\": {{\"dimensions\": {dims}, \"arrays\": [\"a\"]}}}}");
        let v3 =
            |dims: &str| format!("{{\"attributes\": {}}}", lists(dims).replace(", \"arrays\": [\"a\"]", ""));
        for (format, text, expected) in [
            (ZarrFormat::V2, lists("{\"x\": 2, \"t\": 3}"), Some(lists("{\"x\": 2, \"t\": 3, \"y\": 2}"))),
            (ZarrFormat::V2, "{}".to_owned(), None),
            (ZarrFormat::V2, "[]".to_owned(), None),
            (ZarrFormat::V3, "{\"attributes\": {\"a\": 1}}".to_owned(), None),
            (
                ZarrFormat::V3,
                v3("[{\"name\": \"x\", \"size\": 2, \"unlimited\": 1}]"),
                Some(v3(
                    "[{\"name\": \"x\", \"size\": 2, \"unlimited\": 1}, {\"name\": \"y\", \"size\": 2, \"unlimited\": 1}]",
                )),
            ),
            (
                ZarrFormat::V3,
                v3("{\"x\": {\"size\": 2, \"unlimited\": 0}}"),
                Some(v3("{\"x\": {\"size\": 2, \"unlimited\": 0}, \"y\": {\"size\": 2, \"unlimited\": 0}}")),
            ),
        ] {
            let parse = |text: &str| json::parse(text.as_bytes(), &Limits::default()).unwrap();
            let found = declaring_both(parse(&text), &renamed, format).map(|document| json::text(&document));
            assert_eq!(found, expected.map(|text| json::text(&parse(&text))), "{text}");
        }
    }
}
