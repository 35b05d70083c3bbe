//! Numbers scaled and shifted, in their own type (codec `scale_offset` of Zarr V3).
//!
//! * Parameters: offset and scale, each a 64-bit float in two words, low word first
//! * Zarr V3: `{"name": "scale_offset", "configuration": {"offset": -0.1, "scale": 10000}}`
//! * Stored: `(x - offset) * scale`; read as `x / scale + offset`
//!
//! Floats are rounded to their type after each step. Integers stay integers: a quotient with a fraction, or a
//! value out of range, is an error. The default offset is 0, the default scale 1.
//!
//! Source: zarr-extensions.

use std::borrow::Cow;

use nczarr_codec::{
    ChunkInfo, CodecKind, Filter, FilterClass, FilterInfo, FilterPlugin, ItemType, Json, OutBuf, ZarrFormat,
    inventory,
};
use nczarr_model::{ErrorKind, Result};
use serde_json::{Number, json};

use super::number::{NumberFormat, WideValue, convert};
use super::types::{NUMBERS, float_of, float_words, unbound};
use crate::json::CodecMembers;

static INFO: FilterInfo = FilterInfo {
    kind: CodecKind::ELEMENTWISE,
    ..FilterInfo::new("scale_offset", "stores (x - offset) * scale in the type of x; offset, scale")
};

/// The class of the filter.
pub struct ScaleAndOffsetClass;

inventory::submit! { FilterPlugin(&ScaleAndOffsetClass) }

impl FilterClass for ScaleAndOffsetClass {
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
        let &[a, b, c, d] = params else { return Err(wrong()) };
        let number = |value: f64| {
            if value.fract() == 0.0 && value.abs() <= 9.0e15 {
                Some(Number::from(value as i64))
            } else {
                Number::from_f64(value)
            }
        };
        let (offset, scale) = (number(float_of(a, b)), number(float_of(c, d)));
        made(offset.ok_or_else(wrong)?, scale.ok_or_else(wrong)?).ok_or_else(wrong)
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let members = CodecMembers::of(INFO.name, codec, format)?;
        let member = |name: &str, missing: i64| match members.get(name) {
            Some(_) => members.number(name),
            None => Ok(Number::from(missing)),
        };
        let (offset, scale) = (member("offset", 0)?, member("scale", 1)?);
        let found = Json::Number(scale.clone());
        made(offset, scale).ok_or_else(|| members.wrong("scale", "a number other than 0", &found))
    }
}

fn made(offset: Number, scale: Number) -> Option<Box<dyn Filter>> {
    let is_zero = scale.as_f64() == Some(0.0);
    (!is_zero).then(|| Box::new(ScaleOffset { offset, scale, form: None }) as _)
}

#[derive(Debug, Clone)]
struct ScaleOffset {
    offset: Number,
    scale: Number,
    form: Option<NumberFormat>,
}

impl ScaleOffset {
    /// Returns the format of the elements, and offset and scale in their type.
    fn parts(&self) -> Result<(&NumberFormat, WideValue, WideValue)> {
        let form = self.form.as_ref().ok_or_else(|| unbound(INFO.name))?;
        let of = |number: &Number| {
            let value = match (number.as_i128(), number.as_f64()) {
                (Some(value), _) => Some(WideValue::Int(value)),
                // A whole number may be spelled with a fraction of 0.
                (None, Some(value)) if !form.is_float() && value.fract() != 0.0 => None,
                (None, value) => value.map(WideValue::Float),
            };
            let held =
                value.and_then(|value| if form.is_float() { form.cast(value) } else { form.keep(value) });
            held.ok_or_else(|| {
                ErrorKind::Filter
                    .context(format!("{}: {number} does not fit the type of the elements", INFO.name))
            })
        };
        Ok((form, of(&self.offset)?, of(&self.scale)?))
    }
}

