//! What the fragment of a URL asks of this driver, beside `mode=`.

use nczarr_dispatch::{MissingChunks, Options, ZarrFormat};
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_url_infer::Target;

/// The character between the indices of chunk keys of new variables: the fragment's `dimension_separator`, else that of
/// the rc files for V2 (`default`), else a dot, in V3 a slash.
pub(crate) fn separator(target: &Target, format: ZarrFormat, default: Option<char>) -> Result<char> {
    match (target.get("dimension_separator"), default) {
        (None, Some(default)) if format == ZarrFormat::V2 => Ok(default),
        (None, _) => Ok(if format == ZarrFormat::V3 { '/' } else { '.' }),
        (Some("."), _) => Ok('.'),
        (Some("/"), _) => Ok('/'),
        (Some(other), _) => Err(wrong(target, "dimension_separator", other, "'.' or '/'")),
    }
}

/// The options, with what the fragment's `missing_chunks` says of chunks that are not there: `fill`, `warn` or `error`.
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
        Some(other) => return Err(wrong(target, "missing_chunks", other, "fill, warn or error")),
    };
    Ok(options)
}

fn wrong(target: &Target, name: &str, found: &str, expected: &str) -> Error {
    ErrorKind::Inval.context(format!("{target}: {name}={found}: {expected} is wanted"))
}
