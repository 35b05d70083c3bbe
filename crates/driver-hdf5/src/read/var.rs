//! Opens the data of a variable: a chunked or contiguous array, and the conversion of its elements.

use std::sync::Arc;

use nczarr_chunkio::{
    ArrayDim, ArraySpec, BeyondEnd, ByteStore, ChunkStore, ChunkedArray, DimOrder, ElementLayout,
    ElementPiece, FlatArray, FlatSpec,
};
use nczarr_codec::Filter;
use nczarr_dispatch::{
    CacheConfig, EncodedChunk, EncodedChunks, MemMut, Options, Registry, StoredChunks, VarData, byte_len,
};
use nczarr_model::{CheckedSlab, ErrorKind, Model, NcType, Result, Slab, TypeId, Values, VarId};
use nczarr_runtime::Buffer;

use super::chunks::{ChunkLookup, ChunkObjects};
use super::cursor::{UNDEFINED, damaged};
use super::datatype::{Datatype, DatatypeClass};
use super::external::ExternalData;
use super::file::HdfFile;
use super::file_bytes::FileBytes;
use super::index::{ChunkTable, LazyChunkIndex};
use super::masked_pipeline::MaskedPipeline;
use super::messages::{ChunkIndexKind, DataLayout, Dataspace, FilterMessage};
use super::padded::PaddedVar;
use super::raw_chunks::{self, ReadsStored};
use super::remote::RemoteArray;
use super::short::ShortVar;
use super::values::{self, ElementDecoder};
use super::virtual_dataset::{Nesting, VirtualChunks, VirtualMapping};
use super::walk::DatasetStorage;
use super::widened::{BitField, WidenedVar};

/// Everything that opening the data of a variable needs.
#[derive(Debug, Clone)]
pub(crate) struct VarContext {
    pub(crate) file: Arc<HdfFile>,
    pub(crate) options: Options,
    pub(crate) registry: Arc<Registry>,
    /// The nesting of virtual datasets.
    pub(crate) nest: Nesting,
}

/// The type under which elements other than numbers are read.
const RAW: NcType = NcType::User(TypeId(u32::MAX));

/// Most elements of a chunk of a dataset without stored data.
const BLANK: u64 = 1 << 16;

/// The description of an array.
#[derive(Clone)]
struct ArrayDescription<'a> {
    name: &'a str,
    dims: Vec<ArrayDim>,
    /// Type and byte order (big-endian) of numbers; `None` if elements are read as bytes.
    number: Option<(NcType, bool)>,
    stored: &'a DatasetStorage,
    space: &'a Dataspace,
}

/// Whether numbers or single characters are big-endian; `None` for other elements.
pub(super) fn byte_order(ty: &Datatype) -> Option<bool> {
    match &ty.class {
        DatatypeClass::Integer { big_endian, .. } if ty.is_whole() => Some(*big_endian),
        DatatypeClass::Float { big_endian, half: None, .. } => Some(*big_endian),
        DatatypeClass::Text { .. } if ty.size == 1 => Some(false),
        _ => None,
    }
}

/// Opens the data of a variable.
///
/// # Errors
/// `NC_EHDFERR` if its index is damaged; `NC_ENOFILTER` if a filter is unknown.
pub(crate) fn make(
    with: &VarContext,
    model: &Model,
    id: VarId,
    stored: &DatasetStorage,
    space: &Dataspace,
) -> Result<Arc<dyn VarData>> {
    let var = model.var(id)?;
    let mut dims = Vec::with_capacity(var.dims.len());
    for &dim in &var.dims {
        let dim = model.dim(dim)?;
        dims.push(ArrayDim { len: Arc::clone(dim.shared_len()), unlimited: dim.unlimited });
    }
    let number = byte_order(&stored.ty).map(|big_endian| (var.xtype, big_endian));
    let inner = array(with, ArrayDescription { name: &var.name, dims, number, stored, space })?;
    let padding = padding(model, id, stored, space)?;
    let data: Arc<dyn VarData> = match (number, inner) {
        (None, inner) => raw(with, var.xtype, stored, inner),
        (Some(_), RawArray::Chunked(array)) => Arc::new(array),
        (Some(_), RawArray::Far(array)) => array,
        (Some(_), RawArray::Flat(array)) if padding.is_none() && is_short(space, &model.shape(id)?) => {
            Arc::new(ShortVar(array))
        }
        (Some(_), RawArray::Flat(array)) => Arc::new(array),
    };
    Ok(match padding {
        Some((own, value)) => Arc::new(PaddedVar { inner: data, own, value }),
        None => data,
    })
}

