//! [`ChunkTable`]: the address of each chunk of a dataset, read from any kind of chunk index.

mod arrays;
mod btree1;
mod chunk_box;
mod extensible;
mod lazy;

use std::ops::Range;

use nczarr_model::Result;

use super::btree2;
use super::cursor::{MetadataCursor, UNDEFINED, damaged};
use super::file::HdfFile;
use super::messages::{ChunkIndexKind, DataLayout, Dataspace};

pub(crate) use chunk_box::ChunkBox;
pub(crate) use lazy::LazyChunkIndex;

/// The bytes of metadata that each chunk of a table counts as. So indexes without entries and cached indexes
/// have a limit too.
const KEPT: u64 = 16;

/// A stored chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexedChunk {
    /// Its number in the grid; the last dimension varies fastest.
    number: u64,
    /// Its address.
    pub(crate) address: u64,
    /// Its length in bytes.
    pub(crate) len: u64,
    /// A bit for each filter that was left out.
    pub(crate) skipped: u32,
}

/// The stored chunks of a dataset.
#[derive(Debug)]
pub(crate) struct ChunkTable {
    /// Chunks along each dimension.
    grid: Vec<u64>,
    /// The chunks, sorted by number.
    chunks: Vec<IndexedChunk>,
}

/// State of reading a chunk index.
#[derive(Debug)]
pub(crate) struct IndexReader<'f> {
    pub(crate) file: &'f HdfFile,
    pub(crate) address: u64,
    /// Chunks along each dimension.
    pub(crate) grid: Vec<u64>,
    /// The shape of a chunk.
    pub(crate) shape: Vec<u64>,
    /// Chunks along each dimension at its maximum length; [`UNDEFINED`] if it is unlimited.
    pub(crate) most: Vec<u64>,
    /// Size of a chunk without filters, in bytes.
    pub(crate) chunk_bytes: u64,
    pub(crate) filtered: bool,
    pub(crate) length_bytes: u8,
    /// The wanted chunks; `None`: all. Other chunks may be taken too.
    pub(crate) wanted: Option<ChunkBox>,
    chunks: Vec<IndexedChunk>,
}

impl IndexReader<'_> {
    /// Takes a chunk at a grid index. Chunks outside the dataset are left out.
    pub(crate) fn take(&mut self, place: &[u64], address: u64, len: u64, skipped: u32) -> Result<()> {
        if address == UNDEFINED {
            return Ok(());
        }
        let Some(number) = number(&self.grid, place) else { return Ok(()) };
        self.file.place(address, len)?;
        self.file.spend(KEPT)?;
        self.chunks.push(IndexedChunk { number, address, len, skipped });
        Ok(())
    }

    /// Takes the chunk with a number. The number counts the chunks with dimensions in the order of `axes`.
    pub(crate) fn take_numbered(
        &mut self,
        number: u64,
        axes: &[usize],
        address: u64,
        len: u64,
        skipped: u32,
    ) -> Result<()> {
        let mut place = vec![0; axes.len()];
        self.each_digit(number, axes, |_, axis, digit| place[axis] = digit);
        self.take(&place, address, len, skipped)
    }

    /// Splits a chunk number into indexes, fastest first. Calls `then` with position in `axes`, axis and
    /// index.
    fn each_digit(&self, number: u64, axes: &[usize], mut then: impl FnMut(usize, usize, u64)) {
        let mut rest = number;
        for (i, &axis) in axes.iter().enumerate().rev() {
            // The slowest dimension may be unlimited.
            let count = if i == 0 { u64::MAX } else { self.most[axis].max(1) };
            then(i, axis, rest % count);
            rest /= count;
        }
    }

    /// Whether some of these chunk numbers are wanted. They count the chunks with dimensions in the order of
    /// `axes`.
    pub(crate) fn wants(&self, numbers: &Range<u64>, axes: &[usize]) -> bool {
        let Some(wanted) = &self.wanted else { return true };
        let digits = |number: u64| {
            let mut digits = vec![0; axes.len()];
            self.each_digit(number, axes, |at, _, digit| digits[at] = digit);
            digits
        };
        wanted.in_order(axes).between(Some(&digits(numbers.start)), Some(&digits(numbers.end)))
    }

    /// Reads address, length and filter mask of an index element.
    pub(crate) fn element(&self, at: &mut MetadataCursor<'_>, length_bytes: u8) -> Result<(u64, u64, u32)> {
        let address = at.address(self.file.offsets)?;
        Ok(if self.filtered {
            (address, at.uint(length_bytes)?, at.u32()?)
        } else {
            (address, self.chunk_bytes, 0)
        })
    }

    fn tree2(&mut self) -> Result<()> {
        let (file, rank) = (self.file, self.grid.len());
        let mut found = Vec::new();
        let parse = |record: &[u8]| {
            let mut at = MetadataCursor::new(record, "record of a chunk");
            let (address, len, skipped) = self.element(&mut at, self.length_bytes)?;
            let place = (0..rank).map(|_| at.u64()).collect::<Result<Vec<_>>>()?;
            Ok::<_, nczarr_model::Error>((place, address, len, skipped))
        };
        let wants = |from: Option<&[u8]>, to: Option<&[u8]>| {
            let Some(wanted) = &self.wanted else { return Ok(true) };
            let place = |record: &[u8]| parse(record).map(|(place, ..)| place);
            let (from, to) = (from.map(place).transpose()?, to.map(place).transpose()?);
            Ok(wanted.between(from.as_deref(), to.as_deref()))
        };
        btree2::within(file, self.address, &[10, 11], &wants, &mut |record| {
            found.push(parse(record)?);
            Ok(())
        })?;
        // A partial read relies on the order of records.
        if self.wanted.is_some() && !found.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(damaged("chunk index: chunks are out of order"));
        }
        found
            .into_iter()
            .try_for_each(|(place, address, len, skipped)| self.take(&place, address, len, skipped))
    }
}

