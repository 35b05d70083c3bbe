//! Writes.

use std::borrow::Cow;
use std::ffi::c_int;

use nczarr::model::convert;
use nczarr::nc_table::VarAccess;
use nczarr::{ErrorKind, MemRef, NcType, Result, Slab};

use super::mapped::Distances;
use super::region::{Region, Selection, byte_count};
use super::{mapped, zeroed};
use crate::boundary::pointer::SourcePtr;
use crate::memory_form;
use crate::memory_type::MemoryType;
use crate::open_file::Node;
use crate::range;
use crate::table;
use crate::type_space::TypeSpace;

/// Writes a region of a variable from the memory of the caller.
pub fn put(ncid: c_int, varid: c_int, region: &Region, memory: MemoryType, from: &SourcePtr) -> Result<()> {
    let node = table::find(ncid)?;
    let var = node.var(varid)?;
    if !node.writable {
        return Err(ErrorKind::Perm.context("the dataset is read-only"));
    }
    node.to_data_mode()?;
    let access = node.access(var)?;
    let memtype = memory.of(access.xtype(), &node);
    convert::check(access.xtype(), memtype).map_err(|error| access.with_path(error))?;
    if region.is_mapped() {
        mapped::check_type(access.xtype())?;
    }
    let selection = region.select(&access.shape())?;
    let size = node.look_types(|types| types.size(memtype))?;
    let len = byte_count(&selection, size)?;
    // A null pointer for no elements is fine, but the region is checked all the same.
    let bytes = match &selection.imap {
        None => Cow::Borrowed(from.bytes(len)?),
        Some(imap) => Cow::Owned(gather(&selection, imap, size, len, from)?),
    };
    node.note_write(var);
    write(&node, &access, &selection.slab(), memtype, &bytes)
}

/// Writes from dense memory.
fn write(node: &Node, access: &VarAccess, slab: &Slab<'_>, ty: NcType, bytes: &[u8]) -> Result<()> {
    let model = node.nc().model().snapshot();
    let types = TypeSpace::new(&model, &node.layouts);
    if !types.is_fixed(ty)? {
        return access.put(slab, MemRef::Strings(&memory_form::packed_from(types, ty, bytes)?));
    }
    if !types.is_plain(ty)? {
        let stored = memory_form::stored_from(types, ty, bytes)?;
        return access.put(slab, MemRef::Fixed { ty, bytes: &stored });
    }
    let outcome = access.put(slab, MemRef::Fixed { ty, bytes });
    match outcome {
        Err(error) if error.kind() == ErrorKind::Range && node.is_cdf() => {
            let (filled, _) = range::convert_or_fill(ty, access.xtype(), bytes)?;
            access.put(slab, MemRef::Fixed { ty: access.xtype(), bytes: &filled })?;
            Err(error)
        }
        outcome => outcome,
    }
}

fn gather(
    selection: &Selection,
    imap: &Distances,
    size: usize,
    len: usize,
    from: &SourcePtr,
) -> Result<Vec<u8>> {
    let (first, last) = imap.extent(&selection.count)?;
    let mut dense = zeroed(len)?;
    let memory = from.span(first, last, size)?;
    let mut items = dense.chunks_exact_mut(size);
    imap.visit(&selection.count, first, |place| {
        if let Some(item) = items.next() {
            item.copy_from_slice(&memory[place * size..(place + 1) * size]);
        }
    });
    Ok(dense)
}
