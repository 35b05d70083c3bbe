//! [`MetadataCursor`]: reads numbers and bytes from a metadata structure. Reading past its end is an error.

use nczarr_model::{Error, ErrorKind, Result};

/// A position in the bytes of a structure. Numbers are little-endian.
#[derive(Debug, Clone)]
pub(crate) struct MetadataCursor<'a> {
    rest: &'a [u8],
    len: usize,
    what: &'static str,
}

/// Makes an `NC_EHDFERR` error.
pub(crate) fn damaged(what: impl Into<String>) -> Error {
    ErrorKind::HdfErr.context(what)
}

/// The undefined address: all bits set.
pub(crate) const UNDEFINED: u64 = u64::MAX;

impl<'a> MetadataCursor<'a> {
    /// Starts at the first byte. Errors call the structure `what`.
    pub(crate) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { rest: bytes, len: bytes.len(), what }
    }

    /// Returns the number of bytes read so far.
    pub(crate) fn at(&self) -> usize {
        self.len - self.rest.len()
    }

    /// Returns the unread bytes.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(len) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            None => Err(damaged(format!(
                "{}: too short (expected {len} more bytes, found {})",
                self.what,
                self.rest.len()
            ))),
        }
    }

    pub(crate) fn skip(&mut self, len: usize) -> Result<()> {
        self.bytes(len).map(drop)
    }

    /// Reads an unsigned number of `len` bytes, at most 8.
    pub(crate) fn uint(&mut self, len: u8) -> Result<u64> {
        let bytes = self.bytes(len.into())?;
        Ok(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(self.uint(1)? as u8)
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        Ok(self.uint(2)? as u16)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(self.uint(4)? as u32)
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.uint(8)
    }

    /// Reads an address of `len` bytes. All ones become [`UNDEFINED`].
    pub(crate) fn address(&mut self, len: u8) -> Result<u64> {
        let value = self.uint(len)?;
        let ones = u64::MAX >> (64 - 8 * u32::from(len.clamp(1, 8)));
        Ok(if value == ones { UNDEFINED } else { value })
    }

    /// Reads the bytes before the next zero byte, and skips the zero.
    pub(crate) fn until_zero(&mut self) -> Result<&'a [u8]> {
        let len = self.rest.iter().position(|&byte| byte == 0);
        let len = len.ok_or_else(|| damaged(format!("{}: a name has no terminating zero", self.what)))?;
        let name = self.bytes(len)?;
        self.skip(1)?;
        Ok(name)
    }

    /// Skips padding up to a multiple of 8 bytes from `from`.
    pub(crate) fn align(&mut self, from: usize) -> Result<()> {
        self.skip((self.at() - from).wrapping_neg() & 7)
    }

    pub(crate) fn expect(&mut self, sign: &[u8]) -> Result<()> {
        match self.bytes(sign.len())? {
            found if found == sign => Ok(()),
            found => Err(damaged(format!(
                "{}: wrong signature (expected {:?}, found {:?})",
                self.what,
                String::from_utf8_lossy(sign),
                String::from_utf8_lossy(found)
            ))),
        }
    }

    pub(crate) fn version(&mut self, most: u8) -> Result<u8> {
        match self.u8()? {
            found if found <= most => Ok(found),
            found => Err(damaged(format!("{}: unknown version {found}", self.what))),
        }
    }
}
