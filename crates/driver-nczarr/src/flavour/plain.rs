//! The plain Zarr flavour: dimensions come from xarray's `_ARRAY_DIMENSIONS`, or are derived from lengths.
//!
//! Named dimensions belong to the group of their variable; unnamed ones, `_Anonymous_Dim_<length>`, to the
//! root. Zarr allows two lengths for one name in one group: the later one becomes `<name>_<length>`. In
//! annotated groups (`annotation`) the named dimensions are the declared ones.

use std::mem::take;
use std::sync::Arc;

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::Fault;
use nczarr_model::{DimId, GroupId, Model, Result};

use super::builder::{DatasetBuilder, dim_names};
use super::dim_refs::is_legal;
use super::kind::DimNaming;
use crate::flavour::annotation::{self, DeclaredStructure};
use crate::metadata::attributes::NETCDF;
use crate::metadata::v3::dim_names;
use crate::metadata::variable::{DimRefs, ReadContext, VariableDraft};
use crate::open::tree::{RawArray, RawTree};

/// The most conflicting dimension names that are reported individually.
const MAX_REPORTED: usize = 20;

/// Builds the model of a plain store.
///
/// # Errors
/// `NC_ENAMEINUSE` if two nodes have one name.
pub(super) fn load(mut tree: RawTree, reading: &ReadContext<'_>) -> Result<DatasetBuilder> {
    let root_array = tree.root_array.take();
    let structure = read_declarations(&mut tree, reading.naming);
    let stale = structure.is_none();
    let count = tree.groups.iter().map(|group| group.arrays.len()).sum::<usize>() + root_array.iter().len();
    let RawTree { notes, faults, empty_folders: hollow, .. } = &mut tree;
    let (notes, faults, hollow) = (take(notes), take(faults), take(hollow));
    let mut loaded = DatasetBuilder {
        notes,
        faults,
        empty_folders: hollow,
        keep: reading.keep,
        root_array: root_array.is_some(),
        stale_dims: stale,
        ..DatasetBuilder::default()
    };
    loaded.vars.reserve_exact(count);
    loaded.model.reserve(0, tree.groups.first().map_or(0, |root| root.arrays.len()));
    loaded.groups.reserve_exact(tree.groups.len());
    let mut ids: Vec<GroupId> = Vec::with_capacity(tree.groups.len());
    let mut arrays: Vec<(GroupId, Vec<RawArray>)> = Vec::with_capacity(tree.groups.len() + 1);
    arrays.extend(root_array.map(|array| (GroupId::ROOT, vec![array])));
    loaded.annotated = tree.groups.iter().any(|group| annotation::exists(&group.attrs));
    let mut lists = structure.unwrap_or_default().groups.into_iter();
    for mut raw in tree.groups {
        let parent = raw.parent.and_then(|parent| ids.get(parent).copied());
        let id = loaded.add_group(&mut raw, parent)?;
        ids.push(id);
        for dim in lists.next().unwrap_or_default().dims {
            loaded.model.add_dim(id, &dim.name, dim.len, dim.unlimited)?;
        }
        for name in reading.growing {
            let known = loaded.model.group(id)?.dims.contains_key(name);
            if let Some(len) = greatest_length(&raw.arrays, name).filter(|_| !known) {
                loaded.model.add_dim(id, name, len, true)?;
            }
        }
        arrays.push((id, raw.arrays));
    }
    let declared = loaded.model.dims().len();
    let mut others = Vec::new();
    loaded.xarray_dims |= declared > 0;
    let arrays =
        arrays.into_iter().flat_map(|(group, arrays)| arrays.into_iter().map(move |array| (group, array)));
    for (group, RawArray { key, name, built }) in arrays {
        let VariableDraft { var: mut shared, stored, dim_refs: links } = built;
        let var = Arc::make_mut(&mut shared);
        loaded.annotated |= annotation::exists(&stored.attrs);
        (var.name, var.group) = (name, group);
        if let Some(meta) = &stored.meta {
            let names = match links {
                DimRefs::Names(names) => Some(names),
                _ => None,
            };
            let named = names.as_ref().is_some_and(|names| names.iter().all(Option::is_some));
            loaded.xarray_dims |= named;
            let given: Option<Vec<String>> =
                if reading.keep { names.clone().and_then(|names| names.into_iter().collect()) } else { None };
            let is_v3 = reading.format == ZarrFormat::V3;
            var.dims =
                resolve_dims(&mut loaded.model, group, &meta.shape, names, (declared, is_v3), &mut others)?;
            if let Some(given) = given {
                let assigned =
                    if is_v3 { dim_names::of(&loaded.model, var)? } else { dim_names(&loaded.model, var)? };
                loaded.stale_dims |= given != assigned;
            }
        }
        loaded.add_var(shared, key, stored)?;
    }
    let more = others.len().saturating_sub(MAX_REPORTED);
    for (id, given) in others.into_iter().take(MAX_REPORTED) {
        let dim = loaded.model.dim(id)?;
        let path = loaded.model.fqn(dim.group, &dim.name)?;
        let other = "arrays call it by the name of a dimension of another length";
        loaded.faults.push(Fault::inconsistent(path, format_args!("{other}, {given:?}")));
    }
    if more > 0 {
        let text = format!("{more} more dimensions share their name with one of another length");
        loaded.faults.push(Fault::inconsistent("/", text));
    }
    loaded.define_types();
    Ok(loaded)
}

