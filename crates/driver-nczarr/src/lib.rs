//! NCZarr and Zarr V2 metadata as a netCDF driver
