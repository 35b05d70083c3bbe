//! [`Driver`], one per format, and the requests to open or create a dataset.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};
use nczarr_url_infer::Target;

use nczarr_storage::source::Backing;
use nczarr_storage::{Clobber, CreateMap, Magic, MapFactory, OpenMap, PrefetchedMap, ZMap};

use crate::{Dataset, Options, Registry};

/// `NC_FORMATX_*`: the implementation of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FormatX {
    /// Classic formats.
    Nc3,
    /// netCDF-4 in HDF5.
    Hdf5,
    /// HDF4 scientific datasets.
    Hdf4,
    /// NCZarr and Zarr.
    NcZarr,
    /// A user-defined format, 0 to 9.
    Udf(u8),
}

impl FormatX {
    /// Returns netCDF-C's number.
    pub const fn code(self) -> i32 {
        match self {
            Self::Nc3 => 1,
            Self::Hdf5 => 2,
            Self::Hdf4 => 3,
            Self::NcZarr => 10,
            Self::Udf(0) => 8,
            Self::Udf(1) => 9,
            Self::Udf(n) => 9 + n as i32,
        }
    }
}

/// `NC_FORMAT_*`: the data model and kind of file of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// CDF-1.
    Classic,
    /// CDF-2.
    Offset64,
    /// The enhanced model (netCDF-4, NCZarr).
    NetCdf4,
    /// The classic model in a netCDF-4 file.
    NetCdf4Classic,
    /// CDF-5.
    Cdf5,
}

impl Format {
    /// Returns netCDF-C's number.
    pub const fn code(self) -> i32 {
        match self {
            Self::Classic => 1,
            Self::Offset64 => 2,
            Self::NetCdf4 => 3,
            Self::NetCdf4Classic => 4,
            Self::Cdf5 => 5,
        }
    }

    /// Returns the name that `ncdump -k` prints.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Offset64 => "64-bit offset",
            Self::NetCdf4 => "netCDF-4",
            Self::NetCdf4Classic => "netCDF-4 classic model",
            Self::Cdf5 => "cdf5",
        }
    }
}

/// A driver's name, and the marks of its datasets.
///
/// ```
/// use nczarr_dispatch::{DriverInfo, FormatX};
///
/// static INFO: DriverInfo = DriverInfo::new("ramp", FormatX::Udf(0), "counts from 0").modes(&["ramp"]);
/// assert!(INFO.magic.is_empty());
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct DriverInfo {
    /// Its name, unique in a registry.
    pub name: &'static str,
    /// The implementation number of its datasets.
    pub formatx: FormatX,
    /// The values of `mode=` that select it.
    pub modes: &'static [&'static str],
    /// First bytes of a file that select it.
    pub magic: &'static [Magic],
    /// Marker keys in the root of a map (`.zgroup` …): one of them identifies the dataset. Empty if the
    /// driver uses no map.
    pub markers: &'static [&'static str],
    /// A description in one line.
    pub about: &'static str,
    /// Whether datasets are single files that can be in memory. The driver then accepts any [`Backing`], and
    /// its datasets have an [image](Dataset::image).
    pub in_memory: bool,
}

impl DriverInfo {
    /// Describes a driver that no mode, first bytes or marker key selects.
    pub const fn new(name: &'static str, formatx: FormatX, about: &'static str) -> Self {
        Self { name, formatx, modes: &[], magic: &[], markers: &[], about, in_memory: false }
    }

    /// Refuses a backing that the driver does not know.
    pub(crate) fn check_backing(&self, backing: &Backing, verb: &str) -> Result<()> {
        let kind = match backing {
            Backing::Place | Backing::Source(_) => return Ok(()),
            _ if self.in_memory => return Ok(()),
            Backing::Bytes(_) => ErrorKind::InMemory,
            Backing::Memory { .. } => ErrorKind::Diskless,
        };
        Err(kind.context(format!("driver {} cannot {verb} datasets in memory", self.name)))
    }

    nczarr_runtime::setters! {
        const
        modes: &'static [&'static str],
        magic: &'static [Magic],
        markers: &'static [&'static str],
        in_memory: bool,
    }
}