/// Returns the greatest length along a dimension; `None` if no array has it.
fn greatest_length(arrays: &[RawArray], name: &str) -> Option<u64> {
    let lens = arrays.iter().flat_map(|array| match (&array.built.stored.meta, &array.built.dim_refs) {
        (Some(meta), DimRefs::Names(names)) => names.iter().zip(&meta.shape).collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    lens.filter(|(found, _)| found.as_deref() == Some(name)).map(|(_, len)| *len).max()
}

/// Reads the groups' declarations and sorts the tree accordingly; `None` if they do not fit the arrays.
fn read_declarations(tree: &mut RawTree, naming: DimNaming) -> Option<DeclaredStructure> {
    if naming != DimNaming::Attribute {
        return Some(DeclaredStructure::default());
    }
    match DeclaredStructure::of(tree) {
        Ok(Some(mut structure)) => {
            structure.sort(tree);
            Some(structure)
        }
        Ok(None) => Some(DeclaredStructure::default()),
        Err(why) => {
            tree.notes.push(format!("{NETCDF} is ignored: {why}"));
            None
        }
    }
}

/// Returns the dimensions of an array of this shape, and adds missing ones to the model.
///
/// The first `declared` dimensions are those that groups declare; lower groups see them. In V3 an array may
/// use their stored names, which tell shadowed dimensions apart.
fn resolve_dims(
    model: &mut Model,
    group: GroupId,
    shape: &[u64],
    names: Option<Vec<Option<String>>>,
    (declared, is_v3): (usize, bool),
    others: &mut Vec<(DimId, String)>,
) -> Result<Vec<DimId>> {
    let mut ids = Vec::with_capacity(shape.len());
    let mut names = names.unwrap_or_default().into_iter();
    for &len in shape {
        let name = names.next().flatten();
        if let Some(name) = name.as_ref().filter(|_| is_v3 && declared > 0)
            && let Some(id) = dim_names::of_stored(model, group, name).filter(|id| id.index() < declared)
        {
            ids.push(id);
            continue;
        }
        let id = match name.filter(|name| is_legal(&name.as_str())) {
            Some(name) => match find_declared(model, group, &name, declared) {
                Some(id) => id,
                None => find_or_add_dim(model, group, name, len, others)?,
            },
            None => find_or_add_dim(model, GroupId::ROOT, format!("_Anonymous_Dim_{len}"), len, others)?,
        };
        ids.push(id);
    }
    Ok(ids)
}

/// Finds the declared dimension of this name that `group` sees.
fn find_declared(model: &Model, group: GroupId, name: &str, declared: usize) -> Option<DimId> {
    let mut here = (declared > 0).then_some(group);
    while let Some(group) = here.and_then(|id| model.group(id).ok()) {
        if let Some(&id) = group.dims.get(name).filter(|id| id.index() < declared) {
            return Some(id);
        }
        here = group.parent;
    }
    None
}

/// Finds or adds the dimension `given` of `group` with this length. If the name has another length, the
/// dimension gets another name and is reported in `others`.
fn find_or_add_dim(
    model: &mut Model,
    group: GroupId,
    given: String,
    len: u64,
    others: &mut Vec<(DimId, String)>,
) -> Result<DimId> {
    let Some(&id) = model.group(group)?.dims.get(&given) else {
        return model.add_dim(group, given, len, len == 0);
    };
    if model.dim(id)?.len() == len {
        return Ok(id);
    }
    let mut name = format!("{given}_{len}");
    while let Some(&id) = model.group(group)?.dims.get(&name) {
        if model.dim(id)?.len() == len {
            return Ok(id);
        }
        name = format!("{name}_{len}");
    }
    let id = model.add_dim(group, name, len, len == 0)?;
    others.push((id, given));
    Ok(id)
}
