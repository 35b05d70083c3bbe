//! `nc_get_att` and its typed forms.

use std::ffi::c_int;

use nczarr::nc_table::NcDispatch as _;
use nczarr::{ErrorKind, Result, Values};

use crate::boundary::pointer::{TargetPtr, TextPtr};
use crate::memory_form;
use crate::memory_type::MemoryType;
use crate::range;
use crate::table;
use crate::transfer::data_call::check_text;

c_functions! {
    /// Returns the values in the attribute's own type.
    fn nc_get_att(ncid: c_int, varid: c_int, name: TextPtr, ip: TargetPtr) {
        get(ncid, varid, &name, MemoryType::Own, &ip)
    }
}

/// Exports the typed functions.
macro_rules! gets {
    ($($ending:literal => $memory:expr,)*) => {$(
        export!(
            concat!("nc_get_att", $ending),
            (ncid: c_int, varid: c_int, name: TextPtr, ip: TargetPtr),
            get(ncid, varid, &name, $memory, &ip)
        );
    )*};
}

for_each_memory_type!(gets);

fn get(ncid: c_int, varid: c_int, name: &TextPtr, memory: MemoryType, ip: &TargetPtr) -> Result<()> {
    let node = table::find(ncid)?;
    let (owner, name) = (node.owner(varid)?, name.att_name()?);
    let found = node.nc().inq_att(node.group, owner, name)?;
    let stored = found.ty;
    let memtype = memory.of(stored, &node);
    // No value needs no conversion, whatever the types.
    if found.len == 0 {
        return Ok(());
    }
    check_text(stored, memtype).map_err(|error| error.at(format_args!("attribute {name:?}")))?;
    let (mut values, out_of_range) = node.nc().get_att(node.group, owner, name, Some(memtype))?;
    if out_of_range && node.is_cdf() {
        let (own, _) = node.nc().get_att(node.group, owner, name, None)?;
        let bytes = own.to_native_bytes().unwrap_or_default();
        let (filled, _) = range::convert_or_fill(stored, memtype, &bytes)?;
        values = Values::from_native_bytes(memtype, &filled).unwrap_or(values);
    }
    if !values.is_empty() && ip.is_null() && node.is_cdf() {
        return Err(ErrorKind::Inval.context("the memory for the values is null"));
    }
    // In other formats a null pointer asks only whether the values can be returned.
    if !ip.is_null() {
        let bytes = node.look_types(|types| memory_form::bytes_of(types, &values))?;
        ip.put(&bytes);
    }
    if out_of_range {
        return Err(ErrorKind::Range.context(format!("attribute {name:?}: a value does not fit")));
    }
    Ok(())
}
