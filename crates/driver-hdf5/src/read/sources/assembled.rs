//! [`Assembled`]: a virtual dataset as a map of chunks without filters, each put together out of the sources when it is read.
//!
//! Numbers come in this machine's order, converted from what the source has; other elements byte for byte, and only from sources
//! of the same type. Those of variable length lie in the heap of their file, so they are read only from the dataset's own.

use std::sync::Arc;

use nczarr_chunkio::ChunkStore;
use nczarr_dispatch::{Buffer, ByteRange, CacheConfig, Key, MapCaps, ReadJob, ZMap, byte_len, read_parallel};
use nczarr_model::{Error, ErrorKind, NcType, Result, Slab};

use super::super::cursor::bad;
use super::super::datatype::Datatype;
use super::super::file::Hdf;
use super::super::messages::{Layout, Space};
use super::super::values;
use super::super::var::{Inner, Making, raw_array};
use super::super::walk::Stored;
use super::bands::Work;
use super::convert::Convert;
use super::copy::{Copy, Target};
use super::find::{self, Nest};
use super::kept::Kept;
use super::mapping::{HERE, Mapping, Names};
use super::picked::Picked;
use super::selection::{Axis, Selection};

/// Bytes of a chunk, about.
const CHUNK: u64 = 1 << 20;

/// Bytes of an element, at most: no stored data tell that there are so many.
const ELEMENT: u64 = 16 << 20;

/// A source that was opened.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) inner: Inner,
    pub(super) shape: Vec<u64>,
    pub(super) size: usize,
    pub(super) convert: Convert,
    /// Bytes that it keeps beyond its share.
    pub(super) more: usize,
}

/// A mapping, and what is known of it.
#[derive(Debug)]
struct Mapped {
    mapping: Mapping,
    /// The elements it has of the virtual dataset, if it has an end.
    picked: Option<Picked>,
    /// How many numbered sources there are: those after the first that is missing do not count.
    blocks: u64,
}

/// The chunks of a virtual dataset.
#[derive(Debug)]
pub(crate) struct Assembled {
    file: Arc<Hdf>,
    with: Making,
    ty: Datatype,
    /// What numbers are presented as.
    number: Option<NcType>,
    /// The bytes of an element that no source has.
    fill: Vec<u8>,
    shape: Vec<u64>,
    chunk: Vec<u64>,
    mappings: Vec<Mapped>,
    work: Work,
    kept: Kept,
}

