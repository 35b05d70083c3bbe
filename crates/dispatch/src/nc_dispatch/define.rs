//! Define mode, and the one way every edit takes.
//!
//! A new dataset is in define mode, an opened one in data mode. In the enhanced model an edit enters define mode and a
//! write leaves it by itself; in the classic model only `redef` and `_enddef` do. What `redef` (or the first edit)
//! found is what `abort` goes back to.

use std::sync::Arc;

use nczarr_model::{Defined, Edit, Error, ErrorKind, FillMode, GroupId, Model, Result, TypeId, Values, VarId};

use crate::{Dataset, Format, Registry, Spacing, trace};

pub(super) fn redef<D: Dataset + ?Sized>(dataset: &D) -> Result<()> {
    if dataset.model().is_defining() {
        return Err(ErrorKind::InDefine.context("redef: the dataset is in define mode"));
    }
    if !dataset.info().writable {
        return Err(ErrorKind::Perm.context("redef: the dataset is read-only"));
    }
    dataset.model().begin();
    Ok(())
}

pub(super) fn enddef<D: Dataset + ?Sized>(dataset: &D, spacing: Spacing) -> Result<()> {
    if !dataset.model().is_defining() {
        return Err(ErrorKind::NotInDefine.context("enddef: the dataset is in data mode"));
    }
    commit(dataset, spacing)
}

fn commit<D: Dataset + ?Sized>(dataset: &D, spacing: Spacing) -> Result<()> {
    trace::timed("enddef", &|| dataset.info().driver.to_owned(), || dataset.commit_spaced(spacing))?;
    dataset.model().end();
    Ok(())
}

/// Leaves define mode before data are written.
pub(super) fn to_data_mode<D: Dataset + ?Sized>(dataset: &D) -> Result<()> {
    if !dataset.model().is_defining() {
        return Ok(());
    }
    if is_classic(dataset) {
        return Err(ErrorKind::InDefine.context("the classic-model dataset is in define mode"));
    }
    // Another thread may have left it meanwhile: then nothing is left to commit, which is well.
    commit(dataset, Spacing::default())
}

pub(super) fn set_fill<D: Dataset + ?Sized>(dataset: &D, mode: FillMode) -> Result<FillMode> {
    let edit = Edit::SetFill { mode };
    dataset.admit(&edit)?;
    let old = dataset.model().snapshot().fill_mode;
    dataset.model().apply(&edit)?;
    Ok(old)
}

pub(super) fn edit<D: Dataset + ?Sized>(dataset: &D, edit: &Edit<'_>) -> Result<Defined> {
    trace::timed(name_of(edit), &|| dataset.info().driver.to_owned(), || {
        check_mode(dataset, edit)?;
        if matches!(edit, Edit::RenameDim { .. } | Edit::RenameVar { .. } | Edit::RenameGroup { .. }) {
            // A format may move what is stored before the model changes: the model must not refuse afterwards.
            dataset.model().snapshot().check_rename(edit)?;
        }
        dataset.apply(edit)
    })
}

pub(super) fn edit_att<D: Dataset + ?Sized>(
    dataset: &D,
    group: GroupId,
    var: Option<VarId>,
    name: &str,
    values: &mut Values,
) -> Result<()> {
    trace::timed("put_att", &|| dataset.info().driver.to_owned(), || {
        check_mode(dataset, &Edit::PutAtt { group, var, name, values })?;
        dataset.apply_att(group, var, name, values)
    })
}

/// Whether an edit is possible in the mode that the dataset is in.
fn check_mode<D: Dataset + ?Sized>(dataset: &D, edit: &Edit<'_>) -> Result<()> {
    if dataset.model().is_defining() || !is_classic(dataset) || fits_data_mode(&dataset.model().snapshot(), edit) {
        return Ok(());
    }
    // That nothing can be changed at all comes first.
    Err(match dataset.info().writable {
        true => ErrorKind::NotInDefine.context("the classic-model dataset is in data mode"),
        false => ErrorKind::Perm.context("the dataset is read-only"),
    })
}

/// Whether the dataset has the classic model: then define mode is the caller's business alone.
fn is_classic<D: Dataset + ?Sized>(dataset: &D) -> bool {
    !matches!(dataset.info().format, Format::NetCdf4)
}

/// What the classic model allows in data mode: changes that take no more room.
fn fits_data_mode(model: &Model, edit: &Edit<'_>) -> bool {
    match *edit {
        Edit::PutAtt { group, var, name, values } => model
            .find_att(group, var, name)
            .is_ok_and(|old| old.nc_type() == values.nc_type() && values.len() <= old.len()),
        Edit::RenameDim { dim, name } => model.dim(dim).is_ok_and(|old| name.len() <= old.name.len()),
        Edit::RenameVar { var, name } => model.var(var).is_ok_and(|old| name.len() <= old.name.len()),
        Edit::RenameAtt { name, to, .. } => to.len() <= name.len(),
        _ => false,
    }
}

/// The name of the dispatch table's entry that makes an edit.
fn name_of(edit: &Edit<'_>) -> &'static str {
    match edit {
        Edit::DefDim { .. } => "def_dim",
        Edit::RenameDim { .. } => "rename_dim",
        Edit::DefVar { .. } => "def_var",
        Edit::RenameVar { .. } => "rename_var",
        Edit::DefGroup { .. } => "def_grp",
        Edit::RenameGroup { .. } => "rename_grp",
        Edit::PutAtt { .. } => "put_att",
        Edit::RenameAtt { .. } => "rename_att",
        Edit::DelAtt { .. } => "del_att",
        Edit::SetFill { .. } => "set_fill",
        Edit::DefVarFill { .. } | Edit::DefVarUnwritten { .. } => "def_var_fill",
        Edit::DefVarChunking { .. } => "def_var_chunking",
        Edit::DefVarShards { .. } => "def_var_shards",
        Edit::DefVarEndian { .. } => "def_var_endian",
        Edit::DefVarFilter { .. } | Edit::DefVarFilters { .. } => "def_var_filter",
        Edit::DefVarQuantize { .. } => "def_var_quantize",
        Edit::DefCompound { .. } => "def_compound",
        Edit::InsertField { .. } => "insert_compound",
        Edit::DefVlen { .. } => "def_vlen",
        Edit::DefEnum { .. } => "def_enum",
        Edit::InsertEnum { .. } => "insert_enum",
        Edit::DefOpaque { .. } => "def_opaque",
        _ => "edit",
    }
}

/// The type an edit made.
pub(super) fn a_type(defined: Defined) -> Result<TypeId> {
    match defined {
        Defined::Type(ty) => Ok(ty),
        other => Err(unexpected("a type", other)),
    }
}

/// The error for an edit that made something else than it says.
pub(super) fn unexpected(what: &str, made: Defined) -> Error {
    ErrorKind::Internal.context(format!("{what} was to be defined, but the model made {made:?}"))
}

/// The dataset's registry, or the process's.
pub(super) fn registry_of<D: Dataset + ?Sized>(dataset: &D) -> Result<Arc<Registry>> {
    match dataset.registry() {
        Some(registry) => Ok(Arc::clone(registry)),
        None => Registry::process_default(),
    }
}
