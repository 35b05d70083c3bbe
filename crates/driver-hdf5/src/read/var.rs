//! The data of a variable: an array in chunks or in one piece, and what is made of its elements.

use std::sync::Arc;

use nczarr_chunkio::{
    ArrayDim, ArraySpec, ByteStore, ChunkStore, ChunkedArray, Element, FlatArray, FlatSpec, Order, Piece, Short,
};
use nczarr_dispatch::{Buffer, CacheConfig, Filter, MemMut, Options, Registry, StoredChunks, VarData, byte_len};
use nczarr_model::{ErrorKind, Model, NcType, Result, Slab, TypeId, Values, VarId};

use super::beyond::Beyond;
use super::chunks::{Chunks, Places};
use super::cursor::{UNDEFINED, bad};
use super::datatype::{Class, Datatype};
use super::external::External;
use super::far::Far;
use super::file::Hdf;
use super::index::{Known, Table};
use super::masked::Masked;
use super::messages::{FilterMessage, Index, Layout, Space};
use super::partial::{Bits, Partial};
use super::sources::{Assembled, Mapping, Nest};
use super::store::Store;
use super::values::{self, Decoder};
use super::walk::Stored;

/// What the data of a file are made with.
#[derive(Debug, Clone)]
pub(crate) struct Making {
    pub(crate) file: Arc<Hdf>,
    pub(crate) options: Options,
    pub(crate) registry: Arc<Registry>,
    /// In how many virtual datasets they are.
    pub(crate) nest: Nest,
}

/// The type under which stored elements are read that are not numbers.
const RAW: NcType = NcType::User(TypeId(u32::MAX));

/// Elements of a chunk that nothing is stored of, at most.
const BLANK: u64 = 1 << 16;

/// What is made of a dataset.
#[derive(Clone)]
struct Array<'a> {
    name: &'a str,
    dims: Vec<ArrayDim>,
    /// Of what numbers: a type and whether they are big-endian; `None`: elements are their bytes.
    number: Option<(NcType, bool)>,
    stored: &'a Stored,
    space: &'a Space,
}

/// Whether numbers, and single characters, are big-endian; `None`: elements are something else.
pub(super) fn byte_order(ty: &Datatype) -> Option<bool> {
    match &ty.class {
        Class::Integer { big_endian, .. } if ty.is_whole() => Some(*big_endian),
        Class::Float { big_endian, half: None, .. } => Some(*big_endian),
        Class::Text if ty.size == 1 => Some(false),
        _ => None,
    }
}

/// Makes the data of a variable.
///
/// # Errors
/// `NC_EHDFERR` if its index is damaged; `NC_ENOFILTER` if a filter is unknown.
pub(crate) fn make(
    with: &Making,
    model: &Model,
    id: VarId,
    stored: &Stored,
    space: &Space,
) -> Result<Arc<dyn VarData>> {
    let var = model.var(id)?;
    let mut dims = Vec::with_capacity(var.dims.len());
    for &dim in &var.dims {
        let dim = model.dim(dim)?;
        dims.push(ArrayDim { len: Arc::clone(dim.shared_len()), unlimited: dim.unlimited });
    }
    let number = byte_order(&stored.ty).map(|big_endian| (var.xtype, big_endian));
    let inner = array(with, Array { name: &var.name, dims, number, stored, space })?;
    let data = match (number, inner) {
        (None, inner) => raw(with, var.xtype, stored, inner),
        (Some(_), Inner::Chunked(array)) => Arc::new(array),
        (Some(_), Inner::Far(array)) => array,
        (Some(_), Inner::Flat(array)) => Arc::new(array),
    };
    Ok(match beyond(model, id, stored, space)? {
        Some((own, value)) => Arc::new(Beyond { inner: data, own, value }),
        None => data,
    })
}

/// The own shape of a variable that is shorter than an unlimited dimension, and what is read beyond: the default fill
/// value, as netCDF-C has it. `None` where that is what is read anyway.
pub(crate) fn beyond(model: &Model, id: VarId, stored: &Stored, space: &Space) -> Result<Option<(Vec<u64>, Values)>> {
    let own = space.dims.as_deref().unwrap_or_default();
    if stored.value().is_some() || own.iter().zip(model.shape(id)?).all(|(&own, len)| own >= len) {
        return Ok(None);
    }
    let value = nczarr_model::fill::default(model.var(id)?.xtype);
    Ok(value.map(|value| (own.to_vec(), value)))
}

