//! The native half of the Python package `nczarr`.
//!
//! The Python half, in `python/nczarr`, has the classes that users see. This half has handles with few
//! methods: they move bytes between the library and Python's buffers, and describe metadata as tuples. Every
//! call that may touch storage releases the interpreter.
#![deny(unsafe_code)]

mod calls;
mod dimension;
mod error;
mod file;
mod fork;
mod group;
mod items;
mod map;
#[allow(unsafe_code)]
mod memory;
mod nc_type;
mod options;
mod raised;
mod selection;
mod tools;
mod transfer;
mod types;
mod values;
mod variable;
mod zarr_types;

use pyo3::prelude::*;

/// The functions and handles for `nczarr/*.py`.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::dimension::Dimension;
    #[pymodule_export]
    use super::file::{File, create, open, open_bytes};
    #[pymodule_export]
    use super::fork::after_fork;
    #[pymodule_export]
    use super::group::Group;
    #[pymodule_export]
    use super::tools::{delete, explain, ncz, version};
    #[pymodule_export]
    use super::variable::Variable;
}
