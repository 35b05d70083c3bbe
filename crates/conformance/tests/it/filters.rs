//! The conformance suite on filters that keep their promises and on filters that break one each.

use std::borrow::Cow;
use std::ops::Range;

use nczarr_codec::{ChunkInfo, Filter, FilterClass, FilterInfo, Json, Stage, ZarrFormat};
use nczarr_conformance::check_filter;
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;
use serde_json::json;

#[test]
fn the_filters_of_this_project_pass() {
    let samples: &[(&str, &[&[u32]])] = &[
        ("shuffle", &[&[]]),
        ("fletcher32", &[&[]]),
        ("szip", &[&[4, 2], &[32, 8], &[32 + 128, 32], &[141, 16, 32, 100]]),
        ("deflate", &[&[1], &[9]]),
        ("gzip", &[&[1]]),
        ("zstd", &[&[3], &[-5_i32 as u32]]),
        ("blosc", &[&[0, 0, 0, 0, 5, 1, 1], &[0, 0, 0, 0, 1, 2, 4]]),
        ("bzip2", &[&[9]]),
        ("lz4", &[&[], &[0, 100]]),
        // The cases are: xz with a preset, GDAL's delta, LZMA alone, raw with delta and LZMA2.
        ("lzma", &[&[0], &[1, 0, 1, 4], &[2, 0, 1, 0], &[3, 0, u32::MAX, 0, 3, 512, 4, 33, 1, 1]]),
        ("crc32", &[&[], &[1]]),
        ("crc32c", &[&[], &[0]]),
        ("adler32", &[&[], &[1]]),
        ("jenkins_lookup3", &[&[0], &[7, 1, 2, 3]]),
    ];
    for class in nczarr_filters::BUILTIN {
        let name = class.info().name;
        // Filters only for HDF5 files have no Zarr codec. The suite could not read them back.
        if element_filters::NAMES.contains(&name) || ["nbit", "scaleoffset", "lzf"].contains(&name) {
            continue;
        }
        let samples =
            samples.iter().find(|(of, _)| *of == name).unwrap_or_else(|| panic!("samples for {name}")).1;
        check_filter(*class, samples).unwrap_or_else(|failure| panic!("{name}: {failure}"));
    }
}

mod element_filters {
    use nczarr_codec::{ChunkInfo, ItemKind, ItemType, ZarrFormat};
    use nczarr_conformance::{ElementFilter, check_element_filter};
    use serde_json::{Value, json};

    pub(super) const NAMES: [&str; 9] = [
        "delta",
        "fixedscaleoffset",
        "quantize",
        "bitround",
        "packbits",
        "astype",
        "categorize",
        // Zarr V2 has no form for these. Their own tests cover V3.
        "cast_value",
        "scale_offset",
    ];

