//! Values of attributes and fill values, as pairs of a type and a payload.
//!
//! | type | payload |
//! |---|---|
//! | number | bytes in native order |
//! | `S1` | the bytes of the text |
//! | `str` | a list of `str`; an element that is not UTF-8 is `bytes` |
//! | user-defined | a list of elements, as [`crate::items`] describes them; the type is its definition |

use nczarr::model::Model;
use nczarr::{Attribute, ErrorKind, Group, NcString, NcType, Result, Values};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::error::IntoPython;
use crate::{items, nc_type, types};

/// A type as `types.rs` describes it, and a payload.
pub type Pair<'py> = (Py<PyAny>, Bound<'py, PyAny>);

/// Makes the pair of some values.
pub fn to_python<'py>(py: Python<'py>, model: &Model, values: &Values) -> PyResult<Pair<'py>> {
    let ty = values.nc_type();
    let payload = match values {
        Values::Char(text) => bytes_to_python(py, text)?,
        Values::String(strings) => strings_to_python(py, strings)?.into_any(),
        Values::User(..) | Values::Packed(..) => items::of_values(py, model, values)?.into_any(),
        numbers => bytes_to_python(py, &numbers.to_native_bytes().unwrap_or_default())?,
    };
    Ok((types::describe(py, model, ty)?, payload))
}

/// Makes a list of strings.
pub fn strings_to_python<'py>(py: Python<'py>, strings: &[NcString]) -> PyResult<Bound<'py, PyList>> {
    grown_list(py, strings.iter().map(|string| string_to_python(py, string.as_bytes())))
}

/// Makes a list that grows with its elements. A list of a given length would be a panic without the memory.
pub fn grown_list<'py>(
    py: Python<'py>,
    elements: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for element in elements {
        list.append(element?)?;
    }
    Ok(list)
}

/// Makes `bytes`; an error without the memory.
pub fn bytes_to_python<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let fill = |out: &mut [u8]| {
        out.copy_from_slice(bytes);
        Ok(())
    };
    Ok(PyBytes::new_with(py, bytes.len(), fill)?.into_any())
}

/// Makes a `str`, or `bytes` if the text is not UTF-8.
pub fn string_to_python<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match std::str::from_utf8(text) {
        Ok(_) => Ok(PyString::from_bytes(py, text)?.into_any()),
        Err(_) => bytes_to_python(py, text),
    }
}

/// Returns the bytes of a `str` or of `bytes`.
pub fn string_of_python(text: &Bound<'_, PyAny>) -> PyResult<NcString> {
    if let Ok(text) = text.cast::<PyString>() {
        return Ok(NcString::from(text.to_str()?));
    }
    Ok(NcString::from(text.extract::<&[u8]>()?.to_vec()))
}

/// Returns the values of a pair whose type is given by its name.
pub fn of_python(
    py: Python<'_>,
    group: &Group,
    model: &Model,
    ty: &str,
    payload: &Bound<'_, PyAny>,
) -> PyResult<Values> {
    let ty = py.detach(|| nc_type::of_name(ty, group)).into_python(py)?;
    match ty {
        NcType::Char => Ok(Values::Char(payload.extract::<&[u8]>()?.to_vec())),
        NcType::String => {
            let strings = payload.try_iter()?.map(|text| string_of_python(&text?));
            Ok(Values::String(strings.collect::<PyResult<_>>()?))
        }
        NcType::User(_) => items::to_values(py, model, ty, payload),
        number => numbers(number, payload.extract::<&[u8]>()?).into_python(py),
    }
}

fn numbers(ty: NcType, bytes: &[u8]) -> Result<Values> {
    Values::from_native_bytes(ty, bytes).ok_or_else(|| {
        ErrorKind::BadType.context(format!("{} bytes are not values of type {}", bytes.len(), ty.name()))
    })
}

/// Makes a list of `(name, type, payload)`.
pub fn attributes<'py>(
    py: Python<'py>,
    model: &Model,
    attributes: &[Attribute],
) -> PyResult<Bound<'py, PyList>> {
    let described = attributes.iter().map(|attribute| {
        let (ty, payload) = to_python(py, model, attribute.values())?;
        Ok((attribute.name(), ty, payload))
    });
    PyList::new(py, described.collect::<PyResult<Vec<_>>>()?)
}
