//! Zarr V2: conversion between its documents and the terms of the rest of the driver.
//!
//! * `array_meta`: the `.zarray` document.
//! * `fill`: `fill_value` and a value of the variable's type.
//! * `consolidated`: the `.zmetadata` document.
//! * `var`: builds the variable of an array.

pub(crate) mod array_meta;
pub(crate) mod consolidated;
pub(crate) mod fill;
pub(crate) mod var;

/// The document of a group.
pub(crate) const ZGROUP: &str = ".zgroup";
/// The document of an array.
pub(crate) const ZARRAY: &str = ".zarray";
/// The attributes of a node.
pub(crate) const ZATTRS: &str = ".zattrs";
