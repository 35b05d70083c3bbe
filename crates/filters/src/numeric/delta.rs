//! Differences of neighbours (codec id `delta`).
//!
//! * Parameters: none, or the decoded type, or the decoded and the encoded one
//! * Zarr V2: `{"id": "delta", "dtype": "<i4", "astype": "<i2"}`; `astype` defaults to `dtype`
//! * Zarr V3: `{"name": "numcodecs.delta", "configuration": {"dtype": "<i4", "astype": "<i2"}}`
//! * Stored: the first element, then each element's difference from the one before
//!
//! Integers wrap in the decoded type, so every difference decodes. A difference outside the encoded type is
//! an error, because it would spoil all later elements. Differences of floats are rounded.

use std::borrow::Cow;

use nczarr_codec::{
    ChunkInfo, CodecKind, Filter, FilterClass, FilterInfo, FilterPlugin, ItemType, Json, OutBuf, ZarrFormat,
    inventory,
};
use nczarr_model::Result;
use serde_json::Map;

use super::number::{NumberFormat, WideValue, convert};
use super::types::{FilterTypes, NUMBERS};
use crate::json::{CodecMembers, describe};

static INFO: FilterInfo = FilterInfo {
    aliases: &["numcodecs.delta"],
    kind: CodecKind::ArrayToArray { ordered: true },
    v3_names: Some(&["numcodecs.delta"]),
    ..FilterInfo::new("delta", "stores differences of neighbours; dtype, astype")
};

const MEMBERS: [&str; 2] = ["dtype", "astype"];

/// The class of the delta filter.
pub struct DeltaClass;

inventory::submit! { FilterPlugin(&DeltaClass) }

impl FilterClass for DeltaClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn is_lossless(&self) -> bool {
        false
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        Ok(Box::new(Delta { types: FilterTypes::of_words(INFO.name, params, MEMBERS, NUMBERS)? }))
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let members = CodecMembers::of(INFO.name, codec, format)?;
        Ok(Box::new(Delta { types: FilterTypes::read(INFO.name, &members, MEMBERS, NUMBERS)? }))
    }
}

#[derive(Debug, Clone)]
struct Delta {
    types: FilterTypes,
}

/// Applies an operation to two values of a type, with a result of that type.
fn in_type(
    form: &NumberFormat,
    a: WideValue,
    b: WideValue,
    int: fn(i128, i128) -> i128,
    float: fn(f64, f64) -> f64,
) -> Option<WideValue> {
    form.cast(match (a, b) {
        (WideValue::Int(a), WideValue::Int(b)) => WideValue::Int(int(a, b)),
        (a, b) => WideValue::Float(float(a.float(), b.float())),
    })
}

