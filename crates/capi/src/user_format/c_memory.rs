//! Values in the memory of C, between the library and the entries of a table.

use nczarr::{NcString, NcType, Result, Values};

use crate::boundary::dispatch_table::TextPointers;
use crate::boundary::user_memory;
use crate::memory_form;
use crate::type_space::TypeSpace;

/// Copies values that an entry stored, and frees the memory that pointers in them refer to.
pub fn take_values(types: TypeSpace<'_>, ty: NcType, bytes: &mut [u8]) -> Result<Values> {
    let values = memory_form::values_of(types, ty, bytes);
    user_memory::reclaim(types, ty, bytes)?;
    values
}

/// As [`take_values`], of strings or elements in their packed form.
pub fn take_packed(types: TypeSpace<'_>, ty: NcType, bytes: &mut [u8]) -> Result<Vec<NcString>> {
    let elements = memory_form::packed_from(types, ty, bytes);
    user_memory::reclaim(types, ty, bytes)?;
    elements
}

/// Calls an entry with values.
pub fn lend_values<T>(
    types: TypeSpace<'_>,
    values: &Values,
    call: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<T> {
    match values {
        Values::String(elements) | Values::Packed(_, elements) => {
            lend_packed(types, values.nc_type(), elements, call)
        }
        values => call(&memory_form::bytes_of(types, values)?),
    }
}

/// As [`lend_values`], with strings or elements in their packed form.
pub fn lend_packed<T>(
    types: TypeSpace<'_>,
    ty: NcType,
    elements: &[NcString],
    call: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<T> {
    if ty == NcType::String {
        return call(&TextPointers::new(elements)?.bytes);
    }
    let mut bytes = memory_form::bytes_of_packed(types, ty, elements)?;
    let outcome = call(&bytes);
    user_memory::reclaim(types, ty, &mut bytes)?;
    outcome
}
