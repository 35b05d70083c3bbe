//! [`RectilinearArray`]: the data of an array whose chunks differ in shape. Read-only.
//!
//! Each chunk is a [`ChunkedArray`] of one chunk. A read gets the part of each chunk and assembles the parts.

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use nczarr_chunkio::{ArrayDim, ArraySpec, ChunkStore, ChunkedArray, ElementLayout};
use nczarr_codec::AxisEdges;
use nczarr_dispatch::{CacheConfig, MemMut, MemRef, StoredChunks, VarData, byte_len};
use nczarr_model::{CheckedSlab, ErrorKind, NcString, NcType, Result, Slab};
use nczarr_runtime::OutBuf;
use nczarr_storage::{Key, ZMap};

use crate::data::variable_chunks::VariableChunks;

/// The assumed bytes in memory of an element without a fixed size.
const UNSIZED: usize = 64;

/// The data of an array in a rectilinear grid.
#[derive(Debug)]
pub(crate) struct RectilinearArray {
    /// The specification of the whole array. Its chunk shape is that of the innermost chunks, and only
    /// matters in shards.
    spec: ArraySpec,
    /// One for each dimension.
    axes: Arc<[AxisEdges]>,
    chunks: Arc<VariableChunks>,
    recent: Mutex<RecentChunks>,
}

/// Recently read chunks.
#[derive(Debug)]
struct RecentChunks {
    chunks: VecDeque<(Vec<u64>, Arc<ChunkedArray>, usize)>,
    bytes: usize,
    cache: CacheConfig,
}

/// The store of an array that consists of one chunk or shard.
#[derive(Debug)]
struct SingleChunkStore {
    chunks: Arc<VariableChunks>,
    index: Vec<u64>,
}

impl ChunkStore for SingleChunkStore {
    fn map(&self) -> &dyn ZMap {
        self.chunks.map()
    }

    fn locate(&self, _: &[u64], key: &mut Key) {
        self.chunks.locate(&self.index, key);
    }
}

/// The elements of a slab along one dimension that lie in one chunk.
#[derive(Debug, Clone, Copy)]
struct AxisPiece {
    /// The grid index of the chunk.
    index: u64,
    /// The length of the chunk.
    edge: u64,
    /// The first element, counted from the start of the chunk.
    start: u64,
    count: u64,
    /// The position of the first element in the slab.
    at: u64,
}

impl RectilinearArray {
    /// Makes an array from `spec`, with chunks of these edges.
    ///
    /// # Errors
    /// [`ErrorKind::BadChunk`] if the numbers of dimensions differ.
    pub(crate) fn new(spec: ArraySpec, axes: Arc<[AxisEdges]>, chunks: Arc<VariableChunks>) -> Result<Self> {
        if spec.dims.len() != axes.len() {
            return Err(ErrorKind::BadChunk.context(format!(
                "{}: the array has {} dimensions, its chunk grid {}",
                spec.name,
                spec.dims.len(),
                axes.len()
            )));
        }
        let bytes = spec.options.cache_bytes.unwrap_or(CacheConfig::BUILT_IN.bytes);
        let cache = CacheConfig::default().bytes(bytes);
        let kept = Mutex::new(RecentChunks { chunks: VecDeque::new(), bytes: 0, cache });
        Ok(Self { spec, axes, chunks, recent: kept })
    }

    /// Drops the cached chunks, so that changes of other writers become visible.
    pub(crate) fn clear_cache(&self) {
        let mut kept = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        kept.chunks.clear();
        kept.bytes = 0;
    }

    /// Returns the pieces of each dimension of a slab that is not empty.
    fn pieces(&self, slab: &CheckedSlab<'_>) -> Vec<Vec<AxisPiece>> {
        let along =
            |(dim, axis): (usize, &AxisEdges)| along(axis, slab.start[dim], slab.count[dim], slab.step(dim));
        self.axes.iter().enumerate().map(along).collect()
    }

