//! [`Table`]: where the chunks of a dataset are, read from whatever index the file has.

mod arrays;
mod btree1;
mod extensible;

use model::Result;

use super::btree2;
use super::cursor::{Cursor, UNDEFINED, bad};
use super::file::Hdf;
use super::messages::{Index, Layout, Space};

/// What a chunk of a table counts as: indexes without entries of their own, or whose entries were read before, are bounded too.
const KEPT: u64 = 16;

/// One stored chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Its number in the grid, the last dimension fastest.
    number: u64,
    /// Where it is.
    pub(crate) address: u64,
    /// How long it is.
    pub(crate) len: u64,
    /// The filters that were left out, a bit each.
    pub(crate) skipped: u32,
}

/// The chunks of a dataset.
#[derive(Debug)]
pub(crate) struct Table {
    /// Chunks along each dimension, as many as there can be places for.
    grid: Vec<u64>,
    /// Sorted by number.
    chunks: Vec<Chunk>,
}

/// What an index is read with.
#[derive(Debug)]
pub(crate) struct Reading<'f> {
    pub(crate) file: &'f Hdf,
    pub(crate) address: u64,
    /// Chunks along each dimension.
    pub(crate) grid: Vec<u64>,
    /// The shape of a chunk.
    pub(crate) shape: Vec<u64>,
    /// Chunks along each dimension of what it may grow to; [`UNDEFINED`] if there is no limit.
    pub(crate) most: Vec<u64>,
    /// Bytes of a chunk without filters.
    pub(crate) chunk_bytes: u64,
    pub(crate) filtered: bool,
    pub(crate) length_bytes: u8,
    chunks: Vec<Chunk>,
}

impl Reading<'_> {
    /// Takes a chunk at a place of the grid; one beyond what the dataset has is left out.
    pub(crate) fn take(&mut self, place: &[u64], address: u64, len: u64, skipped: u32) -> Result<()> {
        if address == UNDEFINED {
            return Ok(());
        }
        let mut number = 0u64;
        for (&at, &count) in place.iter().zip(&self.grid) {
            if at >= count {
                return Ok(());
            }
            number = number * count + at;
        }
        self.file.place(address, len)?;
        self.file.spend(KEPT)?;
        self.chunks.push(Chunk { number, address, len, skipped });
        Ok(())
    }

    /// The place of a chunk that an index numbers through, in the order of dimensions `axes`.
    pub(crate) fn take_numbered(
        &mut self,
        number: u64,
        axes: &[usize],
        address: u64,
        len: u64,
        skipped: u32,
    ) -> Result<()> {
        let mut place = vec![0; axes.len()];
        let mut rest = number;
        for (i, &axis) in axes.iter().enumerate().rev() {
            // The slowest may have no limit.
            let count = if i == 0 { u64::MAX } else { self.most[axis].max(1) };
            place[axis] = rest % count;
            rest /= count;
        }
        self.take(&place, address, len, skipped)
    }

    /// Address, length and mask of an element of an index.
    pub(crate) fn element(&self, at: &mut Cursor<'_>, length_bytes: u8) -> Result<(u64, u64, u32)> {
        let address = at.address(self.file.offsets)?;
        Ok(match self.filtered {
            true => (address, at.uint(length_bytes)?, at.u32()?),
            false => (address, self.chunk_bytes, 0),
        })
    }

    fn tree2(&mut self) -> Result<()> {
        let (file, rank) = (self.file, self.grid.len());
        let mut found = Vec::new();
        btree2::each(file, self.address, &[10, 11], &mut |record| {
            let mut at = Cursor::new(record, "record of a chunk");
            let (address, len, skipped) = self.element(&mut at, self.length_bytes)?;
            let place = (0..rank).map(|_| at.u64()).collect::<Result<Vec<_>>>()?;
            found.push((place, address, len, skipped));
            Ok(())
        })?;
        found.into_iter().try_for_each(|(place, address, len, skipped)| self.take(&place, address, len, skipped))
    }
}

/// Chunks that lie over one another are not those that were written.
fn check_apart(chunks: &[Chunk]) -> Result<()> {
    let meet = |a: &Chunk, b: &Chunk| a.address + a.len > b.address;
    if chunks.windows(2).all(|pair| !meet(&pair[0], &pair[1])) {
        return Ok(());
    }
    let mut places: Vec<&Chunk> = chunks.iter().collect();
    places.sort_unstable_by_key(|chunk| chunk.address);
    match places.windows(2).find(|pair| meet(pair[0], pair[1])) {
        Some(pair) => {
            Err(bad(format!("chunk index: chunks at {} and {} lie over one another", pair[0].address, pair[1].address)))
        }
        None => Ok(()),
    }
}

