//! The format seam: [`Driver`] (one per format) and what it is asked to open or create.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};
use nczarr_url_infer::Target;

use crate::{ByteSource, Dataset, Options, Part, Registry, Survey, ZMap};

/// `NC_FORMATX_*`: the implementation behind a dataset.
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
    /// The number netCDF-C gives it.
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

/// `NC_FORMAT_*`: the data model and file kind a dataset presents.
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
    /// The number netCDF-C gives it.
    pub const fn code(self) -> i32 {
        match self {
            Self::Classic => 1,
            Self::Offset64 => 2,
            Self::NetCdf4 => 3,
            Self::NetCdf4Classic => 4,
            Self::Cdf5 => 5,
        }
    }

    /// What `ncdump -k` calls it.
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

/// Bytes at the start of a file that tell its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Magic {
    /// Where they stand.
    pub offset: u64,
    /// What they are.
    pub bytes: &'static [u8],
}

/// What a driver is called and how its datasets are recognised.
#[derive(Debug)]
pub struct DriverInfo {
    /// Its name, unique in a registry.
    pub name: &'static str,
    /// The implementation number it answers with.
    pub formatx: FormatX,
    /// The values of `mode=` that choose it.
    pub modes: &'static [&'static str],
    /// First bytes of a plain file that choose it.
    pub magic: &'static [Magic],
    /// Keys in the root of a map, one of which says that the dataset is this driver's (`.zgroup` …); empty if it uses no map.
    pub markers: &'static [&'static str],
    /// One line for people.
    pub about: &'static str,
}

/// How a dataset is to be opened.
#[derive(Clone)]
pub struct OpenRequest<'a> {
    /// Where it is, and the fragment.
    pub target: &'a Target,
    /// Whether it will be changed.
    pub writable: bool,
    /// Limits, cache and the like.
    pub options: &'a Options,
    /// Who else is there: maps and filters.
    pub registry: &'a Arc<Registry>,
    /// The map, when somebody opened it already (an embedder, or the probe of the content).
    pub map: Option<MountedMap>,
    /// The one variable that is asked for, when the dataset is opened for nothing else. What lies beside it may be left
    /// out; a driver that does not care opens everything.
    pub only: Option<Only<'a>>,
}

/// The one variable that a dataset is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Only<'a> {
    /// Its path from the root.
    pub path: &'a str,
    /// Only its data are asked for: attributes, and what groups and dimensions are called, may be left out as well.
    pub data: bool,
}

/// A map, and how it was come by.
#[derive(Clone)]
pub struct MountedMap {
    /// The map.
    pub map: Arc<dyn ZMap>,
    /// The factory that opened or made it; `None`: an embedder handed it in.
    pub factory: Option<Arc<dyn MapFactory>>,
    /// Why it is this one, for people.
    pub why: Cow<'static, str>,
    /// What was seen of it already, if each operation is a request.
    pub survey: Option<Arc<Survey>>,
}

impl MountedMap {
    /// The map of that factory.
    pub(crate) fn of(map: Arc<dyn ZMap>, factory: &Arc<dyn MapFactory>, why: Cow<'static, str>) -> Self {
        Self { map, factory: Some(Arc::clone(factory)), why, survey: None }
    }

    /// The map, for opening what lies in it: it answers from what was seen already, as far as that goes.
    pub fn seen(&self) -> &dyn ZMap {
        self.survey.as_deref().map_or(&*self.map, |survey| survey)
    }

    /// The factory's name, if it has one.
    pub fn name(&self) -> Option<&'static str> {
        self.factory.as_ref().map(|factory| factory.info().name)
    }
}

