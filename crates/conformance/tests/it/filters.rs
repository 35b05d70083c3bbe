//! Filters that keep their promises, and some that break one each.

use std::borrow::Cow;
use std::ops::Range;

use conformance::check_filter;
use dispatch::{ChunkInfo, Filter, FilterClass, FilterInfo, Json, OutBuf, Stage, ZarrFormat};
use model::{ErrorKind, Result};
use serde_json::json;

#[test]
fn the_filters_of_this_project_pass() {
    let samples: &[(&str, &[&[u32]])] = &[
        ("shuffle", &[&[]]),
        ("fletcher32", &[&[]]),
        ("deflate", &[&[1], &[9]]),
        ("gzip", &[&[1]]),
        ("zstd", &[&[3], &[-5_i32 as u32]]),
        ("blosc", &[&[0, 0, 0, 0, 5, 1, 1], &[0, 0, 0, 0, 1, 2, 4]]),
        ("bzip2", &[&[1], &[9]]),
        ("lz4", &[&[], &[0, 100]]),
        // xz by a preset; GDAL's delta; alone; raw with delta and LZMA2.
        ("lzma", &[&[0], &[1, 0, 1, 4], &[2, 0, 1, 0], &[3, 0, u32::MAX, 0, 3, 512, 4, 33, 1, 1]]),
        ("crc32", &[&[], &[1]]),
        ("crc32c", &[&[], &[0]]),
        ("adler32", &[&[], &[1]]),
        ("jenkins_lookup3", &[&[0], &[7, 1, 2, 3]]),
    ];
    for class in filters::BUILTIN {
        let name = class.info().name;
        let samples = samples.iter().find(|(of, _)| *of == name).unwrap_or_else(|| panic!("samples for {name}")).1;
        check_filter(*class, samples).unwrap_or_else(|failure| panic!("{name}: {failure}"));
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
    ForgetsABit,
    NeverBinds,
}

/// Turns every byte with a key; a last byte says the same again. With a fault.
#[derive(Debug, Clone)]
struct Turn {
    key: u8,
    fault: Fault,
}

static INFO: FilterInfo =
    FilterInfo { hdf5_id: Some(40_002), name: "turn", aliases: &["turned"], about: "turns bytes" };

struct TurnClass(Fault);

impl FilterClass for TurnClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        match params {
            [key] if *key < 256 => Ok(Box::new(Turn { key: *key as u8, fault: self.0 })),
            params => Err(ErrorKind::Filter.context(format!("turn wants one parameter below 256, not {params:?}"))),
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

    fn bind(&mut self, _: &ChunkInfo) -> Result<()> {
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
        let bytes = if self.fault == Fault::DecodesWhatFits { &bytes[..bytes.len().min(dst.room())] } else { bytes };
        let mask = if self.fault == Fault::ForgetsABit { 0xfe } else { 0xff };
        dst.extend(bytes.iter().map(|byte| (byte ^ self.key) & mask))?;
        if self.fault == Fault::PadsItsOutput {
            dst.zeroed(dst.room())?;
        }
        Ok(())
    }

    fn decode_ranges(&self, src: &[u8], _: usize, wanted: &[Range<usize>], dst: &mut OutBuf<'_>) -> Option<Result<()>> {
        let shift = usize::from(self.fault == Fault::PartsAreShifted);
        Some(wanted.iter().try_for_each(|range| {
            let part = src.get(range.start + shift..range.end + shift);
            let part = part.ok_or_else(|| ErrorKind::Filter.context("beyond the stream"))?;
            dst.extend(part.iter().map(|byte| byte ^ self.key))
        }))
    }
}

#[test]
fn a_filter_of_a_third_party_passes() {
    check_filter(&TurnClass(Fault::None), &[&[0], &[7], &[255]]).unwrap();
}

#[test]
fn every_broken_promise_is_found() {
    let faults = [
        (Fault::PadsItsOutput, "decode of what was encoded"),
        (Fault::DecodesWhatFits, "too few"),
        (Fault::BoundIsSmall, "bound"),
        (Fault::StageIsAnother, "Swap"),
        (Fault::CodecForgetsTheKey, "codec"),
        (Fault::CodecHasAnotherName, "found by the id"),
        (Fault::ParamsGrow, "same"),
        (Fault::PanicsOnShortStreams, "does not panic"),
        (Fault::PanicsOnOddCodecs, "does not panic"),
        (Fault::AnswersAnotherError, "NC_EFILTER"),
        (Fault::PartsAreShifted, "decode of"),
        (Fault::ForgetsABit, "decode of what was encoded"),
        (Fault::NeverBinds, "binds to some chunk"),
    ];
    for (fault, about) in faults {
        let failure = check_filter(&TurnClass(fault), &[&[7]]).expect_err(&format!("{fault:?} was not found"));
        let told = failure.to_string();
        assert!(told.contains(about), "{fault:?}: {told}");
    }
}
