//! Flavours, which give the documents of a store their meaning: NCZarr's keys, xarray's dimension names, or
//! plain Zarr.
//!
//! A flavour turns a [`RawTree`] into a model and the states beside it. It does no I/O. Read `builder` first.
//! `nczarr_lists` has NCZarr's own keys, `annotation` the facts that plain Zarr keeps in an attribute.

pub(crate) mod annotation;
pub(crate) mod builder;
pub(crate) mod dim_refs;
pub(crate) mod kind;
pub(crate) mod nczarr_lists;

mod data_only;
mod nczarr;
mod plain;

use nczarr_model::Result;

use self::builder::DatasetBuilder;
use self::kind::DimNaming;
use crate::metadata::attributes::NC_PROPERTIES;
use crate::metadata::json::{ObjectMembers, Value};
use crate::metadata::variable::ReadContext;
use crate::open::tree::RawTree;

/// Gives a tree its meaning.
///
/// # Errors
/// `NC_ENCZARR` with the key and member, for invalid lists or dimensions of an NCZarr group; `NC_ENAMEINUSE`
/// if two nodes of a plain store have one name.
pub(crate) fn link(tree: RawTree, reading: &ReadContext<'_>) -> Result<DatasetBuilder> {
    match reading.naming {
        DimNaming::References => nczarr::load(tree, reading),
        DimNaming::Attribute | DimNaming::None => plain::load(tree, reading),
    }
}

/// Builds the model of a tree with one array, for its data: its dimensions are not shared.
///
/// # Errors
/// As [`link`] of a plain store.
pub(crate) fn link_data(tree: RawTree) -> Result<DatasetBuilder> {
    data_only::load(tree)
}

/// Returns the text of `_NCProperties`.
pub(crate) fn properties<'a>(attrs: &'a ObjectMembers<'_>) -> Option<&'a str> {
    attrs.get(NC_PROPERTIES).and_then(Value::as_str)
}
