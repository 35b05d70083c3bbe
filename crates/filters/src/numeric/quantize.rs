//! Fewer decimal digits (codec id `quantize`).
//!
//! * Parameters: none, or the digits (two's complement), then the types as in `delta`
//! * Zarr V2: `{"id": "quantize", "digits": 2, "dtype": "<f8", "astype": "<f4"}`
//! * Zarr V3: `{"name": "numcodecs.quantize", "configuration": {…}}`
//! * Stored: multiples of the largest power of two that keeps this many digits behind the point, as `astype`
//!
//! Loses precision on purpose. Decoding changes only the type and needs no digits. Numbers so large that the
//! multiple would be infinite stay unchanged.

use std::borrow::Cow;

use nczarr_codec::{
    ChunkInfo, CodecKind, Filter, FilterClass, FilterInfo, FilterPlugin, ItemType, Json, OutBuf, ZarrFormat,
    inventory,
};
use nczarr_model::{ErrorKind, Result};
use serde_json::{Map, json};

use super::number::{WideValue, convert};
use super::types::{FLOATS, FilterTypes};
use crate::json::{CodecMembers, describe};

static INFO: FilterInfo = FilterInfo {
    aliases: &["numcodecs.quantize"],
    kind: CodecKind::ELEMENTWISE,
    v3_names: Some(&["numcodecs.quantize"]),
    ..FilterInfo::new(
        "quantize",
        "keeps some decimal digits of floats, loses the rest; digits, dtype, astype",
    )
};

const MEMBERS: [&str; 2] = ["dtype", "astype"];

/// Most decimal digits of a float on either side of the point.
const MOST: i32 = 308;

/// The class of the filter.
pub struct QuantizeClass;

inventory::submit! { FilterPlugin(&QuantizeClass) }

impl FilterClass for QuantizeClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn is_lossless(&self) -> bool {
        false
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        let (digits, types) = match params.split_first() {
            None => (None, params),
            Some((digits, types)) => (Some(digits.cast_signed()), types),
        };
        if digits.is_some_and(|digits| digits.unsigned_abs() > MOST.unsigned_abs()) {
            return Err(ErrorKind::Inval
                .context(format!("quantize: expected at most {MOST} digits, found {params:?}")));
        }
        Ok(Box::new(Quantize { digits, types: FilterTypes::of_words(INFO.name, types, MEMBERS, FLOATS)? }))
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let members = CodecMembers::of(INFO.name, codec, format)?;
        let digits = match members.int("digits")? {
            None => None,
            Some(found) => match i32::try_from(found).ok().filter(|digits| (-MOST..=MOST).contains(digits)) {
                None => return Err(members.wrong("digits", "a number of decimal digits", &json!(found))),
                digits => digits,
            },
        };
        Ok(Box::new(Quantize { digits, types: FilterTypes::read(INFO.name, &members, MEMBERS, FLOATS)? }))
    }
}

#[derive(Debug, Clone)]
struct Quantize {
    digits: Option<i32>,
    types: FilterTypes,
}

impl Filter for Quantize {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        // Types without digits have no position in the parameters.
        let types = self.digits.map(|_| self.types.words()).unwrap_or_default();
        Cow::Owned(self.digits.map(i32::cast_unsigned).into_iter().chain(types).collect())
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        let mut members = Map::new();
        if let Some(digits) = self.digits {
            members.insert("digits".into(), json!(digits));
        }
        self.types.describe(&mut members);
        describe(format, "quantize", "numcodecs.quantize", Json::Object(members))
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
        let Some(digits) = self.digits else {
            return Err(ErrorKind::Filter.context("quantize: expected \"digits\" to encode with, found none"));
        };
        let bits = (f64::from(digits) * std::f64::consts::LOG2_10).ceil();
        let round = |value: f64| decoded.cast(WideValue::Float(value)).map_or(f64::NAN, WideValue::float);
        let scale = round(bits.exp2());
        convert(INFO.name, decoded, src, encoded, dst, |value| {
            let value = value.float();
            let multiple = round(scale * value);
            let near = if multiple.is_finite() { round(multiple.round_ties_even() / scale) } else { value };
            encoded.keep(WideValue::Float(near))
        })
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let (decoded, encoded) = self.types.forms()?;
        convert(INFO.name, encoded, src, decoded, dst, |stored| decoded.cast(stored))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::testing::{bytes_of, decode, encode, filter};

    #[test]
    fn encoded_bytes_equal_numcodecs() {
        // numcodecs.Quantize(2, "<f8"); 0.00390625 is a tie.
        let quantize = filter(&QuantizeClass, json!({"id": "quantize", "digits": 2, "dtype": "<f8"}));
        let values = [0.1, 1.0 / 3.0, -2.7, 1e300, 0.00390625, 0.01171875];
        let rounded = [0.1015625, 0.3359375, -2.703125, 1e300, 0.0, 0.015625];
        let stored = encode(&*quantize, &bytes_of(&values, false)).unwrap();
        assert_eq!(stored, bytes_of(&rounded, false));
        assert_eq!(decode(&*quantize, &stored, 48).unwrap(), stored);
        // numcodecs.Quantize(1, ">f4", "<f2")
        let quantize =
            filter(&QuantizeClass, json!({"id": "quantize", "digits": 1, "dtype": ">f4", "astype": "<f2"}));
        let stored = encode(&*quantize, &bytes_of(&[0.1f32, 1.0 / 3.0, -2.7, 1000.0], true)).unwrap();
        assert_eq!(stored, [0x00, 0x30, 0x00, 0x35, 0x60, 0xc1, 0xd0, 0x63]);
        let back = bytes_of(&[0.125f32, 0.3125, -2.6875, 1000.0], true);
        assert_eq!(decode(&*quantize, &stored, 16).unwrap(), back);
    }

    #[test]
    fn nothing_becomes_infinite() {
        // numcodecs makes infinity of these.
        let quantize = filter(&QuantizeClass, json!({"id": "quantize", "digits": 30, "dtype": "<f4"}));
        let values = bytes_of(&[1e30f32, -3e38, f32::INFINITY, 0.5], false);
        assert_eq!(encode(&*quantize, &values).unwrap(), values);
        let narrow =
            filter(&QuantizeClass, json!({"id": "quantize", "digits": 2, "dtype": "<f4", "astype": "<f2"}));
        assert!(encode(&*narrow, &values).unwrap_err().to_string().contains("element 0:"));
        let most = filter(&QuantizeClass, json!({"id": "quantize", "digits": 308, "dtype": "<f8"}));
        let values = bytes_of(&[0.1f64, 1e-320, -7.0], false);
        assert_eq!(encode(&*most, &values).unwrap(), values);
    }

    #[test]
    fn digits_are_wanted_for_encoding_only() {
        let quantize = filter(&QuantizeClass, json!({"id": "quantize", "dtype": "<f4"}));
        assert_eq!(decode(&*quantize, &[0; 8], 8).unwrap(), [0; 8]);
        assert!(encode(&*quantize, &[0; 8]).unwrap_err().to_string().contains("\"digits\""));
        for wrong in
            [json!({"digits": 309}), json!({"digits": -309}), json!({"digits": 1.5}), json!({"dtype": "<i4"})]
        {
            assert!(QuantizeClass.parse_json(&wrong, ZarrFormat::V2).is_err(), "{wrong}");
        }
    }
}
