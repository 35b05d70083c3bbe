//! Errors: an error of the library becomes an exception of `nczarr.errors`.

use nczarr::Error;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::raised;

/// The function of the Python half that makes an exception.
static EXCEPTION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Makes the exception for an error: the class follows from the kind, and the members from the places.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    make(py, error).unwrap_or_else(|problem| problem)
}

fn make(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let function = EXCEPTION
        .get_or_try_init(py, || PyResult::Ok(py.import("nczarr.errors")?.getattr("_of_native")?.unbind()))?;
    let message = format!("{error:#}");
    let members = (error.kind().name(), error.code(), message, error.path(), error.variable(), error.key());
    let cause = raised::cause_of(py, error);
    if let Some(ending) = &cause
        && raised::ends_program(py, ending)
    {
        return Ok(ending.clone_ref(py));
    }
    let exception = PyErr::from_value(function.bind(py).call1(members)?);
    if cause.is_some() {
        exception.set_cause(py, cause);
    }
    Ok(exception)
}

/// Converts the result of a call.
pub trait IntoPython<T> {
    fn into_python(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> IntoPython<T> for nczarr::Result<T> {
    fn into_python(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error))
    }
}
