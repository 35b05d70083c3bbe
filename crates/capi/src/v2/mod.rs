//! The interface of netCDF 2.
//!
//! A function returns -1 on failure and sets `ncerr`. By the flags in `ncopts` it prints a message and ends
//! the program. Both are on at the beginning.

mod att;
mod dim;
mod file;
mod record;
mod var;

use std::ffi::c_int;
use std::process;
use std::sync::atomic::Ordering;

use nczarr::Result;

use crate::boundary::globals::{LAST_ERROR, OPTIONS};
use crate::boundary::guard;
use crate::boundary::pointer::TextPtr;
use crate::error;

const FATAL: c_int = 1;
const VERBOSE: c_int = 2;
/// The code of every error of the system.
const SYSTEM_ERROR: c_int = -31;

/// Runs a call and returns its result, or -1.
fn returned(name: &str, call: impl FnOnce() -> Result<c_int>) -> c_int {
    let mut result = -1;
    let code = guard(|| {
        result = call()?;
        Ok(())
    });
    if code == 0 {
        return result;
    }
    report(name, code, "");
    -1
}

/// Records an error, prints it and ends the program, by `ncopts`.
fn report(name: &str, code: c_int, what: &str) {
    LAST_ERROR.store(if code > 0 { SYSTEM_ERROR } else { code }, Ordering::Relaxed);
    let options = OPTIONS.load(Ordering::Relaxed);
    if options & VERBOSE != 0 {
        let text = if code == 0 { String::new() } else { error::text_of(code) };
        let parts = [name, what, &text].into_iter().filter(|part| !part.is_empty());
        eprintln!("{}", parts.collect::<Vec<_>>().join(": "));
    }
    if options & FATAL != 0 && code != 0 {
        process::exit(options);
    }
}

/// Exports functions that return a number, or -1.
macro_rules! v2_functions {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        $(#[$doc])*
        #[allow(clippy::too_many_arguments, reason = "the signature of C")]
        pub fn $name($($arg: $ty),*) -> ::nczarr::Result<::std::ffi::c_int> $body

        export_value!(
            stringify!($name),
            ($($arg: $ty),*) -> ::std::ffi::c_int,
            $crate::v2::returned(stringify!($name), || $name($($arg),*))
        );
    )*};
}

use v2_functions;

/// Reports an error of a program. The arguments after the format are not printed.
fn advise(name: TextPtr, code: c_int, format: TextPtr) {
    let text = |text: &TextPtr| String::from_utf8_lossy(text.bytes().unwrap_or_default()).into_owned();
    report(&text(&name), code, &text(&format));
}

export_value!("nc_advise", (name: TextPtr, code: c_int, format: TextPtr) -> (), advise(name, code, format));
