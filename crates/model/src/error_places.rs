//! The places of an [`Error`]: its dataset, variable and key, for programs.

use std::fmt::Display;

use crate::Error;

/// The place that an error is about. Each part is known or `None`.
#[derive(Debug, Clone, Default)]
pub(crate) struct ErrorPlaces {
    path: Option<Box<str>>,
    variable: Option<Box<str>>,
    key: Option<Box<str>>,
}

/// Methods that return the place of an error, for programs. For people, the message names the place.
///
/// ```
/// use nczarr_model::ErrorKind;
///
/// let error = ErrorKind::Filter.context("zstd: invalid frame").in_key("temp/0.1").in_variable("/temp");
/// assert_eq!((error.variable(), error.key(), error.path()), (Some("/temp"), Some("temp/0.1"), None));
/// assert_eq!(error.to_string(), "NC_EFILTER: zstd: invalid frame");
/// ```
impl Error {
    /// Returns the path or URL of the dataset. Bytes of a path that are not UTF-8 are replaced.
    pub fn path(&self) -> Option<&str> {
        self.places().path.as_deref()
    }

    /// Returns the full name of the variable, such as `/forecast/temp`.
    pub fn variable(&self) -> Option<&str> {
        self.places().variable.as_deref()
    }

    /// Returns the key of the stored object, relative to the root of the dataset's storage.
    pub fn key(&self) -> Option<&str> {
        self.places().key.as_deref()
    }

    /// Adds the path or URL of the dataset, if none is known. The message does not change.
    #[must_use]
    pub fn in_path(mut self, path: impl Display) -> Self {
        set(&mut self.places_mut().path, path);
        self
    }

    /// Adds the full name of the variable, if none is known. The message does not change.
    #[must_use]
    pub fn in_variable(mut self, variable: impl Display) -> Self {
        set(&mut self.places_mut().variable, variable);
        self
    }

    /// Adds the key of the stored object, if none is known. The message does not change.
    #[must_use]
    pub fn in_key(mut self, key: impl Display) -> Self {
        set(&mut self.places_mut().key, key);
        self
    }
}

/// The innermost place counts, because it is nearest to the fault.
fn set(part: &mut Option<Box<str>>, place: impl Display) {
    part.get_or_insert_with(|| place.to_string().into());
}

#[cfg(test)]
mod tests {
    use crate::ErrorKind;

    #[test]
    fn the_innermost_place_counts() {
        let error =
            ErrorKind::Io.context("why").in_path("a.nc").in_path("b.nc").in_key("k").in_variable("/v");
        let error = error.at("somewhere").caused_by("because");
        assert_eq!((error.path(), error.variable(), error.key()), (Some("a.nc"), Some("/v"), Some("k")));
        assert_eq!(error.to_string(), "NC_EIO: somewhere: why");
        let back = crate::Error::from(std::io::Error::from(error.clone()));
        assert_eq!((back.path(), back.variable(), back.key()), (error.path(), error.variable(), error.key()));
    }
}
