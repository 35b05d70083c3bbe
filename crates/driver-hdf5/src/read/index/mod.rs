//! [`Table`]: where the chunks of a dataset are, read from whatever index the file has.

mod arrays;
mod btree1;
mod extensible;
mod known;
mod wanted;

use std::ops::Range;

use nczarr_model::Result;

use super::btree2;
use super::cursor::{Cursor, UNDEFINED, bad};
use super::file::Hdf;
use super::messages::{Index, Layout, Space};

pub(crate) use known::Known;
pub(crate) use wanted::Wanted;

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
    /// The chunks that are wanted, if not all are; others may be taken too.
    pub(crate) wanted: Option<Wanted>,
    chunks: Vec<Chunk>,
}

impl Reading<'_> {
    /// Takes a chunk at a place of the grid; one beyond what the dataset has is left out.
    pub(crate) fn take(&mut self, place: &[u64], address: u64, len: u64, skipped: u32) -> Result<()> {
        if address == UNDEFINED {
            return Ok(());
        }
        let Some(number) = number(&self.grid, place) else { return Ok(()) };
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
        self.each_digit(number, axes, |_, axis, digit| place[axis] = digit);
        self.take(&place, address, len, skipped)
    }

    /// Calls `then` with the digits of the number of a chunk, the fastest first: which one it is, its axis, and itself.
    fn each_digit(&self, number: u64, axes: &[usize], mut then: impl FnMut(usize, usize, u64)) {
        let mut rest = number;
        for (i, &axis) in axes.iter().enumerate().rev() {
            // The slowest may have no limit.
            let count = if i == 0 { u64::MAX } else { self.most[axis].max(1) };
            then(i, axis, rest % count);
            rest /= count;
        }
    }

    /// Whether some of the chunks of these numbers are wanted, which an index counts in the order of dimensions `axes`.
    pub(crate) fn wants(&self, numbers: &Range<u64>, axes: &[usize]) -> bool {
        let Some(wanted) = &self.wanted else { return true };
        let digits = |number: u64| {
            let mut digits = vec![0; axes.len()];
            self.each_digit(number, axes, |at, _, digit| digits[at] = digit);
            digits
        };
        wanted.in_order(axes).between(Some(&digits(numbers.start)), Some(&digits(numbers.end)))
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
        let parse = |record: &[u8]| {
            let mut at = Cursor::new(record, "record of a chunk");
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
        // Only what is in order can be found without reading everything.
        if self.wanted.is_some() && !found.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(bad("chunk index: places that are out of order"));
        }
        found.into_iter().try_for_each(|(place, address, len, skipped)| self.take(&place, address, len, skipped))
    }
}

/// Chunks along each dimension of a dataset.
fn grid(layout: &Layout, space: &Space) -> Result<Vec<u64>> {
    let Layout::Chunked { shape, .. } = layout else {
        return Err(bad("an index of a dataset without chunks"));
    };
    let grid = counts(space.dims.as_deref().unwrap_or_default(), shape);
    let places = grid.iter().try_fold(1u64, |places, &count| places.checked_mul(count));
    places.map(|_| ()).ok_or_else(|| bad(format!("{grid:?} chunks")))?;
    Ok(grid)
}

fn counts(dims: &[u64], shape: &[u64]) -> Vec<u64> {
    let count = |(&dim, &chunk): (&u64, &u64)| if dim == UNDEFINED { UNDEFINED } else { dim.div_ceil(chunk) };
    dims.iter().zip(shape).map(count).collect()
}

/// Reads an index, or the part of it that leads to what is wanted: the grid, and the chunks that were found.
fn read(
    file: &Hdf,
    layout: &Layout,
    space: &Space,
    (chunk_bytes, filtered): (u64, bool),
    wanted: Option<Wanted>,
) -> Result<(Vec<u64>, Vec<Chunk>)> {
    let grid = grid(layout, space)?;
    let Layout::Chunked { shape, index, address, length_bytes, .. } = layout else {
        return Err(bad("an index of a dataset without chunks"));
    };
    let places: u64 = grid.iter().product();
    let mut reading = Reading {
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
    Ok((reading.grid, reading.chunks))
}

/// The number of a place of a grid; `None`: it lies beyond.
fn number(grid: &[u64], place: &[u64]) -> Option<u64> {
    let mut number = 0u64;
    for (&at, &count) in place.iter().zip(grid) {
        if at >= count {
            return None;
        }
        number = number * count + at;
    }
    Some(number)
}

/// The place of a number in a grid.
fn place(grid: &[u64], number: u64) -> Vec<u64> {
    let (mut rest, mut place) = (number, vec![0; grid.len()]);
    for (at, &count) in place.iter_mut().zip(grid).rev() {
        (*at, rest) = (rest % count.max(1), rest / count.max(1));
    }
    place
}

/// Whether a chunk reaches beyond the dataset.
fn is_at_edge(grid: &[u64], mut number: u64, dims: &[u64], shape: &[u64]) -> bool {
    (0..grid.len()).rev().any(|axis| {
        let at = number % grid[axis];
        number /= grid[axis];
        (at + 1).saturating_mul(shape[axis]) > dims[axis]
    })
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
        let (grid, mut chunks) = read(file, layout, space, (chunk_bytes, filtered), None)?;
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
        let number = number(&self.grid, place)?;
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
            if is_at_edge(&self.grid, chunk.number, dims, shape) {
                chunk.skipped = u32::MAX;
            }
        }
    }

    /// All stored chunks, with their places in the grid.
    pub(crate) fn placed(&self) -> impl Iterator<Item = (Vec<u64>, &Chunk)> {
        self.chunks.iter().map(|chunk| (place(&self.grid, chunk.number), chunk))
    }

    /// All stored chunks.
    pub(crate) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }
}