/// A request to open a dataset.
#[derive(Clone)]
#[non_exhaustive]
pub struct OpenRequest<'a> {
    /// The location, and the options of the fragment.
    pub target: &'a Target,
    /// Whether the dataset is opened for writing.
    pub writable: bool,
    /// Limits, cache and other options.
    pub options: &'a Options,
    /// The available maps and filters.
    pub registry: &'a Arc<Registry>,
    /// The map, if it is open already: given by the program, or opened for recognition.
    pub map: Option<MountedMap>,
    /// The variable to open, if the rest of the dataset is not needed. A driver may ignore this and open
    /// everything.
    pub scope: Option<OpenScope<'a>>,
    /// The bytes of the dataset. [`Backing::Bytes`] and [`Backing::Memory`] only reach drivers with
    /// [`DriverInfo::in_memory`].
    pub backing: Backing,
}

impl<'a> OpenRequest<'a> {
    /// Creates a request to open a dataset for reading.
    pub fn new(target: &'a Target, options: &'a Options, registry: &'a Arc<Registry>) -> Self {
        Self { target, writable: false, options, registry, map: None, scope: None, backing: Backing::Place }
    }

    nczarr_runtime::setters! {
        writable: bool,
        map: Option<MountedMap>,
        scope: Option<OpenScope<'a>>,
        backing: Backing,
    }

    /// Calls `run` with the request to open the dataset's map.
    pub(crate) fn with_map_request<T>(&self, run: impl FnOnce(&OpenMap<'_>) -> T) -> T {
        let (options, markers) = (self.options.for_map(), self.registry.markers());
        let sources = |part| self.registry.open_source(self, part);
        let request = OpenMap::new(self.target, &options).writable(self.writable);
        run(&request.markers(markers).sources(&sources).backing(&self.backing))
    }
}

/// The single variable that a dataset is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenScope<'a> {
    /// Its path from the root.
    pub path: &'a str,
    /// Whether attributes and names of groups and dimensions may be skipped too.
    pub data_only: bool,
}

/// An open map, and its origin.
#[derive(Clone)]
pub struct MountedMap {
    /// The map.
    pub map: Arc<dyn ZMap>,
    /// The factory of the map; `None`: the program supplied the map.
    pub factory: Option<Arc<dyn MapFactory>>,
    /// The reason for this map, for messages.
    pub why: Cow<'static, str>,
    /// The objects that are read already, if the map is remote.
    pub prefetched: Option<Arc<PrefetchedMap>>,
}

impl MountedMap {
    /// A map that a factory opened.
    pub(crate) fn of(map: Arc<dyn ZMap>, factory: &Arc<dyn MapFactory>, why: Cow<'static, str>) -> Self {
        Self { map, factory: Some(Arc::clone(factory)), why, prefetched: None }
    }

    /// Returns the map for opening a dataset: prefetched objects are answered from memory.
    pub fn for_opening(&self) -> &dyn ZMap {
        self.prefetched.as_deref().map_or(&*self.map, |survey| survey)
    }

    /// Deletes the dataset at the target of `request`, if the map came from a factory.
    ///
    /// # Errors
    /// As [`MapFactory::delete`].
    pub fn delete(&self, request: &OpenRequest<'_>) -> Result<()> {
        match &self.factory {
            Some(factory) => request.with_map_request(|request| factory.delete(request)),
            None => Ok(()),
        }
    }

    /// Returns the factory's name, if there is a factory.
    pub fn name(&self) -> Option<&'static str> {
        self.factory.as_ref().map(|factory| factory.info().name)
    }
}

impl From<Arc<dyn ZMap>> for MountedMap {
    /// Wraps a map that the program supplies.
    fn from(map: Arc<dyn ZMap>) -> Self {
        Self { map, factory: None, why: "supplied by the program".into(), prefetched: None }
    }
}

impl Deref for MountedMap {
    type Target = dyn ZMap;

    fn deref(&self) -> &Self::Target {
        &*self.map
    }
}

impl fmt::Debug for MountedMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MountedMap")
            .field("map", &self.map)
            .field("name", &self.name())
            .field("why", &self.why)
            .finish()
    }
}

