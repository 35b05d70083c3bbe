//! [`NcString`]: a netCDF string. Its bytes are usually, but not always, UTF-8.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::{ErrorKind, Result};

/// One value of type `NC_STRING`.
///
/// Usually UTF-8; other bytes from foreign datasets are kept.
///
/// HDF5 can store a null string: a null pointer in C, and `NIL` in CDL. It has no bytes and equals the empty
/// string; only [`NcString::is_nil`] distinguishes them.
#[derive(Clone)]
pub struct NcString(Option<Vec<u8>>);

impl NcString {
    /// The empty string.
    pub const fn new() -> Self {
        Self(Some(Vec::new()))
    }

    /// Creates a null string.
    ///
    /// # Examples
    /// ```
    /// # use nczarr_model::NcString;
    /// assert!(NcString::nil().is_nil() && !NcString::new().is_nil());
    /// assert_eq!(NcString::nil(), NcString::new());
    /// ```
    pub const fn nil() -> Self {
        Self(None)
    }

    /// Whether it is a null string.
    pub const fn is_nil(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Returns the text.
    ///
    /// # Errors
    /// [`ErrorKind::Char`] if the bytes are not UTF-8, with the position of the first invalid byte.
    pub fn to_str(&self) -> Result<&str> {
        std::str::from_utf8(self.as_bytes()).map_err(|error| {
            ErrorKind::Char
                .context(format!("text is not UTF-8 at byte {}", error.valid_up_to()))
                .caused_by(error)
        })
    }

    /// Returns the text, with U+FFFD for invalid bytes.
    pub fn to_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.as_bytes())
    }

    /// Converts it to bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.unwrap_or_default()
    }
}

impl Default for NcString {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for NcString {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for NcString {}

impl PartialOrd for NcString {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for NcString {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for NcString {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl From<Vec<u8>> for NcString {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Some(bytes))
    }
}

impl From<&[u8]> for NcString {
    fn from(bytes: &[u8]) -> Self {
        Self(Some(bytes.to_vec()))
    }
}

impl From<String> for NcString {
    fn from(text: String) -> Self {
        Self(Some(text.into_bytes()))
    }
}

impl From<&str> for NcString {
    fn from(text: &str) -> Self {
        Self(Some(text.as_bytes().to_vec()))
    }
}

impl PartialEq<str> for NcString {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for NcString {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl fmt::Display for NcString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl fmt::Debug for NcString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.to_text(), f)
    }
}
