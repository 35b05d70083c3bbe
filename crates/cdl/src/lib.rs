//! CDL text of a netCDF dataset
