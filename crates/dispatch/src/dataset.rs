//! An open dataset ([`Dataset`]) and the data of one variable ([`VarData`]).
//!
//! A driver implements these methods. The crate `nczarr_nc_table` builds all entries of netCDF's
//! dispatch table on them. Arguments are checked before they arrive here: a [`CheckedSlab`] lies inside its
//! variable, so a driver never checks it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use nczarr_model::{
    CheckedSlab, Defined, DimId, Edit, Endian, ErrorKind, GroupId, ModelCell, NcType, Result, Values, VarId,
};

use crate::{Audit, DriverInfo, Fault, Format, FormatX, Linear, MemMut, MemRef, Registry, StoredChunks};

/// The size and policy of a variable's chunk cache.
///
/// ```
/// let cache = nczarr_dispatch::CacheConfig::default().bytes(16 << 20);
/// assert_eq!(cache.bytes, 16 << 20);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct CacheConfig {
    /// The capacity in bytes.
    pub bytes: usize,
    /// The number of slots of the hash table; a hint.
    pub slots: usize,
    /// A number from 0 to 1: how readily completely read or written chunks are evicted; a hint.
    pub preemption: f32,
}

impl CacheConfig {
    /// The built-in default.
    pub const BUILT_IN: Self = Self { bytes: 64 << 20, slots: 1000, preemption: 0.75 };

    nczarr_runtime::setters! {
        const
        bytes: usize,
        slots: usize,
        preemption: f32,
    }

    /// Checks that the preemption is in 0 to 1.
    ///
    /// # Errors
    /// [`ErrorKind::Inval`] if it is not.
    pub fn check(&self) -> Result<()> {
        if !(0.0..=1.0).contains(&self.preemption) {
            return Err(ErrorKind::Inval
                .context(format!("chunk cache: preemption {} is not in 0 to 1", self.preemption)));
        }
        Ok(())
    }
}

impl Default for CacheConfig {
    /// The setting of the process ([`chunk_cache`](crate::settings::chunk_cache)).
    fn default() -> Self {
        crate::settings::chunk_cache()
    }
}

/// The description of an open dataset.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DatasetInfo {
    /// The driver's name.
    pub driver: &'static str,
    /// The map's name, if the dataset is in a map.
    pub map: Option<String>,
    /// `NC_FORMAT_*`.
    pub format: Format,
    /// `NC_FORMATX_*`.
    pub formatx: FormatX,
    /// The flavour within the driver (`nczarr`, `xarray`, `zarr` …).
    pub flavour: String,
    /// The version of the format (`2` for Zarr V2 …).
    pub version: String,
    /// Whether the dataset is open for writing.
    pub writable: bool,
    /// The reasons for driver, map and flavour, and oddities: one line each.
    pub notes: Vec<String>,
    /// The defects that opening found and passed over.
    pub faults: Vec<Fault>,
    /// The text of `_NCProperties`, if the dataset has one.
    pub properties: Option<String>,
    /// The version of the superblock for `_SuperblockVersion`, if the dataset has one.
    pub superblock: Option<i32>,
    /// Whether nothing shows that netCDF created it: `_IsNetcdf4` is 0.
    pub foreign: bool,
}

impl DatasetInfo {
    /// Returns the description of a read-only dataset without map, flavour and version.
    pub fn new(driver: &DriverInfo, format: Format) -> Self {
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

    nczarr_runtime::setters! {
        map: Option<String>,
        flavour: String,
        version: String,
        writable: bool,
        notes: Vec<String>,
        faults: Vec<Fault>,
        properties: Option<String>,
        superblock: Option<i32>,
        foreign: bool,
    }
}

/// Free space requested when define mode ends, in bytes. Hints for formats with a header before the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeaderPadding {
    /// Free space after the header.
    pub h_minfree: u64,
    /// The alignment of the fixed-size variables; 0: the default of the format.
    pub v_align: u64,
    /// Free space after the fixed-size variables.
    pub v_minfree: u64,
    /// The alignment of the records; 0: the default of the format.
    pub r_align: u64,
}

/// The stored form of a variable's elements, if it says more than the netCDF type: units, text, byte order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredType {
    /// The type as JSON, as in the member `data_type` of Zarr V3.
    pub data_type: String,
    /// The byte order of its numbers.
    pub endian: Endian,
}

/// An open dataset: the methods that a format implements.
///
/// [`Driver`](crate::Driver) has an example of an implementation.
pub trait Dataset: Send + Sync + fmt::Debug {
    /// Returns the description of the dataset.
    fn info(&self) -> DatasetInfo;

    /// Returns the metadata tree, which answers all inquiries.
    fn model(&self) -> &ModelCell;

    /// Searches the storage for faults beyond [`DatasetInfo::faults`].
    ///
    /// Opening does not search, since most callers do not need it.
    ///
    /// # Errors
    /// Those of the storage.
    fn search_faults(&self) -> Result<Vec<Fault>> {
        Ok(Vec::new())
    }

    /// Returns the registry of the dataset; `None`: that of the process.
    fn registry(&self) -> Option<&Arc<Registry>> {
        None
    }

