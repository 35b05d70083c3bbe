//! [`CopyError`]: the error of a copy, with its side.

use nczarr_model::Error;

/// The error of a copy, with its side.
#[derive(Debug)]
pub enum CopyError {
    Source(Error),
    Target(Error),
    /// A strict copy has losses.
    Strict,
    /// The user interrupted the copy.
    Stopped,
}

impl From<Error> for CopyError {
    /// Errors without an explicit side are the target's.
    fn from(error: Error) -> Self {
        Self::Target(error)
    }
}