    /// Returns the chunk of the pieces, one piece for each dimension.
    fn chunk(&self, place: &[AxisPiece]) -> Result<Arc<ChunkedArray>> {
        let index: Vec<u64> = place.iter().map(|piece| piece.index).collect();
        let find = |kept: &RecentChunks| {
            kept.chunks.iter().find(|(of, ..)| *of == index).map(|(_, chunk, _)| Arc::clone(chunk))
        };
        if let Some(chunk) = find(&self.recent.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(chunk);
        }
        let edges: Vec<u64> = place.iter().map(|piece| piece.edge).collect();
        let item = match self.spec.element {
            ElementLayout::Number { ty, .. } => ty.size().unwrap_or(UNSIZED),
            _ => UNSIZED,
        };
        let cost = edges.iter().fold(item as u64, |bytes, &edge| bytes.saturating_mul(edge));
        let chunk = Arc::new(ChunkedArray::new(self.chunk_spec(index.clone(), edges))?);
        let mut kept = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        chunk.set_chunk_cache(kept.cache)?;
        let budget = kept.cache.bytes;
        if let Some(cost) = usize::try_from(cost).ok().filter(|&cost| cost <= budget)
            && find(&kept).is_none()
        {
            while kept.bytes.saturating_add(cost) > budget {
                let Some((.., freed)) = kept.chunks.pop_front() else { break };
                kept.bytes -= freed;
            }
            kept.bytes += cost;
            kept.chunks.push_back((index, Arc::clone(&chunk), cost));
        }
        Ok(chunk)
    }

    /// Returns the specification of one chunk as an array.
    fn chunk_spec(&self, index: Vec<u64>, edges: Vec<u64>) -> ArraySpec {
        let spec = &self.spec;
        let mut shards = spec.shards.clone();
        let mut chunk_shape = edges.clone();
        if let Some((outermost, inner)) = shards.split_first_mut() {
            chunk_shape.clone_from(&spec.chunk_shape);
            // The inner levels are the same in all chunks of the outermost shard.
            for (dim, count) in outermost.counts.iter_mut().enumerate() {
                let size = inner.iter().fold(spec.chunk_shape[dim], |size, shard| size * shard.counts[dim]);
                *count = edges[dim] / size;
            }
        }
        let dim = |len| ArrayDim { len: Arc::new(AtomicU64::new(len)), unlimited: false };
        ArraySpec {
            name: spec.name.clone(),
            dims: edges.into_iter().map(dim).collect(),
            chunk_shape,
            element: spec.element.clone(),
            order: spec.order.clone(),
            filters: spec.filters.clone(),
            fill: spec.fill.clone(),
            shards,
            store: Arc::new(SingleChunkStore { chunks: Arc::clone(&self.chunks), index }),
            options: spec.options.clone(),
            writable: false,
        }
    }

