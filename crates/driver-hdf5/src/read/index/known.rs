//! [`Known`]: the chunks of a dataset in a file elsewhere, found as they are wanted.
//!
//! Of the index only those nodes are read that lead to what is wanted; all that stands in them is remembered.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use nczarr_model::Result;

use super::wanted::Wanted;
use super::{Chunk, bad, grid, is_at_edge, number, read};
use crate::read::file::Hdf;
use crate::read::messages::{Layout, Space};

/// Boxes that are remembered: all of each is known, whether stored or not.
const BOXES: usize = 64;

/// Places of a box that are looked for one by one.
const PLACES: u64 = 4096;

/// Bytes of a chunk that counts as a small one.
const SMALL: u64 = 16 << 10;

/// Bytes of small chunks that are asked for together.
const TOGETHER: u64 = 4 << 20;

/// The known chunks of one dataset.
#[derive(Debug)]
pub(crate) struct Known {
    file: Arc<Hdf>,
    layout: Layout,
    space: Space,
    chunk_bytes: u64,
    /// How many filters there are.
    filters: usize,
    grid: Vec<u64>,
    found: RwLock<Found>,
}

#[derive(Debug, Default)]
struct Found {
    /// By their numbers in the grid.
    chunks: HashMap<u64, Chunk>,
    /// Where each ends, by where it begins.
    ends: BTreeMap<u64, u64>,
    boxes: Vec<Wanted>,
    /// Whether a filter was left out of one of them.
    masked: bool,
}

impl Known {
    /// Nothing is known yet.
    ///
    /// # Errors
    /// `NC_EHDFERR` for a dataset without chunks, or with more than can be counted.
    pub(crate) fn new(file: Arc<Hdf>, layout: Layout, space: &Space, chunk_bytes: u64, filters: usize) -> Result<Self> {
        let grid = grid(&layout, space)?;
        Ok(Self { file, layout, space: space.clone(), chunk_bytes, filters, grid, found: RwLock::default() })
    }

    /// Chunks along each dimension.
    pub(crate) fn grid(&self) -> &[u64] {
        &self.grid
    }

    /// Whether a filter was left out of a chunk that is known.
    pub(crate) fn is_masked(&self) -> bool {
        self.found.read().unwrap_or_else(PoisonError::into_inner).masked
    }

    /// The chunk at a place of the grid; `None`: nothing is stored there.
    ///
    /// # Errors
    /// As [`Known::learn`].
    pub(crate) fn find(&self, place: &[u64]) -> Result<Option<Chunk>> {
        let Some(number) = number(&self.grid, place) else { return Ok(None) };
        if let Some(chunk) = self.found.read().unwrap_or_else(PoisonError::into_inner).chunks.get(&number) {
            return Ok(Some(*chunk));
        }
        let Some(wanted) = Wanted::new(place.to_vec(), place.to_vec()) else { return Ok(None) };
        self.learn(&wanted)?;
        Ok(self.found.read().unwrap_or_else(PoisonError::into_inner).chunks.get(&number).copied())
    }

    /// Sees to it that all chunks of a box are known.
    ///
    /// # Errors
    /// `NC_EHDFERR` if the index is damaged; what the storage says.
    pub(crate) fn learn(&self, wanted: &Wanted) -> Result<()> {
        if self.found.read().unwrap_or_else(PoisonError::into_inner).knows(wanted, &self.grid) {
            return Ok(());
        }
        // Each lookup has a limit of its own, because there may be any number of lookups.
        let file = self.file.anew();
        let how = (self.chunk_bytes, self.filters > 0);
        let (_, chunks) = read(&file, &self.layout, &self.space, how, Some(wanted.clone()))?;
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

    fn take(&self, found: &mut Found, mut chunk: Chunk) -> Result<()> {
        if let Layout::Chunked { plain_edges: true, shape, .. } = &self.layout
            && is_at_edge(&self.grid, chunk.number, self.space.dims.as_deref().unwrap_or_default(), shape)
        {
            chunk.skipped = u32::MAX;
        }
        if let Some(known) = found.chunks.get(&chunk.number) {
            return match (known.address, known.len) == (chunk.address, chunk.len) {
                true => Ok(()),
                false => Err(bad("chunk index: two chunks at one place")),
            };
        }
        let unknown = u32::MAX.checked_shl(self.filters as u32).unwrap_or(0);
        if chunk.skipped != u32::MAX && chunk.skipped & unknown != 0 {
            let what = format!("a chunk from which a filter was left out that is none of the {}", self.filters);
            return Err(bad(what));
        }
        // Chunks that lie over one another are not those that were written.
        let end = chunk.address + chunk.len;
        if let Some((&start, _)) = found.ends.range(..end).next_back().filter(|(_, ends)| **ends > chunk.address) {
            return Err(bad(format!("chunk index: chunks at {start} and {} lie over one another", chunk.address)));
        }
        // Without filters there is nothing to leave out.
        chunk.skipped = if self.filters > 0 { chunk.skipped } else { 0 };
        found.masked |= chunk.skipped != 0;
        found.ends.insert(chunk.address, end);
        found.chunks.insert(chunk.number, chunk);
        Ok(())
    }

    /// Small chunks that lie near one another are asked for together.
    fn expect_chunks(&self, wanted: &Wanted) {
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        let range = |chunk: &Chunk| (chunk.address, chunk.len);
        let chunks: Vec<(u64, u64)> = match wanted.count() <= PLACES {
            true => {
                let numbers = wanted.places().filter_map(|place| number(&self.grid, &place));
                numbers.filter_map(|at| found.chunks.get(&at)).map(range).collect()
            }
            false => {
                let is_wanted = |chunk: &&Chunk| wanted.has(&super::place(&self.grid, chunk.number));
                found.chunks.values().filter(is_wanted).map(range).collect()
            }
        };
        drop(found);
        let all: u64 = chunks.iter().map(|&(_, len)| len).sum();
        if chunks.len() > 1 && all <= TOGETHER && chunks.iter().all(|&(_, len)| len <= SMALL) {
            self.file.expect(chunks);
        }
    }

    /// All chunks that are stored, with their places in the grid.
    ///
    /// # Errors
    /// As [`Known::learn`].
    pub(crate) fn all(&self) -> Result<Vec<(Vec<u64>, Chunk)>> {
        let Some(all) = Wanted::all(&self.grid) else { return Ok(Vec::new()) };
        self.learn(&all)?;
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        let mut chunks: Vec<Chunk> = found.chunks.values().copied().collect();
        drop(found);
        chunks.sort_unstable_by_key(|chunk| chunk.number);
        Ok(chunks.into_iter().map(|chunk| (super::place(&self.grid, chunk.number), chunk)).collect())
    }
}

impl Found {
    fn knows(&self, wanted: &Wanted, grid: &[u64]) -> bool {
        if self.boxes.iter().any(|known| known.holds(wanted)) {
            return true;
        }
        let is_known = |place: &Vec<u64>| number(grid, place).is_none_or(|number| self.chunks.contains_key(&number));
        wanted.count() <= PLACES && wanted.places().all(|place| is_known(&place))
    }
}
