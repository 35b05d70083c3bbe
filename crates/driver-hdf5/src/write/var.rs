//! [`WritableVar`]: the data of one variable.
//!
//! The layout may change until there are data. [`WriteFence`] stops writers of an old layout or a closed
//! dataset.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nczarr_chunkio::{
    ArrayDim, ArraySpec, BeyondEnd, ChunkedArray, DimOrder, ElementLayout, FlatArray, FlatSpec,
};
use nczarr_dispatch::{
    CacheConfig, ChunkEncoding, EncodedCheck, EncodedChunk, EncodedChunks, Linear, MemMut, MemRef, Options,
    Registry, VarData, byte_len,
};
use nczarr_model::{CheckedSlab, ErrorKind, Model, NcString, NcType, Result, Slab, Values, VarFill, VarId};
use nczarr_runtime::{CloseState, WriteFence};

use super::chunk_index::ChunkExtent;
use super::chunks::WritableChunks;
use super::contiguous::ContiguousData;
use super::file::{FileRange, WritableFile};
use super::fixed_text::{FixedText, FixedTexts};
use super::netcdf::{DataPlacement, fill_bytes, is_big, item_size};
use super::plan::{self, StorageForm, StoragePlan};
use super::vlen::{FileHeap, VlenCodec};

/// Bytes written at once when a variable is extended.
const EXTENDED: u64 = 16 << 20;

/// Shared by all variables of a dataset.
#[derive(Debug)]
pub(super) struct WriteContext {
    pub(super) file: Arc<WritableFile>,
    pub(super) heap: Arc<FileHeap>,
    pub(super) registry: Arc<Registry>,
    pub(super) options: Options,
    pub(super) closing: Arc<CloseState>,
    pub(super) texts: FixedTexts,
}

/// Data of an opened file.
#[derive(Debug)]
pub(super) enum ExistingData {
    /// In the object header.
    Bytes(Vec<u8>),
    /// Contiguous: address and length in bytes.
    Piece(u64, u64),
    /// Chunked: index, address and length of each chunk.
    Chunks(Vec<(Vec<u64>, u64, u64)>),
}

/// The data of a variable.
#[derive(Debug)]
pub(super) struct WritableVar {
    shared: Arc<WriteContext>,
    plan: StoragePlan,
    data: VarArray,
    gate: WriteFence,
    written: AtomicBool,
    /// Whether elements have a fixed size. Others are references into the file.
    fixed: bool,
    /// The stored form of strings of a fixed size.
    text: Option<FixedText>,
    /// Whether a reader can count the elements.
    is_countable: bool,
    /// The array that a no-fill variable without data is read from, if its values are not zeros.
    blank: Option<ChunkedArray>,
}

#[derive(Debug)]
// Each variable has one and never moves it. A box would add an indirection to every access.
#[allow(clippy::large_enum_variant)]
enum VarArray {
    /// Chunked. A contiguous array of elements other than numbers is one chunk.
    Chunks(Arc<WritableChunks>, ChunkedArray),
    Piece(Arc<ContiguousData>, FlatArray),
}

/// Runs `$body` with `$array` bound to the array.
macro_rules! each_array {
    ($data:expr, $array:ident => $body:expr) => {
        match $data {
            VarArray::Chunks(_, $array) => $body,
            VarArray::Piece(_, $array) => $body,
        }
    };
}

impl WritableVar {
    /// Lays out a new variable.
    ///
    /// # Errors
    /// As [`plan::decide`]; errors of the chunk engine.
    pub(super) fn new(shared: &Arc<WriteContext>, model: &Arc<Model>, id: VarId) -> Result<Self> {
        let text = shared.texts.of_var(id);
        let plan = plan::decide(model, id, text, &shared.registry, &shared.options.limits)?;
        Self::with(shared, model, id, plan)
    }

