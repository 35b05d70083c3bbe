//! What a file holds and netCDF does not show, found so that nobody who writes the file anew loses it.
//!
//! Names that netCDF keeps for itself mean something to it in some places only; elsewhere they are others' attributes. Links,
//! comments and attributes of types are `walk`'s to find.

use super::attributes::Attribute;
use super::build::HIDDEN;
use super::cursor::UNDEFINED;
use super::dims::Dims;
use super::file::Hdf;
use super::walk::{Dataset, Tree};

/// The first of it, if there is something.
pub(crate) fn of(file: &Hdf, tree: &Tree, dims: &Dims) -> Option<String> {
    for (number, group) in tree.groups.iter().enumerate() {
        for attribute in &group.attributes {
            // Of the root alone they are netCDF's.
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

/// Of an attribute that is hidden, or shown in another shape or by another name than it has.
fn attribute_of(attribute: &Attribute, hidden: bool) -> Option<String> {
    let rank = attribute.space.dims.as_ref().map_or(0, Vec::len);
    let name = &attribute.name;
    match (hidden, rank > 1, name.contains(char::REPLACEMENT_CHARACTER)) {
        (true, ..) => Some(format!("the attribute {name:?}")),
        (_, true, _) => Some(format!("the {rank} dimensions of the attribute {name:?}")),
        (.., true) => Some(format!("the name of the attribute {name:?}")),
        _ => None,
    }
}

/// `only`: it is a dimension and no variable.
fn of_dataset(file: &Hdf, dataset: &Dataset, only: bool) -> Option<String> {
    let is_scale = Dims::is_scale(file, dataset);
    for attribute in &dataset.attributes {
        let own = match &*attribute.name {
            "CLASS" | "NAME" | "REFERENCE_LIST" => is_scale,
            "DIMENSION_LIST" | "_Netcdf4Coordinates" | "_Netcdf4Dimid" => true,
            name => !HIDDEN.contains(&name) && !only,
        };
        // What netCDF-C writes for itself may have any shape.
        let shown = !HIDDEN.contains(&&*attribute.name);
        if let Some(what) = if shown || !own { attribute_of(attribute, !own) } else { None } {
            return Some(what);
        }
    }
    let (lens, most) = (dataset.space.dims.as_deref().unwrap_or_default(), &dataset.space.most);
    let may_grow = lens.iter().zip(most).find(|(len, most)| **most != UNDEFINED && most != len);
    may_grow.map(|(len, most)| format!("that a dimension of length {len} may grow to {most}, "))
}
