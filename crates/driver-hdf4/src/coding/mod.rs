//! [`Coding`]: how an element is compressed, and the filter that decodes it.
//!
//! Deflate and szip are filters of the registry; szip has another header here. Runs, skipping Huffman and n-bit are codings
//! of this format alone, and only decoded.
//!
//! Source: HDF Specification, "Compressed Data Elements".

mod bits;
mod nbit;
mod rle;
mod skphuff;
mod szip;

use std::borrow::Cow;

use nczarr_dispatch::{Filter, FilterInfo, Json, OutBuf, Registry, ZarrFormat};
use nczarr_model::{ErrorKind, Result};

use crate::cursor::Cursor;
use crate::number::Number;

/// How bytes are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Not at all.
    Plain,
    Rle,
    Nbit(nbit::Nbit),
    /// How many trees take turns.
    Skphuff(u32),
    /// The level, of no meaning for reading.
    Deflate(u16),
    Szip(szip::Szip),
}

impl Coding {
    /// Reads what an element's description says of it.
    ///
    /// # Errors
    /// `NC_ENOFILTER` for one that is not read; `NC_EHDFERR` for parameters that make no sense.
    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        let (model, coder) = (cursor.u16()?, cursor.u16()?);
        if model != 0 {
            return Err(ErrorKind::NoFilter.context(format!("compressed after the model {model}; only 0 is read")));
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
                let known = "runs (1), n-bit (2), skipping Huffman (3), deflate (4), szip (5)";
                return Err(ErrorKind::NoFilter.context(format!("compressed by {other} ({name}); known are {known}")));
            }
        })
    }

    /// The filter that decodes it.
    ///
    /// # Errors
    /// What the registry says if it lacks it.
    pub(crate) fn filter(self, number: Number, registry: &Registry) -> Result<Option<Box<dyn Filter>>> {
        Ok(Some(match self {
            Self::Plain => return Ok(None),
            Self::Deflate(level) => registry.filter("deflate")?.parse_params(&[u32::from(level).min(9)])?,
            Self::Szip(szip) => szip.filter(registry)?,
            Self::Rle => Box::new(Own { info: &RLE, decode: Decode::Rle }),
            Self::Skphuff(trees) => Box::new(Own { info: &SKPHUFF, decode: Decode::Skphuff(trees as usize) }),
            Self::Nbit(nbit) => Box::new(Own { info: &NBIT, decode: Decode::Nbit(nbit.checked(number)?) }),
        }))
    }
}

const fn info(name: &'static str, about: &'static str) -> FilterInfo {
    FilterInfo { hdf5_id: None, name, aliases: &[], about }
}

static RLE: FilterInfo = info("hdf4-rle", "runs of equal bytes, of HDF4");
static SKPHUFF: FilterInfo = info("hdf4-skphuff", "skipping Huffman coding, of HDF4");
static NBIT: FilterInfo = info("hdf4-nbit", "some bits of each number, of HDF4");

/// A coding of this format alone.
#[derive(Debug, Clone)]
struct Own {
    info: &'static FilterInfo,
    decode: Decode,
}

#[derive(Debug, Clone)]
enum Decode {
    Rle,
    Skphuff(usize),
    Nbit(nbit::Nbit),
}

impl Filter for Own {
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
        Err(ErrorKind::Perm.context(format!("{} is only decoded", self.info.name)))
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        match &self.decode {
            Decode::Rle => rle::decode(src, dst),
            Decode::Skphuff(trees) => skphuff::decode(*trees, src, dst),
            Decode::Nbit(nbit) => nbit.decode(src, dst),
        }
    }
}
