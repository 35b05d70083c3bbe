//! Booleans as bits (codec id `packbits`).
//!
//! * Parameters: none
//! * Zarr V2: `{"id": "packbits"}`; Zarr V3: `{"name": "numcodecs.packbits", "configuration": {}}`
//! * Stored: the number of padding bits (0 to 7) in a byte, then 8 elements per byte, the first in the most
//!   significant bit, then the padding
//!
//! Zarr V3's own `packbits` is another codec. A byte other than 0 and 1 would not decode to itself and is
//! refused.

use std::borrow::Cow;

use nczarr_codec::{
    ChunkInfo, CodecKind, Filter, FilterClass, FilterInfo, FilterPlugin, ItemKind, ItemType, Json, OutBuf,
    ZarrFormat, inventory,
};
use nczarr_model::{ErrorKind, Result};
use serde_json::json;

use crate::json::{CodecMembers, describe};

static INFO: FilterInfo = FilterInfo {
    aliases: &["numcodecs.packbits"],
    kind: CodecKind::ArrayToArray { ordered: true },
    v3_names: Some(&["numcodecs.packbits"]),
    ..FilterInfo::new("packbits", "stores booleans as bits; no parameters")
};

/// The class of the filter.
pub struct PackbitsClass;

inventory::submit! { FilterPlugin(&PackbitsClass) }

impl FilterClass for PackbitsClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn is_lossless(&self) -> bool {
        false
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        match params {
            [] => Ok(Box::new(Packbits)),
            _ => Err(ErrorKind::Inval.context(format!("packbits: expected no parameters, found {params:?}"))),
        }
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        CodecMembers::of(INFO.name, codec, format)?;
        Ok(Box::new(Packbits))
    }
}

#[derive(Debug, Clone, Copy)]
struct Packbits;

impl Filter for Packbits {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(&[])
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        describe(format, "packbits", "numcodecs.packbits", json!({}))
    }

    fn bind(&mut self, chunk: &ChunkInfo<'_>) -> Result<()> {
        match chunk.item.size {
            1 => Ok(()),
            size => Err(ErrorKind::Filter
                .context(format!("packbits: expected booleans of 1 byte, found elements of {size} bytes"))),
        }
    }

    fn encoded_item(&self) -> ItemType {
        ItemType { kind: ItemKind::UInt, ..ItemType::BYTES }
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        decoded.div_ceil(8).checked_add(1)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        if let Some((index, value)) = src.iter().enumerate().find(|(_, value)| **value > 1) {
            return Err(ErrorKind::Filter.context(format!(
                "packbits: element {index}: invalid boolean (expected 0 or 1, found {value})"
            )));
        }
        let out = dst.put_zeros(src.len().div_ceil(8) + 1)?;
        let (padding, packed) = out.split_at_mut(1);
        padding[0] = (8 * packed.len() - src.len()) as u8;
        for (eight, place) in src.chunks(8).zip(packed) {
            *place = eight.iter().enumerate().fold(0, |byte, (bit, value)| byte | value << (7 - bit));
        }
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let wrong = |what: String| ErrorKind::Filter.context(format!("packbits: {what}"));
        let Some((&padding, packed)) = src.split_first() else {
            return Err(wrong("expected a byte with the padding count, found none".into()));
        };
        let elements = packed.len().checked_mul(8).and_then(|bits| bits.checked_sub(padding.into()));
        let Some(elements) = elements.filter(|_| padding < 8) else {
            return Err(wrong(format!("invalid padding of {padding} bits in {} bytes", packed.len())));
        };
        let out = dst.put_zeros(elements)?;
        for (eight, byte) in out.chunks_mut(8).zip(packed) {
            for (bit, place) in eight.iter_mut().enumerate() {
                *place = byte >> (7 - bit) & 1;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::testing::{decode, encode, filter};

    fn packbits() -> Box<dyn Filter> {
        filter(&PackbitsClass, json!({"id": "packbits"}))
    }

    #[test]
    fn encoded_bytes_equal_numcodecs() {
        for (values, stored) in [
            (&[1u8, 0, 0, 1][..], &[4u8, 0x90][..]),
            (&[], &[0]),
            (&[0, 1, 0, 1, 0, 1, 1, 1], &[0, 0x57]),
            (&[0, 0, 0, 0, 0, 0, 0, 0, 1], &[7, 0, 0x80]),
        ] {
            assert_eq!(encode(&*packbits(), values).unwrap(), stored);
            assert_eq!(decode(&*packbits(), stored, values.len()).unwrap(), values);
        }
    }

    #[test]
    fn values_that_cannot_round_trip_are_refused() {
        let error = encode(&*packbits(), &[1, 0, 2]).unwrap_err();
        assert!(
            error.kind() == ErrorKind::Filter
                && error.to_string().contains("element 2: invalid boolean (expected 0 or 1, found 2)"),
            "{error}"
        );
        for stored in [&[][..], &[1], &[8, 0], &[255, 0, 0], &[0, 0, 0]] {
            assert_eq!(decode(&*packbits(), stored, 8).unwrap_err().kind(), ErrorKind::Filter, "{stored:?}");
        }
        let item = ItemType::bytes(4);
        let chunk = ChunkInfo::new(item, 16).item_size(4).chunk_bytes(64).big_endian(false);
        assert!(packbits().bind(&chunk).is_err());
    }

    proptest::proptest! {
        #[test]
        fn bits_come_back(values: Vec<bool>) {
            let bytes: Vec<u8> = values.iter().map(|&value| value.into()).collect();
            let stored = encode(&*packbits(), &bytes).unwrap();
            let slow = |at: usize| stored[1 + at / 8] >> (7 - at % 8) & 1 == 1;
            proptest::prop_assert!((0..values.len()).all(|at| slow(at) == values[at]));
            proptest::prop_assert_eq!(decode(&*packbits(), &stored, bytes.len()).unwrap(), bytes);
        }
    }
}
