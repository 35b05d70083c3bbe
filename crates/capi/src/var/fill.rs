//! Fill values of variables.

use std::ffi::c_int;

use nczarr::model::{FILL_VALUE, fill};
use nczarr::nc_table::NcDispatch as _;
use nczarr::{ErrorKind, NcType, Values, VarFill};

use crate::boundary::pointer::{OutPtr, SourcePtr, TargetPtr};
use crate::memory_form;
use crate::open_file::NC_GLOBAL;
use crate::table;

/// A flag of `nc_def_var_fill`; the same number is `NC_NOFILL` of `nc_set_fill`.
const NO_FILL: c_int = 1;

c_functions! {
    /// Sets the fill value, or turns filling off.
    fn nc_def_var_fill(ncid: c_int, varid: c_int, no_fill: c_int, fill_value: SourcePtr) {
        let node = table::find(ncid)?;
        if varid == NC_GLOBAL {
            return Err(ErrorKind::Global.context("a group has no fill value"));
        }
        let var = node.var(varid)?;
        if node.is_late(var) {
            return Err(ErrorKind::LateDef.context("the fill value of a stored variable is final"));
        }
        if no_fill != 0 && node.look(|model| Ok(model.var(var)?.xtype == NcType::String))? {
            return Err(ErrorKind::Inval.context("strings are always filled"));
        }
        let value = match no_fill {
            0 if !fill_value.is_null() => node.look_types(|types| {
                memory_form::values_from(types, types.model.var(var)?.xtype, 1, &fill_value).map(Some)
            })?,
            _ => None,
        };
        let nc = node.nc_to_edit()?;
        let old = node.look(|model| Ok(model.var(var)?.atts.get(FILL_VALUE).cloned()))?;
        if let Some(old) = old.filter(|_| no_fill != 0 && !node.is_cdf()) {
            // In netCDF-4 such a variable has no attribute either.
            nc.del_att(node.group, Some(var), FILL_VALUE)?;
            node.keep_fill_value(var, old);
        }
        nc.def_var_fill(var, no_fill != 0, value.as_ref())
    }

    /// Returns whether filling is off, and the fill value; without filling, the one that it had before. The
    /// caller frees a string.
    fn nc_inq_var_fill(ncid: c_int, varid: c_int, no_fill: OutPtr<c_int>, fill_valuep: TargetPtr) {
        let node = table::find(ncid)?;
        let var = node.var(varid)?;
        let old = node.kept_fill_value(var);
        let (off, value) = node.look(|model| {
            let var = model.var(var)?;
            let default = || fill::default(var.xtype).or_else(|| model.blank(var.xtype).ok());
            let is_value = |value: &&Values| value.nc_type() == var.xtype && value.len() == 1;
            let before = var.atts.get(FILL_VALUE).or(old.as_ref()).filter(is_value).cloned();
            Ok(match &var.fill {
                VarFill::NoFill => (true, before.or_else(default)),
                VarFill::Default => (false, default()),
                VarFill::Value(value) => (false, Some(value.clone())),
            })
        })?;
        no_fill.set(if off { NO_FILL } else { 0 });
        if fill_valuep.is_null() {
            return Ok(());
        }
        let value = value.ok_or_else(|| ErrorKind::BadType.context("the type has no fill value"))?;
        fill_valuep.put(&node.look_types(|types| memory_form::bytes_of(types, &value))?);
        Ok(())
    }
}