impl Table {
    /// Reads the index of a dataset in chunks of `chunk_bytes`.
    ///
    /// # Errors
    /// `NC_EHDFERR` if it is damaged.
    pub(crate) fn read(file: &Hdf, layout: &Layout, space: &Space, chunk_bytes: u64, filtered: bool) -> Result<Self> {
        let Layout::Chunked { shape, index, address, length_bytes, .. } = layout else {
            return Err(bad("an index of a dataset without chunks"));
        };
        let dims = space.dims.as_deref().unwrap_or_default();
        let count = |dim: u64, chunk: u64| if dim == UNDEFINED { UNDEFINED } else { dim.div_ceil(chunk) };
        let grid: Vec<u64> = dims.iter().zip(shape).map(|(&dim, &chunk)| count(dim, chunk)).collect();
        let most = space.most.iter().zip(shape).map(|(&dim, &chunk)| count(dim, chunk)).collect();
        let places = grid.iter().try_fold(1u64, |places, &count| places.checked_mul(count));
        let places = places.ok_or_else(|| bad(format!("{grid:?} chunks")))?;
        let mut reading = Reading {
            file,
            address: *address,
            grid,
            shape: shape.clone(),
            most,
            chunk_bytes,
            filtered,
            length_bytes: *length_bytes,
            chunks: Vec::new(),
        };
        if *address != UNDEFINED && places > 0 {
            match index {
                Index::Tree1 => btree1::read(&mut reading)?,
                Index::Single(stored) => {
                    let (len, skipped) = stored.unwrap_or((chunk_bytes, 0));
                    reading.take(&vec![0; shape.len()], *address, len, skipped)?;
                }
                Index::Implicit => arrays::implicit(&mut reading, places)?,
                Index::FixedArray => arrays::fixed(&mut reading)?,
                Index::ExtensibleArray => extensible::read(&mut reading)?,
                Index::Tree2 => reading.tree2()?,
            }
        }
        let Reading { grid, mut chunks, .. } = reading;
        if !chunks.is_sorted_by_key(|chunk| chunk.number) {
            chunks.sort_by_key(|chunk| chunk.number);
        }
        if chunks.windows(2).any(|pair| pair[0].number == pair[1].number) {
            return Err(bad("chunk index: two chunks at one place"));
        }
        check_apart(&chunks)?;
        chunks.shrink_to_fit();
        Ok(Self { grid, chunks })
    }

    /// The chunk at a place of the grid.
    pub(crate) fn find(&self, place: &[u64]) -> Option<&Chunk> {
        let mut number = 0u64;
        for (&at, &count) in place.iter().zip(&self.grid) {
            if at >= count {
                return None;
            }
            number = number * count + at;
        }
        // Most are complete: then the number is the position.
        let guess = usize::try_from(number).ok().and_then(|at| self.chunks.get(at));
        guess.filter(|chunk| chunk.number == number).or_else(|| {
            let found = self.chunks.binary_search_by_key(&number, |chunk| chunk.number);
            found.ok().and_then(|at| self.chunks.get(at))
        })
    }

    /// Chunks that reach beyond the dataset have no filters.
    pub(crate) fn skip_at_edges(&mut self, dims: &[u64], shape: &[u64]) {
        for chunk in &mut self.chunks {
            let mut rest = chunk.number;
            for axis in (0..self.grid.len()).rev() {
                let at = rest % self.grid[axis];
                rest /= self.grid[axis];
                if (at + 1).saturating_mul(shape[axis]) > dims[axis] {
                    chunk.skipped = u32::MAX;
                }
            }
        }
    }

    /// All stored chunks, with their places in the grid.
    pub(crate) fn placed(&self) -> impl Iterator<Item = (Vec<u64>, &Chunk)> {
        self.chunks.iter().map(|chunk| {
            let (mut rest, mut place) = (chunk.number, vec![0; self.grid.len()]);
            for (at, &count) in place.iter_mut().zip(&self.grid).rev() {
                (*at, rest) = (rest % count.max(1), rest / count.max(1));
            }
            (place, chunk)
        })
    }

    /// All stored chunks.
    pub(crate) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }
}
