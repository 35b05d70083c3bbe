//! The values of a variable of a user-defined format.

use std::ffi::c_int;
use std::sync::Arc;

use nczarr::dispatch::VarData;
use nczarr::model::{CheckedSlab, DimId, Model, VarId};
use nczarr::{ErrorKind, MemMut, MemRef, NcType, Result};

use crate::boundary::dispatch_table::{TablePtr, TextPointers, UserSlab};
use crate::transfer::zeroed;

/// The values of one variable. The table converts them.
#[derive(Debug)]
pub struct UserVarData {
    table: TablePtr,
    ncid: c_int,
    var: c_int,
    dims: Vec<DimId>,
    /// Its dimensions share their lengths with the model of the dataset.
    model: Arc<Model>,
    writable: bool,
}

impl UserVarData {
    pub fn new(
        table: TablePtr,
        ncid: c_int,
        var: VarId,
        dims: Vec<DimId>,
        model: Arc<Model>,
        writable: bool,
    ) -> Self {
        Self { table, ncid, var: var.0 as c_int, dims, model, writable }
    }
}

impl VarData for UserVarData {
    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        let (place, is_empty) = (numbers(slab)?, slab.is_empty());
        match out {
            MemMut::Fixed { ty, out } => {
                let mut bytes = zeroed(out.capacity())?;
                let outcome = match is_empty {
                    true => Ok(()),
                    false => self.table.get(self.ncid, self.var, &place, &mut bytes, ty.code()),
                };
                // A value out of range does not stop the transfer.
                if outcome.is_ok() || is_range(&outcome) {
                    out.put(&bytes)?;
                }
                outcome
            }
            MemMut::Strings(strings) => {
                let ty = NcType::String.code();
                if !is_empty {
                    let found = self.table.get_texts(self.ncid, self.var, &place, strings.len(), ty)?;
                    strings.iter_mut().zip(found).for_each(|(to, from)| *to = from);
                }
                Ok(())
            }
            _ => Err(ErrorKind::BadType.context("user-defined formats have atomic types")),
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
        let outcome = match data {
            MemRef::Fixed { ty, bytes } => self.table.put(self.ncid, self.var, &place, bytes, ty.code()),
            MemRef::Strings(strings) => {
                let pointers = TextPointers::new(strings)?;
                self.table.put(self.ncid, self.var, &place, &pointers.bytes, NcType::String.code())
            }
            _ => Err(ErrorKind::BadType.context("user-defined formats have atomic types")),
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
    Ok(UserSlab {
        start: slab.start.iter().map(size).collect::<Result<_>>()?,
        count: slab.count.iter().map(size).collect::<Result<_>>()?,
        stride: stride.map(|stride| stride.iter().map(step).collect()).transpose()?,
    })
}
