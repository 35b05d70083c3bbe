//! [`EncodedChunks`]: the stored chunks of a variable as bytes, without decoding.

use std::fmt;

use nczarr_model::{CheckedSlab, Result};

use crate::MemMut;

/// The stored bytes of one chunk.
///
/// ```
/// use nczarr_dispatch::EncodedChunk;
///
/// let chunk = EncodedChunk::from(vec![1, 2, 3]);
/// assert_eq!((chunk.bytes.len(), chunk.filter_mask), (3, 0));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct EncodedChunk {
    /// The bytes exactly as stored.
    pub bytes: Vec<u8>,
    /// The filters that were left out, in HDF5: bit `n` stands for filter number `n`. Always 0 in other
    /// formats.
    pub filter_mask: u32,
}

impl EncodedChunk {
    nczarr_runtime::setters! {
        filter_mask: u32,
    }
}

impl From<Vec<u8>> for EncodedChunk {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, filter_mask: 0 }
    }
}

/// The description of the stored form of a variable's chunks.
///
/// Bytes of a chunk decode to the same elements in two variables with equal descriptions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ChunkEncoding {
    /// The shape of a chunk, in elements.
    pub chunk_shape: Vec<u64>,
    /// The stored form of an element: its type, size and byte order.
    pub element: String,
    /// The dimensions in the order of the elements of a chunk, slowest first.
    pub order: Vec<usize>,
    /// The filters with their parameters, in the order of encoding.
    pub filters: Vec<String>,
    /// The value of absent elements, as one element in memory.
    pub fill: Vec<u8>,
}

impl ChunkEncoding {
    nczarr_runtime::setters! {
        chunk_shape: Vec<u64>,
        element: String,
        order: Vec<usize>,
        filters: Vec<String>,
        fill: Vec<u8>,
    }
}

/// The check of bytes before they are stored as a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum EncodedCheck {
    /// Decode the bytes once, and refuse bytes that do not decode.
    #[default]
    Decode,
    /// Check only the length: for bytes from a chunk of equal [`ChunkEncoding`].
    Length,
}

/// The stored chunks of a variable ([`VarData::encoded_chunks`](crate::VarData::encoded_chunks)).
///
/// A [`CheckedSlab`] names a chunk: it begins at the chunk's first element, and ends at the end of the chunk
/// or of the variable. In a sharded array, the chunks are the inner chunks.
pub trait EncodedChunks: Send + Sync + fmt::Debug {
    /// Returns the description of the stored form.
    fn encoding(&self) -> ChunkEncoding;

    /// Returns the length of a stored chunk in bytes; `None` if it is absent.
    ///
    /// # Errors
    /// Errors of the storage.
    fn encoded_len(&self, chunk: &CheckedSlab<'_>) -> Result<Option<u64>>;

    /// Returns the stored bytes of each chunk; `None` if it is absent. The call first stores changes of these
    /// chunks from the cache.
    ///
    /// # Errors
    /// Errors of the storage; `NC_EINVAL` for a slab that is no chunk; `NC_ENOOBJECT` for an absent chunk if
    /// [`MissingChunks::Error`](crate::MissingChunks::Error) is set.
    fn read_encoded(&self, chunks: &[CheckedSlab<'_>]) -> Result<Vec<Option<EncodedChunk>>>;

    /// Decodes bytes as the elements of a chunk, as [`VarData::get`](crate::VarData::get) returns them.
    ///
    /// # Errors
    /// As [`VarData::get`](crate::VarData::get); an error of a filter if the bytes do not decode.
    fn decode(&self, chunk: &CheckedSlab<'_>, stored: &EncodedChunk, out: MemMut<'_, '_>) -> Result<()>;

    /// Replaces chunks by encoded bytes, and grows unlimited dimensions. The cache drops its elements of
    /// these chunks. After an error some chunks may be replaced, each as a whole.
    ///
    /// # Errors
    /// `NC_EPERM` if the dataset is read-only; `NC_EINVAL` for a chunk that occurs twice; an error of a
    /// filter if the bytes do not decode; errors of the storage.
    fn write_encoded(
        &self,
        chunks: &[CheckedSlab<'_>],
        stored: &[EncodedChunk],
        check: EncodedCheck,
    ) -> Result<()>;

    /// Removes a chunk, so that its elements read as the fill value. Returns whether it existed.
    ///
    /// # Errors
    /// `NC_EPERM` if the dataset is read-only; errors of the storage.
    fn erase(&self, chunk: &CheckedSlab<'_>) -> Result<bool>;
}
