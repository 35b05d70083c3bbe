//! [`Chunks`]: the chunks of a variable, one after another or on several threads. [`Chunk`]: one of them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nczarr_dispatch::{EncodedChunk, StoredChunks};
use nczarr_model::{Error, ErrorKind, Result, Slab};
use nczarr_nc_table::VarAccess;
use nczarr_runtime::{DimVec, cpu_count, run_on_pool};

use super::encoded_chunks;
use crate::{Array, Extent, Number, Variable};

/// One chunk of a variable, stored or absent.
#[derive(Debug, Clone)]
pub struct Chunk<'v> {
    variable: &'v Variable,
    index: DimVec<u64>,
    start: DimVec<u64>,
    count: DimVec<u64>,
}

/// The shape of a variable and of its chunks.
#[derive(Debug)]
struct Grid {
    shape: DimVec<u64>,
    chunk: Vec<u64>,
}

impl Grid {
    fn of(access: &VarAccess) -> Result<Self> {
        let chunks = encoded_chunks(access)?;
        // A description of all filters takes longer than most reads of a chunk.
        let chunk = access.data().chunk_shape().unwrap_or_else(|| chunks.encoding().chunk_shape);
        Ok(Self { shape: access.shape(), chunk })
    }

    /// Returns the number of chunks along a dimension.
    fn len(&self, dim: usize) -> u64 {
        self.shape[dim].div_ceil(self.chunk[dim])
    }

    /// Returns a chunk inside the grid.
    fn chunk<'v>(&self, variable: &'v Variable, index: DimVec<u64>) -> Chunk<'v> {
        let start: DimVec<u64> = index.iter().zip(&self.chunk).map(|(at, chunk)| at * chunk).collect();
        let inside = start.iter().zip(&self.chunk).zip(self.shape.iter());
        let count = inside.map(|((start, chunk), len)| (*chunk).min(len - start)).collect();
        Chunk { variable, index, start, count }
    }
}

impl<'v> Chunk<'v> {
    /// Returns the chunk with this index. One to be written may lie beyond the end of unlimited dimensions.
    pub(super) fn at(variable: &'v Variable, index: &[u64], writing: bool) -> Result<Self> {
        let access = variable.access()?;
        let mut grid = Grid::of(&access)?;
        if index.len() != grid.shape.len() {
            return Err(ErrorKind::Inval.context(format!(
                "{}: wrong number of chunk indices (expected {}, found {})",
                access.path(),
                grid.shape.len(),
                index.len()
            )));
        }
        let unlimited = access.unlimited();
        for (dim, &at) in index.iter().enumerate() {
            if at < grid.len(dim) {
                continue;
            }
            let end = at.checked_add(1).and_then(|end| end.checked_mul(grid.chunk[dim]));
            match end.filter(|_| writing && unlimited[dim]) {
                Some(end) => grid.shape[dim] = end,
                None => {
                    return Err(ErrorKind::InvalCoords.context(format!(
                        "{}: chunk index of dimension {dim} is out of range (expected less than {}, found {at})",
                        access.path(),
                        grid.len(dim)
                    )));
                }
            }
        }
        Ok(grid.chunk(variable, index.iter().copied().collect()))
    }

    /// The index in the grid of chunks.
    pub fn index(&self) -> &[u64] {
        &self.index
    }

