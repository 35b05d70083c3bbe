//! Opens and creates datasets: the short functions ([`open`], [`create`] …) and the builders behind them.
//!
//! `url-infer` parses paths and URLs; the registry finds the driver.

use std::sync::Arc;

use nczarr_dispatch::{
    Clobber, Durability, Explanation, ForbiddenKeys, Limits, MissingChunks, OpenScope, Options, Place,
    Progress, Registry,
};
use nczarr_model::{ErrorKind, Result};
use nczarr_storage::ZMap;
use nczarr_storage::source::SharedBytes;

use crate::{File, Kind, Variable, builtin};

/// Opens a dataset for reading.
///
/// The content identifies a path, which is never parsed. A URL and its fragment
/// (`file:///data/x.zarr#mode=zarr`) can name format and storage. [`Place`] lists what is which.
///
/// ```
/// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
/// # let path = "memory://doc-options-open";
/// # let file = nczarr::create(path)?;
/// # file.add_dimension("x", 3)?;
/// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
/// # file.close()?;
/// let file = nczarr::open(path)?;
/// assert_eq!(file.variables().len(), 1);
/// # }
/// # Ok::<(), nczarr::Error>(())
/// ```
///
/// # Errors
/// `NC_ENOTFOUND` if the path does not exist; `NC_ENOTNC` if no driver recognises it; `NC_ENOTBUILT` that
/// names the missing feature; otherwise the driver's error.
pub fn open(place: impl Into<Place>) -> Result<File> {
    OpenOptions::new().open(place)
}

/// Opens one variable of a dataset for reading, by its path from the root: see
/// [`OpenOptions::open_variable`].
///
/// # Errors
/// As [`open`]; `NC_ENOTVAR` if there is no such variable.
pub fn open_variable(place: impl Into<Place>, variable: &str) -> Result<Variable> {
    OpenOptions::new().open_variable(place, variable)
}

/// Opens a dataset of one file from its bytes, for reading: a classic, netCDF-4 or HDF4 file, or an archive
/// of a Zarr store.
///
/// ```
/// # #[cfg(not(all(feature = "nczarr", feature = "zip")))]
/// # fn main() {}
/// # #[cfg(all(feature = "nczarr", feature = "zip"))]
/// # fn main() -> nczarr::Result<()> {
/// let file = nczarr::CreateOptions::new().create_in_memory("made.zip", false)?;
/// file.add_dimension("x", 3)?;
/// file.add_variable::<f32>("t", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
/// let bytes: Vec<u8> = file.close_to_bytes()?;
///
/// let file = nczarr::open_bytes(bytes)?;
/// assert_eq!(file.variable("t")?.get_values::<f32>(..)?, [1.0, 2.0, 3.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`OpenOptions::open_bytes`].
pub fn open_bytes(bytes: impl Into<SharedBytes>) -> Result<File> {
    OpenOptions::new().open_bytes("memory", bytes)
}

/// Opens a dataset for reading and writing. It never truncates.
///
/// ```
/// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
/// # let path = "memory://doc-options-append";
/// # let file = nczarr::create(path)?;
/// # file.add_dimension("x", 3)?;
/// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
/// # file.close()?;
/// let file = nczarr::append(path)?;            // an existing dataset, for reading and writing
/// file.variable("v")?.put_value(7.0f32, 0)?;
/// file.close()?;
/// # }
/// # Ok::<(), nczarr::Error>(())
/// ```
///
/// # Errors
/// As [`open`]; `NC_EPERM` if the dataset cannot be written.
pub fn append(place: impl Into<Place>) -> Result<File> {
    OpenOptions::new().writable(true).open(place)
}

/// Creates a dataset.
///
/// ```
/// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
/// let file = nczarr::create("memory://doc-create-new")?;
/// file.add_dimension("x", 3)?;
/// file.close()?;
/// # }
/// # Ok::<(), nczarr::Error>(())
/// ```
///
/// # Errors
/// `NC_EEXIST` or `NC_EOBJECT` if the path is in use; `NC_EINVAL` if the path implies no writable format.
pub fn create(place: impl Into<Place>) -> Result<File> {
    CreateOptions::new().create(place)
}

