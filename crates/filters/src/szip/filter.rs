//! The szip filter: parameters, descriptions, sizes, byte planes.

use std::borrow::Cow;
use std::cell::Cell;

use nczarr_codec::{
    ChunkInfo, Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory,
};
use nczarr_model::{Error, ErrorKind, Result};
use serde_json::json;

use super::BlockCode;
use super::line::Scanlines;
use crate::json::{CodecMembers, describe};
use crate::{thread_cache, transpose};

static INFO: FilterInfo = FilterInfo {
    hdf5_id: Some(4),
    ..FilterInfo::new(
        "szip",
        "extended-Rice coding of numbers; two parameters: 4 (as they are) or 32 (differences), pixels per block",
    )
};

/// Bits of the mask, as in HDF5.
mod mask {
    /// Samples are coded unchanged.
    pub(super) const EC: u32 = 4;
    /// Differences of samples are coded.
    pub(super) const NN: u32 = 32;
    /// The least significant byte comes first.
    pub(super) const LSB: u32 = 8;
    /// The most significant byte comes first.
    pub(super) const MSB: u32 = 16;
    /// HDF5 always sets it.
    pub(super) const ALLOW_K13: u32 = 1;
    /// HDF5 never sets it.
    pub(super) const CHIP: u32 = 2;
    /// No header; HDF5 always sets it.
    pub(super) const RAW: u32 = 128;

    pub(super) const ALL: u32 = EC | NN | LSB | MSB | ALLOW_K13 | CHIP | RAW;
}

/// Most blocks of a scanline.
const MOST_BLOCKS: usize = 128;

/// More memory than this is freed after use.
const KEEP: usize = 8 << 20;

/// The class of the szip filter.
pub struct SzipClass;

inventory::submit! { FilterPlugin(&SzipClass) }

impl FilterClass for SzipClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        match *params {
            [mask, block] => Szip::boxed(mask, block, None, ErrorKind::Inval),
            // As HDF5 stores them. The additions of HDF5 follow from the array.
            [mask, block, _, pixels] => Szip::boxed(mask, block, Some(pixels), ErrorKind::Inval),
            _ => Err(ErrorKind::Inval.context(format!(
                "szip: expected two parameters, the mask and the pixels per block, found {params:?}"
            ))),
        }
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let members = CodecMembers::of(INFO.name, codec, format)?;
        let number = |member| {
            let found = members.int(member)?;
            let number = found.and_then(|number| u32::try_from(number).ok());
            number.ok_or_else(|| members.wrong(member, "a number that is not negative", &json!(found)))
        };
        Szip::boxed(number("mask")?, number("pixels-per-block")?, None, ErrorKind::Filter)
    }
}

/// The facts that `bind` gives.
#[derive(Debug, Clone, Copy)]
struct BoundSzip {
    /// Element size in bytes: 1, 2, 4 or 8.
    item: usize,
    lines: Scanlines,
}

#[derive(Debug, Clone, Copy)]
struct Szip {
    mask: u32,
    block: u32,
    /// Pixels of a scanline, if the file states them.
    pixels: Option<u32>,
    bound: Option<BoundSzip>,
}

impl Szip {
    fn boxed(mask: u32, block: u32, pixels: Option<u32>, kind: ErrorKind) -> Result<Box<dyn Filter>> {
        if mask & !mask::ALL != 0 || (mask & mask::EC == 0) == (mask & mask::NN == 0) {
            return Err(kind.context(format!("szip: expected a mask with either 4 or 32, found {mask}")));
        }
        if !(2..=32).contains(&block) || !block.is_multiple_of(2) {
            return Err(kind.context(format!(
                "szip: expected an even number of 2 to 32 pixels per block, found {block}"
            )));
        }
        if pixels.is_some_and(|pixels| pixels == 0 || pixels as usize > block as usize * MOST_BLOCKS) {
            return Err(kind.context(format!(
                "szip: expected scanlines of up to {MOST_BLOCKS} blocks, found {pixels:?} pixels"
            )));
        }
        let mask = if pixels.is_some() { mask & (mask::EC | mask::NN) } else { mask };
        Ok(Box::new(Self { mask, block, pixels, bound: None }))
    }

    fn bound(&self) -> Result<BoundSzip> {
        self.bound.ok_or_else(|| ErrorKind::Internal.context("szip: used before the array was known"))
    }
}

impl BoundSzip {
    /// Whether elements are coded as byte planes.
    fn planes(self) -> bool {
        self.item > 2
    }
}