/// The elements of a dataset as their bytes, whatever they are.
///
/// # Errors
/// As [`make`].
pub(super) fn raw_array(with: &Making, name: &str, stored: &Stored, space: &Space) -> Result<Inner> {
    let dims = space.dims.iter().flatten();
    let dims = dims.map(|&len| ArrayDim { len: Arc::new(len.into()), unlimited: false }).collect();
    array(with, Array { name, dims, number: None, stored, space })
}

fn array(with: &Making, array: Array<'_>) -> Result<Inner> {
    let Array { name, number, stored, space, .. } = array;
    match &stored.layout {
        Layout::Compact(_) | Layout::Contiguous(..) | Layout::External(_) if is_there(&stored.layout) => {
            let (store, begin) = flat_store(&with.file, stored, space)?;
            let dims = space.dims.iter().flatten();
            let mut dims: Vec<ArrayDim> =
                dims.map(|&len| ArrayDim { len: Arc::new(len.into()), unlimited: false }).collect();
            let (ty, big_endian) = number.unwrap_or((NcType::Char, false));
            if number.is_none() {
                dims.push(ArrayDim { len: Arc::new(u64::from(stored.ty.size).into()), unlimited: false });
            }
            Ok(Inner::Flat(FlatArray::new(FlatSpec {
                name: name.to_owned(),
                dims,
                ty,
                big_endian,
                begin,
                record: None,
                store,
                options: with.options.clone(),
                writable: false,
                short: Short::Error,
            })?))
        }
        Layout::Virtual(address, index) => {
            let list = Mapping::list(&with.file, *address, *index)?;
            let store = Assembled::new(with, stored, space, number.map(|(ty, _)| ty), list)?;
            let number = number.map(|(ty, _)| (ty, cfg!(target_endian = "big")));
            let shape = store.chunk_shape().to_vec();
            chunked(with, Array { number, ..array }, shape, Vec::new(), Arc::new(store)).map(Inner::Chunked)
        }
        _ => stored_chunks(with, array),
    }
}

fn raw(with: &Making, xtype: NcType, stored: &Stored, inner: Inner) -> Arc<dyn VarData> {
    if let Some(bits) = Bits::of(&stored.ty) {
        return Arc::new(Partial { inner, bits });
    }
    let fixed = xtype != NcType::String && values::is_fixed(&stored.ty);
    Arc::new(Raw { file: Arc::clone(&with.file), inner, ty: stored.ty.clone(), xtype, fixed })
}

/// Whether there is something to read.
fn is_there(layout: &Layout) -> bool {
    !matches!(layout, Layout::Contiguous(UNDEFINED, _))
}

fn flat_store(file: &Arc<Hdf>, stored: &Stored, space: &Space) -> Result<(Arc<dyn ByteStore>, u64)> {
    let wanted = space.len()?.checked_mul(stored.ty.size.into());
    let wanted = wanted.ok_or_else(|| bad(format!("{:?} elements of {} bytes", space.dims, stored.ty.size)))?;
    let (len, place): (_, (Arc<dyn ByteStore>, u64)) = match &stored.layout {
        Layout::Compact(bytes) => (Some(bytes.len() as u64), (Arc::new(Store::Memory(bytes.clone().into())), 0)),
        Layout::Contiguous(address, len) => (*len, (Arc::<Store>::clone(&file.store), file.place(*address, wanted)?)),
        Layout::External(stretches) => (None, (Arc::new(External::open(file, stretches, wanted)?), 0)),
        _ => return Err(ErrorKind::Internal.context("an array in chunks")),
    };
    match len {
        Some(len) if len < wanted => Err(bad(format!("{len} bytes are stored, {wanted} are needed"))),
        _ => Ok(place),
    }
}

type Filters = Vec<Box<dyn Filter>>;

/// The filters of a dataset.
fn filters(with: &Making, stored: &Stored) -> Result<Filters> {
    let filter = |filter: &FilterMessage| with.registry.filter_by_id(filter.id)?.parse_hdf5(&filter.params);
    stored.filters.iter().map(filter).collect()
}