/// Deletes a dataset; refuses anything else.
///
/// ```
/// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
/// # let path = "memory://doc-options-delete";
/// # let file = nczarr::create(path)?;
/// # file.add_dimension("x", 3)?;
/// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
/// # file.close()?;
/// nczarr::delete(path)?;
/// assert!(nczarr::open(path).is_err());
/// # }
/// # Ok::<(), nczarr::Error>(())
/// ```
///
/// # Errors
/// `NC_ENOTFOUND` if the path does not exist; `NC_ENOTNC` if it is not a dataset; `NC_EPERM` if the storage
/// cannot delete.
pub fn delete(place: impl Into<Place>) -> Result<()> {
    builtin::registry()?.delete(&place.into())
}

/// Explains how a path or URL is resolved: driver, map and flavour, with all probes.
///
/// ```
/// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
/// # let path = "memory://doc-options-explain";
/// # let file = nczarr::create(path)?;
/// # file.add_dimension("x", 3)?;
/// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
/// # file.close()?;
/// let explanation = nczarr::explain(path)?;
/// assert!(explanation.problem.is_none());
/// # }
/// # Ok::<(), nczarr::Error>(())
/// ```
///
/// # Errors
/// `NC_EURL` if it is malformed. An error of opening is part of the result.
pub fn explain(place: impl Into<Place>) -> Result<Explanation> {
    builtin::registry()?.explain(&place.into())
}

