//! The handle of a group: lookups, attributes and definitions.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::dimension::Dimension;
use crate::error::IntoPython;
use crate::file::SharedFile;
use crate::variable::Variable;
use crate::{calls, nc_type, types, values};

/// A group of an open dataset.
#[pyclass(frozen)]
pub struct Group {
    pub file: Arc<SharedFile>,
    pub group: nczarr::Group,
}

impl Group {
    pub fn new(file: Arc<SharedFile>, group: nczarr::Group) -> Self {
        Self { file, group }
    }

    pub fn variable_of(&self, variable: nczarr::Variable) -> Variable {
        Variable::new(Arc::clone(&self.file), variable)
    }

    fn dimension_of(&self, dimension: nczarr::Dimension) -> Dimension {
        Dimension::new(Arc::clone(&self.file), dimension)
    }
}

#[pymethods]
impl Group {
    fn name(&self, py: Python<'_>) -> String {
        self.file.look(py, || self.group.name())
    }

    fn full_name(&self, py: Python<'_>) -> String {
        self.file.look(py, || self.group.full_name())
    }

    fn parent(&self, py: Python<'_>) -> Option<Self> {
        let parent = self.file.look(py, || self.group.parent())?;
        Some(Self::new(Arc::clone(&self.file), parent))
    }

    /// The groups in it.
    fn groups(&self, py: Python<'_>) -> Vec<Self> {
        let groups = self.file.look(py, || self.group.groups());
        groups.into_iter().map(|group| Self::new(Arc::clone(&self.file), group)).collect()
    }

    fn group(&self, py: Python<'_>, path: &str) -> PyResult<Self> {
        let group = self.file.look(py, || self.group.group(path)).into_python(py)?;
        Ok(Self::new(Arc::clone(&self.file), group))
    }

    /// The variables in it.
    fn variables(&self, py: Python<'_>) -> Vec<Variable> {
        let variables = self.file.look(py, || self.group.variables());
        variables.into_iter().map(|variable| self.variable_of(variable)).collect()
    }

    fn variable(&self, py: Python<'_>, path: &str) -> PyResult<Variable> {
        Ok(self.variable_of(self.file.look(py, || self.group.variable(path)).into_python(py)?))
    }

    /// The dimensions that are defined in it.
    fn dimensions(&self, py: Python<'_>) -> Vec<Dimension> {
        let dimensions = self.file.look(py, || self.group.dimensions());
        dimensions.into_iter().map(|dimension| self.dimension_of(dimension)).collect()
    }

    /// A dimension that is visible from it.
    fn dimension(&self, py: Python<'_>, name: &str) -> PyResult<Dimension> {
        Ok(self.dimension_of(self.file.look(py, || self.group.dimension(name)).into_python(py)?))
    }

    /// The descriptions of the user-defined types that are defined in it.
    fn types(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        let model = self.file.model(py)?;
        let types = self.file.look(py, || self.group.types());
        types.iter().map(|ty| types::describe(py, &model, ty.nc_type())).collect()
    }

    /// `(name, type, payload)` of each attribute: see `values.rs`.
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let attributes = self.file.look(py, || self.group.attributes());
        values::attributes(py, &*self.file.model(py)?, &attributes)
    }

    fn put_attribute(
        &self,
        py: Python<'_>,
        name: &str,
        ty: &str,
        payload: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let model = self.file.model(py)?;
        let values = values::of_python(py, &self.group, &model, ty, payload)?;
        calls::run(py, || self.group.put_attribute(name, values))
    }

    fn put_attribute_json(&self, py: Python<'_>, name: &str, json: &str) -> PyResult<()> {
        calls::run(py, || self.group.put_attribute_json(name, json))
    }

    fn attribute_json(&self, py: Python<'_>, name: &str) -> PyResult<Option<String>> {
        calls::run(py, || self.group.attribute_json(name))
    }

    fn rename_attribute(&self, py: Python<'_>, name: &str, to: &str) -> PyResult<()> {
        calls::run(py, || self.group.rename_attribute(name, to))
    }

    fn delete_attribute(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        calls::run(py, || self.group.delete_attribute(name))
    }

    fn add_group(&self, py: Python<'_>, name: &str) -> PyResult<Self> {
        let group = calls::run(py, || self.group.add_group(name))?;
        Ok(Self::new(Arc::clone(&self.file), group))
    }

    /// Adds a dimension; without a length it is unlimited.
    fn add_dimension(&self, py: Python<'_>, name: &str, len: Option<u64>) -> PyResult<Dimension> {
        let dimension = calls::run(py, || match len {
            Some(len) => self.group.add_dimension(name, len),
            None => self.group.add_unlimited_dimension(name),
        })?;
        Ok(self.dimension_of(dimension))
    }

    fn add_variable(&self, py: Python<'_>, name: &str, ty: &str, dims: Vec<String>) -> PyResult<Variable> {
        let dims: Vec<_> = dims.iter().map(String::as_str).collect();
        let variable = calls::run(py, || {
            self.group.add_variable_with_type(name, nc_type::of_name(ty, &self.group)?, &dims)
        })?;
        Ok(self.variable_of(variable))
    }

    /// Adds a compound; fields are `(name, type, shape)`.
    fn add_compound(
        &self,
        py: Python<'_>,
        name: &str,
        fields: Vec<(String, String, Vec<u32>)>,
    ) -> PyResult<()> {
        calls::run(py, || types::add_compound(&self.group, name, &fields))
    }

    /// Adds an enum; members are `(name, value)`.
    fn add_enum(&self, py: Python<'_>, name: &str, base: &str, members: Vec<(String, i128)>) -> PyResult<()> {
        calls::run(py, || types::add_enum(&self.group, name, base, &members))
    }

    fn add_opaque(&self, py: Python<'_>, name: &str, size: usize) -> PyResult<()> {
        calls::run(py, || self.group.add_opaque(name, size).map(drop))
    }

    fn add_vlen(&self, py: Python<'_>, name: &str, base: &str) -> PyResult<()> {
        calls::run(py, || self.group.add_vlen(name, nc_type::of_name(base, &self.group)?).map(drop))
    }

    fn rename(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        calls::run(py, || self.group.rename(name).map(drop))
    }
}
