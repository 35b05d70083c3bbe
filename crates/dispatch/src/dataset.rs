//! An open dataset ([`Dataset`]) and its description ([`DatasetInfo`]).
//!
//! A driver implements these methods. The crate `nczarr_nc_table` builds all entries of netCDF's
//! dispatch table on them.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use nczarr_model::{ErrorKind, ModelCell, Result, VarId};

use crate::{Audit, DriverInfo, Editor, Fault, Format, FormatX, JsonMetadata, Registry, VarData};

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
    /// The reasons for the choice of driver, map and flavour, and unusual properties: one line each.
    pub notes: Vec<String>,
    /// The defects that opening found, and that did not stop it.
    pub faults: Vec<Fault>,
    /// The text of `_NCProperties`, if the dataset has one.
    pub properties: Option<String>,
    /// The version of the superblock for `_SuperblockVersion`, if the dataset has one.
    pub superblock: Option<i32>,
    /// Whether another program than netCDF seems to have created the dataset. Then `_IsNetcdf4` is 0.
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
    /// Errors of the storage.
    fn search_faults(&self) -> Result<Vec<Fault>> {
        Ok(Vec::new())
    }

    /// Returns the registry of the dataset; `None`: the dataset uses the registry of the process.
    fn registry(&self) -> Option<&Arc<Registry>> {
        None
    }

    /// Returns the data of a variable. Keep the result if you call often.
    ///
    /// # Errors
    /// `NC_ENOTVAR`, or the variable's `problem` if its data cannot be read.
    fn data(&self, var: VarId) -> Result<Arc<dyn VarData>>;

    /// Compares all objects of the storage with the dataset, and reports unused and contradictory ones.
    ///
    /// It reads metadata and lists keys, but reads no data. Formats of one file have nothing to compare.
    ///
    /// # Errors
    /// Errors of the storage.
    fn audit(&self) -> Result<Audit> {
        Ok(Audit::default())
    }

    /// Returns the methods that change the metadata.
    ///
    /// # Errors
    /// [`ErrorKind::Perm`] if the format cannot be written.
    fn editor(&self) -> Result<&dyn Editor> {
        Err(ErrorKind::Perm.context("the dataset is read-only"))
    }

    /// Returns the metadata as JSON; `None` in formats that do not store JSON.
    fn json_metadata(&self) -> Option<&dyn JsonMetadata> {
        None
    }

    /// Returns further local files that hold data, as far as their names are known.
    fn external_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Ends define mode, writes all changes and releases all resources. Idempotent.
    ///
    /// # Errors
    /// Errors of the storage.
    fn close(&self) -> Result<()>;

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
    /// Errors of the storage.
    fn sync(&self) -> Result<()> {
        Ok(())
    }

    /// Closes and discards the changes of an unfinished define mode. Deletes a dataset that was never
    /// committed.
    ///
    /// # Errors
    /// Errors of the storage.
    fn abort(&self) -> Result<()> {
        self.model().roll_back();
        self.close()
    }
}
