//! Gives loaded arrays their user-defined type and fill value.

use std::collections::HashMap;

use nczarr_dispatch::Registry;
use nczarr_model::{ErrorKind, FILL_VALUE, Model, NcType, Result, TypeId, Values, Var, VarFill};
use nczarr_storage::Key;

use super::attributes::read as read_att;
use super::codec::{PackedCodec, reordered};
use super::encoding::{ElementEncoding, EncodingBuilder, choose_encoding, integer_of, widths};
use super::names::find;
use crate::flavour::nczarr_lists;
use crate::metadata::renamed_groups::resolve_renamed;
use crate::metadata::types::dtype::CompoundDType;
use crate::metadata::types::dtype::{DType, DTypeKind};
use crate::metadata::types::foreign::NO_TYPE;
use crate::metadata::v2::fill::MAX_ZEROS;
use crate::metadata::variable::StoredVariable;

use nczarr_codec::ZarrFormat;

/// Gives a variable its type: the stored name, and the type found under it.
///
/// # Errors
/// `NC_ENCZARR` if the type does not exist, or the elements are stored differently; the variable is then
/// incomplete.
pub(crate) fn present(
    model: &Model,
    var: &mut Var,
    stored: &mut StoredVariable,
    (name, id): (&str, Option<TypeId>),
    implied: Option<usize>,
) -> Result<()> {
    let id = id.ok_or_else(|| ErrorKind::NcZarr.context(format!("member \"type\": no type {name:?}")))?;
    let ty = NcType::User(id);
    let Some(dtype) = stored.meta.as_ref().map(|meta| meta.dtype.clone()) else { return Ok(()) };
    let fixed = model.is_fixed(ty)?;
    let wrong =
        || ErrorKind::NcZarr.context(format!("elements of type {name:?} cannot be stored as {}", dtype.text));
    let found = match dtype.kind {
        DTypeKind::Object => {
            let (Some(codec), Some(list), false) = (stored.element.take(), stored.list, fixed) else {
                return Err(wrong());
            };
            let base = model.vlen_base(ty)?.map(|base| integer_of(model, base)).transpose()?.flatten();
            let element = match list {
                // Lists of the base type itself.
                list if Some(list) == base && codec.name() == "vlen-array" => codec,
                NcType::UByte if codec.name() == "vlen-bytes" => PackedCodec::around(codec, model, ty),
                _ => return Err(wrong()),
            };
            ElementEncoding { dtype: dtype.clone(), variable: None, element: Some(element), pieces: None }
        }
        _ => stored_encoding(model, id, &dtype)?.ok_or_else(wrong)?,
    };
    // The default fill value of a number type is an ordinary value here.
    let fill = match (&var.fill, dtype.kind) {
        (VarFill::Default, DTypeKind::Number(number)) => {
            nczarr_model::fill::default(number).map_or(VarFill::Default, VarFill::Value)
        }
        (fill, _) => fill.clone(),
    };
    let value = match &fill {
        // The stored form of an empty element.
        VarFill::Value(Values::Packed(_, list) | Values::String(list))
            if dtype.kind == DTypeKind::Object
                && matches!(&list[..], [element] if element.as_bytes().is_empty()) =>
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
    // A small document must not create a large value. Writers store such an attribute in full.
    if value.is_none() && implied.is_some() && !is_small(&blank) {
        return Err(ErrorKind::NcZarr.context(format!(
            "member {:?}: the fill value of type {name:?} has more than {MAX_ZEROS} bytes, so it must be stored in \
             member \"fill_value\"",
            nczarr_lists::FILL
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

/// Converts attributes with a recorded user-defined type; a value that does not fit is unchanged.
pub(crate) fn present_atts(
    model: &Model,
    atts: &mut nczarr_model::Att,
    typed: &[super::names::TypedAttribute],
    displaced: &[Key],
) {
    for (name, ty, value) in typed {
        if let Some(values) =
            resolve_renamed(ty, displaced, |ty| find(model, ty)).and_then(|id| read_att(model, id, value))
            && let Some(shown) = atts.get_mut(name)
        {
            *shown = values;
        }
    }
}

/// Returns the encoding of elements stored in a fixed size; `None` if the type does not fit the stored one.
fn stored_encoding(model: &Model, id: TypeId, dtype: &DType) -> Result<Option<ElementEncoding>> {
    let ty = NcType::User(id);
    let mut strings = HashMap::new();
    if let Some(record) = &dtype.compound {
        widths(model, id, record, &mut strings, 0);
    }
    let width = |id: TypeId, field: &str| strings.get(&(id, field.to_owned())).copied();
    for big_endian in [false, true] {
        let builder = EncodingBuilder { model, big_endian, width: &width };
        // Records of other writers may have any fields.
        if let Some(Ok(form)) = builder.build(id, None)
            && is_same_encoding(&form.dtype, dtype)
        {
            return Ok(Some(ElementEncoding { dtype: dtype.clone(), ..form }));
        }
        if dtype.kind == DTypeKind::Opaque(model.type_size(ty)?.unwrap_or(0)) && model.is_fixed(ty)? {
            return builder.raw(ty).map(Some);
        }
    }
    Ok(None)
}

/// Whether two types are the same apart from their spelling.
fn is_same_encoding(a: &DType, b: &DType) -> bool {
    let order = match a.kind {
        DTypeKind::Number(ty) => ty.size() == Some(1) || a.big_endian == b.big_endian,
        _ => true,
    };
    let text = |kind: DTypeKind| match kind {
        DTypeKind::Char => DTypeKind::Text(1),
        kind => kind,
    };
    let record = |a: &CompoundDType, b: &CompoundDType| {
        a.fields.len() == b.fields.len()
            && a.fields
                .iter()
                .zip(&b.fields)
                .all(|(a, b)| a.name == b.name && a.shape == b.shape && is_same_encoding(&a.dtype, &b.dtype))
    };
    order
        && text(a.kind) == text(b.kind)
        && match (&a.compound, &b.compound) {
            (Some(a), Some(b)) => record(a, b),
            (None, None) => true,
            _ => false,
        }
}

/// Converts a stored fill value to a value of the type.
fn read_fill(model: &Model, id: TypeId, form: &ElementEncoding, value: &Values) -> Result<Values> {
    let ty = NcType::User(id);
    let wrong = || ErrorKind::NcZarr.context("the value does not fit the type");
    let native = |list: &[nczarr_model::NcString]| -> Result<Values> {
        let [element] = list else { return Err(wrong()) };
        let element = reordered(model, ty, element.as_bytes(), true)?;
        model.check_packed(ty, &element)?;
        Ok(Values::Packed(id, vec![element.into()]))
    };
    match (value, form.dtype.kind) {
        (Values::Packed(_, list) | Values::String(list), DTypeKind::Object) => native(list),
        (Values::User(_, bytes), DTypeKind::Compound | DTypeKind::Opaque(_) | DTypeKind::Complex(_)) => {
            match &form.element {
                None => {
                    // Raw bytes have no byte order of their own.
                    let stored =
                        nczarr_chunkio::pack_element(&form.dtype.pieces().ok_or_else(wrong)?, bytes)?;
                    Ok(Values::User(
                        id,
                        nczarr_chunkio::unpack_element(form.pieces.as_deref().ok_or_else(wrong)?, &stored)?,
                    ))
                }
                Some(codec) => {
                    let stored =
                        nczarr_chunkio::pack_element(&form.dtype.pieces().ok_or_else(wrong)?, bytes)?;
                    Ok(Values::Packed(id, codec.decode(&stored, 1, usize::MAX)?))
                }
            }
        }
        (value, DTypeKind::Number(_)) => {
            value.to_native_bytes().map(|bytes| Values::User(id, bytes)).ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}

/// Returns the fill value of a variable in the form of its document; `None` if it has none.
///
/// # Errors
/// `NC_EINVAL` for text that is too long.
pub(crate) fn stored_fill(
    model: &Model,
    var: &Var,
    id: TypeId,
    form: &ElementEncoding,
) -> Result<Option<Values>> {
    let ty = NcType::User(id);
    let value = match &var.fill {
        VarFill::NoFill => return Ok(None),
        VarFill::Default => model.blank(ty)?,
        VarFill::Value(value) => value.clone(),
    };
    let wrong = || ErrorKind::BadType.context("the fill value has another type");
    Ok(Some(match (value, form.dtype.kind) {
        (Values::User(_, bytes), DTypeKind::Number(number)) => {
            Values::from_native_bytes(number, &bytes).ok_or_else(wrong)?
        }
        (Values::User(_, bytes), _) => {
            let stored = nczarr_chunkio::pack_element(form.pieces.as_deref().ok_or_else(wrong)?, &bytes)?;
            Values::User(
                NO_TYPE,
                nczarr_chunkio::unpack_element(&form.dtype.pieces().ok_or_else(wrong)?, &stored)?,
            )
        }
        (Values::Packed(_, list), DTypeKind::Object) => {
            let element = list.first().ok_or_else(wrong)?;
            Values::Packed(NO_TYPE, vec![reordered(model, ty, element.as_bytes(), false)?.into()])
        }
        (Values::Packed(_, list), _) => {
            let mut stored = Vec::new();
            form.element.as_ref().ok_or_else(wrong)?.encode(&list, &mut stored)?;
            Values::User(
                NO_TYPE,
                nczarr_chunkio::unpack_element(&form.dtype.pieces().ok_or_else(wrong)?, &stored)?,
            )
        }
        _ => return Err(wrong()),
    }))
}

/// Chooses the encoding for a new variable.
///
/// # Errors
/// `NC_ENOTNC4` for a type without an encoding.
pub(crate) fn new_encoding(
    model: &Model,
    var: &Var,
    id: TypeId,
    format: ZarrFormat,
    registry: &Registry,
) -> Result<ElementEncoding> {
    choose_encoding(model, id, var.endian == nczarr_model::Endian::Big, format, registry)
}
