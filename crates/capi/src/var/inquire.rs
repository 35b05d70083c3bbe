//! Inquiries about variables.

use std::ffi::c_int;

use nczarr::model::Var;
use nczarr::nc_table::NcDispatch as _;
use nczarr::{ErrorKind, Result};

use crate::boundary::pointer::{NamePtr, OutPtr, TextPtr};
use crate::table;

const MAX_NAME: usize = 256;

c_functions! {
    /// Finds a variable by name, in the group itself.
    fn nc_inq_varid(ncid: c_int, name: TextPtr, varidp: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        let name = name.name()?;
        if name.len() > MAX_NAME && !node.is_cdf() {
            return Err(ErrorKind::MaxName.context(format!("a name of {} bytes", name.len())));
        }
        let var = node.nc().inq_varid(node.group, name)?;
        varidp.set(node.number_of(var)?);
        Ok(())
    }

    /// Returns name, type, dimensions and the number of attributes.
    fn nc_inq_var(
        ncid: c_int, varid: c_int, name: NamePtr, xtypep: OutPtr<c_int>, ndimsp: OutPtr<c_int>,
        dimidsp: OutPtr<c_int>, nattsp: OutPtr<c_int>,
    ) {
        look(ncid, varid, |var| {
            name.set(&var.name);
            xtypep.set(var.xtype.code());
            ndimsp.set(var.dims.len() as c_int);
            dimidsp.set_all(var.dims.iter().map(|dim| dim.0 as c_int));
            nattsp.set(var.atts.len() as c_int);
        })
    }

    /// Returns the name.
    fn nc_inq_varname(ncid: c_int, varid: c_int, name: NamePtr) {
        look(ncid, varid, |var| name.set(&var.name))
    }

    /// Returns the type.
    fn nc_inq_vartype(ncid: c_int, varid: c_int, xtypep: OutPtr<c_int>) {
        look(ncid, varid, |var| xtypep.set(var.xtype.code()))
    }

    /// Returns the number of dimensions.
    fn nc_inq_varndims(ncid: c_int, varid: c_int, ndimsp: OutPtr<c_int>) {
        look(ncid, varid, |var| ndimsp.set(var.dims.len() as c_int))
    }

    /// Returns the dimensions.
    fn nc_inq_vardimid(ncid: c_int, varid: c_int, dimidsp: OutPtr<c_int>) {
        look(ncid, varid, |var| dimidsp.set_all(var.dims.iter().map(|dim| dim.0 as c_int)))
    }

    /// Returns the number of attributes of a variable, or of the group.
    fn nc_inq_varnatts(ncid: c_int, varid: c_int, nattsp: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        let owner = node.owner(varid)?;
        nattsp.set(node.look(|model| Ok(model.atts(node.group, owner)?.len() as c_int))?);
        Ok(())
    }

    /// Accepts both modes of a dataset that several processes write: no call waits for the other processes.
    fn nc_var_par_access(ncid: c_int, varid: c_int, par_access: c_int) {
        let node = table::find(ncid)?;
        let var = node.var(varid)?;
        if !matches!(par_access, 0 | 1) {
            return Err(ErrorKind::Inval.context(format!("access mode {par_access}")));
        }
        if node.is_parallel { Ok(()) } else { node.nc().var_par_access(var, par_access == 1) }
    }
}

/// Looks at a variable of the model.
fn look(ncid: c_int, varid: c_int, look: impl FnOnce(&Var)) -> Result<()> {
    let node = table::find(ncid)?;
    let var = node.var(varid)?;
    node.look(|model| model.var(var).map(look))
}