/// Returns the number of chunks along each dimension.
fn grid(layout: &DataLayout, space: &Dataspace) -> Result<Vec<u64>> {
    let DataLayout::Chunked { shape, address, .. } = layout else {
        return Err(damaged("chunk index: the dataset is not chunked"));
    };
    let grid = counts(space.dims.as_deref().unwrap_or_default(), shape);
    let places = grid.iter().try_fold(1u64, |places, &count| places.checked_mul(count));
    // Without an index there are no chunks to count.
    match places {
        None if *address != UNDEFINED => Err(damaged(format!("chunk index: {grid:?} chunks are too many"))),
        _ => Ok(grid),
    }
}

fn counts(dims: &[u64], shape: &[u64]) -> Vec<u64> {
    let count = |(&dim, &chunk): (&u64, &u64)| if dim == UNDEFINED { UNDEFINED } else { dim.div_ceil(chunk) };
    dims.iter().zip(shape).map(count).collect()
}

/// Reads an index, or the part of it that `wanted` needs. Returns the grid and the chunks.
fn read(
    file: &HdfFile,
    layout: &DataLayout,
    space: &Dataspace,
    chunk_bytes: u64,
    filtered: bool,
    wanted: Option<ChunkBox>,
) -> Result<(Vec<u64>, Vec<IndexedChunk>)> {
    let grid = grid(layout, space)?;
    let DataLayout::Chunked { shape, index, address, length_bytes, .. } = layout else {
        return Err(damaged("chunk index: the dataset is not chunked"));
    };
    let places = grid.iter().fold(1u64, |places, &count| places.saturating_mul(count));
    let mut reading = IndexReader {
        file,
        address: *address,
        grid,
        shape: shape.clone(),
        most: counts(&space.most, shape),
        chunk_bytes,
        filtered,
        length_bytes: *length_bytes,
        wanted,
        chunks: Vec::new(),
    };
    if *address != UNDEFINED && places > 0 {
        match index {
            ChunkIndexKind::Tree1 => btree1::read(&mut reading)?,
            ChunkIndexKind::Single(stored) => {
                let (len, skipped) = stored.unwrap_or((chunk_bytes, 0));
                reading.take(&vec![0; shape.len()], *address, len, skipped)?;
            }
            ChunkIndexKind::Implicit => arrays::implicit(&mut reading, places)?,
            ChunkIndexKind::FixedArray => arrays::fixed(&mut reading)?,
            ChunkIndexKind::ExtensibleArray => extensible::read(&mut reading)?,
            ChunkIndexKind::Tree2 => reading.tree2()?,
        }
    }
    Ok((reading.grid, reading.chunks))
}

