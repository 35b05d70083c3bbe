//! [`VirtualChunks`]: a virtual dataset as a map of unfiltered chunks. Each chunk is assembled from the
//! sources when it is read.
//!
//! Numbers are converted to the virtual dataset's type in native byte order. Other elements are copied byte
//! for byte, from sources of the same type. Elements of variable length are read only from sources in the
//! same file, because their values lie in its heap.

use std::sync::Arc;

use nczarr_chunkio::{ChunkStore, ObjectForm};
use nczarr_dispatch::byte_len;
use nczarr_model::{Error, ErrorKind, NcType, Result, Slab};
use nczarr_runtime::Buffer;
use nczarr_storage::batch::{ReadJob, read_parallel};
use nczarr_storage::{Key, MapCaps, ObjectInfo, ReadOptions, ZMap};

use super::super::cursor::damaged;
use super::super::datatype::Datatype;
use super::super::file::HdfFile;
use super::super::messages::{DataLayout, Dataspace};
use super::super::values;
use super::super::var::{RawArray, VarContext, raw_array};
use super::super::walk::DatasetStorage;
use super::bands::BandBudget;
use super::convert::ElementConversion;
use super::copy::{ChunkBuffer, SelectionCopy};
use super::find::{self, Nesting};
use super::mapping::{HERE, SourceName, VirtualMapping};
use super::selected::SelectedElements;
use super::selection::{DataspaceSelection, SelectionAxis};
use super::source_cache::SourceCache;

/// Approximate size of a chunk in bytes.
const CHUNK: u64 = 1 << 20;

/// Largest element size in bytes. A virtual dataset has no stored data that would limit it.
const ELEMENT: u64 = 16 << 20;

/// An open source dataset.
#[derive(Debug)]
pub(super) struct VirtualSource {
    pub(super) inner: RawArray,
    pub(super) shape: Vec<u64>,
    pub(super) size: usize,
    pub(super) convert: ElementConversion,
    /// Cache bytes that it uses beyond its share.
    pub(super) more: usize,
}

/// A mapping, prepared for reading.
#[derive(Debug)]
struct MappedSource {
    mapping: VirtualMapping,
    /// The selected elements of the virtual dataset, if the mapping is limited.
    picked: Option<SelectedElements>,
    /// Number of numbered sources before the first missing one.
    blocks: u64,
}

/// The chunks of a virtual dataset.
#[derive(Debug)]
pub(crate) struct VirtualChunks {
    file: Arc<HdfFile>,
    with: VarContext,
    ty: Datatype,
    /// The type of numbers; `None` for other elements.
    number: Option<NcType>,
    /// The bytes of an element without a source.
    fill: Vec<u8>,
    shape: Vec<u64>,
    chunk: Vec<u64>,
    mappings: Vec<MappedSource>,
    work: BandBudget,
    kept: SourceCache,
}

impl VirtualChunks {
    /// Makes the chunks of a virtual dataset of numbers, or of other elements.
    ///
    /// # Errors
    /// `NC_EHDFERR` if the mappings are damaged.
    pub(crate) fn new(
        with: &VarContext,
        stored: &DatasetStorage,
        space: &Dataspace,
        number: Option<NcType>,
        list: Vec<VirtualMapping>,
    ) -> Result<Self> {
        let size = u64::from(stored.ty.size).max(1);
        if size > ELEMENT {
            return Err(ErrorKind::BadChunk
                .context(format!("virtual dataset: elements of {size} bytes are too large")));
        }
        let shape = space.dims.clone().unwrap_or_default();
        let mut left = (CHUNK / size).max(1);
        let mut chunk: Vec<u64> = Vec::new();
        for &len in shape.iter().rev() {
            let side = len.clamp(1, left);
            left /= side;
            left = left.max(1);
            chunk.push(side);
        }
        chunk.reverse();
        let mut fill = stored.fill.value.clone().filter(|bytes| bytes.len() as u64 == size);
        if let (Some(fill), Some(_)) = (&mut fill, number) {
            values::to_native(&stored.ty, fill);
        }
        let fill = fill.unwrap_or_else(|| vec![0; size as usize]);
        let work = BandBudget::default();
        let blocks = space.blocks.iter().copied().chain(std::iter::repeat(0));
        let mapped = |(mapping, blocks): (VirtualMapping, u64)| {
            let picked = match mapping.target.unlimited() {
                None => Some(SelectedElements::of(&mapping.target, &shape, 0, &work)?),
                Some(_) => None,
            };
            Ok(MappedSource { mapping, picked, blocks })
        };
        let mappings = list.into_iter().zip(blocks).map(mapped).collect::<Result<Vec<_>>>()?;
        let sources = mappings.iter().map(|mapped: &MappedSource| (&mapped.mapping, mapped.blocks));
        let kept = SourceCache::new(with.nest.share, sources);
        let (file, ty) = (Arc::clone(&with.file), stored.ty.clone());
        let with = with.clone();
        Ok(Self { file, with, ty, number, fill, shape, chunk, mappings, work, kept })
    }

