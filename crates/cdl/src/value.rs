//! Formats values: in data ([`push_value`], [`push_item`]) and in attributes ([`push_att_value`]).

use std::io::Write as _;

use nczarr_model::{Item, Model, NcString, NcType, TypeClass, Values};

use crate::number::{general, with_point};
use crate::options::Options;
use crate::text::{Feed, push_chars, push_quoted};

/// Significant digits of floats and doubles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FloatDigits {
    /// Of floats.
    pub(crate) float: usize,
    /// Of doubles.
    pub(crate) double: usize,
}

impl FloatDigits {
    pub(crate) fn of(options: &Options) -> Self {
        Self { float: options.float_digits.unwrap_or(7), double: options.double_digits.unwrap_or(15) }
    }
}

/// Appends an integer.
pub(crate) fn push_int(out: &mut Vec<u8>, value: impl std::fmt::Display) {
    write!(out, "{value}").expect("a vector takes everything");
}

fn push_special(out: &mut Vec<u8>, value: f64, suffix: &str) {
    let text = match (value.is_nan(), value.is_sign_negative()) {
        (true, _) => "NaN",
        (false, true) => "-Infinity",
        (false, false) => "Infinity",
    };
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(suffix.as_bytes());
}

fn push_float(out: &mut Vec<u8>, value: f32, digits: FloatDigits) {
    let wide = f64::from(value);
    if wide.is_finite() { general(out, wide, digits.float, false) } else { push_special(out, wide, "f") }
}

fn push_double(out: &mut Vec<u8>, value: f64, digits: FloatDigits) {
    if value.is_finite() { general(out, value, digits.double, false) } else { push_special(out, value, "") }
}

/// Appends a string. A null string has a word of its own.
fn push_string(out: &mut Vec<u8>, value: &NcString) {
    if value.is_nil() {
        out.extend_from_slice(b"NIL")
    } else {
        push_quoted(out, value.as_bytes(), Feed::Escape)
    }
}

/// Appends value `index` of an atomic vector as data; nothing if there is no such value.
pub(crate) fn push_value(out: &mut Vec<u8>, values: &Values, index: usize, digits: FloatDigits) {
    match values {
        Values::Float(v) => v.get(index).into_iter().for_each(|&value| push_float(out, value, digits)),
        Values::Double(v) => v.get(index).into_iter().for_each(|&value| push_double(out, value, digits)),
        Values::String(v) => {
            v.get(index).into_iter().for_each(|value| push_string(out, value));
        }
        Values::Char(v) => {
            v.get(index).into_iter().for_each(|&value| push_chars(out, &[value], Feed::Escape))
        }
        Values::Byte(v) => v.get(index).into_iter().for_each(|value| push_int(out, value)),
        Values::Short(v) => v.get(index).into_iter().for_each(|value| push_int(out, value)),
        Values::Int(v) => v.get(index).into_iter().for_each(|value| push_int(out, value)),
        Values::UByte(v) => v.get(index).into_iter().for_each(|value| push_int(out, value)),
        Values::UShort(v) => v.get(index).into_iter().for_each(|value| push_int(out, value)),
        Values::UInt(v) => v.get(index).into_iter().for_each(|value| push_int(out, value)),
        Values::Int64(v) => v.get(index).into_iter().for_each(|value| push_int(out, value)),
        Values::UInt64(v) => v.get(index).into_iter().for_each(|value| push_int(out, value)),
        _ => {}
    }
}

/// Appends a number as in attributes, without the type suffix; floats have a point.
pub(crate) fn push_att_number(out: &mut Vec<u8>, values: &Values, index: usize, digits: FloatDigits) {
    let (value, digits_of) = match values {
        Values::Float(v) => (v.get(index).map(|&value| f64::from(value)), digits.float),
        Values::Double(v) => (v.get(index).copied(), digits.double),
        _ => return push_value(out, values, index, digits),
    };
    match value {
        Some(value) if value.is_finite() => with_point(out, value, digits_of),
        Some(value) => push_special(out, value, ""),
        None => {}
    }
}

/// Appends one element of any type as data.
pub(crate) fn push_item(out: &mut Vec<u8>, model: &Model, ty: NcType, item: &Item, digits: FloatDigits) {
    let class = match ty {
        NcType::User(id) => model.user_type(id).ok().map(|user| &user.class),
        _ => None,
    };
    match item {
        Item::Int(value) => match class {
            Some(TypeClass::Enum { members, .. }) => {
                let name =
                    members.iter().find(|member| member.value == *value).map(|member| member.name.as_str());
                match name {
                    Some(name) => crate::text::push_name(out, name),
                    // A value that was never written. Any other value is printed, so it is not lost.
                    None if *value == 0 => out.extend_from_slice(b"_UNDEFINED"),
                    None => push_int(out, value),
                }
            }
            _ => push_int(out, value),
        },
        Item::Float(value) => push_float(out, *value, digits),
        Item::Double(value) => push_double(out, *value, digits),
        Item::Char(value) => push_chars(out, &[*value], Feed::Escape),
        Item::String(value) => push_string(out, value),
        Item::Opaque(bytes) => {
            out.extend_from_slice(b"0X");
            bytes.iter().for_each(|byte| write!(out, "{byte:02X}").expect("a vector takes everything"));
        }
        Item::Vlen(items) => {
            let base = match class {
                Some(TypeClass::Vlen { base }) => *base,
                _ => ty,
            };
            push_list(out, model, base, items, digits);
        }
        Item::Compound(parts) => {
            let fields = match class {
                Some(TypeClass::Compound { fields, .. }) => fields.as_slice(),
                _ => &[],
            };
            out.push(b'{');
            for (i, (part, field)) in parts.iter().zip(fields).enumerate() {
                if i > 0 {
                    out.extend_from_slice(b", ");
                }
                match part.as_slice() {
                    [item] if field.shape.is_empty() => push_item(out, model, field.ty, item, digits),
                    items => push_list(out, model, field.ty, items, digits),
                }
            }
            out.push(b'}');
        }
    }
}

/// Appends a list in braces. Text is one string in them.
fn push_list(out: &mut Vec<u8>, model: &Model, ty: NcType, items: &[Item], digits: FloatDigits) {
    out.push(b'{');
    if ty == NcType::Char {
        let text: Vec<u8> =
            items.iter().map(|item| if let Item::Char(byte) = item { *byte } else { 0 }).collect();
        push_chars(out, &text, Feed::Escape);
    } else {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                out.extend_from_slice(b", ");
            }
            push_item(out, model, ty, item, digits);
        }
    }
    out.push(b'}');
}

/// Appends value `index` of an attribute. Numbers have the suffix of their type, and floats a point.
pub(crate) fn push_att_value(out: &mut Vec<u8>, values: &Values, index: usize, digits: FloatDigits) {
    push_att_number(out, values, index, digits);
    out.extend_from_slice(match values {
        Values::Float(_) => b"f",
        Values::Byte(_) => b"b",
        Values::Short(_) => b"s",
        Values::UByte(_) => b"UB",
        Values::UShort(_) => b"US",
        Values::UInt(_) => b"U",
        Values::Int64(_) => b"LL",
        Values::UInt64(_) => b"ULL",
        _ => b"",
    });
}