/// Returns the own shape of a variable that is shorter than its unlimited dimension, and the default fill
/// value to pad it with. `None` if no padding is needed.
pub(crate) fn padding(
    model: &Model,
    id: VarId,
    stored: &DatasetStorage,
    space: &Dataspace,
) -> Result<Option<(Vec<u64>, Values)>> {
    let own = space.dims.as_deref().unwrap_or_default();
    if stored.value().is_some() || !is_short(space, &model.shape(id)?) {
        return Ok(None);
    }
    let value = nczarr_model::fill::default(model.var(id)?.xtype);
    Ok(value.map(|value| (own.to_vec(), value)))
}

/// Whether a dataset is shorter than the dimensions of its variable.
fn is_short(space: &Dataspace, lens: &[u64]) -> bool {
    space.dims.as_deref().unwrap_or_default().iter().zip(lens).any(|(own, len)| own < len)
}

/// Opens a dataset as elements of raw bytes.
///
/// # Errors
/// As [`make`].
pub(super) fn raw_array(
    with: &VarContext,
    name: &str,
    stored: &DatasetStorage,
    space: &Dataspace,
) -> Result<RawArray> {
    let dims = space.dims.iter().flatten();
    let dims = dims.map(|&len| ArrayDim { len: Arc::new(len.into()), unlimited: false }).collect();
    array(with, ArrayDescription { name, dims, number: None, stored, space })
}

fn array(with: &VarContext, array: ArrayDescription<'_>) -> Result<RawArray> {
    let ArrayDescription { name, number, stored, space, .. } = array;
    match &stored.layout {
        DataLayout::Compact(_) | DataLayout::Contiguous(..) | DataLayout::External(_)
            if is_there(&stored.layout) =>
        {
            let (store, begin) = flat_store(&with.file, stored, space)?;
            let dims = space.dims.iter().flatten();
            let mut dims: Vec<ArrayDim> =
                dims.map(|&len| ArrayDim { len: Arc::new(len.into()), unlimited: false }).collect();
            let (ty, big_endian) = number.unwrap_or((NcType::Char, false));
            if number.is_none() {
                dims.push(ArrayDim { len: Arc::new(u64::from(stored.ty.size).into()), unlimited: false });
            }
            Ok(RawArray::Flat(FlatArray::new(FlatSpec {
                name: name.to_owned(),
                dims,
                ty,
                big_endian,
                begin,
                record: None,
                store,
                options: with.options.clone(),
                writable: false,
                beyond_end: BeyondEnd::Error,
            })?))
        }
        DataLayout::Virtual(address, index) => {
            let list = VirtualMapping::list(&with.file, *address, *index)?;
            let store = VirtualChunks::new(with, stored, space, number.map(|(ty, _)| ty), list)?;
            let number = number.map(|(ty, _)| (ty, cfg!(target_endian = "big")));
            let shape = store.chunk_shape().to_vec();
            chunked(with, ArrayDescription { number, ..array }, shape, Vec::new(), Arc::new(store))
                .map(RawArray::Chunked)
        }
        _ => stored_chunks(with, array),
    }
}

fn raw(with: &VarContext, xtype: NcType, stored: &DatasetStorage, inner: RawArray) -> Arc<dyn VarData> {
    if let Some(bits) = BitField::of(&stored.ty) {
        return Arc::new(WidenedVar { inner, bits });
    }
    let fixed = xtype != NcType::String && values::is_fixed(&stored.ty);
    Arc::new(RawVar { file: Arc::clone(&with.file), inner, ty: stored.ty.clone(), xtype, fixed })
}

/// Whether a layout has stored data.
fn is_there(layout: &DataLayout) -> bool {
    !matches!(layout, DataLayout::Contiguous(UNDEFINED, _))
}

fn flat_store(
    file: &Arc<HdfFile>,
    stored: &DatasetStorage,
    space: &Dataspace,
) -> Result<(Arc<dyn ByteStore>, u64)> {
    let wanted = space.len()?.checked_mul(stored.ty.size.into());
    let wanted = wanted.ok_or_else(|| {
        damaged(format!("shape {:?} with elements of {} bytes is too large", space.dims, stored.ty.size))
    })?;
    let (len, place): (_, (Arc<dyn ByteStore>, u64)) = match &stored.layout {
        DataLayout::Compact(bytes) => {
            (Some(bytes.len() as u64), (Arc::new(FileBytes::Memory(bytes.clone().into())), 0))
        }
        DataLayout::Contiguous(address, len) => {
            (*len, (Arc::<FileBytes>::clone(&file.store), file.place(*address, wanted)?))
        }
        DataLayout::External(stretches) => {
            (None, (Arc::new(ExternalData::open(file, stretches, wanted)?), 0))
        }
        _ => return Err(ErrorKind::Internal.context("internal: the array is chunked")),
    };
    match len {
        Some(len) if len < wanted => {
            Err(damaged(format!("the data are too short (expected {wanted} bytes, found {len})")))
        }
        _ => Ok(place),
    }
}

