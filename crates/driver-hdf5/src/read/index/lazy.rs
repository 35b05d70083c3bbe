//! [`LazyChunkIndex`]: the chunk index of a remote file, read on demand.
//!
//! A lookup reads only the nodes that lead to the wanted chunks. All entries of these nodes are remembered.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use nczarr_model::Result;

use super::chunk_box::ChunkBox;
use super::{IndexedChunk, damaged, grid, is_at_edge, number, read};
use crate::read::file::HdfFile;
use crate::read::messages::{DataLayout, Dataspace};

/// Most boxes remembered. Every chunk of a box is known to be stored or absent.
const BOXES: usize = 64;

/// A box of at most this many chunks is searched chunk by chunk.
const PLACES: u64 = 4096;

/// Largest size in bytes of a chunk that is prefetched with others.
const SMALL: u64 = 16 << 10;

/// Most bytes of small chunks prefetched together.
const TOGETHER: u64 = 4 << 20;

/// The chunk index of one dataset, as far as it was read.
#[derive(Debug)]
pub(crate) struct LazyChunkIndex {
    file: Arc<HdfFile>,
    layout: DataLayout,
    space: Dataspace,
    chunk_bytes: u64,
    /// Number of filters.
    filters: usize,
    grid: Vec<u64>,
    found: RwLock<KnownChunks>,
}

#[derive(Debug, Default)]
struct KnownChunks {
    /// Known chunks, by their number in the grid.
    chunks: HashMap<u64, IndexedChunk>,
    /// End address of each known chunk, by its start address.
    ends: BTreeMap<u64, u64>,
    boxes: Vec<ChunkBox>,
    /// Whether a known chunk lacks a filter.
    masked: bool,
}

impl LazyChunkIndex {
    /// Makes an index before anything was read.
    ///
    /// # Errors
    /// `NC_EHDFERR` if the dataset has no chunks, or too many to count.
    pub(crate) fn new(
        file: Arc<HdfFile>,
        layout: DataLayout,
        space: &Dataspace,
        chunk_bytes: u64,
        filters: usize,
    ) -> Result<Self> {
        let grid = grid(&layout, space)?;
        Ok(Self { file, layout, space: space.clone(), chunk_bytes, filters, grid, found: RwLock::default() })
    }

    /// Returns the number of chunks along each dimension.
    pub(crate) fn grid(&self) -> &[u64] {
        &self.grid
    }

    /// Whether a known chunk lacks a filter.
    pub(crate) fn is_masked(&self) -> bool {
        self.found.read().unwrap_or_else(PoisonError::into_inner).masked
    }

    /// Finds the chunk at a grid index; `None` if it is absent.
    ///
    /// # Errors
    /// As [`LazyChunkIndex::load`].
    pub(crate) fn find(&self, place: &[u64]) -> Result<Option<IndexedChunk>> {
        let Some(number) = number(&self.grid, place) else { return Ok(None) };
        if let Some(chunk) = self.found.read().unwrap_or_else(PoisonError::into_inner).chunks.get(&number) {
            return Ok(Some(*chunk));
        }
        let Some(wanted) = ChunkBox::new(place.to_vec(), place.to_vec()) else { return Ok(None) };
        self.load(&wanted)?;
        Ok(self.found.read().unwrap_or_else(PoisonError::into_inner).chunks.get(&number).copied())
    }

    /// Reads the index entries of all chunks of a box, unless they are known.
    ///
    /// # Errors
    /// `NC_EHDFERR` if the index is damaged; I/O errors.
    pub(crate) fn load(&self, wanted: &ChunkBox) -> Result<()> {
        if self.found.read().unwrap_or_else(PoisonError::into_inner).knows(wanted, &self.grid) {
            return Ok(());
        }
        // Each lookup has its own budget, because there may be any number of lookups.
        let file = self.file.with_fresh_budget();
        let (_, chunks) =
            read(&file, &self.layout, &self.space, self.chunk_bytes, self.filters > 0, Some(wanted.clone()))?;
        let mut found = self.found.write().unwrap_or_else(PoisonError::into_inner);
        for chunk in chunks {
            self.take(&mut found, chunk)?;
        }
        found.boxes.retain(|known| !wanted.holds(known));
        if found.boxes.len() >= BOXES {
            found.boxes.remove(0);
        }
        found.boxes.push(wanted.clone());
        drop(found);
        self.expect_chunks(wanted);
        Ok(())
    }

