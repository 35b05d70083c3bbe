//! Vlen types.

use std::ffi::c_int;

use nczarr::model::TypeClass;
use nczarr::nc_table::NcDispatch as _;
use nczarr::{NcType, Result};

use super::look;
use crate::boundary::memory::{self, VlenElement};
use crate::boundary::pointer::{NamePtr, OutPtr, SourcePtr, TargetPtr, TextPtr};
use crate::open_file::Node;
use crate::table;

c_functions! {
    /// Defines a vlen type.
    fn nc_def_vlen(ncid: c_int, name: TextPtr, base_typeid: c_int, xtypep: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        node.check_not_cdf()?;
        let id = node.nc_to_edit()?.def_vlen(node.group, name.name()?, node.xtype(base_typeid)?)?;
        xtypep.set(NcType::User(id).code());
        Ok(())
    }

    /// Returns name, size of an element in memory, and base type.
    fn nc_inq_vlen(
        ncid: c_int, xtype: c_int, name: NamePtr, datum_sizep: OutPtr<usize>, base_nc_typep: OutPtr<c_int>,
    ) {
        look(&table::find(ncid)?, xtype, |ty| match ty.class {
            TypeClass::Vlen { base } => {
                name.set(&ty.name);
                datum_sizep.set(size_of::<VlenElement>());
                base_nc_typep.set(base.code());
                Some(())
            }
            _ => None,
        })
    }

    /// Frees the memory of one element, but no memory that its elements refer to.
    fn nc_free_vlen(vl: TargetPtr) {
        memory::free_vlens(1, vl)
    }

    /// As `nc_free_vlen`, for several elements.
    fn nc_free_vlens(len: usize, vlens: TargetPtr) {
        memory::free_vlens(len, vlens)
    }

    /// Sets the number and memory of an element's content. The memory is not copied.
    fn nc_put_vlen_element(ncid: c_int, typeid1: c_int, element: TargetPtr, len: usize, data: SourcePtr) {
        let node = table::find(ncid)?;
        base_size(&node, typeid1)?;
        memory::set_vlen(element, len, data)
    }

    /// Copies the content of an element.
    fn nc_get_vlen_element(
        ncid: c_int, typeid1: c_int, element: SourcePtr, len: OutPtr<usize>, data: TargetPtr,
    ) {
        let node = table::find(ncid)?;
        len.set(memory::copy_vlen(element, base_size(&node, typeid1)?, data)?);
        Ok(())
    }
}

/// Returns the size of the elements inside an element of a vlen type.
fn base_size(node: &Node, xtype: c_int) -> Result<usize> {
    let base = look(node, xtype, |ty| match ty.class {
        TypeClass::Vlen { base } => Some(base),
        _ => None,
    })?;
    node.look_types(|types| types.size(base))
}