    /// The elements of the chunk, clipped to the variable's shape.
    pub fn slab(&self) -> Slab<'_> {
        Slab::new(&self.start, &self.count)
    }

    /// The elements of the chunk as extents, clipped to the variable's shape.
    pub fn extents(&self) -> Vec<Extent> {
        self.start.iter().zip(self.count.iter()).map(|(&start, &count)| Extent::count(start, count)).collect()
    }

    /// Whether the chunk is stored, or changed in the cache. If not, it reads as the fill value.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn is_stored(&self) -> Result<bool> {
        let access = self.variable.access()?;
        let slab = self.slab().check(&access.shape(), |_| false)?;
        access.data().is_absent(&slab).map(|absent| !absent).map_err(|error| access.with_path(error))
    }

    /// Returns the length of the stored chunk in bytes; `None` if it is absent. For a chunk in a shard this
    /// reads the chunk; [`Chunk::is_stored`] reads the index alone.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn encoded_len(&self) -> Result<Option<u64>> {
        let access = self.variable.access()?;
        let slab = self.slab().check(&access.shape(), |_| false)?;
        encoded_chunks(&access)?.encoded_len(&slab).map_err(|error| access.with_path(error))
    }

    /// Returns the stored bytes; `None` if the chunk is absent ([`Variable::read_encoded`]).
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn read_encoded(&self) -> Result<Option<EncodedChunk>> {
        let access = self.variable.access()?;
        let slab = self.slab().check(&access.shape(), |_| false)?;
        let found =
            encoded_chunks(&access)?.read_encoded(&[slab]).map_err(|error| access.with_path(error))?;
        found.into_iter().next().ok_or_else(|| ErrorKind::Internal.context("no answer for a chunk"))
    }

    /// Reads the elements ([`Variable::get`]).
    ///
    /// # Errors
    /// As [`Variable::get`].
    pub fn get<T: Number>(&self) -> Result<Array<T>> {
        self.variable.get(self.extents())
    }

    /// Writes all elements ([`Variable::put`]). The other chunks are not read.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-chunk-put")?;
    /// # file.add_dimension("x", 5)?;
    /// # let v = file.add_variable::<i32>("v", &["x"])?;
    /// # v.set_chunking(&[2])?;
    /// v.chunk(&[1])?.put(&[7, 8])?;
    /// assert_eq!(v.get_values::<i32>(2..4)?, [7, 8]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::put`].
    pub fn put<T: Number>(&self, values: &[T]) -> Result<()> {
        self.variable.put(values, self.extents())
    }
}

/// The chunks of a variable, in C order of their indices ([`Variable::chunks`], [`Variable::stored_chunks`]).
#[derive(Debug, Clone)]
pub struct Chunks<'v> {
    variable: &'v Variable,
    grid: Arc<Grid>,
    source: ChunkSource,
}

/// The chunks that are left.
#[derive(Debug, Clone)]
enum ChunkSource {
    /// From this index on.
    All(Option<DimVec<u64>>),
    /// Stored chunks by their first elements, from this number on.
    Stored(Arc<Vec<DimVec<u64>>>, usize),
}

impl ChunkSource {
    /// Returns the next index.
    fn next(&mut self, grid: &Grid) -> Option<DimVec<u64>> {
        match self {
            Self::All(next) => {
                let index = next.take()?;
                let mut following = index.clone();
                for dim in (0..following.len()).rev() {
                    following[dim] += 1;
                    if following[dim] < grid.len(dim) {
                        *next = Some(following);
                        break;
                    }
                    following[dim] = 0;
                }
                Some(index)
            }
            Self::Stored(list, next) => {
                let index = list.get(*next)?.clone();
                *next += 1;
                Some(index)
            }
        }
    }
}

/// The chunks that are left, without a borrow of their variable.
#[cfg(feature = "async")]
#[derive(Debug)]
pub(crate) struct DetachedChunks {
    grid: Arc<Grid>,
    source: ChunkSource,
}

#[cfg(feature = "async")]
impl DetachedChunks {
    /// Returns the next chunk of the variable.
    pub(crate) fn next<'v>(&mut self, variable: &'v Variable) -> Option<Chunk<'v>> {
        let index = self.source.next(&self.grid)?;
        Some(self.grid.chunk(variable, index))
    }
}

impl<'v> Chunks<'v> {
    #[cfg(feature = "async")]
    pub(crate) fn detach(self) -> DetachedChunks {
        DetachedChunks { grid: self.grid, source: self.source }
    }

