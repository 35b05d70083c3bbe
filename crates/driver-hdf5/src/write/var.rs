//! [`Variable`]: the data of one variable, as callers keep it.
//!
//! A layout may change as long as there are no data, and a dataset is closed: who may still write then is the business of
//! [`WriteGate`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chunkio::{ArrayDim, ArraySpec, ChunkedArray, Element, FlatArray, FlatSpec, Order, Short};
use dispatch::{CacheConfig, Closing, Linear, MemMut, MemRef, Options, Registry, VarData, WriteGate};
use model::{ErrorKind, Model, NcString, NcType, Result, Slab, Values, VarId};

use super::chunk_index::Extent;
use super::chunks::Chunks;
use super::datatype::stored_size;
use super::extent::Piece;
use super::file::{File, Stretch};
use super::netcdf::{Place, fill_bytes, is_big};
use super::plan::{self, Form, Plan};
use super::strings::{FileHeap, Pointers};

/// What the variables of a dataset have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) file: Arc<File>,
    pub(super) heap: Arc<FileHeap>,
    pub(super) registry: Arc<Registry>,
    pub(super) options: Options,
    pub(super) closing: Arc<Closing>,
}

/// Data that are there before they are written.
#[derive(Debug)]
pub(super) enum Stand {
    /// Beside the metadata.
    Bytes(Vec<u8>),
    /// Address and length of all of them.
    Piece(u64, u64),
    /// Index, address and length of each chunk.
    Chunks(Vec<(Vec<u64>, u64, u64)>),
}

/// The data of a variable.
#[derive(Debug)]
pub(super) struct Variable {
    shared: Arc<Shared>,
    plan: Plan,
    data: Data,
    gate: WriteGate,
    written: AtomicBool,
}

#[derive(Debug)]
// One per variable, never moved about: a box would only be a detour for every access.
#[allow(clippy::large_enum_variant)]
enum Data {
    /// In chunks; an array in one piece whose elements are no numbers is one chunk.
    Chunks(Arc<Chunks>, ChunkedArray),
    Piece(Arc<Piece>, FlatArray),
}

/// Runs `$body` with `$array` bound to the array.
macro_rules! each_array {
    ($data:expr, $array:ident => $body:expr) => {
        match $data {
            Data::Chunks(_, $array) => $body,
            Data::Piece(_, $array) => $body,
        }
    };
}

impl Variable {
    /// Lays a variable out.
    ///
    /// # Errors
    /// As [`plan::decide`], and what the engine says.
    pub(super) fn new(shared: &Arc<Shared>, model: &Arc<Model>, id: VarId) -> Result<Self> {
        let plan = plan::decide(model, id, &shared.registry, &shared.options.limits)?;
        Self::with(shared, model, id, plan)
    }

    /// A variable whose data are there. `used`: gets where that is.
    ///
    /// # Errors
    /// What the engine says; what the system says.
    pub(super) fn taken(
        shared: &Arc<Shared>,
        model: &Arc<Model>,
        id: VarId,
        plan: Plan,
        stand: Stand,
        used: &mut Vec<Stretch>,
    ) -> Result<Self> {
        let rank = model.var(id)?.dims.len();
        let here = Self::with(shared, model, id, plan)?;
        let extent = |address, len| {
            let too_long = |_| ErrorKind::BadChunk.context(format!("{len} bytes in one piece"));
            Ok::<_, model::Error>(Extent { address, size: u32::try_from(len).map_err(too_long)?, mask: 0 })
        };
        let mut written = true;
        match (&here.data, stand) {
            (_, Stand::Chunks(list)) if list.is_empty() => written = false,
            (Data::Chunks(chunks, _), Stand::Chunks(list)) => {
                for (index, address, len) in list {
                    chunks.insert(index, extent(address, len)?);
                    used.push((address, len));
                }
            }
            (Data::Chunks(chunks, _), Stand::Piece(address, len)) => {
                chunks.insert(vec![0; rank], extent(address, len)?);
                used.push((address, len));
            }
            (Data::Chunks(chunks, _), Stand::Bytes(bytes)) => {
                let address = shared.file.allocate(bytes.len() as u64)?;
                shared.file.write_at(address, &bytes)?;
                chunks.insert(vec![0; rank], extent(address, bytes.len() as u64)?);
            }
            (Data::Piece(piece, _), Stand::Piece(address, len)) => {
                piece.stand(address);
                used.push((address, len));
            }
            (Data::Piece(..), _) => return Err(ErrorKind::Internal.context("chunks of an array in one piece")),
        }
        here.written.store(written, Ordering::Release);
        Ok(here)
    }

