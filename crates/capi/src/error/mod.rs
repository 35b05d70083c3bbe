//! Codes of errors, their texts, and the message of the last error of a thread.

mod texts;

use std::cell::RefCell;
use std::error::Error as StdError;
use std::ffi::{CStr, CString, c_char, c_int};
use std::io;
use std::ptr;

use nczarr::{Error, ErrorKind};

use crate::boundary::memory;
use crate::user_format::TableCode;

thread_local! {
    /// The message of the last failed call of this thread.
    static LAST: RefCell<Option<CString>> = const { RefCell::new(None) };
}

/// Keeps the message of an error for [`last_message`], and returns its code.
pub fn record(error: &Error) -> c_int {
    let mut message = format!("{error:#}").into_bytes();
    message.retain(|&byte| byte != 0);
    // A thread that ends, or a program that exits, has lost its storage.
    let _ = LAST.try_with(|last| *last.borrow_mut() = CString::new(message).ok());
    code_of(error)
}

/// Returns the code of an error. Errors of the system have their positive number, and those of user-defined
/// formats the code of their table.
pub fn code_of(error: &Error) -> c_int {
    if let Some(code) = cause(error, |cause| cause.downcast_ref::<TableCode>().map(|code| code.0)) {
        return code;
    }
    let system = || system_code(error);
    match error.kind() {
        ErrorKind::NotFound => system().unwrap_or(libc::ENOENT),
        ErrorKind::Access => system().unwrap_or(libc::EACCES),
        ErrorKind::Io => system().unwrap_or(ErrorKind::Io.code()),
        // They have no code in netCDF.
        ErrorKind::Timeout => libc::ETIMEDOUT,
        ErrorKind::Cancelled => libc::ECANCELED,
        kind => kind.code(),
    }
}

fn system_code(error: &Error) -> Option<c_int> {
    cause(error, |cause| cause.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error))
}

/// Returns a property of the first cause that has it.
fn cause<T>(error: &Error, property: impl Fn(&(dyn StdError + 'static)) -> Option<T>) -> Option<T> {
    let mut cause = error.source();
    while let Some(found) = cause {
        let value = property(found);
        if value.is_some() {
            return value;
        }
        cause = found.source();
    }
    None
}

/// Makes an error with the code of a system error.
pub fn system_error(what: impl Into<String>, code: c_int) -> Error {
    Error::io(what, io::Error::from_raw_os_error(code))
}

/// Returns the text of a code.
fn text(code: c_int) -> *const c_char {
    let text: &'static CStr = texts::of_code(code);
    if code > 0 { memory::system_text(code) } else { text.as_ptr() }
}

/// Returns the text of a code.
pub fn text_of(code: c_int) -> String {
    if code > 0 {
        return io::Error::from_raw_os_error(code).to_string();
    }
    texts::of_code(code).to_string_lossy().into_owned()
}

fn last_message() -> *const c_char {
    let message =
        LAST.try_with(|last| last.borrow().as_ref().map_or(ptr::null(), |message| message.as_ptr()));
    message.unwrap_or(ptr::null())
}

export_value!("nc_strerror", (code: c_int) -> *const c_char, text(code));
// An extension: the message of the last failed call of this thread, with path, variable and cause. It is null
// before the first error, and valid until the next failed call of the thread.
export_value!("ncz_last_error", () -> *const c_char, last_message());
