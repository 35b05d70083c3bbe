//! Fletcher-32 checksum (HDF5 filter 3, codec id `fletcher32`).
//!
//! * HDF5 parameters: none
//! * Zarr V2: `{"id": "fletcher32"}`; Zarr V3: `{"name": "numcodecs.fletcher32"}`
//! * Stored: the bytes, then 4 bytes of checksum, little-endian
//!
//! Source: HDF5's `H5_checksum_fletcher32`: big-endian 16-bit words; an odd last byte is the high half of a
//! word.

use std::borrow::Cow;

use nczarr_codec::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory};
use nczarr_model::{ErrorKind, Result};
use serde_json::json;

static INFO: FilterInfo = FilterInfo {
    hdf5_id: Some(3),
    aliases: &["numcodecs.fletcher32"],
    ..FilterInfo::new("fletcher32", "appends a checksum and verifies it; no parameters")
};

/// The class of the checksum filter.
pub struct Fletcher32Class;

inventory::submit! { FilterPlugin(&Fletcher32Class) }

impl FilterClass for Fletcher32Class {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        match params {
            [] => Ok(Box::new(Fletcher32)),
            _ => {
                Err(ErrorKind::Inval.context(format!("fletcher32: expected no parameters, found {params:?}")))
            }
        }
    }

    fn parse_json(&self, _codec: &Json, _format: ZarrFormat) -> Result<Box<dyn Filter>> {
        Ok(Box::new(Fletcher32))
    }
}

#[derive(Debug, Clone, Copy)]
struct Fletcher32;

impl Filter for Fletcher32 {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(&[])
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        match format {
            ZarrFormat::V2 => json!({"id": "fletcher32"}),
            ZarrFormat::V3 => json!({"name": "numcodecs.fletcher32", "configuration": {}}),
        }
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        decoded.checked_add(4)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.put(src)?;
        dst.put(&checksum(src).to_le_bytes())
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let Some((data, stored)) = src.split_last_chunk::<4>() else {
            return Err(ErrorKind::Filter.context(format!(
                "fletcher32: expected at least the 4 bytes of the checksum, found {} bytes",
                src.len()
            )));
        };
        let (stored, computed) = (u32::from_le_bytes(*stored), checksum(data));
        if stored != computed {
            return Err(ErrorKind::Filter.context(format!(
                "fletcher32: the data is damaged: expected checksum {stored:#010x}, found {computed:#010x}"
            )));
        }
        dst.put(data)
    }
}

/// Returns the checksum. Both sums are residues modulo 65535, where 65535 stands for 0 unless every word is
/// 0.
fn checksum(data: &[u8]) -> u32 {
    let (mut sum1, mut sum2) = (0u32, 0u32);
    // The second sum cannot overflow within 360 words.
    for block in data.chunks(720) {
        let (words, odd) = block.as_chunks::<2>();
        for &word in words {
            sum1 += u32::from(u16::from_be_bytes(word));
            sum2 += sum1;
        }
        if let &[last] = odd {
            sum1 += u32::from(last) << 8;
            sum2 += sum1;
        }
        sum1 = fold(sum1);
        sum2 = fold(sum2);
    }
    (fold(sum2) << 16) | fold(sum1)
}

fn fold(sum: u32) -> u32 {
    (sum & 0xffff) + (sum >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: reduces after each word.
    fn slow(data: &[u8]) -> u32 {
        let (mut sum1, mut sum2) = (0u64, 0u64);
        for word in data.chunks(2) {
            sum1 += u64::from(word[0]) * 256 + u64::from(word.get(1).copied().unwrap_or(0));
            sum2 += sum1;
        }
        let residue = |sum: u64| if sum == 0 { 0 } else { (sum - 1) % 65535 + 1 };
        ((residue(sum2) << 16) | residue(sum1)) as u32
    }

    #[test]
    fn the_sums_are_residues_with_65535_for_zero() {
        for fill in [0x00, 0x01, 0x80, 0xfe, 0xff] {
            for len in (0..40).chain([718, 719, 720, 721, 722, 1440, 1441, 10_000]) {
                let data = vec![fill; len];
                assert_eq!(checksum(&data), slow(&data), "{len} bytes of {fill}");
            }
        }
        assert_eq!(checksum(&[0xff, 0xff]), 0xffff_ffff);
    }

    proptest::proptest! {
        #[test]
        fn fast_and_slow_checksums_agree(data in proptest::collection::vec(proptest::num::u8::ANY, 0..3000)) {
            proptest::prop_assert_eq!(checksum(&data), slow(&data));
        }
    }
}
