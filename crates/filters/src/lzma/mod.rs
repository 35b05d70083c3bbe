//! LZMA compression (codec id `lzma`) in the three forms of Python's `lzma` and in GDAL's.
//!
//! * Zarr V2, numcodecs: `{"id": "lzma", "format": 1, "check": -1, "preset": null, "filters": null}`; format 1 is xz,
//!   2 the older `.lzma` ("alone"), 3 raw, which has no header and needs its `filters` for reading
//! * Zarr V2, GDAL: `{"id": "lzma", "preset": 6, "delta": 1}`; xz with a delta filter inside
//! * No HDF5 filter is registered for it. Parameters here: `[]`, `[preset]`, or all of it as numbers (see `params`)
//!
//! What an xz or alone stream is made of its header says: the description counts for writing only. Several streams in a
//! row hold one after another; behind an xz stream zeros are padding, and what is no stream is ignored, as by numcodecs.
//!
//! Read first [`filter`], then [`stream`]. Source: numcodecs `lzma`, Python's `lzma`, the .xz file format.

mod chain;
mod filter;
mod json;
mod params;
mod stream;

pub use filter::LzmaClass;
