//! Decides which edits a netCDF-4 file can hold. These rules add to those of the model, and apply before
//! anything changes.

use nczarr_dispatch::VarData as _;
use nczarr_model::{DimId, Edit, ErrorKind, FILL_VALUE, GroupId, Model, NcType, Result, Values, VarId, name};

use super::dataset::{VarSlot, WritableDataset};
use super::netcdf::{NON_COORDINATE, PROPERTIES, RESERVED, STRICT};
use super::{nul_check, plan};

/// The error for an edit of a variable that has data.
#[derive(Clone, Copy)]
enum LateEdit {
    Layout,
    Fill,
}

impl WritableDataset {
    /// Checks whether the file can hold the edit, then calls `then`. Other threads see both as one step.
    ///
    /// As in netCDF-C, an attribute may get or lose the name `_FillValue` after data were written, because
    /// HDF5 stores the fill value elsewhere. `then` receives the variable whose stored fill value must stay
    /// in that case.
    pub(super) fn admit_and<T>(
        &self,
        edit: &Edit<'_>,
        then: impl FnOnce(Option<VarId>) -> Result<T>,
    ) -> Result<T> {
        self.check_open()?;
        let mut vars = self.write_vars();
        // A concurrent close writes only earlier edits, so later ones are refused.
        self.check_open()?;
        let model = self.model.snapshot();
        if self.classic_model {
            classic(&model, edit)?;
        }
        let mut relayout = |id: VarId, late: LateEdit| {
            if discard_layout(&mut vars, &model, id)? {
                return Ok(());
            }
            let kind = match late {
                LateEdit::Layout => ErrorKind::LateDef,
                LateEdit::Fill => ErrorKind::LateFill,
            };
            Err(kind.context("data were written already").at(model.var_path(id)?))
        };
        let mut fixed_fill = None;
        match *edit {
            Edit::DefDim { group, name, .. } => self::new_dim(&model, group, name)?,
            Edit::RenameDim { dim, name } => self::new_dim(&model, model.dim(dim)?.group, name)?,
            Edit::DefVar { name, dims, .. } => {
                check_var_name(name)?;
                plan::check_rank(dims.len()).map_err(|error| error.at(name))?;
                // netCDF-C stores such a variable, although nothing can be written to it.
                if !self.shared.options.netcdf_c_rules {
                    check_elements(&model, dims).map_err(|error| error.at(name))?;
                }
            }
            Edit::RenameVar { name, .. } => check_var_name(name)?,
            Edit::DefGroup { parent, name } => new_object(&model, parent, name)?,
            Edit::RenameGroup { group, name } => {
                if let Some(parent) = model.group(group)?.parent {
                    new_object(&model, parent, name)?;
                }
            }
            Edit::DefCompound { group, name, .. }
            | Edit::DefVlen { group, name, .. }
            | Edit::DefEnum { group, name, .. }
            | Edit::DefOpaque { group, name, .. } => new_object(&model, group, name)?,
            Edit::PutAtt { var, name, values, .. } => {
                let name = &*name::nfc(name);
                check_att_name(name)?;
                if let Some(id) = var.filter(|_| name == FILL_VALUE)
                    && model.var(id)?.atts.get(name) != Some(values)
                {
                    relayout(id, LateEdit::Fill)?;
                }
                check_values(values).map_err(|error| error.at(name))?;
                nul_check::check(&model, name, values)?;
            }
            Edit::RenameAtt { var, name, to, .. } => {
                check_att_name(&name::nfc(to))?;
                if let Some(id) =
                    var.filter(|_| [name, to].iter().any(|name| *name::nfc(name) == *FILL_VALUE))
                {
                    fixed_fill = (!discard_layout(&mut vars, &model, id)?).then_some(id);
                }
            }
            Edit::DelAtt { var: Some(id), name, .. } if *name::nfc(name) == *FILL_VALUE => {
                fixed_fill = (!discard_layout(&mut vars, &model, id)?).then_some(id);
            }
            Edit::DefVarFill { var, value, .. } => {
                value.map_or(Ok(()), |value| nul_check::check(&model, FILL_VALUE, value))?;
                relayout(var, LateEdit::Fill)?;
            }
            Edit::DefVarUnwritten { var, value } => {
                nul_check::check(&model, FILL_VALUE, value)?;
                if model.var(var)?.atts.contains_key(FILL_VALUE) {
                    return Err(ErrorKind::Inval
                        .context("the attribute _FillValue defines the value of unwritten elements"));
                }
                relayout(var, LateEdit::Fill)?;
            }
            Edit::DefVarShards { shards: Some(_), .. } => {
                return Err(ErrorKind::NotNc4.context("shards: HDF5 does not support them; use Zarr V3"));
            }
            Edit::DefVarFilter { var, filter } => {
                plan::instance(filter, &self.shared.registry)?;
                relayout(var, LateEdit::Layout)?;
            }
            Edit::DefVarFilters { var, filters } => {
                for filter in filters {
                    plan::instance(filter, &self.shared.registry)?;
                }
                relayout(var, LateEdit::Layout)?;
            }
            Edit::DefVarChunking { var, .. }
            | Edit::DefVarEndian { var, .. }
            | Edit::DefVarQuantize { var, .. } => relayout(var, LateEdit::Layout)?,
            _ => {}
        }
        // An edit copies the model while a snapshot shares it.
        drop(model);
        then(fixed_fill)
    }
}

