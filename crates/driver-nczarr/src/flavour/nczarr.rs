//! The NCZarr flavour: groups declare dimensions, and arrays reference them by full names.

use std::sync::Arc;

use nczarr_model::{Chunking, DimId, ErrorKind, GroupId, Model, NcType, Result, Var, VarFill, VarId};
use nczarr_storage::Key;

use super::builder::DatasetBuilder;
use crate::flavour::nczarr_lists::{self, ArrayReferences};
use crate::metadata::renamed_groups::resolve_renamed;
use crate::metadata::v3::dim_names;
use crate::metadata::variable::{DimRefs, ReadContext, StoredVariable, VariableDraft, set_problem};
use crate::open::tree::{RawArray, RawTree};
use crate::user;

/// Builds the model of an NCZarr store.
///
/// # Errors
/// `NC_ENCZARR` with the key and member, for invalid lists or dimensions of a group. A defect of a single
/// array becomes its variable's `problem`.
pub(super) fn load(tree: RawTree, reading: &ReadContext<'_>) -> Result<DatasetBuilder> {
    let RawTree { notes, faults, empty_folders: hollow, .. } = tree;
    let mut loaded = DatasetBuilder {
        notes,
        faults,
        empty_folders: hollow,
        keep: reading.keep,
        ..DatasetBuilder::default()
    };
    let (mut arrays, mut types, displaced) = (Vec::new(), Vec::new(), tree.renamed_groups);
    let mut typed = Vec::new();
    let mut ids: Vec<GroupId> = Vec::with_capacity(tree.groups.len());
    for mut raw in tree.groups {
        // The lists of a broken group are lost.
        let lists = match raw.damage {
            Some(_) => None,
            None => nczarr_lists::read(&raw.attrs, raw.zgroup.as_ref())
                .map_err(|error| error.at(nczarr_lists::document(&raw.key, &raw.attrs)))?,
        };
        let parent = raw.parent.and_then(|parent| ids.get(parent).copied());
        let id = loaded.add_group(&mut raw, parent)?;
        ids.push(id);
        let lists = lists.unwrap_or_default();
        for dim in lists.dims {
            match loaded.model.add_dim(id, &dim.name, dim.len, dim.unlimited) {
                Ok(_) => {}
                Err(error) if parent.is_some() => loaded.mark_damaged(id, error),
                Err(error) => return Err(error),
            }
        }
        if !lists.types.is_empty() {
            types.push((id, lists.types));
        }
        if let Some(group) = loaded.groups.get(id.index()) {
            typed.push((id, user::typed_atts(&group.attrs)));
        }
        arrays.extend(raw.arrays.into_iter().map(|array| (id, array)));
    }
    user::define(&mut loaded.model, &types, &displaced)?;
    for (id, typed) in typed.into_iter().filter(|(_, typed)| !typed.is_empty()) {
        let mut atts = std::mem::take(&mut loaded.model.group_mut(id)?.atts);
        user::present_atts(&loaded.model, &mut atts, &typed, &displaced);
        loaded.model.group_mut(id)?.atts = atts;
    }
    // Variables after all groups: a reference may name any group.
    loaded.vars.reserve_exact(arrays.len());
    loaded.model.reserve(0, arrays.iter().filter(|(group, _)| *group == GroupId::ROOT).count());
    for (group, RawArray { key, name, built }) in arrays {
        let VariableDraft { var: mut shared, mut stored, dim_refs: links } = built;
        let var = Arc::make_mut(&mut shared);
        (var.name, var.group) = (name, group);
        let typed = match &links {
            DimRefs::References(Ok(Some(found))) => found.ty.clone().map(|ty| (ty, found.fill_position)),
            _ => None,
        };
        if let Some((name, implied)) = typed.filter(|_| var.problem.is_none()) {
            let id = resolve_renamed(&name, &displaced, |name| user::find(&loaded.model, name));
            if let Err(error) =
                user::present(&loaded.model, var, Arc::make_mut(&mut stored), (&name, id), implied)
            {
                var.xtype = NcType::Byte;
                var.fill = VarFill::NoFill;
                set_problem(var, error.at(&key));
            }
        }
        user::present_atts(&loaded.model, &mut var.atts, &stored.typed, &displaced);
        let linked = match (links, &stored.meta) {
            (DimRefs::Names(names), Some(meta)) => set_named_dims(&mut loaded.model, var, names, &meta.shape),
            (links, _) => set_dims(var, &stored, links, &loaded.model, &key, &displaced),
        };
        if let Err(error) = linked {
            set_problem(var, error);
        }
        let id = loaded.add_var(shared, key, stored)?;
        grow_dims(&mut loaded, id);
    }
    loaded.define_types();
    Ok(loaded)
}