macro_rules! shared_options {
    () => {
        /// Sets limits for sizes that files state.
        ///
        /// ```
        /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
        /// # let path = "memory://doc-options-limits";
        /// # let file = nczarr::create(path)?;
        /// # file.add_dimension("x", 3)?;
        /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
        /// # file.close()?;
        /// use nczarr::{Limits, OpenOptions};
        /// let mut limits = Limits::default();
        /// limits.document = 1 << 20; // bytes of one metadata document
        /// let file = OpenOptions::new().limits(limits).open(path)?;
        /// # }
        /// # Ok::<(), nczarr::Error>(())
        /// ```
        #[must_use]
        pub fn limits(mut self, limits: Limits) -> Self {
            self.options.limits = limits;
            self
        }

        /// Sets the number of threads of a transfer; 0: the number of processors.
        ///
        /// ```
        /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
        /// # let path = "memory://doc-options-threads";
        /// # let file = nczarr::create(path)?;
        /// # file.add_dimension("x", 3)?;
        /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
        /// # file.close()?;
        /// let file = nczarr::OpenOptions::new().threads(1).open(path)?; // on the calling thread
        /// # }
        /// # Ok::<(), nczarr::Error>(())
        /// ```
        #[must_use]
        pub fn threads(mut self, threads: usize) -> Self {
            self.options.threads = threads;
            self
        }

        /// Sets the size of each variable's chunk cache in bytes. A variable that fits is read by whole
        /// chunks, which are cached from the first access on, even where single elements could be read.
        ///
        /// ```
        /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
        /// # let path = "memory://doc-options-cache-bytes";
        /// # let file = nczarr::create(path)?;
        /// # file.add_dimension("x", 3)?;
        /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
        /// # file.close()?;
        /// let file = nczarr::OpenOptions::new().cache_bytes(256 << 20).open(path)?; // for each variable
        /// # }
        /// # Ok::<(), nczarr::Error>(())
        /// ```
        #[must_use]
        pub fn cache_bytes(mut self, bytes: usize) -> Self {
            self.options.cache_bytes = Some(bytes);
            self
        }

        /// Sets the durability of writes.
        ///
        /// ```
        /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
        /// use nczarr::{CreateOptions, Durability};
        /// let file = CreateOptions::new().durability(Durability::Fsync).create("memory://doc-durable")?;
        /// # }
        /// # Ok::<(), nczarr::Error>(())
        /// ```
        #[must_use]
        pub fn durability(mut self, durability: Durability) -> Self {
            self.options.durability = durability;
            self
        }

        /// Sets the treatment of absent chunks. The URL option for Zarr is `#missing_chunks=fill`, `warn` or
        /// `error`.
        ///
        /// Without a fill value (`fill_value` is `null`), absent chunks read as zeros and empty strings.
        ///
        /// ```
        /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
        /// # let path = "memory://doc-options-missing-chunks";
        /// # let file = nczarr::create(path)?;
        /// # file.add_dimension("x", 3)?;
        /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
        /// # file.close()?;
        /// use nczarr::{MissingChunks, OpenOptions};
        /// let file = OpenOptions::new().missing_chunks(MissingChunks::Error).open(path)?;
        /// assert_eq!(file.variable("v")?.get_value::<f32>(0)?, 1.0);      // this chunk exists
        /// # }
        /// # Ok::<(), nczarr::Error>(())
        /// ```
        #[must_use]
        pub fn missing_chunks(mut self, missing: MissingChunks) -> Self {
            self.options.missing_chunks = missing;
            self
        }

        /// Promises that no other process writes the dataset. Servers without conditional writes need this.
        /// The URL option is `#exclusive=true`, the rc file setting `ZARR.EXCLUSIVE=true`.
        ///
        /// ```
        /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
        /// # let path = "memory://doc-options-exclusive";
        /// # let file = nczarr::create(path)?;
        /// # file.add_dimension("x", 3)?;
        /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
        /// # file.close()?;
        /// let file = nczarr::OpenOptions::new().writable(true).exclusive(true).open(path)?;
        /// # }
        /// # Ok::<(), nczarr::Error>(())
        /// ```
        #[must_use]
        pub fn exclusive(mut self, exclusive: bool) -> Self {
            self.options.exclusive = exclusive;
            self
        }

        /// Truncates too long strings for variables of fixed length at a character boundary, instead of
        /// rejecting them.
        #[must_use]
        pub fn truncate_strings(mut self, truncate: bool) -> Self {
            self.options.truncate_strings = truncate;
            self
        }

        /// Sets an observer of transfers, which may cancel them.
        ///
        /// ```
        /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
        /// # let path = "memory://doc-options-progress";
        /// # let file = nczarr::create(path)?;
        /// # file.add_dimension("x", 3)?;
        /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
        /// # file.close()?;
        /// use nczarr::{OpenOptions, Progress};
        ///
        /// struct Print;
        /// impl Progress for Print {
        ///     fn advance(&self, done: u64, total: u64) -> bool {
        ///         println!("{done} of {total} bytes");
        ///         true
        ///     }
        /// }
        ///
        /// let file = OpenOptions::new().progress(Print).open(path)?;
        /// file.variable("v")?.get::<f32>(..)?;
        /// # }
        /// # Ok::<(), nczarr::Error>(())
        /// ```
        #[must_use]
        pub fn progress(mut self, progress: impl Progress + 'static) -> Self {
            self.options.progress = Some(Arc::new(progress));
            self
        }

        /// Uses this registry instead of [`registry`](crate::registry).
        ///
        /// ```
        /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
        /// # let path = "memory://doc-options-registry";
        /// # let file = nczarr::create(path)?;
        /// # file.add_dimension("x", 3)?;
        /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
        /// # file.close()?;
        /// let registry = nczarr::Registry::clone(&*nczarr::registry()?);      // add plugins to this one
        /// let file = nczarr::OpenOptions::new().registry(registry).open(path)?;
        /// # }
        /// # Ok::<(), nczarr::Error>(())
        /// ```
        #[must_use]
        pub fn registry(mut self, registry: impl Into<Arc<Registry>>) -> Self {
            self.registry = Some(registry.into());
            self
        }

        /// Uses an open map. The path then supplies only the name and the options of its fragment.
        ///
        /// ```
        /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
        /// # let path = "memory://doc-options-map";
        /// # let file = nczarr::create(path)?;
        /// # file.add_dimension("x", 3)?;
        /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
        /// # file.close()?;
        /// let map = nczarr::OpenOptions::new().open_map(path)?;
        /// let file = nczarr::OpenOptions::new().map(map).open(nczarr::Place::path("any").mode("nczarr"))?;
        /// assert_eq!(file.variables().len(), 1);
        /// # }
        /// # Ok::<(), nczarr::Error>(())
        /// ```
        #[must_use]
        pub fn map(mut self, map: Arc<dyn ZMap>) -> Self {
            self.map = Some(map);
            self
        }
    };
}

/// Options for opening a dataset.
#[derive(Clone, Default)]
pub struct OpenOptions {
    writable: bool,
    options: Options,
    registry: Option<Arc<Registry>>,
    map: Option<Arc<dyn ZMap>>,
}

