//! Variables and their data.

use std::ffi::c_int;

use nczarr::{ErrorKind, NcType, Result};

use super::v2_functions;
use crate::boundary::pointer::{InPtr, NamePtr, OutPtr, SourcePtr, TargetPtr, TextPtr};
use crate::memory_type::MemoryType;
use crate::table;
use crate::transfer::get::get;
use crate::transfer::put::put;
use crate::transfer::region::Region;
use crate::var::define::{nc_def_var, nc_rename_var};
use crate::var::inquire::{nc_inq_var, nc_inq_varid};

v2_functions! {
    /// Defines a variable and returns its number.
    fn ncvardef(ncid: c_int, name: TextPtr, datatype: c_int, ndims: c_int, dim: InPtr<c_int>) {
        OutPtr::result_of(|id| nc_def_var(ncid, name, datatype, ndims, dim, id))
    }

    /// Returns the number of a variable.
    fn ncvarid(ncid: c_int, name: TextPtr) {
        OutPtr::result_of(|id| nc_inq_varid(ncid, name, id))
    }

    /// Returns all properties of a variable.
    fn ncvarinq(
        ncid: c_int, varid: c_int, name: NamePtr, datatype: OutPtr<c_int>, ndims: OutPtr<c_int>,
        dim: OutPtr<c_int>, natts: OutPtr<c_int>,
    ) {
        nc_inq_var(ncid, varid, name, datatype, ndims, dim, natts).map(|()| varid)
    }

    /// Renames a variable.
    fn ncvarrename(ncid: c_int, varid: c_int, name: TextPtr) {
        nc_rename_var(ncid, varid, name).map(|()| varid)
    }

    /// Writes an element.
    fn ncvarput1(ncid: c_int, varid: c_int, index: InPtr<usize>, value: SourcePtr) {
        put(ncid, varid, &Region::Element(index), MemoryType::Own, &value).map(|()| 0)
    }

    /// Reads an element.
    fn ncvarget1(ncid: c_int, varid: c_int, index: InPtr<usize>, value: TargetPtr) {
        get(ncid, varid, &Region::Element(index), MemoryType::Own, &value).map(|()| 0)
    }

    /// Writes a block.
    fn ncvarput(ncid: c_int, varid: c_int, start: InPtr<usize>, count: InPtr<usize>, value: SourcePtr) {
        put(ncid, varid, &Region::Block(start, count), MemoryType::Own, &value).map(|()| 0)
    }

    /// Reads a block.
    fn ncvarget(ncid: c_int, varid: c_int, start: InPtr<usize>, count: InPtr<usize>, value: TargetPtr) {
        get(ncid, varid, &Region::Block(start, count), MemoryType::Own, &value).map(|()| 0)
    }

    /// Writes a strided block.
    fn ncvarputs(
        ncid: c_int, varid: c_int, start: InPtr<usize>, count: InPtr<usize>, stride: InPtr<isize>,
        value: SourcePtr,
    ) {
        put(ncid, varid, &Region::Strided(start, count, stride), MemoryType::Own, &value).map(|()| 0)
    }

    /// Reads a strided block.
    fn ncvargets(
        ncid: c_int, varid: c_int, start: InPtr<usize>, count: InPtr<usize>, stride: InPtr<isize>,
        value: TargetPtr,
    ) {
        get(ncid, varid, &Region::Strided(start, count, stride), MemoryType::Own, &value).map(|()| 0)
    }

    /// Writes elements that lie apart in memory, with distances in bytes.
    fn ncvarputg(
        ncid: c_int, varid: c_int, start: InPtr<usize>, count: InPtr<usize>, stride: InPtr<isize>,
        imap: InPtr<isize>, value: SourcePtr,
    ) {
        in_elements(ncid, varid, imap, |imap| {
            put(ncid, varid, &Region::Mapped(start, count, stride, imap), MemoryType::Own, &value)
        })
    }

    /// Reads elements to places apart in memory, with distances in bytes.
    fn ncvargetg(
        ncid: c_int, varid: c_int, start: InPtr<usize>, count: InPtr<usize>, stride: InPtr<isize>,
        imap: InPtr<isize>, value: TargetPtr,
    ) {
        in_elements(ncid, varid, imap, |imap| {
            get(ncid, varid, &Region::Mapped(start, count, stride, imap), MemoryType::Own, &value)
        })
    }

    /// Returns the size of a type.
    fn nctypelen(datatype: c_int) {
        let size = NcType::from_code(datatype).and_then(NcType::size);
        Ok(size.ok_or_else(|| ErrorKind::BadType.context(format!("no type {datatype}")))? as c_int)
    }
}

/// Runs a call with distances in elements.
fn in_elements(
    ncid: c_int,
    varid: c_int,
    imap: InPtr<isize>,
    call: impl FnOnce(InPtr<isize>) -> Result<()>,
) -> Result<c_int> {
    let node = table::find(ncid)?;
    let var = node.var(varid)?;
    let (ty, rank) = node.look(|model| {
        let var = model.var(var)?;
        Ok((var.xtype, var.dims.len()))
    })?;
    if imap.is_null() {
        return call(imap).map(|()| 0);
    }
    let size = node.look_types(|types| types.size(ty))? as isize;
    let distances: Vec<isize> = imap.values(rank, "imap")?.iter().map(|&bytes| bytes / size.max(1)).collect();
    InPtr::lend(&distances, call).map(|()| 0)
}
