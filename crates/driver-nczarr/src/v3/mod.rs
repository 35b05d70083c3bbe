//! Zarr V3: what its documents say of types, fill values and codecs, in the terms of the rest of the driver.
//!
//! * [`types`]: `data_type` ⇄ [`types::DataType`], around the neutral `DType`;
//! * [`fill`]: `fill_value` ⇄ a value of the type a variable presents;
//! * [`chain`]: `codecs` ⇄ layout, element codec, filters and shards;
//! * [`filters`]: the filters of netCDF ⇄ codecs that others know;
//! * [`keys`]: NCZarr's own keys ⇄ as V2 documents have them;
//! * [`names`]: dimensions ⇄ `dimension_names` of NCZarr;
//! * [`node_name`]: names of variables and groups ⇄ those of nodes;
//! * [`consolidated`]: the documents of all nodes in that of the root;
//! * [`document`] reads documents, [`var`] makes variables of them; [`plan`] decides how new ones are stored, [`render`]
//!   writes documents.

pub(crate) mod chain;
pub(crate) mod consolidated;
pub(crate) mod document;
pub(crate) mod fill;
pub(crate) mod filters;
pub(crate) mod grid;
pub(crate) mod keys;
pub(crate) mod names;
pub(crate) mod node_name;
pub(crate) mod plan;
pub(crate) mod render;
pub(crate) mod stored_type;
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
            known: &[],
        };
        Registry::new().with_table(&TABLE)
    }
}