impl Assembled {
    /// The chunks of a dataset whose elements are numbers of a type, or bytes.
    ///
    /// # Errors
    /// `NC_EHDFERR` if the mappings are damaged.
    pub(crate) fn new(
        with: &Making,
        stored: &Stored,
        space: &Space,
        number: Option<NcType>,
        list: Vec<Mapping>,
    ) -> Result<Self> {
        let size = u64::from(stored.ty.size).max(1);
        if size > ELEMENT {
            return Err(ErrorKind::BadChunk.context(format!("elements of {size} bytes in a virtual dataset")));
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
        let work = Work::default();
        let blocks = space.blocks.iter().copied().chain(std::iter::repeat(0));
        let mapped = |(mapping, blocks): (Mapping, u64)| {
            let picked = match mapping.target.unlimited() {
                None => Some(Picked::of(&mapping.target, &shape, 0, &work)?),
                Some(_) => None,
            };
            Ok(Mapped { mapping, picked, blocks })
        };
        let mappings = list.into_iter().zip(blocks).map(mapped).collect::<Result<Vec<_>>>()?;
        let sources = mappings.iter().map(|mapped: &Mapped| (&mapped.mapping, mapped.blocks));
        let kept = Kept::new(with.nest.share, sources);
        let (file, ty) = (Arc::clone(&with.file), stored.ty.clone());
        let with = with.clone();
        Ok(Self { file, with, ty, number, fill, shape, chunk, mappings, work, kept })
    }

    /// The shape of a chunk.
    pub(crate) fn chunk_shape(&self) -> &[u64] {
        &self.chunk
    }

    fn chunk_bytes(&self) -> Result<usize> {
        let elements = self.chunk.iter().try_fold(1u64, |count, &side| count.checked_mul(side));
        byte_len(elements.unwrap_or(u64::MAX), self.fill.len())
    }

    /// The chunk of a key.
    fn assemble(&self, key: &Key) -> Result<Vec<u8>> {
        let numbers = key.name().split('.').filter(|part| !part.is_empty()).map(str::parse::<u64>);
        let index = numbers.collect::<Result<Vec<_>, _>>().ok().filter(|index| index.len() == self.shape.len());
        let index = index.ok_or_else(|| ErrorKind::Internal.context(format!("{key} is no chunk")))?;
        let low: Vec<u64> = index.iter().zip(&self.chunk).map(|(&at, &side)| at.saturating_mul(side)).collect();
        let ends = low.iter().zip(&self.chunk).zip(&self.shape);
        let high: Vec<u64> = ends.map(|((&low, &side), &len)| low.saturating_add(side).min(len)).collect();
        let bytes = self.chunk_bytes()?;
        let mut out = Vec::new();
        out.try_reserve_exact(bytes)
            .map_err(|error| ErrorKind::NoMem.context(format!("{bytes} bytes")).caused_by(error))?;
        match self.fill.iter().all(|&byte| byte == 0) {
            true => out.resize(bytes, 0),
            false => out.extend(self.fill.iter().copied().cycle().take(bytes)),
        }
        let mut target = Target { low: &low, high: &high, side: &self.chunk, bytes: &mut out, item: self.fill.len() };
        for mapped in &self.mappings {
            let at = |error: Error| {
                let Names { file, dataset } = &mapped.mapping.names;
                error.at(format_args!("the source {dataset:?} in {file:?}"))
            };
            self.take(mapped, &mut target).map_err(at)?;
        }
        Ok(out)
    }

    /// Copies what a mapping has of a box.
    fn take(&self, mapped: &Mapped, target: &mut Target<'_>) -> Result<()> {
        let Mapped { mapping, picked, blocks } = mapped;
        if let Some(picked) = picked {
            return self.copy(mapping, &mapping.names.of_block(0), picked, 0, target);
        }
        let Some((dim, axis)) = mapping.target.unlimited() else { return Ok(()) };
        let (Some(&low), Some(&high)) = (target.low.get(dim), target.high.get(dim)) else {
            return Err(bad(format!("selection: dimension {dim} of a dataset without it")));
        };
        if high <= axis.start {
            return Ok(());
        }
        if !mapping.is_numbered() {
            let names = mapping.names.of_block(0);
            let Some(source) = self.source(&names)? else { return Ok(()) };
            let along = mapping.source.unlimited().and_then(|(along, axis)| Some((axis, *source.shape.get(along)?)));
            let slices = along.map_or(0, |(axis, len)| axis.slices(len));
            let picked = Picked::of(&mapping.target, &self.shape, slices, &self.work)?;
            return self.copy(mapping, &names, &picked, slices, target);
        }
        let first = low.saturating_sub(axis.start.saturating_add(axis.block - 1)).div_ceil(axis.stride);
        for block in first..((high - 1 - axis.start) / axis.stride + 1).min(*blocks) {
            let start = block.checked_mul(axis.stride).and_then(|by| axis.start.checked_add(by));
            let start = start.ok_or_else(|| bad("selection: a block beyond all numbers"))?;
            let one = Axis { start, stride: axis.block, count: 1, block: axis.block };
            let Selection::Regular(axes) = &mapping.target else { return Ok(()) };
            let mut axes = axes.clone();
            axes[dim] = one;
            let picked = Picked::of(&Selection::Regular(axes), &self.shape, 0, &self.work)?;
            self.copy(mapping, &mapping.names.of_block(block), &picked, 0, target)?;
        }
        Ok(())
    }

    /// Copies what a source has of a box; it is not even looked for where it has nothing.
    fn copy(
        &self,
        mapping: &Mapping,
        names: &Names,
        picked: &Picked,
        slices: u64,
        target: &mut Target<'_>,
    ) -> Result<()> {
        if !picked.meets(target.low, target.high) {
            return Ok(());
        }
        let Some(source) = self.source(names)? else { return Ok(()) };
        let from = Picked::of(&mapping.source, &source.shape, slices, &self.work)?;
        let (wanted, found) = (picked.count()?, from.count()?);
        if wanted != found {
            return Err(bad(format!("{found} elements are mapped on {wanted}")));
        }
        Copy { source: &source, from: &from, to: picked }.run(target)
    }

    /// A source; `None` if it is not there.
    fn source(&self, names: &Names) -> Result<Option<Arc<Source>>> {
        if let Some(known) = self.kept.get(names) {
            return Ok(known);
        }
        let opened = self.open(names)?.map(Arc::new);
        self.kept.insert(names, opened.clone());
        Ok(opened)
    }

    fn open(&self, names: &Names) -> Result<Option<Source>> {
        let mut nest: Nest = self.with.nest.inner()?;
        let file = match &*names.file {
            HERE => Arc::clone(&self.file),
            name => match find::file(&self.file, name)? {
                Some(file) => Arc::new(file),
                None => return Ok(None),
            },
        };
        let here = Arc::ptr_eq(&file, &self.file);
        let Some((space, stored)) = find::dataset(&file, &names.dataset, &nest)? else { return Ok(None) };
        let convert = Convert::new(&stored.ty, &self.ty, self.number, here)?;
        let mut share = self.kept.share();
        if let Layout::Virtual(..) = stored.layout {
            // Half for what its own sources keep.
            share.cache /= 2;
            nest.share = share;
        }
        let mut options = self.with.options.clone();
        (options.cache_bytes, options.progress) = (Some(share.cache), None);
        let with = Making { file, options, nest, ..self.with.clone() };
        let inner = raw_array(&with, &names.dataset, &stored, &space)?;
        let mut source =
            Source { inner, shape: space.dims.unwrap_or_default(), size: stored.ty.size as usize, convert, more: 0 };
        source.more = self.kept.more(source.wanted().saturating_sub(share.cache));
        if source.more > 0 {
            let bytes = share.cache + source.more;
            source.inner.tune(CacheConfig { bytes, ..source.inner.cache() })?;
        }
        Ok(Some(source))
    }
}

impl Source {
    /// The bytes that have to be kept for a chunk to be decoded once for all mappings that have some of it: an array keeps
    /// those of which two would fit.
    fn wanted(&self) -> usize {
        let shape = self.inner.chunk_shape().unwrap_or_default();
        let bytes = shape.iter().try_fold(self.size as u64, |bytes, &side| bytes.checked_mul(side));
        bytes.and_then(|bytes| usize::try_from(bytes).ok()?.checked_mul(2)).unwrap_or(usize::MAX)
    }

