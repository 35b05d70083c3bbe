//! The filters of the project, one file and one Cargo feature each, and the codecs of variable-length elements.
//!
//! * Filters: shuffle, deflate (zlib and gzip), fletcher32, zstd, blosc. [`BUILTIN`] names those of this build.
//! * Elements: `vlen-utf8` and `vlen-bytes`, in [`BUILTIN_ELEMENTS`].
//!
//! Each is also registered through `inventory`. Nothing here knows chunks, keys or variables; what a filter
//! must know of the data it learns in [`Filter::bind`](dispatch::Filter::bind). On the steady path nothing
//! allocates: codec contexts and scratch memory are kept per thread.
//!
//! `unsafe` is confined to the modules that call C libraries, and to the byte transposition.
#![deny(unsafe_code)]

#[cfg(feature = "blosc")]
mod blosc;
#[cfg(any(feature = "deflate", feature = "blosc"))]
mod deflate;
#[cfg(feature = "fletcher32")]
mod fletcher32;
#[cfg(any(feature = "shuffle", feature = "deflate", feature = "zstd", feature = "blosc"))]
mod json;
#[cfg(any(feature = "deflate", feature = "zstd", feature = "blosc"))]
mod local;
#[cfg(any(feature = "deflate", feature = "zstd", feature = "blosc"))]
#[allow(unsafe_code)]
mod raw;
#[cfg(feature = "shuffle")]
mod shuffle;
#[cfg(any(feature = "shuffle", feature = "blosc"))]
#[allow(unsafe_code)]
mod transpose;
mod vlen;
#[cfg(feature = "zstd")]
mod zstd;
#[cfg(any(feature = "zstd", feature = "blosc"))]
#[allow(unsafe_code)]
mod zstd_ffi;

use dispatch::{ElementClass, FilterClass};

#[cfg(feature = "blosc")]
pub use blosc::BloscClass;
#[cfg(feature = "deflate")]
pub use deflate::{GzipClass, ZlibClass};
#[cfg(feature = "fletcher32")]
pub use fletcher32::Fletcher32Class;
#[cfg(feature = "shuffle")]
pub use shuffle::ShuffleClass;
pub use vlen::{VlenBytesClass, VlenUtf8Class};
#[cfg(feature = "zstd")]
pub use zstd::ZstdClass;

/// The filter classes of this build, for a facade's table.
pub static BUILTIN: &[&dyn FilterClass] = &[
    #[cfg(feature = "shuffle")]
    &ShuffleClass,
    #[cfg(feature = "deflate")]
    &ZlibClass,
    #[cfg(feature = "deflate")]
    &GzipClass,
    #[cfg(feature = "fletcher32")]
    &Fletcher32Class,
    #[cfg(feature = "zstd")]
    &ZstdClass,
    #[cfg(feature = "blosc")]
    &BloscClass,
];

/// The element codec classes, for a facade's table.
pub static BUILTIN_ELEMENTS: &[&dyn ElementClass] = &[&VlenUtf8Class, &VlenBytesClass];
