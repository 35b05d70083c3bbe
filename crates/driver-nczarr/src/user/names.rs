//! Names of user-defined types in documents, and the attributes that have such a type.

use nczarr_model::{Model, NcType, Result, TypeId};

use crate::flavour::nczarr_lists::{self, TYPE};
use crate::metadata::attributes::NCZARR_ARRAY;
use crate::metadata::json::{Json, ObjectMembers, Value};

/// Returns the full name of a type.
///
/// # Errors
/// A type that the model does not have.
pub(crate) fn name_of(model: &Model, id: TypeId) -> Result<String> {
    let ty = model.user_type(id)?;
    model.fqn(ty.group, &ty.name)
}

/// Returns the name of a type in documents: netCDF's word, or its full name.
pub(crate) fn type_name(model: &Model, ty: NcType) -> Result<String> {
    match ty {
        NcType::User(id) => name_of(model, id),
        atomic => Ok(atomic.name().to_owned()),
    }
}

/// Finds the user-defined type of a full name.
pub(crate) fn find(model: &Model, name: &str) -> Option<TypeId> {
    let mut rest = name.strip_prefix('/')?;
    let mut group = model.root();
    while let Some((first, below)) = rest.split_once('/') {
        group = model.group(*group.groups.get(first)?).ok()?;
        rest = below;
    }
    group.types.get(rest).copied()
}

/// Whether an NCZarr array has a user-defined type.
pub(crate) fn is_typed(attrs: &ObjectMembers<'_>) -> bool {
    attrs.get(NCZARR_ARRAY).and_then(Value::as_object).is_some_and(|keys| keys.contains_key(TYPE))
}

/// A stored attribute of a user-defined type: its name, the full name of its type, its value.
pub(crate) type TypedAttribute = (String, String, Json);

/// Returns the attributes whose recorded type is user-defined.
pub(crate) fn typed_atts(attrs: &ObjectMembers<'_>) -> Vec<TypedAttribute> {
    let Some(types) = nczarr_lists::recorded_types(attrs) else { return Vec::new() };
    let typed = |(name, ty): (&str, &Value<'_>)| {
        let ty = ty.as_str().filter(|ty| ty.starts_with('/'))?;
        Some((name.to_owned(), ty.to_owned(), attrs.get(name)?.clone().into_owned()))
    };
    types.iter().filter_map(typed).collect()
}
