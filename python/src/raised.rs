//! Exceptions that Python code of a map raised: they travel through the library as the cause of an error.

use std::error::Error as StdError;
use std::fmt;

use nczarr::{Error, ErrorKind};
use pyo3::exceptions::{PyException, PyPermissionError, PyTimeoutError};
use pyo3::prelude::*;

/// An exception as the cause of an error.
#[derive(Debug)]
struct Raised {
    exception: PyErr,
    text: String,
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for Raised {}

/// Makes the error for an exception of a method at a place.
pub fn error(py: Python<'_>, place: String, method: &str, exception: PyErr) -> Error {
    let kind = if exception.is_instance_of::<PyPermissionError>(py) {
        ErrorKind::Access
    } else if exception.is_instance_of::<PyTimeoutError>(py) {
        ErrorKind::Timeout
    } else {
        ErrorKind::Io
    };
    let text = exception.to_string();
    kind.context(format!("{place}: {method} failed")).caused_by(Raised { exception, text })
}

/// Returns the exception that caused an error, if Python code raised one.
pub fn cause_of(py: Python<'_>, error: &Error) -> Option<PyErr> {
    let mut cause = error.source();
    while let Some(found) = cause {
        if let Some(raised) = found.downcast_ref::<Raised>() {
            return Some(raised.exception.clone_ref(py));
        }
        cause = found.source();
    }
    None
}

/// Whether an exception ends the program rather than an operation, such as that of Ctrl-C.
pub fn ends_program(py: Python<'_>, exception: &PyErr) -> bool {
    !exception.is_instance_of::<PyException>(py)
}
