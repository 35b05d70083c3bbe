//! LZMA compression (codec id `lzma`) in the three containers of Python's `lzma`, and as GDAL writes it.
//!
//! * Zarr V2, numcodecs: `{"id": "lzma", "format": 1, "check": -1, "preset": null, "filters": null}`. Format
//!   1 is xz, 2 the older `.lzma` ("alone"), 3 raw. Raw has no header, so decoding needs its `filters`.
//! * Zarr V2, GDAL: `{"id": "lzma", "preset": 6, "delta": 1}`; xz with a delta filter inside
//! * HDF5: no registered filter. Parameters here: `[]`, `[preset]`, or everything as numbers (see `params`)
//!
//! The header of an xz or alone stream describes the stream, so the description matters only for encoding.
//! Several streams in a row are one after another. Zeros behind an xz stream are padding; other bytes behind
//! a stream are ignored, as in numcodecs.
//!
//! Read [`filter`] first, then [`stream`]. Source: numcodecs `lzma`, Python's `lzma`, the .xz file format.

mod chain;
mod filter;
mod json;
mod params;
mod settings;
mod stream;

pub use filter::LzmaClass;
