//! The blosc frame: header, block table, blocks, streams. Every number is checked before use.
//!
//! Layout, little-endian: format version, stream version, flags, element size (one byte each); decoded size,
//! block size, frame size (32 bits each). Then follows a copy of the data, or the position of every block (32
//! bits each) and the blocks. A block is one stream, or one for each byte of an element. Each stream has its
//! length (32 bits) before it. A stream as long as its data is a copy.
//!
//! Stricter than the C library: positions inside the table or header are refused, and so is a block size that
//! its streams do not divide.

use nczarr_model::{Error, ErrorKind, Result};

/// The only format version of Blosc 1.
pub(super) const VERSION: u8 = 2;
/// Size of the header in bytes. A frame exceeds its data by at most this.
pub(super) const OVERHEAD: usize = 16;
/// The largest block that the C library reads, in bytes.
pub(super) const MAX_BLOCK: usize = (i32::MAX as usize - 4 * 255) / 3;
/// Most data in a frame, in bytes.
pub(super) const MAX_BYTES: usize = i32::MAX as usize - OVERHEAD;

/// The compression of streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamFormat {
    BloscLz,
    Lz4,
    Snappy,
    Zlib,
    Zstd,
}

/// The shuffle of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShuffleKind {
    Plain,
    Bytes,
    Bits,
}

/// A frame with a valid header and size.
#[derive(Debug)]
pub(super) struct BloscFrame<'a> {
    /// The frame, cut to the length in its header.
    bytes: &'a [u8],
    flags: u8,
    format: StreamFormat,
    typesize: usize,
    nbytes: usize,
    /// 1 to `nbytes`, or 1 if that is 0.
    blocksize: usize,
}

pub(super) const FLAG_BYTES: u8 = 1;
pub(super) const FLAG_COPY: u8 = 2;
pub(super) const FLAG_BITS: u8 = 4;
const FLAG_RESERVED: u8 = 8;
pub(super) const FLAG_ONE_STREAM: u8 = 16;

impl<'a> BloscFrame<'a> {
    /// Parses and checks the header. Bytes after the frame are ignored.
    pub(super) fn parse(src: &'a [u8]) -> Result<Self> {
        let Some(&[version, stream_version, flags, typesize, ref sizes @ ..]) = src.first_chunk::<OVERHEAD>()
        else {
            return Err(failed(format!("expected a header of {OVERHEAD} bytes, found {} bytes", src.len())));
        };
        let (sizes, _) = sizes.as_chunks::<4>();
        let [nbytes, blocksize, cbytes] = [0, 1, 2].map(|i| u32::from_le_bytes(sizes[i]) as usize);
        if version != VERSION {
            return Err(failed(format!("expected format version {VERSION}, found {version}")));
        }
        if flags & FLAG_RESERVED != 0 {
            return Err(failed(format!("flags {flags:#04x} have a bit of an unknown format")));
        }
        let format = match (flags >> 5, stream_version) {
            // A copy has no streams.
            _ if flags & FLAG_COPY != 0 => StreamFormat::BloscLz,
            (0, 1) => StreamFormat::BloscLz,
            (1, 1) => StreamFormat::Lz4,
            (2, 1) => StreamFormat::Snappy,
            (3, 1) => StreamFormat::Zlib,
            (4, 1) => StreamFormat::Zstd,
            (code, version) => {
                return Err(failed(format!("unknown compressor {code} with stream version {version}")));
            }
        };
        let bytes = match src.get(..cbytes) {
            Some(bytes) if cbytes >= OVERHEAD => bytes,
            _ => return Err(failed(format!("expected a frame of {cbytes} bytes, found {}", src.len()))),
        };
        let copy = flags & FLAG_COPY != 0;
        if nbytes > MAX_BYTES || copy && nbytes != cbytes - OVERHEAD {
            return Err(failed(format!("{cbytes} bytes cannot hold the {nbytes} declared")));
        }
        if nbytes == 0 {
            return Ok(Self { bytes, flags, format, typesize: 1, nbytes, blocksize: 1 });
        }
        if typesize == 0 || blocksize == 0 || blocksize > nbytes.min(MAX_BLOCK) {
            return Err(failed(format!(
                "invalid block size {blocksize} for elements of {typesize} bytes in {nbytes} bytes"
            )));
        }
        let frame = Self { bytes, flags, format, typesize: typesize.into(), nbytes, blocksize };
        if !copy && frame.blocks() > (cbytes - OVERHEAD) / 4 {
            return Err(failed(format!("{cbytes} bytes cannot hold the table of {} blocks", frame.blocks())));
        }
        Ok(frame)
    }

