//! Text from a list of labels, as codes (codec id `categorize`).
//!
//! * Parameters: the length of the V2 description in bytes, then its UTF-8, four bytes per word, low byte
//!   first
//! * Zarr V2: `{"id": "categorize", "labels": ["red", "green"], "dtype": "|O", "astype": "|u1"}`
//! * Zarr V3: `{"name": "numcodecs.categorize", "configuration": {…}}`
//! * Stored: code k is label k - 1, code 0 the empty string; as `astype`, by default a byte
//!
//! It is a filter for text of fixed width (`<U5`), and an element codec for text of any length (`|O`). Text
//! that is not a label would decode as empty, so it is refused. A code without a label is damage.

use std::borrow::Cow;
use std::collections::HashMap;

use nczarr_codec::{
    ElementClass, ElementCodec, ElementPlugin, Filter, FilterClass, FilterInfo, FilterPlugin, ItemType, Json,
    OutBuf, ZarrFormat, inventory,
};
use nczarr_model::{Error, ErrorKind, NcString, Result};
use serde_json::{Map, json};

use super::number::{NumberFormat, WideValue, elements};
use super::types::{NUMBERS, named};
use crate::dtype::Dtype;
use crate::json::{CodecMembers, describe, is_v3};

static INFO: FilterInfo = FilterInfo {
    aliases: &["numcodecs.categorize"],
    v3_names: Some(&["numcodecs.categorize"]),
    ..FilterInfo::new("categorize", "stores text from a list of labels as codes; labels, dtype, astype")
};

/// The class of both.
pub struct CategorizeClass;

inventory::submit! { FilterPlugin(&CategorizeClass) }
inventory::submit! { ElementPlugin(&CategorizeClass) }

/// The content of a description.
#[derive(Debug, Clone)]
struct CategoryLabels {
    labels: Vec<String>,
    codes: HashMap<String, usize>,
    dtype: Option<String>,
    astype: Option<Dtype>,
    form: NumberFormat,
}

fn failed(what: impl std::fmt::Display) -> Error {
    ErrorKind::Filter.context(format!("categorize: {what}"))
}

impl CategoryLabels {
    fn read(codec: &Json, format: ZarrFormat) -> Result<Self> {
        let members = CodecMembers::of(INFO.name, codec, format)?;
        let found = members.get("labels").unwrap_or(&Json::Null);
        let labels =
            found.as_array().map(|labels| labels.iter().map(|label| label.as_str().map(str::to_owned)));
        let labels: Option<Vec<String>> = labels.and_then(Iterator::collect);
        let labels = labels.ok_or_else(|| members.wrong("labels", "a list of strings", found))?;
        let dtype = match members.get("dtype") {
            None => None,
            Some(Json::String(dtype)) => Some(dtype.clone()),
            Some(other) => return Err(members.wrong("dtype", "a type of text", other)),
        };
        let astype = named(&members, "astype", NUMBERS)?;
        let item =
            astype.as_ref().map_or(ItemType::of(nczarr_model::NcType::UByte, false), |astype| astype.item);
        let form = NumberFormat::new(item)
            .ok_or_else(|| ErrorKind::Internal.context("categorize: unsupported type"))?;
        let most = WideValue::Int(labels.len() as i128);
        if form.cast(most) != Some(most) && form.cast(most).map(WideValue::float) != Some(labels.len() as f64)
        {
            return Err(failed(format_args!(
                "{} labels are more than codes of {} bytes",
                labels.len(),
                item.size
            )));
        }
        let codes = labels.iter().enumerate().map(|(index, label)| (label.clone(), index + 1)).collect();
        Ok(Self { labels, codes, dtype, astype, form })
    }

    fn describe(&self, format: ZarrFormat) -> Json {
        let mut members = Map::new();
        members.insert("labels".into(), json!(self.labels));
        if let Some(dtype) = &self.dtype {
            members.insert("dtype".into(), json!(dtype));
        }
        if let Some(astype) = &self.astype {
            members.insert("astype".into(), astype.json());
        }
        describe(format, "categorize", "numcodecs.categorize", Json::Object(members))
    }

