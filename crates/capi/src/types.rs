//! Types.

use std::ffi::c_int;
use std::mem;

use nczarr::nc_table::NcDispatch as _;
use nczarr::{ErrorKind, NcType};

use crate::boundary::memory::{self, VlenElement};
use crate::boundary::pointer::{NamePtr, OutPtr, TEXT_POINTER, TargetPtr, TextPtr};
use crate::open_file::FIRST_USER_TYPE;
use crate::table;

c_functions! {
    /// Frees strings that a call returned. The pointers become null.
    fn nc_free_string(len: usize, data: TargetPtr) {
        memory::free_strings(len, data)
    }

    /// Returns name and size in memory of a type. Atomic types need no dataset.
    fn nc_inq_type(ncid: c_int, xtype: c_int, name: NamePtr, size: OutPtr<usize>) {
        if let Some(ty) = NcType::from_code(xtype) {
            name.set(ty.name());
            size.set(ty.size().unwrap_or(TEXT_POINTER));
            return Ok(());
        }
        if xtype < FIRST_USER_TYPE {
            return Err(ErrorKind::BadType.context(format!("no type {xtype}")));
        }
        let node = table::find(ncid)?;
        let (found, bytes) = node.nc().inq_type(node.xtype(xtype)?)?;
        name.set(found);
        size.set(bytes.unwrap_or(mem::size_of::<VlenElement>()));
        Ok(())
    }

    /// Finds a type by name or path.
    fn nc_inq_typeid(ncid: c_int, name: TextPtr, typeidp: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        typeidp.set(node.nc().inq_typeid(node.group, name.name()?)?.code());
        Ok(())
    }

    /// Returns the user-defined types of a group.
    fn nc_inq_typeids(ncid: c_int, ntypes: OutPtr<c_int>, typeids: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        let types = node.nc().inq_typeids(node.group)?;
        ntypes.set(types.len() as c_int);
        typeids.set_all(types.iter().map(|&ty| NcType::User(ty).code()));
        Ok(())
    }

    /// Returns whether two types are equal.
    fn nc_inq_type_equal(ncid1: c_int, type1: c_int, ncid2: c_int, type2: c_int, equal: OutPtr<c_int>) {
        let (one, other) = (table::find(ncid1)?, table::find(ncid2)?);
        if type1 <= 0 || type2 <= 0 {
            return Err(ErrorKind::Inval.context("no type has this id"));
        }
        let (ty, other_ty) = (one.xtype(type1)?, other.xtype(type2)?);
        equal.set(one.nc().inq_type_equal(ty, other.nc(), other_ty)?.into());
        Ok(())
    }
}
