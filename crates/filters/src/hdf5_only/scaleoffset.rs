//! Scale-offset (HDF5 filter 6): stores each number as its difference to the minimum of the chunk, in few
//! bits.
//!
//! * HDF5 parameters (20): the kind of scaling (0: decimal digits of floats, 2: integers), the digits or
//!   bits, the elements of a chunk, class (0: integers, 1: floats), size, sign, order (1: big-endian),
//!   whether there is a fill value, and its words, low word first
//! * Zarr: no codec
//! * Stored: 21 bytes, little-endian: the number of bits, the size of the minimum (8), the minimum; then the
//!   bits of each number, most significant first. All ones are the fill value. With the full number of bits,
//!   plain little-endian numbers follow.
//!
//! Encoding floats loses digits. Source: HDF5's reference manual, `H5Pset_scaleoffset`; the behaviour of
//! HDF5.

use std::borrow::Cow;

use nczarr_codec::{
    ChunkInfo, Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory,
};
use nczarr_model::{Error, ErrorKind, Result};

use super::bits::PackedBits;

static INFO: FilterInfo = FilterInfo {
    hdf5_id: Some(6),
    ..FilterInfo::new("scaleoffset", "stores numbers relative to the minimum; HDF5 files only, cannot encode")
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
            (0, 2, 1 | 2 | 4 | 8) if factor <= 8 * size.cast_signed() => ScaledNumber::Integer,
            (1, 0, 4) => ScaledNumber::Float(10f32.powf(factor as f32)),
            (1, 0, 8) => ScaledNumber::Double(10f64.powf(factor.into())),
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

    fn can_encode(&self) -> bool {
        false
    }
}

/// The kind of numbers. Floats have a factor.
#[derive(Debug, Clone, Copy)]
enum ScaledNumber {
    Integer,
    Float(f32),
    Double(f64),
}

#[derive(Debug, Clone)]
struct ScaleOffset {
    params: Box<[u32]>,
    /// Chunks are stored unfiltered, without a header.
    as_it_is: bool,
    /// Elements of a chunk.
    elements: usize,
    size: usize,
    number: ScaledNumber,
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

    /// Returns the bits of the number that exceeds the minimum `least` by `above`.
    fn value(&self, above: u64, least: u64) -> u64 {
        match self.number {
            ScaledNumber::Integer => above.wrapping_add(least),
            // A float has at most 31 bits here, a double 63.
            ScaledNumber::Float(scale) => {
                u64::from((above as i32 as f32 / scale + f32::from_bits(least as u32)).to_bits())
            }
            ScaledNumber::Double(scale) => (above as i64 as f64 / scale + f64::from_bits(least)).to_bits(),
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

    fn bind(&mut self, chunk: &ChunkInfo<'_>) -> Result<()> {
        if (self.size, self.elements) == (chunk.item_size, chunk.elements) {
            Ok(())
        } else {
            Err(damaged(format!(
                "its parameters are for {} elements of {} bytes, a chunk has {} of {}",
                self.elements, self.size, chunk.elements, chunk.item_size
            )))
        }
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        // The same number of bits, the header, and perhaps one more byte.
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
        let number =
            |bytes: &[u8]| bytes.iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
        let width = number(&head[..4]);
        let least = number(&head[5..][..usize::from(head[4].min(8))]);
        let whole = 8 * self.size as u64;
        if width > whole {
            return Err(damaged(format!("numbers of {width} bits among ones of {whole}")));
        }
        let bytes = self.elements.checked_mul(self.size).ok_or_else(short)?;
        // Check before memory is filled.
        let needed = self.elements as u128 * u128::from(width);
        if (stored.len() as u128) < needed.div_ceil(8) {
            return Err(short());
        }
        let elements = dst.put_zeros(bytes)?.chunks_exact_mut(self.size);
        if width == whole {
            elements
                .zip(stored.chunks_exact(self.size))
                .for_each(|(element, bytes)| self.put(bytes, element));
            return Ok(());
        }
        let (mut bits, ones) = (PackedBits::new(stored), (1u64 << width) - 1);
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
