//! User-defined types in NCZarr, V2 and V3.
//!
//! Groups define types in `_nczarr_group` (`definitions`); arrays and attributes refer to them by full names.
//! `encoding` chooses a storage that readers without NCZarr support can open: enums as integers, opaque types
//! as raw bytes, compounds as records, vlens as `vlen-bytes`. `present` gives a loaded array its type;
//! `attributes` converts attributes.
//!
//! Source: `docs/nczarr-types.md`.

mod attributes;
mod codec;
mod definitions;
mod encoding;
mod present;

pub(crate) use attributes::{check as check_att, read as read_att, write as write_att};
pub(crate) use definitions::{MAX_MEMBERS, define, write as write_defs};
pub(crate) use encoding::{ElementEncoding, MAX_SIZE};
pub(crate) use present::{new_encoding, present, present_atts, stored_fill};

use nczarr_model::{Model, NcType, Result, TypeId};

use crate::flavour::nczarr_lists;
use crate::metadata::attributes::NCZARR_ARRAY;
use crate::metadata::json::ObjectMembers;
use crate::metadata::json::{Json, Value};

/// The member of an array's keys that names its type.
pub(crate) const TYPE: &str = "type";

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