    /// Makes a variable of an opened file. Adds the ranges of its data to `used`.
    ///
    /// # Errors
    /// Errors of the chunk engine; I/O errors.
    pub(super) fn taken(
        shared: &Arc<WriteContext>,
        model: &Arc<Model>,
        id: VarId,
        plan: StoragePlan,
        stand: ExistingData,
        used: &mut Vec<FileRange>,
    ) -> Result<Self> {
        let rank = model.var(id)?.dims.len();
        let here = Self::with(shared, model, id, plan)?;
        let extent = |address, len| {
            let too_long = |_| ErrorKind::BadChunk.context(format!("a chunk of {len} bytes is too large"));
            Ok::<_, nczarr_model::Error>(ChunkExtent {
                address,
                size: u32::try_from(len).map_err(too_long)?,
                mask: 0,
            })
        };
        let mut written = true;
        match (&here.data, stand) {
            (_, ExistingData::Chunks(list)) if list.is_empty() => written = false,
            (VarArray::Chunks(chunks, _), ExistingData::Chunks(list)) => {
                for (index, address, len) in list {
                    chunks.insert(index, extent(address, len)?);
                    used.push((address, len));
                }
            }
            (VarArray::Chunks(chunks, _), ExistingData::Piece(address, len)) => {
                chunks.insert(vec![0; rank], extent(address, len)?);
                used.push((address, len));
            }
            (VarArray::Chunks(chunks, _), ExistingData::Bytes(bytes)) => {
                let address = shared.file.allocate(bytes.len() as u64)?;
                shared.file.write_at(address, &bytes)?;
                chunks.insert(vec![0; rank], extent(address, bytes.len() as u64)?);
            }
            (VarArray::Piece(piece, _), ExistingData::Piece(address, len)) => {
                piece.set_existing(address);
                used.push((address, len));
            }
            (VarArray::Piece(..), _) => {
                return Err(ErrorKind::Internal.context("internal: chunks of a contiguous array"));
            }
        }
        here.written.store(written, Ordering::Release);
        Ok(here)
    }