impl From<Arc<dyn ZMap>> for MountedMap {
    /// A map that an embedder hands in.
    fn from(map: Arc<dyn ZMap>) -> Self {
        Self { map, factory: None, why: "it was handed in".into(), survey: None }
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

/// What to do about a dataset that stands where a new one is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clobber {
    /// Refuse with `NC_EOBJECT` (a map) or `NC_EEXIST` (a file).
    #[default]
    Refuse,
    /// Delete it first, if it is recognisably a dataset; anything else is refused.
    Replace,
}

/// How a dataset is to be created.
#[derive(Clone)]
pub struct CreateRequest<'a> {
    /// Where, and the fragment.
    pub target: &'a Target,
    /// What to do about what stands there.
    pub clobber: Clobber,
    /// Only the classic model: no groups, user types, strings or second unlimited dimension.
    pub classic_model: bool,
    /// Limits, cache and the like.
    pub options: &'a Options,
    /// Who else is there: maps and filters.
    pub registry: &'a Arc<Registry>,
    /// The map, when somebody made it already.
    pub map: Option<MountedMap>,
    /// For a map factory: keys in the root, one of which must be there before anything is replaced. Empty: nothing is.
    pub markers: &'a [&'a str],
}

/// One format: a unit struct and a `static` description.
pub trait Driver: Send + Sync + 'static {
    /// Names, modes and magic.
    fn info(&self) -> &DriverInfo;

    /// Opens a dataset. Never truncates or repairs.
    ///
    /// # Errors
    /// `NC_ENOTNC` or `NC_ENOTZARR` if it is not this format's; what else the format says.
    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>>;

    /// As [`Driver::open`], of a file elsewhere that was opened to recognise it ([`Registry::open_source`]).
    ///
    /// # Errors
    /// As [`Driver::open`].
    fn open_from(&self, request: &OpenRequest<'_>, _source: Arc<dyn ByteSource>) -> Result<Arc<dyn Dataset>> {
        self.open(request)
    }

    /// Creates a dataset.
    ///
    /// # Errors
    /// `NC_EPERM` if the format cannot be written.
    fn create(&self, _request: &CreateRequest<'_>) -> Result<Arc<dyn Dataset>> {
        Err(ErrorKind::Perm.context(format!("driver {} cannot create datasets", self.info().name)))
    }

    /// Opens a dataset that is one file, whose bytes are in memory; what is written is in memory too
    /// ([`Dataset::image`]). The target only names it.
    ///
    /// # Errors
    /// As [`Driver::open`]; `NC_EINMEMORY` if the format is no single file.
    fn open_bytes(&self, _request: &OpenRequest<'_>, _bytes: Arc<[u8]>) -> Result<Arc<dyn Dataset>> {
        Err(ErrorKind::InMemory.context(format!("driver {} opens nothing in memory", self.info().name)))
    }

    /// Opens a dataset that is one file and reads it into memory. `persist`: what is written there goes back to the file
    /// when it is closed, in one step; nothing does if it is opened for reading only.
    ///
    /// # Errors
    /// As [`Driver::open`]; `NC_EDISKLESS` if the format is no single file.
    fn open_in_memory(&self, _request: &OpenRequest<'_>, _persist: bool) -> Result<Arc<dyn Dataset>> {
        Err(ErrorKind::Diskless.context(format!("driver {} opens nothing in memory", self.info().name)))
    }

    /// Creates a dataset that is one file, in memory. `persist`: when it is closed the file is put where the target says.
    ///
    /// # Errors
    /// As [`Driver::create`]; `NC_EDISKLESS` if the format is no single file.
    fn create_in_memory(&self, _request: &CreateRequest<'_>, _persist: bool) -> Result<Arc<dyn Dataset>> {
        Err(ErrorKind::Diskless.context(format!("driver {} creates nothing in memory", self.info().name)))
    }
}

/// What a map factory is called and which places it serves.
#[derive(Debug)]
pub struct MapInfo {
    /// Its name, unique in a registry; also its value of `mode=`.
    pub name: &'static str,
    /// URL schemes that choose it, in lower case.
    pub schemes: &'static [&'static str],
    /// First bytes of a plain file that choose it (an archive); empty for others.
    pub magic: &'static [Magic],
    /// One line for people.
    pub about: &'static str,
}