impl OpenOptions {
    /// Creates options for reading, with all defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether the dataset is opened for writing.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let path = "memory://doc-options-writable";
    /// # let file = nczarr::create(path)?;
    /// # file.add_dimension("x", 3)?;
    /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// # file.close()?;
    /// let file = nczarr::OpenOptions::new().writable(true).open(path)?;
    /// file.put_attribute("title", "A field")?;
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    #[must_use]
    pub fn writable(mut self, writable: bool) -> Self {
        self.writable = writable;
        self
    }

    shared_options!();

    /// Sets the treatment of forbidden keys (403), which may not exist. With [`ForbiddenKeys::Absent`] they
    /// are absent and the dataset is read-only. The URL option is `#forbidden=absent`, the rc file setting
    /// `ZARR.FORBIDDEN=absent`.
    #[must_use]
    pub fn forbidden(mut self, forbidden: ForbiddenKeys) -> Self {
        self.options.forbidden = forbidden;
        self
    }

    /// Names dimensions of plain Zarr that are unlimited, although nothing in the dataset says so. Stores of
    /// zarr-python have no place for it; with this option, writers can append to them.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let path = "memory://doc-growing#mode=zarr,v3";
    /// # let file = nczarr::create(path)?;
    /// # file.add_dimension("time", 2)?;
    /// # file.add_variable::<f32>("v", &["time"])?.put(&[1.0f32, 2.0], ..)?;
    /// # file.close()?;
    /// let file = nczarr::OpenOptions::new().writable(true).growing(["time"]).open(path)?;
    /// let at = file.dimension("time")?.reserve(1)?;
    /// file.variable("v")?.put_value(3.0f32, at)?;
    /// assert_eq!(file.variable("v")?.get::<f32>(..)?.as_slice(), [1.0, 2.0, 3.0]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    #[must_use]
    pub fn growing<S: Into<String>>(mut self, dimensions: impl IntoIterator<Item = S>) -> Self {
        self.options.growing = dimensions.into_iter().map(Into::into).collect();
        self
    }

    /// Opens the dataset.
    ///
    /// # Errors
    /// As [`open`].
    pub fn open(&self, place: impl Into<Place>) -> Result<File> {
        let (place, registry) = (place.into(), default_or(&self.registry)?);
        let dataset = registry
            .open_in(self.map.clone(), &place, self.writable, &self.options)
            .map_err(|error| error.in_path(&place))?;
        Ok(File::new(dataset, place, registry))
    }

    /// Opens only the map of a path, whatever its content: to wrap it (module `wrap`) and pass it to
    /// [`OpenOptions::map`].
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let path = "memory://doc-options-open-map";
    /// # let file = nczarr::create(path)?;
    /// # file.add_dimension("x", 3)?;
    /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// # file.close()?;
    /// use nczarr::storage::Key;
    /// let map = nczarr::OpenOptions::new().open_map(path)?;
    /// assert!(map.len(&Key::new("v/.zarray")?)?.is_some());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if the path does not exist; `NC_ENOTNC` if it is not a map, such as a classic file.
    pub fn open_map(&self, place: impl Into<Place>) -> Result<Arc<dyn ZMap>> {
        default_or(&self.registry)?.open_storage(&place.into(), self.writable, &self.options)
    }

    /// Maps a dataset of one file into memory, if it is only read. Needs the feature `mmap`; only classic
    /// files support it.
    ///
    /// The file must not be truncated during a read, or the system ends the process. Truncation between two
    /// reads is an error of the second.
    #[must_use]
    pub fn memory_map(mut self, map: bool) -> Self {
        self.options.memory_map = map;
        self
    }

    /// Opens a dataset of one file (a classic or netCDF-4 file, an archive) from its bytes. `name` supplies
    /// its name and modes.
    ///
    /// The bytes are read where they lie, in any owner: a `Vec<u8>`, a `&'static [u8]`, an `Arc<[u8]>`, the
    /// `Bytes` of the crate `bytes`. To get the memory back, pass a clone of a [`SharedBytes`] and call
    /// [`SharedBytes::into_vec`] after closing.
    ///
    /// Changes go to a copy, which [`File::close_to_bytes`] returns: for an archive, one with each object
    /// once and without other members.
    ///
    /// # Errors
    /// As [`open`]; `NC_EINMEMORY` if the format cannot do it.
    pub fn open_bytes(&self, name: impl Into<Place>, bytes: impl Into<SharedBytes>) -> Result<File> {
        let (name, registry) = (name.into(), default_or(&self.registry)?);
        let dataset = registry
            .open_bytes(&name, bytes.into(), self.writable, &self.options)
            .map_err(|error| error.in_path(&name))?;
        Ok(File::new(dataset, name, registry))
    }

