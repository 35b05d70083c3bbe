//! Floats as scaled integers (codec id `fixedscaleoffset`).
//!
//! * Parameters: offset and scale, each a 64-bit float in two words, low word first; then the types as in
//!   `delta`
//! * Zarr V2: `{"id": "fixedscaleoffset", "scale": 10, "offset": 1000, "dtype": "<f8", "astype": "|u1"}`
//! * Zarr V3: `{"name": "numcodecs.fixedscaleoffset", "configuration": {…}}`
//! * Stored: `(x - offset) * scale`, rounded to nearest (ties to even), as `astype`; read as `x / scale +
//!   offset`
//!
//! Computes in the type of the elements, or in 64-bit floats if integers meet a fraction, as NumPy does.
//! Encoding a value outside the encoded type is an error. Offset and scale have no default.

use std::borrow::Cow;

use nczarr_codec::{
    ChunkInfo, CodecKind, Filter, FilterClass, FilterInfo, FilterPlugin, ItemType, Json, OutBuf, ZarrFormat,
    inventory,
};
use nczarr_model::{ErrorKind, Result};
use serde_json::{Map, Number};

use super::number::{NumberFormat, WideValue, convert};
use super::types::{FilterTypes, NUMBERS, float_of, float_words};
use crate::json::{CodecMembers, describe};

static INFO: FilterInfo = FilterInfo {
    aliases: &["numcodecs.fixedscaleoffset"],
    kind: CodecKind::ELEMENTWISE,
    v3_names: Some(&["numcodecs.fixedscaleoffset"]),
    ..FilterInfo::new(
        "fixedscaleoffset",
        "stores (x - offset) * scale, rounded; offset, scale, dtype, astype",
    )
};

const MEMBERS: [&str; 2] = ["dtype", "astype"];

/// The class of the filter.
pub struct FixedScaleOffsetClass;

inventory::submit! { FilterPlugin(&FixedScaleOffsetClass) }

impl FilterClass for FixedScaleOffsetClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn is_lossless(&self) -> bool {
        false
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        let wrong = || {
            ErrorKind::Inval
                .context(format!("{}: expected an offset and a scale, found {params:?}", INFO.name))
        };
        let Some((&[a, b, c, d], types)) = params.split_first_chunk() else { return Err(wrong()) };
        let (offset, scale) = (float_of(a, b), float_of(c, d));
        Ok(Box::new(FixedScaleOffset {
            offset: number(offset).ok_or_else(wrong)?,
            scale: number(scale).filter(|_| scale != 0.0).ok_or_else(wrong)?,
            types: FilterTypes::of_words(INFO.name, types, MEMBERS, NUMBERS)?,
        }))
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let members = CodecMembers::of(INFO.name, codec, format)?;
        let scale = members.number("scale")?;
        if scale.as_f64() == Some(0.0) {
            return Err(members.wrong("scale", "a number other than 0", &Json::Number(scale)));
        }
        let types = FilterTypes::read(INFO.name, &members, MEMBERS, NUMBERS)?;
        Ok(Box::new(FixedScaleOffset { offset: members.number("offset")?, scale, types }))
    }
}

/// Returns a number as a description has it. Whole numbers become integers.
fn number(value: f64) -> Option<Number> {
    if value.fract() == 0.0 && value.abs() <= 9.0e15 && !(value == 0.0 && value.is_sign_negative()) {
        Some(Number::from(value as i64))
    } else {
        Number::from_f64(value)
    }
}

#[derive(Debug, Clone)]
struct FixedScaleOffset {
    offset: Number,
    scale: Number,
    types: FilterTypes,
}

fn wide(number: &Number) -> WideValue {
    match number.as_i128() {
        Some(value) => WideValue::Int(value),
        None => WideValue::Float(number.as_f64().unwrap_or(f64::NAN)),
    }
}

/// Computes `a op b`, where `b` is a number of the description. Uses the type of `a` if it holds `b`,
/// otherwise 64-bit floats. `None` if an integer leaves the type.
fn apply(
    form: &NumberFormat,
    a: WideValue,
    b: WideValue,
    int: fn(i128, i128) -> Option<i128>,
    float: fn(f64, f64) -> f64,
) -> Option<WideValue> {
    match (a, b) {
        (WideValue::Int(a), WideValue::Int(b)) => form.keep(WideValue::Int(int(a, b)?)),
        (WideValue::Float(a), b) if form.is_float() => {
            form.cast(WideValue::Float(float(a, form.cast(b)?.float())))
        }
        (a, b) => Some(WideValue::Float(float(a.float(), b.float()))),
    }
}

