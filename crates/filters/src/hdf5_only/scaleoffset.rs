//! Scale-offset (HDF5 filter 6): of each number only how much it is above the least of its chunk is stored, in few bits.
//!
//! * HDF5 parameters, 20 of them: what is scaled (0: decimal digits of floats, 2: integers), the digits or bits, the elements
//!   of a chunk, class (0: integers, 1: floats), size, sign, order (1: big-endian), whether there is a fill value, and its
//!   words, the low one first
//! * Zarr: no codec
//! * Stored: the number of bits, the size of the least value (8) and that value, 21 bytes in all, little-endian; then the bits
//!   of each number, the topmost first, without gaps. All ones are the fill value. As many bits as a number has mean that
//!   numbers follow as they are, little-endian
//!
//! Floats lose digits when they are written. Source: HDF5's reference manual, `H5Pset_scaleoffset`; how HDF5 reads.

use std::borrow::Cow;

use nczarr_dispatch::{ChunkInfo, Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory};
use nczarr_model::{Error, ErrorKind, Result};

use super::bits::Bits;

static INFO: FilterInfo = FilterInfo {
    hdf5_id: Some(6),
    name: "scaleoffset",
    aliases: &[],
    about: "stores how much numbers are above the least, in HDF5 files only; it is only read",
};

/// Bytes before the bits.
const HEAD: usize = 21;

/// The class of the scale-offset filter.
pub struct ScaleOffsetClass;

inventory::submit! { FilterPlugin(&ScaleOffsetClass) }

impl FilterClass for ScaleOffsetClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        let wrong = |what| ErrorKind::Inval.context(format!("scaleoffset: {what}, found {params:?}"));
        let &[scale, factor, elements, class, size, sign, order, filled, ref fill @ ..] = params else {
            return Err(wrong("expected 20 parameters"));
        };
        if params.len() != 20 || sign > 1 || order > 1 || filled > 1 {
            return Err(wrong("expected 20 parameters"));
        }
        let factor = factor.cast_signed();
        let number = match (class, scale, size) {
            (0, 2, 1 | 2 | 4 | 8) if factor <= 8 * size.cast_signed() => Number::Integer,
            (1, 0, 4) => Number::Float(10f32.powf(factor as f32)),
            (1, 0, 8) => Number::Double(10f64.powf(factor.into())),
            (1, 1, _) => return Err(wrong("floats scaled by powers of two, which HDF5 never defined")),
            _ => return Err(wrong("expected integers of 1, 2, 4 or 8 bytes or floats of 4 or 8")),
        };
        let word = |at: usize| u64::from(fill.get(at).copied().unwrap_or(0));
        Ok(Box::new(ScaleOffset {
            params: params.into(),
            as_it_is: class == 0 && factor == 8 * size.cast_signed(),
            elements: elements as usize,
            size: size as usize,
            number,
            big_endian: order == 1,
            fill: (filled == 1).then(|| word(0) | word(1) << 32),
        }))
    }

    fn parse_json(&self, codec: &Json, _: ZarrFormat) -> Result<Box<dyn Filter>> {
        super::no_codec(INFO.name, codec)
    }

    fn is_lossless(&self) -> bool {
        false
    }

    fn encodes(&self) -> bool {
        false
    }
}

/// What numbers are, and by what floats were multiplied.
#[derive(Debug, Clone, Copy)]
enum Number {
    Integer,
    Float(f32),
    Double(f64),
}

#[derive(Debug, Clone)]
struct ScaleOffset {
    params: Box<[u32]>,
    /// Chunks are stored as they are, without anything before them.
    as_it_is: bool,
    /// Of a chunk.
    elements: usize,
    size: usize,
    number: Number,
    big_endian: bool,
    fill: Option<u64>,
}

fn damaged(what: impl Into<String>) -> Error {
    ErrorKind::Filter.context(format!("scaleoffset: {}", what.into()))
}

impl ScaleOffset {
    /// Writes one number, given its little-endian bytes.
    fn put(&self, bytes: &[u8], element: &mut [u8]) {
        element.copy_from_slice(&bytes[..self.size]);
        if self.big_endian {
            element.reverse();
        }
    }

    /// The bits of a number that is `above` the `least` one.
    fn value(&self, above: u64, least: u64) -> u64 {
        match self.number {
            Number::Integer => above.wrapping_add(least),
            // Of a float there are at most 31 bits here, of a double 63.
            Number::Float(scale) => u64::from((above as i32 as f32 / scale + f32::from_bits(least as u32)).to_bits()),
            Number::Double(scale) => (above as i64 as f64 / scale + f64::from_bits(least)).to_bits(),
        }
    }
}

impl Filter for ScaleOffset {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(&self.params)
    }

    fn to_json(&self, _: ZarrFormat) -> Json {
        Json::Null
    }

    fn bind(&mut self, chunk: &ChunkInfo) -> Result<()> {
        match (self.size, self.elements) == (chunk.item_size, chunk.elements) {
            true => Ok(()),
            false => Err(damaged(format!(
                "its parameters are for {} elements of {} bytes, a chunk has {} of {}",
                self.elements, self.size, chunk.elements, chunk.item_size
            ))),
        }
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        // As many bits as before, what goes before them, and a byte that need not be.
        decoded.checked_add(HEAD + 1)
    }

    fn encode(&self, _: &[u8], _: &mut OutBuf<'_>) -> Result<()> {
        Err(super::only_read(INFO.name))
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        if self.as_it_is {
            return dst.put(src);
        }
        let short = || damaged(format!("{} bytes end before {} elements", src.len(), self.elements));
        let (head, stored) = src.split_at_checked(HEAD).ok_or_else(short)?;
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
        let width = number(&head[..4]);
        let least = number(&head[5..][..usize::from(head[4].min(8))]);
        let whole = 8 * self.size as u64;
        if width > whole {
            return Err(damaged(format!("numbers of {width} bits among ones of {whole}")));
        }
        let bytes = self.elements.checked_mul(self.size).ok_or_else(short)?;
        // Before memory is filled that nothing will be in.
        let needed = self.elements as u128 * u128::from(width);
        if (stored.len() as u128) < needed.div_ceil(8) {
            return Err(short());
        }
        let elements = dst.zeroed(bytes)?.chunks_exact_mut(self.size);
        if width == whole {
            elements.zip(stored.chunks_exact(self.size)).for_each(|(element, bytes)| self.put(bytes, element));
            return Ok(());
        }
        let (mut bits, ones) = (Bits::new(stored), (1u64 << width) - 1);
        for element in elements {
            let above = bits.take(width as u32).ok_or_else(short)?;
            let value = match self.fill {
                Some(fill) if above == ones => fill,
                _ => self.value(above, least),
            };
            self.put(&value.to_le_bytes(), element);
        }
        Ok(())
    }
}