    fn take(&self, found: &mut KnownChunks, mut chunk: IndexedChunk) -> Result<()> {
        if let DataLayout::Chunked { plain_edges: true, shape, .. } = &self.layout
            && is_at_edge(&self.grid, chunk.number, self.space.dims.as_deref().unwrap_or_default(), shape)
        {
            chunk.skipped = u32::MAX;
        }
        if let Some(known) = found.chunks.get(&chunk.number) {
            return if (known.address, known.len) == (chunk.address, chunk.len) {
                Ok(())
            } else {
                Err(damaged("chunk index: a chunk occurs twice"))
            };
        }
        let unknown = u32::MAX.checked_shl(self.filters as u32).unwrap_or(0);
        if chunk.skipped != u32::MAX && chunk.skipped & unknown != 0 {
            let what =
                format!("chunk index: a filter mask has bits for more than the {} filters", self.filters);
            return Err(damaged(what));
        }
        // Overlapping chunks are damage.
        let end = chunk.address + chunk.len;
        if let Some((&start, _)) =
            found.ends.range(..end).next_back().filter(|(_, ends)| **ends > chunk.address)
        {
            return Err(damaged(format!(
                "chunk index: the chunks at addresses {start} and {} overlap",
                chunk.address
            )));
        }
        // The mask has no meaning without filters.
        chunk.skipped = if self.filters > 0 { chunk.skipped } else { 0 };
        found.masked |= chunk.skipped != 0;
        found.ends.insert(chunk.address, end);
        found.chunks.insert(chunk.number, chunk);
        Ok(())
    }

    /// Prefetches small chunks that lie near one another.
    fn expect_chunks(&self, wanted: &ChunkBox) {
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        let range = |chunk: &IndexedChunk| (chunk.address, chunk.len);
        let chunks: Vec<(u64, u64)> = if wanted.count() <= PLACES {
            let numbers = wanted.places().filter_map(|place| number(&self.grid, &place));
            numbers.filter_map(|at| found.chunks.get(&at)).map(range).collect()
        } else {
            let is_wanted = |chunk: &&IndexedChunk| wanted.has(&super::place(&self.grid, chunk.number));
            found.chunks.values().filter(is_wanted).map(range).collect()
        };
        drop(found);
        let all: u64 = chunks.iter().map(|&(_, len)| len).sum();
        if chunks.len() > 1 && all <= TOGETHER && chunks.iter().all(|&(_, len)| len <= SMALL) {
            self.file.prefetch(chunks);
        }
    }

    /// Returns all stored chunks with their grid indexes.
    ///
    /// # Errors
    /// As [`LazyChunkIndex::load`].
    pub(crate) fn all(&self) -> Result<Vec<(Vec<u64>, IndexedChunk)>> {
        let Some(all) = ChunkBox::all(&self.grid) else { return Ok(Vec::new()) };
        self.load(&all)?;
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        let mut chunks: Vec<IndexedChunk> = found.chunks.values().copied().collect();
        drop(found);
        chunks.sort_unstable_by_key(|chunk| chunk.number);
        Ok(chunks.into_iter().map(|chunk| (super::place(&self.grid, chunk.number), chunk)).collect())
    }
}

impl KnownChunks {
    fn knows(&self, wanted: &ChunkBox, grid: &[u64]) -> bool {
        if self.boxes.iter().any(|known| known.holds(wanted)) {
            return true;
        }
        let is_known =
            |place: &Vec<u64>| number(grid, place).is_none_or(|number| self.chunks.contains_key(&number));
        wanted.count() <= PLACES && wanted.places().all(|place| is_known(&place))
    }
}
