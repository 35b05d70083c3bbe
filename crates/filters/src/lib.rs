//! The filters of the project, one file and one Cargo feature each, and the codecs of variable-length
//! elements.
//!
//! * Compressors: deflate (zlib and gzip), bzip2, lz4, lzma, szip, zstd, blosc. Checksums: fletcher32, crc32,
//!   crc32c, adler32, lookup3. Others: shuffle; numeric filters (`numeric`); filters that only HDF5 files
//!   have (`hdf5_only`). [`BUILTIN`] lists those of this build.
//! * Elements: `vlen-utf8`, `vlen-bytes`, `vlen-array`, `json2`, `msgpack2`, `categorize`, and `pickle`,
//!   which is refused: [`BUILTIN_ELEMENTS`].
//!
//! Each is also registered through `inventory`. No filter knows chunks, keys or variables;
//! [`Filter::bind`](nczarr_codec::Filter::bind) describes the data. In steady state nothing allocates,
//! because contexts and scratch memory are kept per thread. Bitshuffle (HDF5 32008) is missing, because Zarr
//! has no name for it.
//!
//! Only the modules that call C libraries, the byte transposition, and our decoders of deflate and zstd use
//! `unsafe`.
#![deny(unsafe_code)]

#[cfg(feature = "blosc")]
mod blosc;
#[cfg(any(feature = "fast-deflate", feature = "zstd", feature = "blosc"))]
mod bmi;
#[cfg(feature = "bzip2")]
mod bzip2;
#[cfg(any(feature = "crc32", feature = "crc32c", feature = "adler32", feature = "jenkins-lookup3"))]
mod checksum;
#[cfg(any(feature = "deflate", feature = "blosc"))]
mod deflate;
mod dtype;
#[cfg(feature = "fletcher32")]
mod fletcher32;
mod hdf5;
#[cfg(feature = "hdf5")]
mod hdf5_only;
#[cfg_attr(
    not(all(feature = "bzip2", feature = "zstd")),
    allow(dead_code, reason = "not every filter reads every kind of member")
)]
mod json;
#[cfg(feature = "lz4")]
mod lz4;
#[cfg(feature = "lz4")]
mod lz4_blocks;
#[cfg(feature = "lz4")]
#[allow(unsafe_code)]
mod lz4_ffi;
#[cfg(any(feature = "lz4", feature = "blosc"))]
#[allow(unsafe_code)]
mod lz4_library;
#[cfg(feature = "lzma")]
mod lzma;
#[cfg(feature = "numeric")]
mod numeric;
mod object;
#[cfg(any(feature = "deflate", feature = "lz4", feature = "zstd", feature = "blosc"))]
#[allow(unsafe_code)]
mod raw_out;
#[cfg(feature = "shuffle")]
mod shuffle;
#[cfg(any(feature = "bzip2", feature = "lzma"))]
mod stream_pump;
#[cfg(feature = "szip")]
mod szip;
#[cfg(any(
    feature = "deflate",
    feature = "bzip2",
    feature = "lzma",
    feature = "szip",
    feature = "zstd",
    feature = "blosc"
))]
mod thread_cache;
#[cfg(any(feature = "shuffle", feature = "blosc", feature = "szip"))]
#[allow(unsafe_code)]
mod transpose;
mod vlen;
#[cfg(feature = "zstd")]
mod zstd;
#[cfg(any(feature = "zstd", feature = "blosc"))]
#[allow(unsafe_code)]
mod zstd_ffi;
#[cfg(any(feature = "zstd", feature = "blosc"))]
#[allow(unsafe_code)]
mod zstd_sequences;

use nczarr_codec::{ElementClass, FilterClass};

#[cfg(feature = "blosc")]
pub use blosc::BloscClass;
#[cfg(feature = "bzip2")]
pub use bzip2::Bzip2Class;
#[cfg(feature = "adler32")]
pub use checksum::Adler32Class;
#[cfg(feature = "crc32")]
pub use checksum::Crc32Class;
#[cfg(feature = "crc32c")]
pub use checksum::Crc32cClass;
#[cfg(feature = "jenkins-lookup3")]
pub use checksum::JenkinsLookup3Class;
#[cfg(feature = "deflate")]
pub use deflate::{GzipClass, ZlibClass};
#[cfg(feature = "fletcher32")]
pub use fletcher32::Fletcher32Class;
pub use hdf5::{HDF5_FILTERS, Hdf5Filter};
#[cfg(feature = "hdf5")]
pub use hdf5_only::{LzfClass, NbitClass, ScaleOffsetClass};
#[cfg(feature = "lz4")]
pub use lz4::Lz4Class;
#[cfg(feature = "lzma")]
pub use lzma::LzmaClass;
#[cfg(feature = "numeric")]
pub use numeric::{
    AstypeClass, BitroundClass, CastValueClass, CategorizeClass, DeltaClass, FixedScaleOffsetClass,
    PackbitsClass, QuantizeClass, ScaleAndOffsetClass,
};
pub use object::{Json2Class, Msgpack2Class, PickleClass};
#[cfg(feature = "shuffle")]
pub use shuffle::ShuffleClass;
#[cfg(feature = "szip")]
pub use szip::SzipClass;
pub use vlen::{VlenArrayClass, VlenBytesClass, VlenUtf8Class};
#[cfg(feature = "zstd")]
pub use zstd::ZstdClass;

/// The filter classes of this build.
pub static BUILTIN: &[&dyn FilterClass] = &[
    #[cfg(feature = "shuffle")]
    &ShuffleClass,
    #[cfg(feature = "deflate")]
    &ZlibClass,
    #[cfg(feature = "deflate")]
    &GzipClass,
    #[cfg(feature = "fletcher32")]
    &Fletcher32Class,
    #[cfg(feature = "szip")]
    &SzipClass,
    #[cfg(feature = "zstd")]
    &ZstdClass,
    #[cfg(feature = "blosc")]
    &BloscClass,
    #[cfg(feature = "bzip2")]
    &Bzip2Class,
    #[cfg(feature = "lz4")]
    &Lz4Class,
    #[cfg(feature = "lzma")]
    &LzmaClass,
    #[cfg(feature = "crc32")]
    &Crc32Class,
    #[cfg(feature = "crc32c")]
    &Crc32cClass,
    #[cfg(feature = "adler32")]
    &Adler32Class,
    #[cfg(feature = "jenkins-lookup3")]
    &JenkinsLookup3Class,
    #[cfg(feature = "numeric")]
    &DeltaClass,
    #[cfg(feature = "numeric")]
    &FixedScaleOffsetClass,
    #[cfg(feature = "numeric")]
    &QuantizeClass,
    #[cfg(feature = "numeric")]
    &BitroundClass,
    #[cfg(feature = "numeric")]
    &PackbitsClass,
    #[cfg(feature = "numeric")]
    &AstypeClass,
    #[cfg(feature = "numeric")]
    &CategorizeClass,
    #[cfg(feature = "numeric")]
    &CastValueClass,
    #[cfg(feature = "numeric")]
    &ScaleAndOffsetClass,
    #[cfg(feature = "hdf5")]
    &NbitClass,
    #[cfg(feature = "hdf5")]
    &ScaleOffsetClass,
    #[cfg(feature = "hdf5")]
    &LzfClass,
];

/// The element codec classes of this build.
pub static BUILTIN_ELEMENTS: &[&dyn ElementClass] = &[
    &VlenUtf8Class,
    &VlenBytesClass,
    &VlenArrayClass,
    &Json2Class,
    &Msgpack2Class,
    &PickleClass,
    #[cfg(feature = "numeric")]
    &CategorizeClass,
];
