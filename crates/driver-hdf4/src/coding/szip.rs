//! Adapts HDF4's szip to the registry's filter. HDF4 stores a flag and the number of coded bytes first. The
//! filter expects the decoded size there.

use std::borrow::Cow;

use nczarr_codec::{ChunkInfo, Filter, FilterInfo, ItemType, Json, ZarrFormat};
use nczarr_dispatch::Registry;
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;

use crate::cursor::ElementCursor;

/// The parameters of szip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Szip {
    line: u32,
    mask: u32,
    bits: u8,
    block: u8,
}

/// Flag: the data begin with five bytes of header.
const HEADED: u32 = 0x0001_0000;
const BIG_ENDIAN: u32 = 16;

impl Szip {
    pub(super) fn read(cursor: &mut ElementCursor<'_>) -> Result<Self> {
        let _pixels = cursor.u32()?;
        Ok(Self { line: cursor.u32()?, mask: cursor.u32()?, bits: cursor.u8()?, block: cursor.u8()? })
    }

    /// Makes the filter.
    ///
    /// # Errors
    /// Errors of the registry if it lacks szip; errors of szip about parameters; `NC_EFILTER` for scanlines
    /// that szip would not make.
    pub(super) fn filter(self, registry: &Registry) -> Result<Box<dyn Filter>> {
        let mut inner = registry.filter("szip")?.parse_params(&[self.mask & 0xff, self.block.into()])?;
        let size = usize::from(self.bits).div_ceil(8).next_power_of_two();
        let line = self.line as usize;
        inner.bind(
            &ChunkInfo::new(ItemType::bytes(size), line)
                .chunk_bytes(line.saturating_mul(size))
                .array_row(Some(line))
                .big_endian(self.mask & BIG_ENDIAN != 0),
        )?;
        if inner.working_params().get(3) != Some(&self.line) {
            return Err(ErrorKind::Filter.context(format!(
                "szip: invalid parameters (scanlines of {line} pixels, blocks of {})",
                self.block
            )));
        }
        Ok(Box::new(HeadedSzip { headed: self.mask & HEADED != 0, inner }))
    }
}

#[derive(Debug, Clone)]
struct HeadedSzip {
    headed: bool,
    /// The filter, bound to the scanlines of the file, not to those of the array.
    inner: Box<dyn Filter>,
}

impl Filter for HeadedSzip {
    fn info(&self) -> &FilterInfo {
        self.inner.info()
    }

    fn params(&self) -> Cow<'_, [u32]> {
        self.inner.params()
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        self.inner.to_json(format)
    }

    fn encode_bound(&self, _decoded: usize) -> Option<usize> {
        None
    }

    fn encode(&self, _src: &[u8], _dst: &mut OutBuf<'_>) -> Result<()> {
        Err(ErrorKind::Perm.context("HDF4 files are read-only"))
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let mut stream = src;
        if self.headed {
            let (head, rest) = src.split_first_chunk::<5>().ok_or_else(|| short(5, src.len()))?;
            let len = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            stream = rest.get(..len).ok_or_else(|| short(len, rest.len()))?;
            if head[0] == 1 {
                return dst.put(stream);
            }
        }
        let size = u32::try_from(dst.remaining())
            .map_err(|_| ErrorKind::Filter.context("szip: the data are larger than 4 GiB"))?;
        self.inner.decode(&[&size.to_le_bytes(), stream].concat(), dst)
    }
}

fn short(expected: usize, found: usize) -> nczarr_model::Error {
    ErrorKind::Filter.context(format!("szip: too short (expected {expected} bytes, found {found})"))
}
