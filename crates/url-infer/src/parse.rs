//! [`parse`]: path or URL to [`Target`].
//!
//! * A URL is `scheme://…` with a scheme of two letters or more, or `file:/path`. Everything else is a path:
//!   `C:\x`, `a:b.nc`, `file:x`.
//! * A URL's fragment starts at its first `#` or `\#`, which some shells produce. Brackets before a URL,
//!   `[key=value]`, are the older form of a fragment.
//! * A `file:` URL has neither host nor query. The path is the text between `file://` and the `#`, and is
//!   relative if it does not start with `/`. The function percent-decodes the path, and keeps a `%` without
//!   two hex digits.
//! * A plain path's fragment follows its last `#`, if it looks like a fragment (`x.zarr#mode=zarr`,
//!   `x#zarr`). The function opens nothing to decide this. For a file with such a name, append a fragment
//!   (`x#zarr#mode=nczarr`).
//!
//! Source: RFC 3986 for the parts of a URL; NCZarr manual and netCDF-C for the rest.

use std::borrow::Cow;
use std::path::Path;

use nczarr_model::{ErrorKind, Result};

use crate::fragment::{Fragment, looks_like_fragment};
use crate::{Scheme, Target, rules};

/// Parses a path or URL and applies the rules of the fragment: macros, inferences, negations.
///
/// # Errors
/// `NC_EURL` for a malformed URL, `NC_EINVAL` for a path with a NUL byte, `NC_ENOTBUILT` for DAP, which is
/// not supported.
///
/// # Examples
/// ```
/// let target = nczarr_url_infer::parse("file:///data/x.zarr#zarr&log")?;
/// assert_eq!(target.path_text(), "/data/x.zarr");
/// assert_eq!(target.modes, ["zarr", "nczarr"]);
/// assert_eq!(target.get("log"), Some(""));
/// assert_eq!(nczarr_url_infer::parse("dir/x.nc")?.path_text(), "dir/x.nc");
/// # Ok::<(), nczarr_model::Error>(())
/// ```
pub fn parse(text: &str) -> Result<Target> {
    url(text, &[])
}

/// As [`parse`], with more words of `mode`.
pub(crate) fn url(text: &str, modes: &[String]) -> Result<Target> {
    check_text(text.as_bytes())?;
    let (target, fragment) = match with_scheme(text.trim())? {
        Some(parsed) => parsed,
        None => plain(text)?,
    };
    finish(target, fragment, modes)
}

/// Makes the target of a path, which is not parsed.
pub(crate) fn path(path: &Path, modes: &[String]) -> Result<Target> {
    check_text(path.as_os_str().as_encoded_bytes())?;
    finish(blank(Scheme::Path, path), Fragment::default(), modes)
}

/// Whether text starts with a scheme and `://`, or with `file:/`.
pub(crate) fn is_url(text: &str) -> bool {
    // Without a slash behind the colon it may be the name of a file.
    scheme(text).is_some_and(|(_, rest)| rest.starts_with('/'))
}

fn check_text(text: &[u8]) -> Result<()> {
    if text.is_empty() {
        return Err(ErrorKind::Url.context("the path is empty"));
    }
    check_nul(text)
}

fn check_nul(text: &[u8]) -> Result<()> {
    if text.contains(&0) {
        return Err(ErrorKind::Inval.context("the path has a NUL byte"));
    }
    Ok(())
}

/// Applies the rules of scheme, fragment and modes.
fn finish(mut target: Target, mut fragment: Fragment, modes: &[String]) -> Result<Target> {
    fragment.modes.extend(modes.iter().map(|mode| mode.to_lowercase()));
    scheme_modes(&mut target, &mut fragment);
    target.steps.append(&mut fragment.steps);
    target.modes = fragment.modes;
    target.fragment = fragment.pairs;
    rules::apply(&mut target.modes, &mut target.steps);
    match target.modes.iter().find(|mode| matches!(mode.as_str(), "dap2" | "dap4")) {
        Some(dap) => Err(ErrorKind::NotBuilt.context(format!(
            "{}: the protocol {dap} is not supported; ask the server for netCDF or Zarr instead",
            place(&target)
        ))),
        None => Ok(target),
    }
}