/// Discards the layout of a variable, so that it is planned again. Returns `false` if there are data.
fn discard_layout(vars: &mut [VarSlot], model: &Model, id: VarId) -> Result<bool> {
    model.var(id)?;
    let Some(slot) = vars.get_mut(id.index()) else { return Ok(true) };
    if let Some(data) = &slot.data {
        if !data.retire() {
            return Ok(false);
        }
        slot.cache = Some(data.chunk_cache());
    }
    slot.data = None;
    Ok(true)
}

/// Checks the name of a dimension. A dimension without a variable is an HDF5 object of its group, like a
/// group or a type.
fn new_dim(model: &Model, group: GroupId, name: &str) -> Result<()> {
    let (name, group) = (name::nfc(name), model.group(group)?);
    if group.groups.contains_key(&*name) || group.types.contains_key(&*name) {
        Err(ErrorKind::NameInUse.context(format!("dimension {name:?}: a group or type has this name")))
    } else {
        Ok(())
    }
}

fn new_object(model: &Model, group: GroupId, name: &str) -> Result<()> {
    let name = name::nfc(name);
    if model.group(group)?.dims.contains_key(&*name) {
        Err(ErrorKind::NameInUse.context(format!("{name:?}: a dimension has this name")))
    } else {
        Ok(())
    }
}

/// Refuses a variable whose elements a reader cannot count: `NC_EVARSIZE`.
fn check_elements(model: &Model, dims: &[DimId]) -> Result<()> {
    let lens = dims.iter().map(|&dim| model.dim(dim).map(|dim| dim.len().max(1)));
    let lens = lens.collect::<Result<Vec<_>>>()?;
    if lens.iter().try_fold(1u64, |all, &len| all.checked_mul(len)).is_none() {
        let what = format!("shape {lens:?} has too many elements (expected less than 2^64)");
        return Err(ErrorKind::VarSize.context(what));
    }
    Ok(())
}

/// Refuses a variable name that would be read as another name.
fn check_var_name(name: &str) -> Result<()> {
    if name.starts_with(NON_COORDINATE) {
        Err(ErrorKind::BadName.context(format!("{name:?}: the prefix {NON_COORDINATE} is reserved")))
    } else {
        Ok(())
    }
}

/// Refuses attribute names that netCDF hides.
fn check_att_name(name: &str) -> Result<()> {
    if RESERVED.contains(&name) || [PROPERTIES, STRICT].contains(&name) {
        Err(ErrorKind::NameInUse.context(format!("attribute {name}: the name is reserved")))
    } else {
        Ok(())
    }
}

/// Refuses values whose length does not fit in 32 bits.
fn check_values(values: &Values) -> Result<()> {
    match u32::try_from(values.len()) {
        Ok(_) => Ok(()),
        Err(_) => Err(ErrorKind::Inval.context(format!("attribute: {} values are too many", values.len()))),
    }
}

/// Refuses edits that the classic model does not allow.
fn classic(model: &Model, edit: &Edit<'_>) -> Result<()> {
    let strict =
        |what: &str| Err(ErrorKind::StrictNc3.context(format!("{what}: not allowed in the classic model")));
    let unlimited = |id: DimId| model.dim(id).is_ok_and(|dim| dim.unlimited);
    match *edit {
        Edit::DefGroup { name, .. }
        | Edit::DefCompound { name, .. }
        | Edit::DefVlen { name, .. }
        | Edit::DefEnum { name, .. }
        | Edit::DefOpaque { name, .. } => strict(name),
        Edit::DefVar { name, xtype, .. } if xtype.code() > NcType::Double.code() => {
            strict(&format!("variable {name} of type {}", xtype.name()))
        }
        Edit::PutAtt { name, values, .. } if values.nc_type().code() > NcType::Double.code() => {
            strict(&format!("attribute {name} of type {}", values.nc_type().name()))
        }
        Edit::DefDim { name, len: None | Some(0), .. } if model.dims().any(|(id, _)| unlimited(id)) => {
            let what = format!("dimension {name}: the classic model allows only one unlimited dimension");
            Err(ErrorKind::Unlimit.context(what))
        }
        _ => Ok(()),
    }
}
