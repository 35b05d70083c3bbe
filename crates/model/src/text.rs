//! [`NcString`]: a netCDF string as it is stored: bytes that are UTF-8 by convention, not by law.

use std::borrow::Cow;
use std::fmt;

use crate::{ErrorKind, Result};

/// One value of type `NC_STRING`.
///
/// Usually UTF-8, but foreign datasets hold other bytes too, and those are kept as they are.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NcString(Vec<u8>);

impl NcString {
    /// The empty string.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text.
    ///
    /// # Errors
    /// [`ErrorKind::Char`] if the bytes are not UTF-8, with the position of the first that is not.
    pub fn to_str(&self) -> Result<&str> {
        std::str::from_utf8(&self.0).map_err(|error| {
            ErrorKind::Char.context(format!("text is not UTF-8 at byte {}", error.valid_up_to())).caused_by(error)
        })
    }

    /// The text, with U+FFFD in place of what is not UTF-8.
    pub fn to_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// The bytes, given away.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl From<Vec<u8>> for NcString {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&[u8]> for NcString {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl From<String> for NcString {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl From<&str> for NcString {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl PartialEq<str> for NcString {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for NcString {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
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
