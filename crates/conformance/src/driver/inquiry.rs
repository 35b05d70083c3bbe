//! Checks inquiries: every list, name and id agrees with every other.

use nczarr_dispatch::Dataset;
use nczarr_model::{ErrorKind, GroupId, NcType, Values, VarId};
use nczarr_nc_table::NcDispatch;

use crate::failure::{Outcome, fails, holds, ok, same};

const ODD: &str = "no such name, surely";

pub(super) fn check(dataset: &dyn Dataset) -> Outcome {
    let model = dataset.model().snapshot();
    let info = dataset.info();
    holds("a dataset names its driver", !info.driver.is_empty())?;
    same("inq_format agrees with info", info.format, ok("inq_format", dataset.inq_format())?)?;
    same("inq_format_extended agrees with info", info.formatx, ok("inq", dataset.inq_format_extended())?.0)?;
    holds("show_metadata is not empty", !ok("show_metadata", dataset.show_metadata())?.is_empty())?;
    let (mut groups, mut vars, mut dims) = (0, 0, 0);
    for (id, group) in model.groups() {
        let path = ok("inq_grpname_full", dataset.inq_grpname_full(id))?;
        groups += 1;
        vars += group.vars.len();
        dims += group.dims.len();
        check_group(dataset, id, &path)?;
        for (name, &child) in &group.groups {
            same(
                format!("{path}: inq_ncid of {name:?}"),
                child,
                ok("inq_ncid", dataset.inq_ncid(id, name))?,
            )?;
            same(format!("{path}: parent of {name:?}"), id, ok("parent", dataset.inq_grp_parent(child))?)?;
            same(format!("{path}: name of {name:?}"), name, &ok("inq_grpname", dataset.inq_grpname(child))?)?;
        }
        let children = ok("inq_grps", dataset.inq_grps(id))?;
        same(format!("{path}: inq_grps"), group.groups.values().copied().collect(), children)?;
    }
    fails("the root has no parent", &[ErrorKind::NoGrp], dataset.inq_grp_parent(GroupId::ROOT))?;
    same("every group is found from the root", model.groups().len(), groups)?;
    same("every variable is in a group", model.vars().len(), vars)?;
    same("every dimension is in a group", model.dims().len(), dims)
}

fn check_group(dataset: &dyn Dataset, id: GroupId, path: &str) -> Outcome {
    let glance = ok("inq", dataset.inq(id))?;
    let vars = ok("inq_varids", dataset.inq_varids(id))?;
    let dims = ok("inq_dimids", dataset.inq_dimids(id, false))?;
    same(format!("{path}: number of variables"), glance.nvars, vars.len())?;
    same(format!("{path}: number of dimensions"), glance.ndims, dims.len())?;
    let unlimited = ok("inq_unlimdims", dataset.inq_unlimdims(id))?;
    same(format!("{path}: the first unlimited dimension"), glance.unlimdim, unlimited.first().copied())?;
    for dim in dims {
        let inquiry = ok("inq_dim", dataset.inq_dim(dim))?;
        let name = &inquiry.name;
        same(format!("{path}: inq_dimid of {name:?}"), dim, ok("inq_dimid", dataset.inq_dimid(id, name))?)?;
        same(format!("{path}: {name:?} is unlimited"), inquiry.unlimited, unlimited.contains(&dim))?;
    }
    check_atts(dataset, id, None, glance.natts, path)?;
    for var in vars {
        let inquiry = ok("inq_var_all", dataset.inq_var_all(var))?;
        let name = &inquiry.name;
        same(format!("{path}: inq_varid of {name:?}"), var, ok("inq_varid", dataset.inq_varid(id, name))?)?;
        for &dim in &inquiry.dims {
            ok(format!("{path}: a dimension of {name:?}"), dataset.inq_dim(dim))?;
        }
        ok(format!("{path}: the type of {name:?}"), dataset.inq_type(inquiry.xtype))?;
        check_atts(dataset, id, Some(var), inquiry.natts, &format!("{path}: {name}"))?;
    }
    for ty in ok("inq_typeids", dataset.inq_typeids(id))? {
        let (name, _) = ok("inq_type", dataset.inq_type(NcType::User(ty)))?;
        let found = ok("inq_typeid", dataset.inq_typeid(id, &name))?;
        same(format!("{path}: inq_typeid of {name:?}"), NcType::User(ty), found)?;
    }
    fails(format!("{path}: an unknown dimension"), &[ErrorKind::BadDim], dataset.inq_dimid(id, ODD))?;
    fails(format!("{path}: an unknown variable"), &[ErrorKind::NotVar], dataset.inq_varid(id, ODD))?;
    fails(format!("{path}: an unknown group"), &[ErrorKind::NoGrp], dataset.inq_ncid(id, ODD))?;
    fails(format!("{path}: an unknown attribute"), &[ErrorKind::NotAtt], dataset.inq_att(id, None, ODD))
}

fn check_atts(
    dataset: &dyn Dataset,
    group: GroupId,
    var: Option<VarId>,
    count: usize,
    path: &str,
) -> Outcome {
    for place in 0..count {
        let name = ok("inq_attname", dataset.inq_attname(group, var, place))?;
        let what = format!("{path}: attribute {name:?}");
        same(format!("{what}: inq_attid"), place, ok("inq_attid", dataset.inq_attid(group, var, &name))?)?;
        let inquiry = ok("inq_att", dataset.inq_att(group, var, &name))?;
        let (values, lossy) = ok(&what, dataset.get_att(group, var, &name, None))?;
        same(format!("{what}: its type"), inquiry.ty, values.nc_type())?;
        same(format!("{what} fits its own type"), false, lossy)?;
        if inquiry.ty.is_atomic() {
            same(format!("{what}: its length"), inquiry.len, values.len())?;
        }
    }
    fails(
        format!("{path}: attribute {count} of {count}"),
        &[ErrorKind::NotAtt],
        dataset.inq_attname(group, var, count),
    )
}

/// Checks that a read-only dataset stays unchanged.
pub(super) fn refuses_changes(dataset: &dyn Dataset) -> Outcome {
    let perm = &[ErrorKind::Perm];
    let root = GroupId::ROOT;
    let before = ok("show_metadata", dataset.show_metadata())?;
    fails("redef of a read-only dataset", perm, dataset.redef())?;
    fails("def_dim in a read-only dataset", perm, dataset.def_dim(root, "new_dim", Some(3)))?;
    fails("def_var in a read-only dataset", perm, dataset.def_var(root, "new_var", NcType::Int, &[]))?;
    fails("def_grp in a read-only dataset", perm, dataset.def_grp(root, "new_group"))?;
    let text = Values::text("x");
    fails(
        "put_att in a read-only dataset",
        perm,
        dataset.put_att(root, None, "new_att", NcType::Char, &text),
    )?;
    let model = dataset.model().snapshot();
    for (id, var) in model.vars().take(3) {
        let name = &var.name;
        fails(format!("renaming {name:?} in a read-only dataset"), perm, dataset.rename_var(id, "other"))?;
    }
    same("a refused change changes nothing", before, ok("show_metadata", dataset.show_metadata())?)?;
    same("a refused redef starts nothing", false, dataset.model().is_defining())
}
