//! [`MapFactory`], one per storage, and the requests to open or create a map.

use std::fmt;
use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};
use nczarr_url_infer::Target;

use crate::source::{ByteSource, InitialRead, SharedBytes};
use crate::{MapOptions, ZMap};

/// Bytes near the start of a file that identify its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Magic {
    /// Their offset in bytes.
    pub offset: u64,
    /// The bytes.
    pub bytes: &'static [u8],
}

/// The treatment of an existing dataset at the path of a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clobber {
    /// Refuse with `NC_EOBJECT` (a map) or `NC_EEXIST` (a file).
    #[default]
    Refuse,
    /// Delete it first if it is a dataset, and refuse anything else.
    Replace,
}

/// The bytes of a dataset or map.
///
/// Only formats of one file get a request with another backing than [`Backing::Place`].
#[derive(Debug, Clone, Default)]
pub enum Backing {
    /// The target of the request.
    #[default]
    Place,
    /// The file at the target, which was opened for recognition and is remote.
    Source(Arc<dyn ByteSource>),
    /// These bytes of a file. The target only names it, and changes stay in memory.
    Bytes(SharedBytes),
    /// Memory. The file at the target is read into it, if the request opens a dataset.
    Memory {
        /// Whether closing writes the file to the target, in one step.
        persist: bool,
    },
}

/// A map factory's name, and the locations that it serves.
///
/// ```
/// use nczarr_storage::MapInfo;
///
/// static INFO: MapInfo = MapInfo::new("shelf", "memory of this process").schemes(&["shelf"]);
/// assert!(INFO.magic.is_empty());
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct MapInfo {
    /// Its name, unique in a registry. It is also its value of `mode=`.
    pub name: &'static str,
    /// URL schemes that select it, in lower case.
    pub schemes: &'static [&'static str],
    /// First bytes of a file that select it (an archive); empty for other storage.
    pub magic: &'static [Magic],
    /// A description in one line.
    pub about: &'static str,
    /// Whether maps are single files that can be in memory. The factory then accepts any [`Backing`], and its
    /// maps have an [image](ZMap::image).
    pub in_memory: bool,
}

impl MapInfo {
    /// Describes a factory that no URL scheme or first bytes select.
    pub const fn new(name: &'static str, about: &'static str) -> Self {
        Self { name, schemes: &[], magic: &[], about, in_memory: false }
    }

    nczarr_runtime::setters! {
        const
        schemes: &'static [&'static str],
        magic: &'static [Magic],
        in_memory: bool,
    }
}

/// Opens the single object of a request as a file ([`OpenMap::open_source`]).
type SourceOpener<'a> = dyn Fn(InitialRead) -> Result<Arc<dyn ByteSource>> + 'a;

/// A request to open a map.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct OpenMap<'a> {
    /// The location, and the options of the fragment.
    pub target: &'a Target,
    /// Whether the map is opened for writing.
    pub writable: bool,
    /// Limits and other options.
    pub options: &'a MapOptions,
    /// The keys that identify a dataset, if one of them is in the root.
    pub markers: &'a [&'a str],
    /// The bytes of the map. [`Backing::Bytes`] and [`Backing::Memory`] only reach factories with
    /// [`MapInfo::in_memory`].
    pub backing: &'a Backing,
    sources: Option<&'a SourceOpener<'a>>,
}

impl<'a> OpenMap<'a> {
    /// Creates a request to open a map for reading.
    pub fn new(target: &'a Target, options: &'a MapOptions) -> Self {
        Self { target, writable: false, options, markers: &[], backing: &Backing::Place, sources: None }
    }

    /// Sets whether the map is opened for writing.
    #[must_use]
    pub fn writable(self, writable: bool) -> Self {
        Self { writable, ..self }
    }

    /// Sets the keys that identify a dataset.
    #[must_use]
    pub fn markers(self, markers: &'a [&'a str]) -> Self {
        Self { markers, ..self }
    }

    /// Sets the bytes of the map.
    #[must_use]
    pub fn backing(self, backing: &'a Backing) -> Self {
        Self { backing, ..self }
    }

    /// Sets the function that opens the object of the target as a file.
    #[must_use]
    pub fn sources(self, sources: &'a SourceOpener<'a>) -> Self {
        Self { sources: Some(sources), ..self }
    }

    /// Opens the object of the target as a remote file. A map for archives uses it to read an archive on
    /// another map. The caller probably reads `part` first.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if there is no object; `NC_ENOTNC` for a local path and for storage without single
    /// files; `NC_ENOTBUILT` that names the missing feature.
    pub fn open_source(&self, part: InitialRead) -> Result<Arc<dyn ByteSource>> {
        match self.sources {
            Some(sources) => sources(part),
            None => {
                Err(ErrorKind::NotNc
                    .context(format!("{}: no storage of single files is available", self.target)))
            }
        }
    }
}

