//! Fewer bits of the mantissa (codec id `bitround`).
//!
//! * Parameters: none, or the bits to keep
//! * Zarr V2: `{"id": "bitround", "keepbits": 10}`; Zarr V3: `{"name": "numcodecs.bitround", "configuration":
//!   {…}}`
//! * Stored: the floats, rounded to nearest (ties to even), with zeros in the other bits
//!
//! Loses precision on purpose. Decoding changes nothing and needs no parameter. `bind` gives the float type:
//! 16, 32 or 64 bits. Unlike numcodecs it leaves NaN alone; numcodecs turns some NaNs into numbers.

use std::borrow::Cow;

use nczarr_codec::{
    ChunkInfo, CodecKind, Filter, FilterClass, FilterInfo, FilterPlugin, ItemKind, ItemType, Json, OutBuf,
    ZarrFormat, inventory,
};
use nczarr_model::{ErrorKind, Result};
use serde_json::{Map, json};

use super::number::elements;
use crate::json::{CodecMembers, describe};

static INFO: FilterInfo = FilterInfo {
    aliases: &["numcodecs.bitround"],
    kind: CodecKind::ELEMENTWISE,
    ..FilterInfo::new("bitround", "keeps some bits of the mantissa of floats, loses the rest; keepbits")
};

/// The class of the filter.
pub struct BitroundClass;

inventory::submit! { FilterPlugin(&BitroundClass) }

impl FilterClass for BitroundClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn is_lossless(&self) -> bool {
        false
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        let keepbits = match *params {
            [keepbits] => Some(keepbits),
            _ => {
                return Err(ErrorKind::Inval
                    .context(format!("bitround: expected the bits to keep, found {params:?}")));
            }
        };
        Ok(Box::new(Bitround { keepbits, item: ItemType::BYTES }))
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let members = CodecMembers::of(INFO.name, codec, format)?;
        let keepbits = match members.int("keepbits")? {
            None => None,
            Some(found) => match u32::try_from(found) {
                Ok(keepbits) => Some(keepbits),
                Err(_) => return Err(members.wrong("keepbits", "a number of bits", &json!(found))),
            },
        };
        Ok(Box::new(Bitround { keepbits, item: ItemType::BYTES }))
    }
}

#[derive(Debug, Clone)]
struct Bitround {
    keepbits: Option<u32>,
    item: ItemType,
}

/// Returns the number of stored mantissa bits.
fn mantissa(item: ItemType) -> Option<u32> {
    match (item.kind, item.size) {
        (ItemKind::Float, 2) => Some(10),
        (ItemKind::Float, 4) => Some(23),
        (ItemKind::Float, 8) => Some(52),
        _ => None,
    }
}

/// Rounds the bits of a float. `drop` is at least 1 and at most `mantissa`; `size` is the float's size in
/// bytes.
fn round(bits: u64, drop: u32, mantissa: u32, size: usize) -> u64 {
    let infinity = (1u64 << (size * 8 - 1)) - (1 << mantissa);
    let magnitude = bits & ((1 << (size * 8 - 1)) - 1);
    if magnitude > infinity {
        return bits;
    }
    let half = (1u64 << (drop - 1)) - 1;
    // At most infinity, because the carry ends in the exponent.
    (bits + (bits >> drop & 1) + half) >> drop << drop
}

impl Filter for Bitround {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Owned(self.keepbits.into_iter().collect())
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        let mut members = Map::new();
        if let Some(keepbits) = self.keepbits {
            members.insert("keepbits".into(), json!(keepbits));
        }
        describe(format, "bitround", "numcodecs.bitround", Json::Object(members))
    }

    fn bind(&mut self, chunk: &ChunkInfo<'_>) -> Result<()> {
        if let (Some(keepbits), Some(mantissa)) = (self.keepbits, mantissa(chunk.item))
            && keepbits > mantissa
        {
            return Err(ErrorKind::Filter.context(format!(
                "bitround: expected at most {mantissa} bits to keep of floats of {} bytes, found {keepbits}",
                chunk.item.size
            )));
        }
        self.item = chunk.item;
        Ok(())
    }

    fn encoded_item(&self) -> ItemType {
        self.item
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let ItemType { kind, size, big_endian } = self.item;
        let (Some(keepbits), Some(mantissa)) = (self.keepbits, mantissa(self.item)) else {
            return Err(ErrorKind::Filter.context(format!(
                "bitround: expected floats of 2, 4 or 8 bytes and the bits to keep, found {kind:?} of {size} bytes and {:?}",
                self.keepbits
            )));
        };
        elements(INFO.name, src, size)?;
        let drop = match mantissa.checked_sub(keepbits) {
            None | Some(0) => return dst.put(src),
            Some(drop) => drop,
        };
        let out = dst.put_zeros(src.len())?;
        for (element, place) in src.chunks_exact(size).zip(out.chunks_exact_mut(size)) {
            let mut bytes = [0; 8];
            bytes[..size].copy_from_slice(element);
            if big_endian {
                bytes[..size].reverse();
            }
            let mut bytes = round(u64::from_le_bytes(bytes), drop, mantissa, size).to_le_bytes();
            if big_endian {
                bytes[..size].reverse();
            }
            place.copy_from_slice(&bytes[..size]);
        }
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.put(src)
    }
}