impl Filter for FixedScaleOffset {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        let numbers = [&self.offset, &self.scale].map(|number| float_words(wide(number).float()));
        Cow::Owned(numbers.into_iter().flatten().chain(self.types.words()).collect())
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        let mut members = Map::new();
        members.insert("scale".into(), Json::Number(self.scale.clone()));
        members.insert("offset".into(), Json::Number(self.offset.clone()));
        self.types.describe(&mut members);
        describe(format, "fixedscaleoffset", "numcodecs.fixedscaleoffset", Json::Object(members))
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
        let (offset, scale) = (wide(&self.offset), wide(&self.scale));
        convert(INFO.name, decoded, src, encoded, dst, |value| {
            let value = apply(decoded, value, offset, i128::checked_sub, |a, b| a - b)?;
            let value = apply(decoded, value, scale, i128::checked_mul, |a, b| a * b)?;
            encoded.keep(match value {
                WideValue::Float(value) => WideValue::Float(value.round_ties_even()),
                whole => whole,
            })
        })
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let (decoded, encoded) = self.types.forms()?;
        let (offset, scale) = (wide(&self.offset), wide(&self.scale));
        convert(INFO.name, encoded, src, decoded, dst, |stored| {
            // Integers are divided as floats.
            let stored = if encoded.is_float() { stored } else { WideValue::Float(stored.float()) };
            let value = apply(encoded, stored, scale, |_, _| None, |a, b| a / b)?;
            let value = apply(encoded, value, offset, |_, _| None, |a, b| a + b)?;
            decoded.cast(value)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::numeric::testing::{bytes_of, decode, encode, filter};

    fn codec(offset: Json, scale: Json, dtype: &str, astype: &str) -> Box<dyn Filter> {
        let codec = json!({"id": "fixedscaleoffset", "scale": scale, "offset": offset, "dtype": dtype, "astype": astype});
        filter(&FixedScaleOffsetClass, codec)
    }

    #[test]
    fn encoded_bytes_equal_numcodecs() {
        // numcodecs.FixedScaleOffset(1000, 10, "<f8", "|u1")
        let f8 = codec(json!(1000), json!(10), "<f8", "|u1");
        let values: [f64; 6] = [1000.0, 1000.05, 1000.15, 1000.25, 1000.44444, 1001.0];
        assert_eq!(encode(&*f8, &bytes_of(&values, false)).unwrap(), [0, 0, 1, 2, 4, 10]);
        let back = [1000.0, 1000.0, 1000.1, 1000.2, 1000.4, 1001.0];
        assert_eq!(decode(&*f8, &[0, 0, 1, 2, 4, 10], 48).unwrap(), bytes_of(&back, false));
        // numcodecs.FixedScaleOffset(0.5, 0.1, ">f4", ">i2"): computed in 32 bits.
        let f4 = codec(json!(0.5), json!(0.1), ">f4", ">i2");
        let stored = encode(&*f4, &bytes_of(&[25.5f32, -1000.0, 35.5, 0.3], true)).unwrap();
        assert_eq!(stored, bytes_of::<i16>(&[2, -100, 4, 0], true));
        let back = [20.5f32, -999.5, 40.5, 0.5];
        assert_eq!(decode(&*f4, &stored, 16).unwrap(), bytes_of(&back, true));
        // numcodecs.FixedScaleOffset(2**62, 1, "<i8"): integers are subtracted as integers, but added as
        // floats.
        let i8 = codec(json!(1i64 << 62), json!(1), "<i8", "<i8");
        let stored = encode(&*i8, &bytes_of(&[(1i64 << 62) + 1, 1 << 62], false)).unwrap();
        assert_eq!(stored, bytes_of::<i64>(&[1, 0], false));
        // numcodecs.FixedScaleOffset(0, 3, "<i4"): the fraction is lost.
        let i4 = codec(json!(0), json!(3), "<i4", "<i4");
        assert_eq!(
            decode(&*i4, &bytes_of::<i32>(&[8, -8], false), 8).unwrap(),
            bytes_of::<i32>(&[2, -2], false)
        );
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for (dtype, astype, offset, values) in [
            ("<f8", "|u1", json!(0), bytes_of(&[1.0f64, 26.0], false)),
            ("<f8", "|u1", json!(0), bytes_of(&[1.0f64, f64::NAN], false)),
            ("<f8", "<f4", json!(0), bytes_of(&[1.0f64, 1e300], false)),
            ("<i2", "<i8", json!(0), bytes_of(&[1i16, 30_000], false)),
            ("<i2", "<i8", json!(-30_000), bytes_of(&[-30_000i16, 30_000], false)),
        ] {
            let error = encode(&*codec(offset, json!(10), dtype, astype), &values).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Filter);
            assert!(error.to_string().contains("element 1:"), "{error}");
        }
        // No writer of integers makes these bytes.
        let stored = bytes_of(&[f32::NAN], false);
        assert!(decode(&*codec(json!(0), json!(1), "<i4", "<f4"), &stored, 4).is_err());
    }

    #[test]
    fn numbers_keep_their_spelling() {
        for (offset, scale) in [("10", "4"), ("10.0", "0.25"), ("-1.5", "1e-7"), ("0", "-3")] {
            let text =
                format!(r#"{{"id":"fixedscaleoffset","scale":{scale},"offset":{offset},"dtype":"<f8"}}"#);
            let codec: Json = serde_json::from_str(&text).unwrap();
            let filter = FixedScaleOffsetClass.parse_json(&codec, ZarrFormat::V2).unwrap();
            assert_eq!(filter.to_json(ZarrFormat::V2), codec);
            let again = FixedScaleOffsetClass.parse_params(&filter.params()).unwrap();
            assert_eq!(again.params(), filter.params(), "{text}");
        }
        for wrong in [
            json!({"id": "fixedscaleoffset"}),
            json!({"scale": 1}),
            json!({"offset": 1}),
            json!({"scale": 0, "offset": 1}),
            json!({"scale": 1, "offset": "one"}),
            json!({"scale": true, "offset": 1}),
            json!({"scale": 1, "offset": 1, "dtype": "|b1"}),
        ] {
            let error = FixedScaleOffsetClass.parse_json(&wrong, ZarrFormat::V2).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Filter, "{wrong}");
        }
    }

    proptest::proptest! {
        #[test]
        fn multiples_of_the_scale_come_back(values: Vec<i16>, power in -3i32..4, offset in -1000i32..1000) {
            let scale = 2f64.powi(power);
            let values: Vec<f64> = values.iter().map(|&value| f64::from(value) / scale + f64::from(offset)).collect();
            let codec = codec(json!(offset), json!(scale), "<f8", ">i4");
            let bytes = bytes_of(&values, false);
            let stored = encode(&*codec, &bytes).unwrap();
            proptest::prop_assert_eq!(decode(&*codec, &stored, bytes.len()).unwrap(), bytes);
        }
    }
}
