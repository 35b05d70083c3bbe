//! Which chunks of an array are stored, by a list of the storage.

use nczarr_dispatch::StoredChunks;
use nczarr_model::Result;

use crate::grid::ChunkIndex;
use crate::keeper::{Form, Keeper};

impl<F: Form> Keeper<F> {
    /// The chunks that the storage holds, inside the present shape. `None`: it does not list them, or some may still
    /// be in the cache.
    pub(crate) fn stored_chunks(&self) -> Result<Option<StoredChunks>> {
        if self.check_writable().is_ok() {
            return Ok(None);
        }
        let (shape, rank) = (self.grid.shape(), self.grid.rank());
        let mut objects = Vec::new();
        let known = self.store.stored(rank, &mut |index| objects.push(ChunkIndex::from(index)));
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
            for inner in Inner::of(shard, &shards.counts) {
                if self.map().exists(&self.key(&inner)).map_err(|error| self.blame(error, &inner))? {
                    take(&inner);
                }
            }
        }
        Ok(Some(chunks))
    }
}

/// The chunks of one shard, by their indices in the array.
struct Inner {
    first: ChunkIndex,
    counts: Vec<u64>,
    next: Option<ChunkIndex>,
}

impl Inner {
    fn of(shard: &[u64], counts: &[u64]) -> Self {
        let first: ChunkIndex = shard.iter().zip(counts).map(|(at, count)| at.saturating_mul(*count)).collect();
        Self { next: Some(first.clone()), first, counts: counts.to_vec() }
    }
}

impl Iterator for Inner {
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