    /// Returns the code of a text.
    fn code(&self, index: usize, text: &str) -> Result<WideValue> {
        match self.codes.get(text) {
            Some(&code) => Ok(WideValue::Int(code as i128)),
            None if text.is_empty() => Ok(WideValue::Int(0)),
            None => {
                let text: String = text.chars().take(60).collect();
                Err(failed(format_args!(
                    "element {index}: {text:?} is not one of the {} labels",
                    self.labels.len()
                )))
            }
        }
    }

    /// Returns the text of a code.
    fn label(&self, index: usize, code: WideValue) -> Result<&str> {
        let whole = match code {
            WideValue::Int(code) => Some(code),
            WideValue::Float(code) => (code.fract() == 0.0).then_some(code as i128),
        };
        let label = match whole.and_then(|code| usize::try_from(code).ok()) {
            Some(0) => Some(""),
            Some(code) => self.labels.get(code - 1).map(String::as_str),
            None => None,
        };
        label.ok_or_else(|| {
            failed(format_args!(
                "element {index}: code {code} has no label (found {} labels)",
                self.labels.len()
            ))
        })
    }
}

impl FilterClass for CategorizeClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn is_lossless(&self) -> bool {
        false
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        let wrong = || {
            ErrorKind::Inval
                .context(format!("categorize: the {} parameters do not hold a description", params.len()))
        };
        let (&len, words) = params.split_first().ok_or_else(wrong)?;
        let len = usize::try_from(len).ok().filter(|len| len.div_ceil(4) == words.len()).ok_or_else(wrong)?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).take(len).collect();
        let codec: Json = serde_json::from_slice(&bytes).map_err(|error| wrong().caused_by(error))?;
        self.parse_json(&codec, ZarrFormat::V2)
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let categories = CategoryLabels::read(codec, format)?;
        let width = categories.dtype.as_deref().and_then(|dtype| {
            let (order, width) = dtype.split_once('U')?;
            let big_endian = match order {
                "" | "<" | "=" => false,
                ">" => true,
                _ => return None,
            };
            let digits = width.bytes().all(|byte| byte.is_ascii_digit());
            let chars =
                width.parse::<usize>().ok().filter(|&chars| digits && (1..=1 << 28).contains(&chars))?;
            Some((chars, big_endian))
        });
        let Some((chars, big_endian)) = width else {
            let found = categories.dtype.as_deref().unwrap_or("none");
            return Err(failed(format_args!(
                "expected \"dtype\" to be a type of text of fixed width, found {found}"
            )));
        };
        Ok(Box::new(FixedTextCategorize { categories, chars, big_endian }))
    }
}

/// The filter: text in code points of 4 bytes, padded with zeros.
#[derive(Debug, Clone)]
struct FixedTextCategorize {
    categories: CategoryLabels,
    chars: usize,
    big_endian: bool,
}

impl FixedTextCategorize {
    fn text(&self, index: usize, element: &[u8]) -> Result<String> {
        let points = element.as_chunks::<4>().0.iter();
        let points =
            points.map(
                |&bytes| if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) },
            );
        let text: Option<String> = points.map(char::from_u32).collect();
        let text = text.ok_or_else(|| failed(format_args!("element {index} is not text")))?;
        Ok(text.trim_end_matches('\0').to_owned())
    }
}

impl Filter for FixedTextCategorize {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        let text = self.categories.describe(ZarrFormat::V2).to_string();
        let words = text.as_bytes().chunks(4).map(|bytes| {
            let mut word = [0; 4];
            word[..bytes.len()].copy_from_slice(bytes);
            u32::from_le_bytes(word)
        });
        Cow::Owned(u32::try_from(text.len()).into_iter().chain(words).collect())
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        self.categories.describe(format)
    }

    fn encoded_item(&self) -> ItemType {
        self.categories.form.item
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        decoded.div_ceil(self.chars * 4).checked_mul(self.categories.form.item.size)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let (form, size) = (&self.categories.form, self.chars * 4);
        let count = elements(INFO.name, src, size)?;
        let out = dst.put_zeros(count.saturating_mul(form.item.size))?;
        let places = out.chunks_exact_mut(form.item.size);
        for (index, (element, place)) in src.chunks_exact(size).zip(places).enumerate() {
            form.store(self.categories.code(index, &self.text(index, element)?)?, place);
        }
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let (form, size) = (&self.categories.form, self.chars * 4);
        let count = elements(INFO.name, src, form.item.size)?;
        let out = dst.put_zeros(count.saturating_mul(size))?;
        let places = out.chunks_exact_mut(size);
        for (index, (code, place)) in src.chunks_exact(form.item.size).zip(places).enumerate() {
            let label = self.categories.label(index, form.load(code))?;
            if label.chars().count() > self.chars {
                return Err(failed(format_args!(
                    "element {index}: label {label:?} is longer than {} characters",
                    self.chars
                )));
            }
            for (place, point) in place.as_chunks_mut::<4>().0.iter_mut().zip(label.chars().map(u32::from)) {
                *place = if self.big_endian { point.to_be_bytes() } else { point.to_le_bytes() };
            }
        }
        Ok(())
    }
}