type Filters = Vec<Box<dyn Filter>>;

/// Makes the filters of a dataset.
fn filters(with: &VarContext, stored: &DatasetStorage) -> Result<Filters> {
    let filter = |filter: &FilterMessage| with.registry.filter_by_id(filter.id)?.parse_hdf5(&filter.params);
    stored.filters.iter().map(filter).collect()
}

/// Makes the array of a dataset with stored data.
fn stored_chunks(with: &VarContext, array: ArrayDescription<'_>) -> Result<RawArray> {
    let ArrayDescription { stored, space, .. } = array;
    let size = u64::from(stored.ty.size);
    let mut filters = filters(with, stored)?;
    let (chunk_shape, layout) = match &stored.layout {
        DataLayout::Chunked { shape, .. } => (shape.clone(), stored.layout.clone()),
        // Nothing is stored, so any chunk shape will do.
        _ => {
            let mut left = BLANK;
            let mut shape: Vec<u64> = Vec::new();
            for &len in space.dims.iter().flatten().rev() {
                let n = len.clamp(1, left.max(1));
                left /= n;
                shape.push(n);
            }
            shape.reverse();
            let layout = DataLayout::Chunked {
                shape: shape.clone(),
                index: ChunkIndexKind::Tree1,
                address: UNDEFINED,
                length_bytes: 4,
                plain_edges: false,
            };
            (shape, layout)
        }
    };
    // HDF5 makes no chunk larger than the maximum length of a dimension.
    let beyond = |(&chunk, &most): (&u64, &u64)| most != UNDEFINED && chunk > most.max(1);
    if chunk_shape.iter().zip(&space.most).any(beyond) {
        return Err(damaged(format!(
            "chunk shape {chunk_shape:?} exceeds the maximum shape {:?}",
            space.most
        )));
    }
    let bytes = chunk_shape.iter().try_fold(size, |bytes, &n| bytes.checked_mul(n));
    let bytes = bytes.filter(|&bytes| bytes <= with.options.limits.chunk);
    let bytes = bytes.ok_or_else(|| {
        ErrorKind::BadChunk
            .context(format!("chunk shape {chunk_shape:?} with elements of {size} bytes is too large"))
    })?;
    let file = &with.file;
    if file.is_remote() {
        let known = LazyChunkIndex::new(Arc::clone(file), layout, space, bytes, filters.len())?;
        return far(with, array, chunk_shape, filters, Arc::new(known))
            .map(|far| RawArray::Far(Arc::new(far)));
    }
    let mut table = ChunkTable::read(file, &layout, space, bytes, !filters.is_empty())?;
    if let DataLayout::Chunked { plain_edges: true, shape, .. } = &layout {
        table.skip_at_edges(space.dims.as_deref().unwrap_or_default(), shape);
    }
    let known = u32::MAX.checked_shl(filters.len() as u32).unwrap_or(0);
    if table.chunks().iter().any(|chunk| chunk.skipped != u32::MAX && chunk.skipped & known != 0) {
        return Err(damaged(format!(
            "chunk index: a filter mask has bits for more than the {} filters",
            filters.len()
        )));
    }
    let masked = !filters.is_empty() && table.chunks().iter().any(|chunk| chunk.skipped != 0);
    if masked {
        filters = vec![Box::new(MaskedPipeline::new(filters))];
    }
    let store = ChunkObjects::new(Arc::clone(file), &stored.layout, ChunkLookup::All(table), masked);
    chunked(with, array, chunk_shape, filters, Arc::new(store)).map(RawArray::Chunked)
}

/// As [`stored_chunks`], for a remote file. Which filters were left out is not known in advance.
fn far(
    with: &VarContext,
    array: ArrayDescription<'_>,
    chunk_shape: Vec<u64>,
    plain_filters: Filters,
    known: Arc<LazyChunkIndex>,
) -> Result<RemoteArray> {
    let store = |masked| {
        let wanted = ChunkLookup::Wanted(Arc::clone(&known));
        Arc::new(ChunkObjects::new(Arc::clone(&with.file), &array.stored.layout, wanted, masked))
    };
    let masked = if plain_filters.is_empty() {
        None
    } else {
        let filters: Filters = vec![Box::new(MaskedPipeline::new(filters(with, array.stored)?))];
        Some(chunked(with, array.clone(), chunk_shape.clone(), filters, store(true))?)
    };
    let plain = chunked(with, array, chunk_shape.clone(), plain_filters, store(false))?;
    Ok(RemoteArray { known: Arc::clone(&known), chunk_shape, plain, masked })
}

