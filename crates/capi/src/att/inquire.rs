//! Inquiries and names of attributes.

use std::ffi::c_int;

use nczarr::dispatch::Dataset;
use nczarr::nc_table::{AttInquiry, AttOwner, NcDispatch as _, copy_att};
use nczarr::{ErrorKind, Result};

use super::{put, reserved};
use crate::boundary::pointer::{NamePtr, OutPtr, TextPtr};
use crate::table;

c_functions! {
    /// Returns type and length.
    fn nc_inq_att(ncid: c_int, varid: c_int, name: TextPtr, xtypep: OutPtr<c_int>, lenp: OutPtr<usize>) {
        let att = inquire(ncid, varid, &name)?;
        xtypep.set(att.ty.code());
        lenp.set(att.len);
        Ok(())
    }

    /// Returns the type.
    fn nc_inq_atttype(ncid: c_int, varid: c_int, name: TextPtr, xtypep: OutPtr<c_int>) {
        xtypep.set(inquire(ncid, varid, &name)?.ty.code());
        Ok(())
    }

    /// Returns the number of values.
    fn nc_inq_attlen(ncid: c_int, varid: c_int, name: TextPtr, lenp: OutPtr<usize>) {
        lenp.set(inquire(ncid, varid, &name)?.len);
        Ok(())
    }

    /// Returns the number of an attribute.
    fn nc_inq_attid(ncid: c_int, varid: c_int, name: TextPtr, idp: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        let (owner, name) = (node.owner(varid)?, name.att_name()?);
        let place = node.nc().inq_attid(node.group, owner, name).map_err(|error| {
            let is_computed = node.nc().inq_att(node.group, owner, name).is_ok();
            let without = || ErrorKind::AttMeta.context(format!("attribute {name} has no number"));
            if is_computed { without() } else { error }
        })?;
        idp.set(place as c_int);
        Ok(())
    }

    /// Returns the name of an attribute by number.
    fn nc_inq_attname(ncid: c_int, varid: c_int, attnum: c_int, name: NamePtr) {
        let node = table::find(ncid)?;
        let owner = node.owner(varid)?;
        let place = usize::try_from(attnum)
            .map_err(|_| ErrorKind::NotAtt.context(format!("no attribute {attnum}")))?;
        name.set(node.nc().inq_attname(node.group, owner, place)?);
        Ok(())
    }

    /// Renames an attribute.
    fn nc_rename_att(ncid: c_int, varid: c_int, name: TextPtr, newname: TextPtr) {
        let node = table::find(ncid)?;
        let (owner, name, newname) = (node.owner(varid)?, name.name()?, newname.name()?);
        // The present name is in use, as that of a dimension or variable is.
        if name == newname && node.writable && node.nc().inq_att(node.group, owner, name).is_ok() {
            return Err(ErrorKind::NameInUse.context(format!("{name:?} is the present name")));
        }
        node.edit(|nc| nc.rename_att(node.group, owner, name, newname))
    }

    /// Deletes an attribute.
    fn nc_del_att(ncid: c_int, varid: c_int, name: TextPtr) {
        let node = table::find(ncid)?;
        let (nc, owner, name) = (node.nc_to_edit()?, node.owner(varid)?, name.name()?);
        if node.writable && reserved::is_computed(&node, owner, name)? {
            return Err(ErrorKind::NotAtt.context(format!("attribute {name} is not stored")));
        }
        nc.del_att(node.group, owner, name)
    }

    /// Copies an attribute to another variable, group or dataset.
    fn nc_copy_att(ncid_in: c_int, varid_in: c_int, name: TextPtr, ncid_out: c_int, varid_out: c_int) {
        let (from, to) = (table::find(ncid_in)?, table::find(ncid_out)?);
        let source = AttOwner { group: from.group, var: from.owner(varid_in)? };
        let target = AttOwner { group: to.group, var: to.owner(varid_out)? };
        let name = name.att_name()?;
        let (values, _) = from.nc().get_att(source.group, source.var, name, None)?;
        let copy = |nc: &dyn Dataset| copy_att(from.nc(), source, name, nc, target);
        if put::fits_in_place(&to, target.var, name, &values)? { to.edit_in_place(copy) } else { to.edit(copy) }
    }
}

fn inquire(ncid: c_int, varid: c_int, name: &TextPtr) -> Result<AttInquiry> {
    let node = table::find(ncid)?;
    node.nc().inq_att(node.group, node.owner(varid)?, name.name()?)
}