/// An array of the chunks of a dataset that are stored.
fn stored_chunks(with: &Making, array: Array<'_>) -> Result<Inner> {
    let Array { stored, space, .. } = array;
    let size = u64::from(stored.ty.size);
    let mut filters = filters(with, stored)?;
    let (chunk_shape, layout) = match &stored.layout {
        Layout::Chunked { shape, .. } => (shape.clone(), stored.layout.clone()),
        // Nothing is stored: chunks of any shape do.
        _ => {
            let mut left = BLANK;
            let mut shape: Vec<u64> = Vec::new();
            for &len in space.dims.iter().flatten().rev() {
                let n = len.clamp(1, left.max(1));
                left /= n;
                shape.push(n);
            }
            shape.reverse();
            let layout = Layout::Chunked {
                shape: shape.clone(),
                index: Index::Tree1,
                address: UNDEFINED,
                length_bytes: 4,
                plain_edges: false,
            };
            (shape, layout)
        }
    };
    // HDF5 makes no chunks that reach beyond what a dimension can ever be.
    let beyond = |(&chunk, &most): (&u64, &u64)| most != UNDEFINED && chunk > most.max(1);
    if chunk_shape.iter().zip(&space.most).any(beyond) {
        return Err(bad(format!("chunks of {chunk_shape:?} in at most {:?}", space.most)));
    }
    let bytes = chunk_shape.iter().try_fold(size, |bytes, &n| bytes.checked_mul(n));
    let bytes = bytes.filter(|&bytes| bytes <= with.options.limits.chunk);
    let bytes = bytes
        .ok_or_else(|| ErrorKind::BadChunk.context(format!("chunks of {chunk_shape:?} elements of {size} bytes")))?;
    let file = &with.file;
    if file.is_elsewhere() {
        let known = Known::new(Arc::clone(file), layout, space, bytes, filters.len())?;
        return far(with, array, chunk_shape, filters, Arc::new(known)).map(|far| Inner::Far(Arc::new(far)));
    }
    let mut table = Table::read(file, &layout, space, bytes, !filters.is_empty())?;
    if let Layout::Chunked { plain_edges: true, shape, .. } = &layout {
        table.skip_at_edges(space.dims.as_deref().unwrap_or_default(), shape);
    }
    let known = u32::MAX.checked_shl(filters.len() as u32).unwrap_or(0);
    if table.chunks().iter().any(|chunk| chunk.skipped != u32::MAX && chunk.skipped & known != 0) {
        return Err(bad(format!("a chunk from which a filter was left out that is none of the {}", filters.len())));
    }
    let masked = !filters.is_empty() && table.chunks().iter().any(|chunk| chunk.skipped != 0);
    if masked {
        filters = vec![Box::new(Masked::new(filters))];
    }
    let store = Chunks::new(Arc::clone(file), Places::All(table), masked);
    chunked(with, array, chunk_shape, filters, Arc::new(store)).map(Inner::Chunked)
}

/// The same of chunks that are found as they are wanted. Which filters were left out is not known before.
fn far(
    with: &Making,
    array: Array<'_>,
    chunk_shape: Vec<u64>,
    plain_filters: Filters,
    known: Arc<Known>,
) -> Result<Far> {
    let store = |masked| Arc::new(Chunks::new(Arc::clone(&with.file), Places::Wanted(Arc::clone(&known)), masked));
    let masked = match plain_filters.is_empty() {
        true => None,
        false => {
            let filters: Filters = vec![Box::new(Masked::new(filters(with, array.stored)?))];
            Some(chunked(with, array.clone(), chunk_shape.clone(), filters, store(true))?)
        }
    };
    let plain = chunked(with, array, chunk_shape.clone(), plain_filters, store(false))?;
    Ok(Far { known: Arc::clone(&known), chunk_shape, plain, masked })
}

fn chunked(
    with: &Making,
    array: Array<'_>,
    chunk_shape: Vec<u64>,
    filters: Filters,
    store: Arc<dyn ChunkStore>,
) -> Result<ChunkedArray> {
    let Array { name, dims, number, stored, .. } = array;
    let fill = stored.value();
    let (element, fill) = match number {
        Some((ty, big_endian)) => {
            let fill = fill.and_then(|bytes| values::numbers(&stored.ty, ty, bytes));
            (Element::Number { ty, big_endian }, fill)
        }
        None => {
            let pieces = vec![Piece::Bytes(stored.ty.size as usize)];
            (Element::Packed { ty: RAW, pieces }, fill.map(|bytes| Values::User(TypeId(u32::MAX), bytes.to_vec())))
        }
    };
    ChunkedArray::new(ArraySpec {
        name: name.to_owned(),
        dims,
        chunk_shape,
        element,
        order: Order::C,
        filters,
        fill,
        shards: Vec::new(),
        store,
        options: with.options.clone(),
        writable: false,
    })
}

