//! Zarr V3: what its documents say of types, fill values and codecs, in the terms of the rest of the driver.
//!
//! * [`types`]: `data_type` ⇄ [`types::DataType`], around the neutral `DType`;
//! * [`fill`]: `fill_value` ⇄ a value of the type a variable presents;
//! * [`chain`]: `codecs` ⇄ layout, element codec, filters and shards.
//!
//! Nothing here knows documents, keys or flavours.

pub(crate) mod chain;
pub(crate) mod fill;
pub(crate) mod types;
