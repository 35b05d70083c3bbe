//! [`Chunks`]: the chunks of one array as the engine's map: each found by its place in the grid, and read where it lies.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use nczarr_chunkio::ChunkStore;
use nczarr_dispatch::{ByteRange, Key, MapCaps, OutBuf, ZMap};
use nczarr_model::{ErrorKind, Result};

use crate::coding::Coding;
use crate::directory::tag;
use crate::element::{Chunked, Element};
use crate::file::{HdfFile, called};
use crate::linked::Pieces;
use crate::vdata::Vdata;

/// Chunks whose descriptions are asked for at once: those of more are read as they are wanted.
const DESCRIBED: usize = 4096;

/// The chunks of an array.
#[derive(Debug)]
pub(crate) struct Chunks {
    file: Arc<HdfFile>,
    /// By key: the indices, joined by dots.
    places: HashMap<String, Place>,
    /// How each chunk is stored, and how many bytes it is decoded.
    coding: Option<(Coding, u64)>,
}

/// A chunk: its tag and number, and where its bytes lie once it was looked for.
#[derive(Debug)]
struct Place {
    tag: u16,
    number: u16,
    pieces: OnceLock<Pieces>,
}

impl Place {
    fn new(tag: u16, number: u16) -> Self {
        Self { tag, number, pieces: OnceLock::new() }
    }
}

impl Chunks {
    /// Nothing is stored.
    pub(crate) fn none(file: &Arc<HdfFile>) -> Self {
        Self { file: Arc::clone(file), places: HashMap::new(), coding: None }
    }

    /// All of the array is one chunk, the compressed data of this number.
    pub(crate) fn one(file: &Arc<HdfFile>, rank: usize, number: u16) -> Self {
        let mut chunks = Self::none(file);
        chunks.places.insert(key(&vec![0; rank]).as_str().to_owned(), Place::new(tag::COMPRESSED, number));
        chunks
    }

    /// The chunks that an element's table lists: for each its place in the grid, a tag and a number.
    ///
    /// # Errors
    /// `NC_EHDFERR` for a place outside of the grid, or one that two chunks have.
    pub(crate) fn listed(file: &Arc<HdfFile>, element: &Chunked, shape: &[u64]) -> Result<Self> {
        let rank = shape.len();
        let item = u64::from(element.item);
        let bytes = element.dims.iter().try_fold(item, |bytes, dim| bytes.checked_mul(dim.1));
        let bytes = bytes.ok_or_else(|| ErrorKind::BadChunk.context("its chunks are too large"))?;
        let mut chunks = Self { coding: element.coding.map(|coding| (coding, bytes)), ..Self::none(file) };
        let table = Vdata::read(file, element.table)?;
        let record = rank * 4 + 4;
        if table.size != record {
            let what = format!("a list of chunks with records of {} bytes, {record} are expected", table.size);
            return Err(ErrorKind::HdfErr.context(what));
        }
        let grid: Vec<u64> = element.dims.iter().map(|&(len, chunk)| len.div_ceil(chunk.max(1))).collect();
        for row in table.data(file)?.chunks_exact(record) {
            let (place, object) = row.split_at(rank * 4);
            let place: Vec<u64> = place
                .chunks_exact(4)
                .map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]).into())
                .collect();
            if place.iter().zip(&grid).any(|(at, len)| at >= len) {
                return Err(ErrorKind::HdfErr.context(format!("a chunk at {place:?} of a grid of {grid:?}")));
            }
            let number = |at: usize| u16::from_be_bytes([object[at], object[at + 1]]);
            let object = Place::new(number(0), number(2));
            if chunks.places.insert(key(&place).as_str().to_owned(), object).is_some() {
                return Err(ErrorKind::HdfErr.context(format!("two chunks are said to be at {place:?}")));
            }
        }
        if chunks.places.len() <= DESCRIBED {
            file.expect_described(chunks.places.values().map(|place| (place.tag, place.number)));
        }
        Ok(chunks)
    }

    /// Where the stored bytes of a chunk lie. `None`: there is no such chunk.
    fn pieces(&self, key: &Key) -> Result<Option<&Pieces>> {
        let Some(place) = self.places.get(key.as_str()) else { return Ok(None) };
        if let Some(pieces) = place.pieces.get() {
            return Ok(Some(pieces));
        }
        let pieces = self.find(place.tag, place.number)?;
        Ok(Some(place.pieces.get_or_init(|| pieces)))
    }

    fn find(&self, tag: u16, number: u16) -> Result<Pieces> {
        let Some((coding, bytes)) = self.coding else { return self.file.pieces(tag, number) };
        match self.file.element(tag, number)? {
            Some(Element::Compressed(chunk)) if chunk.len == bytes && chunk.coding == coding => {
                self.file.pieces(tag::COMPRESSED, chunk.number)
            }
            other => Err(ErrorKind::HdfErr.context(format!(
                "{}: compressed by {coding:?} from {bytes} bytes is what it should be, it is {other:?}",
                called(tag, number)
            ))),
        }
    }
}

fn key(index: &[u64]) -> Key {
    let mut key = Key::root();
    locate(index, &mut key);
    key
}

fn locate(index: &[u64], key: &mut Key) {
    key.set(&Key::root());
    key.push_index(if index.is_empty() { &[0] } else { index }, '.');
}

impl ChunkStore for Chunks {
    fn map(&self) -> &dyn ZMap {
        self
    }

    fn locate(&self, index: &[u64], key: &mut Key) {
        locate(index, key);
    }
}

impl ZMap for Chunks {
    fn caps(&self) -> MapCaps {
        MapCaps { range_read: true, ..MapCaps::default() }
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        Ok(self.pieces(key)?.map(|pieces| pieces.len()))
    }

    fn read(&self, key: &Key, range: ByteRange, out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let Some(pieces) = self.pieces(key)? else { return Ok(false) };
        let len = range.len.unwrap_or(u64::MAX);
        pieces.append(&self.file.store, range.offset, len, out)?;
        Ok(true)
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        let Some(pieces) = self.pieces(key)? else { return Ok(false) };
        pieces.read_at(&self.file.store, offset, out)?;
        Ok(true)
    }

    fn search(&self, _prefix: &Key) -> Result<Vec<String>> {
        let mut found: Vec<_> = self.places.keys().cloned().collect();
        found.sort_unstable();
        Ok(found)
    }
}
