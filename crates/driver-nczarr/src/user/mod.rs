//! User-defined types in NCZarr, V2 and V3.
//!
//! Groups define them in `_nczarr_group` (`defs`), arrays and attributes name theirs by its full name. How elements are
//! stored is chosen so that readers who know nothing of this open the arrays (`form`): enums as their integers, opaque
//! ones as raw bytes, compounds as records, vlens as `vlen-array` or `vlen-bytes`. `present` gives an array that was read
//! its type; `atts` has attributes.
//!
//! Source: `docs/nczarr-types.md`, which says all of it.

mod atts;
mod codec;
mod defs;
mod form;
mod present;

pub(crate) use atts::{check as check_att, read as read_att, write as write_att};
pub(crate) use defs::{MAX_MEMBERS, define, write as write_defs};
pub(crate) use form::{Form, MAX_SIZE};
pub(crate) use present::{new_form, present, present_atts, stored_fill};

use nczarr_model::{Model, NcType, Result, TypeId};

use crate::attrs::NCZARR_ARRAY;
use crate::json::Members;
use crate::json::{Json, Value};
use crate::lists;

/// The member of an array's keys that names its type.
pub(crate) const TYPE: &str = "type";

/// The full name of a type.
///
/// # Errors
/// A type that the model does not have.
pub(crate) fn name_of(model: &Model, id: TypeId) -> Result<String> {
    let ty = model.user_type(id)?;
    model.fqn(ty.group, &ty.name)
}

/// The name under which a type stands in documents: netCDF's word, or its full name.
pub(crate) fn type_name(model: &Model, ty: NcType) -> Result<String> {
    match ty {
        NcType::User(id) => name_of(model, id),
        atomic => Ok(atomic.name().to_owned()),
    }
}

/// The user-defined type of a full name.
pub(crate) fn find(model: &Model, name: &str) -> Option<TypeId> {
    let mut rest = name.strip_prefix('/')?;
    let mut group = model.root();
    while let Some((first, below)) = rest.split_once('/') {
        group = model.group(*group.groups.get(first)?).ok()?;
        rest = below;
    }
    group.types.get(rest).copied()
}

/// Whether an array of NCZarr has a user-defined type.
pub(crate) fn is_typed(attrs: &Members<'_>) -> bool {
    attrs.get(NCZARR_ARRAY).and_then(Value::as_object).is_some_and(|keys| keys.contains_key(TYPE))
}

/// An attribute of a user-defined type, as it is stored: its name, the full name of its type, its value.
pub(crate) type Typed = (String, String, Json);

/// The attributes whose recorded type is a user-defined one.
pub(crate) fn typed_atts(attrs: &Members<'_>) -> Vec<Typed> {
    let Some(types) = lists::recorded_types(attrs) else { return Vec::new() };
    let typed = |(name, ty): (&str, &Value<'_>)| {
        let ty = ty.as_str().filter(|ty| ty.starts_with('/'))?;
        Some((name.to_owned(), ty.to_owned(), attrs.get(name)?.clone().into_owned()))
    };
    types.iter().filter_map(typed).collect()
}
