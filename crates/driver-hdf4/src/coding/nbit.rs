//! Decodes n-bit coding. Only some bits of each number are stored. The others are zeros, ones, or the sign.

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;

use super::bits::BitReader;
use crate::cursor::ElementCursor;
use crate::number::NumberType;

/// The stored bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Nbit {
    /// Size of a number in bytes.
    size: u32,
    /// Whether the bits above repeat the topmost stored bit.
    signed: bool,
    /// Whether the other bits are ones.
    ones: bool,
    /// Position of the topmost stored bit.
    top: u32,
    /// Number of stored bits.
    len: u32,
}

impl Nbit {
    pub(super) fn read(cursor: &mut ElementCursor<'_>) -> Result<Self> {
        let code = cursor.u32()?;
        let size =
            u16::try_from(code).map_or(0, |code| NumberType::of_code(code).map_or(0, NumberType::size));
        let (signed, ones) = (cursor.u16()? != 0, cursor.u16()? != 0);
        let nbit = Self { size: size as u32, signed, ones, top: cursor.u32()?, len: cursor.u32()? };
        let fits = nbit.top < 8 * nbit.size && (1..=nbit.top + 1).contains(&nbit.len);
        if fits && nbit.len <= 32 {
            Ok(nbit)
        } else {
            Err(ErrorKind::HdfErr.context(format!(
                "n-bit: invalid parameters ({} bits below bit {} of type {code})",
                nbit.len, nbit.top
            )))
        }
    }

    /// Checks the size of numbers.
    ///
    /// # Errors
    /// `NC_EHDFERR` if it is for another size.
    pub(super) fn checked(self, number: NumberType) -> Result<Self> {
        if number.size() == self.size as usize {
            Ok(self)
        } else {
            Err(ErrorKind::HdfErr.context(format!(
                "n-bit: wrong number size (expected {} bytes, found {})",
                self.size,
                number.size()
            )))
        }
    }

    /// Decodes until the output is full.
    ///
    /// # Errors
    /// `NC_EFILTER` if the input ends early.
    pub(super) fn decode(self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let mut bits = BitReader::new(src);
        let low = self.top + 1 - self.len;
        let stored = (u64::MAX >> (64 - self.len)) << low;
        let above = u64::MAX.checked_shl(self.top + 1).unwrap_or(0);
        let room = dst.remaining();
        for number in dst.put_zeros(room)?.chunks_mut(self.size as usize) {
            let found = bits.take(self.len).ok_or_else(|| {
                ErrorKind::Filter.context(format!("n-bit: the input ends early ({room} bytes expected)"))
            })?;
            let mut value = u64::from(found) << low;
            if self.ones {
                value |= !stored;
            }
            if self.signed {
                value = if value >> self.top & 1 == 1 { value | above } else { value & !above };
            }
            let bytes = value.to_be_bytes();
            let from = bytes.len() - number.len().min(bytes.len());
            number.copy_from_slice(&bytes[from..]);
        }
        Ok(())
    }
}