    fn with(shared: &Arc<Shared>, model: &Arc<Model>, id: VarId, plan: Plan) -> Result<Self> {
        let var = model.var(id)?;
        let big_endian = is_big(var);
        let mut dims = Vec::with_capacity(var.dims.len());
        for &dim in &var.dims {
            let dim = model.dim(dim)?;
            dims.push(ArrayDim { len: Arc::clone(dim.shared_len()), unlimited: dim.unlimited });
        }
        let name = model.var_path(id)?;
        let shape: Vec<u64> = model.shape(id)?.iter().map(|&len| len.max(1)).collect();
        let element = plan::element(model, var.xtype, big_endian)?;
        let data = match (&plan.form, element) {
            (Form::Contiguous, Some(Element::Number { ty, big_endian })) => {
                let item = stored_size(model, ty)?;
                let fill = fill_bytes(model, var, big_endian, item, &mut &*shared.heap)?;
                let too_large = || ErrorKind::VarSize.context(format!("{name}: {shape:?} elements"));
                let len = shape.iter().try_fold(item as u64, |len, &side| len.checked_mul(side));
                let piece = Arc::new(Piece::new(Arc::clone(&shared.file), len.ok_or_else(too_large)?, fill));
                let array = FlatArray::new(FlatSpec {
                    name,
                    dims,
                    ty,
                    big_endian,
                    begin: 0,
                    record: None,
                    store: Arc::clone(&piece) as Arc<_>,
                    options: shared.options.clone(),
                    writable: true,
                    short: Short::Error,
                })?;
                Data::Piece(piece, array)
            }
            (form, element) => {
                let chunks = Arc::new(Chunks::new(Arc::clone(&shared.file), var.dims.len()));
                let element = element.unwrap_or_else(|| {
                    let (heap, model) = (Arc::clone(&shared.heap), Arc::clone(model));
                    Element::Variable(Box::new(Pointers { heap, model, ty: var.xtype }))
                });
                let mut options = shared.options.clone();
                // The file is locked.
                options.exclusive = true;
                let array = ChunkedArray::new(ArraySpec {
                    name,
                    dims,
                    chunk_shape: if let Form::Chunked(shape) = form { shape.clone() } else { shape },
                    element,
                    order: Order::C,
                    filters: plan.filters.clone(),
                    fill: match var.fill_value() {
                        // What was never written has no parts, but it is an element; of strings, none at all.
                        None if var.xtype == NcType::String => Some(Values::String(vec![NcString::nil()])),
                        None if !model.is_fixed(var.xtype)? => Some(model.blank(var.xtype)?),
                        fill => fill,
                    },
                    shards: Vec::new(),
                    store: Arc::clone(&chunks) as Arc<_>,
                    options,
                    writable: true,
                })?;
                Data::Chunks(chunks, array)
            }
        };
        Ok(Self {
            shared: Arc::clone(shared),
            plan,
            data,
            gate: WriteGate::new(Arc::clone(&shared.closing)),
            written: AtomicBool::new(false),
        })
    }

    /// Stores what is kept in memory.
    ///
    /// # Errors
    /// What the storage says.
    pub(super) fn flush(&self) -> Result<()> {
        match &self.data {
            Data::Chunks(_, array) => array.flush(),
            Data::Piece(..) => Ok(()),
        }
    }

