//! Szip (HDF5 filter 4, codec id `szip`): extended-Rice coding of integers of 8 or 16 bits.
//!
//! * HDF5 parameters: `[mask, pixels per block]`; the mask has 4 (as they are, "EC") or 32 (differences, "NN"). HDF5 and
//!   NCZarr work with two more, bits per pixel and pixels per scanline, which are computed anew in `bind`.
//! * Zarr V2: `{"id": "szip", "mask": 4, "pixels-per-block": 16}`; V3: the same members in its configuration
//! * Stored: the decoded size in 4 bytes, little-endian, then scanlines one after another, without gaps
//!
//! Elements of 4 and 8 bytes are coded as byte planes, as the byte shuffle makes them, of 8-bit pixels. Each scanline
//! is a reference sample interval: it is filled up to whole blocks, and differences start anew. How long it is depends on
//! the last dimension of the whole array, not on the chunk's: that is netCDF-C's rule for NCZarr.
//!
//! [`filter`] knows parameters and sizes, [`line`] scanlines, [`decode`] and [`encode`] blocks, [`bits`] the stream.
//! Source: CCSDS 121.0-B-2; HDF5's szip filter; netCDF-C's szip codec.

mod bits;
mod decode;
mod encode;
mod filter;
mod line;
mod predict;

pub use filter::SzipClass;

/// How a block of samples is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Code {
    /// Bits of a sample: 8 or 16.
    bits: u32,
    /// Samples of a block: even, at most 32.
    block: usize,
    /// Blocks of a scanline, at least 1.
    blocks: usize,
    /// Whether samples are differences.
    predict: bool,
}

impl Code {
    /// Bits of what says how a block is coded.
    fn id_bits(self) -> u32 {
        if self.bits > 8 { 4 } else { 3 }
    }

    /// That a block is coded not at all.
    fn plain_id(self) -> u32 {
        (1 << self.id_bits()) - 1
    }

    /// The largest sample.
    fn max(self) -> u16 {
        if self.bits > 8 { u16::MAX } else { u16::from(u8::MAX) }
    }

    /// Samples of a scanline with what fills it up.
    fn padded(self) -> usize {
        self.block * self.blocks
    }

    /// The most bits of a coded scanline: no block is longer than uncoded.
    fn line_bound(self) -> usize {
        self.blocks * (self.id_bits() as usize + self.block * self.bits as usize)
    }
}

/// So many blocks share one code for "zeros up to the end".
const SEGMENT: usize = 64;

/// The code for zeros up to the end of the segment, or of the scanline.
const TO_THE_END: usize = 5;

/// The largest sum of two samples that are coded together.
const PAIR_SUM: u32 = 12;
