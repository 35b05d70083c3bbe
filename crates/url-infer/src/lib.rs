//! From a path or URL to a [`Target`]: scheme, path, fragment, modes. Opens nothing.
#![forbid(unsafe_code)]

mod target;

pub use target::{Scheme, Target};

/// Parses a path or URL and applies the rules of the fragment: macros, inferences, negations.
///
/// # Errors
/// `NC_EURL` for a malformed URL, `NC_EINVAL` for one that means nothing here.
pub fn parse(_path: &str) -> model::Result<Target> {
    Err(model::ErrorKind::Internal.context("under construction"))
}
