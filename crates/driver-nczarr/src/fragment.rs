//! Options in the fragment of a URL other than `mode=`.

use nczarr_dispatch::{MissingChunks, Options, ZarrFormat};
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

/// Returns the options with the fragment's `missing_chunks` applied: `fill`, `warn` or `error`.
///
/// # Errors
/// `NC_EINVAL` for another word.
pub(crate) fn options(target: &Target, options: &Options) -> Result<Options> {
    let mut options = options.clone();
    options.missing_chunks = match target.get("missing_chunks") {
        None => options.missing_chunks,
        Some("fill") => MissingChunks::Fill,
        Some("warn") => MissingChunks::Warn,
        Some("error") => MissingChunks::Error,
        Some(other) => return Err(invalid_option(target, "missing_chunks", other, "fill, warn or error")),
    };
    Ok(options)
}

fn invalid_option(target: &Target, name: &str, found: &str, expected: &str) -> Error {
    ErrorKind::Inval
        .context(format!("{target}: invalid value of `{name}` (expected {expected}, found {found})"))
}
