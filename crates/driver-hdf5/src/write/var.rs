//! [`Variable`]: the data of one variable, as callers keep it.
//!
//! A layout may change as long as there are no data, and a dataset is closed: who may still write then is the business of
//! [`WriteGate`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nczarr_chunkio::{ArrayDim, ArraySpec, ChunkedArray, Element, FlatArray, FlatSpec, Order, Short};
use nczarr_dispatch::{CacheConfig, Closing, Linear, MemMut, MemRef, Options, Registry, VarData, WriteGate, byte_len};
use nczarr_model::{ErrorKind, Model, NcString, NcType, Result, Slab, Values, VarId};

use super::chunk_index::Extent;
use super::chunks::Chunks;
use super::datatype::stored_size;
use super::extent::Piece;
use super::file::{File, Stretch};
use super::netcdf::{Place, fill_bytes, is_big};
use super::plan::{self, Form, Plan};
use super::strings::{FileHeap, Pointers};

/// Bytes that are written at once where a variable becomes longer.
const EXTENDED: u64 = 16 << 20;

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
    /// Those of the engine and of the system.
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
            Ok::<_, nczarr_model::Error>(Extent { address, size: u32::try_from(len).map_err(too_long)?, mask: 0 })
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
                    dims: dims(model, id)?,
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
            _ => {
                let chunks = Arc::new(Chunks::new(Arc::clone(&shared.file), var.dims.len()));
                let array = Self::chunked(shared, model, id, &plan, &chunks)?;
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

    /// The engine for a variable whose chunks are in a table.
    fn chunked(
        shared: &Shared,
        model: &Arc<Model>,
        id: VarId,
        plan: &Plan,
        chunks: &Arc<Chunks>,
    ) -> Result<ChunkedArray> {
        let var = model.var(id)?;
        let element = plan::element(model, var.xtype, is_big(var))?.unwrap_or_else(|| {
            let (heap, model) = (Arc::clone(&shared.heap), Arc::clone(model));
            Element::Variable(Box::new(Pointers { heap, model, ty: var.xtype }))
        });
        let mut options = shared.options.clone();
        // The file is locked.
        options.exclusive = true;
        ChunkedArray::new(ArraySpec {
            name: model.var_path(id)?,
            dims: dims(model, id)?,
            chunk_shape: match &plan.form {
                Form::Chunked(shape) => shape.clone(),
                _ => model.shape(id)?.iter().map(|&len| len.max(1)).collect(),
            },
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
            store: Arc::clone(chunks) as Arc<_>,
            options,
            writable: true,
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

    /// Sees to it that all of an array is there, if any of it is and readers need the rest.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn settle(&self, model: &Arc<Model>, id: VarId) -> Result<()> {
        match &self.data {
            Data::Piece(piece, _) => piece.settle().map(drop),
            Data::Chunks(chunks, _) => self.fill_holes(model, id, chunks),
        }
    }

    /// HDF5 up to 1.10 reads no absent chunk of elements of variable length that have a fill value, if there are others.
    /// So absent chunks are stored as fill values, unless somebody writes them meanwhile.
    fn fill_holes(&self, model: &Arc<Model>, id: VarId, chunks: &Arc<Chunks>) -> Result<()> {
        let (var, shape) = (model.var(id)?, model.shape(id)?);
        let Form::Chunked(side) = &self.plan.form else { return Ok(()) };
        let fill = match var.fill_value().filter(|_| !var.xtype.is_numeric()) {
            Some(Values::String(fill) | Values::Packed(_, fill)) => fill.into_iter().next(),
            _ => None,
        };
        let Some(fill) = fill else { return Ok(()) };
        let grid: Vec<u64> = shape.iter().zip(side).map(|(len, side)| len.div_ceil(*side)).collect();
        let stored = chunks.len() as u64;
        if stored == 0 || grid.iter().copied().fold(1, u64::saturating_mul) <= stored {
            return Ok(());
        }
        let apart = Arc::new(Chunks::new(Arc::clone(&self.shared.file), shape.len()));
        let array = Self::chunked(&self.shared, model, id, &self.plan, &apart)?;
        let mut index = vec![0; shape.len()];
        loop {
            if !chunks.has(&index) {
                let start: Vec<u64> = index.iter().zip(side).map(|(index, side)| index * side).collect();
                let count: Vec<u64> = start
                    .iter()
                    .zip(side)
                    .zip(&shape)
                    .map(|((start, side), len)| side.min(&(len - start)).to_owned())
                    .collect();
                let elements = vec![fill.clone(); count.iter().product::<u64>() as usize];
                array.put(&Slab::new(&start, &count), MemRef::Strings(&elements))?;
            }
            let Some(next) = (0..index.len()).rev().find(|&dim| index[dim] + 1 < grid[dim]) else { break };
            index[next] += 1;
            index[next + 1..].fill(0);
        }
        array.flush()?;
        chunks.adopt(&apart);
        Ok(())
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

    /// Stores what is read beyond the shape that a variable had of its own, where it is as long as its dimensions now.
    ///
    /// # Errors
    /// Those of the engine.
    pub(super) fn extend(&self, shape: &[u64], own: &[u64], value: &Values) -> Result<()> {
        let bytes = value.to_native_bytes().ok_or_else(|| ErrorKind::BadType.context(value.nc_type().name()))?;
        for dim in 0..shape.len() {
            let mut start = vec![0; shape.len()];
            let mut count = [&own[..dim], &shape[dim..]].concat();
            let across =
                count.iter().skip(dim + 1).chain(&own[..dim]).fold(bytes.len() as u64, |all, &n| all.saturating_mul(n));
            let step = (EXTENDED / across.max(1)).max(1);
            for at in (own[dim]..shape[dim]).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
                (start[dim], count[dim]) = (at, step.min(shape[dim] - at));
                let slab = Slab::new(&start, &count);
                let bytes = bytes.repeat(byte_len(slab.len(), 1)?);
                each_array!(&self.data, array => array.put(&slab, MemRef::Fixed { ty: value.nc_type(), bytes: &bytes }))?;
            }
        }
        Ok(())
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

/// The dimensions of a variable, as the engine has them.
fn dims(model: &Model, id: VarId) -> Result<Vec<ArrayDim>> {
    let dim = |&dim: &nczarr_model::DimId| {
        let dim = model.dim(dim)?;
        Ok(ArrayDim { len: Arc::clone(dim.shared_len()), unlimited: dim.unlimited })
    };
    model.var(id)?.dims.iter().map(dim).collect()
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
    Ok(var.fill_value().or_else(|| nczarr_model::fill::default(var.xtype)))
}