    fn chunks(kind: ItemKind, size: usize, big_endian: bool) -> Vec<ChunkInfo<'static>> {
        let item = ItemType { kind, size, big_endian };
        let chunk = |count| {
            ChunkInfo::new(item, count).item_size(size).chunk_bytes(size * count).big_endian(big_endian)
        };
        [1, 33, 1000].map(chunk).to_vec()
    }

    /// Maps each 64-bit float of `bytes`, little-endian.
    fn floats(bytes: &[u8], compute: impl Fn(f64) -> f64) -> Vec<u8> {
        let items = bytes.as_chunks::<8>().0.iter();
        items.flat_map(|&item| compute(f64::from_le_bytes(item)).to_le_bytes()).collect()
    }

    fn small(value: f64) -> f64 {
        if value.is_finite() { f64::from(value.to_bits() as i16) } else { 0.0 }
    }

    fn finite(value: f64) -> f64 {
        if value.is_finite() { value } else { -0.0 }
    }

    /// Returns the nearest multiple of 2^-7, by integer arithmetic if rounding is needed.
    fn slow_quantize(value: f64) -> f64 {
        if value.abs() >= 2f64.powi(50) {
            return value;
        }
        let (below, rest) = ((value * 128.0).floor(), (value * 128.0) - (value * 128.0).floor());
        let up = rest > 0.5 || rest == 0.5 && below % 2.0 != 0.0;
        let near = (below + f64::from(u8::from(up))) / 128.0;
        if near == 0.0 { 0f64.copysign(value) } else { near }
    }

    /// Returns the nearest float with 6 bits of mantissa.
    fn slow_bitround(value: f64) -> f64 {
        let low = value.to_bits() & ((1 << 46) - 1);
        let down = value.to_bits() - low;
        let up = low > 1 << 45 || low == 1 << 45 && down >> 46 & 1 == 1;
        f64::from_bits(if up { down + (1 << 46) } else { down })
    }

    fn labels(bytes: &[u8]) -> Vec<u8> {
        let text = |byte: &u8| ["", "ä", "bc"][usize::from(byte % 3)];
        let elements = bytes.iter().step_by(8).take(bytes.len() / 8).map(text);
        elements
            .flat_map(|text| text.chars().map(u32::from).chain([0, 0]).take(2).flat_map(u32::to_be_bytes))
            .collect()
    }

    type Change<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;

    #[test]
    fn they_pass() {
        use ItemKind::{Bool, Bytes, Float, Int, UInt};
        let same: Change<'_> = &<[u8]>::to_vec;
        let ints: Change<'_> = &|bytes| floats(bytes, small);
        let all: Change<'_> = &|bytes| floats(bytes, finite);
        let bits: Change<'_> = &|bytes| bytes.iter().map(|byte| byte & 1).collect();
        let eighths: Change<'_> = &|bytes| floats(bytes, |value| small(value) / 8.0 + 3.0);
        let to_f4: Change<'_> = &|bytes| floats(bytes, |value| f64::from(small(value) as f32 / 3.0));
        let quantized: Change<'_> = &|bytes| floats(bytes, slow_quantize);
        let rounded: Change<'_> = &|bytes| floats(bytes, slow_bitround);
        let cases: [(Value, _, Change<'_>, Change<'_>); 14] = [
            (json!({"id": "delta"}), chunks(Int, 4, false), same, same),
            (json!({"id": "delta"}), chunks(UInt, 8, true), same, same),
            (json!({"id": "delta", "dtype": ">i2", "astype": "<u4"}), chunks(Bytes, 2, false), same, same),
            (json!({"id": "delta", "dtype": "<f8"}), chunks(Float, 8, false), ints, same),
            (json!({"id": "delta", "dtype": "<f8", "astype": ">i4"}), chunks(Float, 8, false), ints, same),
            (
                json!({"id": "fixedscaleoffset", "scale": 8, "offset": 3, "dtype": "<f8", "astype": ">i4"}),
                chunks(Float, 8, false),
                eighths,
                same,
            ),
            (json!({"id": "quantize", "digits": 2}), chunks(Float, 8, false), all, quantized),
            (
                json!({"id": "quantize", "digits": 2, "dtype": "<f8", "astype": "<f4"}),
                chunks(Bytes, 8, false),
                ints,
                same,
            ),
            (json!({"id": "bitround", "keepbits": 6}), chunks(Float, 8, false), all, rounded),
            (json!({"id": "bitround", "keepbits": 10}), chunks(Float, 2, true), same, same),
            (json!({"id": "packbits"}), chunks(Bool, 1, false), bits, same),
            (
                json!({"id": "astype", "decode_dtype": "<f8", "encode_dtype": ">f4"}),
                chunks(Float, 8, false),
                to_f4,
                same,
            ),
            (
                json!({"id": "astype", "decode_dtype": ">u2", "encode_dtype": "<i8"}),
                chunks(UInt, 2, true),
                same,
                same,
            ),
            (
                json!({"id": "categorize", "labels": ["ä", "bc"], "dtype": ">U2"}),
                chunks(Bytes, 8, true),
                &labels,
                same,
            ),
        ];
        for (codec, chunks, takes, gives) in cases {
            let name = codec["id"].as_str().unwrap();
            let class = nczarr_filters::BUILTIN.iter().find(|class| class.info().name == name).unwrap();
            let params = class.parse_json(&codec, ZarrFormat::V2).unwrap().params().into_owned();
            let sample = ElementFilter { params: &params, chunks: &chunks, takes, gives };
            check_element_filter(*class, &sample).unwrap_or_else(|failure| panic!("{codec}: {failure}"));
        }
    }

    #[test]
    fn an_undeclared_loss_is_found() {
        let class = nczarr_filters::BUILTIN.iter().find(|class| class.info().name == "bitround").unwrap();
        let takes = |bytes: &[u8]| floats(bytes, finite);
        let chunks = chunks(ItemKind::Float, 8, false);
        let sample = ElementFilter { params: &[6], chunks: &chunks, takes: &takes, gives: &<[u8]>::to_vec };
        let failure = check_element_filter(*class, &sample).unwrap_err().to_string();
        assert!(failure.contains("decode of the encoded data"), "{failure}");
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    PadsItsOutput,
    DecodesWhatFits,
    BoundIsSmall,
    StageIsAnother,
    CodecForgetsTheKey,
    CodecHasAnotherName,
    ParamsGrow,
    PanicsOnShortStreams,
    PanicsOnOddCodecs,
    AnswersAnotherError,
    PartsAreShifted,
    UnitsOfNothing,
    UnitsOfAnything,
    ForgetsABit,
    NeverBinds,
}

/// A filter that combines every byte with a key and appends a check byte, with a fault.
#[derive(Debug, Clone)]
struct Turn {
    key: u8,
    fault: Fault,
}

static INFO: FilterInfo =
    FilterInfo { hdf5_id: Some(40_002), aliases: &["turned"], ..FilterInfo::new("turn", "turns bytes") };

struct TurnClass(Fault);

