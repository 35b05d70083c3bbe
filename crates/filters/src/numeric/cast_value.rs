//! Numbers as values of another type (codec `cast_value` of Zarr V3).
//!
//! * Parameters: the stored type, the rounding, the treatment of values out of range, the number of encoding
//!   pairs, then the pairs of both maps, each two 64-bit floats of two words
//! * Zarr V3: `{"name": "cast_value", "configuration": {"data_type": "uint16", "rounding": "nearest-even",
//!   "out_of_range": "clamp", "scalar_map": {"encode": [["NaN", 0]], "decode": [[0, "NaN"]]}}}`
//!
//! Encoding and decoding use the same rules. First the map replaces its values. Others are rounded, then
//! brought into range by [`cast`](super::cast::CastRules::cast).
//!
//! Source: zarr-extensions.

use std::borrow::Cow;

use nczarr_codec::{
    ChunkInfo, CodecKind, Filter, FilterClass, FilterInfo, FilterPlugin, ItemKind, ItemType, Json, OutBuf,
    ZarrFormat, inventory,
};
use nczarr_model::{ErrorKind, Result};
use serde_json::{Map, json};

use super::cast::{CastRules, OutOfRange, Rounding};
use super::number::{NumberFormat, WideValue, convert};
use super::types::{NUMBERS, float_of, float_words, named, of_word, unbound, word};
use crate::dtype::Dtype;
use crate::json::CodecMembers;

static INFO: FilterInfo = FilterInfo {
    kind: CodecKind::ELEMENTWISE,
    ..FilterInfo::new(
        "cast_value",
        "stores numbers as another type; data_type, rounding, out_of_range, scalar_map",
    )
};

/// The class of the filter.
pub struct CastValueClass;

inventory::submit! { FilterPlugin(&CastValueClass) }

impl FilterClass for CastValueClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn is_lossless(&self) -> bool {
        false
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        let wrong = || ErrorKind::Inval.context(format!("{}: invalid parameters {params:?}", INFO.name));
        let Some((&[ty, rounding, range, pairs], rest)) = params.split_first_chunk() else {
            return Err(wrong());
        };
        let dtype = of_word(ty).filter(|dtype| NUMBERS(dtype.item.kind)).ok_or_else(wrong)?;
        let number = |list: usize, at: u32| usize::try_from(at).ok().filter(|at| *at < list);
        let rounding =
            Rounding::ALL.get(number(Rounding::ALL.len(), rounding).ok_or_else(wrong)?).ok_or_else(wrong)?;
        let range =
            OutOfRange::ALL.get(number(OutOfRange::ALL.len(), range).ok_or_else(wrong)?).ok_or_else(wrong)?;
        let (words, more) = rest.as_chunks::<4>();
        let all: Vec<_> = words.iter().map(|&[a, b, c, d]| (float_of(a, b), float_of(c, d))).collect();
        let split = usize::try_from(pairs).ok().filter(|split| more.is_empty() && *split <= all.len());
        let (encode, decode) = all.split_at(split.ok_or_else(wrong)?);
        let [encode, decode] =
            [encode, decode].map(|pairs| CastRules::new(rounding.0, range.0, pairs.to_vec()));
        Ok(Box::new(CastValue { dtype, encode, decode, forms: None }))
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let members = CodecMembers::of(INFO.name, codec, format)?;
        let known = ["data_type", "rounding", "out_of_range", "scalar_map"];
        if let Some((name, found)) = members.others(&known) {
            return Err(members.wrong(name, "absent", found));
        }
        let dtype = named(&members, "data_type", NUMBERS)?
            .ok_or_else(|| members.wrong("data_type", "a type of numbers", &Json::Null))?;
        let rounding = word_of(&members, "rounding", Rounding::ALL)?;
        let range = word_of(&members, "out_of_range", OutOfRange::ALL)?;
        let rules =
            |side: &str| -> Result<CastRules> { Ok(CastRules::new(rounding, range, pairs(&members, side)?)) };
        let (encode, decode) = (rules("encode")?, rules("decode")?);
        Ok(Box::new(CastValue { dtype, encode, decode, forms: None }))
    }
}

