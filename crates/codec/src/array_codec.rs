//! Codecs of arrays: [`CodecKind`], the position of a codec in the chain of a Zarr V3 array.
//!
//! A chain has codecs from array to array, one codec from array to bytes, and codecs of bytes. All codecs are
//! [`Filter`](crate::Filter)s, because each codec maps the bytes of a chunk to other bytes.
//! [`Filter::bind`](crate::Filter::bind) passes shape and element type to a codec of arrays. It may change
//! both ([`Filter::encoded_item`](crate::Filter::encoded_item),
//! [`Filter::encoded_shape`](crate::Filter::encoded_shape)).

/// The input and the output of a codec.
///
/// The position of a codec in a Zarr V3 chain follows from it. In Zarr V2 and HDF5 all codecs are a plain
/// list, in the order of definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodecKind {
    /// Bytes to bytes: compressors and checksums.
    BytesToBytes,
    /// Array to array, before the array becomes bytes.
    ArrayToArray {
        /// Whether the result depends on the order of the elements. An elementwise codec may stand before a
        /// `transpose`, because the engine transposes first.
        ordered: bool,
    },
    /// Array to bytes, in place of `bytes`.
    ///
    /// It gets the elements of a whole chunk in C order, after any `transpose`. In Zarr V3 they are
    /// little-endian, because the chain records no byte order. In Zarr V2 they have the order of the type.
    /// [`ChunkInfo::item`](crate::ChunkInfo::item) always states the order.
    ArrayToBytes,
}

impl CodecKind {
    /// Each element of the encoded array depends on one element of the decoded array.
    pub const ELEMENTWISE: Self = Self::ArrayToArray { ordered: false };
}
