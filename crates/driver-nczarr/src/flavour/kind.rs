//! The rules that a dataset follows: [`Flavour`], and the place of dimension names.

/// The rules that a dataset follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// NCZarr: shared dimensions, recorded types, lists.
    NcZarr,
    /// Plain Zarr, with or without dimension names.
    Zarr,
}

/// The place of the names of an array's dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DimNaming {
    /// NCZarr's dimension references.
    References,
    /// xarray's attribute.
    Attribute,
    /// No names.
    None,
}
