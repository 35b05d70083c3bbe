//! Attributes, and three attributes of the root that are computed: `_NCProperties`, `_IsNetcdf4` and
//! `_SuperblockVersion`. They are read by name only, and cannot be changed.

use nczarr_model::name::nfc;
use nczarr_model::{Att, Edit, ErrorKind, GroupId, Model, NcType, Result, Values, VarId, convert};

use crate::NcDispatch;
use crate::inquire::AttInquiry;
use nczarr_dispatch::{Dataset, Format};

const PROPERTIES: &str = "_NCProperties";
const IS_NETCDF4: &str = "_IsNetcdf4";
const SUPERBLOCK: &str = "_SuperblockVersion";

pub(crate) fn check_reserved(group: GroupId, var: Option<VarId>, name: &str) -> Result<()> {
    if group == GroupId::ROOT && var.is_none() && [PROPERTIES, IS_NETCDF4, SUPERBLOCK].contains(&name) {
        return Err(
            ErrorKind::NameInUse.context(format!("attribute {name} is reserved and cannot be changed"))
        );
    }
    Ok(())
}

/// Returns the value of a reserved attribute, if the name is reserved and the dataset has it.
fn reserved<D: Dataset + ?Sized>(
    dataset: &D,
    group: GroupId,
    var: Option<VarId>,
    name: &str,
) -> Option<Values> {
    check_reserved(group, var, name).err()?;
    let info = dataset.info();
    match name {
        PROPERTIES => info.properties.as_deref().map(Values::text),
        SUPERBLOCK => info.superblock.map(|version| Values::Int(vec![version])),
        IS_NETCDF4 => {
            Some(Values::Int(vec![matches!(info.format, Format::NetCdf4 | Format::NetCdf4Classic).into()]))
        }
        _ => None,
    }
}

fn find<D: Dataset + ?Sized>(dataset: &D, group: GroupId, var: Option<VarId>, name: &str) -> Result<Values> {
    match reserved(dataset, group, var, name) {
        Some(values) => Ok(values),
        None => dataset.model().snapshot().find_att(group, var, name).cloned(),
    }
}

pub(crate) fn inquire<D: Dataset + ?Sized>(
    dataset: &D,
    group: GroupId,
    var: Option<VarId>,
    name: &str,
) -> Result<AttInquiry> {
    let values = find(dataset, group, var, name)?;
    let ty = values.nc_type();
    let len = dataset.model().snapshot().count(&values)?;
    Ok(AttInquiry { ty, len })
}

fn owner(model: &Model, group: GroupId, var: Option<VarId>) -> Result<&Att> {
    model.atts(group, var)
}

pub(crate) fn place(model: &Model, group: GroupId, var: Option<VarId>, name: &str) -> Result<usize> {
    let atts = owner(model, group, var)?;
    atts.get_index_of(name)
        .or_else(|| atts.get_index_of(&*nfc(name)))
        .ok_or_else(|| no_att(model, group, var, name))
}

pub(crate) fn name_of(model: &Model, group: GroupId, var: Option<VarId>, place: usize) -> Result<String> {
    let atts = owner(model, group, var)?;
    atts.get_index(place)
        .map(|(name, _)| name.clone())
        .ok_or_else(|| ErrorKind::NotAtt.context(format!("no attribute {place} (found {})", atts.len())))
}

fn no_att(model: &Model, group: GroupId, var: Option<VarId>, name: &str) -> nczarr_model::Error {
    match model.find_att(group, var, name) {
        Err(error) => error,
        Ok(_) => ErrorKind::Internal.context(format!("attribute {name:?} has no place")),
    }
}

pub(crate) fn get<D: Dataset + ?Sized>(
    dataset: &D,
    group: GroupId,
    var: Option<VarId>,
    name: &str,
    memtype: Option<NcType>,
) -> Result<(Values, bool)> {
    let values = find(dataset, group, var, name)?;
    match memtype {
        None => Ok((values, false)),
        Some(ty) => {
            convert::convert_values(&values, ty).map_err(|error| error.at(format_args!("attribute {name:?}")))
        }
    }
}

pub(crate) fn put<D: Dataset + ?Sized>(
    dataset: &D,
    group: GroupId,
    var: Option<VarId>,
    name: &str,
    filetype: NcType,
    values: &Values,
) -> Result<()> {
    check_reserved(group, var, name)?;
    let (values, out_of_range) = convert::convert_values(values, filetype)
        .map_err(|error| error.at(format_args!("attribute {name:?}")))?;
    dataset.edit(&Edit::PutAtt { group, var, name, values: &values })?;
    if out_of_range {
        let what = format!(
            "attribute {name:?}: a value does not fit type {}; it was stored wrapped",
            filetype.name()
        );
        return Err(ErrorKind::Range.context(what));
    }
    Ok(())
}
