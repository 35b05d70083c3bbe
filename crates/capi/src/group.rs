//! Groups.

use std::ffi::c_int;

use nczarr::model::GroupId;
use nczarr::nc_table::NcDispatch as _;
use nczarr::{ErrorKind, Result};

use crate::boundary::pointer::{NamePtr, OutPtr, TextPtr};
use crate::open_file::Node;
use crate::table;

c_functions! {
    /// Defines a group.
    fn nc_def_grp(ncid: c_int, name: TextPtr, new_ncid: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        node.check_not_cdf()?;
        let group = node.nc_to_edit()?.def_grp(node.group, name.name()?)?;
        new_ncid.set(node.id_of(group));
        Ok(())
    }

    /// Renames a group.
    fn nc_rename_grp(ncid: c_int, name: TextPtr) {
        let node = table::find(ncid)?;
        node.check_not_cdf()?;
        node.nc_to_edit()?.rename_grp(node.group, name.name()?)
    }

    /// Finds a group by name. A classic file has only its root, under any name.
    fn nc_inq_ncid(ncid: c_int, name: TextPtr, grp_ncid: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        grp_ncid.set(child(&node, ncid, &name)?);
        Ok(())
    }

    /// Finds a group by name, which is no path.
    fn nc_inq_grp_ncid(ncid: c_int, grp_name: TextPtr, grp_ncid: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        if grp_name.bytes().is_some_and(|name| name.contains(&b'/')) {
            return Err(ErrorKind::BadName.context("the name of a group is no path"));
        }
        grp_ncid.set(child(&node, ncid, &grp_name)?);
        Ok(())
    }

    /// Finds a group by its path.
    fn nc_inq_grp_full_ncid(ncid: c_int, full_name: TextPtr, grp_ncid: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        // A path is relative to the group, even with a slash at its beginning.
        let path = full_name.name()?.trim_start_matches('/');
        if path.is_empty() && node.group != GroupId::ROOT {
            return Err(ErrorKind::NoGrp.context("the root lies in no group"));
        }
        let group =
            if path.is_empty() { node.group } else { node.nc().inq_grp_full_ncid(node.group, path)? };
        grp_ncid.set(node.id_of(group));
        Ok(())
    }

    /// Returns the child groups.
    fn nc_inq_grps(ncid: c_int, numgrps: OutPtr<c_int>, ncids: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        let groups = node.nc().inq_grps(node.group)?;
        numgrps.set(groups.len() as c_int);
        ncids.set_all(groups.iter().map(|&group| node.id_of(group)));
        Ok(())
    }

    /// Returns the name of a group.
    fn nc_inq_grpname(ncid: c_int, name: NamePtr) {
        let node = table::find(ncid)?;
        name.set(node.nc().inq_grpname(node.group)?);
        Ok(())
    }

    /// Returns the path of a group and its length.
    fn nc_inq_grpname_full(ncid: c_int, lenp: OutPtr<usize>, full_name: NamePtr) {
        let node = table::find(ncid)?;
        let path = node.nc().inq_grpname_full(node.group)?;
        lenp.set(path.len());
        full_name.set(path);
        Ok(())
    }

    /// Returns the length of the path of a group.
    fn nc_inq_grpname_len(ncid: c_int, lenp: OutPtr<usize>) {
        let node = table::find(ncid)?;
        lenp.set(node.nc().inq_grpname_full(node.group)?.len());
        Ok(())
    }

    /// Returns the parent of a group.
    fn nc_inq_grp_parent(ncid: c_int, parent_ncid: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        parent_ncid.set(node.id_of(node.nc().inq_grp_parent(node.group)?));
        Ok(())
    }

    /// Returns the variables of a group.
    fn nc_inq_varids(ncid: c_int, nvars: OutPtr<c_int>, varids: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        let count = node.nc().inq(node.group)?.nvars as c_int;
        nvars.set(count);
        varids.set_all(0..count);
        Ok(())
    }

    /// Returns the dimensions of a group, and of its ancestors if asked for.
    fn nc_inq_dimids(ncid: c_int, ndims: OutPtr<c_int>, dimids: OutPtr<c_int>, include_parents: c_int) {
        let node = table::find(ncid)?;
        let dims = node.nc().inq_dimids(node.group, include_parents != 0)?;
        ndims.set(dims.len() as c_int);
        dimids.set_all(dims.iter().map(|dim| dim.0 as c_int));
        Ok(())
    }
}

fn child(node: &Node, ncid: c_int, name: &TextPtr) -> Result<c_int> {
    if node.is_cdf() {
        return Ok(ncid);
    }
    Ok(node.id_of(node.nc().inq_ncid(node.group, name.name()?)?))
}