/// Sets the dimensions of a variable that has only dimension names, resolved from its group. An anonymous
/// dimension replaces a missing or unfitting name.
fn set_named_dims(model: &mut Model, var: &mut Var, names: Vec<Option<String>>, shape: &[u64]) -> Result<()> {
    let mut ids = Vec::with_capacity(shape.len());
    for (name, &len) in names.iter().zip(shape) {
        let fits = |id: &DimId| model.dim(*id).is_ok_and(|dim| dim.unlimited || dim.len() == len);
        let found = name.as_ref().and_then(|name| dim_names::of_stored(model, var.group, name)).filter(fits);
        let anonymous = format!("_Anonymous_Dim_{len}");
        let known = found.or_else(|| model.root().dims.get(&anonymous).copied());
        ids.push(match known {
            Some(id) => id,
            None => model.add_dim(GroupId::ROOT, anonymous, len, len == 0)?,
        });
    }
    var.dims = ids;
    Ok(())
}

/// Sets the dimensions of a variable.
fn set_dims(
    var: &mut Var,
    stored: &StoredVariable,
    links: DimRefs,
    model: &Model,
    key: &Key,
    displaced: &[Key],
) -> Result<()> {
    let (Some(meta), DimRefs::References(found)) = (&stored.meta, links) else { return Ok(()) };
    let found = found.map_err(|error| error.at(format_args!("{key}/.zattrs")))?;
    let Some(found) = found else {
        return Err(ErrorKind::NcZarr.context(format!(
            "{key}/.zattrs: the listed array has no member \"_nczarr_array\", so its dimensions are unknown"
        )));
    };
    let ArrayReferences { dims, scalar, .. } = *found;
    if scalar {
        let (shape, chunks) = (&meta.shape, &meta.chunks);
        if shape.iter().chain(chunks).any(|&len| len != 1) || !dims.is_empty() {
            return Err(ErrorKind::NcZarr
                .context(format!("{key}: the array is marked as a scalar (expected lengths of 1, found shape {shape:?} with chunks {chunks:?})")));
        }
        var.chunking = Chunking::Chunked(Vec::new());
        return Ok(());
    }
    let mut ids = Vec::with_capacity(dims.len());
    for name in &dims {
        let id = resolve_renamed(name, displaced, |name| find_dim(model, name)).ok_or_else(|| {
            ErrorKind::BadDim
                .context(format!("{key}/.zattrs: member \"dimension_references\": no dimension {name:?}"))
        })?;
        ids.push(id);
    }
    if ids.len() != meta.shape.len() {
        return Err(ErrorKind::NcZarr.context(format!(
            "{key}/.zattrs: member \"dimension_references\" has {} entries, \"shape\" has {}",
            ids.len(),
            meta.shape.len()
        )));
    }
    var.dims = ids;
    for (&id, &len) in var.dims.iter().zip(&meta.shape) {
        let dim = model.dim(id)?;
        if !dim.unlimited && dim.len() != len {
            return Err(ErrorKind::DimSize.context(format!(
                "{key}: its length along {:?} is {len}, the dimension's is {}",
                dim.name,
                dim.len()
            )));
        }
    }
    Ok(())
}

/// Finds the dimension of a full name.
fn find_dim(model: &Model, name: &str) -> Option<DimId> {
    let mut name = name.strip_prefix('/')?;
    let mut group = model.root();
    while let Some((first, rest)) = name.split_once('/') {
        group = model.group(*group.groups.get(first)?).ok()?;
        name = rest;
    }
    group.dims.get(name).copied()
}

/// Extends unlimited dimensions to the length of the array: a writer may have stopped before updating the
/// group.
fn grow_dims(loaded: &mut DatasetBuilder, id: VarId) {
    let Ok(var) = loaded.model.var(id) else { return };
    let Some(meta) = loaded.vars.get(id.index()).and_then(|stored| stored.stored.meta.as_ref()) else {
        return;
    };
    if var.problem.is_some() {
        return;
    }
    for (&dim, &len) in var.dims.iter().zip(&meta.shape) {
        if let Ok(dim) = loaded.model.dim(dim)
            && dim.unlimited
        {
            dim.grow(len);
        }
    }
}
