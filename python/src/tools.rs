//! Functions beside open datasets.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use nczarr::storage::{Key, ZMapExt};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::calls;
use crate::options::PlaceArgument;

/// Deletes a dataset; refuses anything else.
#[pyfunction]
pub fn delete(py: Python<'_>, place: PlaceArgument) -> PyResult<()> {
    match place.place(py, true)? {
        (place, None) => calls::run(py, || nczarr::delete(place)),
        // Only a dataset opens.
        (place, Some(map)) => calls::run(py, || {
            nczarr::OpenOptions::new().map(Arc::clone(&map)).open(place)?.close()?;
            map.keys(&Key::root())?.iter().try_for_each(|key| map.delete(key).map(drop))
        }),
    }
}

/// Returns the reasons for the choice of driver and storage, as a dict.
#[pyfunction]
pub fn explain(py: Python<'_>, place: PlaceArgument) -> PyResult<Bound<'_, PyDict>> {
    let (place, map) = place.place(py, false)?;
    if map.is_some() {
        return Err(PyTypeError::new_err("a map in Python has no location to explain"));
    }
    let explanation = calls::run(py, || nczarr::explain(place))?;
    let members = PyDict::new(py);
    members.set_item("scheme", explanation.scheme)?;
    members.set_item("path", explanation.path)?;
    members.set_item("modes", explanation.modes)?;
    members.set_item("steps", explanation.steps)?;
    members.set_item("driver", explanation.driver)?;
    members.set_item("notes", explanation.dataset.map(|dataset| dataset.notes))?;
    members.set_item("problem", explanation.problem.map(|problem| format!("{problem:#}")))?;
    Ok(members)
}

/// Runs the program `ncz` with these arguments, and returns its exit code. It ends the process for `--help`
/// and for wrong usage, so it needs a process of its own.
#[pyfunction]
pub fn ncz(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let command_line = std::iter::once(OsString::from("ncz")).chain(arguments);
    let code = py.detach(|| nczarr_cli::main_of(command_line, std::convert::identity));
    // The code of a process can be compared, but not converted to a number.
    (0..=u8::MAX).find(|&number| ExitCode::from(number) == code).unwrap_or(1)
}

/// The version of the library.
#[pyfunction]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