    fn with(shared: &Arc<WriteContext>, model: &Arc<Model>, id: VarId, plan: StoragePlan) -> Result<Self> {
        let var = model.var(id)?;
        let big_endian = is_big(var);
        let name = model.var_path(id)?;
        let shape: Vec<u64> = model.shape(id)?.iter().map(|&len| len.max(1)).collect();
        let text = shared.texts.of_var(id);
        let element = plan::element(model, var.xtype, text, big_endian)?;
        let data = match (&plan.form, element) {
            (StorageForm::Contiguous, Some(ElementLayout::Number { ty, big_endian })) => {
                let item = item_size(model, var, None)?;
                let fill = fill_bytes(model, var, None, item, &mut &*shared.heap)?;
                let too_large =
                    || ErrorKind::VarSize.context(format!("{name}: shape {shape:?} is too large"));
                let len = shape.iter().try_fold(item as u64, |len, &side| len.checked_mul(side));
                let piece =
                    Arc::new(ContiguousData::new(Arc::clone(&shared.file), len.ok_or_else(too_large)?, fill));
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
                    beyond_end: BeyondEnd::Error,
                })?;
                VarArray::Piece(piece, array)
            }
            _ => {
                let chunks = Arc::new(WritableChunks::new(Arc::clone(&shared.file), var.dims.len()));
                let array = Self::chunked(shared, model, id, &plan, &chunks, None)?;
                VarArray::Chunks(chunks, array)
            }
        };
        let blank = Self::blank(shared, model, id, &plan)?;
        Ok(Self {
            shared: Arc::clone(shared),
            plan,
            data,
            blank,
            gate: WriteFence::new(Arc::clone(&shared.closing)),
            written: AtomicBool::new(false),
            fixed: model.is_fixed(var.xtype)?,
            text,
            is_countable: shape.iter().try_fold(1u64, |all, &len| all.checked_mul(len)).is_some(),
        })
    }

    /// Makes the array that a no-fill variable without data is read from. In netCDF-C it has no records, and
    /// absent records read as the default fill value.
    fn blank(
        shared: &WriteContext,
        model: &Arc<Model>,
        id: VarId,
        plan: &StoragePlan,
    ) -> Result<Option<ChunkedArray>> {
        let var = model.var(id)?;
        let value = nczarr_model::fill::default(var.xtype).filter(|_| var.xtype.is_numeric());
        let grows = var.dims.iter().any(|&dim| model.dim(dim).is_ok_and(|dim| dim.unlimited));
        let is_chunked = matches!(plan.form, StorageForm::Chunked(_));
        let applies = shared.options.netcdf_c_rules && var.fill == VarFill::NoFill && grows && is_chunked;
        let Some(value) = value.filter(|_| applies) else { return Ok(None) };
        let none = Arc::new(WritableChunks::new(Arc::clone(&shared.file), var.dims.len()));
        Self::chunked(shared, model, id, plan, &none, Some(value)).map(Some)
    }

    /// Returns that array, if the variable is no-fill and has no data.
    fn unwritten(&self) -> Option<&ChunkedArray> {
        self.blank.as_ref().filter(|_| !self.written())
    }

    /// Whether it is no-fill, has no data, and reads as the default fill value.
    pub(super) fn is_blank(&self) -> bool {
        self.unwritten().is_some()
    }

    /// Makes the chunk engine's array over a table of chunks. `unwritten`: the value of absent chunks, if
    /// it is not the fill value.
    fn chunked(
        shared: &WriteContext,
        model: &Arc<Model>,
        id: VarId,
        plan: &StoragePlan,
        chunks: &Arc<WritableChunks>,
        unwritten: Option<Values>,
    ) -> Result<ChunkedArray> {
        let var = model.var(id)?;
        let text = shared.texts.of_var(id);
        let element = plan::element(model, var.xtype, text, is_big(var))?.unwrap_or_else(|| {
            let (heap, model) = (Arc::clone(&shared.heap), Arc::clone(model));
            ElementLayout::Variable(Box::new(VlenCodec { heap, model, ty: var.xtype }))
        });
        let mut options = shared.options.clone();
        // The file is locked.
        options.exclusive = true;
        ChunkedArray::new(ArraySpec {
            name: model.var_path(id)?,
            dims: dims(model, id)?,
            chunk_shape: match &plan.form {
                StorageForm::Chunked(shape) => shape.clone(),
                _ => model.shape(id)?.iter().map(|&len| len.max(1)).collect(),
            },
            element,
            order: DimOrder::C,
            filters: plan.filters.clone(),
            fill: match (text, unwritten.or_else(|| var.fill_value())) {
                (Some(text), fill) => text.fill(fill)?,
                // An unwritten element has no parts. An unwritten string is a null string.
                (None, None) if var.xtype == NcType::String => Some(Values::String(vec![NcString::nil()])),
                (None, None) if !model.is_fixed(var.xtype)? => Some(model.blank(var.xtype)?),
                (None, fill) => fill,
            },
            shards: Vec::new(),
            store: Arc::clone(chunks) as Arc<_>,
            options,
            writable: true,
        })
    }

    /// Stores cached data.
    ///
    /// # Errors
    /// Storage errors.
    pub(super) fn flush(&self) -> Result<()> {
        match &self.data {
            VarArray::Chunks(_, array) => array.flush(),
            VarArray::Piece(..) => Ok(()),
        }
    }

    /// Writes the rest of an array that is stored in part, if readers need it.
    ///
    /// # Errors
    /// I/O errors.
    pub(super) fn settle(&self, model: &Arc<Model>, id: VarId) -> Result<()> {
        match &self.data {
            VarArray::Piece(piece, _) => piece.settle().map(drop),
            VarArray::Chunks(chunks, _) => self.fill_holes(model, id, chunks),
        }
    }

    /// Stores absent chunks as fill values, unless another thread writes them meanwhile. HDF5 up to 1.10
    /// cannot read absent chunks of variable-length elements with a fill value.
    fn fill_holes(&self, model: &Arc<Model>, id: VarId, chunks: &Arc<WritableChunks>) -> Result<()> {
        let (var, shape) = (model.var(id)?, model.shape(id)?);
        let StorageForm::Chunked(side) = &self.plan.form else { return Ok(()) };
        let fill = match var.fill_value().filter(|_| self.text.is_none() && !var.xtype.is_numeric()) {
            Some(Values::String(fill) | Values::Packed(_, fill)) => fill.into_iter().next(),
            _ => None,
        };
        let Some(fill) = fill else { return Ok(()) };
        let grid: Vec<u64> = shape.iter().zip(side).map(|(len, side)| len.div_ceil(*side)).collect();
        let stored = chunks.len() as u64;
        if stored == 0 || grid.iter().copied().fold(1, u64::saturating_mul) <= stored {
            return Ok(());
        }
        let apart = Arc::new(WritableChunks::new(Arc::clone(&self.shared.file), shape.len()));
        let array = Self::chunked(&self.shared, model, id, &self.plan, &apart, None)?;
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
                array.put(&array.check_write(&Slab::new(&start, &count))?, MemRef::Strings(&elements))?;
            }
            let Some(next) = (0..index.len()).rev().find(|&dim| index[dim] + 1 < grid[dim]) else { break };
            index[next] += 1;
            index[next + 1..].fill(0);
        }
        array.flush()?;
        chunks.absorb(&apart);
        Ok(())
    }

    /// Returns the place of the data. `lens` is the shape to be stored. Chunks outside it are left out.
    ///
    /// # Errors
    /// I/O errors.
    pub(super) fn place(&self, model: &Model, id: VarId, lens: &[u64]) -> Result<DataPlacement> {
        let chunks = match &self.data {
            VarArray::Piece(piece, _) => return Ok(DataPlacement::Contiguous(piece.settle()?)),
            VarArray::Chunks(chunks, _) => chunks,
        };
        Ok(match &self.plan.form {
            StorageForm::Contiguous => DataPlacement::Contiguous(chunks.only().map(|extent| extent.address)),
            StorageForm::Compact => DataPlacement::Compact(self.compact(model, id, chunks, lens)?),
            StorageForm::Chunked(shape) => {
                let mut stored = chunks.sorted();
                stored.retain(|(index, _)| {
                    index
                        .iter()
                        .zip(shape)
                        .zip(lens)
                        .all(|((&at, &side), &len)| at.saturating_mul(side) < len)
                });
                DataPlacement::Chunked {
                    shape: shape.clone(),
                    chunks: stored,
                    filters: self.plan.stored.clone(),
                }
            }
        })
    }

    /// Returns the data for the object header.
    fn compact(&self, model: &Model, id: VarId, chunks: &WritableChunks, lens: &[u64]) -> Result<Vec<u8>> {
        if let Some(extent) = chunks.only() {
            let mut data = Vec::new();
            self.shared.file.read(extent.address, extent.size as usize, &mut data)?;
            return Ok(data);
        }
        let var = model.var(id)?;
        let item = item_size(model, var, self.text)?;
        let fill = fill_bytes(model, var, self.text, item, &mut &*self.shared.heap)?;
        Ok(fill.repeat(lens.iter().product::<u64>() as usize))
    }

    /// Writes the padding of a variable that was shorter than its dimensions.
    ///
    /// # Errors
    /// Errors of the chunk engine.
    pub(super) fn extend(&self, shape: &[u64], own: &[u64], value: &Values) -> Result<()> {
        let bytes =
            value.to_native_bytes().ok_or_else(|| ErrorKind::BadType.context(value.nc_type().name()))?;
        for dim in 0..shape.len() {
            let mut start = vec![0; shape.len()];
            let mut count = [&own[..dim], &shape[dim..]].concat();
            let across = count
                .iter()
                .skip(dim + 1)
                .chain(&own[..dim])
                .fold(bytes.len() as u64, |all, &n| all.saturating_mul(n));
            let step = (EXTENDED / across.max(1)).max(1);
            for at in (own[dim]..shape[dim]).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
                (start[dim], count[dim]) = (at, step.min(shape[dim] - at));
                let slab = Slab::new(&start, &count);
                let bytes = bytes.repeat(byte_len(slab.len(), 1)?);
                let data = MemRef::Fixed { ty: value.nc_type(), bytes: &bytes };
                each_array!(&self.data, array => array.put(&array.check_write(&slab)?, data))?;
            }
        }
        Ok(())
    }

    /// Returns the array, if it is stored in chunks.
    fn stored_chunks_array(&self) -> Option<&ChunkedArray> {
        match (&self.data, &self.plan.form) {
            (VarArray::Chunks(_, array), StorageForm::Chunked(_)) => Some(array),
            _ => None,
        }
    }

    fn stored_array(&self) -> Result<&ChunkedArray> {
        let none = || ErrorKind::Internal.context("no chunks are stored");
        self.stored_chunks_array().ok_or_else(none)
    }

    /// Refuses to write elements whose chunks a reader cannot count.
    fn check_countable(&self) -> Result<()> {
        if self.is_countable {
            return Ok(());
        }
        Err(ErrorKind::HdfErr
            .context("the variable has too many elements to be written (expected less than 2^64)"))
    }

    /// Whether there are data.
    pub(super) fn written(&self) -> bool {
        self.written.load(Ordering::Acquire)
    }

    /// Stops new writers. Returns `false` if there are data, or a write is under way.
    pub(super) fn retire(&self) -> bool {
        self.gate.retire(|| self.written())
    }
}

