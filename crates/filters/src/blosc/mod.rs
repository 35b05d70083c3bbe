//! Blosc 1 (HDF5 filter 32001, codec id `blosc`).
//!
//! * HDF5 parameters: `[0, 0, 0, blocksize, level, shuffle, compressor]`. HDF5 itself stores the filter and
//!   format versions, the element size and the chunk size in the first four.
//! * Zarr V2: `{"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}`
//! * Zarr V3: the shuffle by name, and the element size: `"shuffle": "bitshuffle", "typesize": 4`
//!
//! Decoding uses only the frame's own header. This module parses frames ([`frame`]) and makes them
//! ([`encode`]) block by block. So a part can be decoded alone, nothing reaches a decompressor unchecked, and
//! contexts and memory are kept per thread. The C libraries handle only single streams.
//!
//! Source: c-blosc 1.21 (format version 2); HDF5 registered filter 32001; numcodecs `blosc`.

#[allow(unsafe_code)]
mod bits;
mod compressor;
mod decode;
#[allow(unsafe_code)]
mod encode;
#[allow(unsafe_code)]
mod ffi;
mod filter;
mod frame;
#[cfg(test)]
#[allow(unsafe_code)]
mod reference;
mod scratch;

pub use filter::BloscClass;
