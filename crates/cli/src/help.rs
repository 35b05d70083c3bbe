//! Texts that the help of several commands shares.

/// The heading of flags that exist so that command lines of netCDF-C's tools work.
pub const OLD_TOOLS: &str = "Compatibility with netCDF-C";
