//! [`StoredChunks`]: the chunks of a variable that the storage holds.

/// The places of the stored chunks of one variable, in no particular order.
///
/// Chunks that are absent read as the fill value. Programs that look at a whole variable can pass over them, so that
/// their time goes with the stored chunks and not with the shape.
///
/// ```
/// use nczarr_dispatch::StoredChunks;
///
/// let mut chunks = StoredChunks::new(2);
/// chunks.push(&[0, 400]);
/// chunks.push(&[200, 0]);
/// assert_eq!(chunks.len(), 2);
/// assert_eq!(chunks.iter().next(), Some(&[0, 400][..]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredChunks {
    rank: usize,
    count: usize,
    starts: Vec<u64>,
}

impl StoredChunks {
    /// No chunks yet, of a variable with `rank` dimensions.
    pub fn new(rank: usize) -> Self {
        Self { rank, count: 0, starts: Vec::new() }
    }

    /// Adds the chunk whose first element is at `start`, one index for each dimension.
    pub fn push(&mut self, start: &[u64]) {
        debug_assert_eq!(start.len(), self.rank);
        self.starts.extend_from_slice(start);
        self.count += 1;
    }

    /// The number of chunks.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The index of the first element of each chunk.
    pub fn iter(&self) -> impl Iterator<Item = &[u64]> {
        (0..self.count).map(|at| &self.starts[at * self.rank..(at + 1) * self.rank])
    }
}
