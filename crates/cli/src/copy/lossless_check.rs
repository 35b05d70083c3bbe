//! Lossy filters: a copy has them only if its values are unchanged with them.
//!
//! Such filters compute with elements of one type and with their neighbours. Other chunk shapes, another
//! order or another stored type may therefore give other values. The copy reads such variables again; if
//! values differ, or encoding fails, it is repeated without these filters.

use std::collections::HashSet;

use nczarr::Registry;
use nczarr_cdl::Blocks;
use nczarr_model::{Error, ErrorKind, FilterSpec, Model, NcType, Result, Slab, VarId};

use super::block::{BUDGET, STRING};
use super::compare;
use super::defined::{DefinedObjects, VariableForm};
use super::error::CopyError;
use super::spec::RequestedLayout;
use crate::source::DatasetSource;

/// Returns whether a filter may be lossy.
pub fn is_lossy(registry: &Registry, filter: &FilterSpec) -> bool {
    // Defining an unknown filter fails anyway.
    let class = match filter.hdf5_id {
        Some(id) => registry.filter_by_id(id),
        None => registry.filter(&filter.name),
    };
    class.is_ok_and(|class| !class.is_lossless())
}

/// Returns the variables with lossy filters of their own that no flag asked for.
pub fn suspects(source: &Model, layout: &RequestedLayout, registry: &Registry) -> HashSet<VarId> {
    let with = source.vars().filter(|(id, var)| {
        layout.filters(*id).is_none() && var.filters.iter().any(|filter| is_lossy(registry, filter))
    });
    with.map(|(id, _)| id).collect()
}

/// Returns the variables whose values differ in the finished copy.
///
/// # Errors
///
/// Errors of reading.
pub fn changed(
    source: &nczarr::File,
    copy: nczarr::File,
    copied: &DefinedObjects,
    suspects: impl Iterator<Item = VarId>,
) -> Result<HashSet<VarId>, CopyError> {
    let (here, there) = (source.model(), copy.model());
    let (from, to) = (source.dataset(), copy.dataset());
    let (from, to) = (DatasetSource::new(from.as_ref()), DatasetSource::new(to.as_ref()));
    let mut changed = HashSet::new();
    for id in suspects {
        let Some(new) = copied.vars.get(id.index()).and_then(Option::as_ref) else { continue };
        let Some(new) = compare::there(copied, &there, new.id).filter(|_| new.form == VariableForm::Same)
        else {
            continue;
        };
        let (var, shape) = (here.var(id)?, here.shape(id)?);
        if shape.contains(&0) {
            continue;
        }
        let item = match var.xtype {
            NcType::String => STRING,
            ty => from.item_size(ty).map_err(CopyError::Source)?.max(1) as u64,
        };
        for (start, count) in Blocks::new(&shape, None, BUDGET / item) {
            let slab = Slab::new(&start, &count);
            let same = match var.xtype {
                NcType::String => {
                    from.strings(id, &slab).map_err(CopyError::Source)? == to.strings(new, &slab)?
                }
                _ => from.bytes(id, &slab).map_err(CopyError::Source)? == to.bytes(new, &slab)?,
            };
            if !same {
                changed.insert(id);
                break;
            }
        }
    }
    copy.close()?;
    Ok(changed)
}

/// Returns whether an error means that a filter could not encode the data.
pub fn is_unfit(broken: &CopyError) -> bool {
    matches!(broken, CopyError::Target(error) if error.kind() == ErrorKind::Filter)
}

/// Returns the reason for leaving a filter out.
pub fn why() -> Error {
    ErrorKind::Filter.context("it would change values, or cannot encode them")
}
