//! Define mode, and the single path of all edits.
//!
//! A new dataset is in define mode, an opened one in data mode. In the enhanced model an edit enters define
//! mode and a write leaves it. In the classic model only `redef` and `_enddef` do so. `abort` restores the
//! state at `redef` or at the first edit.

use std::sync::Arc;

use nczarr_model::{
    Defined, Edit, Error, ErrorKind, FillMode, GroupId, Model, Result, TypeId, Values, VarId,
};

use nczarr_dispatch::{Dataset, Editor, Format, HeaderPadding, Registry};
use nczarr_runtime::trace;

pub(crate) fn redef<D: Dataset + ?Sized>(dataset: &D) -> Result<()> {
    if dataset.model().is_defining() {
        return Err(ErrorKind::InDefine.context("redef: the dataset is in define mode"));
    }
    if !dataset.info().writable {
        return Err(ErrorKind::Perm.context("redef: the dataset is read-only"));
    }
    dataset.model().begin();
    Ok(())
}

pub(crate) fn enddef<D: Dataset + ?Sized>(dataset: &D, spacing: HeaderPadding) -> Result<()> {
    if !dataset.model().is_defining() {
        return Err(ErrorKind::NotInDefine.context("enddef: the dataset is in data mode"));
    }
    commit(dataset, |editor| editor.commit(spacing))
}

fn commit<D: Dataset + ?Sized>(dataset: &D, store: impl FnOnce(&dyn Editor) -> Result<()>) -> Result<()> {
    trace::timed("enddef", &|| dataset.info().driver.to_owned(), || store(dataset.editor()?))?;
    dataset.model().end();
    Ok(())
}

/// Ends define mode before data are written, if the dataset is in define mode.
///
/// A netCDF-4 file may store the metadata later ([`Editor::commit_before_data`]).
///
/// # Errors
/// `NC_EINDEFINE` in the classic model, where only the caller changes the mode; errors of the storage.
pub fn to_data_mode<D: Dataset + ?Sized>(dataset: &D) -> Result<()> {
    if !dataset.model().is_defining() {
        return Ok(());
    }
    if is_classic(dataset) {
        return Err(ErrorKind::InDefine.context("the classic-model dataset is in define mode"));
    }
    // If another thread ended define mode meanwhile, nothing is left to commit.
    commit(dataset, |editor| editor.commit_before_data())
}

pub(crate) fn set_fill<D: Dataset + ?Sized>(dataset: &D, mode: FillMode) -> Result<FillMode> {
    let edit = Edit::SetFill { mode };
    dataset.editor()?.admit(&edit)?;
    let old = dataset.model().snapshot().fill_mode;
    dataset.model().apply(&edit)?;
    Ok(old)
}

pub(crate) fn edit<D: Dataset + ?Sized>(dataset: &D, edit: &Edit<'_>) -> Result<Defined> {
    trace::timed(name_of(edit), &|| dataset.info().driver.to_owned(), || {
        check_mode(dataset, edit)?;
        if matches!(edit, Edit::RenameDim { .. } | Edit::RenameVar { .. } | Edit::RenameGroup { .. }) {
            // A format may move stored data before the model changes, so the model must accept the edit
            // afterwards.
            dataset.model().snapshot().check_rename(edit)?;
        }
        dataset.editor()?.apply(edit)
    })
}

pub(crate) fn edit_att<D: Dataset + ?Sized>(
    dataset: &D,
    group: GroupId,
    var: Option<VarId>,
    name: &str,
    values: &mut Values,
) -> Result<()> {
    trace::timed("put_att", &|| dataset.info().driver.to_owned(), || {
        check_mode(dataset, &Edit::PutAtt { group, var, name, values })?;
        dataset.editor()?.apply_att(group, var, name, values)
    })
}

/// Checks that an edit is possible in the current mode.
fn check_mode<D: Dataset + ?Sized>(dataset: &D, edit: &Edit<'_>) -> Result<()> {
    if dataset.model().is_defining()
        || !is_classic(dataset)
        || fits_data_mode(&dataset.model().snapshot(), edit)
    {
        return Ok(());
    }
    // Read-only datasets have precedence.
    Err(if dataset.info().writable {
        ErrorKind::NotInDefine.context("the classic-model dataset is in data mode")
    } else {
        ErrorKind::Perm.context("the dataset is read-only")
    })
}

/// Whether the dataset has the classic model, where only the caller changes the mode.
fn is_classic<D: Dataset + ?Sized>(dataset: &D) -> bool {
    !matches!(dataset.info().format, Format::NetCdf4)
}

/// Whether the classic model allows an edit in data mode: one that needs no more space.
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

/// Returns the name of the dispatch table's entry for an edit.
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

/// Returns the type that an edit defined.
pub(crate) fn a_type(defined: Defined) -> Result<TypeId> {
    match defined {
        Defined::Type(ty) => Ok(ty),
        other => Err(unexpected("a type", other)),
    }
}

/// Returns the error for an edit that defined something else.
pub(crate) fn unexpected(what: &str, made: Defined) -> Error {
    ErrorKind::Internal.context(format!("{what} was to be defined, but the model made {made:?}"))
}

/// Returns the dataset's registry, or that of the process.
pub(crate) fn registry_of<D: Dataset + ?Sized>(dataset: &D) -> Result<Arc<Registry>> {
    match dataset.registry() {
        Some(registry) => Ok(Arc::clone(registry)),
        None => Registry::process_default(),
    }
}
