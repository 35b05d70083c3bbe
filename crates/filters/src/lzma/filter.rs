//! The LZMA filter and its class.

use std::borrow::Cow;

use nczarr_codec::{Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory};
use nczarr_model::{ErrorKind, Result};

use super::chain::{ChainFilter, LZMA1, LZMA2};
use super::settings::{Lzma, LzmaFormat, NAME};
use super::{json, params, stream};

static INFO: FilterInfo = FilterInfo {
    aliases: &["numcodecs.lzma"],
    ..FilterInfo::new(NAME, "LZMA compression in an xz stream; one parameter, optional: preset 0 to 9")
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
