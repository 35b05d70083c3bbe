//! The memory of Python's buffers, for threads that do not hold the interpreter.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

/// Writable memory of a Python buffer. The buffer is held, so the memory stays where it is.
pub struct Target<'b>(&'b PyBuffer<u8>);

// SAFETY: a contiguous buffer is memory that no interpreter state guards. Python's rule for other threads
// that use it meanwhile is the same as numpy's: the values are undefined, the memory is not.
unsafe impl Send for Target<'_> {}

impl<'b> Target<'b> {
    /// The memory of a buffer, which must be contiguous and writable.
    pub fn new(buffer: &'b PyBuffer<u8>) -> PyResult<Self> {
        contiguous(buffer)?;
        if buffer.readonly() {
            return Err(PyBufferError::new_err("the memory of a read must be writable"));
        }
        Ok(Self(buffer))
    }

    /// The bytes.
    pub fn memory(&mut self) -> &mut [u8] {
        if self.0.len_bytes() == 0 {
            return &mut [];
        }
        // SAFETY: the buffer is not empty, writable and contiguous, as `new` checks, and held by `self`.
        unsafe { std::slice::from_raw_parts_mut(self.0.buf_ptr().cast(), self.0.len_bytes()) }
    }
}

/// Memory of a Python buffer that is only read.
pub struct Source<'b>(&'b PyBuffer<u8>);

// SAFETY: as for `Target`.
unsafe impl Send for Source<'_> {}

impl<'b> Source<'b> {
    /// The memory of a buffer, which must be contiguous.
    pub fn new(buffer: &'b PyBuffer<u8>) -> PyResult<Self> {
        contiguous(buffer)?;
        Ok(Self(buffer))
    }

    /// The bytes.
    pub fn memory(&self) -> &[u8] {
        if self.0.len_bytes() == 0 {
            return &[];
        }
        // SAFETY: the buffer is not empty, contiguous, as `new` checks, and held by `self`.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast(), self.0.len_bytes()) }
    }
}

fn contiguous(buffer: &PyBuffer<u8>) -> PyResult<()> {
    if buffer.is_c_contiguous() {
        return Ok(());
    }
    Err(PyBufferError::new_err("the memory of a transfer must be contiguous"))
}