impl Filter for Delta {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Owned(self.types.words())
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        let mut members = Map::new();
        self.types.describe(&mut members);
        describe(format, "delta", "numcodecs.delta", Json::Object(members))
    }

    fn bind(&mut self, chunk: &ChunkInfo<'_>) -> Result<()> {
        self.types.bind(chunk)
    }

    fn encoded_item(&self) -> ItemType {
        self.types.encoded_item()
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        self.types.encode_bound(decoded)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let (decoded, encoded) = self.types.forms()?;
        let rounds = decoded.is_float() && encoded.is_float();
        let mut before = None;
        convert(INFO.name, decoded, src, encoded, dst, |value| {
            let step = match before.replace(value) {
                None => value,
                Some(before) => in_type(decoded, value, before, |a, b| a - b, |a, b| a - b)?,
            };
            encoded.cast(step).filter(|&stored| rounds || decoded.cast(stored) == Some(step))
        })
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let (decoded, encoded) = self.types.forms()?;
        let mut before = None;
        convert(INFO.name, encoded, src, decoded, dst, |stored| {
            let step = decoded.cast(stored)?;
            let value = match before {
                None => step,
                Some(before) => in_type(decoded, before, step, |a, b| a + b, |a, b| a + b)?,
            };
            before = Some(value);
            Some(value)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::numeric::testing::{bytes_of, decode, encode, filter};

    #[test]
    fn encoded_bytes_equal_numcodecs() {
        // numcodecs.Delta("<i2", "|i1").encode([100, 102, 99, -1, -1])
        let delta = filter(&DeltaClass, json!({"id": "delta", "dtype": "<i2", "astype": "|i1"}));
        let values = bytes_of::<i16>(&[100, 102, 99, -1, -1], false);
        assert_eq!(encode(&*delta, &values).unwrap(), [100, 2, 0xfd, 0x9c, 0]);
        assert_eq!(decode(&*delta, &[100, 2, 0xfd, 0x9c, 0], 10).unwrap(), values);
        // numcodecs.Delta(">u4", "<i4").encode([1, 0, 2**32 - 1])
        let delta = filter(&DeltaClass, json!({"id": "delta", "dtype": ">u4", "astype": "<i4"}));
        let values = bytes_of::<u32>(&[1, 0, u32::MAX], true);
        let stored = bytes_of::<i32>(&[1, -1, -1], false);
        assert_eq!(encode(&*delta, &values).unwrap(), stored);
        assert_eq!(decode(&*delta, &stored, 12).unwrap(), values);
        // numcodecs.Delta("<f2").encode([1, 2.5, 1000, 1000.5, 0.1]), with its rounding.
        let delta = filter(&DeltaClass, json!({"id": "delta", "dtype": "<f2"}));
        let stored = [0x00, 0x3c, 0x00, 0x3e, 0xcb, 0x63, 0x00, 0x38, 0xd1, 0xe3];
        let values = [0x00, 0x3c, 0x00, 0x41, 0xd0, 0x63, 0xd1, 0x63, 0x66, 0x2e];
        assert_eq!(encode(&*delta, &values).unwrap(), stored);
        assert_eq!(
            decode(&*delta, &stored, 10).unwrap(),
            [0x00, 0x3c, 0x00, 0x41, 0xd0, 0x63, 0xd1, 0x63, 0, 0]
        );
    }

    #[test]
    fn a_difference_that_does_not_fit_is_refused() {
        for (dtype, astype, values) in [
            ("<i2", "|i1", bytes_of::<i16>(&[1, 300], false)),
            ("<u2", "|u1", bytes_of::<u16>(&[1, 0], false)),
            ("<f4", "<i2", bytes_of::<f32>(&[1.0, 1.5], false)),
            ("<f4", "<i2", bytes_of::<f32>(&[1.0, f32::NAN], false)),
            ("<i4", "<f4", bytes_of::<i32>(&[0, 16_777_217], false)),
        ] {
            let delta = filter(&DeltaClass, json!({"id": "delta", "dtype": dtype, "astype": astype}));
            let error = encode(&*delta, &values).unwrap_err();
            assert_eq!(error.kind(), nczarr_model::ErrorKind::Filter);
            assert!(error.to_string().contains("delta: element 1:"), "{error}");
        }
        let delta = filter(&DeltaClass, json!({"id": "delta", "dtype": "<i4"}));
        for error in [encode(&*delta, &[0; 7]).unwrap_err(), decode(&*delta, &[0; 7], 100).unwrap_err()] {
            assert!(error.to_string().contains("whole elements of 4 bytes, found 7"), "{error}");
        }
    }

    #[test]
    fn delta_takes_its_default_type_from_the_data() {
        let mut delta = DeltaClass.parse_json(&json!({"id": "delta"}), ZarrFormat::V2).unwrap();
        assert_eq!(delta.to_json(ZarrFormat::V2), json!({"id": "delta"}));
        assert_eq!(encode(&*delta, &[]).unwrap_err().kind(), nczarr_model::ErrorKind::Internal);
        let chunk = |item| ChunkInfo::new(item, 2).item_size(4).chunk_bytes(8).big_endian(true);
        assert!(delta.bind(&chunk(ItemType::bytes(4))).unwrap_err().to_string().contains("\"dtype\""));
        delta.bind(&chunk(ItemType::of(nczarr_model::NcType::Int, true))).unwrap();
        assert_eq!(delta.to_json(ZarrFormat::V2), json!({"id": "delta", "dtype": ">i4"}));
        assert_eq!(delta.encoded_item(), ItemType::of(nczarr_model::NcType::Int, true));
        let values = bytes_of::<i32>(&[7, 9], true);
        assert_eq!(encode(&*delta, &values).unwrap(), bytes_of::<i32>(&[7, 2], true));
    }

    proptest::proptest! {
        #[test]
        fn any_integers_round_trip(values: Vec<i16>, big: bool) {
            let dtype = if big { ">i2" } else { "<i2" };
            for astype in [dtype, "<i2", ">u2", "<i8", ">u8"] {
                let delta = filter(&DeltaClass, json!({"id": "delta", "dtype": dtype, "astype": astype}));
                let bytes = bytes_of(&values, big);
                let stored = encode(&*delta, &bytes).unwrap();
                proptest::prop_assert_eq!(decode(&*delta, &stored, bytes.len()).unwrap(), bytes);
            }
            // Compares with a slow sum.
            let delta = filter(&DeltaClass, json!({"id": "delta", "dtype": "<i2"}));
            let sums: Vec<i16> = (0..values.len()).map(|end| {
                values[..=end].iter().fold(0i16, |sum, &value| sum.wrapping_add(value))
            }).collect();
            let stored = bytes_of(&values, false);
            proptest::prop_assert_eq!(decode(&*delta, &stored, stored.len()).unwrap(), bytes_of(&sums, false));
        }
    }
}
