//! Names of attributes that netCDF-4 files and Zarr stores use themselves.

use nczarr::dispatch::FormatX;
use nczarr::model::{GroupId, VarId};
use nczarr::{ErrorKind, Result};

use crate::open_file::Node;

/// Names that inquiries by number leave out.
const HIDDEN: [&str; 12] = [
    "CLASS",
    "DIMENSION_LIST",
    "NAME",
    "REFERENCE_LIST",
    "_ARRAY_DIMENSIONS",
    "_NCProperties",
    "_Netcdf4Coordinates",
    "_Netcdf4Dimid",
    "_nczarr_array",
    "_nczarr_attr",
    "_nczarr_group",
    "_nczarr_superblock",
];
/// Names that the library only reads.
const READ_ONLY: [&str; 5] = ["_Codecs", "_Format", "_IsNetcdf4", "_SuperblockVersion", "_nc3_strict"];

/// Refuses to store an attribute under a reserved name: `NC_ENAMEINUSE`. CDF files reserve none.
pub fn check_put(node: &Node, var: Option<VarId>, name: &str) -> Result<()> {
    let is_read_only = READ_ONLY.contains(&name);
    let is_reserved = HIDDEN.contains(&name)
        || match var {
            None => is_read_only,
            Some(_) => is_read_only && node.formatx == FormatX::Hdf5,
        };
    let is_here = var.is_some() || node.group == GroupId::ROOT;
    let has_names = matches!(node.formatx, FormatX::Hdf5 | FormatX::NcZarr);
    if is_reserved && is_here && has_names {
        return Err(ErrorKind::NameInUse.context(format!("attribute {name} is reserved")));
    }
    Ok(())
}

/// Whether an attribute of the root is only computed, so that it cannot be deleted.
pub fn is_computed(node: &Node, var: Option<VarId>, name: &str) -> Result<bool> {
    let may_be = var.is_none() && node.group == GroupId::ROOT && !node.is_cdf();
    if !may_be || !(HIDDEN.contains(&name) || READ_ONLY.contains(&name)) {
        return Ok(false);
    }
    node.look(|model| Ok(model.atts(node.group, None)?.get(name).is_none()))
}
