//! N-bit: of each number only some bits are stored, one number after another; the others are zeros, ones, or the sign.

use nczarr_dispatch::OutBuf;
use nczarr_model::{ErrorKind, Result};

use super::bits::Bits;
use crate::cursor::Cursor;
use crate::number::Number;

/// Which bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Nbit {
    /// Bytes of a number.
    size: u32,
    /// Whether the bits above are as the topmost stored one.
    signed: bool,
    /// Whether the others are ones.
    ones: bool,
    /// The topmost stored bit, counted from the lowest.
    top: u32,
    /// How many.
    len: u32,
}

impl Nbit {
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        let code = cursor.u32()?;
        let size = u16::try_from(code).map_or(0, |code| Number::of_code(code).map_or(0, Number::size));
        let (signed, ones) = (cursor.u16()? != 0, cursor.u16()? != 0);
        let nbit = Self { size: size as u32, signed, ones, top: cursor.u32()?, len: cursor.u32()? };
        let fits = nbit.top < 8 * nbit.size && (1..=nbit.top + 1).contains(&nbit.len);
        match fits && nbit.len <= 32 {
            true => Ok(nbit),
            false => {
                Err(ErrorKind::HdfErr
                    .context(format!("n-bit with {} bits below {} of type {code}", nbit.len, nbit.top)))
            }
        }
    }

    /// # Errors
    /// `NC_EHDFERR` if it is for numbers of another size.
    pub(super) fn checked(self, number: Number) -> Result<Self> {
        match number.size() == self.size as usize {
            true => Ok(self),
            false => Err(ErrorKind::HdfErr.context(format!(
                "n-bit for numbers of {} bytes, these have {}",
                self.size,
                number.size()
            ))),
        }
    }

    /// Decodes until the output is full.
    ///
    /// # Errors
    /// `NC_EFILTER` if bits end before.
    pub(super) fn decode(self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let mut bits = Bits::new(src);
        let low = self.top + 1 - self.len;
        let stored = (u64::MAX >> (64 - self.len)) << low;
        let above = u64::MAX.checked_shl(self.top + 1).unwrap_or(0);
        let room = dst.room();
        for number in dst.zeroed(room)?.chunks_mut(self.size as usize) {
            let found = bits.take(self.len).ok_or_else(|| {
                ErrorKind::Filter.context(format!("n-bit: the code ends before {room} bytes are decoded"))
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