/// Returns the entry of a list that a member names; the first if the member is missing.
fn word_of<T: Copy>(members: &CodecMembers<'_>, member: &str, all: &[(T, &str)]) -> Result<T> {
    let Some(found) = members.get(member) else { return Ok(all[0].0) };
    let known = all.iter().find(|(_, word)| found.as_str() == Some(word));
    let words: Vec<&str> = all.iter().map(|(_, word)| *word).collect();
    known.map(|(value, _)| *value).ok_or_else(|| members.wrong(member, &format!("one of {words:?}"), found))
}

/// Parses one side of the map.
fn pairs(members: &CodecMembers<'_>, side: &str) -> Result<Vec<(f64, f64)>> {
    let Some(map) = members.get("scalar_map") else { return Ok(Vec::new()) };
    let wrong = || members.wrong("scalar_map", "an object with lists of pairs of numbers", map);
    let sides = map.as_object().ok_or_else(wrong)?;
    if sides.keys().any(|name| name != "encode" && name != "decode") {
        return Err(wrong());
    }
    let list = match sides.get(side) {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(list) => list.as_array().ok_or_else(wrong)?,
    };
    let pair = |pair: &Json| match pair.as_array()?.as_slice() {
        [from, to] => Some((scalar(from)?, scalar(to)?)),
        _ => None,
    };
    list.iter().map(pair).collect::<Option<_>>().ok_or_else(wrong)
}

/// Parses a number in the form of fill values; `None` if a 64-bit float cannot hold it.
fn scalar(value: &Json) -> Option<f64> {
    match value {
        Json::String(name) => match name.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        Json::Number(number) => {
            let float = number.as_f64()?;
            number.as_i128().is_none_or(|exact| float as i128 == exact).then_some(float)
        }
        _ => None,
    }
}

fn scalar_json(value: f64) -> Json {
    match value {
        _ if value.is_nan() => json!("NaN"),
        f64::INFINITY => json!("Infinity"),
        f64::NEG_INFINITY => json!("-Infinity"),
        _ if value.fract() == 0.0 && value.abs() <= 9.0e15 => json!(value as i64),
        _ => json!(value),
    }
}

#[derive(Debug, Clone)]
struct CastValue {
    dtype: Dtype,
    encode: CastRules,
    decode: CastRules,
    /// The decoded and the encoded format.
    forms: Option<(NumberFormat, NumberFormat)>,
}

impl CastValue {
    fn forms(&self) -> Result<&(NumberFormat, NumberFormat)> {
        self.forms.as_ref().ok_or_else(|| unbound(INFO.name))
    }
}

