//! Access to stored chunks as bytes: [`EncodedChunks`] for [`ChunkedArray`].
//!
//! A read first stores the cached changes of its chunks. A write and an erasure hold the claim on the object,
//! as all writes do, and then drop the cached chunk. Before bytes are stored, they are decoded, unless the
//! caller requests to check their length only.

mod describe;
mod read;
mod shards;
mod write;

use std::sync::atomic::Ordering;

use nczarr_dispatch::{ChunkEncoding, EncodedCheck, EncodedChunk, EncodedChunks, MemMut};
use nczarr_model::{CheckedSlab, Error, ErrorKind, Result};
use nczarr_runtime::OutBuf;

use crate::ChunkedArray;
use crate::array::ArrayKind;
use crate::engine::{ArrayEngine, ElementKind};
use crate::fixed_size::FixedSize;
use crate::grid::ChunkIndex;
use crate::kernel::Convert;
use crate::output::scatter;
use crate::spec::ObjectForm;

/// The size of the filter mask before a chunk, in bytes ([`ObjectForm::Masked`]).
const MASK: usize = 4;

impl<F: ElementKind> ArrayEngine<F> {
    /// Returns the index of the chunk that a slab names.
    fn chunk_of(&self, slab: &CheckedSlab<'_>) -> Result<ChunkIndex> {
        let grid = &self.grid;
        let is_chunk = slab.is_dense()
            && (0..grid.rank()).all(|dim| {
                let (chunk, start, count) = (grid.chunk[dim], slab.start[dim], slab.count[dim]);
                start % chunk == 0 && (1..=chunk).contains(&count)
            });
        if !is_chunk {
            let (start, count, chunk) = (slab.start, slab.count, &grid.chunk);
            let found = format!("elements {start:?} with counts {count:?} are no chunk of shape {chunk:?}");
            return Err(ErrorKind::Inval.context(format!("{}: {found}", self.name)));
        }
        Ok(slab.start.iter().zip(&grid.chunk).map(|(start, chunk)| start / chunk).collect())
    }

    fn chunks_of_slabs(&self, slabs: &[CheckedSlab<'_>]) -> Result<Vec<ChunkIndex>> {
        slabs.iter().map(|slab| self.chunk_of(slab)).collect()
    }

    /// Returns the bytes that the filters of a chunk take.
    fn with_mask<R>(&self, stored: &EncodedChunk, work: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        let EncodedChunk { bytes, filter_mask, .. } = stored;
        match self.store.object_form() {
            ObjectForm::Masked => work(&[&filter_mask.to_le_bytes(), &**bytes].concat()),
            _ if *filter_mask == 0 => work(bytes),
            _ => Err(unexpected_mask(*filter_mask)),
        }
    }

    /// Decodes bytes of a chunk.
    fn decode_encoded(&self, index: &ChunkIndex, stored: &EncodedChunk) -> Result<F::Data> {
        self.with_mask(stored, |bytes| self.check_limit(bytes).and_then(|()| self.form.decode(bytes)))
            .map_err(|error| self.at_chunk(error, index))
    }
}

fn unexpected_mask(found: u32) -> Error {
    ErrorKind::Filter.context(format!("filter mask of a chunk (expected 0, found {found:#x})"))
}

impl ArrayEngine<FixedSize> {
    fn decode_into(
        &self,
        slab: &CheckedSlab<'_>,
        stored: &EncodedChunk,
        convert: Option<Convert>,
        out: &mut OutBuf<'_>,
    ) -> Result<()> {
        let data = self.decode_encoded(&self.chunk_of(slab)?, stored)?;
        let item = convert.as_ref().map_or(self.form.item(), |convert| convert.mem_item);
        let projection = self.project(slab, &self.grid.shape())?;
        let out_of_range = scatter(out, &projection, item, false, |board| {
            let part = projection.get(0);
            let slot = board.claim_part(0)?;
            Ok(slot.load(&data, &self.form.memory_layout(), &part, convert.as_ref()))
        })?;
        if out_of_range {
            let why = format!("{}: a value does not fit the type it was converted to", self.name);
            return Err(ErrorKind::Range.context(why));
        }
        Ok(())
    }
}

/// Runs `$body` with `$engine` bound to the array's engine, for each kind of elements.
macro_rules! each_kind {
    ($kind:expr, $engine:ident => $body:expr) => {
        match $kind {
            ArrayKind::Numbers($engine) => $body,
            ArrayKind::Strings($engine) => $body,
        }
    };
}

impl EncodedChunks for ChunkedArray {
    fn encoding(&self) -> ChunkEncoding {
        self.describe()
    }

    fn encoded_len(&self, chunk: &CheckedSlab<'_>) -> Result<Option<u64>> {
        each_kind!(&self.kind, engine => engine.encoded_len(chunk))
    }

    fn read_encoded(&self, chunks: &[CheckedSlab<'_>]) -> Result<Vec<Option<EncodedChunk>>> {
        each_kind!(&self.kind, engine => engine.read_encoded(chunks))
    }

    fn decode(&self, chunk: &CheckedSlab<'_>, stored: &EncodedChunk, out: MemMut<'_, '_>) -> Result<()> {
        match (&self.kind, out) {
            (ArrayKind::Numbers(engine), MemMut::Fixed { ty, out }) => {
                self.check_bytes(&engine.form, chunk, ty, out.capacity())?;
                let convert = Convert::reading(engine.form.ty, ty).map_err(|error| error.at(&engine.name))?;
                engine.decode_into(chunk, stored, convert, out)
            }
            (ArrayKind::Strings(engine), MemMut::Strings(out)) => {
                self.check_strings(chunk, out)?;
                let index = engine.chunk_of(chunk)?;
                let data = engine.decode_encoded(&index, stored)?;
                let part = engine.project(chunk, &engine.grid.shape())?.get(0);
                data.load(&part, out).map_err(|error| engine.at_chunk(error, &index))
            }
            (kind, _) => Err(crate::array::text_and_numbers(each_kind!(kind, engine => &engine.name))),
        }
    }

    fn write_encoded(
        &self,
        chunks: &[CheckedSlab<'_>],
        stored: &[EncodedChunk],
        check: EncodedCheck,
    ) -> Result<()> {
        let grid = each_kind!(&self.kind, engine => {
            engine.write_encoded(chunks, stored, check)?;
            &engine.grid
        });
        for slab in chunks {
            for (dim, limits) in grid.dims.iter().enumerate().filter(|(_, limits)| limits.unlimited) {
                limits.len.fetch_max(slab.end(dim), Ordering::AcqRel);
            }
        }
        Ok(())
    }

    fn erase(&self, chunk: &CheckedSlab<'_>) -> Result<bool> {
        each_kind!(&self.kind, engine => engine.erase(chunk))
    }
}
