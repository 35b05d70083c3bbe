//! Dimensions that are renamed, on the way from one name to the other.
//!
//! Arrays name their dimensions, and a group declares them: documents of several objects, of which one is written after the
//! other. So the group declares both names before the first array has the new one, and the new one alone after the last
//! ([`ZarrDataset::declare_both`]). A name that was another dimension's cannot be declared twice: such a dimension has a name
//! of its own for a while, and all is written twice ([`between`]). Whoever is stopped meanwhile leaves a dataset that opens; a
//! dimension may be declared twice in it, or have that name.

use nczarr_dispatch::{Key, ZarrFormat};
use nczarr_model::{DimId, Edit, ErrorKind, GroupId, Model, Result};

use crate::attrs::NCZARR_GROUP;
use crate::commit::Committed;
use crate::dataset::ZarrDataset;
use crate::flavour::Flavour;
use crate::json::{self, Json, Object};
use crate::store::{Node, Part};
use crate::v3::keys;

/// How the name begins that a dimension has while it makes room.
const RENAMING: &str = "_renaming_";

/// A dimension whose name is another one now.
struct Renamed {
    dim: DimId,
    old: String,
    new: String,
}

/// The dimensions of a group that were renamed since it was stored.
fn renamed(model: &Model, committed: &Committed, group: GroupId) -> Vec<Renamed> {
    let stored = committed.dims.get(group.index()).map(Vec::as_slice).unwrap_or_default();
    let renamed = stored.iter().filter_map(|(dim, old)| {
        let new = &model.dim(*dim).ok()?.name;
        (new != old).then(|| Renamed { dim: *dim, old: old.clone(), new: new.clone() })
    });
    renamed.collect()
}

/// The model that is to be stored before this one, because dimensions take the names of others in it; `None` if none does.
///
/// # Errors
/// What the model says.
pub(crate) fn between(model: &Model, committed: &Committed) -> Result<Option<Model>> {
    let mut between = None;
    for (id, group) in model.groups() {
        let renamed = renamed(model, committed, id);
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

impl ZarrDataset {
    /// Lets groups declare renamed dimensions under both names.
    ///
    /// # Errors
    /// What the storage says.
    pub(crate) fn declare_both(&self, model: &Model, committed: &Committed) -> Result<()> {
        if self.flavour != Flavour::NcZarr {
            return Ok(());
        }
        for (id, _) in model.groups() {
            let renamed = renamed(model, committed, id);
            if renamed.is_empty() {
                continue;
            }
            let part = if self.format == ZarrFormat::V3 { Part::Marker } else { Part::Attrs };
            let mut key = Key::root();
            Node::Group(id).key(&self.read_state(), part, &mut key)?;
            let limits = &self.options.limits;
            let limit = usize::try_from(limits.document).unwrap_or(usize::MAX);
            let outcome = self.update(&key, limit, &mut |old, new| {
                // Somebody took it away: there is nothing to read.
                let old = old.ok_or(ErrorKind::NoObject)?;
                let document = json::parse(old, limits).ok();
                match document.and_then(|document| both(document, &renamed, self.format)) {
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
}

/// A group's document that declares both names of dimensions; `None` if it declares nothing.
fn both(mut document: Json, renamed: &[Renamed], format: ZarrFormat) -> Option<Json> {
    if format == ZarrFormat::V2 {
        declare(&mut document, renamed)?;
        return Some(document);
    }
    let Json::Object(members) = &mut document else { return None };
    let Some(Json::Object(attrs)) = members.get_mut("attributes") else { return None };
    let found = attrs.get(NCZARR_GROUP)?.clone();
    let alone: Object = [(NCZARR_GROUP, found.clone())].into_iter().collect();
    let mut lists = Json::Object(keys::group(&alone).ok()?);
    declare(&mut lists, renamed)?;
    let lists = keys::stored_group(lists.as_object()?.get(NCZARR_GROUP)?.as_object()?, &found);
    attrs.insert(NCZARR_GROUP, lists);
    Some(document)
}

/// Declares both names in attributes of V2's form.
fn declare(attrs: &mut Json, renamed: &[Renamed]) -> Option<()> {
    let Json::Object(attrs) = attrs else { return None };
    let Some(Json::Object(group)) = attrs.get_mut(NCZARR_GROUP) else { return None };
    let Some(Json::Object(dims)) = group.get_mut("dimensions") else { return None };
    for Renamed { old, new, .. } in renamed {
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
        let renamed = |old: &str, new: &str| Renamed {
            dim: Model::new().add_dim(GroupId::ROOT, "x", 1, false).unwrap(),
            old: old.into(),
            new: new.into(),
        };
        let renamed = [renamed("x", "y"), renamed("gone", "z"), renamed("t", "x")];
        let lists = |dims: &str| format!("{{\"_nczarr_group\": {{\"dimensions\": {dims}, \"arrays\": [\"a\"]}}}}");
        let v3 = |dims: &str| format!("{{\"attributes\": {}}}", lists(dims).replace(", \"arrays\": [\"a\"]", ""));
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
            let found = both(parse(&text), &renamed, format).map(|document| json::text(&document));
            assert_eq!(found, expected.map(|text| json::text(&parse(&text))), "{text}");
        }
    }
}
