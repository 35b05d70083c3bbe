//! [`Lzma`]: the settings of the filter, which parameters and JSON describe.

use std::borrow::Cow;

use liblzma::stream::Check;
use nczarr_model::{ErrorKind, Result};

use super::chain::{ChainFilter, DEFAULT_PRESET};

/// The name of the filter.
pub(super) const NAME: &str = "lzma";

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
    pub fn preset(&self) -> u32 {
        self.preset.unwrap_or(DEFAULT_PRESET)
    }

    /// Returns the chain, with GDAL's delta filter.
    pub fn links(&self) -> Cow<'_, [ChainFilter]> {
        match (self.chain.is_empty(), self.delta) {
            (false, _) => Cow::Borrowed(&self.chain),
            (true, 0) => Cow::Owned(vec![ChainFilter::lzma2(self.preset())]),
            (true, dist) => Cow::Owned(vec![ChainFilter::delta(dist), ChainFilter::lzma2(self.preset())]),
        }
    }

    pub fn check(&self) -> Result<Check> {
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
