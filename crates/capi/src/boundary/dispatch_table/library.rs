//! Tables in shared libraries.

use std::ffi::c_int;

use nczarr::{ErrorKind, Result};

use super::TablePtr;
use crate::error::text_of;

impl TablePtr {
    /// Loads a library for the rest of the process, and calls its function that makes a table.
    ///
    /// A function of netCDF-C 4.10 returns the table. An older one registers its table itself and returns a
    /// code; the result is [`TablePtr::NULL`] then.
    ///
    /// # Errors
    /// `NC_ENOTBUILT` if the library or the function is missing, or the function returned a code other than
    /// 0.
    pub fn of_library(path: &str, function: &str) -> Result<Self> {
        let answer = call(path, function)?;
        match code_in(answer) {
            Some(0) => Ok(Self::NULL),
            Some(code) => {
                let what = format!("function {function} returned {code}: {}", text_of(code));
                Err(ErrorKind::NotBuilt.context(what))
            }
            None => Ok(Self(answer as *const _)),
        }
    }
}

/// Calls a function of a library, which stays loaded.
#[cfg(feature = "format-plugins")]
fn call(path: &str, function: &str) -> Result<usize> {
    use std::error::Error as _;

    let failed = |error: libloading::Error| -> nczarr::Error {
        let reason = error.source().map(|source| format!(": {source}")).unwrap_or_default();
        ErrorKind::NotBuilt.context(format!("function {function}: {error}{reason}"))
    };
    // SAFETY: the user enabled foreign code and named this library.
    let library = unsafe { libloading::Library::new(path) }.map_err(failed)?;
    // SAFETY: the user named the function as one that makes a table, which has no arguments.
    let make = *unsafe { library.get::<unsafe extern "C" fn() -> usize>(function) }.map_err(failed)?;
    // The table and its functions are in the library.
    std::mem::forget(library);
    // SAFETY: as above. A function that returns an `int` sets at least the lower half of the register.
    Ok(unsafe { make() })
}

#[cfg(not(feature = "format-plugins"))]
fn call(_path: &str, _function: &str) -> Result<usize> {
    Err(ErrorKind::NotBuilt.context("the library was built without the feature format-plugins"))
}

/// Returns the code in the answer of a function: no table lies at such an address.
fn code_in(answer: usize) -> Option<c_int> {
    let is_code = c_int::try_from(answer.cast_signed()).is_ok() || u32::try_from(answer).is_ok();
    is_code.then_some(answer as u32 as c_int)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn codes_are_no_addresses() {
        let code = -4321;
        assert_eq!(
            [0, 7, 0xffff_ef1f, code as usize].map(code_in),
            [Some(0), Some(7), Some(code), Some(code)]
        );
        let table = 0u8;
        assert_eq!(code_in(&raw const table as usize), None);
    }
}
