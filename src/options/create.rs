//! [`CreateOptions`].

use std::sync::Arc;

use nczarr_dispatch::{Clobber, Durability, Limits, MissingChunks, Options, Place, Progress, Registry};
use nczarr_model::Result;
use nczarr_storage::ZMap;

use super::default_or;
use super::shared::shared_options;
use crate::{File, Kind};

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

    /// Sets whether creating first deletes an existing dataset. It never deletes anything but a dataset.
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
    /// unused dimensions, orders, char, types of attributes. The attribute is written only if information
    /// would be lost without it. The URL option is `#mode=zarr,annotate`. Other formats need none.
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
    /// As [`create`](crate::create).
    pub fn create(&self, place: impl Into<Place>) -> Result<File> {
        let (place, registry) = (self.place(place)?, default_or(&self.registry)?);
        let map = self.map.clone();
        let dataset = registry
            .create_in(map, &place, self.clobber, self.classic_model, &self.options)
            .map_err(|error| error.in_path(&place))?;
        Ok(File::new(dataset, place, registry))
    }

    /// Creates only the empty map of a dataset at `path`. Wrap the map and pass it to [`CreateOptions::map`].
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
    /// As [`create`](crate::create).
    pub fn create_map(&self, place: impl Into<Place>) -> Result<Arc<dyn ZMap>> {
        default_or(&self.registry)?.create_storage(&self.place(place)?, self.clobber, &self.options)
    }

    /// Creates a dataset of one file in memory: a netCDF-4 or classic file, or an archive (`x.zip`,
    /// `x#mode=nczarr,zip`). With `persist`, closing writes the file to `path` in one step.
    /// [`File::close_to_bytes`] returns its bytes.
    ///
    /// # Errors
    /// As [`create`](crate::create); `NC_EDISKLESS` if the format cannot do it.
    pub fn create_in_memory(&self, place: impl Into<Place>, persist: bool) -> Result<File> {
        let (place, registry) = (self.place(place)?, default_or(&self.registry)?);
        let dataset = registry
            .create_in_memory(&place, self.clobber, self.classic_model, &self.options, persist)
            .map_err(|error| error.in_path(&place))?;
        Ok(File::new(dataset, place, registry))
    }
}