    /// Returns the decoded size in bytes.
    pub(super) fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// Returns the decoded size of every block but the last, in bytes.
    pub(super) fn blocksize(&self) -> usize {
        self.blocksize
    }

    /// Returns the element size in bytes.
    pub(super) fn typesize(&self) -> usize {
        self.typesize
    }

    /// Returns the compression of the streams.
    pub(super) fn format(&self) -> StreamFormat {
        self.format
    }

    /// Returns the data, if the frame holds a copy.
    pub(super) fn copy(&self) -> Option<&'a [u8]> {
        (self.flags & FLAG_COPY != 0).then(|| &self.bytes[OVERHEAD..])
    }

    /// Whether decoding a part is cheaper than decoding everything.
    pub(super) fn has_parts(&self) -> bool {
        self.flags & FLAG_COPY != 0 || self.blocks() > 1
    }

    /// Returns the number of blocks.
    pub(super) fn blocks(&self) -> usize {
        self.nbytes.div_ceil(self.blocksize)
    }

    /// Returns the decoded size of a block in bytes. `index` must be below [`BloscFrame::blocks`].
    pub(super) fn block_len(&self, index: usize) -> usize {
        self.blocksize.min(self.nbytes - index * self.blocksize)
    }

    /// Returns the shuffle of a block of this length.
    pub(super) fn order(&self, block_len: usize) -> ShuffleKind {
        if self.flags & FLAG_BYTES != 0 && self.typesize > 1 {
            ShuffleKind::Bytes
        } else if self.flags & FLAG_BITS != 0 && block_len >= self.typesize {
            ShuffleKind::Bits
        } else {
            ShuffleKind::Plain
        }
    }

    /// Returns the streams of a block. `index` must be below [`BloscFrame::blocks`].
    pub(super) fn streams(&self, index: usize) -> Result<BlockStreams<'a>> {
        let len = self.block_len(index);
        let whole = len == self.blocksize;
        let split =
            self.flags & FLAG_ONE_STREAM == 0 && whole && self.typesize <= 16 && len / self.typesize >= 128;
        let count = if split { self.typesize } else { 1 };
        let table = OVERHEAD + 4 * self.blocks();
        let at = number(&self.bytes[..table], OVERHEAD + 4 * index);
        match at {
            Some(at) if at >= table && at <= self.bytes.len() && len.is_multiple_of(count) => {
                Ok(BlockStreams { rest: &self.bytes[at..], left: count, holds: len / count })
            }
            _ => Err(failed(format!(
                "block {index} of {len} bytes in {count} streams stands at {at:?}, outside {table} to {}",
                self.bytes.len()
            ))),
        }
    }
}

/// The streams of one block, in order.
pub(super) struct BlockStreams<'a> {
    rest: &'a [u8],
    left: usize,
    /// Decoded size of each stream in bytes.
    holds: usize,
}

impl BlockStreams<'_> {
    /// Returns the decoded size of each stream in bytes.
    pub(super) fn holds(&self) -> usize {
        self.holds
    }
}

impl<'a> Iterator for BlockStreams<'a> {
    type Item = Result<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let stream = number(self.rest, 0).and_then(|len| self.rest[4..].split_at_checked(len));
        let Some((stream, rest)) = stream else {
            self.left = 0;
            return Some(Err(failed("a stream reaches beyond the frame".into())));
        };
        self.rest = rest;
        Some(Ok(stream))
    }
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize)
}

/// Makes an error about a frame.
pub(super) fn failed(what: String) -> Error {
    ErrorKind::Filter.context(format!("blosc: {what}"))
}
