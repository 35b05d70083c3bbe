//! Enum types.

use std::ffi::{c_int, c_longlong};

use nczarr::model::{Edit, Scalar, TypeClass, TypeId};
use nczarr::nc_table::NcDispatch as _;
use nczarr::{ErrorKind, NcType, Result, Values};

use super::insert::insert;
use super::{look, user_type_id};
use crate::boundary::pointer::{NamePtr, OutPtr, SourcePtr, TargetPtr, TextPtr};
use crate::open_file::Node;
use crate::table;

c_functions! {
    /// Defines an enum type without members.
    fn nc_def_enum(ncid: c_int, base_typeid: c_int, name: TextPtr, typeidp: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        let id = node.nc_to_edit()?.def_enum(node.group, node.xtype(base_typeid)?, name.name()?)?;
        typeidp.set(NcType::User(id).code());
        Ok(())
    }

    /// Adds a member. The value has the base type.
    fn nc_insert_enum(ncid: c_int, xtype: c_int, name: TextPtr, value: SourcePtr) {
        let node = table::find(ncid)?;
        let id = user_type_id(&node, xtype)?;
        let base = base_of(&node, id)?;
        let bytes = value.bytes(base.size().unwrap_or(0))?;
        let value = match Values::from_native_bytes(base, bytes).and_then(|value| value.scalar(0)) {
            Some(Scalar::Int(value)) => value,
            _ => return Err(ErrorKind::BadType.context("the base type is no integer type")),
        };
        insert(&node, id, &Edit::InsertEnum { ty: id, name: name.name()?, value })
    }

    /// Returns name, base type, its size, and the number of members.
    fn nc_inq_enum(
        ncid: c_int, xtype: c_int, name: NamePtr, base_nc_typep: OutPtr<c_int>, base_sizep: OutPtr<usize>,
        num_membersp: OutPtr<usize>,
    ) {
        look(&table::find(ncid)?, xtype, |ty| match &ty.class {
            TypeClass::Enum { base, members } => {
                name.set(&ty.name);
                base_nc_typep.set(base.code());
                base_sizep.set(base.size().unwrap_or(0));
                num_membersp.set(members.len());
                Some(())
            }
            _ => None,
        })
    }

    /// Returns name and value of a member by number.
    fn nc_inq_enum_member(ncid: c_int, xtype: c_int, idx: c_int, name: NamePtr, value: TargetPtr) {
        let node = table::find(ncid)?;
        let id = user_type_id(&node, xtype)?;
        let place = usize::try_from(idx).map_err(|_| ErrorKind::Inval.context(format!("no member {idx}")))?;
        let member = node.nc().inq_enum_member(id, place)?;
        name.set(&member.name);
        let size = base_of(&node, id)?.size().unwrap_or(0);
        value.put(&member_bytes(member.value, size));
        Ok(())
    }

    /// Returns the name of a value. `_UNDEFINED` names 0 if no member has it.
    fn nc_inq_enum_ident(ncid: c_int, xtype: c_int, value: c_longlong, identifier: NamePtr) {
        let node = table::find(ncid)?;
        let found = node.nc().inq_enum_ident(user_type_id(&node, xtype)?, value.into());
        match found {
            Err(error) if error.kind() == ErrorKind::Inval && value == 0 => identifier.set("_UNDEFINED"),
            found => identifier.set(found?),
        }
        Ok(())
    }
}

/// Returns the value of a member in its base type, which has `size` bytes.
pub fn member_bytes(value: i128, size: usize) -> Vec<u8> {
    // The low bytes of a number are those of a smaller type.
    let bytes = value.to_le_bytes();
    let mut bytes: Vec<u8> = bytes[..size.min(bytes.len())].to_vec();
    if cfg!(target_endian = "big") {
        bytes.reverse();
    }
    bytes
}

fn base_of(node: &Node, id: TypeId) -> Result<NcType> {
    look(node, NcType::User(id).code(), |ty| match ty.class {
        TypeClass::Enum { base, .. } => Some(base),
        _ => None,
    })
}
