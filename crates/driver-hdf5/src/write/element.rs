//! Converts elements from memory to their stored form.
//!
//! Elements of fixed size are stored as they are. Elements with strings or sequences are packed in memory,
//! part after part. In the file, such a part is a length and a place in a global heap.

use nczarr_model::{ErrorKind, Model, NcString, NcType, Result, TypeClass, Unpacker, Values};

use super::datatype::{POINTER, layout, stored_size};
use super::nul_check;

/// Stores values of variable length, and appends their place to the element.
pub(super) trait HeapWriter {
    /// `count`: number of items of the value, as HDF5 counts them.
    fn pointer(&mut self, out: &mut Vec<u8>, count: usize, value: &[u8]) -> Result<()>;
}

impl HeapWriter for super::image::MetadataImage {
    fn pointer(&mut self, out: &mut Vec<u8>, count: usize, value: &[u8]) -> Result<()> {
        Self::pointer(self, out, count, value);
        Ok(())
    }
}

/// Appends the stored form of one packed element of variable length. A null string has no place in a heap.
///
/// # Errors
/// `NC_EBADTYPE` if the bytes are not such an element; `NC_ECHAR` for a string with NUL; errors of the heap.
pub(super) fn put(
    model: &Model,
    ty: NcType,
    packed: &NcString,
    heap: &mut dyn HeapWriter,
    out: &mut Vec<u8>,
) -> Result<()> {
    let nil = packed.is_nil();
    let packed = packed.as_bytes();
    match ty {
        NcType::String if nil => {
            out.resize(out.len() + POINTER, 0);
            Ok(())
        }
        NcType::String => heap.pointer(out, packed.len(), nul_check::whole(packed)?),
        NcType::User(id) if matches!(model.user_type(id)?.class, TypeClass::Vlen { .. }) => {
            put_list(model, ty, packed, heap, out)
        }
        // The element was never written.
        _ if packed.is_empty() => {
            out.resize(out.len() + stored_size(model, ty)?, 0);
            Ok(())
        }
        _ => {
            let mut parts = Unpacker::new(packed);
            put_next(model, ty, &mut parts, heap, out)?;
            parts.end()
        }
    }
}

fn wrong(what: &str) -> nczarr_model::Error {
    ErrorKind::BadType.context(format!("element of variable length: {what}"))
}

/// Appends the next part of a packed element.
fn put_next(
    model: &Model,
    ty: NcType,
    parts: &mut Unpacker<'_>,
    heap: &mut dyn HeapWriter,
    out: &mut Vec<u8>,
) -> Result<()> {
    if model.is_fixed(ty)? {
        out.extend_from_slice(parts.fixed(stored_size(model, ty)?)?);
        return Ok(());
    }
    let NcType::User(id) = ty else {
        let text = parts.string()?;
        return heap.pointer(out, text.len(), nul_check::whole(text)?);
    };
    match &model.user_type(id)?.class {
        TypeClass::Compound { fields, .. } => {
            let places = layout(model, id)?;
            let (start, mut bytes) = (out.len(), Vec::new());
            out.resize(start + places.size, 0);
            for (field, offset) in fields.iter().zip(places.offsets) {
                bytes.clear();
                let count =
                    field.shape.iter().fold(1_usize, |count, &len| count.saturating_mul(len as usize));
                for _ in 0..count {
                    put_next(model, field.ty, parts, heap, &mut bytes)?;
                }
                let place = start + offset;
                out[place..place + bytes.len()].copy_from_slice(&bytes);
            }
            Ok(())
        }
        _ => {
            let packed = parts.string()?;
            put_list(model, ty, packed, heap, out)
        }
    }
}

/// Appends a sequence.
fn put_list(
    model: &Model,
    ty: NcType,
    packed: &[u8],
    heap: &mut dyn HeapWriter,
    out: &mut Vec<u8>,
) -> Result<()> {
    let NcType::User(id) = ty else { return Err(wrong("the type is not a sequence")) };
    let TypeClass::Vlen { base } = model.user_type(id)?.class else {
        return Err(wrong("the type is not a sequence"));
    };
    let size = stored_size(model, base)?;
    if model.is_fixed(base)? {
        if !packed.len().is_multiple_of(size) {
            return Err(wrong(&format!("{} bytes are not a multiple of the item size {size}", packed.len())));
        }
        return heap.pointer(out, packed.len() / size, packed);
    }
    let (mut parts, mut elements) = (Unpacker::new(packed), Vec::new());
    while !parts.is_empty() {
        put_next(model, base, &mut parts, heap, &mut elements)?;
    }
    heap.pointer(out, elements.len() / size, &elements)
}

/// Returns the stored form of values, and the number of elements. `big`: numbers are big-endian.
///
/// # Errors
/// As [`put`].
pub(super) fn values(
    model: &Model,
    values: &Values,
    big: bool,
    heap: &mut dyn HeapWriter,
) -> Result<(Vec<u8>, usize)> {
    let strings = |ty: NcType, elements: &[NcString], heap: &mut dyn HeapWriter| {
        let mut out = Vec::new();
        for element in elements {
            put(model, ty, element, heap, &mut out)?;
        }
        Ok((out, elements.len()))
    };
    match values {
        Values::String(elements) => return strings(NcType::String, elements, heap),
        Values::User(id, bytes) => {
            let size = stored_size(model, NcType::User(*id))?.max(1);
            return Ok((bytes.clone(), bytes.len() / size));
        }
        Values::Packed(id, elements) => return strings(NcType::User(*id), elements, heap),
        Values::Char(text) => return Ok((text.clone(), text.len())),
        _ => {}
    }
    let mut out = Vec::new();
    macro_rules! put_numbers {
        ($numbers:expr) => {
            for number in $numbers {
                if big {
                    out.extend_from_slice(&number.to_be_bytes())
                } else {
                    out.extend_from_slice(&number.to_le_bytes())
                }
            }
        };
    }
    match values {
        Values::Byte(v) => put_numbers!(v),
        Values::UByte(v) => put_numbers!(v),
        Values::Short(v) => put_numbers!(v),
        Values::UShort(v) => put_numbers!(v),
        Values::Int(v) => put_numbers!(v),
        Values::UInt(v) => put_numbers!(v),
        Values::Int64(v) => put_numbers!(v),
        Values::UInt64(v) => put_numbers!(v),
        Values::Float(v) => put_numbers!(v),
        Values::Double(v) => put_numbers!(v),
        _ => return Err(ErrorKind::BadType.context("values of a type that HDF5 cannot store")),
    }
    Ok((out, values.len()))
}