impl fmt::Debug for OpenMap<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenMap")
            .field("target", &self.target)
            .field("writable", &self.writable)
            .field("options", &self.options)
            .field("markers", &self.markers)
            .field("backing", &self.backing)
            .finish_non_exhaustive()
    }
}

/// A request to create a map.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct CreateMap<'a> {
    /// The location, and the options of the fragment.
    pub target: &'a Target,
    /// Limits and other options.
    pub options: &'a MapOptions,
    /// The treatment of an existing dataset.
    pub clobber: Clobber,
    /// A dataset is replaced only if its root has one of these keys. Empty: nothing is replaced.
    pub markers: &'a [&'a str],
    /// The place of the new map: the target, or memory if the factory has [`MapInfo::in_memory`].
    pub backing: &'a Backing,
}

impl<'a> CreateMap<'a> {
    /// Creates a request that replaces nothing.
    pub fn new(target: &'a Target, options: &'a MapOptions) -> Self {
        Self { target, options, clobber: Clobber::Refuse, markers: &[], backing: &Backing::Place }
    }

    /// Sets the treatment of an existing dataset.
    #[must_use]
    pub fn clobber(self, clobber: Clobber) -> Self {
        Self { clobber, ..self }
    }

    /// Sets the keys that a replaced dataset has in its root.
    #[must_use]
    pub fn markers(self, markers: &'a [&'a str]) -> Self {
        Self { markers, ..self }
    }

    /// Sets the place of the new map.
    #[must_use]
    pub fn backing(self, backing: &'a Backing) -> Self {
        Self { backing, ..self }
    }
}

/// Opens and creates maps of one kind of storage.
pub trait MapFactory: Send + Sync + 'static {
    /// Returns the names and schemes of the storage.
    fn info(&self) -> &MapInfo;

    /// Whether this map recognises the end of a file: the whole file, or its last 66,000 bytes.
    ///
    /// It is called only if the first bytes are unknown, since such formats may follow other bytes.
    fn recognises_tail(&self, _tail: &[u8]) -> bool {
        false
    }

    /// Opens an existing map. [`OpenMap::backing`] names the place of its bytes. A factory may open the
    /// target instead of a [`Backing::Source`].
    ///
    /// Dropping a map in memory without `close` writes nothing.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if nothing is there.
    fn open(&self, request: &OpenMap<'_>) -> Result<Arc<dyn ZMap>>;

    /// Creates an empty map, at the target or in memory ([`CreateMap::backing`]). Closing a map in memory
    /// writes no file if nothing was written.
    ///
    /// # Errors
    /// `NC_EPERM` if the storage is read-only; `NC_EOBJECT` if a dataset exists and may not be replaced;
    /// `NC_EEXIST` if something else exists.
    fn create(&self, _request: &CreateMap<'_>) -> Result<Arc<dyn ZMap>> {
        Err(ErrorKind::Perm.context(format!("map {} cannot create datasets", self.info().name)))
    }

    /// Opens the object of the target as a file for reading. The caller probably reads `part` first. The map
    /// fetches it at once if that costs no further request.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if there is no such object; `NC_ENOTNC` if the storage has no single files.
    fn open_source(&self, _request: &OpenMap<'_>, _part: InitialRead) -> Result<Arc<dyn ByteSource>> {
        Err(ErrorKind::NotNc.context(format!("map {} cannot open single files", self.info().name)))
    }

    /// Deletes the dataset at the target, and nothing else: the caller recognised it by its markers.
    ///
    /// # Errors
    /// `NC_EPERM` if the storage cannot be written, `NC_ENOTFOUND` if nothing is there.
    fn delete(&self, _request: &OpenMap<'_>) -> Result<()> {
        Err(ErrorKind::Perm.context(format!("map {} cannot delete datasets", self.info().name)))
    }
}