    /// The elements of a slab, as the virtual dataset has them.
    pub(super) fn read(&self, start: &[u64], count: &[u64], stride: &[u64]) -> Result<Buffer<u8>> {
        let ends = start.iter().zip(count).zip(stride).zip(&self.shape);
        for (((&start, &count), &stride), &len) in ends {
            let last = count.checked_sub(1).and_then(|steps| steps.checked_mul(stride)?.checked_add(start));
            if last.is_none_or(|last| last >= len) {
                return Err(bad(format!(
                    "{count} elements from {start} on, one each {stride}, are mapped along a dimension of {len}"
                )));
            }
        }
        let slab = Slab { start, count, stride: Some(stride) };
        let bytes = byte_len(slab.len(), self.size)?;
        let stored = Buffer::<u8>::fill(bytes, |out| self.inner.get(&slab, self.size, out))?;
        self.convert.all(stored)
    }
}

impl ZMap for Assembled {
    fn caps(&self) -> MapCaps {
        MapCaps::default()
    }

    fn len(&self, _: &Key) -> Result<Option<u64>> {
        self.chunk_bytes().map(|bytes| Some(bytes as u64))
    }

    fn read(&self, key: &Key, range: ByteRange, out: &mut Vec<u8>) -> Result<bool> {
        // Who reads a chunk may ask whether there is more.
        if range.len == Some(0) || range.offset >= self.chunk_bytes()? as u64 {
            out.clear();
            return Ok(true);
        }
        *out = self.assemble(key)?;
        let from = usize::try_from(range.offset).unwrap_or(usize::MAX).min(out.len());
        out.drain(..from);
        if let Some(len) = range.len {
            out.truncate(usize::try_from(len).unwrap_or(usize::MAX));
        }
        Ok(true)
    }

    fn search(&self, _: &Key) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        read_parallel(self, job);
    }
}

impl ChunkStore for Assembled {
    fn map(&self) -> &dyn ZMap {
        self
    }

    fn locate(&self, index: &[u64], key: &mut Key) {
        key.set(const { &Key::root() });
        key.push_index(index, '.');
    }
}
