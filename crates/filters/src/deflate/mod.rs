//! Deflate in two wrappers: zlib (HDF5 filter 1, codec id `zlib`) and gzip (codec id `gzip`).
//!
//! * HDF5 parameters: `[level]`, 0 to 9; gzip has no HDF5 id
//! * Zarr V2: `{"id": "zlib", "level": 5}`, `{"id": "gzip", "level": 5}`
//! * Zarr V3: `{"name": "numcodecs.zlib", …}`, `{"name": "gzip", "configuration": {"level": 5}}`
//!
//! Decoding follows numcodecs: bytes after a zlib stream are ignored; a gzip stream may have several members,
//! and zeros after the last. Everything else unusual is damage. With `fast-deflate`, libdeflate does the
//! work, or [`fast_inflate`] where it is faster. Otherwise flate2's pure Rust backend does. All accept the
//! same streams. Encoding stores [`incompressible`] ranges ([`hybrid_encoder`]) or makes them
//! [`huffman_only`], and uses a [`quicker_level`] where it compresses as well.
//!
//! Source: RFC 1950, RFC 1952; numcodecs `zlib` and `gzip`; HDF5 `H5Z_FILTER_DEFLATE`.

#[cfg(any(feature = "fast-deflate", feature = "blosc"))]
#[allow(unsafe_code)]
pub(crate) mod fast;
#[cfg(any(feature = "fast-deflate", feature = "blosc"))]
#[allow(unsafe_code)]
mod fast_inflate;
#[cfg(feature = "deflate")]
mod filter;
#[cfg(feature = "fast-deflate")]
mod huffman_only;
#[cfg(feature = "fast-deflate")]
mod hybrid_encoder;
#[cfg(feature = "fast-deflate")]
mod incompressible;
#[cfg(all(feature = "deflate", any(not(feature = "fast-deflate"), test)))]
#[allow(unsafe_code)]
mod pure;
#[cfg(feature = "fast-deflate")]
mod quicker_level;
#[cfg(feature = "fast-deflate")]
mod stream;

#[cfg(feature = "deflate")]
pub use filter::{GzipClass, ZlibClass};

use nczarr_model::{Error, ErrorKind};

/// The wrapper of a deflate stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrap {
    Zlib,
    #[cfg(feature = "deflate")]
    Gzip,
}

impl Wrap {
    const fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            #[cfg(feature = "deflate")]
            Self::Gzip => "gzip",
        }
    }

    fn damaged(self) -> Error {
        ErrorKind::Filter.context(format!("{}: the stream is damaged or cut short", self.name()))
    }

    fn overrun(self, room: usize) -> Error {
        ErrorKind::Filter
            .context(format!("{}: the stream holds more than the {room} bytes expected", self.name()))
    }

    #[cfg(feature = "deflate")]
    fn no_room(self, room: usize) -> Error {
        ErrorKind::Filter.context(format!("{}: the encoded bytes do not fit {room} bytes", self.name()))
    }
}