    pub(super) fn all(variable: &'v Variable) -> Result<Self> {
        let grid = Grid::of(&*variable.access()?)?;
        let first = (!grid.shape.contains(&0)).then(|| DimVec::with_len(grid.shape.len()));
        Ok(Self { variable, grid: Arc::new(grid), source: ChunkSource::All(first) })
    }

    pub(super) fn stored(variable: &'v Variable) -> Result<Self> {
        let all = Self::all(variable)?;
        let access = variable.access()?;
        let found: Option<StoredChunks> =
            access.data().stored_chunks().map_err(|error| access.with_path(error))?;
        let mut list: Vec<DimVec<u64>> = match &found {
            Some(found) => {
                let index = |start: &[u64]| -> DimVec<u64> {
                    start.iter().zip(&all.grid.chunk).map(|(start, chunk)| start / chunk).collect()
                };
                found.iter().map(index).collect()
            }
            None => {
                let mut list = Vec::new();
                for chunk in all.clone() {
                    if chunk.is_stored()? {
                        list.push(chunk.index);
                    }
                }
                list
            }
        };
        list.sort_unstable();
        Ok(Self { source: ChunkSource::Stored(Arc::new(list), 0), ..all })
    }

    /// Calls `each` with every chunk, on up to `threads` threads of the pool; 0: one for each processor. The
    /// first error stops the others and is returned.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-chunks-parallel")?;
    /// # file.add_dimension("x", 6)?;
    /// # let v = file.add_variable::<i64>("v", &["x"])?;
    /// # v.set_chunking(&[2])?;
    /// # v.put(&[1i64, 2, 3, 4, 5, 6], ..)?;
    /// use std::sync::atomic::{AtomicI64, Ordering};
    ///
    /// let sum = AtomicI64::new(0);
    /// v.chunks()?.for_each_parallel(0, |chunk| {
    ///     sum.fetch_add(chunk.get::<i64>()?.iter().sum(), Ordering::Relaxed);
    ///     Ok(())
    /// })?;
    /// assert_eq!(sum.into_inner(), 21);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first error of `each`.
    pub fn for_each_parallel(
        self,
        threads: usize,
        each: impl Fn(&Chunk<'v>) -> Result<()> + Sync,
    ) -> Result<()> {
        let threads = if threads == 0 { cpu_count() } else { threads };
        let threads = threads.min(usize::try_from(self.len()).unwrap_or(usize::MAX)).max(1);
        let (left, stopped, failure) = (Mutex::new(self), AtomicBool::new(false), Mutex::new(None::<Error>));
        run_on_pool(threads, &|| {
            while !stopped.load(Ordering::Relaxed) {
                let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(chunk) = next else { return };
                if let Err(error) = each(&chunk) {
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    stopped.store(true, Ordering::Relaxed);
                }
            }
        });
        failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// Returns the number of chunks that are left; saturates.
    pub fn len(&self) -> u64 {
        match &self.source {
            ChunkSource::All(None) => 0,
            ChunkSource::All(Some(next)) => {
                // The number of chunks before `next`, from the number of all.
                let dims = 0..next.len();
                let all = dims.clone().fold(1u64, |all, dim| all.saturating_mul(self.grid.len(dim)));
                let before = dims.fold(0u64, |before, dim| {
                    before.saturating_mul(self.grid.len(dim)).saturating_add(next[dim])
                });
                all.saturating_sub(before)
            }
            ChunkSource::Stored(list, next) => (list.len() - next) as u64,
        }
    }

    /// Whether no chunk is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'v> Iterator for Chunks<'v> {
    type Item = Chunk<'v>;

    fn next(&mut self) -> Option<Chunk<'v>> {
        let index = self.source.next(&self.grid)?;
        Some(self.grid.chunk(self.variable, index))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = usize::try_from(self.len());
        (len.unwrap_or(usize::MAX), len.ok())
    }
}