impl Filter for CastValue {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        let place = |found: Option<usize>| found.unwrap_or_default() as u32;
        let rounding = place(Rounding::ALL.iter().position(|(value, _)| *value == self.encode.rounding));
        let range = place(OutOfRange::ALL.iter().position(|(value, _)| *value == self.encode.range));
        let mut words = vec![word(&self.dtype), rounding, range, self.encode.pairs.len() as u32];
        for (from, to) in self.encode.pairs.iter().chain(&self.decode.pairs) {
            words.extend([*from, *to].into_iter().flat_map(float_words));
        }
        Cow::Owned(words)
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        if format == ZarrFormat::V2 {
            // Zarr V2 has no such codec.
            return Json::Null;
        }
        let ItemType { kind, size, .. } = self.dtype.item;
        let kind = match kind {
            ItemKind::Int => "int",
            ItemKind::UInt => "uint",
            _ => "float",
        };
        let mut members = Map::new();
        members.insert("data_type".into(), format!("{kind}{}", 8 * size).into());
        let named = |found: Option<&str>| Json::from(found.unwrap_or_default());
        let rounding = Rounding::ALL.iter().find(|(value, _)| *value == self.encode.rounding);
        members.insert("rounding".into(), named(rounding.map(|(_, word)| *word)));
        if let Some((_, word)) = OutOfRange::ALL[1..].iter().find(|(value, _)| *value == self.encode.range) {
            members.insert("out_of_range".into(), (*word).into());
        }
        let mut map = Map::new();
        for (side, rules) in [("encode", &self.encode), ("decode", &self.decode)] {
            if !rules.pairs.is_empty() {
                let pairs =
                    rules.pairs.iter().map(|(from, to)| json!([scalar_json(*from), scalar_json(*to)]));
                map.insert(side.into(), pairs.collect());
            }
        }
        if !map.is_empty() {
            members.insert("scalar_map".into(), Json::Object(map));
        }
        json!({"name": INFO.name, "configuration": members})
    }

    fn bind(&mut self, chunk: &ChunkInfo<'_>) -> Result<()> {
        let mut encoded = self.dtype.item;
        if chunk.item.size > 1 {
            // Elements before serialization have no byte order. Use the one of the stored bytes.
            encoded.big_endian = chunk.item.big_endian && encoded.size > 1;
        }
        let decoded = Some(chunk.item).filter(|item| NUMBERS(item.kind)).and_then(NumberFormat::new);
        self.forms = decoded.zip(NumberFormat::new(encoded));
        match self.forms {
            Some(_) => Ok(()),
            None => Err(ErrorKind::Filter
                .context(format!("{}: expected numbers, found {:?}", INFO.name, chunk.item.kind))),
        }
    }

    fn encoded_item(&self) -> ItemType {
        self.forms.as_ref().map_or(ItemType::BYTES, |(_, encoded)| encoded.item)
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        let (from, to) = self.forms.as_ref()?;
        decoded.div_ceil(from.item.size).checked_mul(to.item.size)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let (decoded, encoded) = self.forms()?;
        convert(INFO.name, decoded, src, encoded, dst, |value: WideValue| self.encode.cast(value, encoded))
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let (decoded, encoded) = self.forms()?;
        convert(INFO.name, encoded, src, decoded, dst, |value: WideValue| self.decode.cast(value, decoded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::testing::{bound, bytes_of, decode, encode};

    fn filter(codec: Json, kind: ItemKind, size: usize) -> Box<dyn Filter> {
        bound(&CastValueClass, codec, ItemType { kind, size, big_endian: false })
    }

    #[test]
    fn floats_become_integers_and_come_back() {
        let map = json!({"encode": [["NaN", 0]], "decode": [[0, "NaN"]]});
        let codec = json!({"data_type": "uint8", "out_of_range": "clamp", "scalar_map": map});
        let filter = filter(codec, ItemKind::Float, 4);
        let values = [1.0f32, 2.5, 3.5, 300.0, -7.0, f32::NAN, f32::INFINITY];
        let encoded = encode(&*filter, &bytes_of(&values, false)).unwrap();
        assert_eq!(encoded, [1, 2, 4, 255, 0, 0, 255]);
        let back = decode(&*filter, &encoded, 28).unwrap();
        let back: Vec<f32> =
            back.chunks(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
        assert_eq!(back[..4], [1.0, 2.0, 4.0, 255.0]);
        assert!(back[4].is_nan() && back[5].is_nan() && back[6] == 255.0);
    }

    #[test]
    fn values_out_of_range_are_errors_by_default() {
        let filter = filter(json!({"data_type": "int8"}), ItemKind::Float, 8);
        assert_eq!(encode(&*filter, &bytes_of(&[127.4f64, -128.5], false)).unwrap(), [127, 128]);
        for value in [127.5, -129.0, f64::NAN, f64::INFINITY] {
            assert!(encode(&*filter, &bytes_of(&[value], false)).is_err(), "{value}");
        }
    }

    #[test]
    fn descriptions_are_kept_and_odd_ones_refused() {
        for configuration in [
            json!({"data_type": "uint16", "rounding": "nearest-even"}),
            json!({"data_type": "float32", "rounding": "towards-zero", "out_of_range": "clamp"}),
            json!({"data_type": "int64", "rounding": "nearest-away", "out_of_range": "wrap",
                "scalar_map": {"encode": [["NaN", -1], [0.5, 7]], "decode": [[-1, "NaN"]]}}),
        ] {
            let codec = json!({"name": "cast_value", "configuration": configuration});
            let filter = CastValueClass.parse_json(&codec, ZarrFormat::V3).unwrap();
            assert_eq!(filter.to_json(ZarrFormat::V3), codec);
            let again = CastValueClass.parse_params(&filter.params()).unwrap();
            assert_eq!(again.to_json(ZarrFormat::V3), codec);
        }
        for wrong in [
            json!({}),
            json!({"data_type": "string"}),
            json!({"data_type": "int8", "rounding": "up"}),
            json!({"data_type": "int8", "out_of_range": "ignore"}),
            json!({"data_type": "int8", "more": 1}),
            json!({"data_type": "int8", "scalar_map": {"encode": [[1]]}}),
            json!({"data_type": "int8", "scalar_map": {"both": []}}),
        ] {
            let codec = json!({"name": "cast_value", "configuration": wrong});
            assert!(CastValueClass.parse_json(&codec, ZarrFormat::V3).is_err(), "{codec}");
        }
    }
}