    /// Sees to it that all of an array in one piece is there, if any of it is.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn settle(&self) -> Result<()> {
        match &self.data {
            Data::Piece(piece, _) => piece.settle().map(drop),
            Data::Chunks(..) => Ok(()),
        }
    }

    /// Where the data are. `lens`: the shape to be stored, behind which nothing is.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn place(&self, model: &Model, id: VarId, lens: &[u64]) -> Result<Place> {
        let chunks = match &self.data {
            Data::Piece(piece, _) => return Ok(Place::Contiguous(piece.settle()?)),
            Data::Chunks(chunks, _) => chunks,
        };
        Ok(match &self.plan.form {
            Form::Contiguous => Place::Contiguous(chunks.only().map(|extent| extent.address)),
            Form::Compact => Place::Compact(self.compact(model, id, chunks, lens)?),
            Form::Chunked(shape) => {
                let mut stored = chunks.sorted();
                stored.retain(|(index, _)| {
                    index.iter().zip(shape).zip(lens).all(|((&at, &side), &len)| at.saturating_mul(side) < len)
                });
                Place::Chunked { shape: shape.clone(), chunks: stored, filters: self.plan.stored.clone() }
            }
        })
    }

    /// The data that lie beside the metadata.
    fn compact(&self, model: &Model, id: VarId, chunks: &Chunks, lens: &[u64]) -> Result<Vec<u8>> {
        if let Some(extent) = chunks.only() {
            let mut data = Vec::new();
            self.shared.file.read(extent.address, extent.size as usize, &mut data)?;
            return Ok(data);
        }
        let var = model.var(id)?;
        let item = stored_size(model, var.xtype)?;
        let fill = fill_bytes(model, var, is_big(var), item, &mut &*self.shared.heap)?;
        Ok(fill.repeat(lens.iter().product::<u64>() as usize))
    }

    /// Whether there are data.
    pub(super) fn written(&self) -> bool {
        self.written.load(Ordering::Acquire)
    }

    /// Lets nobody write from now on. `false` if there are data already, or somebody is about to write some.
    pub(super) fn retire(&self) -> bool {
        self.gate.retire(|| self.written())
    }
}

impl AsRef<WriteGate> for Variable {
    fn as_ref(&self) -> &WriteGate {
        &self.gate
    }
}

impl VarData for Variable {
    fn get(&self, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        each_array!(&self.data, array => array.get(slab, out))
    }

    fn peek(&self, at: &[u64], ty: NcType, out: &mut [u8]) -> bool {
        each_array!(&self.data, array => array.peek(at, ty, out))
    }

    fn look(&self, slab: &Slab<'_>) -> Result<()> {
        each_array!(&self.data, array => array.look(slab))
    }

    fn get_linear(&self, slab: &Slab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        each_array!(&self.data, array => array.get_linear(slab, out, linear))
    }

    fn put(&self, slab: &Slab<'_>, data: MemRef<'_>) -> Result<()> {
        self.gate.write(|| {
            if !slab.is_empty() {
                self.written.store(true, Ordering::Release);
            }
            each_array!(&self.data, array => array.put(slab, data))
        })
    }

    fn is_absent(&self, slab: &Slab<'_>) -> Result<bool> {
        match &self.data {
            Data::Chunks(_, array) => array.is_absent(slab),
            Data::Piece(..) => Ok(!self.written()),
        }
    }

    fn tune(&self, cache: CacheConfig) -> Result<()> {
        each_array!(&self.data, array => array.tune(cache))
    }

    fn cache(&self) -> CacheConfig {
        each_array!(&self.data, array => array.cache())
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        match &self.plan.form {
            Form::Chunked(shape) => Some(shape.clone()),
            _ => None,
        }
    }
}

/// The value that rounding leaves as it is.
pub(super) fn kept_value(model: &Model, id: VarId) -> Result<Option<Values>> {
    let var = model.var(id)?;
    // Where there is no fill value, netCDF-C leaves the default one as it is all the same.
    Ok(var.fill_value().or_else(|| model::fill::default(var.xtype)))
}