/// Returns scheme, host and path, for messages.
fn place(target: &Target) -> String {
    Target { modes: Vec::new(), ..target.clone() }.to_string()
}

fn blank(scheme: Scheme, path: impl AsRef<Path>) -> Target {
    Target {
        scheme,
        path: path.as_ref().to_owned(),
        host: None,
        user_info: None,
        query: None,
        fragment: Vec::new(),
        modes: Vec::new(),
        steps: Vec::new(),
    }
}

/// Parses a plain path and its fragment.
fn plain(text: &str) -> Result<(Target, Fragment)> {
    let mut fragment = Fragment::default();
    if let Some((path, tail)) = text.rsplit_once('#')
        && looks_like_fragment(tail)
        && let path = path.strip_suffix('\\').unwrap_or(path)
        && !path.is_empty()
    {
        fragment.add(tail)?;
        let mut target = blank(Scheme::Path, path);
        target.steps.push(format!("a path with the fragment #{}", shown(tail)).into());
        return Ok((target, fragment));
    }
    Ok((blank(Scheme::Path, text), fragment))
}

/// The keys and words of a fragment, for messages: values other than modes may be secrets.
fn shown(fragment: &str) -> String {
    let piece = |piece: &str| match piece.split_once('=') {
        Some((key, _)) if !key.eq_ignore_ascii_case("mode") => format!("{key}=…"),
        _ => piece.to_owned(),
    };
    fragment.split('&').map(piece).collect::<Vec<_>>().join("&")
}

/// A URL; `None` if `text` is none.
fn with_scheme(text: &str) -> Result<Option<(Target, Fragment)>> {
    let (brackets, rest) = brackets(text);
    let Some((scheme, rest)) = scheme(rest) else { return Ok(None) };
    let mut fragment = Fragment::default();
    for inside in &brackets {
        fragment.add(inside)?;
    }
    let (rest, tail) = match rest.split_once('#') {
        Some((rest, tail)) => (rest.strip_suffix('\\').unwrap_or(rest), Some(tail)),
        None => (rest, None),
    };
    let mut target = match &scheme {
        Scheme::File => blank(scheme, file_path(rest)?),
        _ => remote(scheme, rest)?,
    };
    if !brackets.is_empty() {
        target.steps.push("brackets before the URL are read as its fragment".into());
    }
    if let Some(tail) = tail {
        fragment.add(tail).map_err(|error| error.at(place(&target)))?;
    }
    Ok(Some((target, fragment)))
}

/// Splits leading brackets and their contents from the rest.
fn brackets(mut text: &str) -> (Vec<&str>, &str) {
    let mut inside = Vec::new();
    while let Some((content, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        inside.push(content);
        text = rest;
    }
    (inside, text)
}

/// Splits the scheme from the text after the colon; `None` if `text` is not a URL.
fn scheme(text: &str) -> Option<(Scheme, &str)> {
    let (name, rest) = text.split_once(':')?;
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    if name.len() < 2 || !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(legal) {
        return None;
    }
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    let has_place = rest.starts_with("//") || (is("file") && (rest.starts_with('/') || has_drive(rest)));
    has_place.then(|| {
        let known = [Scheme::File, Scheme::Http, Scheme::Https, Scheme::S3, Scheme::Gs3];
        let scheme = known.into_iter().find(|known| known.name().is_some_and(is));
        let scheme = scheme.unwrap_or_else(|| Scheme::Other(name.to_ascii_lowercase()));
        (scheme, rest)
    })
}

fn has_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// Parses the path of a `file:` URL from the text after the colon.
fn file_path(rest: &str) -> Result<Cow<'_, Path>> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    // `file:///C:/x` is `C:/x` on systems with drives; elsewhere `/C:/x` is an ordinary path.
    let path = match path.strip_prefix('/') {
        Some(drive) if cfg!(windows) && has_drive(drive) => drive,
        _ => path,
    };
    if path.is_empty() {
        return Err(ErrorKind::Url.context("the file: URL has no path"));
    }
    let bytes: Cow<'_, [u8]> = percent_encoding::percent_decode_str(path).into();
    check_nul(&bytes)?;
    path_of_bytes(bytes)
}

