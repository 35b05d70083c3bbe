//! Lists the stored chunks of an array.

use nczarr_dispatch::StoredChunks;
use nczarr_model::Result;

use crate::engine::{ArrayEngine, ElementKind};
use crate::grid::ChunkIndex;

impl<F: ElementKind> ArrayEngine<F> {
    /// Returns the stored chunks inside the current shape. `None`: the storage has no listing, or chunks may
    /// be in the cache.
    pub(crate) fn stored_chunks(&self) -> Result<Option<StoredChunks>> {
        if self.check_writable().is_ok() {
            return Ok(None);
        }
        let (shape, rank) = (self.grid.shape(), self.grid.rank());
        let mut objects = Vec::new();
        let known = self.store.for_each_stored(rank, &mut |index| objects.push(ChunkIndex::from(index)));
        if !known.map_err(|error| error.at(&self.name))? {
            return Ok(None);
        }
        let mut chunks = StoredChunks::new(rank);
        let mut start = vec![0; rank];
        let mut take = |index: &[u64]| {
            let inside = start.iter_mut().zip(index).zip(&self.grid.chunk).zip(shape.iter());
            let inside = inside.fold(true, |inside, (((start, &at), &chunk), &len)| {
                *start = at.saturating_mul(chunk);
                inside && *start < len
            });
            if inside {
                chunks.push(&start);
            }
        };
        let Some(shards) = &self.shards else {
            objects.iter().for_each(|index| take(index));
            return Ok(Some(chunks));
        };
        for shard in &objects {
            for inner in ShardChunks::of(shard, &shards.counts) {
                if self.is_stored(&inner)? {
                    take(&inner);
                }
            }
        }
        Ok(Some(chunks))
    }
}

/// The chunks of one shard, by their indices in the array.
struct ShardChunks {
    first: ChunkIndex,
    counts: Vec<u64>,
    next: Option<ChunkIndex>,
}

impl ShardChunks {
    fn of(shard: &[u64], counts: &[u64]) -> Self {
        let first: ChunkIndex =
            shard.iter().zip(counts).map(|(at, count)| at.saturating_mul(*count)).collect();
        Self { next: Some(first.clone()), first, counts: counts.to_vec() }
    }
}

impl Iterator for ShardChunks {
    type Item = ChunkIndex;

    fn next(&mut self) -> Option<ChunkIndex> {
        let here = self.next.take()?;
        let mut next = here.clone();
        for dim in (0..next.len()).rev() {
            next[dim] += 1;
            if next[dim] - self.first[dim] < self.counts[dim] {
                self.next = Some(next);
                break;
            }
            next[dim] = self.first[dim];
        }
        Some(here)
    }
}
