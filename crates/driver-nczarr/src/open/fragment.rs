//! Options in the fragment of a URL other than `mode=`.

use nczarr_codec::ZarrFormat;
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_url_infer::Target;

/// Returns the separator of chunk indices for new variables.
///
/// The fragment's `dimension_separator` comes first. For V2 the rc files' value (`default`) is next, then a
/// dot. V3 uses a slash.
pub(crate) fn separator(target: &Target, format: ZarrFormat, default: Option<char>) -> Result<char> {
    match (target.get("dimension_separator"), default) {
        (None, Some(default)) if format == ZarrFormat::V2 => Ok(default),
        (None, _) => Ok(if format == ZarrFormat::V3 { '/' } else { '.' }),
        (Some("."), _) => Ok('.'),
        (Some("/"), _) => Ok('/'),
        (Some(other), _) => Err(invalid_option(target, "dimension_separator", other, "'.' or '/'")),
    }
}

fn invalid_option(target: &Target, name: &str, found: &str, expected: &str) -> Error {
    ErrorKind::Inval
        .context(format!("{target}: invalid value of `{name}` (expected {expected}, found {found})"))
}
