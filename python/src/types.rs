//! Types as Python sees them.
//!
//! | type | description |
//! |---|---|
//! | atomic | its name, such as `"f4"` |
//! | compound | `("compound", name, size, [(field, offset, type, shape)])` |
//! | enum | `("enum", name, base, [(member, value)])` |
//! | opaque | `("opaque", name, size)` |
//! | vlen | `("vlen", name, base)` |

use nczarr::model::{Model, TypeClass};
use nczarr::{ErrorKind, Group, NcType, Result};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::error::IntoPython;
use crate::nc_type;

/// Describes a type.
pub fn describe(py: Python<'_>, model: &Model, ty: NcType) -> PyResult<Py<PyAny>> {
    if let Some(name) = nc_type::name(ty) {
        return Ok(name.into_pyobject(py)?.into_any().unbind());
    }
    let NcType::User(id) = ty else {
        return Err(ErrorKind::BadType.context("a type without a name")).into_python(py);
    };
    let user = model.user_type(id).into_python(py)?;
    let name = user.name.as_str();
    let described = match &user.class {
        TypeClass::Compound { size, fields } => {
            let fields = fields.iter().map(|field| {
                let shape = PyTuple::new(py, &field.shape)?;
                Ok((field.name.as_str(), field.offset, describe(py, model, field.ty)?, shape))
            });
            let fields = fields.collect::<PyResult<Vec<_>>>()?;
            ("compound", name, *size, PyList::new(py, fields)?).into_pyobject(py)?
        }
        TypeClass::Enum { base, members } => {
            let members = members.iter().map(|member| (member.name.as_str(), member.value));
            let members = PyList::new(py, members.collect::<Vec<_>>())?;
            ("enum", name, describe(py, model, *base)?, members).into_pyobject(py)?
        }
        TypeClass::Opaque { size } => ("opaque", name, *size).into_pyobject(py)?,
        TypeClass::Vlen { base } => ("vlen", name, describe(py, model, *base)?).into_pyobject(py)?,
    };
    Ok(described.into_any().unbind())
}

/// Adds a compound; fields are `(name, type name, shape)`.
pub fn add_compound(group: &Group, name: &str, fields: &[(String, String, Vec<u32>)]) -> Result<()> {
    let types = fields.iter().map(|(_, ty, _)| nc_type::of_name(ty, group)).collect::<Result<Vec<_>>>()?;
    let listed: Vec<_> = fields
        .iter()
        .zip(types)
        .map(|((name, _, shape), ty)| (name.as_str(), ty, shape.as_slice()))
        .collect();
    group.add_compound(name, &listed).map(drop)
}

/// Adds an enum; members are `(name, value)`.
pub fn add_enum(group: &Group, name: &str, base: &str, members: &[(String, i128)]) -> Result<()> {
    let listed: Vec<_> = members.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    group.add_enum(name, nc_type::of_number(base)?, &listed).map(drop)
}
