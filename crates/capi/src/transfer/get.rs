//! Reads.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use nczarr::dispatch::{byte_len, empty_strings, zeroed};
use nczarr::{ErrorKind, MemMut, OutBuf, Result};

use super::data_call::{DataCall, Direction};
use super::mapped::Distances;
use super::region::{Region, Selection};
use crate::boundary::memory;
use crate::boundary::pointer::TargetPtr;
use crate::memory_form;
use crate::memory_type::MemoryType;
use crate::range;
use crate::type_space::TypeSpace;

/// Reads a region of a variable to the memory of the caller.
pub fn get(
    ncid: c_int,
    varid: c_int,
    region: &Region,
    memory_type: MemoryType,
    to: &TargetPtr,
) -> Result<()> {
    let call = DataCall::new(ncid, varid, region, memory_type, Direction::Read)?;
    call.access.select(&call.slab())?;
    let len = call.bytes()?;
    match &call.selection.imap {
        None => to.with(len, |out| read(&call, out)),
        Some(imap) => {
            let mut dense = zeroed(len)?;
            let outcome = read(&call, memory::as_uninit(&mut dense));
            let size = call.element()?;
            after_range(outcome, || scatter(&call.selection, imap, size, to, &dense))
        }
    }
}

/// Reads to dense memory.
fn read(call: &DataCall, out: &mut [MaybeUninit<u8>]) -> Result<()> {
    let DataCall { node, access, memtype: ty, .. } = call;
    let (slab, ty) = (&call.slab(), *ty);
    let model = node.nc().model().snapshot();
    let types = TypeSpace::new(&model, &node.layouts);
    if types.is_plain(ty)? {
        let outcome = access.get(slab, MemMut::Fixed { ty, out: &mut OutBuf::new(out) });
        return match outcome {
            Err(error) if error.kind() == ErrorKind::Range && node.is_cdf() => {
                let stored = access.xtype();
                let mut bytes = zeroed(byte_len(slab.len(), stored.size().unwrap_or(1))?)?;
                access.get(slab, MemMut::Fixed { ty: stored, out: &mut OutBuf::from_slice(&mut bytes) })?;
                out.write_copy_of_slice(&range::convert_or_fill(stored, ty, &bytes)?.0);
                Err(error)
            }
            outcome => outcome,
        };
    }
    if types.is_fixed(ty)? {
        let mut stored = zeroed(byte_len(slab.len(), model.type_size(ty)?.unwrap_or(1))?)?;
        access.get(slab, MemMut::Fixed { ty, out: &mut OutBuf::from_slice(&mut stored) })?;
        out.write_copy_of_slice(&memory_form::bytes_of_stored(types, ty, &stored)?);
        return Ok(());
    }
    let mut strings = empty_strings(byte_len(slab.len(), 1)?)?;
    access.get(slab, MemMut::Strings(&mut strings))?;
    out.write_copy_of_slice(&memory_form::bytes_of_packed(types, ty, &strings)?);
    Ok(())
}

fn scatter(selection: &Selection, imap: &Distances, size: usize, to: &TargetPtr, dense: &[u8]) -> Result<()> {
    let (first, last) = imap.extent(&selection.count)?;
    to.with_span(first, last, size, |memory| {
        let mut items = dense.chunks_exact(size);
        imap.visit(&selection.count, first, |place| {
            if let Some(item) = items.next() {
                memory[place * size..(place + 1) * size].copy_from_slice(item);
            }
        });
        Ok(())
    })
}

/// Continues after `NC_ERANGE`, which is reported after the whole transfer.
fn after_range(outcome: Result<()>, then: impl FnOnce() -> Result<()>) -> Result<()> {
    match outcome {
        Err(error) if error.kind() != ErrorKind::Range => Err(error),
        outcome => then().and(outcome),
    }
}
