//! Opaque types.

use std::ffi::c_int;

use nczarr::NcType;
use nczarr::model::TypeClass;
use nczarr::nc_table::NcDispatch as _;

use super::look;
use crate::boundary::pointer::{NamePtr, OutPtr, TextPtr};
use crate::table;

c_functions! {
    /// Defines an opaque type of a size.
    fn nc_def_opaque(ncid: c_int, size: usize, name: TextPtr, xtypep: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        let id = node.nc_to_edit()?.def_opaque(node.group, size, name.name()?)?;
        xtypep.set(NcType::User(id).code());
        Ok(())
    }

    /// Returns name and size.
    fn nc_inq_opaque(ncid: c_int, xtype: c_int, name: NamePtr, sizep: OutPtr<usize>) {
        look(&table::find(ncid)?, xtype, |ty| match ty.class {
            TypeClass::Opaque { size } => {
                name.set(&ty.name);
                sizep.set(size);
                Some(())
            }
            _ => None,
        })
    }
}
