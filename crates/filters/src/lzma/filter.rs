//! The filter and its class.

use std::borrow::Cow;

use liblzma::stream::Check;
use nczarr_dispatch::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory};
use nczarr_model::{ErrorKind, Result};

use super::chain::{DEFAULT_PRESET, LZMA1, LZMA2, Link};
use super::{json, params, stream};

pub(super) static INFO: FilterInfo = FilterInfo {
    hdf5_id: None,
    name: "lzma",
    aliases: &["numcodecs.lzma"],
    about: "LZMA compression in an xz stream; one parameter, optional: preset 0 to 9",
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

/// What a stream begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Xz = 1,
    Alone = 2,
    Raw = 3,
}

impl Form {
    pub(super) const ALL: [Self; 3] = [Self::Xz, Self::Alone, Self::Raw];
}

#[derive(Debug, Clone)]
pub(super) struct Lzma {
    pub form: Form,
    /// The number of the checksum of an xz stream; -1 for the usual one.
    pub check: i32,
    pub preset: Option<u32>,
    /// The distance of GDAL's delta filter, in bytes; 0: the description is not GDAL's.
    pub delta: u32,
    /// Empty: one filter with the preset.
    pub chain: Vec<Link>,
}

impl Lzma {
    fn preset(&self) -> u32 {
        self.preset.unwrap_or(DEFAULT_PRESET)
    }

    /// The filters inside, the delta of GDAL's among them.
    fn links(&self) -> Cow<'_, [Link]> {
        match (self.chain.is_empty(), self.delta) {
            (false, _) => Cow::Borrowed(&self.chain),
            (true, 0) => Cow::Owned(vec![Link::lzma2(self.preset())]),
            (true, dist) => Cow::Owned(vec![Link::delta(dist), Link::lzma2(self.preset())]),
        }
    }

    fn check(&self) -> Result<Check> {
        match self.check {
            -1 | 4 => Ok(Check::Crc64),
            0 => Ok(Check::None),
            1 => Ok(Check::Crc32),
            10 => Ok(Check::Sha256),
            other => {
                Err(ErrorKind::Filter
                    .context(format!("lzma: expected \"check\" to be -1, 0, 1, 4 or 10, found {other}")))
            }
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

    /// LZMA2 copies what does not compress, in pieces of some thousand bytes with a header of three; LZMA1 has no bound.
    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        let copies = self.form != Form::Alone && self.links().last().is_some_and(|link| link.id == LZMA2);
        if copies { decoded.checked_add(decoded / 1000)?.checked_add(1024) } else { None }
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let links = self.links();
        match self.form {
            Form::Xz => stream::encode_xz(&links, self.check()?, src, dst),
            Form::Raw => stream::encode_raw(&links, src, dst),
            Form::Alone if self.chain.is_empty() => stream::encode_alone(&Link::lzma2(self.preset()), src, dst),
            Form::Alone => match &*self.chain {
                [link] if link.id == LZMA1 => stream::encode_alone(link, src, dst),
                _ => Err(ErrorKind::Filter.context("lzma: format 2 has one filter, LZMA1, and no others")),
            },
        }
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        match self.form {
            Form::Xz => stream::decode_xz(src, dst),
            Form::Alone => stream::decode_alone(src, dst),
            Form::Raw => stream::decode_raw(&self.links(), src, dst),
        }
    }
}
