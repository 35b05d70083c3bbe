//! [`ElementCursor`]: reads big-endian numbers and counted names from the bytes of one element.

use nczarr_model::{ErrorKind, Result};

/// The bytes of an element. Errors call it `what`.
#[derive(Debug)]
pub(crate) struct ElementCursor<'a> {
    bytes: &'a [u8],
    at: usize,
    what: &'a str,
}

impl<'a> ElementCursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], what: &'a str) -> Self {
        Self { bytes, at: 0, what }
    }

    /// Reads `len` bytes.
    ///
    /// # Errors
    /// `NC_EHDFERR` if the element ends early.
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (at, what) = (self.at, self.what);
        let rest = self.bytes.get(at..).unwrap_or_default();
        let Some(taken) = rest.get(..len) else {
            let found = self.bytes.len();
            return Err(ErrorKind::HdfErr
                .context(format!("{what}: too short (expected {len} bytes at {at}, found {found} in all)")));
        };
        self.at += len;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// Reads a signed number that must not be negative.
    pub(crate) fn count(&mut self) -> Result<u32> {
        let number = self.u32()?;
        match i32::try_from(number) {
            Ok(_) => Ok(number),
            Err(_) => Err(ErrorKind::HdfErr.context(format!(
                "{}: invalid count {}",
                self.what,
                number.cast_signed()
            ))),
        }
    }

    pub(crate) fn u16s(&mut self, count: usize) -> Result<Vec<u16>> {
        let bytes = self.take(count.saturating_mul(2))?;
        Ok(bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect())
    }

    /// Reads a name with its length before it.
    pub(crate) fn name(&mut self) -> Result<String> {
        let len = self.u16()?;
        Ok(text(self.take(len.into())?))
    }
}

/// Returns a stored name up to its first zero.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}
