//! Exports: every function of the library passes through [`guard`].

use std::any::Any;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use nczarr::{ErrorKind, Result};

use crate::error;

/// Runs a call and returns its code. A panic becomes `NC_EINTERNAL` and never reaches C.
pub fn guard(call: impl FnOnce() -> Result<()>) -> c_int {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => error::record(&error),
        Err(panic) => {
            error::record(&ErrorKind::Internal.context(format!("the library panicked: {}", message(&*panic))))
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// Exports a call under a symbol, which may be built with `concat!`.
macro_rules! export {
    ($symbol:expr, ($($arg:ident: $ty:ty),* $(,)?), $call:expr) => {
        const _: () = {
            #[allow(unsafe_code)]
            // SAFETY: no other item of the library has this name.
            #[unsafe(export_name = $symbol)]
            extern "C" fn exported($($arg: $ty),*) -> ::std::ffi::c_int {
                $crate::boundary::guard(|| $call)
            }
        };
    };
}

/// Exports a call that cannot fail and returns its value.
macro_rules! export_value {
    ($symbol:expr, ($($arg:ident: $ty:ty),* $(,)?) -> $result:ty, $call:expr) => {
        const _: () = {
            #[allow(unsafe_code)]
            // SAFETY: no other item of the library has this name.
            #[unsafe(export_name = $symbol)]
            extern "C" fn exported($($arg: $ty),*) -> $result {
                $call
            }
        };
    };
}

/// Defines functions and exports each under its name. They return the code of their result.
macro_rules! c_functions {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        $(#[$doc])*
        #[allow(clippy::too_many_arguments, non_snake_case, reason = "the signature and name of C")]
        pub fn $name($($arg: $ty),*) -> ::nczarr::Result<()> $body

        export!(stringify!($name), ($($arg: $ty),*), $name($($arg),*));
    )*};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_code() {
        assert_eq!(guard(|| panic!("a defect")), ErrorKind::Internal.code());
        assert_eq!(guard(|| Err(ErrorKind::Edge.context("x"))), -57);
        assert_eq!(guard(|| Ok(())), 0);
    }
}