#[cfg(test)]
mod tests {
    use nczarr_model::convert::Half;

    use super::*;
    use crate::numeric::testing::{bound, bytes_of, encode};

    fn item(size: usize, big_endian: bool) -> ItemType {
        ItemType { kind: ItemKind::Float, size, big_endian }
    }

    fn filter(keepbits: u32, item: ItemType) -> Box<dyn Filter> {
        bound(&BitroundClass, json!({"id": "bitround", "keepbits": keepbits}), item)
    }

    #[test]
    fn encoded_bits_equal_numcodecs() {
        // numcodecs.BitRound(3).encode(…) of 0.1, 1.0625, 1.1875, -3.99, 65504, inf
        let values = [0.1f32, 1.0625, 1.1875, -3.99, 65504.0, f32::INFINITY];
        let rounded = [0.1015625f32, 1.0, 1.25, -4.0, 65536.0, f32::INFINITY];
        for big in [false, true] {
            let found = encode(&*filter(3, item(4, big)), &bytes_of(&values, big)).unwrap();
            assert_eq!(found, bytes_of(&rounded, big));
        }
        let (values, rounded) = (values.map(f64::from), rounded.map(f64::from));
        assert_eq!(
            encode(&*filter(3, item(8, true)), &bytes_of(&values, true)).unwrap(),
            bytes_of(&rounded, true)
        );
        let bits =
            |values: &[f64]| values.iter().map(|&value| Half::Binary16.of_double(value)).collect::<Vec<_>>();
        let found = encode(&*filter(3, item(2, false)), &bytes_of(&bits(&values), false)).unwrap();
        assert_eq!(
            found,
            bytes_of(&bits(&[0.1015625, 1.0, 1.25, -4.0, f64::INFINITY, f64::INFINITY]), false)
        );
    }

    #[test]
    fn nan_infinity_and_negative_zero_keep_their_bits() {
        for keepbits in [0, 1, 22, 23] {
            for bits in
                [0x7fc0_0000u32, 0xffc0_0000, 0x7f80_0001, 0x7fff_ffff, 0xff80_0000, 0x7f80_0000, 0x8000_0000]
            {
                let bytes = bits.to_le_bytes();
                assert_eq!(encode(&*filter(keepbits, item(4, false)), &bytes).unwrap(), bytes, "{bits:#x}");
            }
        }
    }

    #[test]
    fn bitround_needs_floats_and_a_bit_count() {
        let class = BitroundClass;
        let chunk = |item| ChunkInfo::new(item, 16).item_size(4).chunk_bytes(64).big_endian(false);
        let mut filter =
            class.parse_json(&json!({"id": "bitround", "keepbits": 24}), ZarrFormat::V2).unwrap();
        assert!(filter.bind(&chunk(item(4, false))).unwrap_err().to_string().contains("at most 23 bits"));
        filter.bind(&chunk(item(8, false))).unwrap();
        // Any keepbits decode.
        for codec in [json!({"id": "bitround"}), json!({"id": "bitround", "keepbits": 24})] {
            let filter = bound(&class, codec, ItemType::bytes(4));
            assert_eq!(crate::numeric::testing::decode(&*filter, b"abcd", 4).unwrap(), b"abcd");
            assert_eq!(encode(&*filter, b"abcd").unwrap_err().kind(), ErrorKind::Filter);
        }
        assert!(class.parse_json(&json!({"keepbits": -1}), ZarrFormat::V2).is_err());
    }

    /// Returns the nearest float with this many bits, the even one of two.
    fn slow(value: f64, keepbits: u32) -> f64 {
        let (exponent, keep) = (value.abs().log2().floor(), f64::from(keepbits));
        // The logarithm may be off by one at powers of two.
        let exponent = if value.abs() < exponent.exp2() { exponent - 1.0 } else { exponent };
        let exponent = if value.abs() >= (exponent + 1.0).exp2() { exponent + 1.0 } else { exponent };
        let unit = (exponent - keep).exp2();
        (value / unit).round_ties_even() * unit
    }

    proptest::proptest! {
        #[test]
        fn rounding_agrees_with_a_slow_oracle(value in -1e30f64..1e30, shift in 0i32..150, keepbits in 1u32..=52) {
            let value = value * 2f64.powi(-shift);
            proptest::prop_assume!(value != 0.0);
            let found = encode(&*filter(keepbits, item(8, false)), &value.to_le_bytes()).unwrap();
            let found = f64::from_le_bytes(found.try_into().unwrap());
            proptest::prop_assert_eq!(found, slow(value, keepbits), "{} {}", value, keepbits);
        }
    }
}