impl Filter for Szip {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Owned(vec![self.mask, self.block])
    }

    fn working_params(&self) -> Cow<'_, [u32]> {
        let Some(bound) = self.bound else { return self.params() };
        let order = if bound.lines.big_endian { mask::MSB } else { mask::LSB };
        let mask = self.mask & !(mask::CHIP | mask::LSB | mask::MSB) | mask::ALLOW_K13 | mask::RAW | order;
        // Both are small: an element has at most 8 bytes, a scanline at most 128 blocks of 32 pixels.
        Cow::Owned(vec![mask, self.block, 8 * bound.item as u32, bound.lines.pixels as u32])
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        describe(format, "szip", "szip", json!({"mask": self.mask, "pixels-per-block": self.block}))
    }

    fn bind(&mut self, chunk: &ChunkInfo<'_>) -> Result<()> {
        let item = chunk.item_size;
        if ![1, 2, 4, 8].contains(&item) {
            return Err(ErrorKind::Filter
                .context(format!("szip: elements of {item} bytes; 1, 2, 4 and 8 are possible")));
        }
        let block = self.block as usize;
        let pixels = match (self.pixels, chunk.array_row) {
            (Some(pixels), _) => pixels as usize,
            (None, Some(line)) => {
                let most = block * MOST_BLOCKS;
                if line >= block { line.min(most) } else { chunk.elements.min(most) }
            }
            (None, None) => {
                let what = "szip: works on numbers along a last dimension of fixed length only";
                return Err(ErrorKind::Filter.context(what));
            }
        };
        if pixels < block && self.pixels.is_none() {
            return Err(ErrorKind::Filter.context(format!(
                "szip: a chunk has {} elements, fewer than the {block} pixels of a block",
                chunk.elements
            )));
        }
        let code = BlockCode {
            bits: if item == 2 { 16 } else { 8 },
            block,
            blocks: pixels.div_ceil(block),
            predict: self.mask & mask::NN != 0,
        };
        self.bound =
            Some(BoundSzip { item, lines: Scanlines { code, pixels, big_endian: chunk.big_endian } });
        Ok(())
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        self.bound?.lines.bound(decoded)?.checked_add(HEADER)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let bound = self.bound()?;
        let size = u32::try_from(src.len()).map_err(|_| {
            ErrorKind::Filter.context(format!("szip: {} bytes are more than it can code", src.len()))
        })?;
        dst.put(&size.to_le_bytes())?;
        with(|scratch| {
            if !bound.planes() {
                return bound.lines.encode(src, &mut scratch.samples, dst);
            }
            let planes = scratch.planes(src.len());
            transpose::shuffle(src, bound.item, &mut OutBuf::from_slice(planes))?;
            bound.lines.encode(&scratch.planes, &mut scratch.samples, dst)
        })
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let bound = self.bound()?;
        let (size, stream) = src.split_first_chunk::<HEADER>().ok_or_else(|| short(src.len()))?;
        let size = u32::from_le_bytes(*size) as usize;
        if size > dst.remaining() {
            return Err(ErrorKind::Filter.context(format!(
                "szip: the stream is of {size} bytes, more than the {} declared",
                dst.remaining()
            )));
        }
        with(|scratch| {
            if !bound.planes() {
                return bound.lines.decode(stream, size, &mut scratch.samples, dst);
            }
            scratch.planes(size);
            let mut planes = OutBuf::from_slice(&mut scratch.planes);
            bound.lines.decode(stream, size, &mut scratch.samples, &mut planes)?;
            transpose::unshuffle(planes.filled(), bound.item, dst)
        })
    }
}

/// Size in bytes of the decoded size.
const HEADER: usize = 4;

fn short(found: usize) -> Error {
    ErrorKind::Filter
        .context(format!("szip: expected at least the {HEADER} bytes of the size, found {found} bytes"))
}

/// Memory kept per thread.
#[derive(Default)]
struct SzipScratch {
    planes: Vec<u8>,
    samples: Vec<u16>,
}

impl SzipScratch {
    /// Returns memory for the byte planes of `len` bytes, which is at most the caller's data.
    fn planes(&mut self, len: usize) -> &mut [u8] {
        self.planes.resize(len, 0);
        &mut self.planes
    }
}

thread_local! {
    static SCRATCH: Cell<Option<SzipScratch>> = const { Cell::new(None) };
}

fn with<R>(work: impl FnOnce(&mut SzipScratch) -> Result<R>) -> Result<R> {
    thread_cache::with(
        &SCRATCH,
        || Ok(SzipScratch::default()),
        |scratch| {
            let outcome = work(scratch);
            if scratch.planes.capacity() > KEEP {
                scratch.planes = Vec::new();
            }
            outcome
        },
    )
}
