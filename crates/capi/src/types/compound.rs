//! Compound types.

use std::ffi::c_int;

use nczarr::model::{Edit, Field, TypeClass};
use nczarr::nc_table::NcDispatch as _;
use nczarr::{ErrorKind, NcType, Result};

use super::insert::insert;
use super::{look, user_type_id};
use crate::boundary::pointer::{InPtr, NamePtr, OutPtr, TextPtr};
use crate::table;

c_functions! {
    /// Defines a compound type of a size, without fields.
    fn nc_def_compound(ncid: c_int, size: usize, name: TextPtr, typeidp: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        let id = node.nc_to_edit()?.def_compound(node.group, size, name.name()?)?;
        typeidp.set(NcType::User(id).code());
        Ok(())
    }

    /// Adds a field.
    fn nc_insert_compound(ncid: c_int, xtype: c_int, name: TextPtr, offset: usize, field_typeid: c_int) {
        let node = table::find(ncid)?;
        let (ty, field) = (user_type_id(&node, xtype)?, node.xtype(field_typeid)?);
        let name = name.name()?;
        insert(&node, ty, &Edit::InsertField { ty, name, offset, field, shape: &[] })
    }

    /// Adds a field that is an array.
    fn nc_insert_array_compound(
        ncid: c_int, xtype: c_int, name: TextPtr, offset: usize, field_typeid: c_int, ndims: c_int,
        dim_sizes: InPtr<c_int>,
    ) {
        let node = table::find(ncid)?;
        let (ty, field) = (user_type_id(&node, xtype)?, node.xtype(field_typeid)?);
        let wrong = || ErrorKind::Inval.context(format!("an array field of {ndims} dimensions"));
        let rank = usize::try_from(ndims).map_err(|_| wrong())?;
        let sizes = dim_sizes.values(rank, "dim_sizes")?.iter().map(|&size| u32::try_from(size));
        let sizes = sizes.collect::<Result<Vec<_>, _>>().map_err(|_| wrong())?;
        let name = name.name()?;
        insert(&node, ty, &Edit::InsertField { ty, name, offset, field, shape: &sizes })
    }

    /// Returns name, size and number of fields.
    fn nc_inq_compound(
        ncid: c_int, xtype: c_int, name: NamePtr, sizep: OutPtr<usize>, nfieldsp: OutPtr<usize>,
    ) {
        let node = table::find(ncid)?;
        let of = node.xtype(xtype)?;
        let size = node.look_types(|types| types.size(of))?;
        look(&node, xtype, |ty| match &ty.class {
            TypeClass::Compound { fields, .. } => {
                name.set(&ty.name);
                sizep.set(size);
                nfieldsp.set(fields.len());
                Some(())
            }
            _ => None,
        })
    }

    /// Returns the name.
    fn nc_inq_compound_name(ncid: c_int, xtype: c_int, name: NamePtr) {
        look(&table::find(ncid)?, xtype, |ty| {
            matches!(ty.class, TypeClass::Compound { .. }).then(|| name.set(&ty.name))
        })
    }

    /// Returns the size.
    fn nc_inq_compound_size(ncid: c_int, xtype: c_int, sizep: OutPtr<usize>) {
        let node = table::find(ncid)?;
        let of = node.xtype(xtype)?;
        let size = node.look_types(|types| types.size(of))?;
        look(&node, xtype, |ty| matches!(ty.class, TypeClass::Compound { .. }).then(|| sizep.set(size)))
    }

    /// Returns the number of fields.
    fn nc_inq_compound_nfields(ncid: c_int, xtype: c_int, nfieldsp: OutPtr<usize>) {
        let count = look(&table::find(ncid)?, xtype, |ty| match &ty.class {
            TypeClass::Compound { fields, .. } => Some(fields.len()),
            _ => None,
        })?;
        nfieldsp.set(count);
        Ok(())
    }

    /// Returns all properties of a field.
    fn nc_inq_compound_field(
        ncid: c_int, xtype: c_int, fieldid: c_int, name: NamePtr, offsetp: OutPtr<usize>,
        field_typeidp: OutPtr<c_int>, ndimsp: OutPtr<c_int>, dim_sizesp: OutPtr<c_int>,
    ) {
        let field = field(ncid, xtype, fieldid)?;
        name.set(&field.name);
        offsetp.set(field.offset);
        field_typeidp.set(field.ty.code());
        ndimsp.set(field.shape.len() as c_int);
        dim_sizesp.set_all(field.shape.iter().map(|&size| size as c_int));
        Ok(())
    }

    /// Returns the name of a field.
    fn nc_inq_compound_fieldname(ncid: c_int, xtype: c_int, fieldid: c_int, name: NamePtr) {
        name.set(field(ncid, xtype, fieldid)?.name);
        Ok(())
    }

    /// Returns the number of a field.
    fn nc_inq_compound_fieldindex(ncid: c_int, xtype: c_int, name: TextPtr, fieldidp: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        let place = node.nc().inq_compound_fieldindex(user_type_id(&node, xtype)?, name.name()?)?;
        fieldidp.set(place as c_int);
        Ok(())
    }

    /// Returns the offset of a field.
    fn nc_inq_compound_fieldoffset(ncid: c_int, xtype: c_int, fieldid: c_int, offsetp: OutPtr<usize>) {
        offsetp.set(field(ncid, xtype, fieldid)?.offset);
        Ok(())
    }

    /// Returns the type of a field.
    fn nc_inq_compound_fieldtype(ncid: c_int, xtype: c_int, fieldid: c_int, typeidp: OutPtr<c_int>) {
        typeidp.set(field(ncid, xtype, fieldid)?.ty.code());
        Ok(())
    }

    /// Returns the number of dimensions of a field.
    fn nc_inq_compound_fieldndims(ncid: c_int, xtype: c_int, fieldid: c_int, ndimsp: OutPtr<c_int>) {
        ndimsp.set(field(ncid, xtype, fieldid)?.shape.len() as c_int);
        Ok(())
    }

    /// Returns the shape of a field.
    fn nc_inq_compound_fielddim_sizes(ncid: c_int, xtype: c_int, fieldid: c_int, sizesp: OutPtr<c_int>) {
        sizesp.set_all(field(ncid, xtype, fieldid)?.shape.iter().map(|&size| size as c_int));
        Ok(())
    }
}

/// Returns a field with its offset in C.
fn field(ncid: c_int, xtype: c_int, fieldid: c_int) -> Result<Field> {
    let node = table::find(ncid)?;
    let place = usize::try_from(fieldid);
    let place = place.map_err(|_| ErrorKind::BadField.context(format!("no field {fieldid}")))?;
    let id = user_type_id(&node, xtype)?;
    let mut field = node.nc().inq_compound_field(id, place)?;
    field.offset = node.look_types(|types| Ok(types.offset(id, place, &field)))?;
    Ok(field)
}
