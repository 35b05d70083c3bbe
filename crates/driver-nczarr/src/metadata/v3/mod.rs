//! Zarr V3: conversion between its documents and the terms of the rest of the driver.
//!
//! * [`types`]: `data_type` ⇄ [`types::DataType`], around the neutral `DType`;
//! * [`fill`]: `fill_value` ⇄ a value of the variable's type;
//! * [`chain`]: `codecs` ⇄ layout, element codec, filters and shards;
//! * [`filters`]: filters of netCDF ⇄ codecs that other readers know;
//! * [`keys`]: NCZarr's own keys ⇄ their V2 form;
//! * [`dim_names`]: dimensions ⇄ `dimension_names` of NCZarr;
//! * [`node_name`]: names of variables and groups ⇄ those of nodes;
//! * [`consolidated`]: the documents of all nodes in that of the root;
//! * [`document`] parses documents, [`var`] makes variables of them; [`plan`] plans new layouts, [`render`]
//!   writes documents.

pub(crate) mod bfloat16;
pub(crate) mod chain;
pub(crate) mod consolidated;
pub(crate) mod dim_names;
pub(crate) mod document;
pub(crate) mod fill;
pub(crate) mod filters;
pub(crate) mod grid;
pub(crate) mod keys;
pub(crate) mod node_name;
pub(crate) mod plan;
pub(crate) mod rectilinear_grid;
pub(crate) mod render;
pub(crate) mod source_type;
pub(crate) mod types;
pub(crate) mod var;

#[cfg(test)]
mod tests {
    use nczarr_dispatch::{PluginTable, Registry};

    /// All codecs of the project.
    pub(crate) fn registry() -> Registry {
        static TABLE: PluginTable = PluginTable {
            drivers: &[],
            maps: &[],
            filters: ::nczarr_filters::BUILTIN,
            elements: ::nczarr_filters::BUILTIN_ELEMENTS,
            data_types: &[&crate::Bfloat16],
            chunk_grids: &[&crate::RectilinearGrid],
            known: &[],
        };
        Registry::new().with_table(&TABLE)
    }
}
