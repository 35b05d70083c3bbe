//! Finds content that netCDF does not show. Such a file is not opened for writing, so nothing is lost.
//!
//! Reserved attribute names have a meaning only on certain objects. Elsewhere they are ordinary attributes.
//! `walk` finds links, comments and attributes of types.

use super::attributes::StoredAttribute;
use super::build::HIDDEN;
use super::cursor::UNDEFINED;
use super::dims::DimensionTable;
use super::file::HdfFile;
use super::walk::{FileDataset, FileTree};

/// Describes the first such item.
pub(crate) fn of(file: &HdfFile, tree: &FileTree, dims: &DimensionTable) -> Option<String> {
    for (number, group) in tree.groups.iter().enumerate() {
        for attribute in &group.attributes {
            // These two are netCDF's own only in the root group.
            let own = number == 0 && ["_NCProperties", "_nc3_strict"].contains(&&*attribute.name);
            if let Some(what) = attribute_of(attribute, HIDDEN.contains(&&*attribute.name) && !own) {
                return Some(format!("{what} of group {:?}", group.name));
            }
        }
        for (place, dataset) in group.datasets.iter().enumerate() {
            if let Some(what) = of_dataset(file, dataset, dims.of(number, place).is_none()) {
                return Some(format!("{what} of dataset {:?}", dataset.name));
            }
        }
    }
    None
}

/// Describes an attribute that is hidden, or shown with another shape or name.
fn attribute_of(attribute: &StoredAttribute, hidden: bool) -> Option<String> {
    let rank = attribute.space.dims.as_ref().map_or(0, Vec::len);
    let name = &attribute.name;
    match (hidden, rank > 1, name.contains(char::REPLACEMENT_CHARACTER)) {
        (true, ..) => Some(format!("the attribute {name:?}")),
        (_, true, _) => Some(format!("the {rank} dimensions of the attribute {name:?}")),
        (.., true) => Some(format!("the name of the attribute {name:?}")),
        _ => None,
    }
}

/// `only`: the dataset is a dimension without a variable.
fn of_dataset(file: &HdfFile, dataset: &FileDataset, only: bool) -> Option<String> {
    let is_scale = DimensionTable::is_scale(file, dataset);
    for attribute in &dataset.attributes {
        let own = match &*attribute.name {
            "CLASS" | "NAME" | "REFERENCE_LIST" => is_scale,
            "DIMENSION_LIST" | "_Netcdf4Coordinates" | "_Netcdf4Dimid" => true,
            name => !HIDDEN.contains(&name) && !only,
        };
        // Attributes that netCDF-C writes for itself may have any shape.
        let shown = !HIDDEN.contains(&&*attribute.name);
        if let Some(what) = if shown || !own { attribute_of(attribute, !own) } else { None } {
            return Some(what);
        }
    }
    let (lens, most) = (dataset.space.dims.as_deref().unwrap_or_default(), &dataset.space.most);
    let may_grow = lens.iter().zip(most).find(|(len, most)| **most != UNDEFINED && most != len);
    may_grow.map(|(len, most)| format!("the maximum length {most} of a dimension of length {len}"))
}