    /// Returns the chunk shape.
    pub(crate) fn chunk_shape(&self) -> &[u64] {
        &self.chunk
    }

    fn chunk_bytes(&self) -> Result<usize> {
        let elements = self.chunk.iter().try_fold(1u64, |count, &side| count.checked_mul(side));
        byte_len(elements.unwrap_or(u64::MAX), self.fill.len())
    }

    /// Assembles the chunk of a key.
    fn assemble(&self, key: &Key) -> Result<Vec<u8>> {
        let numbers = key.name().split('.').filter(|part| !part.is_empty()).map(str::parse::<u64>);
        let index =
            numbers.collect::<Result<Vec<_>, _>>().ok().filter(|index| index.len() == self.shape.len());
        let index =
            index.ok_or_else(|| ErrorKind::Internal.context(format!("{key}: not the key of a chunk")))?;
        let low: Vec<u64> =
            index.iter().zip(&self.chunk).map(|(&at, &side)| at.saturating_mul(side)).collect();
        let ends = low.iter().zip(&self.chunk).zip(&self.shape);
        let high: Vec<u64> = ends.map(|((&low, &side), &len)| low.saturating_add(side).min(len)).collect();
        let bytes = self.chunk_bytes()?;
        let mut out = Vec::new();
        out.try_reserve_exact(bytes)
            .map_err(|error| ErrorKind::NoMem.context(format!("{bytes} bytes")).caused_by(error))?;
        if self.fill.iter().all(|&byte| byte == 0) {
            out.resize(bytes, 0)
        } else {
            out.extend(self.fill.iter().copied().cycle().take(bytes))
        }
        let mut target =
            ChunkBuffer { low: &low, high: &high, side: &self.chunk, bytes: &mut out, item: self.fill.len() };
        for mapped in &self.mappings {
            let at = |error: Error| {
                let SourceName { file, dataset } = &mapped.mapping.names;
                error.at(format_args!("source {dataset:?} in {file:?}"))
            };
            self.take(mapped, &mut target).map_err(at)?;
        }
        Ok(out)
    }

    /// Copies the elements of a mapping that lie in the chunk.
    fn take(&self, mapped: &MappedSource, target: &mut ChunkBuffer<'_>) -> Result<()> {
        let MappedSource { mapping, picked, blocks } = mapped;
        if let Some(picked) = picked {
            return self.copy(mapping, &mapping.names.of_block(0), picked, 0, target);
        }
        let Some((dim, axis)) = mapping.target.unlimited() else { return Ok(()) };
        let (Some(&low), Some(&high)) = (target.low.get(dim), target.high.get(dim)) else {
            return Err(damaged(format!("selection: the dataset has no dimension {dim}")));
        };
        if high <= axis.start {
            return Ok(());
        }
        if !mapping.is_numbered() {
            let names = mapping.names.of_block(0);
            let Some(source) = self.source(&names)? else { return Ok(()) };
            let along =
                mapping.source.unlimited().and_then(|(along, axis)| Some((axis, *source.shape.get(along)?)));
            let slices = along.map_or(0, |(axis, len)| axis.slices(len));
            let picked = SelectedElements::of(&mapping.target, &self.shape, slices, &self.work)?;
            return self.copy(mapping, &names, &picked, slices, target);
        }
        let first = low.saturating_sub(axis.start.saturating_add(axis.block - 1)).div_ceil(axis.stride);
        for block in first..((high - 1 - axis.start) / axis.stride + 1).min(*blocks) {
            let start = block.checked_mul(axis.stride).and_then(|by| axis.start.checked_add(by));
            let start = start.ok_or_else(|| damaged("selection: a block is out of range"))?;
            let one = SelectionAxis { start, stride: axis.block, count: 1, block: axis.block };
            let DataspaceSelection::Regular(axes) = &mapping.target else { return Ok(()) };
            let mut axes = axes.clone();
            axes[dim] = one;
            let picked =
                SelectedElements::of(&DataspaceSelection::Regular(axes), &self.shape, 0, &self.work)?;
            self.copy(mapping, &mapping.names.of_block(block), &picked, 0, target)?;
        }
        Ok(())
    }

