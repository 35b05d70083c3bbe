//! The values of a variable of a user-defined format.

use std::ffi::c_int;
use std::sync::Arc;

use nczarr::dispatch::{VarData, byte_len, zeroed};
use nczarr::model::{CheckedSlab, DimId, Model};
use nczarr::{CacheConfig, ErrorKind, MemMut, MemRef, NcType, Result};

use super::c_memory::{lend_packed, take_packed};
use crate::boundary::dispatch_table::{TablePtr, UserSlab};
use crate::type_space::TypeSpace;
use crate::var::storage::CHUNKED;

/// The values of one variable. The table converts them.
#[derive(Debug)]
pub struct UserVarData {
    pub table: TablePtr,
    /// The group and the number of the variable in the table.
    pub ncid: c_int,
    pub var: c_int,
    pub xtype: NcType,
    /// The number of its type in the table.
    pub code: c_int,
    pub dims: Vec<DimId>,
    /// Its dimensions share their lengths with the model of the dataset.
    pub model: Arc<Model>,
    pub writable: bool,
}

impl UserVarData {
    /// Returns the number of a type of elements in memory.
    fn code_of(&self, ty: NcType) -> Result<c_int> {
        if ty == self.xtype {
            return Ok(self.code);
        }
        let other = || ErrorKind::BadType.context("the elements in memory have another user-defined type");
        Some(ty).filter(|ty| ty.is_atomic()).map(NcType::code).ok_or_else(other)
    }
}

impl VarData for UserVarData {
    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        let (place, is_empty) = (numbers(slab)?, slab.is_empty());
        match out {
            MemMut::Fixed { ty, out } => {
                let mut bytes = zeroed(out.capacity())?;
                let code = self.code_of(ty)?;
                let outcome = match is_empty {
                    true => Ok(()),
                    false => self.table.get(self.ncid, self.var, &place, &mut bytes, code),
                };
                // A value out of range does not stop the transfer.
                if outcome.is_ok() || is_range(&outcome) {
                    out.put(&bytes)?;
                }
                outcome
            }
            MemMut::Strings(elements) => {
                if !is_empty {
                    let types = TypeSpace::as_stored(&self.model);
                    let mut bytes = zeroed(byte_len(elements.len() as u64, types.size(self.xtype)?)?)?;
                    self.table.get(self.ncid, self.var, &place, &mut bytes, self.code)?;
                    let found = take_packed(types, self.xtype, &mut bytes)?;
                    elements.iter_mut().zip(found).for_each(|(to, from)| *to = from);
                }
                Ok(())
            }
            _ => Err(ErrorKind::BadType.context("memory of an unknown kind")),
        }
    }

    fn put(&self, slab: &CheckedSlab<'_>, data: MemRef<'_>) -> Result<()> {
        if !self.writable {
            return Err(ErrorKind::Perm.context("the dataset is read-only"));
        }
        if slab.is_empty() {
            return Ok(());
        }
        let place = numbers(slab)?;
        let put = |bytes: &[u8], code| self.table.put(self.ncid, self.var, &place, bytes, code);
        let outcome = match data {
            MemRef::Fixed { ty, bytes } => put(bytes, self.code_of(ty)?),
            MemRef::Strings(elements) => {
                let types = TypeSpace::as_stored(&self.model);
                lend_packed(types, self.xtype, elements, |bytes| put(bytes, self.code))
            }
            _ => Err(ErrorKind::BadType.context("memory of an unknown kind")),
        };
        if outcome.is_ok() || is_range(&outcome) {
            for (at, &dim) in self.dims.iter().enumerate() {
                let dim = self.model.dim(dim)?;
                if dim.unlimited {
                    dim.grow(slab.end(at));
                }
            }
        }
        outcome
    }

    fn set_chunk_cache(&self, cache: CacheConfig) -> Result<()> {
        self.table.set_var_chunk_cache((self.ncid, self.var), cache)
    }

    fn chunk_cache(&self) -> CacheConfig {
        // A format without such a cache answers nothing.
        self.table.get_var_chunk_cache((self.ncid, self.var)).unwrap_or_default()
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        let found = self.table.inq_var(self.ncid, self.var).ok()?;
        let is_chunked = found.storage == CHUNKED && !found.chunks.is_empty() && !found.chunks.contains(&0);
        is_chunked.then(|| found.chunks.iter().map(|&size| size as u64).collect())
    }
}

fn is_range(outcome: &Result<()>) -> bool {
    outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::Range)
}

/// Returns a region in the numbers of C. A stride of ones is none.
fn numbers(slab: &CheckedSlab<'_>) -> Result<UserSlab> {
    let size = |&value: &u64| {
        usize::try_from(value).map_err(|_| ErrorKind::InvalCoords.context(format!("index {value}")))
    };
    let step = |&value: &u64| {
        isize::try_from(value).map_err(|_| ErrorKind::Stride.context(format!("stride {value}")))
    };
    let stride = slab.stride.filter(|stride| stride.iter().any(|&step| step != 1));
    let mut place = UserSlab {
        start: slab.start.iter().map(size).collect::<Result<_>>()?,
        count: slab.count.iter().map(size).collect::<Result<_>>()?,
        stride: stride.map(|stride| stride.iter().map(step).collect()).transpose()?,
    };
    if place.start.is_empty() {
        // Entries may read one number for a scalar, which netCDF-C lets them do.
        (place.start, place.count) = (vec![0], vec![1]);
    }
    Ok(place)
}
