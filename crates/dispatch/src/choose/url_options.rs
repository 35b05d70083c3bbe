//! [`options`]: reads options from a URL's fragment and from rc files, for every format.
//!
//! The fragment has precedence over the caller's options, and these over rc files. Rc files apply only to
//! URLs with a host.

use std::borrow::Cow;

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_url_infer::{Scheme, Target};

use crate::{ForbiddenKeys, MissingChunks, Options};
use nczarr_runtime::RcFile;

/// The rc file key for servers without conditional writes.
const EXCLUSIVE: &str = "ZARR.EXCLUSIVE";
/// The rc file key for servers that answer 403 for missing objects.
const FORBIDDEN: &str = "ZARR.FORBIDDEN";

/// Returns the options, changed by the fragment and rc files. `written`: the dataset is created or opened for
/// writing.
///
/// # Errors
/// `NC_EINVAL` for an unknown value, and for `forbidden=absent` if the dataset is written; `NC_ERCFILE` for
/// an unreadable rc file.
pub(super) fn options<'o>(target: &Target, options: &'o Options, written: bool) -> Result<Cow<'o, Options>> {
    let is_far = matches!(target.scheme, Scheme::Http | Scheme::Https | Scheme::S3 | Scheme::Gs3);
    let rc = if is_far { Some(RcFile::load(&|name| std::env::var(name).ok())?) } else { None };
    with_rc(target, options, written, rc.as_ref())
}

fn with_rc<'o>(
    target: &Target,
    options: &'o Options,
    written: bool,
    rc: Option<&RcFile>,
) -> Result<Cow<'o, Options>> {
    let from_rc =
        |key| rc?.get(key, &format!("{}{}", target.host.as_deref().unwrap_or_default(), target.path_text()));
    let wrong = |key: &str, found: &str, expected: &str| -> Error {
        ErrorKind::Inval
            .context(format!("{target}: invalid value of `{key}` (expected {expected}, found {found})"))
    };
    let (mut forbidden, mut exclusive) = (options.forbidden, options.exclusive);
    let asked = target.get("forbidden").map(|value| ("forbidden", value));
    let said = from_rc(FORBIDDEN).filter(|_| !written && forbidden == ForbiddenKeys::Error);
    if let Some((key, value)) = asked.or(said.map(|value| (FORBIDDEN, value))) {
        forbidden = match value.trim() {
            "absent" => ForbiddenKeys::Absent,
            "error" => ForbiddenKeys::Error,
            other => return Err(wrong(key, other, "absent or error")),
        };
    }
    let asked = target.get("exclusive").map(|value| ("exclusive", value));
    let said = from_rc(EXCLUSIVE).filter(|_| !exclusive);
    if let Some((key, value)) = asked.or(said.map(|value| (EXCLUSIVE, value))) {
        exclusive = match &*value.trim().to_ascii_lowercase() {
            "true" | "yes" | "1" => true,
            "false" | "no" | "0" => false,
            other => return Err(wrong(key, other, "true or false")),
        };
    }
    if written && forbidden == ForbiddenKeys::Absent {
        return Err(ErrorKind::Inval.context(format!(
            "{target}: forbidden=absent is for read-only datasets: a write would replace objects that count as absent"
        )));
    }
    let missing_chunks = match target.get("missing_chunks") {
        None => options.missing_chunks,
        Some("fill") => MissingChunks::Fill,
        Some("warn") => MissingChunks::Warn,
        Some("error") => MissingChunks::Error,
        Some(other) => return Err(wrong("missing_chunks", other, "fill, warn or error")),
    };
    let given = (options.forbidden, options.exclusive, options.missing_chunks);
    if (forbidden, exclusive, missing_chunks) == given {
        return Ok(Cow::Borrowed(options));
    }
    Ok(Cow::Owned(Options { forbidden, exclusive, missing_chunks, ..options.clone() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fragment_comes_before_the_options_and_these_before_rc_files() {
        let mut rc = RcFile::default();
        rc.add("ZARR.FORBIDDEN=absent\n[https://h/shared]ZARR.EXCLUSIVE=yes\n[https://h/bad]ZARR.EXCLUSIVE=perhaps\n");
        let found = |url: &str, written: bool, options: &Options, rc: &RcFile| {
            let target = nczarr_url_infer::parse(url).unwrap();
            let found = with_rc(&target, options, written, Some(rc)).map(Cow::into_owned);
            found.map(|found| (found.forbidden == ForbiddenKeys::Absent, found.exclusive))
        };
        let (plain, mut alone) = (Options::default(), Options::default());
        alone.exclusive = true;
        let none = RcFile::default();
        for (url, written, options, rc, expected) in [
            ("https://h/x", false, &plain, &none, (false, false)),
            ("https://h/x", false, &plain, &rc, (true, false)),
            ("https://h/x", true, &plain, &rc, (false, false)),
            ("https://h/x#forbidden=error", false, &plain, &rc, (false, false)),
            ("https://h/x#forbidden=absent", false, &plain, &none, (true, false)),
            ("https://h/shared/x", true, &plain, &rc, (false, true)),
            ("https://h/shared/x#exclusive=false", true, &plain, &rc, (false, false)),
            ("https://h/x", true, &alone, &none, (false, true)),
            ("https://h/x#exclusive=false", true, &alone, &none, (false, false)),
            ("x.zarr#mode=zarr&exclusive=true", true, &plain, &none, (false, true)),
        ] {
            assert_eq!(found(url, written, options, rc).unwrap(), expected, "{url}");
        }
        for (url, written) in [
            ("https://h/x#forbidden=maybe", false),
            ("https://h/bad", true),
            ("https://h/x#forbidden=absent", true),
        ] {
            assert_eq!(found(url, written, &plain, &rc).unwrap_err().kind(), ErrorKind::Inval, "{url}");
        }
    }
}
