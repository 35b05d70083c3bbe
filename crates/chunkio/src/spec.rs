//! [`ArraySpec`]: the description of an array. The engine never sees metadata, URLs or the name of a storage.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use nczarr_codec::{ElementCodec, ExtensionType, Filter};
use nczarr_dispatch::Options;
use nczarr_model::convert::Half;
use nczarr_model::{NcType, TimeUnit, Values};
use nczarr_storage::{Key, ZMap};

/// The stored form of an element.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ElementLayout {
    /// A number, or one byte of text ([`NcType::Char`]).
    Number {
        /// Its type; numeric or char.
        ty: NcType,
        /// Whether the most significant byte comes first.
        big_endian: bool,
    },
    /// Text in `width` bytes, padded with zeros; presented as a string.
    Text {
        /// Bytes per element.
        width: usize,
    },
    /// Text in `chars` UCS-4 code points, padded with zeros; presented as a string.
    Utf32 {
        /// Code points per element.
        chars: usize,
        /// Whether each code point's most significant byte comes first.
        big_endian: bool,
    },
    /// Times or durations, counted in 64 bits; presented as strings.
    Time {
        /// The unit of the count.
        unit: TimeUnit,
        /// Whether the most significant byte comes first.
        big_endian: bool,
    },
    /// Elements of several adjacent pieces, each with its own stored form.
    ///
    /// With type [`NcType::Float`] and one half float they are numbers. With a user-defined type they are the
    /// concatenated pieces in memory.
    Packed {
        /// The type presented: `Float`, or a user-defined type of fixed size.
        ty: NcType,
        /// The pieces, which together form an element.
        pieces: Vec<ElementPiece>,
    },
    /// Elements of a plugin's data type, which converts them.
    Converted {
        /// The type presented: a number, or an opaque type.
        ty: NcType,
        /// The stored type.
        data_type: Arc<dyn ExtensionType>,
        /// Whether each word's most significant byte comes first.
        big_endian: bool,
    },
    /// Elements of variable length, encoded by a codec; presented as strings.
    Variable(Box<dyn ElementCodec>),
}

/// A piece of an [`ElementLayout::Packed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElementPiece {
    /// Bytes, unchanged in memory.
    Bytes(usize),
    /// Numbers, native in memory.
    Numbers {
        /// The size of each in bytes.
        size: usize,
        /// The count.
        count: usize,
        /// Whether the most significant byte comes first.
        big_endian: bool,
    },
    /// 16-bit floats, which are singles in memory.
    Halves {
        /// The kind of half float.
        half: Half,
        /// The count.
        count: usize,
        /// Whether the most significant byte comes first.
        big_endian: bool,
    },
}

/// The layout of elements inside a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum DimOrder {
    /// Last dimension fastest.
    #[default]
    C,
    /// First dimension fastest.
    F,
    /// Any other order: each dimension once, slowest first.
    Permuted(Box<[usize]>),
}

impl DimOrder {
    /// Returns the order with the dimensions `axes`, slowest first. `None` unless each dimension occurs once.
    #[must_use]
    pub fn of(axes: &[usize]) -> Option<Self> {
        if axes.iter().copied().eq(0..axes.len()) {
            return Some(Self::C);
        }
        let mut seen = vec![false; axes.len()];
        for &axis in axes {
            if std::mem::replace(seen.get_mut(axis)?, true) {
                return None;
            }
        }
        Some(if axes.is_sorted_by(|a, b| a > b) { Self::F } else { Self::Permuted(axes.into()) })
    }

    /// Returns the dimension at this position, counted from the slowest, in an array of `rank` dimensions.
    pub(crate) fn axis(&self, place: usize, rank: usize) -> usize {
        match self {
            Self::C => place,
            Self::F => rank - 1 - place,
            Self::Permuted(axes) => axes[place],
        }
    }

