//! The blosc frame: header, block table, blocks, streams. Checks every number before it is used.
//!
//! Layout, all numbers little-endian: format version, version of the streams, flags, element size (a byte each);
//! decoded bytes, block bytes, frame bytes (32 bits each); then either a copy of the data, or the position of every
//! block (32 bits each) and the blocks. A block is one stream, or one for each byte of an element, each with its
//! length (32 bits) before it; a stream as long as what it holds is a copy.
//!
//! Stricter than the C library: positions inside the table or header, and a block size that its streams do not
//! divide, are refused.

use nczarr_model::{Error, ErrorKind, Result};

/// The only format version of Blosc 1.
pub(super) const VERSION: u8 = 2;
/// Bytes of the header: what a frame is larger than its data at most.
pub(super) const OVERHEAD: usize = 16;
/// The largest block the C library reads.
pub(super) const MAX_BLOCK: usize = (i32::MAX as usize - 4 * 255) / 3;
/// The most bytes a frame may hold.
pub(super) const MAX_BYTES: usize = i32::MAX as usize - OVERHEAD;

/// How streams are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    BloscLz,
    Lz4,
    Snappy,
    Zlib,
    Zstd,
}

/// What was done to the bytes of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Plain,
    Bytes,
    Bits,
}

/// A frame whose header and size are right.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    /// All of it, cut to the length in its header.
    bytes: &'a [u8],
    flags: u8,
    format: Format,
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

impl<'a> Frame<'a> {
    /// Checks the header. Bytes after the frame are ignored.
    pub(super) fn parse(src: &'a [u8]) -> Result<Self> {
        let Some(&[version, stream_version, flags, typesize, ref sizes @ ..]) = src.first_chunk::<OVERHEAD>() else {
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
            _ if flags & FLAG_COPY != 0 => Format::BloscLz,
            (0, 1) => Format::BloscLz,
            (1, 1) => Format::Lz4,
            (2, 1) => Format::Snappy,
            (3, 1) => Format::Zlib,
            (4, 1) => Format::Zstd,
            (code, version) => {
                return Err(failed(format!("there is no compressor {code} with streams of version {version}")));
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
                "blocks of {blocksize} bytes with elements of {typesize} make no sense in {nbytes} bytes"
            )));
        }
        let frame = Self { bytes, flags, format, typesize: typesize.into(), nbytes, blocksize };
        if !copy && frame.blocks() > (cbytes - OVERHEAD) / 4 {
            return Err(failed(format!("{cbytes} bytes cannot hold the table of {} blocks", frame.blocks())));
        }
        Ok(frame)
    }

    /// Decoded bytes.
    pub(super) fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// Decoded bytes of every block but the last.
    pub(super) fn blocksize(&self) -> usize {
        self.blocksize
    }

    /// Bytes of an element.
    pub(super) fn typesize(&self) -> usize {
        self.typesize
    }

    /// How streams are compressed.
    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// The data, if the frame holds a copy of it.
    pub(super) fn copy(&self) -> Option<&'a [u8]> {
        (self.flags & FLAG_COPY != 0).then(|| &self.bytes[OVERHEAD..])
    }

    /// Whether a part can be had for less than the whole.
    pub(super) fn has_parts(&self) -> bool {
        self.flags & FLAG_COPY != 0 || self.blocks() > 1
    }

    /// How many blocks there are.
    pub(super) fn blocks(&self) -> usize {
        self.nbytes.div_ceil(self.blocksize)
    }

    /// Decoded bytes of a block; `index` is below [`Frame::blocks`].
    pub(super) fn block_len(&self, index: usize) -> usize {
        self.blocksize.min(self.nbytes - index * self.blocksize)
    }

    /// What was done to the bytes of a block of this length.
    pub(super) fn order(&self, block_len: usize) -> Order {
        if self.flags & FLAG_BYTES != 0 && self.typesize > 1 {
            Order::Bytes
        } else if self.flags & FLAG_BITS != 0 && block_len >= self.typesize {
            Order::Bits
        } else {
            Order::Plain
        }
    }

    /// The streams of a block; `index` is below [`Frame::blocks`].
    pub(super) fn streams(&self, index: usize) -> Result<Streams<'a>> {
        let len = self.block_len(index);
        let whole = len == self.blocksize;
        let split = self.flags & FLAG_ONE_STREAM == 0 && whole && self.typesize <= 16 && len / self.typesize >= 128;
        let count = if split { self.typesize } else { 1 };
        let table = OVERHEAD + 4 * self.blocks();
        let at = number(&self.bytes[..table], OVERHEAD + 4 * index);
        match at {
            Some(at) if at >= table && at <= self.bytes.len() && len.is_multiple_of(count) => {
                Ok(Streams { rest: &self.bytes[at..], left: count, holds: len / count })
            }
            _ => Err(failed(format!(
                "block {index} of {len} bytes in {count} streams stands at {at:?}, outside {table} to {}",
                self.bytes.len()
            ))),
        }
    }
}

/// The streams of one block, in order.
pub(super) struct Streams<'a> {
    rest: &'a [u8],
    left: usize,
    /// Decoded bytes of each.
    holds: usize,
}

impl Streams<'_> {
    /// Decoded bytes of each stream.
    pub(super) fn holds(&self) -> usize {
        self.holds
    }
}

impl<'a> Iterator for Streams<'a> {
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

/// An error about a frame.
pub(super) fn failed(what: String) -> Error {
    ErrorKind::Filter.context(format!("blosc: {what}"))
}