/// Elements that are no numbers: read as they are stored, then made what netCDF has.
#[derive(Debug)]
struct Raw {
    file: Arc<Hdf>,
    inner: Inner,
    ty: Datatype,
    xtype: NcType,
    /// Whether elements are their bytes.
    fixed: bool,
}

/// The elements as they are stored.
#[derive(Debug)]
// One per variable, never moved about.
#[allow(clippy::large_enum_variant)]
pub(super) enum Inner {
    Chunked(ChunkedArray),
    /// In chunks, in a file elsewhere.
    Far(Arc<Far>),
    /// With one dimension more: the bytes of an element.
    Flat(FlatArray),
}

impl Inner {
    /// The stored bytes of elements of `size` bytes.
    pub(super) fn get(&self, slab: &Slab<'_>, size: usize, out: &mut nczarr_dispatch::OutBuf<'_>) -> Result<()> {
        match self {
            Self::Chunked(array) => array.get(slab, MemMut::Fixed { ty: RAW, out }),
            Self::Far(array) => array.get(slab, MemMut::Fixed { ty: RAW, out }),
            Self::Flat(array) => {
                with_bytes(slab, size, |slab| array.get(slab, MemMut::Fixed { ty: NcType::Char, out }))
            }
        }
    }

    pub(super) fn look(&self, slab: &Slab<'_>, size: usize) -> Result<()> {
        match self {
            Self::Chunked(array) => array.look(slab),
            Self::Far(array) => array.look(slab),
            Self::Flat(array) => with_bytes(slab, size, |slab| array.look(slab)),
        }
    }

    pub(super) fn is_absent(&self, slab: &Slab<'_>) -> Result<bool> {
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
            Self::Chunked(array) => array.tune(cache),
            Self::Far(array) => array.tune(cache),
            Self::Flat(array) => array.tune(cache),
        }
    }

    pub(super) fn cache(&self) -> CacheConfig {
        match self {
            Self::Chunked(array) => array.cache(),
            Self::Far(array) => array.cache(),
            Self::Flat(array) => array.cache(),
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

/// A slab of elements as one of their bytes.
fn with_bytes<T>(slab: &Slab<'_>, size: usize, work: impl FnOnce(&Slab<'_>) -> T) -> T {
    let more = |list: &[u64], last: u64| list.iter().copied().chain([last]).collect::<Vec<_>>();
    let (start, count) = (more(slab.start, 0), more(slab.count, size as u64));
    let stride = slab.stride.map(|stride| more(stride, 1));
    work(&Slab { start: &start, count: &count, stride: stride.as_deref() })
}

impl VarData for Raw {
    fn get(&self, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        let size = self.ty.size as usize;
        match out {
            MemMut::Fixed { ty, out } if self.fixed => {
                if ty != self.xtype {
                    let what = "elements of a user-defined type are read as what they are";
                    return Err(ErrorKind::BadType.context(what));
                }
                self.inner.get(slab, size, out)?;
                values::to_native(&self.ty, out.filled_mut());
                Ok(())
            }
            MemMut::Strings(strings) if !self.fixed => {
                let bytes = byte_len(slab.len(), size)?;
                let bytes = Buffer::<u8>::fill(bytes, |out| self.inner.get(slab, size, out))?;
                let count = slab.len();
                if strings.len() as u64 != count {
                    return Err(ErrorKind::Inval
                        .context(format!("memory of {count} strings expected, {} found", strings.len())));
                }
                Decoder::new(&self.file).strings(&self.ty, &bytes, strings)
            }
            MemMut::Strings(_) => Err(ErrorKind::Char.context("the elements are no text")),
            _ => Err(ErrorKind::Char.context("the elements are text, or of a length of their own")),
        }
    }

    fn look(&self, slab: &Slab<'_>) -> Result<()> {
        self.inner.look(slab, self.ty.size as usize)
    }

    fn is_absent(&self, slab: &Slab<'_>) -> Result<bool> {
        self.inner.is_absent(slab)
    }

    fn stored_chunks(&self) -> Result<Option<StoredChunks>> {
        self.inner.stored_chunks()
    }

    fn tune(&self, cache: CacheConfig) -> Result<()> {
        self.inner.tune(cache)
    }

    fn cache(&self) -> CacheConfig {
        self.inner.cache()
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        self.inner.chunk_shape()
    }
}
