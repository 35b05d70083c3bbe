//! [`is_timeout`]: errors of the system that mean "no answer in time".

use std::error::Error;
use std::io;

/// Whether an error, or one of its causes, is a system error for an answer that did not come in time.
///
/// ```
/// use std::io::{Error, ErrorKind};
///
/// assert!(nczarr_runtime::is_timeout(&Error::other(Error::from(ErrorKind::TimedOut))));
/// assert!(!nczarr_runtime::is_timeout(&Error::from(ErrorKind::ConnectionRefused)));
/// ```
pub fn is_timeout(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        next = error.source();
        let Some(system) = error.downcast_ref::<io::Error>() else { continue };
        if system.kind() == io::ErrorKind::TimedOut {
            return true;
        }
        // The inner error of a system error is not its source.
        if let Some(inner) = system.get_ref() {
            next = Some(inner);
        }
    }
    false
}
