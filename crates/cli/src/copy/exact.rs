//! Filters that lose something: a copy has them only if it has the same values with them.
//!
//! Such filters compute with elements of one type, neighbours among them: in chunks of another shape or order, or with
//! elements that the target stores as another type, other values may come back. So what went through them is read
//! again; where it differs, or cannot be encoded, the copy is made without them.

use std::collections::HashSet;

use nczarr::Registry;
use nczarr_cdl::Blocks;
use nczarr_model::{Error, ErrorKind, FilterSpec, Model, NcType, Result, Slab, VarId};

use super::Broken;
use super::data::{BUDGET, STRING};
use super::define::{Copied, Form};
use super::losses;
use super::spec::Layout;
use crate::source::DatasetSource;

/// Whether a filter may lose something.
pub fn is_lossy(registry: &Registry, filter: &FilterSpec) -> bool {
    // One that nobody knows is refused when it is defined.
    let class = match filter.hdf5_id {
        Some(id) => registry.filter_by_id(id),
        None => registry.filter(&filter.name),
    };
    class.is_ok_and(|class| !class.is_lossless())
}

/// The variables that have such filters of their own, and not because they were asked for.
pub fn suspects(source: &Model, layout: &Layout, registry: &Registry) -> HashSet<VarId> {
    let with = source.vars().filter(|(id, var)| {
        layout.filters(*id).is_none() && var.filters.iter().any(|filter| is_lossy(registry, filter))
    });
    with.map(|(id, _)| id).collect()
}

/// Those of the variables whose values are others in the finished copy.
///
/// # Errors
/// What reading says.
pub fn changed(
    source: &nczarr::File,
    copy: nczarr::File,
    copied: &Copied,
    suspects: impl Iterator<Item = VarId>,
) -> Result<HashSet<VarId>, Broken> {
    let (here, there) = (source.model(), copy.model());
    let (from, to) = (source.dataset(), copy.dataset());
    let (from, to) = (DatasetSource::new(from.as_ref()), DatasetSource::new(to.as_ref()));
    let mut changed = HashSet::new();
    for id in suspects {
        let Some(new) = copied.vars.get(id.index()).and_then(Option::as_ref) else { continue };
        let Some(new) = losses::there(copied, &there, new.id).filter(|_| new.form == Form::Same) else { continue };
        let (var, shape) = (here.var(id)?, here.shape(id)?);
        if shape.contains(&0) {
            continue;
        }
        let item = match var.xtype {
            NcType::String => STRING,
            ty => from.item_size(ty).map_err(Broken::Source)?.max(1) as u64,
        };
        for (start, count) in Blocks::new(&shape, None, BUDGET / item) {
            let slab = Slab::new(&start, &count);
            let same = match var.xtype {
                NcType::String => from.strings(id, &slab).map_err(Broken::Source)? == to.strings(new, &slab)?,
                _ => from.bytes(id, &slab).map_err(Broken::Source)? == to.bytes(new, &slab)?,
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

/// Whether an error says that a filter could not work on what was written.
pub fn is_unfit(broken: &Broken) -> bool {
    matches!(broken, Broken::Target(error) if error.kind() == ErrorKind::Filter)
}

/// Why a filter is left out.
pub fn why() -> Error {
    ErrorKind::Filter.context("with it values would be others, or cannot be stored")
}
