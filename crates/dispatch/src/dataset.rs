//! The open dataset: [`Dataset`], and [`VarData`], one variable's data.
//!
//! A driver implements these few methods; [`NcDispatch`](crate::NcDispatch) spells out every entry of the
//! netCDF dispatch table in terms of them. Arguments are validated before they get here: a driver never
//! re-checks a hyperslab.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use nczarr_model::{Defined, DimId, Edit, Endian, ErrorKind, GroupId, ModelCell, NcType, Result, Slab, Values, VarId};

use crate::{Audit, DriverInfo, Fault, Format, FormatX, Linear, MemMut, MemRef, Registry, StoredChunks};

/// How much of a variable's decoded data is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheConfig {
    /// Bytes.
    pub bytes: usize,
    /// Slots of the table; a hint.
    pub slots: usize,
    /// 0 to 1: how readily chunks that were fully read or written are given up first; a hint.
    pub preemption: f32,
}

impl CacheConfig {
    /// What a process starts with.
    pub const BUILT_IN: Self = Self { bytes: 64 << 20, slots: 1000, preemption: 0.75 };
}

impl Default for CacheConfig {
    /// The process's setting ([`chunk_cache`](crate::settings::chunk_cache)).
    fn default() -> Self {
        crate::settings::chunk_cache()
    }
}

/// What a dataset says of itself.
#[derive(Debug, Clone)]
pub struct DatasetInfo {
    /// The driver's name.
    pub driver: &'static str,
    /// The map's name, if it lies in one.
    pub map: Option<String>,
    /// `NC_FORMAT_*`.
    pub format: Format,
    /// `NC_FORMATX_*`.
    pub formatx: FormatX,
    /// The flavour within the driver (`nczarr`, `xarray`, `zarr` …).
    pub flavour: String,
    /// The version of the format (`2` for Zarr V2 …).
    pub version: String,
    /// Whether it may be changed.
    pub writable: bool,
    /// Why driver, map and flavour were chosen, and what was odd: one line each.
    pub notes: Vec<String>,
    /// The defects that opening met; the dataset is open all the same.
    pub faults: Vec<Fault>,
    /// The text of `_NCProperties`, if the dataset has one.
    pub properties: Option<String>,
    /// The version of the superblock for `_SuperblockVersion`, if the dataset has one.
    pub superblock: Option<i32>,
    /// Whether nothing in it tells that netCDF made it: `_IsNetcdf4` is 0.
    pub foreign: bool,
}

impl DatasetInfo {
    /// What a read-only dataset without map, flavour and version says; the rest is filled in with `..`.
    pub fn of(driver: &DriverInfo, format: Format) -> Self {
        Self {
            driver: driver.name,
            map: None,
            format,
            formatx: driver.formatx,
            flavour: String::new(),
            version: String::new(),
            writable: false,
            notes: Vec::new(),
            faults: Vec::new(),
            properties: None,
            superblock: None,
            foreign: false,
        }
    }
}

/// Room that is asked for when define mode is left, in bytes. Hints for formats in which data follow a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spacing {
    /// Room behind the header.
    pub h_minfree: u64,
    /// What the start of the fixed part is a multiple of; 0: what the format does.
    pub v_align: u64,
    /// Room behind the fixed part.
    pub v_minfree: u64,
    /// What the start of the records is a multiple of; 0: what the format does.
    pub r_align: u64,
}

/// How the elements of a variable are stored, where this says more than their netCDF type: units, text, byte order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredType {
    /// The type as the member `data_type` of Zarr V3 has it, in JSON.
    pub data_type: String,
    /// The byte order of its numbers.
    pub endian: Endian,
}

/// One open dataset: what a storage format must be able to do.
pub trait Dataset: Send + Sync + fmt::Debug {
    /// What it is.
    fn info(&self) -> DatasetInfo;

    /// The metadata tree. All inquiry functions are answered from it.
    fn model(&self) -> &ModelCell;

    /// The faults that only a search of the storage shows, beside [`DatasetInfo::faults`].
    ///
    /// Opening does not search: most callers never ask.
    ///
    /// # Errors
    /// Those of the storage.
    fn search_faults(&self) -> Result<Vec<Fault>> {
        Ok(Vec::new())
    }

    /// The registry it was opened with; `None`: the process's.
    fn registry(&self) -> Option<&Arc<Registry>> {
        None
    }

    /// The data of a variable; kept by whoever reads or writes it often.
    ///
    /// # Errors
    /// The variable's `problem` if its data cannot be read; `NC_ENOTVAR`.
    fn data(&self, var: VarId) -> Result<Arc<dyn VarData>>;

