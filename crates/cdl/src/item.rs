//! [`Item`]: one element of any type, taken apart, so that nested types can be printed.

use model::{ErrorKind, Model, NcString, NcType, Result, TypeClass, Values};

/// Types nested more deeply than this are taken for a circle.
const MAX_DEPTH: usize = 64;

/// One element of any type.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// An integer, or an enum value.
    Int(i128),
    /// A single.
    Float(f32),
    /// A double.
    Double(f64),
    /// One byte of text.
    Char(u8),
    /// A string.
    String(NcString),
    /// The bytes of an opaque element.
    Opaque(Vec<u8>),
    /// The elements of a vlen element.
    Vlen(Vec<Item>),
    /// The fields of a compound element; a field with a shape is a list of all its elements in C order.
    Compound(Vec<Vec<Item>>),
}

/// Takes elements of a type of fixed size apart.
///
/// # Errors
/// [`ErrorKind::BadType`] if `bytes` is no whole number of elements, or the type has no fixed memory form.
pub(crate) fn from_bytes(model: &Model, ty: NcType, bytes: &[u8]) -> Result<Vec<Item>> {
    elements(model, ty, bytes, 0)
}

fn elements(model: &Model, ty: NcType, bytes: &[u8], depth: usize) -> Result<Vec<Item>> {
    if depth > MAX_DEPTH {
        return Err(ErrorKind::BadType.context(format!("{} is nested too deeply", type_name(model, ty))));
    }
    let size = match model.type_size(ty)? {
        Some(size) if size > 0 && bytes.len().is_multiple_of(size) => size,
        size => {
            return Err(ErrorKind::BadType.context(format!(
                "{} bytes are no elements of {}, whose size is {size:?}",
                bytes.len(),
                type_name(model, ty)
            )));
        }
    };
    bytes.chunks_exact(size).map(|bytes| element(model, ty, bytes, depth)).collect()
}

fn type_name(model: &Model, ty: NcType) -> String {
    match ty {
        NcType::User(id) => model.user_type(id).map_or_else(|_| format!("{id:?}"), |ty| format!("type {:?}", ty.name)),
        atomic => atomic.name().to_owned(),
    }
}

fn element(model: &Model, ty: NcType, bytes: &[u8], depth: usize) -> Result<Item> {
    let NcType::User(id) = ty else {
        return Values::from_native_bytes(ty, bytes).and_then(|values| atomic(&values, 0)).ok_or_else(|| {
            ErrorKind::BadType.context(format!("{} bytes are no element of {}", bytes.len(), ty.name()))
        });
    };
    let user = model.user_type(id)?;
    Ok(match &user.class {
        TypeClass::Opaque { .. } => Item::Opaque(bytes.to_vec()),
        TypeClass::Enum { base, .. } => element(model, *base, bytes, depth + 1)?,
        TypeClass::Compound { fields, .. } => {
            let mut parts = Vec::with_capacity(fields.len());
            for field in fields {
                let lost = || ErrorKind::BadField.context(format!("type {:?}: field {:?}", user.name, field.name));
                let size = model.type_size(field.ty)?.ok_or_else(lost)?;
                let count =
                    field.shape.iter().try_fold(1usize, |n, &len| n.checked_mul(len as usize)).ok_or_else(lost)?;
                let len = count.checked_mul(size).ok_or_else(lost)?;
                let end = field.offset.checked_add(len).ok_or_else(lost)?;
                let bytes = bytes.get(field.offset..end).ok_or_else(lost)?;
                parts.push(elements(model, field.ty, bytes, depth + 1)?);
            }
            Item::Compound(parts)
        }
        TypeClass::Vlen { .. } => {
            return Err(ErrorKind::BadType.context(format!("vlen type {:?} has no fixed memory form", user.name)));
        }
    })
}

/// Value `index` of an atomic vector.
pub(crate) fn atomic(values: &Values, index: usize) -> Option<Item> {
    Some(match values {
        Values::Float(v) => Item::Float(*v.get(index)?),
        Values::Double(v) => Item::Double(*v.get(index)?),
        Values::Char(v) => Item::Char(*v.get(index)?),
        Values::String(v) => Item::String(v.get(index)?.clone()),
        other => match other.scalar(index)? {
            model::Scalar::Int(value) => Item::Int(value),
            model::Scalar::Float(value) => Item::Double(value),
        },
    })
}

/// Whether two elements are equal as numbers; a NaN equals a NaN.
pub(crate) fn same(a: &Item, b: &Item) -> bool {
    match (a, b) {
        (Item::Float(a), Item::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
        (Item::Double(a), Item::Double(b)) => a == b || (a.is_nan() && b.is_nan()),
        (Item::Vlen(a), Item::Vlen(b)) => all_same(a, b),
        (Item::Compound(a), Item::Compound(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| all_same(a, b)),
        (a, b) => a == b,
    }
}

fn all_same(a: &[Item], b: &[Item]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}
