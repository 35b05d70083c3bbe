//! [`ReadsStored`]: encoded chunks of variables whose elements are converted after decoding.

use nczarr_dispatch::{EncodedChunk, EncodedChunks, MemMut};
use nczarr_model::{CheckedSlab, ErrorKind, Result};

use super::var::RawArray;

/// A variable over elements as stored.
pub(super) trait ReadsStored {
    /// Returns the elements as stored.
    fn stored(&self) -> &RawArray;

    /// Returns the description of an element.
    fn element(&self) -> String;

    /// Decodes and converts the elements of a chunk.
    ///
    /// # Errors
    /// As [`EncodedChunks::decode`].
    fn decode_and_convert(
        &self,
        chunk: &CheckedSlab<'_>,
        stored: &EncodedChunk,
        out: MemMut<'_, '_>,
    ) -> Result<()>;

    /// Returns the chunks of the elements as stored.
    ///
    /// # Errors
    /// `NC_EINTERNAL` if there are no chunks.
    fn chunks(&self) -> Result<&dyn EncodedChunks> {
        let none = || ErrorKind::Internal.context("no chunks are stored");
        self.stored().encoded_chunks().ok_or_else(none)
    }
}

/// Implements [`EncodedChunks`] for a type with [`ReadsStored`].
macro_rules! impl_encoded_chunks {
    ($var:ty) => {
        impl nczarr_dispatch::EncodedChunks for $var {
            fn encoding(&self) -> nczarr_dispatch::ChunkEncoding {
                let inner = self.chunks().map(nczarr_dispatch::EncodedChunks::encoding);
                inner.unwrap_or_default().element(self.element())
            }

            fn encoded_len(&self, chunk: &CheckedSlab<'_>) -> Result<Option<u64>> {
                self.chunks()?.encoded_len(chunk)
            }

            fn read_encoded(&self, list: &[CheckedSlab<'_>]) -> Result<Vec<Option<EncodedChunk>>> {
                self.chunks()?.read_encoded(list)
            }

            fn decode(
                &self,
                chunk: &CheckedSlab<'_>,
                stored: &EncodedChunk,
                out: MemMut<'_, '_>,
            ) -> Result<()> {
                self.decode_and_convert(chunk, stored, out)
            }

            fn write_encoded(
                &self,
                list: &[CheckedSlab<'_>],
                stored: &[EncodedChunk],
                check: nczarr_dispatch::EncodedCheck,
            ) -> Result<()> {
                self.chunks()?.write_encoded(list, stored, check)
            }

            fn erase(&self, chunk: &CheckedSlab<'_>) -> Result<bool> {
                self.chunks()?.erase(chunk)
            }
        }
    };
}

pub(super) use impl_encoded_chunks;