    /// Calls `each` for each chunk that a slab touches, in C order, with the part of the slab in it. Stops
    /// when `each` returns `false`.
    fn each(
        &self,
        slab: &CheckedSlab<'_>,
        mut each: impl FnMut(&[AxisPiece], &ChunkedArray, &CheckedSlab<'_>) -> Result<bool>,
    ) -> Result<()> {
        if slab.is_empty() {
            return Ok(());
        }
        let pieces = self.pieces(slab);
        let mut at = vec![0; pieces.len()];
        loop {
            let place: Vec<AxisPiece> = pieces.iter().zip(&at).map(|(pieces, &at)| pieces[at]).collect();
            let start: Vec<u64> = place.iter().map(|piece| piece.start).collect();
            let count: Vec<u64> = place.iter().map(|piece| piece.count).collect();
            let part = Slab { start: &start, count: &count, stride: slab.stride };
            let chunk = self.chunk(&place)?;
            if !each(&place, &chunk, &chunk.check_read(&part)?)? {
                return Ok(());
            }
            let Some(dim) = (0..at.len()).rev().find(|&dim| at[dim] + 1 < pieces[dim].len()) else {
                return Ok(());
            };
            at[dim] += 1;
            at[dim + 1..].fill(0);
        }
    }

    fn read(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        if slab.is_empty() {
            return Ok(());
        }
        match out {
            MemMut::Fixed { ty, out } => {
                let len = byte_len(slab.len(), 1)?;
                let (item, rest) = (out.capacity() / len, out.capacity() % len);
                if rest != 0 || ty.size().is_some_and(|size| size != item) {
                    return Err(self.wrong_memory(slab, out.capacity(), "bytes"));
                }
                out.clear();
                let bytes = out.put_zeros(len * item)?;
                self.read_bytes(slab, ty, item, bytes)
            }
            MemMut::Strings(out) => {
                if slab.len() != out.len() as u64 {
                    return Err(self.wrong_memory(slab, out.len(), "strings"));
                }
                self.each(slab, |place, chunk, part| {
                    let mut strings = vec![NcString::default(); byte_len(part.len(), 1)?];
                    chunk.get(part, MemMut::Strings(&mut strings))?;
                    let mut strings = strings.into_iter();
                    rows(place, slab.count, |row, len| {
                        out[row..row + len].iter_mut().zip(&mut strings).for_each(|(to, from)| *to = from);
                    });
                    Ok(true)
                })
            }
            _ => Err(ErrorKind::Internal.context("this kind of memory is not supported")),
        }
    }

    fn read_bytes(&self, slab: &CheckedSlab<'_>, ty: NcType, item: usize, out: &mut [u8]) -> Result<()> {
        let (mut memory, mut range) = (Vec::new(), Ok(()));
        self.each(slab, |place, chunk, part| {
            memory.resize(byte_len(part.len(), item)?, 0);
            match chunk.get(part, MemMut::Fixed { ty, out: &mut OutBuf::from_slice(&mut memory) }) {
                // The remaining chunks are read as well.
                Err(error) if error.kind() == ErrorKind::Range => range = range.clone().and(Err(error)),
                outcome => outcome?,
            }
            let mut from = 0;
            rows(place, slab.count, |row, len| {
                out[row * item..][..len * item].copy_from_slice(&memory[from..][..len * item]);
                from += len * item;
            });
            Ok(true)
        })?;
        range
    }

    fn wrong_memory(&self, slab: &CheckedSlab<'_>, found: usize, unit: &str) -> nczarr_model::Error {
        let name = &self.spec.name;
        ErrorKind::Inval.context(format!(
            "{name}: the buffer has the wrong size (expected memory for {} elements, found {found} {unit})",
            slab.len()
        ))
    }
}

/// Returns the pieces of `count` elements from `start` on, every `step`-th.
fn along(axis: &AxisEdges, start: u64, count: u64, step: u64) -> Vec<AxisPiece> {
    let (mut pieces, mut at) = (Vec::new(), 0);
    while at < count {
        let first = start + at * step;
        let chunk = axis.at(first);
        let within = first - chunk.start;
        let here = (chunk.len - within).div_ceil(step).min(count - at);
        pieces.push(AxisPiece { index: chunk.index, edge: chunk.len, start: within, count: here, at });
        at += here;
    }
    pieces
}

/// Calls `each` with the position in the slab and the length of each row of a part, in C order.
fn rows(place: &[AxisPiece], count: &[u64], mut each: impl FnMut(usize, usize)) {
    let Some((last, outer)) = place.split_last() else { return each(0, 1) };
    let mut at = vec![0; outer.len()];
    loop {
        let row = outer.iter().zip(&at).map(|(piece, at)| piece.at + at).chain([last.at]);
        // The slab fits memory, so its positions do not overflow.
        let row = row.zip(count).fold(0, |row, (at, &count)| row * count + at);
        each(row as usize, last.count as usize);
        let Some(dim) = (0..at.len()).rev().find(|&dim| at[dim] + 1 < outer[dim].count) else { return };
        at[dim] += 1;
        at[dim + 1..].fill(0);
    }
}

impl VarData for RectilinearArray {
    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        self.chunks.with_stable_keys(|| self.read(slab, out))
    }

    fn put(&self, _: &CheckedSlab<'_>, _: MemRef<'_>) -> Result<()> {
        let name = &self.spec.name;
        Err(ErrorKind::Perm
            .context(format!("{name}: an array with a rectilinear chunk grid cannot be written")))
    }

    fn is_absent(&self, slab: &CheckedSlab<'_>) -> Result<bool> {
        self.chunks.with_stable_keys(|| {
            let mut absent = true;
            self.each(slab, |_, chunk, part| {
                absent = chunk.is_absent(part)?;
                Ok(absent)
            })?;
            Ok(absent)
        })
    }

    /// `None`: the chunks have no common shape.
    fn stored_chunks(&self) -> Result<Option<StoredChunks>> {
        Ok(None)
    }

    fn is_fixed_text(&self) -> bool {
        matches!(self.spec.element, ElementLayout::Text { .. })
    }

    fn set_chunk_cache(&self, cache: CacheConfig) -> Result<()> {
        if !(0.0..=1.0).contains(&cache.preemption) {
            let found = cache.preemption;
            return Err(ErrorKind::Inval
                .context(format!("the cache preemption is invalid (expected 0 to 1, found {found})")));
        }
        self.clear_cache();
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).cache = cache;
        Ok(())
    }

    fn chunk_cache(&self) -> CacheConfig {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).cache
    }

    /// Returns the longest edges: slabs of this shape touch few chunks.
    fn chunk_shape(&self) -> Option<Vec<u64>> {
        Some(self.spec.chunk_shape.clone())
    }
}
