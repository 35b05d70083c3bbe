//! [`ChunkWrite`]: one write, as all its paths see it.

use nczarr_model::CheckedSlab;

use crate::engine::ArrayEngine;
use crate::fixed_size::FixedSize;
use crate::kernel::Convert;
use crate::outcome::TransferOutcome;
use crate::project::{ChunkPart, Coverage, Projection};

/// A write of one slab.
pub(crate) struct ChunkWrite<'a> {
    pub(crate) engine: &'a ArrayEngine<FixedSize>,
    pub(crate) slab: &'a CheckedSlab<'a>,
    pub(crate) projection: &'a Projection,
    pub(crate) bytes: &'a [u8],
    pub(crate) convert: Option<Convert>,
    pub(crate) mem_item: usize,
    /// The number of complete cached chunks that are stored together.
    pub(crate) lot: usize,
    /// Whether whole chunks wait in the cache: they are fewer than `lot` and lie beyond the end of the array.
    pub(crate) few: bool,
    pub(crate) outcome: TransferOutcome<'a>,
}

impl ChunkWrite<'_> {
    /// Returns the caller's bytes of a chunk, if they are in the form that its filters take.
    pub(crate) fn as_stored(&self, part: &ChunkPart) -> Option<&[u8]> {
        let form = &self.engine.form;
        let layout = &form.plan.layout;
        let direct = self.convert.is_none()
            && layout.is_native()
            && part.cover == Coverage::All
            && part.is_contiguous();
        let start = part.mem_start * self.mem_item;
        direct.then(|| &self.bytes[start..start + form.bytes()])
    }
}
