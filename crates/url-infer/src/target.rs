//! [`Target`]: a parsed path or URL; nothing has been opened yet.
//!
//! User-info, query and unknown fragment values may be secrets, so neither `Debug` nor `Display` prints them.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use nczarr_model::{ErrorKind, Result};

/// The way of access to a target.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheme {
    /// A plain path without a scheme.
    Path,
    /// `file:`.
    File,
    /// `http:`.
    Http,
    /// `https:`.
    Https,
    /// `s3:`.
    S3,
    /// `gs3:`.
    Gs3,
    /// Any other scheme, in lower case, for instance a map plugin's. The registry knows whether it is
    /// supported.
    Other(String),
}

impl Scheme {
    /// Returns the scheme as written before the colon, in lower case; `None` for a plain path.
    pub fn name(&self) -> Option<&str> {
        Some(match self {
            Self::Path => return None,
            Self::File => "file",
            Self::Http => "http",
            Self::Https => "https",
            Self::S3 => "s3",
            Self::Gs3 => "gs3",
            Self::Other(name) => name,
        })
    }

    /// Whether the target is a path of the local file system.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Path | Self::File)
    }
}

/// A parsed path or URL.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// The way of access.
    pub scheme: Scheme,
    /// For files the path for the system; otherwise the path of the URL, as written.
    pub path: PathBuf,
    /// Host, with its port if given, as written.
    pub host: Option<String>,
    /// User-info of the URL, as written. Never printed.
    pub user_info: Option<String>,
    /// Query of the URL, without the `?`. Never printed.
    pub query: Option<String>,
    /// The fragment's pairs except `mode`: keys in lower case by their main names (`aws.profile`,
    /// `aws.region`), in order.
    pub fragment: Vec<(String, String)>,
    /// The values of `mode` after macros, inferences and negations, in lower case, each once: first the
    /// written ones in order, then the inferred ones.
    ///
    /// `zarr` requests plain Zarr; its driver's word `nczarr` is then present too.
    pub modes: Vec<String>,
    /// The rules that changed something, one line each, for messages.
    pub steps: Vec<Cow<'static, str>>,
}

/// Fragment keys with harmless values.
const PRINTED: &[&str] = &["log", "show", "datetime", "aws.profile", "aws.region"];

impl Target {
    /// Whether `mode` has `value`, given in lower case.
    pub fn has_mode(&self, value: &str) -> bool {
        self.modes.iter().any(|mode| mode == value)
    }

    /// Returns the path as text, for messages and URLs. Bytes of a file's path that are not UTF-8 are
    /// replaced.
    pub fn path_text(&self) -> Cow<'_, str> {
        self.path.to_string_lossy()
    }

    /// Returns the path as text, for names that must be text.
    ///
    /// # Errors
    /// `NC_EURL` if it is not UTF-8.
    pub fn utf8_path(&self) -> Result<&str> {
        let bad = || ErrorKind::Url.context(format!("{self}: the path is not UTF-8"));
        self.path.to_str().ok_or_else(bad)
    }

    /// Returns the value of a fragment key, given in lower case; the last one wins.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.fragment.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

/// Prints location and modes, without user-info, query and the rest of the fragment.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = self.scheme.name() {
            write!(f, "{scheme}://{}", self.host.as_deref().unwrap_or_default())?;
        }
        write!(f, "{}", self.path.display())?;
        if !self.modes.is_empty() {
            write!(f, "#mode={}", self.modes.join(","))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fragment: Vec<(&str, &str)> = self
            .fragment
            .iter()
            .map(|(key, value)| {
                (key.as_str(), if PRINTED.contains(&key.as_str()) { value.as_str() } else { HIDDEN })
            })
            .collect();
        f.debug_struct("Target")
            .field("scheme", &self.scheme)
            .field("path", &self.path)
            .field("host", &self.host)
            .field("user_info", &self.user_info.as_ref().map(|_| HIDDEN))
            .field("query", &self.query.as_ref().map(|_| HIDDEN))
            .field("fragment", &fragment)
            .field("modes", &self.modes)
            .field("steps", &self.steps)
            .finish()
    }
}

const HIDDEN: &str = "(not shown)";

#[cfg(test)]
mod tests {
    use crate::parse;

    #[test]
    fn secrets_are_not_printed() {
        let target = parse(
            "https://me:hush1@h.example/b/k?sig=hush2#mode=zarr,s3&AWS.REGION=eu-1&endpoint=http://u:hush3@e&token=hush4",
        )
        .unwrap();
        assert_eq!(target.user_info.as_deref(), Some("me:hush1"));
        assert_eq!(target.query.as_deref(), Some("sig=hush2"));
        for text in [format!("{target:?}"), format!("{target:#?}"), target.to_string()] {
            assert!(!text.contains("hush"), "{text}");
            assert!(text.contains("h.example"), "{text}");
        }
        assert!(format!("{target:?}").contains("eu-1"));
        assert_eq!(target.to_string(), "https://h.example/b/k#mode=zarr,s3,nczarr");
    }

    #[test]
    fn errors_do_not_print_secrets() {
        for url in [
            "https://me:hush/x@h.example/b",
            "https://me:hush@h.example:port/b",
            "https://me:hush@/b",
            "https://me:hush@h.example/b?hush#=hush",
            "https://me:hush@h.example/b?hush#mode=dap4",
            "dods://me:hush@h.example/b?hush",
            "[hush=hush",
        ] {
            match parse(url) {
                Err(error) => assert!(!error.to_string().contains("hush"), "{error}"),
                Ok(target) => assert_eq!(url, "[hush=hush", "{target:?}"),
            }
        }
    }
}