    /// Returns the dimensions of an array of `rank` dimensions, slowest first.
    #[must_use]
    pub fn axes(&self, rank: usize) -> Vec<usize> {
        match self {
            Self::C => (0..rank).collect(),
            Self::F => (0..rank).rev().collect(),
            Self::Permuted(axes) => axes.to_vec(),
        }
    }
}

/// A dimension of an array.
#[derive(Debug, Clone)]
pub struct ArrayDim {
    /// The current length, shared with the model.
    pub len: Arc<AtomicU64>,
    /// Whether writes may extend it.
    pub unlimited: bool,
}

/// The layout of a shard: one object with several chunks and an index.
///
/// Source: the codec `sharding_indexed` of Zarr V3.
#[derive(Debug, Clone)]
pub struct ShardSpec {
    /// The chunks of a shard along each dimension, each at least 1. In nested shards these are the inner
    /// shards.
    pub counts: Vec<u64>,
    /// The order of the dimensions in the numbering of a shard's chunks.
    pub order: DimOrder,
    /// The stored form of the index.
    pub index: ShardIndexSpec,
    /// The filters around a whole shard, in the order of encoding. With filters, shards are read as a whole.
    pub filters: Vec<Box<dyn Filter>>,
}

/// The stored form of a shard's index. It is an array of u64 with the dimensions of the shard, and one more
/// of length two for offset and length.
#[derive(Debug, Clone)]
pub struct ShardIndexSpec {
    /// The order of the dimensions of the index.
    pub order: DimOrder,
    /// Whether the most significant byte comes first.
    pub big_endian: bool,
    /// The filters of the index: checksums.
    pub filters: Vec<Box<dyn Filter>>,
    /// The bytes that the filters add.
    pub extra: u64,
    /// Whether the index precedes the chunks.
    pub at_start: bool,
}

/// The content of the objects of a [`ChunkStore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ObjectForm {
    /// An encoded chunk.
    #[default]
    Encoded,
    /// HDF5's filter mask in four little-endian bytes, then an encoded chunk.
    Masked,
    /// Elements from elsewhere: nothing is stored as a chunk.
    Derived,
}

/// The location of the chunks of an array.
pub trait ChunkStore: Send + Sync + fmt::Debug {
    /// Returns the map that holds them.
    fn map(&self) -> &dyn ZMap;

    /// Sets `key` to the object of a chunk, or of a shard if there are shards. It is called per chunk, and
    /// must not allocate once `key` is large enough.
    fn locate(&self, index: &[u64], key: &mut Key);

    /// Returns the content of the objects.
    fn object_form(&self) -> ObjectForm {
        ObjectForm::Encoded
    }

    /// Calls `each` with the `rank` indices of every stored chunk, or shard if there are shards. `false`: the
    /// store has no listing, and `each` was not called.
    ///
    /// # Errors
    /// Errors of the storage.
    fn for_each_stored(&self, _rank: usize, _each: &mut dyn FnMut(&[u64])) -> nczarr_model::Result<bool> {
        Ok(false)
    }
}

/// The description of an array.
#[derive(Debug)]
pub struct ArraySpec {
    /// The variable's path, for errors.
    pub name: String,
    /// The dimensions, slowest first.
    pub dims: Vec<ArrayDim>,
    /// The chunk shape: the same rank, each length at least 1.
    pub chunk_shape: Vec<u64>,
    /// The stored form of an element.
    pub element: ElementLayout,
    /// The layout of elements inside a chunk.
    pub order: DimOrder,
    /// The filters in the order of encoding; the engine binds them.
    pub filters: Vec<Box<dyn Filter>>,
    /// The value of unwritten elements: one value of the presented type. `None`: zeros (no-fill).
    pub fill: Option<Values>,
    /// The levels of shards, outermost first; empty: each chunk is an object.
    pub shards: Vec<ShardSpec>,
    /// The location of the chunks, or of the outermost shards.
    pub store: Arc<dyn ChunkStore>,
    /// Limits, threads, cache, absence, progress.
    pub options: Options,
    /// Whether it is writable.
    pub writable: bool,
}
