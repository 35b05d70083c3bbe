//! [`ChunkRead`]: one read, as all its paths see it.

use std::sync::atomic::AtomicBool;

use nczarr_dispatch::MissingChunks;
use nczarr_model::{ErrorKind, Result};
use nczarr_storage::MapCaps;

use crate::engine::{ArrayEngine, ElementKind};
use crate::fast::prefault::Prefault;
use crate::fixed_size::FixedSize;
use crate::grid::ChunkIndex;
use crate::kernel::Convert;
use crate::memory::ChunkBuffer;
use crate::outcome::TransferOutcome;
use crate::output::{DisjointOutput, OutputPart};
use crate::project::{ChunkPart, Projection};
use crate::ranges::{self, PartRanges};

/// A read of one slab.
pub(crate) struct ChunkRead<'a> {
    pub(crate) engine: &'a ArrayEngine<FixedSize>,
    pub(crate) projection: &'a Projection,
    pub(crate) output: &'a DisjointOutput<'a>,
    pub(crate) convert: Option<Convert>,
    /// An unwritten element in the memory type, if that differs from the stored type, and whether it is out
    /// of range.
    pub(crate) fill: [u8; 8],
    pub(crate) fill_out_of_range: bool,
    pub(crate) mem_item: usize,
    /// The size of the result in bytes.
    pub(crate) total: usize,
    pub(crate) caps: MapCaps,
    /// Whether partially used chunks are cached.
    pub(crate) keep: bool,
    /// Whether the single chunk was found to be worth caching.
    pub(crate) wanted: bool,
    /// The time of the start of the read.
    pub(crate) since: u64,
    /// Whether a chunk arrived.
    pub(crate) came: &'a AtomicBool,
    /// Populates the result's pages, if several threads would fault on the same ones.
    pub(crate) front: Option<&'a Prefault>,
    pub(crate) outcome: TransferOutcome<'a>,
}

impl ChunkRead<'_> {
    /// Copies a decoded chunk to its place; returns whether a value was out of range.
    pub(crate) fn load(&self, slot: OutputPart<'_>, data: &ChunkBuffer, part: &ChunkPart) -> bool {
        slot.load(data, &self.engine.form.memory_layout(), part, self.convert.as_ref())
    }

    /// Counts a part that is in its place.
    pub(crate) fn moved(&self, part: &ChunkPart, out_of_range: bool) {
        self.outcome.range(out_of_range);
        self.outcome.advance(part.elems * self.mem_item);
    }

    /// Returns the ranges of a part, if they are less than the chunk.
    pub(crate) fn pieces(&self, part: &ChunkPart, gap: usize) -> Option<PartRanges> {
        let form = &self.engine.form;
        ranges::part_ranges(part, form.item(), form.elems, gap)
    }
}

impl ArrayEngine<FixedSize> {
    /// Whether this number of partially used chunks may be cached.
    pub(crate) fn may_keep(&self, chunks: usize) -> bool {
        chunks.saturating_mul(self.form.bytes()) <= self.cache.budget() / 2
    }

    /// Whether the part's chunk should be read whole and cached.
    pub(crate) fn wants(&self, part: &ChunkPart) -> bool {
        self.cache.should_keep(&part.index, self.grid.all_elems().saturating_mul(self.form.item()))
    }
}

impl<F: ElementKind> ArrayEngine<F> {
    /// Handles an absent chunk: fill values, unless absence is an error.
    pub(crate) fn missing(&self, index: &ChunkIndex) -> Result<()> {
        match self.options.missing_chunks {
            MissingChunks::Fill => {}
            MissingChunks::Warn => {
                let key = self.key(index);
                tracing::warn!(variable = %self.name, %key, "chunk is missing, fill values are used");
            }
            MissingChunks::Error => {
                return Err(ErrorKind::NoObject.context("the chunk is absent"));
            }
        }
        Ok(())
    }
}