    /// Returns the data of a variable. Frequent callers keep it.
    ///
    /// # Errors
    /// `NC_ENOTVAR`, or the variable's `problem` if its data cannot be read.
    fn data(&self, var: VarId) -> Result<Arc<dyn VarData>>;

    /// Compares all objects of the storage with the dataset, and reports unused and contradictory ones.
    ///
    /// It reads metadata and lists keys, but reads no data. Formats of one file have nothing to compare.
    ///
    /// # Errors
    /// Those of the storage.
    fn audit(&self) -> Result<Audit> {
        Ok(Audit::default())
    }

    /// Returns the stored attributes of a group or variable as JSON, in formats that store JSON.
    ///
    /// It reads the storage: an open dataset does not keep the JSON.
    ///
    /// # Errors
    /// Those of the storage.
    fn attributes_json(&self, _group: GroupId, _var: Option<VarId>) -> Result<Option<Vec<(String, String)>>> {
        Ok(None)
    }

    /// Sets the JSON of a defined attribute, in formats that store JSON. The JSON is used while the attribute
    /// keeps its current value, and only if the JSON means this value.
    ///
    /// # Errors
    /// `NC_ENOTATT` if the attribute does not exist.
    fn set_attribute_json(
        &self,
        _group: GroupId,
        _var: Option<VarId>,
        _name: &str,
        _json: &str,
    ) -> Result<()> {
        Ok(())
    }

    /// Returns the stored form of a variable's elements, for [`Dataset::def_var_as_stored`] of another
    /// dataset.
    ///
    /// It reads the storage, like [`Dataset::attributes_json`].
    ///
    /// # Errors
    /// Those of the storage.
    fn stored_type(&self, _var: VarId) -> Result<Option<StoredType>> {
        Ok(None)
    }

    /// As [`Dataset::apply`] of [`Edit::DefVar`], with the stored form `stored`. `None`: the format cannot
    /// store this type in that form, and nothing was defined.
    ///
    /// # Errors
    /// As [`Dataset::apply`].
    fn def_var_as_stored(
        &self,
        _group: GroupId,
        _name: &str,
        _xtype: NcType,
        _dims: &[DimId],
        _stored: &StoredType,
    ) -> Result<Option<VarId>> {
        Ok(None)
    }

    /// Returns further local files that hold data, as far as their names are known.
    fn external_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Ends define mode, writes all changes and releases all resources. Idempotent.
    ///
    /// # Errors
    /// Those of the storage.
    fn close(&self) -> Result<()>;

    /// Checks whether the format supports an edit, and prepares the storage before the model changes.
    ///
    /// # Errors
    /// The netCDF code of the violated rule; nothing has changed then.
    fn admit(&self, _edit: &Edit<'_>) -> Result<()> {
        Err(ErrorKind::Perm.context("the dataset is read-only"))
    }

    /// Admits an edit and applies it to the model ([`ModelCell::define`]).
    ///
    /// A format whose [`Dataset::admit`] depends on changes by other threads makes both steps atomic.
    ///
    /// # Errors
    /// As [`Dataset::admit`] and [`Model::apply`](nczarr_model::Model::apply); nothing has changed then.
    fn apply(&self, edit: &Edit<'_>) -> Result<Defined> {
        self.admit(edit)?;
        self.model().define(edit)
    }

    /// As [`Dataset::apply`] of [`Edit::PutAtt`]. It may move the values, which saves a copy.
    ///
    /// # Errors
    /// As [`Dataset::apply`]; `values` is unchanged then.
    fn apply_att(&self, group: GroupId, var: Option<VarId>, name: &str, values: &mut Values) -> Result<()> {
        self.apply(&Edit::PutAtt { group, var, name, values }).map(drop)
    }

    /// Writes the metadata (`enddef`).
    ///
    /// Lengths of unlimited dimensions never count unstored data: they are those of the last
    /// [`Dataset::sync`], unless data are stored first.
    ///
    /// # Errors
    /// Those of the storage.
    fn commit(&self) -> Result<()> {
        Ok(())
    }

    /// As [`Dataset::commit`], with free space. Formats without a header ignore it.
    ///
    /// # Errors
    /// As [`Dataset::commit`].
    fn commit_padded(&self, _spacing: HeaderPadding) -> Result<()> {
        self.commit()
    }

    /// Returns the free space of the layout, for [`Dataset::commit_padded`]. Formats without a header return
    /// zeros.
    ///
    /// The original alignment is unknown: the sizes count, and the alignment preserves the offsets.
    fn header_padding(&self) -> HeaderPadding {
        HeaderPadding::default()
    }

    /// Returns all bytes of a dataset in memory, with all changes; also after closing.
    ///
    /// # Errors
    /// `NC_EINMEMORY` if the dataset is not one file in memory.
    fn image(&self) -> Result<Vec<u8>> {
        Err(ErrorKind::InMemory.context("the dataset is not a file in memory"))
    }

    /// Ends define mode ([`ModelCell::end`]) and writes all changes: data first, then metadata, once.
    ///
    /// # Errors
    /// Those of the storage.
    fn sync(&self) -> Result<()> {
        Ok(())
    }

