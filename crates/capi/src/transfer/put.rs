//! Writes.

use std::borrow::Cow;
use std::ffi::c_int;

use nczarr::dispatch::zeroed;
use nczarr::{ErrorKind, MemRef, Result};

use super::data_call::{DataCall, Direction};
use super::mapped::Distances;
use super::region::{Region, Selection};
use crate::boundary::pointer::SourcePtr;
use crate::memory_form;
use crate::memory_type::MemoryType;
use crate::range;
use crate::type_space::TypeSpace;

/// Writes a region of a variable from the memory of the caller.
pub fn put(ncid: c_int, varid: c_int, region: &Region, memory: MemoryType, from: &SourcePtr) -> Result<()> {
    let call = DataCall::new(ncid, varid, region, memory, Direction::Write)?;
    let len = call.bytes()?;
    // A null pointer for no elements is fine, but the region is checked all the same.
    let bytes = match &call.selection.imap {
        None => Cow::Borrowed(from.bytes(len)?),
        Some(imap) => Cow::Owned(gather(&call.selection, imap, call.element()?, len, from)?),
    };
    call.node.note_write(call.var);
    write(&call, &bytes)
}

/// Writes from dense memory.
fn write(call: &DataCall, bytes: &[u8]) -> Result<()> {
    let DataCall { node, access, memtype: ty, .. } = call;
    let (slab, ty) = (&call.slab(), *ty);
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
            let filled = range::convert_for(model.var(call.var)?, ty, bytes)?;
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
