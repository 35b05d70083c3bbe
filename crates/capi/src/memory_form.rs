//! Values in the memory of a C program: numbers as they are, strings as pointers to text, and elements of
//! user-defined types in the layout of C.

use nczarr::dispatch::{byte_len, zeroed};
use nczarr::{ErrorKind, NcString, NcType, Result, Values};

use crate::boundary::memory::Texts;
use crate::boundary::pointer::{SourcePtr, strings_from_pointers};
use crate::boundary::user_memory;
use crate::type_space::TypeSpace;

/// Copies values from the memory of a C program.
pub fn values_from(types: TypeSpace<'_>, ty: NcType, count: usize, memory: &SourcePtr) -> Result<Values> {
    let size = types.size(ty)?.checked_mul(count);
    let size = size.ok_or_else(|| ErrorKind::Inval.context(format!("{count} values")))?;
    values_of(types, ty, memory.bytes(size)?)
}

/// As [`values_from`], of bytes.
pub fn values_of(types: TypeSpace<'_>, ty: NcType, bytes: &[u8]) -> Result<Values> {
    match ty {
        NcType::String => Ok(Values::String(strings_from_pointers(bytes))),
        NcType::User(id) if !types.is_fixed(ty)? => {
            packed_from(types, ty, bytes).map(|elements| Values::Packed(id, elements))
        }
        NcType::User(id) => Ok(Values::User(id, stored_from(types, ty, bytes)?)),
        ty => Values::from_native_bytes(ty, bytes)
            .ok_or_else(|| ErrorKind::Internal.context(format!("values of type {}", ty.name()))),
    }
}

/// Copies elements with pointers inside: strings, or user-defined types in their packed form.
pub fn packed_from(types: TypeSpace<'_>, ty: NcType, bytes: &[u8]) -> Result<Vec<NcString>> {
    if ty == NcType::String {
        return Ok(strings_from_pointers(bytes));
    }
    let size = types.size(ty)?.max(1);
    bytes.chunks_exact(size).map(|element| user_memory::pack(types, ty, element)).collect()
}

/// Copies elements of fixed size to their stored layout.
pub fn stored_from(types: TypeSpace<'_>, ty: NcType, bytes: &[u8]) -> Result<Vec<u8>> {
    if types.is_plain(ty)? {
        return Ok(bytes.to_vec());
    }
    let mut stored = Vec::new();
    for element in bytes.chunks_exact(types.size(ty)?.max(1)) {
        user_memory::append_stored(types, ty, element, &mut stored)?;
    }
    Ok(stored)
}

/// Returns values in the form of C. The caller owns the memory that pointers refer to.
pub fn bytes_of(types: TypeSpace<'_>, values: &Values) -> Result<Vec<u8>> {
    match values {
        Values::String(elements) | Values::Packed(_, elements) => {
            bytes_of_packed(types, values.nc_type(), elements)
        }
        Values::User(_, stored) => bytes_of_stored(types, values.nc_type(), stored),
        values => values.to_native_bytes().ok_or_else(|| {
            ErrorKind::Internal.context(format!("values of type {}", values.nc_type().name()))
        }),
    }
}

/// As [`bytes_of`], of elements of fixed size in their stored layout.
pub fn bytes_of_stored(types: TypeSpace<'_>, ty: NcType, stored: &[u8]) -> Result<Vec<u8>> {
    if types.is_plain(ty)? {
        return Ok(stored.to_vec());
    }
    let (from, to) = (types.model.type_size(ty)?.unwrap_or(1).max(1), types.size(ty)?.max(1));
    let mut bytes = zeroed(byte_len((stored.len() / from) as u64, to)?)?;
    for (element, out) in stored.chunks_exact(from).zip(bytes.chunks_exact_mut(to)) {
        user_memory::arrange(types, ty, element, out)?;
    }
    Ok(bytes)
}

/// As [`bytes_of`], of strings or packed elements.
pub fn bytes_of_packed(types: TypeSpace<'_>, ty: NcType, elements: &[NcString]) -> Result<Vec<u8>> {
    if ty == NcType::String {
        return Ok(Texts::copy(elements)?.hand_out());
    }
    let size = types.size(ty)?.max(1);
    let mut bytes = zeroed(byte_len(elements.len() as u64, size)?)?;
    for (element, out) in elements.iter().zip(bytes.chunks_exact_mut(size)) {
        if let Err(error) = user_memory::unpack(types, ty, element.as_bytes(), out) {
            user_memory::reclaim(types, ty, &mut bytes)?;
            return Err(error);
        }
    }
    Ok(bytes)
}
