//! Filters: bytes to bytes, known by HDF5 id and by codec name.
//!
//! [`FilterClass`] is the registry's side (names to instance), [`Filter`] one filter with its parameters:
//! a value that a variable's pipeline holds and copies. A filter knows neither chunks, keys nor variables;
//! what it must know of the data it learns in [`Filter::bind`].

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use dyn_clone::DynClone;
use nczarr_model::{NcType, Result};

use crate::OutBuf;

/// A JSON value of a codec description.
pub type Json = serde_json::Value;

/// Which generation of Zarr a codec description belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ZarrFormat {
    /// Zarr V2: `{"id": name, …}`.
    V2,
    /// Zarr V3: `{"name": name, "configuration": {…}}`.
    V3,
}

/// What a filter is called.
#[derive(Debug)]
pub struct FilterInfo {
    /// The registered HDF5 id, if there is one.
    pub hdf5_id: Option<u32>,
    /// The name as netCDF and numcodecs spell it; unique in a registry.
    pub name: &'static str,
    /// Other names it answers to, among them the V2 and V3 codec names that differ from `name`.
    pub aliases: &'static [&'static str],
    /// One line for people: what it does, and what it wants.
    pub about: &'static str,
}

/// What an element means to those who compute with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ItemKind {
    /// Bytes of no known meaning: text, records, what a compressor made.
    Bytes,
    /// One byte, 0 or 1.
    Bool,
    /// A signed integer, in two's complement.
    Int,
    /// An unsigned integer.
    UInt,
    /// An IEEE 754 number.
    Float,
}

/// One element as it lies in the bytes a filter gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ItemType {
    /// What it means.
    pub kind: ItemKind,
    /// Its size in bytes, at least 1.
    pub size: usize,
    /// Whether its most significant byte comes first.
    pub big_endian: bool,
}

impl ItemType {
    /// Bytes of no known meaning, one by one.
    pub const BYTES: Self = Self { kind: ItemKind::Bytes, size: 1, big_endian: false };

    /// Elements of so many bytes of no known meaning.
    pub const fn bytes(size: usize) -> Self {
        Self { size, ..Self::BYTES }
    }

    /// A number or text of a netCDF type; a type without a size is [`ItemType::BYTES`].
    pub fn of(ty: NcType, big_endian: bool) -> Self {
        let kind = match ty {
            NcType::Byte | NcType::Short | NcType::Int | NcType::Int64 => ItemKind::Int,
            NcType::UByte | NcType::UShort | NcType::UInt | NcType::UInt64 => ItemKind::UInt,
            NcType::Float | NcType::Double => ItemKind::Float,
            NcType::Char | NcType::String | NcType::User(_) => ItemKind::Bytes,
        };
        ty.size().map_or(Self::BYTES, |size| Self { kind, size, big_endian })
    }
}

/// What a filter may want to know of the chunks it will work on.
#[derive(Debug, Clone, Copy)]
pub struct ChunkInfo {
    /// Size of one element in bytes, as it enters the first filter.
    pub item_size: usize,
    /// Bytes of one whole chunk as it enters this filter when encoding.
    pub chunk_bytes: usize,
    /// Elements of one whole chunk.
    pub elements: usize,
    /// Elements along the fastest dimension of the chunk.
    pub row: usize,
    /// Elements along the last dimension of the whole array; `None` if that may change, or elements are text.
    pub line: Option<usize>,
    /// Whether the stored elements are big-endian.
    pub big_endian: bool,
    /// The elements as they enter this filter when encoding: the array's, or what the filters before made of them.
    pub item: ItemType,
}

/// What a filter does to the order of bytes, if that is all it does.
///
/// The engine folds such stages into its gather and scatter kernels instead of calling the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Something the engine cannot fold: it calls the filter.
    Opaque,
    /// Byte shuffle: byte `b` of element `i` of `n` goes to `b * n + i`; trailing bytes of an odd length stay.
    Transpose {
        /// Element size in bytes.
        item: usize,
    },
    /// Reverses the bytes of each element.
    Swap {
        /// Element size in bytes.
        item: usize,
    },
}