/// A request to create a dataset.
#[derive(Clone)]
#[non_exhaustive]
pub struct CreateRequest<'a> {
    /// The location, and the options of the fragment.
    pub target: &'a Target,
    /// The treatment of an existing dataset.
    pub clobber: Clobber,
    /// Only the classic model: no groups, user types, strings or second unlimited dimension.
    pub classic_model: bool,
    /// Limits, cache and other options.
    pub options: &'a Options,
    /// The available maps and filters.
    pub registry: &'a Arc<Registry>,
    /// The map, if it exists already.
    pub map: Option<MountedMap>,
    /// A dataset in a map is replaced only if its root has one of these keys. Empty: nothing is replaced.
    pub markers: &'a [&'a str],
    /// The place of the new dataset: the target, or memory if the driver has [`DriverInfo::in_memory`].
    pub backing: Backing,
}

impl<'a> CreateRequest<'a> {
    /// Creates a request that replaces nothing.
    pub fn new(target: &'a Target, options: &'a Options, registry: &'a Arc<Registry>) -> Self {
        Self {
            target,
            clobber: Clobber::Refuse,
            classic_model: false,
            options,
            registry,
            map: None,
            markers: &[],
            backing: Backing::Place,
        }
    }

    nczarr_runtime::setters! {
        clobber: Clobber,
        classic_model: bool,
        map: Option<MountedMap>,
        markers: &'a [&'a str],
        backing: Backing,
    }

    /// Calls `run` with the request to create the dataset's map.
    pub(crate) fn with_map_request<T>(&self, run: impl FnOnce(&CreateMap<'_>) -> T) -> T {
        let options = self.options.for_map();
        let request = CreateMap::new(self.target, &options).clobber(self.clobber);
        run(&request.markers(self.markers).backing(&self.backing))
    }
}

/// A format: a unit struct and a `static` description.
///
/// A driver for datasets without variables:
///
/// ```
/// use std::sync::Arc;
///
/// use nczarr_dispatch::{Dataset, DatasetInfo, Driver, DriverInfo, Format, FormatX, OpenRequest, VarData};
/// use nczarr_model::{ErrorKind, Model, ModelCell, Result, VarId};
///
/// static INFO: DriverInfo =
///     DriverInfo::new("empty", FormatX::Udf(0), "datasets without variables").modes(&["empty"]);
///
/// struct EmptyDriver;
///
/// impl Driver for EmptyDriver {
///     fn info(&self) -> &DriverInfo {
///         &INFO
///     }
///     fn open(&self, _request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
///         Ok(Arc::new(EmptyDataset(ModelCell::new(Model::new()))))
///     }
/// }
///
/// #[derive(Debug)]
/// struct EmptyDataset(ModelCell);
///
/// impl Dataset for EmptyDataset {
///     fn info(&self) -> DatasetInfo {
///         DatasetInfo::new(&INFO, Format::NetCdf4)
///     }
///     fn model(&self) -> &ModelCell {
///         &self.0
///     }
///     fn data(&self, _var: VarId) -> Result<Arc<dyn VarData>> {
///         Err(ErrorKind::NotVar.into())
///     }
///     fn close(&self) -> Result<()> {
///         Ok(())
///     }
/// }
///
/// assert_eq!(EmptyDriver.info().name, "empty");
/// ```
pub trait Driver: Send + Sync + 'static {
    /// Returns the names, modes and first bytes of the format.
    fn info(&self) -> &DriverInfo;

    /// Opens a dataset. It never truncates or repairs a file.
    ///
    /// [`OpenRequest::backing`] names the place of the bytes. A driver may open the target instead of a
    /// [`Backing::Source`].
    ///
    /// # Errors
    /// `NC_ENOTNC` or `NC_ENOTZARR` if the data have another format; otherwise an error of the format.
    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>>;

    /// Creates a dataset, at the target or in memory ([`CreateRequest::backing`]).
    ///
    /// # Errors
    /// `NC_EPERM` if the format cannot be written.
    fn create(&self, _request: &CreateRequest<'_>) -> Result<Arc<dyn Dataset>> {
        Err(ErrorKind::Perm.context(format!("driver {} cannot create datasets", self.info().name)))
    }
}