    /// Copies the elements of a source that lie in the chunk. A source without any is not opened.
    fn copy(
        &self,
        mapping: &VirtualMapping,
        names: &SourceName,
        picked: &SelectedElements,
        slices: u64,
        target: &mut ChunkBuffer<'_>,
    ) -> Result<()> {
        if !picked.meets(target.low, target.high) {
            return Ok(());
        }
        let Some(source) = self.source(names)? else { return Ok(()) };
        let from = SelectedElements::of(&mapping.source, &source.shape, slices, &self.work)?;
        let (wanted, found) = (picked.count()?, from.count()?);
        if wanted != found {
            return Err(damaged(format!(
                "mapping: the selections differ in size (expected {wanted} elements, found {found})"
            )));
        }
        SelectionCopy { source: &source, from: &from, to: picked }.run(target)
    }

    /// Returns an open source; `None` if it does not exist.
    fn source(&self, names: &SourceName) -> Result<Option<Arc<VirtualSource>>> {
        if let Some(known) = self.kept.get(names) {
            return Ok(known);
        }
        let opened = self.open(names)?.map(Arc::new);
        self.kept.insert(names, opened.clone());
        Ok(opened)
    }

    fn open(&self, names: &SourceName) -> Result<Option<VirtualSource>> {
        let mut nest: Nesting = self.with.nest.inner()?;
        let file = match &*names.file {
            HERE => Arc::clone(&self.file),
            name => match find::file(&self.file, name)? {
                Some(file) => Arc::new(file),
                None => return Ok(None),
            },
        };
        let here = Arc::ptr_eq(&file, &self.file);
        let Some((space, stored)) = find::dataset(&file, &names.dataset, &nest)? else { return Ok(None) };
        let convert = ElementConversion::new(&stored.ty, &self.ty, self.number, here)?;
        let mut share = self.kept.share();
        if let DataLayout::Virtual(..) = stored.layout {
            // Half of the share remains for its own sources.
            share.cache /= 2;
            nest.share = share;
        }
        let mut options = self.with.options.clone();
        (options.cache_bytes, options.progress) = (Some(share.cache), None);
        let with = VarContext { file, options, nest, ..self.with.clone() };
        let inner = raw_array(&with, &names.dataset, &stored, &space)?;
        let mut source = VirtualSource {
            inner,
            shape: space.dims.unwrap_or_default(),
            size: stored.ty.size as usize,
            convert,
            more: 0,
        };
        source.more = self.kept.more(source.wanted().saturating_sub(share.cache));
        if source.more > 0 {
            let bytes = share.cache + source.more;
            source.inner.tune(source.inner.cache().bytes(bytes))?;
        }
        Ok(Some(source))
    }
}

impl VirtualSource {
    /// Returns the cache size with which each chunk is decoded once for all mappings. An array caches a chunk
    /// only if two fit.
    fn wanted(&self) -> usize {
        let shape = self.inner.chunk_shape().unwrap_or_default();
        let bytes = shape.iter().try_fold(self.size as u64, |bytes, &side| bytes.checked_mul(side));
        bytes.and_then(|bytes| usize::try_from(bytes).ok()?.checked_mul(2)).unwrap_or(usize::MAX)
    }

    /// Reads a slab, converted for the virtual dataset.
    pub(super) fn read(&self, start: &[u64], count: &[u64], stride: &[u64]) -> Result<Buffer<u8>> {
        let slab = Slab { start, count, stride: Some(stride) };
        let slab = slab.check(&self.shape, |_| false).map_err(|_| {
            damaged(format!(
                "mapping: {count:?} elements from index {start:?} with stride {stride:?} exceed the dimensions of length {:?}",
                self.shape
            ))
        })?;
        let bytes = byte_len(slab.len(), self.size)?;
        let stored = Buffer::<u8>::fill(bytes, |out| self.inner.get(&slab, self.size, out))?;
        self.convert.all(stored)
    }
}

impl ZMap for VirtualChunks {
    fn caps(&self) -> MapCaps {
        MapCaps::default()
    }

    fn len(&self, _: &Key) -> Result<Option<u64>> {
        self.chunk_bytes().map(|bytes| Some(bytes as u64))
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        // A reader may probe for bytes behind the chunk.
        if options.range.len == Some(0) || options.range.offset >= self.chunk_bytes()? as u64 {
            out.clear();
            return Ok(Some(ObjectInfo::default()));
        }
        *out = self.assemble(key)?;
        let from = usize::try_from(options.range.offset).unwrap_or(usize::MAX).min(out.len());
        out.drain(..from);
        if let Some(len) = options.range.len {
            out.truncate(usize::try_from(len).unwrap_or(usize::MAX));
        }
        Ok(Some(ObjectInfo::default()))
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        read_parallel(self, job);
    }
}

impl ChunkStore for VirtualChunks {
    fn map(&self) -> &dyn ZMap {
        self
    }

    fn object_form(&self) -> ObjectForm {
        ObjectForm::Derived
    }

    fn locate(&self, index: &[u64], key: &mut Key) {
        key.set(const { &Key::root() });
        key.push_index(index, '.');
    }
}
