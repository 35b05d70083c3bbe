//! `NCDEFAULT_*`: entries for tables whose format has no access with steps or distances of its own.

use std::ffi::c_int;

use nczarr::{ErrorKind, NcType, Result};

use super::UserDataset;
use crate::boundary::dispatch_table::UserSlab;
use crate::boundary::pointer::{InPtr, SourcePtr, TargetPtr};
use crate::memory_type::MemoryType;
use crate::table;
use crate::transfer::region::Region;
use crate::transfer::{get, put};
use crate::type_space::TypeSpace;

c_functions! {
    /// Reads with steps, by the entry `get_vara`.
    fn NCDEFAULT_get_vars(
        ncid: c_int, varid: c_int, start: InPtr<usize>, count: InPtr<usize>, stride: InPtr<isize>,
        value: TargetPtr, memtype: c_int,
    ) {
        let (_, file) = table::find_file(ncid)?;
        let Some(user) = &file.user else {
            let region = Region::Strided(start, count, stride);
            return get::get(ncid, varid, &region, memory_type(None, memtype)?, &value);
        };
        let steps = Steps::new(user, (ncid, varid), (start, count, stride), memtype)?;
        value.with_initialised(steps.bytes()?, |memory| {
            steps.visit(|slab, from, to| user.table.get(ncid, varid, slab, &mut memory[from..to], memtype))
        })
    }

    /// Writes with steps, by the entry `put_vara`.
    fn NCDEFAULT_put_vars(
        ncid: c_int, varid: c_int, start: InPtr<usize>, count: InPtr<usize>, stride: InPtr<isize>,
        value: SourcePtr, memtype: c_int,
    ) {
        let (_, file) = table::find_file(ncid)?;
        let Some(user) = &file.user else {
            let region = Region::Strided(start, count, stride);
            return put::put(ncid, varid, &region, memory_type(None, memtype)?, &value);
        };
        let steps = Steps::new(user, (ncid, varid), (start, count, stride), memtype)?;
        let memory = value.bytes(steps.bytes()?)?;
        steps.visit(|slab, from, to| user.table.put(ncid, varid, slab, &memory[from..to], memtype))
    }

    /// Reads with distances in memory.
    fn NCDEFAULT_get_varm(
        ncid: c_int, varid: c_int, start: InPtr<usize>, count: InPtr<usize>, stride: InPtr<isize>,
        imap: InPtr<isize>, value: TargetPtr, memtype: c_int,
    ) {
        let Place { ncid, varid, memtype } = library_place(ncid, varid, memtype)?;
        get::get(ncid, varid, &Region::Mapped(start, count, stride, imap), memtype, &value)
    }

    /// Writes with distances in memory.
    fn NCDEFAULT_put_varm(
        ncid: c_int, varid: c_int, start: InPtr<usize>, count: InPtr<usize>, stride: InPtr<isize>,
        imap: InPtr<isize>, value: SourcePtr, memtype: c_int,
    ) {
        let Place { ncid, varid, memtype } = library_place(ncid, varid, memtype)?;
        put::put(ncid, varid, &Region::Mapped(start, count, stride, imap), memtype, &value)
    }
}

/// A variable with the numbers of the library.
struct Place {
    ncid: c_int,
    varid: c_int,
    memtype: MemoryType,
}

/// Finds a variable by the numbers of its table.
fn library_place(ncid: c_int, varid: c_int, memtype: c_int) -> Result<Place> {
    let (slot, file) = table::find_file(ncid)?;
    let Some(user) = &file.user else {
        return Ok(Place { ncid, varid, memtype: memory_type(None, memtype)? });
    };
    let var = user.look_numbers(|numbers| numbers.find_var(ncid, varid))?;
    let group = user.model.snapshot().var(var)?.group;
    let ncid = table::id_of(slot, group);
    let varid = table::find(ncid)?.number_of(var)?;
    Ok(Place { ncid, varid, memtype: memory_type(Some(user), memtype)? })
}

fn memory_type(user: Option<&UserDataset>, code: c_int) -> Result<MemoryType> {
    if code == 0 {
        return Ok(MemoryType::Own);
    }
    let unknown = || ErrorKind::BadType.context(format!("no type {code} of elements in memory"));
    match user {
        Some(user) => user.look_numbers(|numbers| numbers.find_type(code)).map(MemoryType::Given),
        None => NcType::from_code(code).map(MemoryType::Given).ok_or_else(unknown),
    }
}

/// The elements of an access with steps.
struct Steps {
    start: Vec<usize>,
    count: Vec<usize>,
    stride: Vec<isize>,
    /// The size of an element in memory.
    size: usize,
}

impl Steps {
    fn new(
        user: &UserDataset,
        (ncid, varid): (c_int, c_int),
        (start, count, stride): (InPtr<usize>, InPtr<usize>, InPtr<isize>),
        memtype: c_int,
    ) -> Result<Self> {
        let (var, ty) =
            user.look_numbers(|numbers| Ok((numbers.find_var(ncid, varid)?, numbers.find_type(memtype)?)))?;
        let model = user.model.snapshot();
        let rank = model.var(var)?.dims.len();
        let stride = stride.slice(rank).map_or_else(|| vec![1; rank], <[isize]>::to_vec);
        if stride.iter().any(|&step| step < 1) {
            return Err(ErrorKind::Stride.context(format!("stride {stride:?} (expected positive numbers)")));
        }
        Ok(Self {
            start: start.values(rank, "start")?.to_vec(),
            count: count.values(rank, "count")?.to_vec(),
            stride,
            size: TypeSpace::as_stored(&model).size(ty)?.max(1),
        })
    }

    /// Returns the size of all elements in memory.
    fn bytes(&self) -> Result<usize> {
        let elements = self.count.iter().try_fold(1u64, |all, &count| all.checked_mul(count as u64));
        let many = || ErrorKind::NoMem.context(format!("{:?} elements", self.count));
        nczarr::dispatch::byte_len(elements.ok_or_else(many)?, self.size)
    }

    /// Calls `access` with each element and its bytes in memory. `NC_ERANGE` is reported at the end.
    fn visit(&self, mut access: impl FnMut(&UserSlab, usize, usize) -> Result<()>) -> Result<()> {
        let (rank, bytes) = (self.start.len(), self.bytes()?);
        let mut outcome = Ok(());
        let mut slab = UserSlab { start: self.start.clone(), count: vec![1; rank], stride: None };
        let mut index = vec![0; rank];
        for from in (0..bytes).step_by(self.size) {
            match access(&slab, from, from + self.size) {
                Err(error) if error.kind() != ErrorKind::Range => return Err(error),
                Err(error) => outcome = Err(error),
                Ok(()) => {}
            }
            for dim in (0..rank).rev() {
                index[dim] += 1;
                if index[dim] < self.count[dim] {
                    slab.start[dim] += self.stride[dim].unsigned_abs();
                    break;
                }
                (index[dim], slab.start[dim]) = (0, self.start[dim]);
            }
        }
        outcome
    }
}