/// Returns the number of a chunk; `None` if it lies outside the grid, or if the grid is too large to count.
fn number(grid: &[u64], place: &[u64]) -> Option<u64> {
    let mut number = 0u64;
    for (&at, &count) in place.iter().zip(grid) {
        if at >= count {
            return None;
        }
        number = number.checked_mul(count)?.checked_add(at)?;
    }
    Some(number)
}

/// Returns the grid index of a chunk number.
fn place(grid: &[u64], number: u64) -> Vec<u64> {
    let (mut rest, mut place) = (number, vec![0; grid.len()]);
    for (at, &count) in place.iter_mut().zip(grid).rev() {
        (*at, rest) = (rest % count.max(1), rest / count.max(1));
    }
    place
}

/// Whether a chunk extends beyond the dataset.
fn is_at_edge(grid: &[u64], mut number: u64, dims: &[u64], shape: &[u64]) -> bool {
    (0..grid.len()).rev().any(|axis| {
        let at = number % grid[axis];
        number /= grid[axis];
        (at + 1).saturating_mul(shape[axis]) > dims[axis]
    })
}

/// Rejects overlapping chunks, which are damage.
fn check_apart(chunks: &[IndexedChunk]) -> Result<()> {
    let meet = |a: &IndexedChunk, b: &IndexedChunk| a.address + a.len > b.address;
    if chunks.windows(2).all(|pair| !meet(&pair[0], &pair[1])) {
        return Ok(());
    }
    let mut places: Vec<&IndexedChunk> = chunks.iter().collect();
    places.sort_unstable_by_key(|chunk| chunk.address);
    match places.windows(2).find(|pair| meet(pair[0], pair[1])) {
        Some(pair) => Err(damaged(format!(
            "chunk index: the chunks at addresses {} and {} overlap",
            pair[0].address, pair[1].address
        ))),
        None => Ok(()),
    }
}

impl ChunkTable {
    /// Reads the index of a dataset. A chunk without filters has `chunk_bytes` bytes.
    ///
    /// # Errors
    /// `NC_EHDFERR` if the index is damaged.
    pub(crate) fn read(
        file: &HdfFile,
        layout: &DataLayout,
        space: &Dataspace,
        chunk_bytes: u64,
        filtered: bool,
    ) -> Result<Self> {
        let (grid, mut chunks) = read(file, layout, space, chunk_bytes, filtered, None)?;
        if !chunks.is_sorted_by_key(|chunk| chunk.number) {
            chunks.sort_by_key(|chunk| chunk.number);
        }
        if chunks.windows(2).any(|pair| pair[0].number == pair[1].number) {
            return Err(damaged("chunk index: a chunk occurs twice"));
        }
        check_apart(&chunks)?;
        chunks.shrink_to_fit();
        Ok(Self { grid, chunks })
    }

    /// Finds the chunk at a grid index.
    pub(crate) fn find(&self, place: &[u64]) -> Option<&IndexedChunk> {
        let number = number(&self.grid, place)?;
        // In a complete table the number is the position.
        let guess = usize::try_from(number).ok().and_then(|at| self.chunks.get(at));
        guess.filter(|chunk| chunk.number == number).or_else(|| {
            let found = self.chunks.binary_search_by_key(&number, |chunk| chunk.number);
            found.ok().and_then(|at| self.chunks.get(at))
        })
    }

    /// Marks chunks at the edge of the dataset as stored without filters.
    pub(crate) fn skip_at_edges(&mut self, dims: &[u64], shape: &[u64]) {
        for chunk in &mut self.chunks {
            if is_at_edge(&self.grid, chunk.number, dims, shape) {
                chunk.skipped = u32::MAX;
            }
        }
    }

    /// Returns all stored chunks with their grid indexes.
    pub(crate) fn placed(&self) -> impl Iterator<Item = (Vec<u64>, &IndexedChunk)> {
        self.chunks.iter().map(|chunk| (place(&self.grid, chunk.number), chunk))
    }

    /// Returns all stored chunks.
    pub(crate) fn chunks(&self) -> &[IndexedChunk] {
        &self.chunks
    }
}
