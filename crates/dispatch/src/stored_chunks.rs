//! [`StoredChunks`]: the chunks of a variable that the storage has.

/// The positions of the stored chunks of a variable, in no particular order.
///
/// Absent chunks read as the fill value. Programs that scan a variable can skip them, so that their time is
/// proportional to the stored chunks.
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
    /// Creates an empty list for a variable with `rank` dimensions.
    pub fn new(rank: usize) -> Self {
        Self { rank, count: 0, starts: Vec::new() }
    }

    /// Adds the chunk whose first element is at `start`, one index for each dimension.
    pub fn push(&mut self, start: &[u64]) {
        debug_assert_eq!(start.len(), self.rank);
        self.starts.extend_from_slice(start);
        self.count += 1;
    }

    /// Returns the number of chunks.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no chunks.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the index of the first element of each chunk.
    pub fn iter(&self) -> impl Iterator<Item = &[u64]> {
        (0..self.count).map(|at| &self.starts[at * self.rank..(at + 1) * self.rank])
    }
}
