//! Attributes: conversion between JSON and typed values.
//!
//! NCZarr records the type of each attribute beside it; elsewhere the type is inferred. A value that no
//! netCDF type holds (an object, `null`, a mixed list) becomes its JSON text, type char. The flavours decide
//! which attributes are hidden and where types are recorded.
//!
//! Source: the NCZarr manual, appendix C; the table of readings in the format notes.

mod exact;
mod nan_bits;
mod raw_text;
mod read;
mod write;

use nczarr_model::{Scalar, Values};

pub(crate) use exact::{EXACT_MEMBERS, ExactValues, restore};
pub(crate) use read::read;
pub(crate) use write::{check, recorded_type, write};

/// Names reserved by NCZarr or netCDF. Readers hide them, and no user attribute may have one.
pub(crate) const RESERVED: &[&str] = &[
    ARRAY_DIMENSIONS,
    NCZARR_GROUP,
    NCZARR_ARRAY,
    NCZARR_ATTR,
    NCZARR_SUPERBLOCK,
    NC_PROPERTIES,
    NETCDF,
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_IsNetcdf4",
    "_SuperblockVersion",
    "_Codecs",
    "CLASS",
    "NAME",
    "DIMENSION_LIST",
    "REFERENCE_LIST",
];

pub(crate) const ARRAY_DIMENSIONS: &str = "_ARRAY_DIMENSIONS";
pub(crate) const NCZARR_GROUP: &str = "_nczarr_group";
pub(crate) const NCZARR_ARRAY: &str = "_nczarr_array";
pub(crate) const NCZARR_ATTR: &str = "_nczarr_attr";
pub(crate) const NCZARR_SUPERBLOCK: &str = "_nczarr_superblock";
pub(crate) const NC_PROPERTIES: &str = "_NCProperties";
/// The annotation of plain stores; see `annotation`.
pub(crate) const NETCDF: &str = "_netcdf";
pub(crate) const FILL_VALUE: &str = "_FillValue";
/// The longest string of one variable, in bytes.
pub(crate) const MAXSTRLEN: &str = "_nczarr_maxstrlen";
/// The same for all variables of the dataset; an attribute of the root.
pub(crate) const DEFAULT_MAXSTRLEN: &str = "_nczarr_default_maxstrlen";

/// Whether `name` is one of [`RESERVED`].
pub(crate) fn is_reserved(name: &str) -> bool {
    // A cheap test that rejects most names.
    matches!(name.as_bytes().first(), Some(b'_' | b'C' | b'N' | b'D' | b'R')) && RESERVED.contains(&name)
}

/// Returns the length in an attribute, if it is valid.
pub(crate) fn maxstrlen(values: &Values) -> Option<usize> {
    match values.scalar(0)? {
        Scalar::Int(width) if values.len() == 1 => usize::try_from(width).ok().filter(|&width| width > 0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reserved_name_is_known_as_one() {
        assert!(RESERVED.iter().all(|name| is_reserved(name)));
        assert!(["", "units", "_FillValue", "NAMES", "CLAS", "_"].iter().all(|name| !is_reserved(name)));
    }
}