    /// Closes and discards the changes of an unfinished define mode. Deletes a dataset that was never
    /// committed.
    ///
    /// # Errors
    /// Those of the storage.
    fn abort(&self) -> Result<()> {
        self.model().roll_back();
        self.close()
    }
}

/// The data of one variable.
///
/// ```
/// use nczarr_dispatch::{MemMut, VarData};
/// use nczarr_model::{CheckedSlab, ErrorKind, NcType, Result, Slab};
///
/// /// A variable of doubles that are all 0.
/// #[derive(Debug)]
/// struct Zeros;
///
/// impl VarData for Zeros {
///     fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
///         let elements = slab.count.iter().product::<u64>() as usize;
///         match out {
///             MemMut::Fixed { ty: NcType::Double, out } => out.put(&vec![0; 8 * elements]),
///             _ => Err(ErrorKind::BadType.context("only doubles")),
///         }
///     }
/// }
///
/// use nczarr_dispatch::OutBuf;
/// let mut bytes = [1; 16];
/// let mut out = OutBuf::from_slice(&mut bytes);
/// let slab = Slab::new(&[0], &[2]).check(&[5], |_| false)?;
/// Zeros.get(&slab, MemMut::Fixed { ty: NcType::Double, out: &mut out })?;
/// assert_eq!(bytes, [0; 16]);
/// # Ok::<(), nczarr_model::Error>(())
/// ```
pub trait VarData: Send + Sync + fmt::Debug {
    /// Reads a hyperslab, converting to the memory type.
    ///
    /// # Errors
    /// `NC_ERANGE` after the whole transfer if a value did not fit; otherwise the error of the storage or a
    /// filter.
    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()>;

    /// Copies one element from memory to `out`, without conversion: the bytes that [`VarData::get`] would
    /// return. Returns `false` if the element is not in memory; nothing happened then.
    ///
    /// The arguments are unchecked: rank, indices, type and the length of `out`.
    fn try_get_cached_element(&self, _at: &[u64], _ty: NcType, _out: &mut [u8]) -> bool {
        false
    }

    /// As [`VarData::try_get_cached_element`], but reads the element from storage if that is a single small
    /// read. Returns `false` otherwise: `out` is undefined, and the caller uses `get`, which reports any
    /// error.
    fn try_get_stored_element(&self, _at: &[u64], _ty: NcType, _out: &mut [u8]) -> bool {
        false
    }

    /// Checks cheaply whether the storage of a hyperslab exists, before the caller allocates memory.
    ///
    /// # Errors
    /// The error of [`VarData::get`], if it is known without reading.
    fn check_readable(&self, _slab: &CheckedSlab<'_>) -> Result<()> {
        Ok(())
    }

    /// Reads a hyperslab as floats or doubles and transforms each element.
    ///
    /// Arithmetic uses doubles; results in floats are rounded. The default reads all elements first and then
    /// transforms them, which takes memory for both.
    ///
    /// # Errors
    /// As [`VarData::get`]; `NC_EBADTYPE` for memory of another type, or for missing values of another type
    /// than the variable's.
    fn get_linear(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        crate::linear::get_linear_in_two_passes(self, slab, out, linear)
    }

    /// Writes a hyperslab, converting from the memory type, and grows unlimited dimensions.
    ///
    /// # Errors
    /// As [`VarData::get`]; `NC_EPERM` if the dataset is read-only.
    fn put(&self, _slab: &CheckedSlab<'_>, _data: MemRef<'_>) -> Result<()> {
        Err(ErrorKind::Perm.context("the dataset is read-only"))
    }

    /// Whether nothing of a hyperslab is stored: its elements read as the fill value. `false` if that is
    /// unknown.
    ///
    /// # Errors
    /// Those of the storage.
    fn is_absent(&self, _slab: &CheckedSlab<'_>) -> Result<bool> {
        Ok(false)
    }

    /// Returns the chunks in storage. `None`: the cost would not be proportional to their number.
    ///
    /// It uses a listing or an index. Elements of all other chunks read as the fill value. The chunks have
    /// the shape [`VarData::chunk_shape`], also inside shards.
    ///
    /// # Errors
    /// Those of the storage.
    fn stored_chunks(&self) -> Result<Option<StoredChunks>> {
        Ok(None)
    }

    /// Whether text has a fixed number of bytes, so that an empty text and a missing one are the same: it
    /// reads as empty, and netCDF-C prints `NIL` in CDL.
    fn is_fixed_text(&self) -> bool {
        false
    }

    /// Changes the chunk cache.
    ///
    /// # Errors
    /// `NC_EINVAL` for invalid values.
    fn set_chunk_cache(&self, _cache: CacheConfig) -> Result<()> {
        Ok(())
    }

    /// Returns the settings of the chunk cache.
    fn chunk_cache(&self) -> CacheConfig {
        CacheConfig::default()
    }

    /// Returns the shape of the stored chunks, in elements; `None` if the variable is contiguous.
    fn chunk_shape(&self) -> Option<Vec<u64>> {
        None
    }
}
