//! [`ElementChunks`]: the chunks of one array as a map of objects, found by their grid index.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use nczarr_chunkio::ChunkStore;
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;
use nczarr_storage::{Key, ListMode, MapCaps, ObjectInfo, ReadOptions, ZMap};

use crate::coding::Coding;
use crate::directory::tag;
use crate::element::{ChunkedElement, Element};
use crate::file::{Hdf4File, called};
use crate::linked_blocks::ElementExtents;
use crate::vdata::Vdata;

/// Most chunks whose descriptions are prefetched. Those of larger arrays are read as needed.
const DESCRIBED: usize = 4096;

/// The chunks of an array.
#[derive(Debug)]
pub(crate) struct ElementChunks {
    file: Arc<Hdf4File>,
    /// The chunks by key: the grid index, joined by dots.
    places: HashMap<String, ChunkElement>,
    /// Compression of the chunks, and the decoded size of a chunk in bytes.
    coding: Option<(Coding, u64)>,
}

/// A chunk: tag and number of its element, and the place of its bytes once it is known.
#[derive(Debug)]
struct ChunkElement {
    tag: u16,
    number: u16,
    pieces: OnceLock<ElementExtents>,
}

impl ChunkElement {
    fn new(tag: u16, number: u16) -> Self {
        Self { tag, number, pieces: OnceLock::new() }
    }
}

impl ElementChunks {
    /// Makes an array without stored data.
    pub(crate) fn none(file: &Arc<Hdf4File>) -> Self {
        Self { file: Arc::clone(file), places: HashMap::new(), coding: None }
    }

    /// Makes an array with one chunk, the compressed element with this number.
    pub(crate) fn one(file: &Arc<Hdf4File>, rank: usize, number: u16) -> Self {
        let mut chunks = Self::none(file);
        chunks
            .places
            .insert(key(&vec![0; rank]).as_str().to_owned(), ChunkElement::new(tag::COMPRESSED, number));
        chunks
    }

    /// Reads the chunk table of an element: grid index, tag and number of each chunk.
    ///
    /// # Errors
    /// `NC_EHDFERR` if an index is outside the grid or occurs twice.
    pub(crate) fn listed(file: &Arc<Hdf4File>, element: &ChunkedElement, shape: &[u64]) -> Result<Self> {
        let rank = shape.len();
        let item = u64::from(element.item);
        let bytes = element.dims.iter().try_fold(item, |bytes, dim| bytes.checked_mul(dim.1));
        let bytes = bytes.ok_or_else(|| ErrorKind::BadChunk.context("its chunks are too large to read"))?;
        let mut chunks = Self { coding: element.coding.map(|coding| (coding, bytes)), ..Self::none(file) };
        let table = Vdata::read(file, element.table)?;
        let record = rank * 4 + 4;
        if table.size != record {
            let what =
                format!("chunk table: wrong record size (expected {record} bytes, found {})", table.size);
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
                return Err(ErrorKind::HdfErr
                    .context(format!("chunk table: chunk {place:?} is outside the grid {grid:?}")));
            }
            let number = |at: usize| u16::from_be_bytes([object[at], object[at + 1]]);
            let object = ChunkElement::new(number(0), number(2));
            if chunks.places.insert(key(&place).as_str().to_owned(), object).is_some() {
                return Err(ErrorKind::HdfErr.context(format!("chunk table: chunk {place:?} occurs twice")));
            }
        }
        if chunks.places.len() <= DESCRIBED {
            file.prefetch_descriptions(chunks.places.values().map(|place| (place.tag, place.number)));
        }
        Ok(chunks)
    }

    /// Returns the place of a chunk's stored bytes; `None` if it is absent.
    fn pieces(&self, key: &Key) -> Result<Option<&ElementExtents>> {
        let Some(place) = self.places.get(key.as_str()) else { return Ok(None) };
        if let Some(pieces) = place.pieces.get() {
            return Ok(Some(pieces));
        }
        let pieces = self.find(place.tag, place.number)?;
        Ok(Some(place.pieces.get_or_init(|| pieces)))
    }

    fn find(&self, tag: u16, number: u16) -> Result<ElementExtents> {
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

impl ChunkStore for ElementChunks {
    fn map(&self) -> &dyn ZMap {
        self
    }

    fn locate(&self, index: &[u64], key: &mut Key) {
        locate(index, key);
    }
}

impl ZMap for ElementChunks {
    fn caps(&self) -> MapCaps {
        MapCaps::new().range_read(true)
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        Ok(self.pieces(key)?.map(|pieces| pieces.len()))
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        out.clear();
        let Some(pieces) = self.pieces(key)? else { return Ok(None) };
        let len = options.range.len.unwrap_or(u64::MAX);
        pieces.append(&self.file.store, options.range.offset, len, out)?;
        Ok(Some(ObjectInfo::default()))
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        let Some(pieces) = self.pieces(key)? else { return Ok(false) };
        pieces.read_at(&self.file.store, offset, out)?;
        Ok(true)
    }

    fn list(&self, _prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        if mode != ListMode::Children {
            return Ok(None);
        }
        let mut found: Vec<_> = self.places.keys().cloned().collect();
        found.sort_unstable();
        Ok(Some(found))
    }
}
