//! An array that was read, as a variable of the user-defined type it names; and the fill value, which stands in the
//! array's document alone.

use std::collections::HashMap;

use nczarr_dispatch::{Key, Registry};
use nczarr_model::{ErrorKind, FILL_VALUE, Model, NcType, Result, TypeId, Values, Var, VarFill};

use super::codec::{Packed, reordered};
use super::form::{Builder, Form, form, integer_of, widths};
use super::{find, read_att};
use crate::displaced;
use crate::dtype::{DType, Kind};
use crate::fill::MAX_ZEROS;
use crate::lists;
use crate::record::Record;
use crate::types::NO_TYPE;
use crate::var::Stored;

use nczarr_dispatch::ZarrFormat;

/// Gives a variable its type: the name of it that is stored, and what was found under it.
///
/// # Errors
/// `NC_ENCZARR` if there is no such type, or its elements are not stored so; the variable is left half-way.
pub(crate) fn present(
    model: &Model,
    var: &mut Var,
    stored: &mut Stored,
    (name, id): (&str, Option<TypeId>),
    implied: Option<usize>,
) -> Result<()> {
    let id = id.ok_or_else(|| ErrorKind::NcZarr.context(format!("member \"type\": no type {name:?}")))?;
    let ty = NcType::User(id);
    let Some(dtype) = stored.meta.as_ref().map(|meta| meta.dtype.clone()) else { return Ok(()) };
    let fixed = model.is_fixed(ty)?;
    let wrong = || ErrorKind::NcZarr.context(format!("elements of type {name:?} are not stored as {}", dtype.text));
    let found = match dtype.kind {
        Kind::Object => {
            let (Some(codec), Some(list), false) = (stored.element.take(), stored.list, fixed) else {
                return Err(wrong());
            };
            let base = model.vlen_base(ty)?.map(|base| integer_of(model, base)).transpose()?.flatten();
            let element = match list {
                // Lists of the very numbers.
                list if Some(list) == base && codec.name() == "vlen-array" => codec,
                NcType::UByte if codec.name() == "vlen-bytes" => Packed::around(codec, model, ty),
                _ => return Err(wrong()),
            };
            Form { dtype: dtype.clone(), variable: None, element: Some(element), pieces: None }
        }
        _ => as_stored(model, id, &dtype)?.ok_or_else(wrong)?,
    };
    // The default of a number's type is a value like others here.
    let fill = match (&var.fill, dtype.kind) {
        (VarFill::Default, Kind::Number(number)) => {
            nczarr_model::fill::default(number).map_or(VarFill::Default, VarFill::Value)
        }
        (fill, _) => fill.clone(),
    };
    let value = match &fill {
        // The word for an element without anything in it.
        VarFill::Value(Values::Packed(_, list) | Values::String(list))
            if dtype.kind == Kind::Object && matches!(&list[..], [element] if element.as_bytes().is_empty()) =>
        {
            None
        }
        VarFill::Value(value) => {
            Some(read_fill(model, id, &found, value).map_err(|error| error.at("member \"fill_value\""))?)
        }
        VarFill::Default | VarFill::NoFill => None,
    };
    let blank = model.blank(ty)?;
    let no_fill = fill == VarFill::NoFill;
    let implied = implied.filter(|_| !no_fill);
    // A few bytes of a document are not to be many in memory. Who sets such an attribute writes it down.
    if value.is_none() && implied.is_some() && !is_small(&blank) {
        return Err(ErrorKind::NcZarr.context(format!(
            "member {:?}: a fill value of more than {MAX_ZEROS} bytes of type {name:?} is stored in full, expected in \
             member \"fill_value\"",
            lists::FILL
        )));
    }
    var.xtype = ty;
    var.stored_type = None;
    stored.list = None;
    stored.element = found.element;
    stored.pieces = found.pieces.filter(|_| fixed);
    let value = value.or_else(|| implied.map(|_| blank.clone()));
    if let (Some(place), Some(value)) = (implied, &value) {
        var.atts.shift_remove(FILL_VALUE);
        var.atts.shift_insert(place.min(var.atts.len()), FILL_VALUE.to_owned(), value.clone());
        stored.implied_fill = Some(value.clone());
    }
    var.fill = match value {
        _ if no_fill => VarFill::NoFill,
        Some(value) if implied.is_some() || value != blank => VarFill::Value(value),
        _ => VarFill::Default,
    };
    Ok(())
}

fn is_small(value: &Values) -> bool {
    match value {
        Values::User(_, bytes) => bytes.len() <= MAX_ZEROS,
        Values::Packed(_, list) => list.iter().all(|element| element.as_bytes().len() <= MAX_ZEROS),
        _ => true,
    }
}

/// The attributes whose types were recorded as user-defined ones; what is none of its type stays what it is without one.
pub(crate) fn present_atts(model: &Model, atts: &mut nczarr_model::Att, typed: &[super::Typed], displaced: &[Key]) {
    for (name, ty, value) in typed {
        if let Some(values) =
            displaced::resolve(ty, displaced, |ty| find(model, ty)).and_then(|id| read_att(model, id, value))
            && let Some(shown) = atts.get_mut(name)
        {
            *shown = values;
        }
    }
}

