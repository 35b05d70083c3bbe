//! Elements as another type (codec id `astype`).
//!
//! * Parameters: none, or the decoded type, or the decoded and the encoded one
//! * Zarr V2: `{"id": "astype", "encode_dtype": ">f4", "decode_dtype": "<f8"}`
//! * Zarr V3: `{"name": "numcodecs.astype", "configuration": {…}}`
//! * Stored: each element as `encode_dtype`; read as `decode_dtype`, which defaults to the type of the data
//!
//! Conversion may lose a fraction or the last digits, which is the purpose of the filter. Encoding a value
//! outside the range of the encoded type is an error.

use std::borrow::Cow;

use nczarr_codec::{
    ChunkInfo, CodecKind, Filter, FilterClass, FilterInfo, FilterPlugin, ItemType, Json, OutBuf, ZarrFormat,
    inventory,
};
use nczarr_model::Result;
use serde_json::Map;

use super::number::convert;
use super::types::{ANY, FilterTypes};
use crate::json::{CodecMembers, describe};

static INFO: FilterInfo = FilterInfo {
    aliases: &["numcodecs.astype"],
    kind: CodecKind::ELEMENTWISE,
    v3_names: Some(&["numcodecs.astype"]),
    ..FilterInfo::new("astype", "stores numbers as another type; encode_dtype, decode_dtype")
};

const MEMBERS: [&str; 2] = ["decode_dtype", "encode_dtype"];

/// The class of the filter.
pub struct AstypeClass;

inventory::submit! { FilterPlugin(&AstypeClass) }

impl FilterClass for AstypeClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn is_lossless(&self) -> bool {
        false
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        Ok(Box::new(Astype { types: FilterTypes::of_words(INFO.name, params, MEMBERS, ANY)? }))
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let members = CodecMembers::of(INFO.name, codec, format)?;
        Ok(Box::new(Astype { types: FilterTypes::read(INFO.name, &members, MEMBERS, ANY)? }))
    }
}

#[derive(Debug, Clone)]
struct Astype {
    types: FilterTypes,
}

impl Filter for Astype {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Owned(self.types.words())
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        let mut members = Map::new();
        self.types.describe(&mut members);
        describe(format, "astype", "numcodecs.astype", Json::Object(members))
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
        convert(INFO.name, decoded, src, encoded, dst, |value| encoded.keep(value))
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let (decoded, encoded) = self.types.forms()?;
        convert(INFO.name, encoded, src, decoded, dst, |value| decoded.cast(value))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::numeric::testing::{bytes_of, decode, encode, filter};

    fn astype(encode: &str, decode: &str) -> Box<dyn Filter> {
        filter(&AstypeClass, json!({"id": "astype", "encode_dtype": encode, "decode_dtype": decode}))
    }

    #[test]
    fn encoded_bytes_equal_numcodecs() {
        // numcodecs.AsType(">f4", "<f8").encode([0.1, -2.5, 1e-50, nan])
        let values = bytes_of(&[0.1f64, -2.5, 1e-50, f64::NAN], false);
        let stored = bytes_of(&[0.1f32, -2.5, 0.0, f32::NAN], true);
        assert_eq!(encode(&*astype(">f4", "<f8"), &values).unwrap(), stored);
        let back = bytes_of(&[f64::from(0.1f32), -2.5, 0.0, f64::NAN], false);
        assert_eq!(decode(&*astype(">f4", "<f8"), &stored, 32).unwrap(), back);
        // numcodecs.AsType("<i2", "<f4").encode([2.9, -2.9])
        let stored = encode(&*astype("<i2", "<f4"), &bytes_of(&[2.9f32, -2.9], false)).unwrap();
        assert_eq!(stored, bytes_of::<i16>(&[2, -2], false));
        // numcodecs.AsType("<i4", "|u1").decode([1, 300, -1])
        let stored = bytes_of::<i32>(&[1, 300, -1], false);
        assert_eq!(decode(&*astype("<i4", "|u1"), &stored, 3).unwrap(), [1, 44, 255]);
        // numcodecs.AsType("|u1", "|b1")
        assert_eq!(encode(&*astype("|u1", "|b1"), &[1, 0, 1]).unwrap(), [1, 0, 1]);
        assert_eq!(decode(&*astype("|u1", "|b1"), &[1, 0, 7], 3).unwrap(), [1, 0, 1]);
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for (to, from, values) in [
            ("|u1", "<i2", bytes_of::<i16>(&[255, 256], false)),
            ("<i8", "<u8", bytes_of(&[0, u64::MAX], false)),
            ("<i4", "<f8", bytes_of(&[2147483647.5, 2147483648.0], false)),
            ("<f4", "<f8", bytes_of(&[f64::INFINITY, 1e39], false)),
            ("|b1", "|u1", vec![1, 2]),
        ] {
            let error = encode(&*astype(to, from), &values).unwrap_err();
            assert!(error.to_string().contains("astype: element 1:"), "{error}");
        }
        let stored = bytes_of(&[0.0, f64::NAN], false);
        let error = decode(&*astype("<f8", "<i4"), &stored, 8).unwrap_err();
        assert!(
            error.to_string().contains("element 1: NaN does not convert to signed integers of 4 bytes"),
            "{error}"
        );
    }

    #[test]
    fn other_types_are_refused_when_the_description_is_read() {
        for other in ["<U5", "|O", "<c8", "<M8[s]", "|S3", "nonsense"] {
            let codec = json!({"id": "astype", "encode_dtype": "<i4", "decode_dtype": other});
            let error = AstypeClass.parse_json(&codec, ZarrFormat::V2).unwrap_err();
            assert!(error.to_string().contains("\"decode_dtype\""), "{error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn values_survive_a_wider_type(values: Vec<i16>, which in 0usize..5) {
            let to = ["<i4", ">i8", "<f4", ">f8", ">i2"][which];
            let bytes = bytes_of(&values, true);
            let stored = encode(&*astype(to, ">i2"), &bytes).unwrap();
            proptest::prop_assert_eq!(decode(&*astype(to, ">i2"), &stored, bytes.len()).unwrap(), bytes);
        }
    }
}