/// Opens and creates the maps of one kind of storage.
pub trait MapFactory: Send + Sync + 'static {
    /// Names and schemes.
    fn info(&self) -> &MapInfo;

    /// Whether these are the last bytes of a file that this map opens: all of it, or the last 66,000 bytes.
    ///
    /// Asked only where no driver knows the first bytes: formats that are read from their end may stand behind other bytes.
    fn ends(&self, _tail: &[u8]) -> bool {
        false
    }

    /// Opens what is there.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if nothing is there.
    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn ZMap>>;

    /// As [`MapFactory::open`], of a map that is one file elsewhere, opened to recognise it ([`Registry::open_source`]).
    ///
    /// # Errors
    /// As [`MapFactory::open`].
    fn open_from(&self, request: &OpenRequest<'_>, _source: Arc<dyn ByteSource>) -> Result<Arc<dyn ZMap>> {
        self.open(request)
    }

    /// Makes a new, empty map.
    ///
    /// # Errors
    /// `NC_EPERM` if the storage cannot be written, `NC_EOBJECT` if a dataset stands there and may not be replaced,
    /// `NC_EEXIST` if something else does.
    fn create(&self, _request: &CreateRequest<'_>) -> Result<Arc<dyn ZMap>> {
        Err(ErrorKind::Perm.context(format!("map {} cannot create datasets", self.info().name)))
    }

    /// Opens a map that is one file, whose bytes are in memory; what is written is in memory too ([`ZMap::image`]). The
    /// target only names it.
    ///
    /// # Errors
    /// `NC_EINMEMORY` if such a map is no single file; what it says of the bytes.
    fn open_bytes(&self, _request: &OpenRequest<'_>, _bytes: Arc<[u8]>) -> Result<Arc<dyn ZMap>> {
        Err(ErrorKind::InMemory.context(format!("map {} opens nothing in memory", self.info().name)))
    }

    /// Opens a map that is one file and reads it into memory ([`ZMap::image`]). `persist`: what is written there goes back
    /// to the file when the map is closed, in one step; nothing does if it is opened for reading only, or dropped without
    /// being closed.
    ///
    /// # Errors
    /// As [`MapFactory::open`]; `NC_EDISKLESS` if such a map is no single file.
    fn open_in_memory(&self, _request: &OpenRequest<'_>, _persist: bool) -> Result<Arc<dyn ZMap>> {
        Err(ErrorKind::Diskless.context(format!("map {} is not one file that could lie in memory", self.info().name)))
    }

    /// Makes a new, empty map that is one file, in memory ([`ZMap::image`]). `persist`: when it is closed the file is put
    /// where the target says, unless nothing was written.
    ///
    /// # Errors
    /// As [`MapFactory::create`]; `NC_EDISKLESS` if such a map is no single file.
    fn create_in_memory(&self, _request: &CreateRequest<'_>, _persist: bool) -> Result<Arc<dyn ZMap>> {
        Err(ErrorKind::Diskless.context(format!("map {} is not one file that could lie in memory", self.info().name)))
    }

    /// Opens one object, the one that the target names, as a file for reading. `part` is probably wanted first: where it
    /// costs nothing more, it is read at once.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if nothing is there; `NC_ENOTNC` if the storage has no such files.
    fn open_source(&self, _request: &OpenRequest<'_>, _part: Part) -> Result<Arc<dyn ByteSource>> {
        Err(ErrorKind::NotNc.context(format!("map {} opens no single files", self.info().name)))
    }

    /// Deletes the dataset there, and nothing else: the caller has recognised it by its markers.
    ///
    /// # Errors
    /// `NC_EPERM` if the storage cannot be written, `NC_ENOTFOUND` if nothing is there.
    fn delete(&self, _request: &OpenRequest<'_>) -> Result<()> {
        Err(ErrorKind::Perm.context(format!("map {} cannot delete datasets", self.info().name)))
    }
}