    /// Compares all objects of the storage with the dataset: which belong to nothing, and which contradict each other.
    ///
    /// It reads metadata and lists keys, and no data. Formats that are one file have nothing to compare.
    ///
    /// # Errors
    /// Those of the storage.
    fn audit(&self) -> Result<Audit> {
        Ok(Audit::default())
    }

    /// The attributes of a group or variable as the JSON that is stored of them now, in formats that store JSON.
    ///
    /// The storage is read: who opens a dataset keeps none of it.
    ///
    /// # Errors
    /// Those of the storage.
    fn attributes_json(&self, _group: GroupId, _var: Option<VarId>) -> Result<Option<Vec<(String, String)>>> {
        Ok(None)
    }

    /// Has an attribute that is defined stored as this JSON, in formats that store JSON. The JSON counts as long as the
    /// attribute has the values that it has now, and only if the JSON is read as these values.
    ///
    /// # Errors
    /// `NC_ENOTATT` if there is no such attribute.
    fn keep_json(&self, _group: GroupId, _var: Option<VarId>, _name: &str, _json: &str) -> Result<()> {
        Ok(())
    }

    /// How the elements of a variable are stored, in formats that another dataset can follow ([`Dataset::def_var_stored`]).
    ///
    /// The storage is read, as for [`Dataset::attributes_json`].
    ///
    /// # Errors
    /// Those of the storage.
    fn stored_type(&self, _var: VarId) -> Result<Option<StoredType>> {
        Ok(None)
    }

    /// As [`Dataset::apply`] of [`Edit::DefVar`], for a variable whose elements are stored as `stored` says.
    /// `None`: the format does not store elements of this netCDF type so, and defined nothing.
    ///
    /// # Errors
    /// As [`Dataset::apply`].
    fn def_var_stored(
        &self,
        _group: GroupId,
        _name: &str,
        _xtype: NcType,
        _dims: &[DimId],
        _stored: &StoredType,
    ) -> Result<Option<VarId>> {
        Ok(None)
    }

    /// Local files besides that of its path in which data of it lie, as far as they have names that are read.
    fn further_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Ends define mode, flushes and releases everything. Idempotent.
    ///
    /// # Errors
    /// Those of the storage.
    fn close(&self) -> Result<()>;

    /// Whether this format can hold the edit, and what must happen in storage before the model changes.
    ///
    /// # Errors
    /// The netCDF code of the rule the format has; nothing has changed then.
    fn admit(&self, _edit: &Edit<'_>) -> Result<()> {
        Err(ErrorKind::Perm.context("the dataset is read-only"))
    }

    /// Admits an edit and applies it to the model ([`ModelCell::define`]).
    ///
    /// A format whose [`Dataset::admit`] depends on what other threads may be changing makes one step of both.
    ///
    /// # Errors
    /// As [`Dataset::admit`] and [`Model::apply`](nczarr_model::Model::apply); nothing has changed then.
    fn apply(&self, edit: &Edit<'_>) -> Result<Defined> {
        self.admit(edit)?;
        self.model().define(edit)
    }

    /// As [`Dataset::apply`] of [`Edit::PutAtt`]. The values may be taken, which saves a copy.
    ///
    /// # Errors
    /// As [`Dataset::apply`]; all values are there still.
    fn apply_att(&self, group: GroupId, var: Option<VarId>, name: &str, values: &mut Values) -> Result<()> {
        self.apply(&Edit::PutAtt { group, var, name, values }).map(drop)
    }

    /// Writes the metadata (`enddef`).
    ///
    /// They count no data that are not stored: lengths of unlimited dimensions are those of the last [`Dataset::sync`],
    /// unless the data are stored first.
    ///
    /// # Errors
    /// Those of the storage.
    fn commit(&self) -> Result<()> {
        Ok(())
    }

    /// As [`Dataset::commit`], leaving room; formats that have no use for it leave none.
    ///
    /// # Errors
    /// As [`Dataset::commit`].
    fn commit_spaced(&self, _spacing: Spacing) -> Result<()> {
        self.commit()
    }

    /// The room that its layout has, as [`Dataset::commit_spaced`] is asked for it; none in formats that have no use for it.
    ///
    /// What whoever wrote it wanted to be aligned cannot be told any more: room counts, and alignment is what keeps the places.
    fn spacing(&self) -> Spacing {
        Spacing::default()
    }