    /// Opens a dataset of one file (a classic or netCDF-4 file, an archive) and reads it into memory. With
    /// `persist`, closing a writable dataset writes changes back to the file in one step, and the file is
    /// locked until then; otherwise it does not change. [`File::close_to_bytes`] returns the bytes.
    ///
    /// # Errors
    /// As [`open`]; `NC_EDISKLESS` if the format does not support it; `NC_EACCESS` if another process writes
    /// the file (`NC_EPERM` for an archive).
    pub fn open_in_memory(&self, place: impl Into<Place>, persist: bool) -> Result<File> {
        let (place, registry) = (place.into(), default_or(&self.registry)?);
        let dataset = registry
            .open_in_memory(&place, self.writable, &self.options, persist)
            .map_err(|error| error.in_path(&place))?;
        Ok(File::new(dataset, place, registry))
    }

    /// Opens the dataset for reading one variable, given by its path from the root.
    ///
    /// The result equals that of opening the whole dataset, but other objects may be skipped, so the time
    /// does not grow with the dataset. The variable has the same type, shape, attributes, filters and data.
    /// Its group and dataset may differ: groups have only the ancestors of the variable. Consolidated
    /// metadata is not read if the documents are as cheap. If plain Zarr gives one dimension name several
    /// lengths, or two types one name, the variable keeps the plain name.
    ///
    /// # Errors
    /// As [`open_variable`]; `NC_EPERM` if the options ask for writing.
    pub fn open_variable(&self, place: impl Into<Place>, variable: &str) -> Result<Variable> {
        if self.writable {
            return Err(
                ErrorKind::Perm.context(format!("{variable}: a variable alone is opened for reading only"))
            );
        }
        let (place, registry) = (place.into(), default_or(&self.registry)?);
        let only = OpenScope { path: variable, data_only: false };
        let dataset = registry
            .open_for(self.map.clone(), &place, only, &self.options)
            .map_err(|error| error.in_path(&place))?;
        File::new(dataset, place, registry).root().variable(variable)
    }

    /// Opens one variable for its data alone, given by its path from the root, with as few requests as
    /// possible.
    ///
    /// For plain Zarr (`#mode=zarr`, best with `v2` or `v3`) this reads one document, so an element of a
    /// remote dataset costs two requests. Attributes and names of dimensions may be missing, dimensions have
    /// the lengths of the variable, and groups have only its ancestors. [`Variable::complete`] reads the
    /// rest, as does [`Variable::get_unpacked`], which needs attributes.
    ///
    /// For other formats, and if the document does not suffice, this equals [`OpenOptions::open_variable`].
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let path = "memory://doc-options-open-data";
    /// # let file = nczarr::create(path)?;
    /// # file.add_dimension("x", 3)?;
    /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// # file.close()?;
    /// let v = nczarr::OpenOptions::new().open_data(path, "v")?;       // reads as few documents as possible
    /// assert_eq!(v.get_values::<f32>(..)?, [1.0, 2.0, 3.0]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`OpenOptions::open_variable`].
    pub fn open_data(&self, place: impl Into<Place>, variable: &str) -> Result<Variable> {
        if self.writable {
            return Err(
                ErrorKind::Perm.context(format!("{variable}: a variable alone is opened for reading only"))
            );
        }
        let (place, registry) = (place.into(), default_or(&self.registry)?);
        let only = OpenScope { path: variable, data_only: true };
        let dataset = registry
            .open_for(self.map.clone(), &place, only, &self.options)
            .map_err(|error| error.in_path(&place))?;
        let variable = File::for_data(dataset, place, registry, self, variable).root().variable(variable)?;
        // Prepares filters and memory; errors are reported by the first read.
        let _ = variable.access();
        Ok(variable)
    }
}

