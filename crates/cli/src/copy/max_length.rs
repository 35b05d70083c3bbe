//! Attributes with the maximum length of strings, which NCZarr stores in a fixed size.

/// The attribute for the maximum string length of a variable with fixed-length storage.
pub const MAX_LEN: &str = "_nczarr_maxstrlen";
/// Keeps the value of that attribute from a netCDF-4 file, where it has no effect and strings may be longer;
/// 0: there was none.
pub const GIVEN_LEN: &str = "_nczarr_given_maxstrlen";
/// The root attribute with the default for variables.
pub const DEFAULT_MAX_LEN: &str = "_nczarr_default_maxstrlen";
/// The default length without either attribute.
pub const BUILT_IN_MAX_LEN: usize = 128;
