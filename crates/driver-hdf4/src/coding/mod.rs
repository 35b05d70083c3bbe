//! [`Coding`]: the compression of an element, and the filter that decodes it.
//!
//! Deflate and szip use filters of the registry; HDF4's szip has another header. Run-length, skipping Huffman
//! and n-bit coding exist only in HDF4, and are only decoded.
//!
//! Source: HDF Specification, "Compressed Data Elements".

mod bits;
mod nbit;
mod rle;
mod skphuff;
mod szip;

use std::borrow::Cow;

use nczarr_codec::{Filter, FilterInfo, Json, ZarrFormat};
use nczarr_dispatch::Registry;
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;

use crate::cursor::ElementCursor;
use crate::number::NumberType;

/// A compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Not compressed.
    Plain,
    Rle,
    Nbit(nbit::Nbit),
    /// Skipping Huffman; the number of trees.
    Skphuff(u32),
    /// Deflate; the level, which decoding does not need.
    Deflate(u16),
    Szip(szip::Szip),
}

impl Coding {
    /// Parses the compression from an element's description.
    ///
    /// # Errors
    /// `NC_ENOFILTER` if it is not supported; `NC_EHDFERR` if its parameters are invalid.
    pub(crate) fn read(cursor: &mut ElementCursor<'_>) -> Result<Self> {
        let (model, coder) = (cursor.u16()?, cursor.u16()?);
        if model != 0 {
            return Err(
                ErrorKind::NoFilter.context(format!("compression: unknown model {model} (expected 0)"))
            );
        }
        Ok(match coder {
            0 => Self::Plain,
            1 => Self::Rle,
            2 => Self::Nbit(nbit::Nbit::read(cursor)?),
            3 => Self::Skphuff(skphuff::trees(cursor.u32()?)?),
            4 => Self::Deflate(cursor.u16()?),
            5 => Self::Szip(szip::Szip::read(cursor)?),
            other => {
                let name = if other == 7 { "JPEG" } else { "unknown here" };
                let known = "run-length (1), n-bit (2), skipping Huffman (3), deflate (4), szip (5)";
                return Err(ErrorKind::NoFilter.context(format!(
                    "compression {other} ({name}) is not supported; supported are {known}"
                )));
            }
        })
    }

    /// Makes the filter that decodes it.
    ///
    /// # Errors
    /// Errors of the registry if it lacks the filter.
    pub(crate) fn filter(self, number: NumberType, registry: &Registry) -> Result<Option<Box<dyn Filter>>> {
        Ok(Some(match self {
            Self::Plain => return Ok(None),
            Self::Deflate(level) => registry.filter("deflate")?.parse_params(&[u32::from(level).min(9)])?,
            Self::Szip(szip) => szip.filter(registry)?,
            Self::Rle => Box::new(BuiltinCoding { info: &RLE, decode: DecodeMethod::Rle }),
            Self::Skphuff(trees) => {
                Box::new(BuiltinCoding { info: &SKPHUFF, decode: DecodeMethod::Skphuff(trees as usize) })
            }
            Self::Nbit(nbit) => {
                Box::new(BuiltinCoding { info: &NBIT, decode: DecodeMethod::Nbit(nbit.checked(number)?) })
            }
        }))
    }
}

const fn info(name: &'static str, about: &'static str) -> FilterInfo {
    FilterInfo::new(name, about)
}

static RLE: FilterInfo = info("hdf4-rle", "HDF4 run-length coding");
static SKPHUFF: FilterInfo = info("hdf4-skphuff", "HDF4 skipping Huffman coding");
static NBIT: FilterInfo = info("hdf4-nbit", "HDF4 n-bit coding");

/// A compression that only HDF4 has.
#[derive(Debug, Clone)]
struct BuiltinCoding {
    info: &'static FilterInfo,
    decode: DecodeMethod,
}

#[derive(Debug, Clone)]
enum DecodeMethod {
    Rle,
    Skphuff(usize),
    Nbit(nbit::Nbit),
}

impl Filter for BuiltinCoding {
    fn info(&self) -> &FilterInfo {
        self.info
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(&[])
    }

    fn to_json(&self, _format: ZarrFormat) -> Json {
        Json::Null
    }

    fn encode_bound(&self, _decoded: usize) -> Option<usize> {
        None
    }

    fn encode(&self, _src: &[u8], _dst: &mut OutBuf<'_>) -> Result<()> {
        Err(ErrorKind::Perm.context(format!("{}: it cannot encode", self.info.name)))
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        match &self.decode {
            DecodeMethod::Rle => rle::decode(src, dst),
            DecodeMethod::Skphuff(trees) => skphuff::decode(*trees, src, dst),
            DecodeMethod::Nbit(nbit) => nbit.decode(src, dst),
        }
    }
}
