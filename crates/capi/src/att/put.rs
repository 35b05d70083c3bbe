//! `nc_put_att` and its typed forms.

use std::ffi::c_int;

use nczarr::dispatch::Dataset;
use nczarr::model::name::MAX_LEN;
use nczarr::model::{FILL_VALUE, VarId};
use nczarr::nc_table::NcDispatch as _;
use nczarr::{ErrorKind, NcType, Result, Values};

use super::reserved;
use crate::boundary::pointer::{SourcePtr, TextPtr};
use crate::memory_form;
use crate::memory_type::MemoryType;
use crate::open_file::Node;
use crate::range;
use crate::table;

/// Values in the header of a classic file fill whole units.
const HEADER_UNIT: usize = 4;

c_functions! {
    /// Sets an attribute from values of its own type.
    fn nc_put_att(ncid: c_int, varid: c_int, name: TextPtr, xtype: c_int, len: usize, op: SourcePtr) {
        put(ncid, varid, &name, xtype, len, MemoryType::Own, &op)
    }

    /// Sets an attribute of type char.
    fn nc_put_att_text(ncid: c_int, varid: c_int, name: TextPtr, len: usize, op: SourcePtr) {
        put(ncid, varid, &name, NcType::Char.code(), len, MemoryType::Own, &op)
    }

    /// Sets an attribute of type string.
    fn nc_put_att_string(ncid: c_int, varid: c_int, name: TextPtr, len: usize, op: SourcePtr) {
        put(ncid, varid, &name, NcType::String.code(), len, MemoryType::Own, &op)
    }
}

/// Exports the functions whose values have a number type of C and are converted.
macro_rules! numeric_puts {
    ($($ending:literal => $memory:expr,)*) => {$(
        export!(
            concat!("nc_put_att", $ending),
            (ncid: c_int, varid: c_int, name: TextPtr, xtype: c_int, len: usize, op: SourcePtr),
            put(ncid, varid, &name, xtype, len, $memory, &op)
        );
    )*};
}

for_each_number_type!(numeric_puts);

fn put(
    ncid: c_int,
    varid: c_int,
    name: &TextPtr,
    xtype: c_int,
    len: usize,
    memory: MemoryType,
    op: &SourcePtr,
) -> Result<()> {
    let node = table::find(ncid)?;
    let owner = node.owner(varid)?;
    let name = name.att_name()?;
    if !node.is_cdf() && name.len() > MAX_LEN {
        // In classic files and in other functions it is NC_EMAXNAME.
        return Err(ErrorKind::BadName.context(format!("an attribute's name has at most {MAX_LEN} bytes")));
    }
    reserved::check_put(&node, owner, name)?;
    let stored = node.xtype(xtype)?;
    let memtype = memory.of(stored, &node);
    let values = node.look_types(|types| memory_form::values_from(types, memtype, len, op))?;
    if let Some(var) = owner.filter(|_| name == FILL_VALUE) {
        check_fill_value(&node, var, stored, len)?;
    }
    let (values, filled) = fitting(&node, values, stored)?;
    let put = |nc: &dyn Dataset| nc.put_att(node.group, owner, name, stored, &values);
    if fits_in_place(&node, owner, name, &values)? { node.edit_in_place(put) } else { node.edit(put) }?;
    if filled {
        return Err(ErrorKind::Range.context(format!("attribute {name:?}: a value does not fit")));
    }
    Ok(())
}

/// Whether an attribute exists and takes no more space with new values, in the classic model.
pub fn fits_in_place(node: &Node, owner: Option<VarId>, name: &str, values: &Values) -> Result<bool> {
    if !node.is_strict() {
        return Ok(false);
    }
    let unit = if node.is_cdf() { HEADER_UNIT } else { 1 };
    node.look(|model| {
        let Some(old) = model.atts(node.group, owner)?.get(name) else { return Ok(false) };
        let units = |values: &Values| {
            let bytes = values.len().saturating_mul(values.nc_type().size().unwrap_or(1));
            bytes.div_ceil(unit)
        };
        Ok(units(values) <= units(old))
    })
}

/// Checks `_FillValue`: one value of the variable's type, before the variable is stored.
fn check_fill_value(node: &Node, var: VarId, ty: NcType, len: usize) -> Result<()> {
    if ty != node.look(|model| Ok(model.var(var)?.xtype))? {
        return Err(ErrorKind::BadType.context("_FillValue: the type is not that of the variable"));
    }
    if len != 1 {
        return Err(ErrorKind::Inval.context(format!("_FillValue: {len} values (expected 1)")));
    }
    if node.is_late_fill(var) {
        return Err(ErrorKind::LateFill.context("the fill value of a stored variable is final"));
    }
    Ok(())
}

/// Returns values for an attribute of a type. In a classic file those that do not fit become fill values.
fn fitting(node: &Node, values: Values, ty: NcType) -> Result<(Values, bool)> {
    let from = values.nc_type();
    if from == ty || !node.is_cdf() || !from.is_numeric() || !ty.is_numeric() {
        return Ok((values, false));
    }
    let bytes = values.to_native_bytes().unwrap_or_default();
    let (bytes, filled) = range::convert_or_fill(from, ty, &bytes)?;
    let fitting = Values::from_native_bytes(ty, &bytes);
    Ok((fitting.ok_or_else(|| ErrorKind::Internal.context("values of a number type"))?, filled))
}
