//! [`Forbidden`]: marks the error for a key that the storage refuses and that may not exist.
//!
//! A server that forbids listing answers 403 for a missing key. So a 403 does not show whether the key
//! exists. A map marks such an error with [`Forbidden`], and the code that opens a dataset decides.

use std::fmt;

use nczarr_model::Error;

/// The cause of an error for a key that the storage refused, whether or not it exists.
///
/// ```
/// use nczarr_storage::Forbidden;
/// use nczarr_model::ErrorKind;
///
/// let error = ErrorKind::Auth.context("the server answered 403").caused_by(Forbidden);
/// assert!(Forbidden::is_cause_of(&error));
/// assert!(Forbidden::with_advice(error).to_string().contains("forbidden=absent"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forbidden;

impl Forbidden {
    /// Whether an error has this cause.
    pub fn is_cause_of(error: &Error) -> bool {
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause {
            if error.is::<Self>() {
                return true;
            }
            cause = error.source();
        }
        false
    }

    /// Adds advice about the option `forbidden=absent` to the error of reading one object.
    #[must_use]
    pub fn with_advice(error: Error) -> Error {
        if !Self::is_cause_of(&error) {
            return error;
        }
        let what =
            format!("{}; if the key does not exist, forbidden=absent reads it as absent", error.what());
        error.kind().context(what).caused_by(Self)
    }
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a server that does not allow listing answers so for keys that do not exist")
    }
}

impl std::error::Error for Forbidden {}
