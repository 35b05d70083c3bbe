//! [`Place`]: the path or URL of a dataset.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use nczarr_model::Result;

use crate::{Target, parse};

/// The path or URL of a dataset, and words of `mode`.
///
/// * A path is never parsed: `#`, `%` and `:` are ordinary characters of a file name.
/// * A URL names scheme, place and options: `s3://bucket/x.zarr#mode=zarr`.
///
/// Text is a URL if it starts with a scheme and `://`, or with `file:/`; other text is a path. A type of
/// paths, such as [`Path`], is always a path. [`Place::path`] and [`Place::url`] state the choice.
///
/// ```
/// use nczarr_url_infer::Place;
///
/// assert_eq!(Place::from("exp#zarr").target()?.path_text(), "exp#zarr");
/// assert_eq!(Place::from("file:///data/exp%231#zarr").target()?.path_text(), "/data/exp#1");
/// assert_eq!(Place::path("exp").mode("zarr").target()?.modes, ["zarr", "nczarr"]);
/// # Ok::<(), nczarr_model::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Place {
    location: Location,
    modes: Vec<String>,
}

#[derive(Clone, PartialEq, Eq)]
enum Location {
    Path(PathBuf),
    Url(String),
}

impl Place {
    /// Creates the place of a path. It is never parsed.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self { location: Location::Path(path.into()), modes: Vec::new() }
    }

    /// Creates the place of a URL. Text without a scheme is a path that may have a fragment
    /// (`x.zarr#mode=zarr`), as the command line accepts it.
    pub fn url(url: impl Into<String>) -> Self {
        Self { location: Location::Url(url.into()), modes: Vec::new() }
    }

    /// Adds a word of `mode`, as the fragment of a URL has it: a format, a storage map or an option.
    #[must_use]
    pub fn mode(mut self, word: impl Into<String>) -> Self {
        self.modes.push(word.into());
        self
    }

    /// Returns the words that [`Place::mode`] added.
    pub fn modes(&self) -> &[String] {
        &self.modes
    }

    /// Returns the path; `None` for a URL.
    pub fn as_path(&self) -> Option<&Path> {
        match &self.location {
            Location::Path(path) => Some(path),
            Location::Url(_) => None,
        }
    }

    /// Returns the path or URL as text, with secrets. Bytes of a path that are not UTF-8 are replaced.
    pub fn as_text(&self) -> Cow<'_, str> {
        match &self.location {
            Location::Path(path) => path.to_string_lossy(),
            Location::Url(url) => Cow::Borrowed(url),
        }
    }

    /// Parses the place.
    ///
    /// # Errors
    /// As [`parse`].
    pub fn target(&self) -> Result<Target> {
        match &self.location {
            Location::Path(path) => parse::path(path, &self.modes),
            Location::Url(url) => parse::url(url, &self.modes),
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Prints location and modes, without secrets.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.target(), &self.location) {
            (Ok(target), _) => target.fmt(f),
            (Err(_), Location::Path(path)) => path.display().fmt(f),
            (Err(_), Location::Url(_)) => f.write_str("(an invalid URL)"),
        }
    }
}

impl From<&str> for Place {
    fn from(text: &str) -> Self {
        if parse::is_url(text) { Self::url(text) } else { Self::path(text) }
    }
}

impl From<String> for Place {
    fn from(text: String) -> Self {
        if parse::is_url(&text) { Self::url(text) } else { Self::path(text) }
    }
}

impl From<&String> for Place {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<Cow<'_, str>> for Place {
    fn from(text: Cow<'_, str>) -> Self {
        text.into_owned().into()
    }
}

impl From<&Self> for Place {
    fn from(place: &Self) -> Self {
        place.clone()
    }
}

macro_rules! from_paths {
    ($($path:ty),*) => {$(
        impl From<$path> for Place {
            fn from(path: $path) -> Self {
                Self::path(path)
            }
        }
    )*};
}

from_paths!(&Path, PathBuf, &PathBuf, &OsStr, OsString, &OsString, Cow<'_, Path>);
