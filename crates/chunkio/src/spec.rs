//! [`ArraySpec`]: all the engine is told of an array. It never sees metadata, URLs or a storage's name.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use nczarr_dispatch::{ElementCodec, Filter, Key, Options, ZMap};
use nczarr_model::convert::Half;
use nczarr_model::{NcType, TimeUnit, Values};

/// How one element is stored.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Element {
    /// A number, or one byte of text ([`NcType::Char`]).
    Number {
        /// Its type; numeric or char.
        ty: NcType,
        /// Whether its most significant byte comes first.
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
    /// Instants or spans of time, counted in 64 bits; presented as strings.
    Time {
        /// What is counted.
        unit: TimeUnit,
        /// Whether the most significant byte comes first.
        big_endian: bool,
    },
    /// Elements of several parts, each stored in its own way, one after another without gaps.
    ///
    /// As [`NcType::Float`] of one half float they are numbers like others; as a user-defined type they are what their
    /// pieces are in memory, one after another.
    Packed {
        /// The type presented: `Float`, or a user-defined type of fixed size.
        ty: NcType,
        /// Their parts; together an element of the type.
        pieces: Vec<Piece>,
    },
    /// Elements of variable length, made bytes by a codec; presented as strings.
    Variable(Box<dyn ElementCodec>),
}

/// A part of an [`Element::Packed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Piece {
    /// So many bytes, the same in memory.
    Bytes(usize),
    /// Numbers, in this machine's byte order in memory.
    Numbers {
        /// Bytes of each.
        size: usize,
        /// How many.
        count: usize,
        /// Whether their most significant byte comes first.
        big_endian: bool,
    },
    /// Floats of 16 bits, singles in memory.
    Halves {
        /// Which.
        half: Half,
        /// How many.
        count: usize,
        /// Whether their most significant byte comes first.
        big_endian: bool,
    },
}

/// The layout of elements inside a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Order {
    /// Last dimension fastest.
    #[default]
    C,
    /// First dimension fastest.
    F,
    /// Any other: each dimension once, the slowest first.
    Permuted(Box<[usize]>),
}

impl Order {
    /// The order in which the dimensions come as `axes` has them, the slowest first. `None` if that does not name each
    /// dimension once.
    #[must_use]
    pub fn of(axes: &[usize]) -> Option<Self> {
        let mut seen = vec![false; axes.len()];
        for &axis in axes {
            if std::mem::replace(seen.get_mut(axis)?, true) {
                return None;
            }
        }
        Some(if axes.is_sorted() {
            Self::C
        } else if axes.is_sorted_by(|a, b| a > b) {
            Self::F
        } else {
            Self::Permuted(axes.into())
        })
    }

    /// The dimension that is at this place among those of an array of `rank`, the slowest first.
    pub(crate) fn axis(&self, place: usize, rank: usize) -> usize {
        match self {
            Self::C => place,
            Self::F => rank - 1 - place,
            Self::Permuted(axes) => axes[place],
        }
    }

    /// The dimensions of an array of `rank`, the slowest first.
    #[must_use]
    pub fn axes(&self, rank: usize) -> Vec<usize> {
        match self {
            Self::C => (0..rank).collect(),
            Self::F => (0..rank).rev().collect(),
            Self::Permuted(axes) => axes.to_vec(),
        }
    }
}

/// One dimension of an array.
#[derive(Debug, Clone)]
pub struct ArrayDim {
    /// The current length, shared with the model.
    pub len: Arc<AtomicU64>,
    /// Whether writes may make it longer.
    pub unlimited: bool,
}

/// How chunks lie together in one object, a shard, with an index of where each is.
///
/// Source: the codec `sharding_indexed` of Zarr V3.
#[derive(Debug, Clone)]
pub struct ShardSpec {
    /// Chunks of a shard along each dimension of the array (of shards in shards: the inner ones), each at least 1.
    pub counts: Vec<u64>,
    /// The dimensions in the order in which a shard's chunks are numbered.
    pub order: Order,
    /// How its index is stored.
    pub index: ShardIndex,
    /// The filters around a whole shard, in the order of encoding. If there are any, shards are read as a whole.
    pub filters: Vec<Box<dyn Filter>>,
}

/// How the index of a shard is stored: an array of u64 whose dimensions are those of the shard in its order, and one of
/// two more for offset and length.
#[derive(Debug, Clone)]
pub struct ShardIndex {
    /// The dimensions of the index, the slowest first.
    pub order: Order,
    /// Whether each number has its most significant byte first.
    pub big_endian: bool,
    /// What is applied to its bytes when encoding: checksums.
    pub filters: Vec<Box<dyn Filter>>,
    /// Bytes that these add.
    pub extra: u64,
    /// Whether it stands in front of the chunks, not behind them.
    pub at_start: bool,
}

/// Where the chunks of an array are.
pub trait ChunkStore: Send + Sync + fmt::Debug {
    /// The map that holds them.
    fn map(&self) -> &dyn ZMap;

    /// Sets `key` to the object of a chunk, or of a shard if there are such. Called per chunk: must not allocate once `key` is large enough.
    fn locate(&self, index: &[u64], key: &mut Key);

    /// Calls `each` with the indices of every chunk that is stored, or of every shard if there are such: `rank` indices.
    /// `false`: the store does not know them without asking for each chunk; then `each` was not called.
    ///
    /// # Errors
    /// Those of the storage.
    fn stored(&self, _rank: usize, _each: &mut dyn FnMut(&[u64])) -> nczarr_model::Result<bool> {
        Ok(false)
    }
}

/// All the engine is told of an array.
#[derive(Debug)]
pub struct ArraySpec {
    /// The variable's path, for errors.
    pub name: String,
    /// The dimensions, slowest first.
    pub dims: Vec<ArrayDim>,
    /// The chunk shape: same rank, every entry at least 1.
    pub chunk_shape: Vec<u64>,
    /// How one element is stored.
    pub element: Element,
    /// The layout of elements inside a chunk.
    pub order: Order,
    /// The filters in the order of encoding; the engine binds them.
    pub filters: Vec<Box<dyn Filter>>,
    /// What unwritten elements read as: one value of the presented type. `None`: zeros (no fill).
    pub fill: Option<Values>,
    /// The shards that chunks lie in, the outermost first; none: each chunk is an object.
    pub shards: Vec<ShardSpec>,
    /// Where the chunks, or the outermost shards, are.
    pub store: Arc<dyn ChunkStore>,
    /// Limits, threads, cache, absence, progress.
    pub options: Options,
    /// Whether it may be written.
    pub writable: bool,
}