/// Returns the dimensions of a variable for the chunk engine.
fn dims(model: &Model, id: VarId) -> Result<Vec<ArrayDim>> {
    let dim = |&dim: &nczarr_model::DimId| {
        let dim = model.dim(dim)?;
        Ok(ArrayDim { len: Arc::clone(dim.shared_len()), unlimited: dim.unlimited })
    };
    model.var(id)?.dims.iter().map(dim).collect()
}

impl AsRef<WriteFence> for WritableVar {
    fn as_ref(&self) -> &WriteFence {
        &self.gate
    }
}

impl VarData for WritableVar {
    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        if let Some(blank) = self.unwritten() {
            return blank.get(slab, out);
        }
        match self.text {
            Some(text) => text.get(out, |out| each_array!(&self.data, array => array.get(slab, out))),
            None => each_array!(&self.data, array => array.get(slab, out)),
        }
    }

    fn try_get_cached_element(&self, at: &[u64], ty: NcType, out: &mut [u8]) -> bool {
        match self.unwritten() {
            Some(_) => false,
            None => each_array!(&self.data, array => array.try_get_cached_element(at, ty, out)),
        }
    }

    fn check_readable(&self, slab: &CheckedSlab<'_>) -> Result<()> {
        each_array!(&self.data, array => array.check_readable(slab))
    }

    fn get_linear(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        match self.unwritten() {
            Some(blank) => blank.get_linear(slab, out, linear),
            None => each_array!(&self.data, array => array.get_linear(slab, out, linear)),
        }
    }

    fn put(&self, slab: &CheckedSlab<'_>, data: MemRef<'_>) -> Result<()> {
        self.check_countable()?;
        self.gate.write(|| {
            if !slab.is_empty() {
                self.written.store(true, Ordering::Release);
            }
            match self.text {
                Some(text) => text.put(data, |data| each_array!(&self.data, array => array.put(slab, data))),
                None => each_array!(&self.data, array => array.put(slab, data)),
            }
        })
    }

    fn is_absent(&self, slab: &CheckedSlab<'_>) -> Result<bool> {
        match &self.data {
            VarArray::Chunks(_, array) => array.is_absent(slab),
            VarArray::Piece(..) => Ok(!self.written()),
        }
    }

    fn encoded_chunks(&self) -> Option<&dyn EncodedChunks> {
        self.stored_chunks_array().map(|_| self as _)
    }

    fn set_chunk_cache(&self, cache: CacheConfig) -> Result<()> {
        each_array!(&self.data, array => array.set_chunk_cache(cache))
    }

    fn chunk_cache(&self) -> CacheConfig {
        each_array!(&self.data, array => array.chunk_cache())
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        match &self.plan.form {
            StorageForm::Chunked(shape) => Some(shape.clone()),
            _ => None,
        }
    }
}

