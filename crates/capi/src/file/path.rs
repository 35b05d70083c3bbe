//! Paths and URLs from C.

use nczarr::{ErrorKind, Place, Result};

use crate::boundary::pointer::{TextPtr, path_from_bytes};

/// Returns the bytes of a path without leading blanks: `NC_EINVAL` for a null pointer, `NC_EURL` for an empty
/// one.
pub fn bytes(path: &TextPtr) -> Result<&[u8]> {
    let bytes = path.bytes().ok_or_else(|| ErrorKind::Inval.context("the path is null"))?;
    let bytes = bytes.trim_ascii_start();
    if bytes.is_empty() {
        return Err(ErrorKind::Url.context("the path is empty"));
    }
    Ok(bytes)
}

/// Returns the place of a path or URL. Only text with a scheme is a URL.
pub fn place(bytes: &[u8]) -> Place {
    match str::from_utf8(bytes) {
        Ok(text) => Place::from(text),
        Err(_) => Place::path(path_from_bytes(bytes)),
    }
}
