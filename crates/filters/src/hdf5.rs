//! HDF5's filter ids, and the Zarr codec of each filter.
//!
//! [`HDF5_FILTERS`] lists the filters of the project, whether this build has them or not, and others for
//! messages. A test compares it with the filters' own statements.
//!
//! Source: HDF5's list of registered filters; numcodecs; zarr-extensions.

/// A filter with an HDF5 id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hdf5Filter {
    /// The id.
    pub id: u32,
    /// Its name in this project, or its common name.
    pub name: &'static str,
    /// The `id` of its codec in Zarr V2 and the `name` in V3; `None` if Zarr has none.
    pub codec: Option<(&'static str, &'static str)>,
    /// Whether it can decode. If not, it is not part of this project.
    pub read: bool,
    /// Whether it can encode.
    pub written: bool,
    /// Its visible parameters, in HDF5's order.
    pub params: &'static str,
}

/// All known filters, by id.
pub static HDF5_FILTERS: &[Hdf5Filter] = &[
    own(1, "deflate", "zlib", "numcodecs.zlib", "level"),
    own(2, "shuffle", "shuffle", "numcodecs.shuffle", ""),
    own(3, "fletcher32", "fletcher32", "numcodecs.fletcher32", ""),
    own(4, "szip", "szip", "szip", "mask, pixels-per-block"),
    read(5, "nbit"),
    read(6, "scaleoffset"),
    own(307, "bzip2", "bz2", "numcodecs.bz2", "level"),
    Hdf5Filter { written: true, ..read(32000, "lzf") },
    own(32001, "blosc", "blosc", "blosc", "0, 0, 0, blocksize, clevel, shuffle, cname"),
    other(32003, "snappy"),
    own(32004, "lz4", "lz4", "numcodecs.lz4", "blocksize, acceleration"),
    other(32008, "bitshuffle"),
    other(32013, "zfp"),
    other(32014, "fpzip"),
    own(32015, "zstd", "zstd", "zstd", "level"),
    other(32017, "sz"),
    other(32024, "sz3"),
    other(32026, "blosc2"),
];

const fn own(
    id: u32,
    name: &'static str,
    v2: &'static str,
    v3: &'static str,
    params: &'static str,
) -> Hdf5Filter {
    Hdf5Filter { id, name, codec: Some((v2, v3)), read: true, written: true, params }
}

const fn other(id: u32, name: &'static str) -> Hdf5Filter {
    Hdf5Filter { id, name, codec: None, read: false, written: false, params: "" }
}

/// Makes the entry of a filter that only HDF5 files use.
const fn read(id: u32, name: &'static str) -> Hdf5Filter {
    Hdf5Filter { read: true, ..other(id, name) }
}
