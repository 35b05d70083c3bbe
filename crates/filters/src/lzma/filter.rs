//! The LZMA filter and its class.

use std::borrow::Cow;

use liblzma::stream::Check;
use nczarr_codec::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory};
use nczarr_model::{ErrorKind, Result};

use super::chain::{ChainFilter, DEFAULT_PRESET, LZMA1, LZMA2};
use super::{json, params, stream};

pub(super) static INFO: FilterInfo = FilterInfo {
    aliases: &["numcodecs.lzma"],
    ..FilterInfo::new("lzma", "LZMA compression in an xz stream; one parameter, optional: preset 0 to 9")
};

/// The class of the LZMA filter.
pub struct LzmaClass;

inventory::submit! { FilterPlugin(&LzmaClass) }

impl FilterClass for LzmaClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        Ok(Box::new(params::parse(params)?))
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        Ok(Box::new(json::parse(codec, format)?))
    }
}

/// The container of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LzmaFormat {
    Xz = 1,
    Alone = 2,
    Raw = 3,
}

impl LzmaFormat {
    pub(super) const ALL: [Self; 3] = [Self::Xz, Self::Alone, Self::Raw];
}

#[derive(Debug, Clone)]
pub(super) struct Lzma {
    pub form: LzmaFormat,
    /// Number of the checksum of an xz stream; -1: the default.
    pub check: i32,
    pub preset: Option<u32>,
    /// Distance of GDAL's delta filter in bytes; 0: not a description of GDAL.
    pub delta: u32,
    /// The chain. Empty: one filter with the preset.
    pub chain: Vec<ChainFilter>,
}

impl Lzma {
    fn preset(&self) -> u32 {
        self.preset.unwrap_or(DEFAULT_PRESET)
    }

    /// Returns the chain, with GDAL's delta filter.
    fn links(&self) -> Cow<'_, [ChainFilter]> {
        match (self.chain.is_empty(), self.delta) {
            (false, _) => Cow::Borrowed(&self.chain),
            (true, 0) => Cow::Owned(vec![ChainFilter::lzma2(self.preset())]),
            (true, dist) => Cow::Owned(vec![ChainFilter::delta(dist), ChainFilter::lzma2(self.preset())]),
        }
    }

    fn check(&self) -> Result<Check> {
        match self.check {
            -1 | 4 => Ok(Check::Crc64),
            0 => Ok(Check::None),
            1 => Ok(Check::Crc32),
            10 => Ok(Check::Sha256),
            other => Err(ErrorKind::Filter
                .context(format!("lzma: expected \"check\" to be -1, 0, 1, 4 or 10, found {other}"))),
        }
    }
}

impl Filter for Lzma {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Owned(params::of(self))
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        json::of(self, format)
    }

    /// Returns the bound of LZMA2, which stores incompressible data in pieces with three bytes of header.
    /// LZMA1 has no bound.
    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        let copies =
            self.form != LzmaFormat::Alone && self.links().last().is_some_and(|link| link.id == LZMA2);
        if copies { decoded.checked_add(decoded / 1000)?.checked_add(1024) } else { None }
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let links = self.links();
        match self.form {
            LzmaFormat::Xz => stream::encode_xz(&links, self.check()?, src, dst),
            LzmaFormat::Raw => stream::encode_raw(&links, src, dst),
            LzmaFormat::Alone if self.chain.is_empty() => {
                stream::encode_alone(&ChainFilter::lzma2(self.preset()), src, dst)
            }
            LzmaFormat::Alone => match &*self.chain {
                [link] if link.id == LZMA1 => stream::encode_alone(link, src, dst),
                _ => Err(ErrorKind::Filter.context("lzma: format 2 has one filter, LZMA1, and no others")),
            },
        }
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        match self.form {
            LzmaFormat::Xz => stream::decode_xz(src, dst),
            LzmaFormat::Alone => stream::decode_alone(src, dst),
            LzmaFormat::Raw => stream::decode_raw(&self.links(), src, dst),
        }
    }
}