impl Filter for ScaleOffset {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        let number = |number: &Number| number.as_f64().unwrap_or(f64::NAN);
        Cow::Owned([number(&self.offset), number(&self.scale)].into_iter().flat_map(float_words).collect())
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        match format {
            // Zarr V2 has no such codec.
            ZarrFormat::V2 => Json::Null,
            ZarrFormat::V3 => {
                json!({"name": INFO.name, "configuration": {"offset": self.offset, "scale": self.scale}})
            }
        }
    }

    fn bind(&mut self, chunk: &ChunkInfo<'_>) -> Result<()> {
        let known = Some(chunk.item).filter(|item| NUMBERS(item.kind)).and_then(NumberFormat::new);
        self.form = Some(known.ok_or_else(|| {
            ErrorKind::Filter.context(format!("{}: expected numbers, found {:?}", INFO.name, chunk.item.kind))
        })?);
        self.parts().map(drop)
    }

    fn encoded_item(&self) -> ItemType {
        self.form.as_ref().map_or(ItemType::BYTES, |form| form.item)
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let (form, offset, scale) = self.parts()?;
        convert(INFO.name, form, src, form, dst, |value| match (value, offset, scale) {
            (WideValue::Int(value), WideValue::Int(offset), WideValue::Int(scale)) => {
                form.keep(WideValue::Int(value.checked_sub(offset)?.checked_mul(scale)?))
            }
            (value, offset, scale) => {
                let shifted = form.cast(WideValue::Float(value.float() - offset.float()))?;
                form.cast(WideValue::Float(shifted.float() * scale.float()))
            }
        })
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let (form, offset, scale) = self.parts()?;
        convert(INFO.name, form, src, form, dst, |value| match (value, offset, scale) {
            (WideValue::Int(value), WideValue::Int(offset), WideValue::Int(scale)) => {
                let whole = value.checked_rem(scale)? == 0;
                form.keep(WideValue::Int(value.checked_div(scale).filter(|_| whole)?.checked_add(offset)?))
            }
            (value, offset, scale) => {
                let scaled = form.cast(WideValue::Float(value.float() / scale.float()))?;
                form.cast(WideValue::Float(scaled.float() + offset.float()))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use nczarr_codec::ItemKind;

    use super::*;
    use crate::numeric::testing::{bound, bytes_of, decode, encode};

    fn filter(codec: Json, kind: ItemKind, size: usize) -> Box<dyn Filter> {
        bound(&ScaleAndOffsetClass, codec, ItemType { kind, size, big_endian: false })
    }

    #[test]
    fn floats_are_rounded_after_each_step() {
        let filter = filter(json!({"offset": -0.1, "scale": 10000}), ItemKind::Float, 4);
        let values: Vec<f32> = (0..100).map(|i| i as f32 / 99.0).collect();
        let stored: Vec<f32> = values.iter().map(|x| (x - -0.1f32) * 10000.0).collect();
        let encoded = encode(&*filter, &bytes_of(&values, false)).unwrap();
        assert_eq!(encoded, bytes_of(&stored, false));
        let read: Vec<f32> = stored.iter().map(|x| x / 10000.0 + -0.1f32).collect();
        assert_eq!(decode(&*filter, &encoded, encoded.len()).unwrap(), bytes_of(&read, false));
    }

    #[test]
    fn integers_stay_integers() {
        let filter = filter(json!({"offset": 5, "scale": 3}), ItemKind::Int, 2);
        let values = [5i16, 6, -100, 10_000];
        let encoded = encode(&*filter, &bytes_of(&values, false)).unwrap();
        assert_eq!(encoded, bytes_of(&[0i16, 3, -315, 29_985], false));
        assert_eq!(decode(&*filter, &encoded, 8).unwrap(), bytes_of(&values, false));
        assert!(encode(&*filter, &bytes_of(&[20_000i16], false)).is_err(), "beyond the type");
        assert!(decode(&*filter, &bytes_of(&[4i16], false), 2).is_err(), "a fraction");
    }

    #[test]
    fn invalid_parameters_are_refused() {
        for codec in [json!({"offset": 1, "scale": 0}), json!({"offset": "x"}), json!({"scale": []})] {
            assert!(ScaleAndOffsetClass.parse_json(&codec, ZarrFormat::V2).is_err(), "{codec}");
        }
        let json = json!({"name": "scale_offset", "configuration": {"offset": 1, "scale": 2.5}});
        let mut filter = ScaleAndOffsetClass.parse_json(&json, ZarrFormat::V3).unwrap();
        assert_eq!((filter.to_json(ZarrFormat::V3), filter.to_json(ZarrFormat::V2)), (json, Json::Null));
        let item = ItemType { kind: ItemKind::Int, size: 4, big_endian: false };
        let chunk = ChunkInfo::new(item, 1).item_size(4).chunk_bytes(4).big_endian(false);
        assert!(filter.bind(&chunk).is_err(), "2.5 is no integer");
    }
}
