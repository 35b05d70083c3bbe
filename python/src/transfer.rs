//! The data of a variable: between its storage and the memory of a Python buffer, without a copy between.

use nczarr::model::Item;
use nczarr::{ErrorKind, MemMut, MemRef, NcString, NcType, OutBuf, Result};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::selection::Part;
use crate::variable::Variable;
use crate::{calls, items, nc_type, values};

/// Writable memory of a Python buffer. The buffer is held, so the memory stays where it is.
struct Target<'b>(&'b PyBuffer<u8>);

// SAFETY: a contiguous buffer is memory that no interpreter state guards. Python's rule for other threads that
// use it meanwhile is the same as numpy's: the values are undefined, the memory is not.
unsafe impl Send for Target<'_> {}

impl Target<'_> {
    fn memory(&mut self) -> &mut [u8] {
        // SAFETY: the buffer is writable and contiguous, as `Variable::read_into` checks, and held by `self`.
        unsafe { std::slice::from_raw_parts_mut(self.0.buf_ptr().cast(), self.0.len_bytes()) }
    }
}

/// Memory of a Python buffer that is only read.
struct Source<'b>(&'b PyBuffer<u8>);

// SAFETY: as for `Target`.
unsafe impl Send for Source<'_> {}

impl Source<'_> {
    fn memory(&self) -> &[u8] {
        // SAFETY: the buffer is contiguous, as `Variable::write` checks, and held by `self`.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast(), self.0.len_bytes()) }
    }
}

fn contiguous(buffer: &PyBuffer<u8>) -> PyResult<()> {
    if buffer.is_c_contiguous() {
        return Ok(());
    }
    Err(PyBufferError::new_err("the memory of a transfer must be contiguous"))
}

#[pymethods]
impl Variable {
    /// Reads a part into a writable buffer of bytes, as elements of an atomic type, or of the variable's own
    /// type without one.
    fn read_into(&self, py: Python<'_>, part: Part, buffer: PyBuffer<u8>, ty: Option<&str>) -> PyResult<()> {
        contiguous(&buffer)?;
        if buffer.readonly() {
            return Err(PyBufferError::new_err("the memory of a read must be writable"));
        }
        let mut target = Target(&buffer);
        let bytes = buffer.len_bytes();
        calls::transfer(py, bytes, self.file.is_remote(), move || {
            let ty = self.memory_type(ty)?;
            let mut out = OutBuf::from_slice(target.memory());
            self.variable.read(&part.slab(), MemMut::Fixed { ty, out: &mut out })
        })
    }

    /// Writes a part from a buffer of bytes, as `read_into` reads it.
    fn write(&self, py: Python<'_>, part: Part, buffer: PyBuffer<u8>, ty: Option<&str>) -> PyResult<()> {
        contiguous(&buffer)?;
        let source = Source(&buffer);
        let bytes = buffer.len_bytes();
        calls::transfer(py, bytes, self.file.is_remote(), move || {
            let source = source;
            let ty = self.memory_type(ty)?;
            self.variable.write(&part.slab(), MemRef::Fixed { ty, bytes: source.memory() })
        })
    }

    /// Reads strings: a list of `str`, in C order.
    fn read_strings<'py>(&self, py: Python<'py>, part: Part) -> PyResult<Bound<'py, PyList>> {
        let strings = calls::transfer(py, 0, self.file.is_remote(), || {
            let mut strings = vec![NcString::default(); self.elements(&part)?];
            self.variable.read(&part.slab(), MemMut::Strings(&mut strings))?;
            Ok(strings)
        })?;
        values::strings_to_python(py, &strings)
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
        let extents = part.extents();
        let items: Vec<Item> =
            calls::transfer(py, 0, self.file.is_remote(), || self.variable.get_items(extents))?;
        items::to_list(py, &items)
    }

    /// Writes elements of a type without a fixed size.
    fn write_items(&self, py: Python<'_>, part: Part, elements: &Bound<'_, PyAny>) -> PyResult<()> {
        let model = crate::error::IntoPython::into_python(self.file.model(), py)?;
        let items = items::of_list(py, &model, self.variable.nc_type(), elements)?;
        let extents = part.extents();
        calls::transfer(py, 0, self.file.is_remote(), || self.variable.put_items(&items, extents))
    }
}

impl Variable {
    fn memory_type(&self, name: Option<&str>) -> Result<NcType> {
        name.map_or(Ok(self.variable.nc_type()), nc_type::of_number)
    }

    /// The number of elements of a part, after a check against the shape: it becomes memory.
    fn elements(&self, part: &Part) -> Result<usize> {
        let shape = self.variable.shape()?;
        let slab = part.slab();
        slab.check(&shape, |_| false)?;
        usize::try_from(slab.len()).map_err(|_| ErrorKind::NoMem.context("the part exceeds the memory"))
    }
}