#[cfg(unix)]
fn path_of_bytes(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, Path>> {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

    Ok(match bytes {
        Cow::Borrowed(bytes) => Cow::Borrowed(Path::new(OsStr::from_bytes(bytes))),
        Cow::Owned(bytes) => Cow::Owned(OsString::from_vec(bytes).into()),
    })
}

#[cfg(not(unix))]
fn path_of_bytes(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, Path>> {
    let text = String::from_utf8(bytes.into_owned());
    let text = text.map_err(|_| ErrorKind::Url.context("the path of the file: URL is not UTF-8"))?;
    Ok(Cow::Owned(text.into()))
}

/// Parses a URL with a host from the text after the colon.
fn remote(scheme: Scheme, rest: &str) -> Result<Target> {
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query.to_owned())),
        None => (rest, None),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // The last `@`: a password may contain one, and must not be taken as the host and printed.
    let (user_info, host) = match authority.rsplit_once('@') {
        Some((user_info, host)) => (Some(user_info.to_owned()), host),
        None => (None, authority),
    };
    check_host(&scheme, host, path)?;
    Ok(Target { host: (!host.is_empty()).then(|| host.to_owned()), user_info, query, ..blank(scheme, path) })
}

/// Rejects impossible hosts. Errors do not repeat the text, because it may be part of a password.
fn check_host(scheme: &Scheme, host: &str, path: &str) -> Result<()> {
    let bad = |what: &str| {
        Err(ErrorKind::Url.context(format!("{}: URL: {what}", scheme.name().unwrap_or_default())))
    };
    let (name, port) = match host.strip_prefix('[') {
        Some(six) => match six.split_once(']') {
            Some((name, "")) => (name, None),
            Some((name, port)) => match port.strip_prefix(':') {
                Some(port) => (name, Some(port)),
                None => return bad("text between the bracketed address and the port"),
            },
            None => return bad("the bracket of the host is not closed"),
        },
        None => match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        },
    };
    if let Some(port) = port
        && !(port.bytes().all(|c| c.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port != 0))
    {
        return bad("the port is not a number from 1 to 65535");
    }
    if name.contains(|c: char| c.is_control() || c.is_whitespace() || "\\<>\"{}|^`".contains(c)) {
        return bad("the host has a character no host can have");
    }
    match scheme {
        // A foreign scheme may have no host, but the URL must name an object.
        Scheme::Other(_) if name.is_empty() && (port.is_some() || path.is_empty()) => bad("it names nothing"),
        Scheme::Other(_) => Ok(()),
        _ if name.is_empty() => bad("it has no host"),
        _ => Ok(()),
    }
}

/// Adds the mode that the scheme or host implies.
fn scheme_modes(target: &mut Target, fragment: &mut Fragment) {
    let (mode, why) = match &target.scheme {
        Scheme::S3 => ("s3", "scheme s3:".to_owned()),
        Scheme::Gs3 => ("gs3", "scheme gs3:".to_owned()),
        Scheme::Other(name) if name == "dods" => ("dap2", "scheme dods:".to_owned()),
        Scheme::Other(name) if name == "dap4" => ("dap4", "scheme dap4:".to_owned()),
        Scheme::Http | Scheme::Https => {
            let host = target.host.as_deref().unwrap_or_default().to_ascii_lowercase();
            let host = host.split(':').next().unwrap_or_default();
            // A URL with an explicit way of access is not changed.
            let named = ["bytes", "http", "file", "zip", "s3", "gs3", "dap2", "dap4"];
            if fragment.modes.iter().any(|mode| named.contains(&mode.as_str())) {
                return;
            }
            match host {
                "storage.googleapis.com" => ("gs3", format!("host {host}")),
                _ if host.ends_with(".amazonaws.com") => ("s3", format!("host {host}")),
                _ => return,
            }
        }
        _ => return,
    };
    if !fragment.modes.iter().any(|have| have == mode) {
        target.steps.push(format!("{why} implies mode {mode}").into());
        fragment.modes.push(mode.to_owned());
    }
}
