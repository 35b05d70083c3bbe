//! Attributes of user-defined types: a list of elements in JSON.
//!
//! * A compound is the list of its fields in order; a field with a shape is the flat list of its elements.
//! * A vlen is a list, an enum its integer, opaque bytes are `"0x…"`, text is text.
//! * Consecutive characters are text, or the list of their bytes if they are not UTF-8.
//! * Floats are as in other attributes; a NaN with unusual bits is `"0x…"`.

use nczarr_model::{ErrorKind, Item, Model, NcString, NcType, Result, TypeClass, TypeId, Values};

use crate::metadata::json::{
    Json, Value, json_float, json_single, write_list, write_number, write_strict, write_string,
};
use crate::metadata::v2::fill::float_value;

/// The deepest nesting of types; deeper ones count as cyclic.
const MAX_DEPTH: usize = 64;

/// Checks that an attribute can be written.
///
/// # Errors
/// `NC_ECHAR` if text is not UTF-8.
pub(crate) fn check(model: &Model, values: &Values) -> Result<()> {
    write(model, values, &mut String::new())
}

/// Appends the stored form of an attribute.
///
/// # Errors
/// As [`check`].
pub(crate) fn write(model: &Model, values: &Values, out: &mut String) -> Result<()> {
    let items = model.items(values)?;
    list(model, values.nc_type(), &items, out)
}

fn list(model: &Model, ty: NcType, items: &[Item], out: &mut String) -> Result<()> {
    let mut texts = Vec::with_capacity(items.len());
    for item in items {
        let mut text = String::new();
        one(model, ty, item, &mut text)?;
        texts.push(text);
    }
    write_list(&texts, out, |text, out| out.push_str(text));
    Ok(())
}

/// Appends the elements of one value: characters as text, others as a list.
fn several(model: &Model, ty: NcType, items: &[Item], out: &mut String) -> Result<()> {
    if ty == NcType::Char {
        let byte = |item: &Item| if let Item::Char(byte) = item { *byte } else { 0 };
        let bytes: Vec<u8> = items.iter().map(byte).collect();
        match std::str::from_utf8(&bytes) {
            Ok(text) => write_string(text, out),
            Err(_) => write_list(&bytes, out, write_number),
        }
        return Ok(());
    }
    list(model, ty, items, out)
}

fn one(model: &Model, ty: NcType, item: &Item, out: &mut String) -> Result<()> {
    match item {
        Item::Int(value) => write_number(value, out),
        Item::Float(value) if value.is_finite() => write_number(format_args!("{value:?}"), out),
        Item::Float(value) if value.is_nan() && value.to_bits() != f32::NAN.to_bits() => {
            write_string(&format!("0x{:08x}", value.to_bits()), out);
        }
        Item::Float(value) => write_strict(&json_single(*value), out),
        Item::Double(value) if value.is_finite() => write_number(format_args!("{value:?}"), out),
        Item::Double(value) if value.is_nan() && value.to_bits() != f64::NAN.to_bits() => {
            write_string(&format!("0x{:016x}", value.to_bits()), out);
        }
        Item::Double(value) => write_strict(&json_float(*value), out),
        Item::Char(byte) if !byte.is_ascii() => write_number(byte, out),
        Item::Char(_) => several(model, ty, std::slice::from_ref(item), out)?,
        Item::String(text) => write_string(text.to_str()?, out),
        Item::Opaque(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            write_string(&format!("0x{digits}"), out);
        }
        Item::Vlen(items) => several(model, model.vlen_base(ty)?.unwrap_or(ty), items, out)?,
        Item::Compound(parts) => {
            let NcType::User(id) = ty else { return Err(ErrorKind::Internal.context("a compound")) };
            let TypeClass::Compound { fields, .. } = &model.user_type(id)?.class else {
                return Err(ErrorKind::Internal.context("a compound"));
            };
            let mut texts = Vec::with_capacity(fields.len());
            for (field, part) in fields.iter().zip(parts) {
                let mut text = String::new();
                match &part[..] {
                    [item] if field.shape.is_empty() => one(model, field.ty, item, &mut text)?,
                    items => several(model, field.ty, items, &mut text)?,
                }
                texts.push(text);
            }
            write_list(&texts, out, |text, out| out.push_str(text));
        }
    }
    Ok(())
}

/// Parses a stored attribute; `None` if it does not fit the type.
pub(crate) fn read(model: &Model, id: TypeId, value: &Json) -> Option<Values> {
    let ty = NcType::User(id);
    let items =
        value.as_array()?.iter().map(|value| item(model, ty, value, 0)).collect::<Option<Vec<_>>>()?;
    model.values(ty, &items).ok()
}

fn items(model: &Model, ty: NcType, value: &Value<'_>, depth: usize) -> Option<Vec<Item>> {
    if let (NcType::Char, Value::String(text)) = (ty, value) {
        return Some(text.bytes().map(Item::Char).collect());
    }
    value.as_array()?.iter().map(|value| item(model, ty, value, depth)).collect()
}

fn item(model: &Model, ty: NcType, value: &Value<'_>, depth: usize) -> Option<Item> {
    let NcType::User(id) = ty else { return atomic(ty, value) };
    if depth > MAX_DEPTH {
        return None;
    }
    Some(match &model.user_type(id).ok()?.class {
        TypeClass::Enum { .. } => Item::Int(value.as_integer()?),
        TypeClass::Opaque { size } => {
            Item::Opaque(hexadecimal(value.as_str()?).filter(|bytes| bytes.len() == *size)?)
        }
        TypeClass::Vlen { base } => Item::Vlen(items(model, *base, value, depth + 1)?),
        TypeClass::Compound { fields, .. } => {
            let parts = value.as_array().filter(|parts| parts.len() == fields.len())?;
            let part = |(field, value): (&nczarr_model::Field, &Value<'_>)| {
                if field.shape.is_empty() {
                    return Some(vec![item(model, field.ty, value, depth + 1)?]);
                }
                items(model, field.ty, value, depth + 1)
            };
            Item::Compound(fields.iter().zip(parts).map(part).collect::<Option<_>>()?)
        }
    })
}

fn atomic(ty: NcType, value: &Value<'_>) -> Option<Item> {
    match ty {
        NcType::String => Some(Item::String(NcString::from(value.as_str()?))),
        NcType::Char => match value {
            Value::String(text) => match text.as_bytes() {
                [byte] => Some(Item::Char(*byte)),
                _ => None,
            },
            other => Some(Item::Char(other.as_integer()?.try_into().ok()?)),
        },
        NcType::Float | NcType::Double => {
            if let Some(bits) = value.as_str().and_then(|text| text.strip_prefix("0x")) {
                let bits = u64::from_str_radix(bits, 16).ok()?;
                return Some(match ty {
                    NcType::Float => Item::Float(f32::from_bits(bits.try_into().ok()?)),
                    _ => Item::Double(f64::from_bits(bits)),
                });
            }
            let token = value.as_str().or_else(|| value.token())?;
            Item::atomic(&float_value(token, ty)?, 0)
        }
        _ => Some(Item::Int(value.as_integer()?)),
    }
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?.as_bytes();
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let (pairs, rest) = digits.as_chunks::<2>();
    pairs
        .iter()
        .map(|[high, low]| Some(value(*high)? << 4 | value(*low)?))
        .collect::<Option<_>>()
        .filter(|_| rest.is_empty())
}