fn chunked(
    with: &VarContext,
    array: ArrayDescription<'_>,
    chunk_shape: Vec<u64>,
    filters: Filters,
    store: Arc<dyn ChunkStore>,
) -> Result<ChunkedArray> {
    let ArrayDescription { name, dims, number, stored, .. } = array;
    let fill = stored.value();
    let (element, fill) = match number {
        Some((ty, big_endian)) => {
            let fill = fill.and_then(|bytes| values::numbers(&stored.ty, ty, bytes));
            (ElementLayout::Number { ty, big_endian }, fill)
        }
        None => {
            let pieces = vec![ElementPiece::Bytes(stored.ty.size as usize)];
            (
                ElementLayout::Packed { ty: RAW, pieces },
                fill.map(|bytes| Values::User(TypeId(u32::MAX), bytes.to_vec())),
            )
        }
    };
    ChunkedArray::new(ArraySpec {
        name: name.to_owned(),
        dims,
        chunk_shape,
        element,
        order: DimOrder::C,
        filters,
        fill,
        shards: Vec::new(),
        store,
        options: with.options.clone(),
        writable: false,
    })
}

/// The data of elements other than numbers: read as stored, then converted.
#[derive(Debug)]
struct RawVar {
    file: Arc<HdfFile>,
    inner: RawArray,
    ty: Datatype,
    xtype: NcType,
    /// Whether elements have a fixed size.
    fixed: bool,
}

/// The elements as stored.
#[derive(Debug)]
// Each variable has one, and it is never moved.
#[allow(clippy::large_enum_variant)]
pub(super) enum RawArray {
    Chunked(ChunkedArray),
    /// Chunked, in a remote file.
    Far(Arc<RemoteArray>),
    /// Contiguous. The last dimension is the bytes of an element.
    Flat(FlatArray),
}

impl RawArray {
    /// Reads the stored bytes of elements of `size` bytes.
    pub(super) fn get(
        &self,
        slab: &CheckedSlab<'_>,
        size: usize,
        out: &mut nczarr_runtime::OutBuf<'_>,
    ) -> Result<()> {
        match self {
            Self::Chunked(array) => array.get(slab, MemMut::Fixed { ty: RAW, out }),
            Self::Far(array) => array.get(slab, MemMut::Fixed { ty: RAW, out }),
            Self::Flat(array) => {
                with_bytes(array, slab, size, |slab| array.get(slab, MemMut::Fixed { ty: NcType::Char, out }))
            }
        }
    }

    /// Decodes the bytes of a chunk to the stored bytes of its elements.
    pub(super) fn decode(
        &self,
        chunk: &CheckedSlab<'_>,
        stored: &EncodedChunk,
        out: &mut nczarr_runtime::OutBuf<'_>,
    ) -> Result<()> {
        let none = || ErrorKind::Internal.context("no chunks are stored");
        self.encoded_chunks().ok_or_else(none)?.decode(chunk, stored, MemMut::Fixed { ty: RAW, out })
    }

    pub(super) fn encoded_chunks(&self) -> Option<&dyn EncodedChunks> {
        match self {
            Self::Chunked(array) => array.encoded_chunks(),
            Self::Far(array) => array.encoded_chunks(),
            Self::Flat(_) => None,
        }
    }

    pub(super) fn look(&self, slab: &CheckedSlab<'_>, size: usize) -> Result<()> {
        match self {
            Self::Chunked(array) => array.check_readable(slab),
            Self::Far(array) => array.check_readable(slab),
            Self::Flat(array) => with_bytes(array, slab, size, |slab| array.check_readable(slab)),
        }
    }

    pub(super) fn is_absent(&self, slab: &CheckedSlab<'_>) -> Result<bool> {
        match self {
            Self::Chunked(array) => array.is_absent(slab),
            Self::Far(array) => array.is_absent(slab),
            Self::Flat(_) => Ok(false),
        }
    }

    pub(super) fn stored_chunks(&self) -> Result<Option<StoredChunks>> {
        match self {
            Self::Chunked(array) => array.stored_chunks(),
            Self::Far(array) => array.stored_chunks(),
            Self::Flat(_) => Ok(None),
        }
    }