/// Options for creating a dataset.
#[derive(Clone, Default)]
pub struct CreateOptions {
    clobber: Clobber,
    classic_model: bool,
    kind: Option<Kind>,
    options: Options,
    registry: Option<Arc<Registry>>,
    map: Option<Arc<dyn ZMap>>,
}

impl CreateOptions {
    /// Creates options that replace nothing, with all defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether an existing dataset is deleted first. Anything else is never deleted.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let path = "memory://doc-options-clobber";
    /// # let file = nczarr::create(path)?;
    /// # file.add_dimension("x", 3)?;
    /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// # file.close()?;
    /// let file = nczarr::CreateOptions::new().clobber(true).create(path)?;      // replaces the old dataset
    /// assert!(file.variables().is_empty());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    #[must_use]
    pub fn clobber(mut self, clobber: bool) -> Self {
        self.clobber = if clobber { Clobber::Replace } else { Clobber::Refuse };
        self
    }

    /// Restricts the dataset to the classic model: no groups, user-defined types, strings or second unlimited
    /// dimension.
    #[must_use]
    pub fn classic_model(mut self, classic: bool) -> Self {
        self.classic_model = classic;
        self
    }

    /// Sets whether plain Zarr gets an attribute for properties that Zarr cannot express: unlimited and
    /// unused dimensions, orders, char, types of attributes. It is written only if information would be lost.
    /// The URL option is `#mode=zarr,annotate`. Other formats need none.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// let options = nczarr::CreateOptions::new().annotate(true);
    /// let file = options.create("memory://doc-annotate#mode=zarr")?; // plain Zarr, with `_netcdf`
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    #[must_use]
    pub fn annotate(mut self, annotate: bool) -> Self {
        self.options.annotate = annotate;
        self
    }

    shared_options!();

    /// Sets the format of the dataset. Otherwise the URL and the ending of the path decide.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// use nczarr::{CreateOptions, Kind};
    ///
    /// let file = CreateOptions::new().kind(Kind::ZarrV3).create("memory://doc-kind")?;
    /// assert_eq!((&*file.info().flavour, &*file.info().version), ("xarray", "3"));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    #[must_use]
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Adds the kind to a place.
    fn place(&self, place: impl Into<Place>) -> Result<Place> {
        let place = place.into();
        match self.kind {
            Some(kind) => kind.at(place),
            None => Ok(place),
        }
    }

    /// Creates the dataset.
    ///
    /// # Errors
    /// As [`create`].
    pub fn create(&self, place: impl Into<Place>) -> Result<File> {
        let (place, registry) = (self.place(place)?, default_or(&self.registry)?);
        let map = self.map.clone();
        let dataset = registry
            .create_in(map, &place, self.clobber, self.classic_model, &self.options)
            .map_err(|error| error.in_path(&place))?;
        Ok(File::new(dataset, place, registry))
    }

    /// Creates only the empty map of a dataset at `path`: to wrap it and pass it to [`CreateOptions::map`].
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// use nczarr::storage::{Key, ZMapExt};
    ///
    /// let map = nczarr::CreateOptions::new().create_map("memory://doc-create-map-new")?;
    /// assert!(map.keys(&Key::root())?.is_empty());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`create`].
    pub fn create_map(&self, place: impl Into<Place>) -> Result<Arc<dyn ZMap>> {
        default_or(&self.registry)?.create_storage(&self.place(place)?, self.clobber, &self.options)
    }

    /// Creates a dataset of one file in memory: a netCDF-4 or classic file, or an archive (`x.zip`,
    /// `x#mode=nczarr,zip`). With `persist`, closing writes the file to `path` in one step.
    /// [`File::close_to_bytes`] returns its bytes.
    ///
    /// # Errors
    /// As [`create`]; `NC_EDISKLESS` if the format cannot do it.
    pub fn create_in_memory(&self, place: impl Into<Place>, persist: bool) -> Result<File> {
        let (place, registry) = (self.place(place)?, default_or(&self.registry)?);
        let dataset = registry
            .create_in_memory(&place, self.clobber, self.classic_model, &self.options, persist)
            .map_err(|error| error.in_path(&place))?;
        Ok(File::new(dataset, place, registry))
    }
}

fn default_or(registry: &Option<Arc<Registry>>) -> Result<Arc<Registry>> {
    registry.clone().map_or_else(builtin::registry, Ok)
}
