//! NCZarr: dimensions are declared by groups and referenced by full names.

use std::sync::Arc;

use nczarr_dispatch::Key;
use nczarr_model::{Chunking, DimId, ErrorKind, GroupId, Model, NcType, Result, Var, VarFill, VarId};

use super::Loaded;
use crate::displaced;
use crate::lists::{self, References};
use crate::tree::{RawArray, RawTree};
use crate::user;
use crate::v3::names;
use crate::var::{Built, Links, Reading, Stored, note};

/// The model of an NCZarr store.
///
/// # Errors
/// `NC_ENCZARR` naming the key and member of a group's lists or dimensions that make no sense; what is wrong with a
/// single array becomes its variable's problem.
pub(crate) fn load(tree: RawTree, reading: &Reading<'_>) -> Result<Loaded> {
    let RawTree { notes, faults, hollow, .. } = tree;
    let mut loaded = Loaded { notes, faults, hollow, keep: reading.keep, ..Loaded::default() };
    let (mut arrays, mut types, displaced) = (Vec::new(), Vec::new(), tree.displaced);
    let mut typed = Vec::new();
    let mut ids: Vec<GroupId> = Vec::with_capacity(tree.groups.len());
    for mut raw in tree.groups {
        // Those of a broken group were found to be lost.
        let lists = match raw.broken {
            Some(_) => None,
            None => lists::read(&raw.attrs, raw.zgroup.as_ref())
                .map_err(|error| error.at(lists::document(&raw.key, &raw.attrs)))?,
        };
        let parent = raw.parent.and_then(|parent| ids.get(parent).copied());
        let id = loaded.group(&mut raw, parent)?;
        ids.push(id);
        let lists = lists.unwrap_or_default();
        for dim in lists.dims {
            match loaded.model.add_dim(id, &dim.name, dim.len, dim.unlimited) {
                Ok(_) => {}
                Err(error) if parent.is_some() => loaded.break_group(id, error),
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
    // Variables after all groups: a reference may point anywhere.
    loaded.vars.reserve_exact(arrays.len());
    loaded.model.reserve(0, arrays.iter().filter(|(group, _)| *group == GroupId::ROOT).count());
    for (group, RawArray { key, name, built }) in arrays {
        let Built { var: mut shared, mut stored, links } = built;
        let var = Arc::make_mut(&mut shared);
        (var.name, var.group) = (name, group);
        let typed = match &links {
            Links::References(Ok(Some(found))) => found.ty.clone().map(|ty| (ty, found.implied)),
            _ => None,
        };
        if let Some((name, implied)) = typed.filter(|_| var.problem.is_none()) {
            let id = displaced::resolve(&name, &displaced, |name| user::find(&loaded.model, name));
            if let Err(error) = user::present(&loaded.model, var, Arc::make_mut(&mut stored), (&name, id), implied) {
                var.xtype = NcType::Byte;
                var.fill = VarFill::NoFill;
                note(var, error.at(&key));
            }
        }
        user::present_atts(&loaded.model, &mut var.atts, &stored.typed, &displaced);
        let linked = match (links, &stored.meta) {
            (Links::Names(names), Some(meta)) => named(&mut loaded.model, var, names, &meta.shape),
            (links, _) => dims(var, &stored, links, &loaded.model, &key, &displaced),
        };
        if let Err(error) = linked {
            note(var, error);
        }
        let id = loaded.var(shared, key, stored)?;
        stretch(&mut loaded, id);
    }
    loaded.define_types();
    Ok(loaded)
}

/// Sets the dimensions of a variable that has nothing but names for them, seen from its group; where there is no name, or
/// none that fits, there is a dimension without one.
fn named(model: &mut Model, var: &mut Var, names: Vec<Option<String>>, shape: &[u64]) -> Result<()> {
    let mut ids = Vec::with_capacity(shape.len());
    for (name, &len) in names.iter().zip(shape) {
        let fits = |id: &DimId| model.dim(*id).is_ok_and(|dim| dim.unlimited || dim.len() == len);
        let found = name.as_ref().and_then(|name| names::of_stored(model, var.group, name)).filter(fits);
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
fn dims(var: &mut Var, stored: &Stored, links: Links, model: &Model, key: &Key, displaced: &[Key]) -> Result<()> {
    let (Some(meta), Links::References(found)) = (&stored.meta, links) else { return Ok(()) };
    let found = found.map_err(|error| error.at(format_args!("{key}/.zattrs")))?;
    let Some(found) = found else {
        return Err(ErrorKind::NcZarr.context(format!(
            "{key}/.zattrs: a listed array without \"_nczarr_array\": its dimensions are not known"
        )));
    };
    let References { dims, scalar, .. } = *found;
    if scalar {
        let (shape, chunks) = (&meta.shape, &meta.chunks);
        if shape.iter().chain(chunks).any(|&len| len != 1) || !dims.is_empty() {
            return Err(ErrorKind::NcZarr
                .context(format!("{key}: marked as a scalar, but its shape is {shape:?} in chunks of {chunks:?}")));
        }
        var.chunking = Chunking::Chunked(Vec::new());
        return Ok(());
    }
    let mut ids = Vec::with_capacity(dims.len());
    for name in &dims {
        let id = displaced::resolve(name, displaced, |name| resolve(model, name)).ok_or_else(|| {
            ErrorKind::BadDim.context(format!("{key}/.zattrs: member \"dimension_references\": no dimension {name:?}"))
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

/// The dimension of a full name.
fn resolve(model: &Model, name: &str) -> Option<DimId> {
    let mut name = name.strip_prefix('/')?;
    let mut group = model.root();
    while let Some((first, rest)) = name.split_once('/') {
        group = model.group(*group.groups.get(first)?).ok()?;
        name = rest;
    }
    group.dims.get(name).copied()
}

/// An unlimited dimension is as long as the longest variable along it: a writer may have stopped half-way.
fn stretch(loaded: &mut Loaded, id: VarId) {
    let Ok(var) = loaded.model.var(id) else { return };
    let Some(meta) = loaded.vars.get(id.index()).and_then(|stored| stored.stored.meta.as_ref()) else { return };
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
