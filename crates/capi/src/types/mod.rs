//! Types: inquiries, definitions of user-defined ones, and the memory of their elements.

mod compound;
pub mod enumeration;
pub mod inquire;
mod insert;
pub mod memory;
mod opaque;
mod vlen;

use std::ffi::c_int;

use nczarr::model::{TypeClass, TypeId, UserType};
use nczarr::{ErrorKind, NcType, Result};

use crate::open_file::Node;

/// The classes of user-defined types in C.
pub const VLEN: c_int = 13;
pub const OPAQUE: c_int = 14;
pub const ENUM: c_int = 15;
pub const COMPOUND: c_int = 16;

/// Finds a user-defined type: `NC_EBADTYPE` if there is none.
fn user_type_id(node: &Node, xtype: c_int) -> Result<TypeId> {
    match node.xtype(xtype)? {
        NcType::User(id) => Ok(id),
        ty => Err(ErrorKind::BadType.context(format!("{} is no user-defined type", ty.name()))),
    }
}

/// Looks at a user-defined type of one class: `NC_EBADTYPE` for any other.
fn look<T>(node: &Node, xtype: c_int, look: impl FnOnce(&UserType) -> Option<T>) -> Result<T> {
    let id = user_type_id(node, xtype)?;
    node.look(|model| {
        let ty = model.user_type(id)?;
        look(ty).ok_or_else(|| ErrorKind::BadType.context(format!("type {:?} has another class", ty.name)))
    })
}

/// Returns the number of a class in C.
fn class_code(class: &TypeClass) -> c_int {
    match class {
        TypeClass::Vlen { .. } => VLEN,
        TypeClass::Opaque { .. } => OPAQUE,
        TypeClass::Enum { .. } => ENUM,
        TypeClass::Compound { .. } => COMPOUND,
    }
}