impl EncodedChunks for WritableVar {
    fn encoding(&self) -> ChunkEncoding {
        let encoding = self.stored_chunks_array().map(EncodedChunks::encoding).unwrap_or_default();
        if self.fixed {
            return encoding;
        }
        if self.text.is_some() {
            // Other files may pad their strings in another way.
            return encoding.element(format!("text in the file at {:p}", Arc::as_ptr(&self.shared.file)));
        }
        encoding.element(format!("references into the file at {:p}", Arc::as_ptr(&self.shared.file)))
    }

    fn encoded_len(&self, chunk: &CheckedSlab<'_>) -> Result<Option<u64>> {
        self.stored_array()?.encoded_len(chunk)
    }

    fn read_encoded(&self, chunks: &[CheckedSlab<'_>]) -> Result<Vec<Option<EncodedChunk>>> {
        self.stored_array()?.read_encoded(chunks)
    }

    fn decode(&self, chunk: &CheckedSlab<'_>, stored: &EncodedChunk, out: MemMut<'_, '_>) -> Result<()> {
        self.stored_array()?.decode(chunk, stored, out)
    }

    fn write_encoded(
        &self,
        chunks: &[CheckedSlab<'_>],
        stored: &[EncodedChunk],
        check: EncodedCheck,
    ) -> Result<()> {
        self.check_countable()?;
        if self.text.is_some() {
            return Err(ErrorKind::Inval.context(
                "strings of a fixed size: an encoded chunk may pad them in another way; write the elements",
            ));
        }
        if !self.fixed {
            return Err(ErrorKind::Inval.context(
                "elements of variable length: an encoded chunk has references into its file; write the elements",
            ));
        }
        self.gate.write(|| {
            self.written.store(true, Ordering::Release);
            self.stored_array()?.write_encoded(chunks, stored, check)
        })
    }

    fn erase(&self, chunk: &CheckedSlab<'_>) -> Result<bool> {
        self.gate.write(|| self.stored_array()?.erase(chunk))
    }
}

/// Returns the value that quantization leaves unchanged.
pub(super) fn kept_value(model: &Model, id: VarId) -> Result<Option<Values>> {
    let var = model.var(id)?;
    // Without a fill value, netCDF-C leaves the default one unchanged.
    Ok(var.fill_value().or_else(|| nczarr_model::fill::default(var.xtype)))
}