impl ElementClass for CategorizeClass {
    fn names(&self) -> &'static [&'static str] {
        static NAMES: [&str; 2] = ["categorize", "numcodecs.categorize"];
        &NAMES
    }

    fn about(&self) -> &'static str {
        "text from a list of labels, as codes"
    }

    fn parse(&self, codec: &Json) -> Result<Box<dyn ElementCodec>> {
        let v3 = is_v3(codec);
        let categories = CategoryLabels::read(codec, if v3 { ZarrFormat::V3 } else { ZarrFormat::V2 })?;
        match categories.dtype.as_deref() {
            None | Some("|O" | "O" | "object") => Ok(Box::new(TextCategorize { categories, v3 })),
            Some(other) => {
                Err(failed(format_args!("expected \"dtype\" of elements of any length, found {other}")))
            }
        }
    }
}

/// The element codec.
#[derive(Debug, Clone)]
struct TextCategorize {
    categories: CategoryLabels,
    v3: bool,
}

impl ElementCodec for TextCategorize {
    fn name(&self) -> &str {
        INFO.name
    }

    fn to_json(&self) -> Json {
        self.categories.describe(if self.v3 { ZarrFormat::V3 } else { ZarrFormat::V2 })
    }

    fn encode(&self, elements: &[NcString], out: &mut Vec<u8>) -> Result<()> {
        let form = &self.categories.form;
        out.clear();
        out.resize(elements.len().saturating_mul(form.item.size), 0);
        for (index, (element, place)) in elements.iter().zip(out.chunks_exact_mut(form.item.size)).enumerate()
        {
            let text = std::str::from_utf8(element.as_bytes())
                .map_err(|error| failed(format_args!("element {index} is not UTF-8")).caused_by(error))?;
            form.store(self.categories.code(index, text)?, place);
        }
        Ok(())
    }