/// The registry's side of a filter: makes instances from parameters.
pub trait FilterClass: Send + Sync + 'static {
    /// Ids and names.
    fn info(&self) -> &FilterInfo;

    /// An instance from the visible HDF5 parameters.
    ///
    /// # Errors
    /// `NC_EFILTER` or `NC_EINVAL`, saying which parameter and what was expected.
    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>>;

    /// An instance for the chunks of HDF5 files, from the parameters that stand there. Almost all filters make of a chunk
    /// there what they make of it in Zarr; LZ4 has a form of its own.
    ///
    /// # Errors
    /// As [`FilterClass::parse_params`].
    fn parse_hdf5(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        self.parse_params(params)
    }

    /// An instance from a codec description of the given generation.
    ///
    /// # Errors
    /// As [`FilterClass::parse_params`].
    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>>;

    /// Whether whatever bytes it encodes come back. Filters that compute with elements of the type that a description
    /// names lose or refuse some, and make others of elements of another type; whoever copies data must look.
    fn is_lossless(&self) -> bool {
        true
    }

    /// Whether new data can be encoded with it; one that cannot is there to read what others wrote, and is refused where
    /// filters are defined.
    fn encodes(&self) -> bool {
        true
    }
}

/// One filter with its parameters: a value.
pub trait Filter: DynClone + Send + Sync + fmt::Debug {
    /// Ids and names, the same as its class's.
    fn info(&self) -> &FilterInfo;

    /// The visible HDF5 parameters.
    fn params(&self) -> Cow<'_, [u32]>;

    /// The parameters as HDF5 stores them: the visible ones and what was learnt in [`Filter::bind`] (blosc, shuffle, szip).
    fn working_params(&self) -> Cow<'_, [u32]> {
        self.params()
    }

    /// The codec description of the given generation; `Null` if Zarr has no codec for it.
    fn to_json(&self, format: ZarrFormat) -> Json;

    /// Learns what it will work on; called once per variable, before any data.
    ///
    /// # Errors
    /// `NC_EFILTER` if it cannot work on such chunks.
    fn bind(&mut self, _chunk: &ChunkInfo) -> Result<()> {
        Ok(())
    }

    /// What its encoded bytes are to the filter after it; asked after `bind`. Most make bytes of no meaning.
    fn encoded_item(&self) -> ItemType {
        ItemType::BYTES
    }

    /// What the engine may do in place of calling this filter; asked once per variable, after `bind`.
    fn stage(&self) -> Stage {
        Stage::Opaque
    }

    /// The most bytes [`Filter::encode`] makes of `decoded` bytes. `None`: unknown, the engine grows and retries.
    fn encode_bound(&self, decoded: usize) -> Option<usize>;

    /// Encodes all of `src` into the empty `dst`.
    ///
    /// # Errors
    /// `NC_EFILTER`; in particular when `dst` has too little room.
    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()>;

    /// Decodes all of `src` into the empty `dst`, whose capacity is the declared size and a limit.
    ///
    /// A stream that yields less is no error here: the caller compares what was filled with what was declared.
    ///
    /// # Errors
    /// `NC_EFILTER` if the stream is damaged or wants more room than there is.
    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()>;

    /// The decoded bytes of `wanted`, one range after another, without decoding the rest of the `decoded` bytes.
    ///
    /// `None`: this filter cannot; the engine decodes the whole chunk. Blosc can, block by block.
    fn decode_ranges(
        &self,
        _src: &[u8],
        _decoded: usize,
        _wanted: &[Range<usize>],
        _dst: &mut OutBuf<'_>,
    ) -> Option<Result<()>> {
        None
    }

    /// Bytes of the units that [`Filter::decode_ranges`] decodes each on its own: the first begins with the chunk, the
    /// last may be shorter, and all of them one after another cost what [`Filter::decode`] costs. At least 1.
    ///
    /// `None`: there are none, or just one. With units the engine need not hold the `decoded` bytes of `src` at once:
    /// [`Filter::decode_ranges`] must not decline ranges that begin and end with units. The blocks of a blosc frame are such.
    fn decode_unit(&self, _src: &[u8], _decoded: usize) -> Option<usize> {
        None
    }
}

dyn_clone::clone_trait_object!(Filter);
