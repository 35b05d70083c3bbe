//! Elements of user-defined types as Python objects: integers, floats, `bytes` for char and opaque, `str`, a
//! list for a vlen, and a tuple for a compound. A field with a shape is a list of its elements in C order.

use nczarr::model::{Item, Model, TypeClass};
use nczarr::{ErrorKind, NcType, Values};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::error::IntoPython;
use crate::values::{bytes_to_python, grown_list, string_of_python, string_to_python};

/// Makes a list of the elements of some values.
pub fn of_values<'py>(py: Python<'py>, model: &Model, values: &Values) -> PyResult<Bound<'py, PyList>> {
    to_list(py, &model.items(values).into_python(py)?)
}

/// Makes the values of a type from any iterable of elements.
pub fn to_values(py: Python<'_>, model: &Model, ty: NcType, elements: &Bound<'_, PyAny>) -> PyResult<Values> {
    let items = of_list(py, model, ty, elements)?;
    model.values(ty, &items).into_python(py)
}

/// Makes a list of elements.
pub fn to_list<'py>(py: Python<'py>, items: &[Item]) -> PyResult<Bound<'py, PyList>> {
    grown_list(py, items.iter().map(|item| to_object(py, item)))
}

/// Makes an object of an element.
pub fn to_object<'py>(py: Python<'py>, item: &Item) -> PyResult<Bound<'py, PyAny>> {
    Ok(match item {
        Item::Int(value) => value.into_pyobject(py)?.into_any(),
        Item::Float(value) => value.into_pyobject(py)?.into_any(),
        Item::Double(value) => value.into_pyobject(py)?.into_any(),
        Item::Char(byte) => PyBytes::new(py, &[*byte]).into_any(),
        Item::String(text) => string_to_python(py, text.as_bytes())?,
        Item::Opaque(bytes) => bytes_to_python(py, bytes)?,
        Item::Vlen(items) => to_list(py, items)?.into_any(),
        Item::Compound(fields) => {
            let fields = fields.iter().map(|field| match field.as_slice() {
                [single] => to_object(py, single),
                several => Ok(to_list(py, several)?.into_any()),
            });
            PyTuple::new(py, fields.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
    })
}

/// Makes the elements of a type from any iterable.
pub fn of_list(
    py: Python<'_>,
    model: &Model,
    ty: NcType,
    elements: &Bound<'_, PyAny>,
) -> PyResult<Vec<Item>> {
    elements.try_iter()?.map(|element| of_object(py, model, ty, &element?)).collect()
}

fn of_object(py: Python<'_>, model: &Model, ty: NcType, object: &Bound<'_, PyAny>) -> PyResult<Item> {
    let id = match ty {
        NcType::Float => return Ok(Item::Float(object.extract()?)),
        NcType::Double => return Ok(Item::Double(object.extract()?)),
        NcType::String => return Ok(Item::String(string_of_python(object)?)),
        NcType::Char => {
            let byte = object.extract::<&[u8]>()?;
            return match byte {
                [] => Ok(Item::Char(0)),
                [byte] => Ok(Item::Char(*byte)),
                more => Err(PyTypeError::new_err(format!("a char is one byte, found {}", more.len()))),
            };
        }
        NcType::User(id) => id,
        _ => return Ok(Item::Int(object.extract()?)),
    };
    match &model.user_type(id).into_python(py)?.class {
        TypeClass::Enum { .. } => Ok(Item::Int(object.extract()?)),
        TypeClass::Opaque { .. } => Ok(Item::Opaque(object.extract::<&[u8]>()?.to_vec())),
        TypeClass::Vlen { base } => Ok(Item::Vlen(of_list(py, model, *base, object)?)),
        TypeClass::Compound { fields, .. } => {
            let found = object.len()?;
            if found != fields.len() {
                let text = format!("a compound of {} fields, found {found} values", fields.len());
                return Err(ErrorKind::Inval.context(text)).into_python(py);
            }
            let values = fields.iter().zip(object.try_iter()?).map(|(field, value)| {
                if field.shape.is_empty() {
                    Ok(vec![of_object(py, model, field.ty, &value?)?])
                } else {
                    of_list(py, model, field.ty, &value?)
                }
            });
            Ok(Item::Compound(values.collect::<PyResult<_>>()?))
        }
    }
}
