//! Filters turn bytes into bytes. They have an HDF5 id and codec names.
//!
//! [`FilterClass`] builds filters for the registry. [`Filter`] is one filter with its parameters: a value
//! that a variable's pipeline holds and copies. A filter knows no chunks, keys or variables; [`Filter::bind`]
//! supplies the properties of the data.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use dyn_clone::DynClone;
use nczarr_model::{NcType, Result};

use crate::{CodecKind, OutBuf, filter_json};

/// A JSON value of a codec description.
pub type Json = serde_json::Value;

/// The Zarr version of a codec description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ZarrFormat {
    /// Zarr V2: `{"id": name, …}`.
    V2,
    /// Zarr V3: `{"name": name, "configuration": {…}}`.
    V3,
}

/// The names of a filter, and its kind.
///
/// [`FilterInfo::new`] sets everything but name and description to the usual value. Set the rest with struct
/// update syntax, since more fields may follow.
#[derive(Debug)]
pub struct FilterInfo {
    /// The registered HDF5 id, if there is one.
    pub hdf5_id: Option<u32>,
    /// The name in netCDF and numcodecs; unique in a registry.
    pub name: &'static str,
    /// Other names, including V2 and V3 codec names that differ from `name`.
    pub aliases: &'static [&'static str],
    /// One line: its function and its parameters.
    pub about: &'static str,
    /// Its input and output.
    pub kind: CodecKind,
    /// The names of its codec in Zarr V3; `None`: `name` and `aliases`. Set it if numcodecs and V3 have
    /// different codecs with the same name.
    pub v3_names: Option<&'static [&'static str]>,
    /// The members of a codec description that hold the HDF5 parameters, in their order. The default
    /// implementations of [`FilterClass::parse_json`] and [`Filter::to_json`] use them.
    pub json_members: &'static [&'static str],
}

impl FilterInfo {
    /// Describes a filter of bytes that has one name and no HDF5 id.
    pub const fn new(name: &'static str, about: &'static str) -> Self {
        let kind = CodecKind::BytesToBytes;
        Self { hdf5_id: None, name, aliases: &[], about, kind, v3_names: None, json_members: &[] }
    }

    /// Whether a codec of this name is this filter in Zarr V3.
    pub fn is_v3_name(&self, name: &str) -> bool {
        match self.v3_names {
            Some(names) => names.contains(&name),
            None => self.name == name || self.aliases.contains(&name),
        }
    }
}

/// The meaning of an element in computations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ItemKind {
    /// Bytes without a known meaning: text, records, output of a compressor.
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

/// The type of the elements in the bytes of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ItemType {
    /// The meaning of the bytes.
    pub kind: ItemKind,
    /// Its size in bytes, at least 1.
    pub size: usize,
    /// Whether its most significant byte comes first.
    pub big_endian: bool,
}

impl ItemType {
    /// Single bytes without a known meaning.
    pub const BYTES: Self = Self { kind: ItemKind::Bytes, size: 1, big_endian: false };

    /// Returns elements of `size` bytes without a known meaning.
    pub const fn bytes(size: usize) -> Self {
        Self { size, ..Self::BYTES }
    }

    /// Returns the item type of a netCDF type. A type without a size is [`ItemType::BYTES`].
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

/// The properties of chunks that a filter may use.
///
/// ```
/// use nczarr_codec::{ChunkInfo, ItemType};
///
/// let chunk = ChunkInfo::new(ItemType::bytes(4), 6).shape(&[2, 3]).row(3);
/// assert_eq!((chunk.item_size, chunk.chunk_bytes, chunk.array_row), (4, 24, None));
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ChunkInfo<'a> {
    /// Size of one element in bytes, as it enters the first filter.
    pub item_size: usize,
    /// Bytes of one whole chunk as it enters this filter when encoding.
    pub chunk_bytes: usize,
    /// The shape of one whole chunk as it enters this filter, slowest dimension first. Filters of bytes see
    /// the shape that entered the codec before them. Empty: a scalar, or bytes outside an array.
    pub shape: &'a [u64],
    /// Elements of one whole chunk.
    pub elements: usize,
    /// Elements along the fastest dimension of the chunk.
    pub row: usize,
    /// Elements along the last dimension of the whole array; `None` if that may change or elements are text.
    pub array_row: Option<usize>,
    /// Whether the stored elements are big-endian.
    pub big_endian: bool,
    /// The elements that enter this filter when encoding: those of the array, or the output of the previous
    /// filter.
    pub item: ItemType,
}

