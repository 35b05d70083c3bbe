//! Inquiries about a dataset.

use std::ffi::{c_char, c_int};

use nczarr::Result;
use nczarr::nc_table::{GroupInquiry, NcDispatch as _};

use crate::boundary::pointer::{NamePtr, OutPtr};
use crate::open_file::Node;
use crate::table;

/// The version of netCDF's interface, which programs compare, and that of this library.
const VERSION: &str = concat!("4.10.1 of nczarr ", env!("CARGO_PKG_VERSION"), "\0");

export_value!("nc_inq_libvers", () -> *const c_char, VERSION.as_ptr().cast());

c_functions! {
    /// Returns the numbers of objects of a group, and its unlimited dimension.
    fn nc_inq(
        ncid: c_int, ndimsp: OutPtr<c_int>, nvarsp: OutPtr<c_int>, nattsp: OutPtr<c_int>,
        unlimdimidp: OutPtr<c_int>,
    ) {
        let numbers = numbers(ncid)?;
        ndimsp.set(numbers.ndims as c_int);
        nvarsp.set(numbers.nvars as c_int);
        nattsp.set(numbers.natts as c_int);
        unlimdimidp.set(unlimited(&numbers));
        Ok(())
    }

    /// Returns the number of dimensions of a group.
    fn nc_inq_ndims(ncid: c_int, ndimsp: OutPtr<c_int>) {
        ndimsp.set(numbers(ncid)?.ndims as c_int);
        Ok(())
    }

    /// Returns the number of variables of a group.
    fn nc_inq_nvars(ncid: c_int, nvarsp: OutPtr<c_int>) {
        nvarsp.set(numbers(ncid)?.nvars as c_int);
        Ok(())
    }

    /// Returns the number of attributes of a group.
    fn nc_inq_natts(ncid: c_int, nattsp: OutPtr<c_int>) {
        nattsp.set(numbers(ncid)?.natts as c_int);
        Ok(())
    }

    /// Returns the first unlimited dimension of a group, or -1.
    fn nc_inq_unlimdim(ncid: c_int, unlimdimidp: OutPtr<c_int>) {
        unlimdimidp.set(unlimited(&numbers(ncid)?));
        Ok(())
    }

    /// Returns the unlimited dimensions of a group.
    fn nc_inq_unlimdims(ncid: c_int, nunlimdimsp: OutPtr<c_int>, unlimdimidsp: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        let dims = node.nc().inq_unlimdims(node.group)?;
        nunlimdimsp.set(dims.len() as c_int);
        unlimdimidsp.set_all(dims.iter().map(|dim| dim.0 as c_int));
        Ok(())
    }

    /// Returns the data model.
    fn nc_inq_format(ncid: c_int, formatp: OutPtr<c_int>) {
        if let Some(user) = &table::find_file(ncid)?.1.user {
            return user.inq_format(formatp);
        }
        formatp.set(table::find(ncid)?.format.code());
        Ok(())
    }

    /// Returns the implementation, and the mode flags.
    fn nc_inq_format_extended(ncid: c_int, formatp: OutPtr<c_int>, modep: OutPtr<c_int>) {
        if let Some(user) = &table::find_file(ncid)?.1.user {
            return user.inq_format_extended(formatp, modep);
        }
        let node = table::find(ncid)?;
        formatp.set(node.formatx.code());
        modep.set(node.mode);
        Ok(())
    }

    /// Returns the path of a dataset.
    fn nc_inq_path(ncid: c_int, pathlen: OutPtr<usize>, path: NamePtr) {
        let (_, file) = table::find_file(ncid)?;
        pathlen.set(file.path.len());
        path.set(&file.path);
        Ok(())
    }
}

fn numbers(ncid: c_int) -> Result<GroupInquiry> {
    let node: Node = table::find(ncid)?;
    node.nc().inq(node.group)
}

fn unlimited(numbers: &GroupInquiry) -> c_int {
    numbers.unlimdim.map_or(-1, |dim| dim.0 as c_int)
}