/// The form of elements that are stored in a fixed size; `None` if those of the type are not stored so.
fn as_stored(model: &Model, id: TypeId, dtype: &DType) -> Result<Option<Form>> {
    let ty = NcType::User(id);
    let mut strings = HashMap::new();
    if let Some(record) = &dtype.record {
        widths(model, id, record, &mut strings, 0);
    }
    let width = |id: TypeId, field: &str| strings.get(&(id, field.to_owned())).copied();
    for big_endian in [false, true] {
        let builder = Builder { model, big_endian, width: &width };
        // Records of others may be of any fields.
        if let Some(Ok(form)) = builder.build(id, None)
            && alike(&form.dtype, dtype)
        {
            return Ok(Some(Form { dtype: dtype.clone(), ..form }));
        }
        if dtype.kind == Kind::Opaque(model.type_size(ty)?.unwrap_or(0)) && model.is_fixed(ty)? {
            return builder.raw(ty).map(Some);
        }
    }
    Ok(None)
}

/// Whether two types are the same but for how they are spelled.
fn alike(a: &DType, b: &DType) -> bool {
    let order = match a.kind {
        Kind::Number(ty) => ty.size() == Some(1) || a.big_endian == b.big_endian,
        _ => true,
    };
    let text = |kind: Kind| match kind {
        Kind::Char => Kind::Text(1),
        kind => kind,
    };
    let record = |a: &Record, b: &Record| {
        a.fields.len() == b.fields.len()
            && a.fields
                .iter()
                .zip(&b.fields)
                .all(|(a, b)| a.name == b.name && a.shape == b.shape && alike(&a.dtype, &b.dtype))
    };
    order
        && text(a.kind) == text(b.kind)
        && match (&a.record, &b.record) {
            (Some(a), Some(b)) => record(a, b),
            (None, None) => true,
            _ => false,
        }
}

/// A fill value as the document has it, as a value of the type.
fn read_fill(model: &Model, id: TypeId, form: &Form, value: &Values) -> Result<Values> {
    let ty = NcType::User(id);
    let wrong = || ErrorKind::NcZarr.context("none of the type's");
    let native = |list: &[nczarr_model::NcString]| -> Result<Values> {
        let [element] = list else { return Err(wrong()) };
        let element = reordered(model, ty, element.as_bytes(), true)?;
        model.check_packed(ty, &element)?;
        Ok(Values::Packed(id, vec![element.into()]))
    };
    match (value, form.dtype.kind) {
        (Values::Packed(_, list) | Values::String(list), Kind::Object) => native(list),
        (Values::User(_, bytes), Kind::Record | Kind::Opaque(_) | Kind::Complex(_)) => match &form.element {
            None => {
                // Raw bytes have no order of their own.
                let stored = nczarr_chunkio::pack(&form.dtype.pieces().ok_or_else(wrong)?, bytes)?;
                Ok(Values::User(id, nczarr_chunkio::unpack(form.pieces.as_deref().ok_or_else(wrong)?, &stored)?))
            }
            Some(codec) => {
                let stored = nczarr_chunkio::pack(&form.dtype.pieces().ok_or_else(wrong)?, bytes)?;
                Ok(Values::Packed(id, codec.decode(&stored, 1, usize::MAX)?))
            }
        },
        (value, Kind::Number(_)) => value.to_native_bytes().map(|bytes| Values::User(id, bytes)).ok_or_else(wrong),
        _ => Err(wrong()),
    }
}

/// The fill value of a variable as its document is to have it; `None`: there is none.
///
/// # Errors
/// `NC_EINVAL` for text that is too long.
pub(crate) fn stored_fill(model: &Model, var: &Var, id: TypeId, form: &Form) -> Result<Option<Values>> {
    let ty = NcType::User(id);
    let value = match &var.fill {
        VarFill::NoFill => return Ok(None),
        VarFill::Default => model.blank(ty)?,
        VarFill::Value(value) => value.clone(),
    };
    let wrong = || ErrorKind::BadType.context("a fill value of another type");
    Ok(Some(match (value, form.dtype.kind) {
        (Values::User(_, bytes), Kind::Number(number)) => {
            Values::from_native_bytes(number, &bytes).ok_or_else(wrong)?
        }
        (Values::User(_, bytes), _) => {
            let stored = nczarr_chunkio::pack(form.pieces.as_deref().ok_or_else(wrong)?, &bytes)?;
            Values::User(NO_TYPE, nczarr_chunkio::unpack(&form.dtype.pieces().ok_or_else(wrong)?, &stored)?)
        }
        (Values::Packed(_, list), Kind::Object) => {
            let element = list.first().ok_or_else(wrong)?;
            Values::Packed(NO_TYPE, vec![reordered(model, ty, element.as_bytes(), false)?.into()])
        }
        (Values::Packed(_, list), _) => {
            let mut stored = Vec::new();
            form.element.as_ref().ok_or_else(wrong)?.encode(&list, &mut stored)?;
            Values::User(NO_TYPE, nczarr_chunkio::unpack(&form.dtype.pieces().ok_or_else(wrong)?, &stored)?)
        }
        _ => return Err(wrong()),
    }))
}

/// The form of a variable that is new.
///
/// # Errors
/// `NC_ENOTNC4` for a type that has none.
pub(crate) fn new_form(model: &Model, var: &Var, id: TypeId, format: ZarrFormat, registry: &Registry) -> Result<Form> {
    form(model, id, var.endian == nczarr_model::Endian::Big, format, registry)
}
