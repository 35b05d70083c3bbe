//! Rc files, and settings that a program makes in place of them (`nc_rc_set`).
//!
//! Every map reads its settings by [`RcFile::load`], so a setting of the program counts for datasets that are
//! opened afterwards. The reader of files is the same, so a program gets the value that the library uses.

use std::ffi::c_char;
use std::{env, ptr};

use nczarr::{Error, ErrorKind, Result};
use nczarr_runtime::RcFile;

use crate::boundary::memory;
use crate::boundary::pointer::TextPtr;

c_functions! {
    /// Makes a setting for this process. It has precedence over files.
    fn nc_rc_set(key: TextPtr, value: TextPtr) {
        if env::var_os("NCRCENV_IGNORE").is_some() {
            return Ok(());
        }
        let (key, value) = (text(&key, "key")?, text(&value, "value")?);
        RcFile::set_for_process(&key, &value);
        Ok(())
    }
}

// Returns the value of a key, which the caller frees, or null.
export_value!("nc_rc_get", (key: TextPtr) -> *mut c_char, rc_get(&key));

fn rc_get(key: &TextPtr) -> *mut c_char {
    let mut value = ptr::null_mut();
    let found = crate::boundary::guard(|| {
        let key = text(key, "key")?;
        let rc = RcFile::load(&|name| env::var(name).ok())?;
        if let Some(found) = rc.get_exactly(&key) {
            value = memory::copy_text(found.as_bytes())?;
        }
        Ok(())
    });
    if found == 0 { value } else { ptr::null_mut() }
}

/// Forgets the settings of the program.
pub fn forget() {
    RcFile::forget_settings_of_process();
}

fn text(text: &TextPtr, what: &str) -> Result<String> {
    let null = || -> Error { ErrorKind::Inval.context(format!("the {what} of an rc setting is null")) };
    Ok(String::from_utf8_lossy(text.bytes().ok_or_else(null)?).into_owned())
}