impl<'a> ChunkInfo<'a> {
    /// Describes chunks of one row of elements, outside an array.
    pub const fn new(item: ItemType, elements: usize) -> Self {
        Self {
            item_size: item.size,
            chunk_bytes: elements.saturating_mul(item.size),
            shape: &[],
            elements,
            row: elements,
            array_row: None,
            big_endian: item.big_endian,
            item,
        }
    }

    nczarr_runtime::setters! {
        const
        item_size: usize,
        chunk_bytes: usize,
        shape: &'a [u64],
        row: usize,
        array_row: Option<usize>,
        big_endian: bool,
    }
}

/// The effect of a filter that only reorders bytes.
///
/// The chunk engine merges such stages into its kernels instead of calling the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Anything else: the engine calls the filter.
    Opaque,
    /// Byte shuffle: byte `b` of element `i` of `n` goes to `b * n + i`; trailing bytes of an odd length
    /// stay.
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

/// Builds filters from parameters or codec descriptions.
///
/// ```
/// use nczarr_codec::{Filter, FilterClass, FilterInfo};
/// use nczarr_model::{ErrorKind, Result};
///
/// static INFO: FilterInfo = FilterInfo::new("never", "no parameters fit");
///
/// struct Never;
///
/// impl FilterClass for Never {
///     fn info(&self) -> &FilterInfo {
///         &INFO
///     }
///     fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
///         Err(ErrorKind::Filter.context(format!("filter never: invalid parameters (found {params:?})")))
///     }
/// }
///
/// assert_eq!(Never.parse_params(&[1]).unwrap_err().kind(), ErrorKind::Filter);
/// ```
pub trait FilterClass: Send + Sync + 'static {
    /// Returns the id and the names.
    fn info(&self) -> &FilterInfo;

    /// Returns a filter with these HDF5 parameters, as users give them.
    ///
    /// # Errors
    /// `NC_EFILTER` or `NC_EINVAL` that names the wrong parameter and the expected value.
    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>>;

    /// Returns a filter for chunks of HDF5 files, with the stored parameters. Most filters use the same form
    /// as in Zarr; LZ4 has a separate one.
    ///
    /// # Errors
    /// As [`FilterClass::parse_params`].
    fn parse_hdf5(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        self.parse_params(params)
    }

    /// Returns a filter for a codec description of this Zarr version. The JSON may contain anything.
    ///
    /// The default reads the parameters from the members [`FilterInfo::json_members`].
    ///
    /// # Errors
    /// As [`FilterClass::parse_params`].
    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        self.parse_params(&filter_json::parse(self.info(), codec, format)?)
    }

    /// Whether decoding returns all encoded bytes exactly. Numeric filters may change values, reject some
    /// values, or depend on the element type. A program that copies data must check this.
    fn is_lossless(&self) -> bool {
        true
    }

    /// Whether the filter can encode. A filter that cannot encode only reads existing data, and definitions
    /// refuse it.
    fn can_encode(&self) -> bool {
        true
    }
}

