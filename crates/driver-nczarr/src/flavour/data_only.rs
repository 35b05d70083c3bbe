//! Loads one array for its data: its shape, with dimensions of its own.

use std::sync::Arc;

use nczarr_model::Result;

use super::builder::DatasetBuilder;
use super::dim_refs::is_legal;
use crate::metadata::variable::{DimRefs, VariableDraft};
use crate::open::tree::{RawArray, RawTree};

/// Builds the model of an array and of the groups above it. Its dimensions keep the names that its own
/// document has.
///
/// # Errors
/// `NC_ENAMEINUSE` if two nodes have one name.
pub(super) fn load(tree: RawTree) -> Result<DatasetBuilder> {
    let mut loaded = DatasetBuilder::default();
    let mut parent = None;
    for mut raw in tree.groups {
        let group = loaded.add_group(&mut raw, parent)?;
        // Each group is in the one before.
        parent = Some(group);
        for RawArray { key, name, built } in raw.arrays {
            let VariableDraft { var: mut shared, stored, dim_refs } = built;
            let names = match dim_refs {
                DimRefs::Names(names) => names,
                DimRefs::None | DimRefs::References(_) => Vec::new(),
            };
            let mut names = names.into_iter();
            let shape = stored.meta.as_ref().map_or(&[][..], |meta| &meta.shape);
            let var = Arc::make_mut(&mut shared);
            (var.name, var.group) = (name, group);
            var.dims = shape
                .iter()
                .map(|&len| {
                    let name = names.next().flatten().filter(|name| is_legal(&name.as_str()));
                    loaded.model.add_unlisted_dim(group, name.unwrap_or_default(), len, len == 0)
                })
                .collect();
            loaded.add_var(shared, key, stored)?;
        }
    }
    Ok(loaded)
}
