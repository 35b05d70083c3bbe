//! [`options`]: the options in a URL's fragment and in rc files, for every format.
//!
//! The fragment comes first, then the caller's options, then the rc files. Only a URL with a host is looked up in rc files.

use std::borrow::Cow;

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_url_infer::{Scheme, Target};

use crate::{ForbiddenKeys, Options, Rc};

/// The key of rc files for a server without conditional writes.
const EXCLUSIVE: &str = "ZARR.EXCLUSIVE";
/// The key of rc files for a server that answers 403 for what it does not have.
const FORBIDDEN: &str = "ZARR.FORBIDDEN";

/// The options, with what fragment and rc files say. `written`: the dataset is created, or opened for writing.
///
/// # Errors
/// `NC_EINVAL` for a value that has no meaning, and for `forbidden=absent` where the dataset is written; `NC_ERCFILE`
/// for an rc file that cannot be read.
pub(super) fn options<'o>(target: &Target, options: &'o Options, written: bool) -> Result<Cow<'o, Options>> {
    let is_far = matches!(target.scheme, Scheme::Http | Scheme::Https | Scheme::S3 | Scheme::Gs3);
    let rc = if is_far { Rc::load(&|name| std::env::var(name).ok())? } else { Rc::default() };
    with_rc(target, options, written, &rc)
}

fn with_rc<'o>(target: &Target, options: &'o Options, written: bool, rc: &Rc) -> Result<Cow<'o, Options>> {
    let place = format!("{}{}", target.host.as_deref().unwrap_or_default(), target.path);
    let wrong = |key: &str, found: &str, expected: &str| -> Error {
        ErrorKind::Inval.context(format!("{target}: {key}={found}: {expected} is expected"))
    };
    let (mut forbidden, mut exclusive) = (options.forbidden, options.exclusive);
    let asked = target.get("forbidden").map(|value| ("forbidden", value));
    let said = rc.get(FORBIDDEN, &place).filter(|_| !written && forbidden == ForbiddenKeys::Error);
    if let Some((key, value)) = asked.or(said.map(|value| (FORBIDDEN, value))) {
        forbidden = match value.trim() {
            "absent" => ForbiddenKeys::Absent,
            "error" => ForbiddenKeys::Error,
            other => return Err(wrong(key, other, "absent or error")),
        };
    }
    let asked = target.get("exclusive").map(|value| ("exclusive", value));
    let said = rc.get(EXCLUSIVE, &place).filter(|_| !exclusive);
    if let Some((key, value)) = asked.or(said.map(|value| (EXCLUSIVE, value))) {
        exclusive = match &*value.trim().to_ascii_lowercase() {
            "true" | "yes" | "1" => true,
            "false" | "no" | "0" => false,
            other => return Err(wrong(key, other, "true or false")),
        };
    }
    if written && forbidden == ForbiddenKeys::Absent {
        return Err(ErrorKind::Inval.context(format!(
            "{target}: forbidden=absent is for datasets that are only read: what is taken for absent would be written over"
        )));
    }
    if (forbidden, exclusive) == (options.forbidden, options.exclusive) {
        return Ok(Cow::Borrowed(options));
    }
    Ok(Cow::Owned(Options { forbidden, exclusive, ..options.clone() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fragment_comes_before_the_options_and_these_before_rc_files() {
        let mut rc = Rc::default();
        rc.add("ZARR.FORBIDDEN=absent\n[https://h/shared]ZARR.EXCLUSIVE=yes\n[https://h/bad]ZARR.EXCLUSIVE=perhaps\n");
        let found = |url: &str, written: bool, options: &Options, rc: &Rc| {
            let target = nczarr_url_infer::parse(url).unwrap();
            let found = with_rc(&target, options, written, rc).map(Cow::into_owned);
            found.map(|found| (found.forbidden == ForbiddenKeys::Absent, found.exclusive))
        };
        let (plain, mut alone) = (Options::default(), Options::default());
        alone.exclusive = true;
        let none = Rc::default();
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
        for (url, written) in
            [("https://h/x#forbidden=maybe", false), ("https://h/bad", true), ("https://h/x#forbidden=absent", true)]
        {
            assert_eq!(found(url, written, &plain, &rc).unwrap_err().kind(), ErrorKind::Inval, "{url}");
        }
    }
}
