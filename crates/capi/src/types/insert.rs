//! Parts of user-defined types. As in netCDF-C, a type is final when it is stored, not when it is used.

use nczarr::dispatch::FormatX;
use nczarr::model::{Edit, Model, TypeId};
use nczarr::nc_table::NcDispatch as _;
use nczarr::{ErrorKind, NcType, Result, Values};

use crate::open_file::Node;

/// Adds a field or a member.
pub fn insert(node: &Node, id: TypeId, edit: &Edit<'_>) -> Result<()> {
    let ty = NcType::User(id);
    if node.writable && node.user.is_none() && node.is_stored_type(ty) {
        return Err(ErrorKind::TypDefined.context("the type is stored"));
    }
    match node.nc_to_edit()?.edit(edit) {
        // The model refuses a type that a variable has. Elements do not exist yet.
        Err(error) if error.kind() == ErrorKind::TypDefined && node.formatx == FormatX::Hdf5 => {
            node.nc().model().change(|model| {
                if has_values(model, ty) {
                    return Err(error);
                }
                let mut types = model.types_only();
                types.apply(edit)?;
                *model.user_type_mut(id)? = types.user_type(id)?.clone();
                Ok(())
            })
        }
        outcome => outcome.map(drop),
    }
}

/// Whether an attribute has values of a type.
fn has_values(model: &Model, ty: NcType) -> bool {
    let is_one = |values: &Values| values.nc_type() == ty;
    model.groups().any(|(_, group)| group.atts.values().any(is_one))
        || model.vars().any(|(_, var)| var.atts.values().any(is_one))
}
