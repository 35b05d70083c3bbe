//! Decides from the definitions whether a text needs the netCDF-4 model.

use nczarr_model::NcType;

use super::layout::{SpecialLayout, is_special_of_dataset};
use super::tree::{AttDef, GroupDef, TypeRef};
use super::{types, values};

/// Whether a dataset needs the netCDF-4 model.
pub(super) fn netcdf4(root: &GroupDef) -> bool {
    let is_unlimited = |path: &[String]| {
        let name = path.last();
        root.dims.iter().any(|dim| dim.len.is_none() && Some(&dim.name) == name)
    };
    !root.groups.is_empty()
        || !root.types.is_empty()
        || root.dims.iter().filter(|dim| dim.len.is_none()).count() > 1
        || root
            .vars
            .iter()
            .any(|var| !is_classic(&var.ty) || var.dims.iter().skip(1).any(|dim| is_unlimited(dim)))
        || root.atts.iter().any(attribute)
}

/// Whether an attribute needs it.
fn attribute(att: &AttDef) -> bool {
    match (&att.var, &att.ty) {
        (None, None) if is_special_of_dataset(&att.name) => att.name != "_Format",
        // An invalid value is reported when it is read.
        (Some(_), None) if SpecialLayout::default().take(&att.name, &att.values).unwrap_or(true) => true,
        // A fill value has its variable's type.
        (Some(_), None) if att.name == "_FillValue" => false,
        (_, Some(ty)) => !is_classic(ty),
        (_, None) => !classic(values::common_type(&att.values)),
    }
}

fn is_classic(ty: &TypeRef) -> bool {
    matches!(&ty.path[..], [word] if types::atomic(word).is_some_and(classic))
}

fn classic(ty: NcType) -> bool {
    matches!(ty, NcType::Byte | NcType::Char | NcType::Short | NcType::Int | NcType::Float | NcType::Double)
}
