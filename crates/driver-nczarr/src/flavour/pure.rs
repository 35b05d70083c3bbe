//! Plain Zarr: dimensions come from xarray's `_ARRAY_DIMENSIONS`, or are made up from lengths.
//!
//! Named dimensions belong to the group of their variable; unnamed ones, `_Anonymous_Dim_<length>`, to the root. Two
//! lengths of one name in one group are legal in Zarr: the later one becomes `<name>_<length>`.

use model::{DimId, GroupId, Model, Result, Var, VarFill};

use super::Loaded;
use crate::attrs::{ARRAY_DIMENSIONS, FILL_VALUE};
use crate::json::Members;
use crate::tree::{RawArray, RawTree};
use crate::var::{Built, Links, Reading};

/// The model of a plain store. `root_array`: an array without a group, with the name its variable gets.
///
/// # Errors
/// `NC_ENAMEINUSE` if two nodes have one name.
pub(crate) fn load(tree: RawTree, root_array: Option<RawArray>, reading: &Reading<'_>) -> Result<Loaded> {
    let count = tree.groups.iter().map(|group| group.arrays.len()).sum::<usize>() + root_array.iter().len();
    let mut loaded = Loaded { notes: tree.notes, keep: reading.keep, ..Loaded::default() };
    loaded.vars.reserve_exact(count);
    loaded.groups.reserve_exact(tree.groups.len());
    let mut ids: Vec<GroupId> = Vec::with_capacity(tree.groups.len());
    let mut arrays: Vec<_> = Vec::with_capacity(count);
    arrays.extend(root_array.map(|array| (GroupId::ROOT, array)));
    for mut raw in tree.groups {
        let parent = raw.parent.and_then(|parent| ids.get(parent).copied());
        let id = loaded.group(&mut raw, parent)?;
        ids.push(id);
        arrays.extend(raw.arrays.into_iter().map(|array| (id, array)));
    }
    for (group, RawArray { key, name, built }) in arrays {
        let Built { mut var, mut stored, links } = *built;
        (var.name, var.group) = (name, group);
        if let Some(meta) = &stored.meta {
            let names = match links {
                Links::Names(names) => Some(names),
                _ => None,
            };
            let named = names.is_some();
            loaded.named_dims |= named;
            var.dims = dims(&mut loaded.model, group, &meta.shape, names)?;
            if named {
                stored.implied_fill = imply_fill(&mut var);
            }
        }
        loaded.var(var, key, stored)?;
    }
    Ok(loaded)
}

/// The dimension names of an array, if there is one legal name for each dimension.
pub(super) fn names(attrs: &Members<'_>, rank: usize) -> Option<Vec<String>> {
    let items = attrs.get(ARRAY_DIMENSIONS)?.as_array().filter(|items| items.len() == rank)?;
    let legal = |name: &&str| !name.is_empty() && !name.contains('/');
    items.iter().map(|item| item.as_str().filter(legal).map(str::to_owned)).collect()
}

/// The dimensions of an array of this shape; those that are not there yet are added.
fn dims(model: &mut Model, group: GroupId, shape: &[u64], names: Option<Vec<String>>) -> Result<Vec<DimId>> {
    let mut ids = Vec::with_capacity(shape.len());
    let mut names = names.unwrap_or_default().into_iter();
    for &len in shape {
        let id = match names.next() {
            Some(name) => dim(model, group, name, len)?,
            None => dim(model, GroupId::ROOT, format!("_Anonymous_Dim_{len}"), len)?,
        };
        ids.push(id);
    }
    Ok(ids)
}

/// The dimension `name` of `group` with this length; another length gets another name.
fn dim(model: &mut Model, group: GroupId, mut name: String, len: u64) -> Result<DimId> {
    while let Some(&id) = model.group(group)?.dims.get(&name) {
        if model.dim(id)?.len() == len {
            return Ok(id);
        }
        name = format!("{name}_{len}");
    }
    model.add_dim(group, name, len, len == 0)
}

/// By xarray's convention the fill value of an array is its `_FillValue`; the attribute itself is not stored.
fn imply_fill(var: &mut Var) -> Option<model::Values> {
    let VarFill::Value(value) = &var.fill else { return None };
    if var.atts.contains_key(FILL_VALUE) || is_rounded_default(value) {
        return None;
    }
    let value = value.clone();
    var.atts.insert(FILL_VALUE.to_owned(), value.clone());
    Some(value)
}

/// netCDF-C writes the default fill of a double with six digits.
fn is_rounded_default(value: &model::Values) -> bool {
    *value == model::Values::Double(vec![9.96921e36])
}