    /// All bytes of a dataset that lies in memory as one file, everything written; also once it is closed.
    ///
    /// # Errors
    /// `NC_EINMEMORY` if it does not.
    fn image(&self) -> Result<Vec<u8>> {
        Err(ErrorKind::InMemory.context("the dataset is not a file in memory"))
    }

    /// Ends define mode ([`ModelCell::end`]) and writes everything out: data first, then metadata, once.
    ///
    /// # Errors
    /// Those of the storage.
    fn sync(&self) -> Result<()> {
        Ok(())
    }

    /// Closes without the changes of a define mode that has not ended; a dataset that was never committed is deleted.
    ///
    /// # Errors
    /// Those of the storage.
    fn abort(&self) -> Result<()> {
        self.model().roll_back();
        self.close()
    }
}

/// The data of one variable.
pub trait VarData: Send + Sync + fmt::Debug {
    /// Reads a hyperslab, converting to the memory type.
    ///
    /// # Errors
    /// `NC_ERANGE` after the whole transfer if a value did not fit; what storage and filters say.
    fn get(&self, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()>;

    /// Copies one element to `out`, of its own type and byte for byte what [`VarData::get`] would read there, if that takes
    /// no more than a look at memory. `false` in every other case, whatever it is: nothing happened, and `get` is to be asked.
    ///
    /// Nothing was checked before: not the rank, the indices, the type or the length of `out`.
    fn peek(&self, _at: &[u64], _ty: NcType, _out: &mut [u8]) -> bool {
        false
    }

    /// As [`VarData::peek`], which is asked first, if it takes no more than to look where the element is stored. `false`: what is
    /// in `out` means nothing, and `get` is to be asked, which also says what is wrong if anything is.
    fn pick(&self, _at: &[u64], _ty: NcType, _out: &mut [u8]) -> bool {
        false
    }

    /// Whether what a hyperslab is read from is there, as far as a look tells: asked before memory is taken for it.
    /// The hyperslab was checked.
    ///
    /// # Errors
    /// What [`VarData::get`] would say, as far as it is known without reading.
    fn look(&self, _slab: &Slab<'_>) -> Result<()> {
        Ok(())
    }

    /// Reads a hyperslab as floats or doubles, each element transformed on the way.
    ///
    /// Arithmetic is that of doubles, in memory of floats too, where the result is rounded. Where this is not
    /// implemented elements are read first and transformed then, with memory for all of them.
    ///
    /// # Errors
    /// As [`VarData::get`]; `NC_EBADTYPE` for memory of another type, or missing values that are not of the variable's.
    fn get_linear(&self, slab: &Slab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        crate::linear::two_passes(self, slab, out, linear)
    }

    /// Writes a hyperslab, converting from the memory type, and grows unlimited dimensions.
    ///
    /// # Errors
    /// As [`VarData::get`]; `NC_EPERM` if the dataset is read-only.
    fn put(&self, _slab: &Slab<'_>, _data: MemRef<'_>) -> Result<()> {
        Err(ErrorKind::Perm.context("the dataset is read-only"))
    }

    /// Whether nothing of a hyperslab is stored: its elements were never written, and read as the fill value.
    /// `false` if that is not known.
    ///
    /// # Errors
    /// Those of the storage.
    fn is_absent(&self, _slab: &Slab<'_>) -> Result<bool> {
        Ok(false)
    }

    /// The chunks that the storage holds. `None`: that is not known at a cost that goes with their number.
    ///
    /// A list of keys or an index answers this. Elements of all other chunks read as the fill value. Chunks are those
    /// of [`VarData::chunk_shape`], also where several of them lie in one shard.
    ///
    /// # Errors
    /// Those of the storage.
    fn stored_chunks(&self) -> Result<Option<StoredChunks>> {
        Ok(None)
    }

    /// Whether text is stored in a fixed number of bytes each, where an empty one may as well be none at all: it reads as
    /// empty, and netCDF-C takes it for none (`NIL` in CDL).
    fn is_fixed_text(&self) -> bool {
        false
    }

    /// Changes how much of the decoded data is kept.
    ///
    /// # Errors
    /// `NC_EINVAL` if the values make no sense.
    fn tune(&self, _cache: CacheConfig) -> Result<()> {
        Ok(())
    }

    /// How much of the decoded data is kept.
    fn cache(&self) -> CacheConfig {
        CacheConfig::default()
    }

    /// The shape of the stored chunks, in elements; `None` if the variable is stored in one piece.
    fn chunk_shape(&self) -> Option<Vec<u64>> {
        None
    }
}
