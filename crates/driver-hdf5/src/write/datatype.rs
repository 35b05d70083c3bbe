//! Writes datatype messages: the HDF5 descriptions of types of the model.
//!
//! Stored elements equal those in memory. User-defined types have native byte order and the compound's own
//! offsets, so nothing is converted. Compounds, enumerations and arrays use the description of HDF5 1.8.
//!
//! Source: HDF5 File Format Specification 3.0, IV.A.2.d.

use nczarr_model::{ErrorKind, Model, NcType, Result, TypeClass, TypeId};

use super::bytes::{PutBytes, width};

/// Whether the native byte order is big-endian.
pub(super) const NATIVE_BIG: bool = cfg!(target_endian = "big");

/// Size in bytes of a stored element of variable length: its length and its place in a global heap.
pub(super) const POINTER: usize = 16;

fn head(out: &mut Vec<u8>, version: u8, class: u8, bits: u32, size: usize) -> Result<()> {
    let size = u32::try_from(size)
        .map_err(|_| ErrorKind::BadType.context(format!("type: elements of {size} bytes are too large")))?;
    out.u8(version << 4 | class);
    out.sized(u64::from(bits), 3);
    out.u32(size);
    Ok(())
}

/// Describes a string of fixed size. A shorter text ends with a zero.
pub(super) fn text(size: usize) -> Result<Vec<u8>> {
    text_of(size, 0)
}

/// Describes a string of fixed size with a bit field for padding and character set.
pub(super) fn text_of(size: usize, form: u8) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    head(&mut out, 1, 3, u32::from(form), size)?;
    Ok(out)
}

/// Describes a reference to an object.
pub(super) fn reference() -> Vec<u8> {
    vec![0x17, 0, 0, 0, 8, 0, 0, 0]
}

/// Describes a list of references to objects.
pub(super) fn references() -> Vec<u8> {
    let mut out = vec![0x19, 0, 0, 0, POINTER as u8, 0, 0, 0];
    out.extend(reference());
    out
}

/// Size in bytes of an entry of a `REFERENCE_LIST`.
pub(super) const BACK_REFERENCE: usize = 16;

/// Describes an entry of a `REFERENCE_LIST`: a dataset and one of its dimensions.
pub(super) fn back_reference() -> Result<Vec<u8>> {
    let mut out = Vec::new();
    head(&mut out, 3, 6, 2, BACK_REFERENCE)?;
    out.extend_from_slice(b"dataset\0\0");
    out.extend(reference());
    out.extend_from_slice(b"dimension\0\x08");
    number(&mut out, NcType::UInt, false)?;
    Ok(out)
}

fn number(out: &mut Vec<u8>, ty: NcType, big: bool) -> Result<()> {
    let size = ty.size().ok_or_else(|| ErrorKind::BadType.context(ty.name()))?;
    let big = u32::from(big);
    if matches!(ty, NcType::Float | NcType::Double) {
        let (exponent, bias) = if ty == NcType::Float { (8_u8, 127) } else { (11, 1023) };
        let mantissa = size as u8 * 8 - 1 - exponent;
        // Implied leading bit; position of the sign.
        head(out, 1, 1, big | 2 << 4 | (size as u32 * 8 - 1) << 8, size)?;
        out.u16(0);
        out.u16(size as u16 * 8);
        out.extend([mantissa, exponent, 0, mantissa]);
        out.u32(bias);
    } else {
        let signed = matches!(ty, NcType::Byte | NcType::Short | NcType::Int | NcType::Int64);
        head(out, 1, 0, big | u32::from(signed) << 3, size)?;
        out.u16(0);
        out.u16(size as u16 * 8);
    }
    Ok(())
}

/// Describes a type that is not user-defined.
pub(super) fn atomic(ty: NcType, big: bool) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    match ty {
        NcType::Char => return text(1),
        NcType::String => {
            // Variable length, zero-terminated, UTF-8.
            head(&mut out, 1, 9, 0x101, POINTER)?;
            number(&mut out, NcType::UByte, false)?;
        }
        _ => number(&mut out, ty, big)?,
    }
    Ok(out)
}

