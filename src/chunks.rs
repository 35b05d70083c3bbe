//! The stored chunks of a [`Variable`]: their list, and their bytes without decoding.
//!
//! A chunk is named by its index in the grid of chunks, one number for each dimension.

mod iter;

use nczarr_dispatch::{ChunkEncoding, EncodedCheck, EncodedChunk, EncodedChunks, MemMut};
use nczarr_model::{ErrorKind, NcType, Result};
use nczarr_nc_table::VarAccess;
use nczarr_runtime::Buffer;

use crate::{Array, Number, Variable};

#[cfg(feature = "async")]
pub(crate) use iter::DetachedChunks;
pub use iter::{Chunk, Chunks};

impl Variable {
    /// Returns all chunks of the variable, in C order of their indices. The list includes absent chunks. It
    /// takes no memory for each chunk.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-chunks-chunks")?;
    /// # file.add_dimension("x", 5)?;
    /// let v = file.add_variable::<i32>("v", &["x"])?;
    /// v.set_chunking(&[2])?;
    /// v.put(&[1, 2], 0..2)?;
    /// for chunk in v.chunks()? {
    ///     let values: Vec<i32> = chunk.get::<i32>()?.into_vec();
    ///     println!("{:?} {:?} {:?} {values:?}", chunk.index(), chunk.slab(), chunk.encoded_len()?);
    /// }
    /// assert_eq!(v.chunks()?.len(), 3);
    /// assert_eq!(v.chunks()?.last().unwrap().slab().count, [1]); // clipped to the shape
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_EBADCHUNK` if the variable is not stored in chunks of one shape; the variable's own error if its
    /// data are unreadable.
    pub fn chunks(&self) -> Result<Chunks<'_>> {
        Chunks::all(self)
    }

    /// Returns the chunks that are stored, in C order of their indices. The others read as the fill value.
    ///
    /// A read-only dataset uses a listing or an index of its storage, if there is one. Otherwise the call
    /// looks up each chunk.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-chunks-stored")?;
    /// # file.add_dimension("x", 1 << 40)?;
    /// let v = file.add_variable::<u8>("v", &["x"])?;
    /// v.set_chunking(&[1 << 20])?;
    /// v.put(&[1u8], (1 << 30)..(1 << 30) + 1)?;
    /// file.sync()?;
    /// # let path = file.path().into_owned();
    /// let file = nczarr::open(path)?;
    /// let v = file.variable("v")?;
    /// let stored: Vec<u64> = v.stored_chunks()?.map(|chunk| chunk.index()[0]).collect();
    /// assert_eq!(stored, [1 << 10]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::chunks`]; errors of the storage.
    pub fn stored_chunks(&self) -> Result<Chunks<'_>> {
        Chunks::stored(self)
    }

    /// Returns the chunk with this index.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-chunks-chunk")?;
    /// # file.add_dimension("x", 5)?;
    /// # let v = file.add_variable::<i32>("v", &["x"])?;
    /// # v.set_chunking(&[2])?;
    /// let chunk = v.chunk(&[1])?;
    /// assert_eq!(chunk.slab(), nczarr::Slab::new(&[2], &[2]));
    /// assert!(!chunk.is_stored()?);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::chunks`]; `NC_EINVALCOORDS` for an index outside the grid; `NC_EINVAL` for a wrong
    /// number of indices.
    pub fn chunk(&self, index: &[u64]) -> Result<Chunk<'_>> {
        Chunk::at(self, index, false)
    }

    /// Returns the description of the stored form of the chunks. Bytes of a chunk decode to the same elements
    /// in two variables with equal descriptions.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-chunks-encoding")?;
    /// # file.add_dimension("x", 5)?;
    /// # let v = file.add_variable::<i32>("v", &["x"])?;
    /// # v.set_chunking(&[2])?;
    /// let encoding = v.chunk_encoding()?;
    /// assert_eq!((&*encoding.chunk_shape, &*encoding.element), (&[2][..], "int, little-endian"));
    /// assert!(encoding.filters.is_empty());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::chunks`].
    pub fn chunk_encoding(&self) -> Result<ChunkEncoding> {
        let access = self.access()?;
        Ok(encoded_chunks(&access)?.encoding())
    }

    /// Returns the stored bytes of a chunk, without decoding them; `None` if the chunk is absent.
    ///
    /// The call first stores changes of the chunk from the cache. In a sharded array, it returns the bytes of
    /// the inner chunk.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-chunks-read")?;
    /// # file.add_dimension("x", 4)?;
    /// # let v = file.add_variable::<u8>("v", &["x"])?;
    /// v.set_chunking(&[2])?;
    /// v.put(&[7u8, 8], 0..2)?;
    /// assert_eq!(v.read_encoded(&[0])?.unwrap().bytes, [7, 8]);
    /// assert_eq!(v.read_encoded(&[1])?, None);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::chunk`]; errors of the storage.
    pub fn read_encoded(&self, index: &[u64]) -> Result<Option<EncodedChunk>> {
        self.chunk(index)?.read_encoded()
    }

    /// Replaces a chunk by bytes that are encoded already. The call decodes the bytes once, and refuses bytes
    /// that do not decode.
    ///
    /// A chunk beyond the end of an unlimited dimension extends it to the end of the chunk. In a shard, each
    /// write of an inner chunk rewrites the shard; [`EncodedChunks::write_encoded`] takes many at once.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-chunks-write")?;
    /// # file.add_dimension("x", 4)?;
    /// # let (v, w) = (file.add_variable::<u8>("v", &["x"])?, file.add_variable::<u8>("w", &["x"])?);
    /// # v.set_chunking(&[2])?;
    /// # w.set_chunking(&[2])?;
    /// # v.put(&[7u8, 8], 0..2)?;
    /// if let Some(chunk) = v.read_encoded(&[0])? {
    ///     w.write_encoded(&[1], &chunk)?;
    /// }
    /// assert_eq!(w.get_values::<u8>(2..4)?, [7, 8]);
    /// assert!(w.write_encoded(&[1], &vec![1u8].into()).is_err()); // too short
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::chunk`]; `NC_EPERM` if the dataset is read-only; an error of a filter, `NC_ETRUNC` or
    /// `NC_EIO` if the bytes do not decode; errors of the storage.
    pub fn write_encoded(&self, index: &[u64], chunk: &EncodedChunk) -> Result<()> {
        self.write_checked(index, chunk, EncodedCheck::Decode)
    }

    /// As [`Variable::write_encoded`], but checks only the length of the bytes: for a chunk of a variable
    /// with an equal [`Variable::chunk_encoding`]. Other bytes make the chunk unreadable.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-chunks-write-unchecked")?;
    /// # file.add_dimension("x", 4)?;
    /// # let (v, w) = (file.add_variable::<u8>("v", &["x"])?, file.add_variable::<u8>("w", &["x"])?);
    /// # v.set_chunking(&[2])?;
    /// # w.set_chunking(&[2])?;
    /// # v.put(&[7u8, 8], 0..2)?;
    /// assert_eq!(v.chunk_encoding()?, w.chunk_encoding()?);
    /// for chunk in v.stored_chunks()? {
    ///     if let Some(stored) = chunk.read_encoded()? {
    ///         w.write_encoded_unchecked(chunk.index(), &stored)?;
    ///     }
    /// }
    /// assert_eq!(w.get_values::<u8>(..)?, v.get_values::<u8>(..)?);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::write_encoded`].
    pub fn write_encoded_unchecked(&self, index: &[u64], chunk: &EncodedChunk) -> Result<()> {
        self.write_checked(index, chunk, EncodedCheck::Length)
    }

    /// Decodes bytes as the elements of a chunk. The result equals a read of the chunk if the chunk had these
    /// bytes. Its shape is clipped to the variable's.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-chunks-decode")?;
    /// # file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<u8>("v", &["x"])?;
    /// # v.set_chunking(&[2])?;
    /// let chunk = vec![7u8, 8].into();
    /// assert_eq!(v.decode_chunk::<f64>(&[0], &chunk)?.as_slice(), [7.0, 8.0]);
    /// assert_eq!(v.decode_chunk::<u8>(&[1], &chunk)?.as_slice(), [7]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::chunk`]; `NC_ERANGE` and `NC_ECHAR` as [`Variable::get`]; an error of a filter if the
    /// bytes do not decode.
    pub fn decode_chunk<T: Number>(&self, index: &[u64], chunk: &EncodedChunk) -> Result<Array<T>> {
        let place = self.chunk(index)?;
        self.check_decode(T::TYPE)?;
        let count = place.slab().count.iter().copied().collect();
        let len = usize::try_from(place.slab().len()).map_err(|_| ErrorKind::NoMem)?;
        let data =
            Buffer::<T>::fill(len, |out| self.decode_at(&place, chunk, MemMut::Fixed { ty: T::TYPE, out }))?;
        Ok(Array::new(count, data))
    }

    /// As [`Variable::decode_chunk`], into memory of any type, also for strings and user-defined types.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-chunks-decode-into")?;
    /// # file.add_dimension("x", 2)?;
    /// # let v = file.add_string_variable("v", &["x"])?;
    /// # v.set_chunking(&[2])?;
    /// use nczarr::{MemMut, NcString};
    ///
    /// v.put_strings(&["a", "bc"], ..)?;
    /// let chunk = v.read_encoded(&[0])?.unwrap();
    /// let mut strings = vec![NcString::new(); 2];
    /// v.decode_chunk_into(&[0], &chunk, MemMut::Strings(&mut strings))?;
    /// assert_eq!(strings[1], NcString::from("bc"));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::decode_chunk`]; `NC_EINVAL` for memory of a wrong size.
    pub fn decode_chunk_into(&self, index: &[u64], chunk: &EncodedChunk, out: MemMut<'_, '_>) -> Result<()> {
        self.decode_at(&self.chunk(index)?, chunk, out)
    }

    fn decode_at(&self, place: &Chunk<'_>, chunk: &EncodedChunk, out: MemMut<'_, '_>) -> Result<()> {
        let access = self.access()?;
        let slab = place.slab().check(&access.shape(), |_| false)?;
        encoded_chunks(&access)?.decode(&slab, chunk, out).map_err(|error| access.with_path(error))
    }

    /// Removes a chunk, so that its elements read as the fill value. Returns whether it was stored.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-chunks-erase")?;
    /// # file.add_dimension("x", 4)?;
    /// # let v = file.add_variable::<u8>("v", &["x"])?;
    /// v.set_chunking(&[2])?;
    /// v.set_fill(255u8)?;
    /// v.put(&[7u8, 8], 0..2)?;
    /// assert!(v.erase_chunk(&[0])? && !v.erase_chunk(&[1])?);
    /// assert_eq!(v.get_values::<u8>(..)?, [255; 4]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::chunk`]; `NC_EPERM` if the dataset is read-only; errors of the storage.
    pub fn erase_chunk(&self, index: &[u64]) -> Result<bool> {
        self.open.leave_define_mode_if_defining()?;
        let (place, access) = (self.chunk(index)?, self.access()?);
        let slab = place.slab().check(&access.shape(), |_| false)?;
        encoded_chunks(&access)?.erase(&slab).map_err(|error| access.with_path(error))
    }

    fn write_checked(&self, index: &[u64], chunk: &EncodedChunk, check: EncodedCheck) -> Result<()> {
        self.open.leave_define_mode_if_defining()?;
        let (place, access) = (Chunk::at(self, index, true)?, self.access()?);
        let unlimited = access.unlimited();
        let slab = place.slab().check(&access.shape(), |dim| unlimited[dim])?;
        encoded_chunks(&access)?
            .write_encoded(&[slab], std::slice::from_ref(chunk), check)
            .map_err(|error| access.with_path(error))
    }

    /// Checks the memory type before memory is allocated.
    fn check_decode(&self, memtype: NcType) -> Result<()> {
        let access = self.access()?;
        nczarr_model::convert::check(access.xtype(), memtype).map_err(|error| access.with_path(error))
    }
}

/// Returns the stored chunks of a variable.
fn encoded_chunks(access: &VarAccess) -> Result<&dyn EncodedChunks> {
    let none = || {
        ErrorKind::BadChunk
            .context(format!("{}: the variable is not stored in chunks of one shape", access.path()))
    };
    access.data().encoded_chunks().ok_or_else(none)
}