    pub(super) fn tune(&self, cache: CacheConfig) -> Result<()> {
        match self {
            Self::Chunked(array) => array.set_chunk_cache(cache),
            Self::Far(array) => array.set_chunk_cache(cache),
            Self::Flat(array) => array.set_chunk_cache(cache),
        }
    }

    pub(super) fn cache(&self) -> CacheConfig {
        match self {
            Self::Chunked(array) => array.chunk_cache(),
            Self::Far(array) => array.chunk_cache(),
            Self::Flat(array) => array.chunk_cache(),
        }
    }

    pub(super) fn chunk_shape(&self) -> Option<Vec<u64>> {
        match self {
            Self::Chunked(array) => array.chunk_shape(),
            Self::Far(array) => array.chunk_shape(),
            Self::Flat(_) => None,
        }
    }
}

/// Calls `work` with a slab of `array` that has the bytes of an element as its last dimension.
fn with_bytes<T>(
    array: &FlatArray,
    slab: &CheckedSlab<'_>,
    size: usize,
    work: impl FnOnce(&CheckedSlab<'_>) -> Result<T>,
) -> Result<T> {
    let more = |list: &[u64], last: u64| list.iter().copied().chain([last]).collect::<Vec<_>>();
    let (start, count) = (more(slab.start, 0), more(slab.count, size as u64));
    let stride = slab.stride.map(|stride| more(stride, 1));
    work(&array.check_read(&Slab { start: &start, count: &count, stride: stride.as_deref() })?)
}

impl RawVar {
    /// Converts the elements of a slab. `read` reads their stored bytes.
    fn convert(
        &self,
        slab: &CheckedSlab<'_>,
        out: MemMut<'_, '_>,
        read: impl FnOnce(&mut nczarr_runtime::OutBuf<'_>) -> Result<()>,
    ) -> Result<()> {
        let size = self.ty.size as usize;
        match out {
            MemMut::Fixed { ty, out } if self.fixed => {
                if ty != self.xtype {
                    let what = "elements of a user-defined type cannot be converted";
                    return Err(ErrorKind::BadType.context(what));
                }
                read(out)?;
                values::to_native(&self.ty, out.filled_mut());
                Ok(())
            }
            MemMut::Strings(strings) if !self.fixed => {
                let bytes = byte_len(slab.len(), size)?;
                let bytes = Buffer::<u8>::fill(bytes, read)?;
                let count = slab.len();
                if strings.len() as u64 != count {
                    return Err(ErrorKind::Inval.context(format!(
                        "wrong number of strings in the buffer (expected {count}, found {})",
                        strings.len()
                    )));
                }
                ElementDecoder::new(&self.file).strings(&self.ty, &bytes, strings)
            }
            MemMut::Strings(_) => {
                Err(ErrorKind::Char.context("the elements are not text; read them as numbers or bytes"))
            }
            _ => {
                Err(ErrorKind::Char
                    .context("the elements are text or of variable length; read them as strings"))
            }
        }
    }
}

raw_chunks::impl_encoded_chunks!(RawVar);

impl ReadsStored for RawVar {
    fn stored(&self) -> &RawArray {
        &self.inner
    }

    fn element(&self) -> String {
        if self.fixed {
            return format!("{:?}", self.ty);
        }
        // Bytes of a chunk mean nothing in another file.
        format!("{:?}, references into the file at {:p}", self.ty, Arc::as_ptr(&self.file))
    }

    fn decode_and_convert(
        &self,
        chunk: &CheckedSlab<'_>,
        stored: &EncodedChunk,
        out: MemMut<'_, '_>,
    ) -> Result<()> {
        self.convert(chunk, out, |out| self.inner.decode(chunk, stored, out))
    }
}

impl VarData for RawVar {
    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        self.convert(slab, out, |out| self.inner.get(slab, self.ty.size as usize, out))
    }

    fn encoded_chunks(&self) -> Option<&dyn EncodedChunks> {
        self.inner.encoded_chunks().map(|_| self as _)
    }

    fn check_readable(&self, slab: &CheckedSlab<'_>) -> Result<()> {
        self.inner.look(slab, self.ty.size as usize)
    }

    fn is_absent(&self, slab: &CheckedSlab<'_>) -> Result<bool> {
        self.inner.is_absent(slab)
    }

    fn stored_chunks(&self) -> Result<Option<StoredChunks>> {
        self.inner.stored_chunks()
    }

    fn set_chunk_cache(&self, cache: CacheConfig) -> Result<()> {
        self.inner.tune(cache)
    }

    fn chunk_cache(&self) -> CacheConfig {
        self.inner.cache()
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        self.inner.chunk_shape()
    }
}
