//! [`OpenOptions`].

use std::sync::Arc;

use super::default_or;
use super::shared::shared_options;
use nczarr_dispatch::{
    Durability, ForbiddenKeys, Limits, MissingChunks, OpenScope, Options, Place, Progress, Registry,
};
use nczarr_model::{ErrorKind, Result};
use nczarr_storage::ZMap;
use nczarr_storage::source::SharedBytes;

use crate::{File, Variable};

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

    /// Sets the treatment of keys that a server forbids (403). Such objects may or may not exist. With
    /// [`ForbiddenKeys::Absent`] they are absent and the dataset is read-only. The URL option is
    /// `#forbidden=absent`, the rc file setting `ZARR.FORBIDDEN=absent`.
    #[must_use]
    pub fn forbidden(mut self, forbidden: ForbiddenKeys) -> Self {
        self.options.forbidden = forbidden;
        self
    }

    /// Makes these dimensions of plain Zarr unlimited, although the dataset does not record that. Stores of
    /// zarr-python cannot record unlimited dimensions. With this option, writers can append to such stores.
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
    /// As [`open`](crate::open).
    pub fn open(&self, place: impl Into<Place>) -> Result<File> {
        let (place, registry) = (place.into(), default_or(&self.registry)?);
        let dataset = registry
            .open_in(self.map.clone(), &place, self.writable, &self.options)
            .map_err(|error| error.in_path(&place))?;
        Ok(File::new(dataset, place, registry))
    }

    /// Opens only the map of a path, with any content. Wrap the map (module `wrap`) and pass it to
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

    /// Maps a dataset of one file into memory, if it is opened for reading only. Needs the feature `mmap`;
    /// only classic files support it.
    ///
    /// The file must not be truncated during a read, or the system ends the process. If a program truncates
    /// the file between two reads, the second read is an error.
    #[must_use]
    pub fn memory_map(mut self, map: bool) -> Self {
        self.options.memory_map = map;
        self
    }

    /// Opens a dataset of one file (a classic or netCDF-4 file, an archive) from its bytes. `name` supplies
    /// its name and modes.
    ///
    /// The dataset reads the bytes in the memory of their owner, without a copy: a `Vec<u8>`, a
    /// `&'static [u8]`, an `Arc<[u8]>`, the `Bytes` of the crate `bytes`. To get the memory back, pass a
    /// clone of a [`SharedBytes`] and call [`SharedBytes::into_vec`] after closing.
    ///
    /// Changes go to a copy, which [`File::close_to_bytes`] returns. The copy of an archive has each object
    /// once and no other members.
    ///
    /// # Errors
    /// As [`open`](crate::open); `NC_EINMEMORY` if the format cannot do it.
    pub fn open_bytes(&self, name: impl Into<Place>, bytes: impl Into<SharedBytes>) -> Result<File> {
        let (name, registry) = (name.into(), default_or(&self.registry)?);
        let dataset = registry
            .open_bytes(&name, bytes.into(), self.writable, &self.options)
            .map_err(|error| error.in_path(&name))?;
        Ok(File::new(dataset, name, registry))
    }

    /// Opens a dataset of one file (a classic or netCDF-4 file, an archive) and reads it into memory. With
    /// `persist`, closing a writable dataset writes changes back to the file in one step, and the file is
    /// locked until then. Without `persist`, the file does not change. [`File::close_to_bytes`] returns the
    /// bytes.
    ///
    /// # Errors
    /// As [`open`](crate::open); `NC_EDISKLESS` if the format does not support it; `NC_EACCESS` if another
    /// process writes the file (`NC_EPERM` for an archive).
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
    /// Its group and dataset may differ: groups have only the ancestors of the variable. If reading the
    /// documents costs no more, the call does not read consolidated metadata. If plain Zarr gives one
    /// dimension name several lengths, or two types one name, the variable keeps the plain name.
    ///
    /// # Errors
    /// As [`open_variable`](crate::open_variable); `NC_EPERM` if the options ask for writing.
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
