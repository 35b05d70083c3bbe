//! Memory that elements of user-defined types refer to.

use std::ffi::{c_int, c_void};

use crate::boundary::memory;
use crate::boundary::pointer::{OutPtr, SourcePtr, TargetPtr};
use crate::boundary::user_memory;
use crate::memory_form;
use crate::table;

c_functions! {
    /// Frees the memory that elements refer to, but not that of the elements.
    fn nc_reclaim_data(ncid: c_int, xtypeid: c_int, memory: TargetPtr, count: usize) {
        reclaim(ncid, xtypeid, &memory, count)
    }

    /// Frees the memory of elements and all that they refer to.
    fn nc_reclaim_data_all(ncid: c_int, xtypeid: c_int, memory: TargetPtr, count: usize) {
        reclaim(ncid, xtypeid, &memory, count)?;
        memory::free(memory);
        Ok(())
    }

    /// Copies elements with all that they refer to.
    fn nc_copy_data(ncid: c_int, xtypeid: c_int, memory: SourcePtr, count: usize, copy: TargetPtr) {
        copy.put(&copied(ncid, xtypeid, &memory, count)?);
        Ok(())
    }

    /// As `nc_copy_data`, to new memory.
    fn nc_copy_data_all(
        ncid: c_int, xtypeid: c_int, memory: SourcePtr, count: usize, copyp: OutPtr<*mut c_void>,
    ) {
        copyp.set(memory::hand_out(&copied(ncid, xtypeid, &memory, count)?)?);
        Ok(())
    }
}

fn reclaim(ncid: c_int, xtype: c_int, memory: &TargetPtr, count: usize) -> nczarr::Result<()> {
    let node = table::find(ncid)?;
    let ty = node.xtype(xtype)?;
    if memory.is_null() {
        return Ok(());
    }
    node.look_types(|types| {
        let size = types.size(ty)?.saturating_mul(count);
        memory.with_initialised(size, |bytes| user_memory::reclaim(types, ty, bytes))
    })
}

/// Returns the bytes of copies.
fn copied(ncid: c_int, xtype: c_int, memory: &SourcePtr, count: usize) -> nczarr::Result<Vec<u8>> {
    let node = table::find(ncid)?;
    let ty = node.xtype(xtype)?;
    node.look_types(|types| {
        memory_form::bytes_of(types, &memory_form::values_from(types, ty, count, memory)?)
    })
}
