//! [`bench_filter`]: encoding and decoding speed of a filter on a few kinds of data, and the encoded sizes.

use std::fmt;
use std::time::Duration;

use nczarr_codec::{ChunkInfo, Filter, FilterClass, ItemKind, ItemType};
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;

use super::{best, mib_per_second};
use crate::failure::{Outcome, broken, ok, same};

/// The size of a chunk, in bytes.
const CHUNK: usize = 256 << 10;

/// One filter on one kind of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterTiming {
    /// The HDF5 parameters.
    pub params: Vec<u32>,
    /// The kind of data, in words.
    pub data: &'static str,
    /// Bytes before encoding.
    pub decoded: u64,
    /// Bytes after it.
    pub encoded: u64,
    /// The time of encoding; never 0.
    pub encode: Duration,
    /// The time of decoding; never 0.
    pub decode: Duration,
}

impl FilterTiming {
    /// Returns decoded bytes per encoded byte; more is better.
    pub fn ratio(&self) -> f64 {
        self.decoded as f64 / self.encoded.max(1) as f64
    }

    /// Returns decoded bytes encoded per second, in units of 2^20.
    pub fn encode_mib_per_second(&self) -> f64 {
        mib_per_second(self.decoded, self.encode)
    }

    /// Returns bytes decoded per second, in units of 2^20.
    pub fn decode_mib_per_second(&self) -> f64 {
        mib_per_second(self.decoded, self.decode)
    }
}

/// The measurements of a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterBench {
    /// The filter's name.
    pub name: &'static str,
    /// One per list of parameters and kind of data that fits it.
    pub timings: Vec<FilterTiming>,
}

impl fmt::Display for FilterBench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<40} {:>8} {:>14} {:>14}", "", "ratio", "encode MiB/s", "decode MiB/s")?;
        for timing in &self.timings {
            let what = format!("{} {:?}, {}", self.name, timing.params, timing.data);
            let (encode, decode) = (timing.encode_mib_per_second(), timing.decode_mib_per_second());
            writeln!(f, "{what:<40} {:>8.2} {encode:>14.1} {decode:>14.1}", timing.ratio())?;
        }
        Ok(())
    }
}

/// Measures a filter class with some lists of HDF5 parameters on a smooth field of floats, counted integers,
/// flags and noise, in chunks of 256 KiB.
///
/// Leaves out kinds of data that the filter refuses (`NC_EFILTER`) because of its elements or values.
/// Compares decoded data by length only, since a filter may be lossy: run
/// [`check_filter`](crate::check_filter) first.
///
/// # Errors
///
/// Refused parameters; other failures than `NC_EFILTER`; a list without any fitting kind of data.
pub fn bench_filter(class: &dyn FilterClass, samples: &[&[u32]]) -> Outcome<FilterBench> {
    let name = class.info().name;
    let mut timings = Vec::new();
    for &params in samples {
        let filter = ok(format!("parameters {params:?} are accepted"), class.parse_params(params))?;
        let before = timings.len();
        for (data, item, bytes) in kinds() {
            match taken(filter.clone(), item, &bytes) {
                Ok((filter, encoded)) => timings.push(time(&*filter, params, data, &bytes, &encoded)?),
                Err(error) if error.kind() == ErrorKind::Filter => {}
                Err(error) => return ok(format!("{name} with {params:?} on {data}"), Err(error)),
            }
        }
        if timings.len() == before {
            return Err(broken(format!("{name} with {params:?} takes some kind of data"), "one", "none"));
        }
    }
    Ok(FilterBench { name, timings })
}

/// The filter bound to these elements, and the encoded data.
fn taken(mut filter: Box<dyn Filter>, item: ItemType, bytes: &[u8]) -> Result<(Box<dyn Filter>, Vec<u8>)> {
    let elements = bytes.len() / item.size;
    filter.bind(&ChunkInfo::new(item, elements).chunk_bytes(bytes.len()).array_row(Some(elements)))?;
    let mut memory = vec![0; room(&*filter, bytes)];
    let mut out = OutBuf::from_slice(&mut memory);
    filter.encode(bytes, &mut out)?;
    let len = out.filled().len();
    memory.truncate(len);
    Ok((filter, memory))
}

/// Returns an output size that suffices, for filters without a known bound.
fn room(filter: &dyn Filter, bytes: &[u8]) -> usize {
    filter.encode_bound(bytes.len()).unwrap_or(bytes.len() * 4 + 1024)
}

fn time(
    filter: &dyn Filter,
    params: &[u32],
    data: &'static str,
    bytes: &[u8],
    encoded: &[u8],
) -> Outcome<FilterTiming> {
    let (mut into, mut back) = (vec![0; room(filter, bytes)], vec![0; bytes.len()]);
    let encode = best(
        || Ok(()),
        |()| {
            let mut out = OutBuf::from_slice(&mut into);
            ok("encode", filter.encode(bytes, &mut out))?;
            same("encode makes as much again", encoded.len(), out.filled().len())
        },
    )?;
    let decode = best(
        || Ok(()),
        |()| {
            let mut out = OutBuf::from_slice(&mut back);
            ok("decode", filter.decode(encoded, &mut out))?;
            same("decode gives as much as was encoded", bytes.len(), out.filled().len())
        },
    )?;
    let (decoded, encoded) = (bytes.len() as u64, encoded.len() as u64);
    Ok(FilterTiming { params: params.to_vec(), data, decoded, encoded, encode, decode })
}

/// Returns kinds of data: description, element type, and a chunk, little-endian.
fn kinds() -> [(&'static str, ItemType, Vec<u8>); 4] {
    let item = |kind, size| ItemType { kind, size, big_endian: false };
    let places = || 0..CHUNK / 4;
    // Like temperatures: waves of several lengths, and noise in the last digits.
    let field = |i: usize| {
        let x = i as f32;
        (280.0 + 10.0 * (x / 3000.0).sin() + (x / 41.0).sin() + (i * 7919 % 101) as f32 * 1e-3).to_le_bytes()
    };
    let counted = |i: usize| (i as u32 / 3).to_le_bytes();
    let flags = (0..CHUNK).map(|i| u8::from(i * i % 1009 < 300)).collect();
    [
        ("a smooth field", item(ItemKind::Float, 4), places().flat_map(field).collect()),
        ("counted integers", item(ItemKind::UInt, 4), places().flat_map(counted).collect()),
        ("flags", item(ItemKind::Bool, 1), flags),
        ("noise", item(ItemKind::Bytes, 4), crate::filter::noise(CHUNK, 5)),
    ]
}