    fn decode(&self, src: &[u8], count: usize, limit: usize) -> Result<Vec<NcString>> {
        let form = &self.categories.form;
        if elements(INFO.name, src, form.item.size)? != count {
            return Err(failed(format_args!(
                "expected {count} codes of {} bytes, found {} bytes",
                form.item.size,
                src.len()
            )));
        }
        let mut memory = count.saturating_mul(size_of::<NcString>());
        let mut list = Vec::new();
        for (index, code) in src.chunks_exact(form.item.size).enumerate() {
            let label = self.categories.label(index, form.load(code))?;
            memory = memory.saturating_add(label.len());
            if memory > limit {
                return Err(failed(format_args!("{count} elements exceed the limit of {limit} bytes")));
            }
            if list.is_empty() {
                list.reserve_exact(count);
            }
            list.push(NcString::from(label));
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::testing::{decode, encode, filter};

    fn codes(codec: Json) -> Box<dyn ElementCodec> {
        ElementClass::parse(&CategorizeClass, &codec).unwrap()
    }

    fn strings(texts: &[&str]) -> Vec<NcString> {
        texts.iter().map(|&text| NcString::from(text)).collect()
    }

    #[test]
    fn encoded_bytes_equal_numcodecs() {
        // numcodecs.Categorize(["female", "männlich"], object).encode(["männlich", "", "female"])
        let codec =
            json!({"id": "categorize", "labels": ["female", "männlich"], "dtype": "|O", "astype": "|u1"});
        let elements = strings(&["männlich", "", "female"]);
        let mut out = b"old".to_vec();
        codes(codec.clone()).encode(&elements, &mut out).unwrap();
        assert_eq!(out, [2, 0, 1]);
        assert_eq!(codes(codec.clone()).decode(&out, 3, 1000).unwrap(), elements);
        assert_eq!(codes(codec.clone()).to_json(), codec);
        // The same with astype ">u2" and with "<f4".
        for (astype, stored) in
            [(">u2", &[0, 2, 0, 0, 0, 1][..]), ("<f4", &[0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 128, 63])]
        {
            let codec = json!({"id": "categorize", "labels": ["female", "männlich"], "astype": astype});
            codes(codec.clone()).encode(&elements, &mut out).unwrap();
            assert_eq!(out, stored);
            assert_eq!(codes(codec).decode(stored, 3, 1000).unwrap(), elements);
        }
    }

    #[test]
    fn text_of_fixed_width_is_a_filter_s_business() {
        for (dtype, big) in [("<U3", false), (">U3", true)] {
            let codec = json!({"id": "categorize", "labels": ["ab", "é"], "dtype": dtype, "astype": "|u1"});
            let filter = filter(&CategorizeClass, codec.clone());
            let points = |text: &str| {
                let points = text.chars().map(u32::from).chain(std::iter::repeat(0)).take(3);
                points
                    .flat_map(|point| if big { point.to_be_bytes() } else { point.to_le_bytes() })
                    .collect::<Vec<u8>>()
            };
            let data = ["é", "", "ab", "é"].map(points).concat();
            assert_eq!(encode(&*filter, &data).unwrap(), [2, 0, 1, 2]);
            assert_eq!(decode(&*filter, &[2, 0, 1, 2], data.len()).unwrap(), data);
            assert_eq!(filter.to_json(ZarrFormat::V2), codec);
            assert!(
                encode(&*filter, &points("abc"))
                    .unwrap_err()
                    .to_string()
                    .contains("element 0: \"abc\" is not one of")
            );
            assert!(decode(&*filter, &[0, 3], 24).unwrap_err().to_string().contains("element 1: code 3"));
            assert!(decode(&*filter, &[0, 1], 23).is_err());
        }
        let long = filter(&CategorizeClass, json!({"id": "categorize", "labels": ["long"], "dtype": "<U3"}));
        assert!(decode(&*long, &[1], 12).unwrap_err().to_string().contains("longer than 3"));
    }

    #[test]
    fn values_that_cannot_round_trip_are_refused() {
        let codec = json!({"id": "categorize", "labels": ["a"], "dtype": "|O"});
        let mut out = Vec::new();
        let error = codes(codec.clone()).encode(&strings(&["a", "b"]), &mut out).unwrap_err();
        assert!(error.to_string().contains("element 1: \"b\" is not one of the 1 labels"), "{error}");
        assert!(codes(codec.clone()).encode(&[NcString::from(&b"\xff"[..])], &mut out).is_err());
        for (stored, count) in [(&[2][..], 1), (&[255], 1), (&[1], 2), (&[1, 1], 1), (&[], 1)] {
            assert_eq!(
                codes(codec.clone()).decode(stored, count, 1000).unwrap_err().kind(),
                ErrorKind::Filter
            );
        }
        let need = 2 * size_of::<NcString>() + 2;
        assert_eq!(codes(codec.clone()).decode(&[1, 1], 2, need).unwrap().len(), 2);
        assert!(codes(codec).decode(&[1, 1], 2, need - 1).unwrap_err().to_string().contains("limit"));
        let many: Vec<_> = (0..256).map(|label| label.to_string()).collect();
        for wrong in [
            json!({"id": "categorize"}),
            json!({"labels": [1]}),
            json!({"labels": "a"}),
            json!({"labels": many}),
            json!({"labels": [], "dtype": 3}),
            json!({"labels": [], "dtype": "<U3"}),
            json!({"labels": [], "astype": "|O"}),
        ] {
            assert!(ElementClass::parse(&CategorizeClass, &wrong).is_err(), "{wrong}");
        }
        for wrong in ["|O", "<U0", "<U", "<U+3", "|U3", "<U99999999999999999999", "<i4"] {
            let codec = json!({"labels": [], "dtype": wrong});
            assert!(CategorizeClass.parse_json(&codec, ZarrFormat::V2).is_err(), "{wrong}");
        }
    }
}
