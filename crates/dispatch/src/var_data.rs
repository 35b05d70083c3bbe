//! The data of one variable ([`VarData`]).
//!
//! Callers check the arguments: a [`CheckedSlab`] lies inside its variable, so a driver never checks it.

use std::fmt;

use nczarr_model::{CheckedSlab, ErrorKind, NcType, Result};

use crate::{CacheConfig, EncodedChunks, Linear, MemMut, MemRef, StoredChunks};

/// The data of one variable.
///
/// ```
/// use nczarr_dispatch::{MemMut, VarData};
/// use nczarr_model::{CheckedSlab, ErrorKind, NcType, Result, Slab};
///
/// /// A variable of doubles that are all 0.
/// #[derive(Debug)]
/// struct Zeros;
///
/// impl VarData for Zeros {
///     fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
///         let elements = slab.count.iter().product::<u64>() as usize;
///         match out {
///             MemMut::Fixed { ty: NcType::Double, out } => out.put(&vec![0; 8 * elements]),
///             _ => Err(ErrorKind::BadType.context("only doubles")),
///         }
///     }
/// }
///
/// use nczarr_dispatch::OutBuf;
/// let mut bytes = [1; 16];
/// let mut out = OutBuf::from_slice(&mut bytes);
/// let slab = Slab::new(&[0], &[2]).check(&[5], |_| false)?;
/// Zeros.get(&slab, MemMut::Fixed { ty: NcType::Double, out: &mut out })?;
/// assert_eq!(bytes, [0; 16]);
/// # Ok::<(), nczarr_model::Error>(())
/// ```
pub trait VarData: Send + Sync + fmt::Debug {
    /// Reads a hyperslab, converting to the memory type.
    ///
    /// # Errors
    /// `NC_ERANGE` after the whole transfer if a value did not fit; otherwise the error of the storage or a
    /// filter.
    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()>;

    /// Copies one element from memory to `out`, without conversion: the bytes that [`VarData::get`] would
    /// return. Returns `false` if the element is not in memory; nothing happened then.
    ///
    /// The arguments are unchecked: rank, indices, type and the length of `out`.
    fn try_get_cached_element(&self, _at: &[u64], _ty: NcType, _out: &mut [u8]) -> bool {
        false
    }

    /// As [`VarData::try_get_cached_element`], but reads the element from storage if that is a single small
    /// read. Returns `false` otherwise: `out` is undefined, and the caller uses `get`, which reports any
    /// error.
    fn try_get_stored_element(&self, _at: &[u64], _ty: NcType, _out: &mut [u8]) -> bool {
        false
    }

    /// Checks cheaply whether the storage of a hyperslab exists, before the caller allocates memory.
    ///
    /// # Errors
    /// The error of [`VarData::get`], if it is known without reading.
    fn check_readable(&self, _slab: &CheckedSlab<'_>) -> Result<()> {
        Ok(())
    }

    /// Reads a hyperslab as floats or doubles and transforms each element.
    ///
    /// Arithmetic uses doubles; results in floats are rounded. The default reads all elements first and then
    /// transforms them, which takes memory for both.
    ///
    /// # Errors
    /// As [`VarData::get`]; `NC_EBADTYPE` for memory of another type, or for missing values of another type
    /// than the variable's.
    fn get_linear(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        crate::linear::get_linear_in_two_passes(self, slab, out, linear)
    }

    /// Writes a hyperslab, converting from the memory type, and grows unlimited dimensions.
    ///
    /// # Errors
    /// As [`VarData::get`]; `NC_EPERM` if the dataset is read-only.
    fn put(&self, _slab: &CheckedSlab<'_>, _data: MemRef<'_>) -> Result<()> {
        Err(ErrorKind::Perm.context("the dataset is read-only"))
    }

    /// Whether the storage has no element of a hyperslab, so that all elements read as the fill value.
    /// `false` if that is unknown.
    ///
    /// # Errors
    /// Errors of the storage.
    fn is_absent(&self, _slab: &CheckedSlab<'_>) -> Result<bool> {
        Ok(false)
    }

    /// Returns the chunks in storage. `None`: the cost would not be proportional to their number.
    ///
    /// It uses a listing or an index. Elements of all other chunks read as the fill value. The chunks have
    /// the shape [`VarData::chunk_shape`], also inside shards.
    ///
    /// # Errors
    /// Errors of the storage.
    fn stored_chunks(&self) -> Result<Option<StoredChunks>> {
        Ok(None)
    }

    /// Returns the access to stored chunks as bytes. `None`: the variable has no stored chunks, or their
    /// shapes differ.
    fn encoded_chunks(&self) -> Option<&dyn EncodedChunks> {
        None
    }

    /// Whether text has a fixed number of bytes. An empty text and a null string are then the same: both read
    /// as empty, and netCDF-C prints `NIL` in CDL.
    fn is_fixed_text(&self) -> bool {
        false
    }

    /// Changes the chunk cache.
    ///
    /// # Errors
    /// `NC_EINVAL` for invalid values.
    fn set_chunk_cache(&self, _cache: CacheConfig) -> Result<()> {
        Ok(())
    }

    /// Returns the settings of the chunk cache.
    fn chunk_cache(&self) -> CacheConfig {
        CacheConfig::default()
    }

    /// Returns the shape of the stored chunks, in elements; `None` if the variable is contiguous.
    fn chunk_shape(&self) -> Option<Vec<u64>> {
        None
    }
}
