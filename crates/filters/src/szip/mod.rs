//! Szip (HDF5 filter 4, codec id `szip`): extended-Rice coding of integers of 8 or 16 bits.
//!
//! * HDF5 parameters: `[mask, pixels per block]`. The mask has 4 (unchanged, "EC") or 32 (differences, "NN").
//!   HDF5 and NCZarr add bits per pixel and pixels per scanline, which `bind` computes.
//! * Zarr V2: `{"id": "szip", "mask": 4, "pixels-per-block": 16}`; V3: the same members in its configuration
//! * Stored: the decoded size in 4 bytes, little-endian, then the scanlines without gaps
//!
//! Elements of 4 and 8 bytes are coded as byte planes of 8-bit pixels. Each scanline is a reference sample
//! interval: it is padded to whole blocks, and differences start anew. Its length depends on the last
//! dimension of the whole array, not of the chunk, which is netCDF-C's rule for NCZarr.
//!
//! [`filter`] has parameters and sizes, [`line`] scanlines, [`decode`] and [`encode`] blocks, [`bits`] the
//! stream. Source: CCSDS 121.0-B-2; HDF5's szip filter; netCDF-C's szip codec.

mod bits;
mod decode;
mod encode;
mod filter;
mod line;
mod predict;

pub use filter::SzipClass;

/// The coding of a block of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BlockCode {
    /// Bits of a sample: 8 or 16.
    bits: u32,
    /// Samples of a block: even, at most 32.
    block: usize,
    /// Blocks of a scanline, at least 1.
    blocks: usize,
    /// Whether samples are differences.
    predict: bool,
}

impl BlockCode {
    /// Returns the bits of the option id of a block.
    fn id_bits(self) -> u32 {
        if self.bits > 8 { 4 } else { 3 }
    }

    /// Returns the option id of an uncoded block.
    fn plain_id(self) -> u32 {
        (1 << self.id_bits()) - 1
    }

    /// Returns the largest sample.
    fn max(self) -> u16 {
        if self.bits > 8 { u16::MAX } else { u16::from(u8::MAX) }
    }

    /// Returns the samples of a scanline with padding.
    fn padded(self) -> usize {
        self.block * self.blocks
    }

    /// Returns the most bits of a coded scanline. No block is longer than an uncoded one.
    fn line_bound(self) -> usize {
        self.blocks * (self.id_bits() as usize + self.block * self.bits as usize)
    }
}

/// Number of blocks that share one code for "zeros to the end".
const SEGMENT: usize = 64;

/// The code for zeros to the end of the segment or scanline.
const TO_THE_END: usize = 5;

/// The largest sum of two samples that are coded together.
const PAIR_SUM: u32 = 12;
