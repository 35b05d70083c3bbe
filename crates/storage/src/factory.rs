//! [`MapFactory`], one per storage, and the requests to open or create a map.

use std::fmt;
use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};
use nczarr_url_infer::Target;

use crate::source::{ByteSource, InitialRead};
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
    /// Delete it first if it is a dataset; anything else is refused.
    Replace,
}

/// A map factory's name, and the locations that it serves.
#[derive(Debug)]
pub struct MapInfo {
    /// Its name, unique in a registry. It is also its value of `mode=`.
    pub name: &'static str,
    /// URL schemes that select it, in lower case.
    pub schemes: &'static [&'static str],
    /// First bytes of a file that select it (an archive); empty for other storage.
    pub magic: &'static [Magic],
    /// A description in one line.
    pub about: &'static str,
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
    sources: Option<&'a SourceOpener<'a>>,
}

impl<'a> OpenMap<'a> {
    /// Creates a request to open a map for reading.
    pub fn new(target: &'a Target, options: &'a MapOptions) -> Self {
        Self { target, writable: false, options, markers: &[], sources: None }
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

    /// Sets the function that opens the object of the target as a file.
    #[must_use]
    pub fn sources(self, sources: &'a SourceOpener<'a>) -> Self {
        Self { sources: Some(sources), ..self }
    }

    /// Opens the object of the target as a remote file, for archives: another map reads it. `part` is
    /// probably read first.
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
}

impl<'a> CreateMap<'a> {
    /// Creates a request that replaces nothing.
    pub fn new(target: &'a Target, options: &'a MapOptions) -> Self {
        Self { target, options, clobber: Clobber::Refuse, markers: &[] }
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

    /// Opens an existing map.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if nothing is there.
    fn open(&self, request: &OpenMap<'_>) -> Result<Arc<dyn ZMap>>;

    /// As [`MapFactory::open`], from the remote file that was opened for recognition
    /// ([`OpenMap::open_source`]).
    ///
    /// # Errors
    /// As [`MapFactory::open`].
    fn open_from_source(&self, request: &OpenMap<'_>, _source: Arc<dyn ByteSource>) -> Result<Arc<dyn ZMap>> {
        self.open(request)
    }

    /// Creates an empty map.
    ///
    /// # Errors
    /// `NC_EPERM` if the storage is read-only; `NC_EOBJECT` if a dataset exists and may not be replaced;
    /// `NC_EEXIST` if something else exists.
    fn create(&self, _request: &CreateMap<'_>) -> Result<Arc<dyn ZMap>> {
        Err(ErrorKind::Perm.context(format!("map {} cannot create datasets", self.info().name)))
    }

    /// Opens a map of one file from its bytes. Changes stay in memory ([`ZMap::image`]). The target only
    /// names it.
    ///
    /// # Errors
    /// `NC_EINMEMORY` if such a map is not a single file; otherwise an error about the bytes.
    fn open_bytes(&self, _request: &OpenMap<'_>, _bytes: Arc<[u8]>) -> Result<Arc<dyn ZMap>> {
        Err(ErrorKind::InMemory.context(format!("map {} cannot open archives in memory", self.info().name)))
    }

    /// Opens a map of one file and reads it into memory ([`ZMap::image`]). `persist`: closing a writable map
    /// writes the file back in one step. Dropping it without `close` writes nothing.
    ///
    /// # Errors
    /// As [`MapFactory::open`]; `NC_EDISKLESS` if such a map is no single file.
    fn open_in_memory(&self, _request: &OpenMap<'_>, _persist: bool) -> Result<Arc<dyn ZMap>> {
        Err(ErrorKind::Diskless
            .context(format!("map {} is not a single file, so it cannot be in memory", self.info().name)))
    }

    /// Creates an empty map of one file in memory ([`ZMap::image`]). `persist`: closing writes the file to
    /// the target, unless nothing was written.
    ///
    /// # Errors
    /// As [`MapFactory::create`]; `NC_EDISKLESS` if such a map is no single file.
    fn create_in_memory(&self, _request: &CreateMap<'_>, _persist: bool) -> Result<Arc<dyn ZMap>> {
        Err(ErrorKind::Diskless
            .context(format!("map {} is not a single file, so it cannot be in memory", self.info().name)))
    }

    /// Opens the object of the target as a file for reading. `part` is probably read first; it is fetched at
    /// once if that costs no further request.
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