/// Returns the size of a stored element in bytes.
pub(super) fn stored_size(model: &Model, ty: NcType) -> Result<usize> {
    let NcType::User(id) = ty else { return Ok(ty.size().unwrap_or(POINTER)) };
    Ok(match &model.user_type(id)?.class {
        TypeClass::Compound { .. } => layout(model, id)?.size,
        TypeClass::Enum { base, .. } => stored_size(model, *base)?,
        TypeClass::Opaque { size } => *size,
        TypeClass::Vlen { .. } => POINTER,
    })
}

/// Offsets of the fields of a stored compound.
pub(super) struct FieldOffsets {
    pub(super) size: usize,
    pub(super) offsets: Vec<usize>,
}

/// Lays out a stored compound: as in memory, except that a field with a larger stored size moves those behind
/// it.
pub(super) fn layout(model: &Model, id: TypeId) -> Result<FieldOffsets> {
    let TypeClass::Compound { size, fields } = &model.user_type(id)?.class else {
        return Err(ErrorKind::BadType.context("not a compound"));
    };
    if model.is_fixed(NcType::User(id))? {
        return Ok(FieldOffsets { size: *size, offsets: fields.iter().map(|field| field.offset).collect() });
    }
    let (mut end, mut moved, mut offsets) = (0_usize, 0, vec![0; fields.len()]);
    let mut order: Vec<usize> = (0..fields.len()).collect();
    order.sort_by_key(|&at| fields[at].offset);
    for at in order {
        let field = &fields[at];
        let too_large = || ErrorKind::BadType.context(format!("field {}: it is too large", field.name));
        offsets[at] = field.offset.checked_add(moved).ok_or_else(too_large)?.max(end);
        moved = offsets[at] - field.offset;
        let count = field.shape.iter().try_fold(1_usize, |count, &len| count.checked_mul(len as usize));
        let bytes = count.ok_or_else(too_large)?.checked_mul(stored_size(model, field.ty)?);
        end = bytes.and_then(|bytes| offsets[at].checked_add(bytes)).ok_or_else(too_large)?;
    }
    Ok(FieldOffsets { size: size.saturating_add(moved).max(end), offsets })
}

/// Describes any type with all its parts.
pub(super) fn describe(model: &Model, ty: NcType, big: bool) -> Result<Vec<u8>> {
    let NcType::User(id) = ty else { return atomic(ty, big) };
    let mut out = Vec::new();
    let user = model.user_type(id)?;
    match &user.class {
        TypeClass::Compound { fields, .. } => {
            let places = layout(model, id)?;
            let count = u16::try_from(fields.len()).ok().filter(|&count| count > 0);
            let count = count.ok_or_else(|| {
                ErrorKind::BadType.context(format!(
                    "compound {}: {} fields are too many",
                    user.name,
                    fields.len()
                ))
            })?;
            head(&mut out, 3, 6, u32::from(count), places.size)?;
            for (field, offset) in fields.iter().zip(places.offsets) {
                out.extend_from_slice(field.name.as_bytes());
                out.u8(0);
                out.sized(offset as u64, width(places.size as u64));
                let base = describe(model, field.ty, NATIVE_BIG)?;
                if field.shape.is_empty() {
                    out.extend(base);
                    continue;
                }
                let count =
                    field.shape.iter().fold(1_usize, |count, &len| count.saturating_mul(len as usize));
                head(&mut out, 3, 10, 0, count.saturating_mul(stored_size(model, field.ty)?))?;
                out.u8(field.shape.len() as u8);
                field.shape.iter().for_each(|&len| out.u32(len));
                out.extend(base);
            }
        }
        TypeClass::Enum { base, members } => {
            let size = stored_size(model, *base)?;
            let count = u16::try_from(members.len());
            let count = count
                .map_err(|_| ErrorKind::BadType.context(format!("enum {}: too many members", user.name)))?;
            head(&mut out, 3, 8, u32::from(count), size)?;
            out.extend(atomic(*base, NATIVE_BIG)?);
            for member in members {
                out.extend_from_slice(member.name.as_bytes());
                out.u8(0);
            }
            for member in members {
                let mut value = member.value.to_le_bytes()[..size].to_vec();
                if NATIVE_BIG {
                    value.reverse();
                }
                out.extend(value);
            }
        }
        TypeClass::Opaque { size } => head(&mut out, 1, 5, 0, *size)?,
        TypeClass::Vlen { base } => {
            head(&mut out, 1, 9, 0, POINTER)?;
            out.extend(describe(model, *base, NATIVE_BIG)?);
        }
    }
    Ok(out)
}
