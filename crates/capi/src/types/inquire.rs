//! Inquiries about types.

use std::ffi::c_int;

use nczarr::model::TypeClass;
use nczarr::nc_table::NcDispatch as _;
use nczarr::{ErrorKind, NcType};

use super::{class_code, user_type_id};
use crate::boundary::memory;
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
        // The type is unknown in an unknown dataset too.
        let unknown = |error| ErrorKind::BadType.context(format!("no type {xtype}")).caused_by(error);
        let node = table::find(ncid).map_err(unknown)?;
        let ty = node.xtype(xtype)?;
        let (found, _) = node.nc().inq_type(ty)?;
        name.set(found);
        size.set(node.look_types(|types| types.size(ty))?);
        Ok(())
    }

    /// Returns all properties of a user-defined type.
    fn nc_inq_user_type(
        ncid: c_int, xtype: c_int, name: NamePtr, size: OutPtr<usize>, base_nc_typep: OutPtr<c_int>,
        nfieldsp: OutPtr<usize>, classp: OutPtr<c_int>,
    ) {
        let node = table::find(ncid)?;
        node.check_not_cdf()?;
        let id = user_type_id(&node, xtype)?;
        node.look_types(|types| {
            let ty = types.model.user_type(id)?;
            let (base, parts) = match &ty.class {
                TypeClass::Compound { fields, .. } => (0, fields.len()),
                TypeClass::Enum { base, members } => (base.code(), members.len()),
                TypeClass::Opaque { .. } => (0, 0),
                TypeClass::Vlen { base } => (base.code(), 0),
            };
            name.set(&ty.name);
            size.set(types.size(NcType::User(id))?);
            base_nc_typep.set(base);
            nfieldsp.set(parts);
            classp.set(class_code(&ty.class));
            Ok(())
        })
    }

    /// Finds a type by name or path.
    fn nc_inq_typeid(ncid: c_int, name: TextPtr, typeidp: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        let name = name.name()?;
        if name.contains('/') && !name.starts_with('/') {
            return Err(ErrorKind::Inval.context(format!("type {name:?}: a path begins with a slash")));
        }
        typeidp.set(node.nc().inq_typeid(node.group, name)?.code());
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
        if !one.is_stored_type(ty) || !other.is_stored_type(other_ty) {
            return Err(ErrorKind::HdfErr.context("a type is not in storage yet; call nc_enddef"));
        }
        equal.set(one.nc().inq_type_equal(ty, other.nc(), other_ty)?.into());
        Ok(())
    }
}
