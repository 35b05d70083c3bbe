//! Chunk grids of Zarr V3: [`ChunkGridClass`] turns a configuration into the edges of the chunks along each
//! dimension ([`AxisEdges`]).
//!
//! The driver knows the grid `regular`; the registry provides other grids. Arrays with other grids are
//! read-only.

use nczarr_model::{ErrorKind, Result};

use crate::Json;

/// Reads the configurations of a chunk grid.
///
/// ```
/// use nczarr_codec::{AxisEdges, ChunkGridClass, Json};
/// use nczarr_model::{ErrorKind, Result};
///
/// /// Chunks of 1, 2, 4, 8 … elements.
/// struct Doubling;
///
/// impl ChunkGridClass for Doubling {
///     fn names(&self) -> &'static [&'static str] {
///         &["example.doubling"]
///     }
///     fn edges(&self, _configuration: &Json, shape: &[u64]) -> Result<Vec<AxisEdges>> {
///         let edges = |&len: &u64| {
///             let all = (0..64).map(|power| Ok((1 << power, 1)));
///             AxisEdges::new(all.take(1 + len.checked_ilog2().unwrap_or(0) as usize), len)
///         };
///         shape.iter().map(edges).collect()
///     }
/// }
///
/// let [axis] = &Doubling.edges(&Json::Null, &[10])?[..] else { panic!() };
/// assert_eq!((axis.count(), axis.at(5).start, axis.longest()), (4, 3, 8));
/// # Ok::<(), nczarr_model::Error>(())
/// ```
pub trait ChunkGridClass: Send + Sync + 'static {
    /// Returns the names of the grid in Zarr V3.
    fn names(&self) -> &'static [&'static str];

    /// Returns one line about the chunks.
    fn about(&self) -> &'static str {
        ""
    }

    /// Returns the edges along each dimension of an array of this shape. `configuration` is an object, empty
    /// if the member has none.
    ///
    /// # Errors
    /// `NC_ENCZARR` that names the wrong member and the expected value.
    fn edges(&self, configuration: &Json, shape: &[u64]) -> Result<Vec<AxisEdges>>;
}

/// The edges of the chunks along one dimension, as runs of equal ones, so that many chunks take no memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AxisEdges {
    /// At least one; contiguous.
    runs: Vec<EdgeRun>,
}

/// Consecutive chunks of the same length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EdgeRun {
    /// The length of each, at least 1.
    edge: u64,
    /// The grid index of the first one.
    index: u64,
    /// The first element.
    start: u64,
    /// The number of chunks.
    count: u64,
}

/// One chunk along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AxisChunk {
    /// The grid index.
    pub index: u64,
    /// The first element.
    pub start: u64,
    /// The length.
    pub len: u64,
}

impl AxisEdges {
    /// Makes edges from pairs of length and count, which must cover `len` elements.
    ///
    /// # Errors
    /// The first error among the pairs; `NC_ENCZARR` if a length or count is 0, or if the edges cover fewer
    /// elements or more than 2^64-1.
    pub fn new(pairs: impl Iterator<Item = Result<(u64, u64)>>, len: u64) -> Result<Self> {
        let mut runs = Vec::new();
        let (mut index, mut start) = (0_u64, 0_u64);
        for pair in pairs {
            let (edge, count) = pair?;
            if edge == 0 || count == 0 {
                return Err(ErrorKind::NcZarr
                    .context(format!("{count} chunks of length {edge} (expected at least 1 of each)")));
            }
            runs.push(EdgeRun { edge, index, start, count });
            let end = edge.checked_mul(count).and_then(|size| start.checked_add(size));
            let too_long = || ErrorKind::NcZarr.context("the chunks have more than 2^64-1 elements");
            (index, start) = index.checked_add(count).zip(end).ok_or_else(too_long)?;
        }
        if start < len {
            return Err(ErrorKind::NcZarr.context(format!("the chunks cover {start} of {len} elements")));
        }
        if runs.is_empty() {
            runs.push(EdgeRun { edge: 1, index: 0, start: 0, count: 0 });
        }
        Ok(Self { runs })
    }

    /// Makes equal edges that cover `len` elements; `edge` is at least 1. The last chunk may end beyond 2^64.
    ///
    /// # Errors
    /// `NC_ENCZARR` if `edge` is 0.
    pub fn equal(edge: u64, len: u64) -> Result<Self> {
        if edge == 0 {
            return Err(ErrorKind::NcZarr.context("chunks of length 0 (expected at least 1)"));
        }
        Ok(Self { runs: vec![EdgeRun { edge, index: 0, start: 0, count: len.div_ceil(edge) }] })
    }

    /// Returns the number of chunks.
    pub fn count(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.index + run.count)
    }

    /// Returns the longest edge.
    pub fn longest(&self) -> u64 {
        self.runs.iter().map(|run| run.edge).max().unwrap_or(1)
    }

    /// Whether each edge is a multiple of `size`.
    pub fn is_multiple_of(&self, size: u64) -> bool {
        self.runs.iter().all(|run| run.edge.is_multiple_of(size))
    }

    /// Returns the chunk of an element. Elements behind the last chunk lie in further chunks of its length,
    /// which are never stored.
    pub fn at(&self, element: u64) -> AxisChunk {
        let run = self.runs.partition_point(|run| run.start <= element).checked_sub(1);
        let Some(run) = run.and_then(|run| self.runs.get(run)) else {
            return AxisChunk { index: 0, start: 0, len: 1 };
        };
        let behind = (element - run.start) / run.edge;
        let index = run.index.saturating_add(behind);
        AxisChunk { index, start: run.start + behind * run.edge, len: run.edge }
    }
}
