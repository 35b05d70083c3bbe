//! [`check_codec`] on the array codecs of this project, and on codecs that break one guarantee each.

use std::borrow::Cow;

use nczarr_codec::{
    ChunkInfo, CodecKind, Filter, FilterClass, FilterInfo, ItemKind, ItemType, Json, OutBuf, ZarrFormat,
};
use nczarr_conformance::{ArraySample, CodecSample, check_codec};
use nczarr_model::{ErrorKind, Result};
use serde_json::json;

fn array(shape: &[u64], kind: ItemKind, size: usize, big_endian: bool) -> ArraySample<'_> {
    ArraySample { shape, item: ItemType { kind, size, big_endian } }
}

#[test]
fn the_array_codecs_of_this_project_pass() {
    use ItemKind::{Bool, Float, Int, UInt};
    let ints = [array(&[3, 5], Int, 4, false), array(&[], Int, 4, false), array(&[40, 25], Int, 4, true)];
    let words = [array(&[7], UInt, 2, false)];
    let floats = [array(&[3, 5], Float, 8, false), array(&[100], Float, 4, true)];
    let doubles = [array(&[3, 5], Float, 8, false)];
    let truths = [array(&[3, 5], Bool, 1, false), array(&[16], Bool, 1, false)];
    let small = |bytes: &[u8]| -> Vec<u8> {
        let items = bytes.as_chunks::<8>().0.iter();
        items.flat_map(|item| f64::from(i16::from_le_bytes([item[0], item[1]])).to_le_bytes()).collect()
    };
    let bits = |bytes: &[u8]| -> Vec<u8> { bytes.iter().map(|byte| byte & 1).collect() };
    let same = <[u8]>::to_vec;
    type Change<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;
    let cases: [(&str, Json, &[ArraySample<'_>], Change<'_>); 8] = [
        ("delta", json!({}), &ints, &same),
        ("delta", json!({"dtype": "<u2", "astype": "<i4"}), &words, &same),
        ("packbits", json!({}), &truths, &bits),
        ("bitround", json!({"keepbits": 52}), &floats[..1], &small),
        ("scale_offset", json!({"offset": 5, "scale": 8}), &doubles, &small),
        ("cast_value", json!({"data_type": "int32"}), &doubles, &small),
        (
            "fixedscaleoffset",
            json!({"offset": 1, "scale": 2, "dtype": "<f8", "astype": "<i4"}),
            &doubles,
            &small,
        ),
        ("astype", json!({"decode_dtype": "<f8", "encode_dtype": "<f4"}), &doubles, &small),
    ];
    for (name, configuration, arrays, takes) in cases {
        let class = nczarr_filters::BUILTIN.iter().find(|class| class.info().name == name).unwrap();
        let what = format!("{name} with {configuration}");
        let sample = CodecSample { configuration, arrays, takes, gives: &same };
        check_codec(*class, &[sample]).unwrap_or_else(|failure| panic!("{what}: {failure}"));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    PadsShortStreams,
    PadsNothingButTakesMore,
    IsNotElementwise,
    ForgetsItsShape,
    ChangesTheShape,
    PanicsOnTypes,
    OverrunsNothingButTruncates,
}

/// Stores each 16-bit number with its bytes reversed, as an array or as bytes with a header.
#[derive(Debug, Clone)]
struct Turned {
    kind: CodecKind,
    fault: Fault,
    shape: Vec<u64>,
}

static ELEMENTWISE: FilterInfo =
    FilterInfo { kind: CodecKind::ELEMENTWISE, ..FilterInfo::new("turned", "reverses numbers") };
static TO_BYTES: FilterInfo =
    FilterInfo { kind: CodecKind::ArrayToBytes, ..FilterInfo::new("turned", "reverses numbers") };

struct TurnedClass(CodecKind, Fault);

impl FilterClass for TurnedClass {
    fn info(&self) -> &FilterInfo {
        if self.0 == CodecKind::ArrayToBytes { &TO_BYTES } else { &ELEMENTWISE }
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        match params {
            [] => Ok(Box::new(Turned { kind: self.0, fault: self.1, shape: Vec::new() })),
            _ => Err(ErrorKind::Filter.context("turned has no parameters")),
        }
    }

    fn parse_json(&self, codec: &Json, _: ZarrFormat) -> Result<Box<dyn Filter>> {
        if codec.is_object() { self.parse_params(&[]) } else { Err(ErrorKind::Filter.into()) }
    }
}

impl Filter for Turned {
    fn info(&self) -> &FilterInfo {
        if self.kind == CodecKind::ArrayToBytes { &TO_BYTES } else { &ELEMENTWISE }
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(&[])
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        match format {
            ZarrFormat::V2 => Json::Null,
            ZarrFormat::V3 => json!({"name": "turned", "configuration": {}}),
        }
    }

    fn bind(&mut self, chunk: &ChunkInfo<'_>) -> Result<()> {
        assert!(self.fault != Fault::PanicsOnTypes || chunk.item.size < 16, "a large item");
        self.shape = chunk.shape.to_vec();
        if chunk.item.size == 2 { Ok(()) } else { Err(ErrorKind::Filter.into()) }
    }

    fn encoded_item(&self) -> ItemType {
        match self.kind {
            CodecKind::ArrayToBytes => ItemType::BYTES,
            _ => ItemType::bytes(if self.fault == Fault::ForgetsItsShape { 1 } else { 2 }),
        }
    }

    fn encoded_shape(&self) -> Option<Vec<u64>> {
        (self.fault == Fault::ChangesTheShape).then(|| vec![1, 2, 3])
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        decoded.checked_add(8)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        if self.kind == CodecKind::ArrayToBytes {
            dst.put(&(src.len() as u64).to_le_bytes())?;
        }
        let (items, []) = src.as_chunks::<2>() else { return Err(ErrorKind::Filter.into()) };
        let mut last = 0;
        dst.extend(items.iter().flat_map(|&[low, high]| {
            let mask = if self.fault == Fault::IsNotElementwise { last } else { 0 };
            last = high;
            [high ^ mask, low]
        }))
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let mut bytes = src;
        if self.kind == CodecKind::ArrayToBytes {
            let Some((head, rest)) = src.split_first_chunk::<8>() else {
                return Err(ErrorKind::Filter.into());
            };
            let is_right = u64::from_le_bytes(*head) == rest.len() as u64
                || matches!(self.fault, Fault::PadsShortStreams | Fault::PadsNothingButTakesMore);
            if !is_right {
                return Err(ErrorKind::Filter.into());
            }
            bytes = rest;
        }
        if matches!(self.fault, Fault::PadsNothingButTakesMore | Fault::OverrunsNothingButTruncates) {
            bytes = &bytes[bytes.len().saturating_sub(dst.remaining())..];
        }
        let mut last = 0;
        dst.extend(bytes.as_chunks::<2>().0.iter().flat_map(|&[high, low]| {
            let mask = if self.fault == Fault::IsNotElementwise { last } else { 0 };
            last = high ^ mask;
            [low, last]
        }))?;
        if self.fault == Fault::PadsShortStreams && dst.remaining() < 4 {
            dst.put_zeros(dst.remaining())?;
        }
        Ok(())
    }
}

fn outcome(kind: CodecKind, fault: Fault) -> Result<(), String> {
    let arrays = [array(&[3, 5], ItemKind::UInt, 2, false), array(&[1], ItemKind::Int, 2, false)];
    let same = <[u8]>::to_vec;
    let sample = CodecSample { configuration: json!({}), arrays: &arrays, takes: &same, gives: &same };
    check_codec(&TurnedClass(kind, fault), &[sample]).map_err(|failure| failure.to_string())
}

#[test]
fn a_good_codec_passes_in_both_positions() {
    outcome(CodecKind::ELEMENTWISE, Fault::None).unwrap();
    outcome(CodecKind::ArrayToBytes, Fault::None).unwrap();
    let failure =
        check_codec(*nczarr_filters::BUILTIN.iter().find(|class| class.info().name == "gzip").unwrap(), &[]);
    assert!(failure.unwrap_err().to_string().contains("is a codec of arrays"));
}

#[test]
fn each_broken_guarantee_is_found() {
    let to_bytes = CodecKind::ArrayToBytes;
    for (kind, fault, expected) in [
        (to_bytes, Fault::PadsShortStreams, "decode"),
        (to_bytes, Fault::PadsNothingButTakesMore, "decode"),
        (CodecKind::ELEMENTWISE, Fault::IsNotElementwise, "is elementwise"),
        (CodecKind::ELEMENTWISE, Fault::ForgetsItsShape, "an array of its elements"),
        (CodecKind::ELEMENTWISE, Fault::ChangesTheShape, "keeps the shape"),
        (to_bytes, Fault::ChangesTheShape, "bytes have no shape"),
        (to_bytes, Fault::PanicsOnTypes, "does not panic"),
        (CodecKind::ELEMENTWISE, Fault::OverrunsNothingButTruncates, "decode"),
    ] {
        let failure = outcome(kind, fault).expect_err(&format!("{fault:?} is not found"));
        assert!(failure.contains(expected), "{fault:?}: {failure}");
    }
}
