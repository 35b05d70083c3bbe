//! Values in the memory of a C program: numbers as they are, strings as pointers to text.

use nczarr::model::Model;
use nczarr::{ErrorKind, NcType, Result, Values};

use crate::boundary::memory::Texts;
use crate::boundary::pointer::{SourcePtr, TEXT_POINTER, strings_from_pointers};

/// Returns the size of an element in the memory of a C program.
pub fn element_size(model: &Model, ty: NcType) -> Result<usize> {
    match ty {
        NcType::String => Ok(TEXT_POINTER),
        ty => {
            model.type_size(ty)?.filter(|_| model.is_fixed(ty).unwrap_or(false)).ok_or_else(|| not_built(ty))
        }
    }
}

/// Copies values from the memory of a C program.
pub fn values_from(model: &Model, ty: NcType, count: usize, memory: &SourcePtr) -> Result<Values> {
    let size = element_size(model, ty)?.checked_mul(count);
    let size = size.ok_or_else(|| ErrorKind::Inval.context(format!("{count} values")))?;
    let bytes = memory.bytes(size)?;
    if ty == NcType::String {
        return Ok(Values::String(strings_from_pointers(bytes)));
    }
    Values::from_native_bytes(ty, bytes).ok_or_else(|| not_built(ty))
}

/// Returns values in the form of C. The caller owns the texts that pointers refer to.
pub fn bytes_of(values: &Values) -> Result<Vec<u8>> {
    match values {
        Values::String(strings) => Ok(Texts::copy(strings)?.hand_out()),
        values => values.to_native_bytes().ok_or_else(|| not_built(values.nc_type())),
    }
}

fn not_built(ty: NcType) -> nczarr::Error {
    ErrorKind::NotBuilt.context(format!("elements of type {} with strings or vlens inside", ty.name()))
}