impl FilterClass for TurnClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        match params {
            [key] if *key < 256 => Ok(Box::new(Turn { key: *key as u8, fault: self.0 })),
            params => {
                Err(ErrorKind::Filter.context(format!("turn wants one parameter below 256, not {params:?}")))
            }
        }
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let key = match format {
            ZarrFormat::V2 => codec.get("key"),
            ZarrFormat::V3 => codec.get("configuration").and_then(|configuration| configuration.get("key")),
        };
        let key = match key.and_then(Json::as_u64) {
            Some(key) => key,
            None if self.0 == Fault::PanicsOnOddCodecs => panic!("no key in {codec}"),
            None => return Err(ErrorKind::Filter.context(format!("no key in {codec}"))),
        };
        self.parse_params(&[u32::try_from(key).unwrap_or(u32::MAX)])
    }
}

impl Filter for Turn {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        let more = u32::from(self.fault == Fault::ParamsGrow);
        vec![u32::from(self.key) + more].into()
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        let name = if self.fault == Fault::CodecHasAnotherName { "spin" } else { "turned" };
        let key = if self.fault == Fault::CodecForgetsTheKey { 0 } else { self.key };
        match format {
            ZarrFormat::V2 => json!({"id": name, "key": key}),
            ZarrFormat::V3 => json!({"name": name, "configuration": {"key": key}}),
        }
    }

    fn bind(&mut self, _: &ChunkInfo<'_>) -> Result<()> {
        if self.fault == Fault::NeverBinds { Err(ErrorKind::Filter.into()) } else { Ok(()) }
    }

    fn stage(&self) -> Stage {
        if self.fault == Fault::StageIsAnother { Stage::Swap { item: 2 } } else { Stage::Opaque }
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(if self.fault == Fault::BoundIsSmall { decoded } else { decoded + 1 })
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.extend(src.iter().map(|byte| byte ^ self.key))?;
        dst.put(&[self.key])
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let fault = match self.fault {
            Fault::AnswersAnotherError => ErrorKind::Io,
            _ => ErrorKind::Filter,
        };
        let Some((&key, bytes)) = src.split_last() else {
            assert!(self.fault != Fault::PanicsOnShortStreams, "an empty stream");
            return Err(fault.context("an empty stream"));
        };
        if key != self.key {
            return Err(fault.context("another key"));
        }
        let bytes = if self.fault == Fault::DecodesWhatFits {
            &bytes[..bytes.len().min(dst.remaining())]
        } else {
            bytes
        };
        let mask = if self.fault == Fault::ForgetsABit { 0xfe } else { 0xff };
        dst.extend(bytes.iter().map(|byte| (byte ^ self.key) & mask))?;
        if self.fault == Fault::PadsItsOutput {
            dst.put_zeros(dst.remaining())?;
        }
        Ok(())
    }

    fn decode_ranges(
        &self,
        src: &[u8],
        _: usize,
        wanted: &[Range<usize>],
        dst: &mut OutBuf<'_>,
    ) -> Option<Result<()>> {
        let shift = usize::from(self.fault == Fault::PartsAreShifted);
        if self.fault == Fault::UnitsOfAnything && wanted.iter().any(|range| range.start == 7) {
            return None;
        }
        Some(wanted.iter().try_for_each(|range| {
            let part = src.get(range.start + shift..range.end + shift);
            let part = part.ok_or_else(|| ErrorKind::Filter.context("beyond the stream"))?;
            dst.extend(part.iter().map(|byte| byte ^ self.key))
        }))
    }

    fn decode_unit(&self, _: &[u8], decoded: usize) -> Option<usize> {
        match self.fault {
            Fault::UnitsOfNothing => Some(0),
            Fault::UnitsOfAnything => Some(7),
            _ => Some((decoded / 3).max(1)),
        }
    }
}

#[test]
fn a_filter_of_a_third_party_passes() {
    check_filter(&TurnClass(Fault::None), &[&[0], &[7], &[255]]).unwrap();
}

#[test]
fn every_broken_promise_is_found() {
    let faults = [
        (Fault::PadsItsOutput, "decode of the encoded data"),
        (Fault::DecodesWhatFits, "too few"),
        (Fault::BoundIsSmall, "bound"),
        (Fault::StageIsAnother, "Swap"),
        (Fault::CodecForgetsTheKey, "codec"),
        (Fault::CodecHasAnotherName, "the id of"),
        (Fault::ParamsGrow, "same"),
        (Fault::PanicsOnShortStreams, "does not panic"),
        (Fault::PanicsOnOddCodecs, "does not panic"),
        (Fault::AnswersAnotherError, "NC_EFILTER"),
        (Fault::PartsAreShifted, "decode of"),
        (Fault::UnitsOfNothing, "units of at least a byte"),
        (Fault::UnitsOfAnything, "in units of 7 bytes"),
        (Fault::ForgetsABit, "decode of the encoded data"),
        (Fault::NeverBinds, "binds to some chunk"),
    ];
    for (fault, about) in faults {
        let failure =
            check_filter(&TurnClass(fault), &[&[7]]).expect_err(&format!("{fault:?} was not found"));
        let message = failure.to_string();
        assert!(message.contains(about), "{fault:?}: {message}");
    }
}
