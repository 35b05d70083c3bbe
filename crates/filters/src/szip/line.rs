//! Converts bytes to scanlines of pixels: cutting, padding, byte order.

use nczarr_codec::OutBuf;
use nczarr_model::{ErrorKind, Result};

use super::bits::{SzipBitReader, SzipBitWriter};
use super::{BlockCode, decode, encode};

/// The layout of pixels and scanlines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scanlines {
    pub(super) code: BlockCode,
    /// Pixels of a scanline before padding, at least 1.
    pub(super) pixels: usize,
    /// Whether pixels of two bytes are big-endian.
    pub(super) big_endian: bool,
}

impl Scanlines {
    fn line_bytes(self) -> usize {
        self.pixels * self.code.bits.div_ceil(8) as usize
    }

    /// Returns the largest coded size of `len` bytes; `None` if it overflows.
    pub(super) fn bound(self, len: usize) -> Option<usize> {
        let bits = len.div_ceil(self.line_bytes()).checked_mul(self.code.line_bound())?;
        Some(bits.div_ceil(8))
    }

    /// Appends the coded scanlines of `src`. A missing half of the last pixel counts as zeros.
    pub(super) fn encode(self, src: &[u8], samples: &mut Vec<u16>, out: &mut OutBuf<'_>) -> Result<()> {
        let mut bits = SzipBitWriter::new(out);
        for line in src.chunks(self.line_bytes()) {
            samples.clear();
            if self.code.bits > 8 {
                let pixel = |bytes: &[u8]| {
                    let pair = [bytes.first().copied().unwrap_or(0), bytes.get(1).copied().unwrap_or(0)];
                    if self.big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
                };
                samples.extend(line.chunks(2).map(pixel));
            } else {
                samples.extend(line.iter().map(|&byte| u16::from(byte)));
            }
            let fill = samples.last().copied().filter(|_| self.code.predict).unwrap_or(0);
            samples.resize(self.code.padded(), fill);
            encode::line(self.code, samples, &mut bits)?;
        }
        bits.finish()
    }

    /// Appends the `len` bytes decoded from `src`.
    ///
    /// # Errors
    /// `NC_EFILTER` if `src` decodes to other or more bytes.
    pub(super) fn decode(
        self,
        src: &[u8],
        len: usize,
        samples: &mut Vec<u16>,
        out: &mut OutBuf<'_>,
    ) -> Result<()> {
        let mut bits = SzipBitReader::new(src);
        samples.clear();
        samples.resize(self.code.padded(), 0);
        let mut left = len;
        while left > 0 {
            let here = left.min(self.line_bytes());
            left -= here;
            let size = self.code.bits.div_ceil(8) as usize;
            let wanted = if left > 0 { self.code.padded() } else { here.div_ceil(size) };
            decode::line(self.code, &mut bits, samples, wanted).map_err(|damage| {
                ErrorKind::Filter.context(format!(
                    "szip: {damage}, in the scanline from byte {} of {len}",
                    len - left - here
                ))
            })?;
            let bytes = out.put_zeros(here)?;
            if size == 1 {
                bytes.iter_mut().zip(&*samples).for_each(|(byte, sample)| *byte = sample.to_le_bytes()[0]);
            } else {
                for (bytes, sample) in bytes.chunks_mut(2).zip(&*samples) {
                    let pair = if self.big_endian { sample.to_be_bytes() } else { sample.to_le_bytes() };
                    bytes.iter_mut().zip(pair).for_each(|(byte, part)| *byte = part);
                }
            }
        }
        match bits.left() {
            0..8 => Ok(()),
            more => Err(ErrorKind::Filter.context(format!(
                "szip: expected the stream to end after {len} bytes in scanlines of {}, found {more} bits more",
                self.pixels
            ))),
        }
    }
}
