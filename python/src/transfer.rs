//! The data of a variable: between its storage and the memory of a Python buffer, without a copy between.

use nczarr::{ErrorKind, MemMut, MemRef, NcString, NcType, OutBuf, Result};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error::IntoPython;
use crate::memory::{Source, Target};
use crate::selection::Part;
use crate::variable::Variable;
use crate::{calls, items, nc_type, values};

#[pymethods]
impl Variable {
    /// Reads a part into a writable buffer of bytes, as elements of an atomic type, or of the variable's own
    /// type without one.
    fn read_into(&self, py: Python<'_>, part: Part, buffer: PyBuffer<u8>, ty: Option<&str>) -> PyResult<()> {
        let mut target = Target::new(&buffer)?;
        let bytes = buffer.len_bytes();
        calls::transfer(py, bytes, self.file.is_remote(), move || {
            let ty = self.memory_type(ty)?;
            let mut out = OutBuf::from_slice(target.memory());
            self.variable.read(&part.slab(), MemMut::Fixed { ty, out: &mut out })
        })
    }

    /// Writes a part from a buffer of bytes, as `read_into` reads it.
    fn write(&self, py: Python<'_>, part: Part, buffer: PyBuffer<u8>, ty: Option<&str>) -> PyResult<()> {
        let source = Source::new(&buffer)?;
        let bytes = buffer.len_bytes();
        calls::transfer(py, bytes, self.file.is_remote(), move || {
            let source = source;
            let ty = self.memory_type(ty)?;
            self.variable.write(&part.slab(), MemRef::Fixed { ty, bytes: source.memory() })
        })
    }

    /// Reads strings: a list of `str`, in C order.
    fn read_strings<'py>(&self, py: Python<'py>, part: Part) -> PyResult<Bound<'py, PyList>> {
        let strings =
            calls::transfer(py, 0, self.file.is_remote(), || self.variable.get_nc_strings(part.extents()))?;
        values::strings_to_python(py, strings.as_slice())
    }

    /// Writes strings from any iterable of `str` or `bytes`.
    fn write_strings(&self, py: Python<'_>, part: Part, strings: &Bound<'_, PyAny>) -> PyResult<()> {
        let strings = strings.try_iter()?.map(|text| values::string_of_python(&text?));
        let strings = strings.collect::<PyResult<Vec<_>>>()?;
        calls::transfer(py, 0, self.file.is_remote(), || {
            self.variable.write(&part.slab(), MemRef::Strings(&strings))
        })
    }

    /// Reads elements of a type without a fixed size: a list, as `items.rs` describes it.
    fn read_items<'py>(&self, py: Python<'py>, part: Part) -> PyResult<Bound<'py, PyList>> {
        let packed = calls::transfer(py, 0, self.file.is_remote(), || self.read_packed(&part))?;
        let model = self.file.model(py)?;
        let ty = self.file.look(py, || self.variable.nc_type());
        let element = |bytes: &NcString| {
            let item = model.item(ty, bytes.as_bytes()).map_err(|error| error.at(self.variable.full_name()));
            items::to_object(py, &item.into_python(py)?)
        };
        values::grown_list(py, packed.iter().map(element))
    }

    /// Writes elements of a type without a fixed size.
    fn write_items(&self, py: Python<'_>, part: Part, elements: &Bound<'_, PyAny>) -> PyResult<()> {
        let model = self.file.model(py)?;
        let ty = self.file.look(py, || self.variable.nc_type());
        let items = items::of_list(py, &model, ty, elements)?;
        calls::transfer(py, 0, self.file.is_remote(), || self.variable.put_items(&items, part.extents()))
    }
}

impl Variable {
    fn memory_type(&self, name: Option<&str>) -> Result<NcType> {
        name.map_or(Ok(self.variable.nc_type()), nc_type::of_number)
    }

    /// Reads elements of a type without a fixed size, each in one piece. The shape bounds their number, and
    /// too many for the memory are an error.
    fn read_packed(&self, part: &Part) -> Result<Vec<NcString>> {
        let slab = part.slab();
        slab.check(&self.variable.shape()?, |_| false)?;
        let too_many = || {
            let text = format!("{} elements exceed the memory", slab.len());
            ErrorKind::NoMem.context(text).in_variable(self.variable.full_name())
        };
        let count = usize::try_from(slab.len()).map_err(|_| too_many())?;
        let mut packed = Vec::new();
        packed.try_reserve_exact(count).map_err(|error| too_many().caused_by(error))?;
        packed.resize(count, NcString::new());
        self.variable.read(&slab, MemMut::Strings(&mut packed))?;
        Ok(packed)
    }
}
