//! HDF5-style filters: shuffle, deflate, fletcher32, zstd, blosc