/// A filter with its parameters. It is a value.
///
/// ```
/// use std::borrow::Cow;
///
/// use nczarr_codec::{Filter, FilterInfo, OutBuf, ZarrFormat};
/// use nczarr_model::Result;
///
/// static INFO: FilterInfo = FilterInfo::new("invert", "inverts every bit");
///
/// #[derive(Debug, Clone)]
/// struct Invert;
///
/// impl Filter for Invert {
///     fn info(&self) -> &FilterInfo {
///         &INFO
///     }
///     fn params(&self) -> Cow<'_, [u32]> {
///         Cow::Borrowed(&[])
///     }
///     fn encode_bound(&self, decoded: usize) -> Option<usize> {
///         Some(decoded)
///     }
///     fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
///         dst.extend(src.iter().map(|byte| !byte))
///     }
///     fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
///         self.encode(src, dst)
///     }
/// }
///
/// let mut stored = [0; 2];
/// Invert.encode(&[0, 255], &mut OutBuf::from_slice(&mut stored))?;
/// assert_eq!(stored, [255, 0]);
/// assert_eq!(Invert.to_json(ZarrFormat::V2).to_string(), r#"{"id":"invert"}"#);
/// # Ok::<(), nczarr_model::Error>(())
/// ```
pub trait Filter: DynClone + Send + Sync + fmt::Debug {
    /// Returns the id and the names of its class.
    fn info(&self) -> &FilterInfo;

    /// Returns the HDF5 parameters as users give them.
    fn params(&self) -> Cow<'_, [u32]>;

    /// Returns the HDF5 parameters as stored, with the parameters that [`Filter::bind`] adds (blosc, shuffle,
    /// szip).
    fn working_params(&self) -> Cow<'_, [u32]> {
        self.params()
    }

    /// Returns the codec description for this Zarr version; `Null` if Zarr has no such codec.
    ///
    /// The default writes the parameters to the members [`FilterInfo::json_members`].
    fn to_json(&self, format: ZarrFormat) -> Json {
        filter_json::describe(self.info(), &self.params(), format)
    }

    /// Adapts the filter to the chunks of a variable; called once per variable, before any data.
    ///
    /// # Errors
    /// `NC_EFILTER` if it cannot work on such chunks.
    fn bind(&mut self, _chunk: &ChunkInfo<'_>) -> Result<()> {
        Ok(())
    }

    /// Returns the item type of its encoded bytes; called after `bind`. Most filters produce bytes without
    /// meaning.
    fn encoded_item(&self) -> ItemType {
        ItemType::BYTES
    }

    /// Returns the shape of its encoded array if it differs; called after `bind`. Only codecs of kind
    /// [`CodecKind::ArrayToArray`] have one.
    fn encoded_shape(&self) -> Option<Vec<u64>> {
        None
    }

    /// Returns the operation that the engine may do instead of calling the filter; called once per variable,
    /// after `bind`.
    fn stage(&self) -> Stage {
        Stage::Opaque
    }

    /// Returns the largest size of `decoded` bytes after encoding. `None`: unknown; the engine grows the
    /// buffer and retries.
    fn encode_bound(&self, decoded: usize) -> Option<usize>;

    /// Encodes all of `src` into the empty `dst`.
    ///
    /// # Errors
    /// `NC_EFILTER`, also if `dst` is too small.
    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()>;

    /// Decodes all of `src` into the empty `dst`, whose capacity is the declared size and a limit.
    ///
    /// A shorter stream is not an error here: the caller compares the filled size with the declared size.
    ///
    /// # Errors
    /// `NC_EFILTER` if the stream is damaged or longer than `dst`.
    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()>;

    /// Decodes only the ranges `wanted` of the `decoded` bytes, one after another.
    ///
    /// `None`: not supported; the engine decodes the whole chunk. Blosc supports it, block by block.
    fn decode_ranges(
        &self,
        _src: &[u8],
        _decoded: usize,
        _wanted: &[Range<usize>],
        _dst: &mut OutBuf<'_>,
    ) -> Option<Result<()>> {
        None
    }

    /// Returns the size of the units that [`Filter::decode_ranges`] decodes independently, at least 1. The
    /// first unit begins with the chunk, and the last may be shorter. Decoding all units costs as much as
    /// [`Filter::decode`].
    ///
    /// `None`: the chunk has no units, or one. With units the engine need not hold all `decoded` bytes at
    /// once. The filter must then accept ranges of whole units. Blocks of a blosc frame are such units.
    fn decode_unit(&self, _src: &[u8], _decoded: usize) -> Option<usize> {
        None
    }
}

dyn_clone::clone_trait_object!(Filter);
