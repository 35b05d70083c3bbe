//! [`File`]: an open dataset.

mod open_dataset;

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use nczarr_dispatch::{Dataset, DatasetInfo, Fault, Place, Registry};
use nczarr_model::{Edit, FillMode, GroupId, Model, Result, VarId};

use open_dataset::DeferredRest;
pub(crate) use open_dataset::OpenDataset;

use crate::{Group, OpenOptions, Variable};

/// An open dataset.
///
/// It dereferences to its root group, so every method of [`Group`] is available. Clones are handles to the
/// same dataset. The last handle closes the dataset when it is dropped and can only log errors;
/// [`File::close`] returns them.
#[derive(Clone)]
pub struct File {
    root: Group,
}

impl File {
    pub(crate) fn new(dataset: Arc<dyn Dataset>, place: Place, registry: Arc<Registry>) -> Self {
        Self::with(dataset, place, registry, None)
    }

    /// Creates a file for the data of one variable; the options open it completely on demand.
    pub(crate) fn for_data(
        dataset: Arc<dyn Dataset>,
        place: Place,
        registry: Arc<Registry>,
        options: &OpenOptions,
        variable: &str,
    ) -> Self {
        Self::with(dataset, place, registry, Some(DeferredRest::new(options, variable)))
    }

    fn with(
        dataset: Arc<dyn Dataset>,
        place: Place,
        registry: Arc<Registry>,
        rest: Option<DeferredRest>,
    ) -> Self {
        let open = Arc::new(OpenDataset::new(dataset, place, registry, rest));
        Self { root: Group::new(open, GroupId::ROOT) }
    }

    fn opened(&self) -> &Arc<OpenDataset> {
        self.root.opened()
    }

    /// Returns the path or URL that opened the dataset, as text. Bytes of a path that are not UTF-8 are
    /// replaced.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-file-path")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(file.path(), "memory://doc-file-path");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn path(&self) -> Cow<'_, str> {
        self.opened().place.as_text()
    }

    /// Returns the place that opened the dataset. It opens the same dataset again.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// let file = nczarr::create("memory://doc-file-place")?;
    /// file.add_dimension("x", 3)?;
    /// file.sync()?;
    /// assert_eq!(nczarr::open(file.place())?.dimensions().len(), 1);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn place(&self) -> &Place {
        &self.opened().place
    }

    /// The root group.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-file-root")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(file.root().name(), "/");
    /// assert_eq!(file.root().variables().len(), file.variables().len());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn root(&self) -> Group {
        self.root.clone()
    }

    /// Returns the description of the dataset: driver, map, format, flavour.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-file-info")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let info = file.info();
    /// assert_eq!(info.driver, "nczarr");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn info(&self) -> DatasetInfo {
        self.opened().dataset.info()
    }

    /// Returns all faults of the dataset, including faults that only a search of the storage finds.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-file-faults")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert!(file.faults()?.is_empty());      // an undamaged dataset has none
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn faults(&self) -> Result<Vec<Fault>> {
        let mut faults = self.info().faults;
        let found = self.opened().dataset()?.search_faults();
        faults.extend(found.map_err(|error| self.opened().located(error))?);
        Ok(faults)
    }

    /// Returns the current metadata. Later changes are not included, except growth of unlimited dimensions.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-file-model")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let model = file.model();
    /// assert_eq!(model.vars().count(), 1);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn model(&self) -> Arc<Model> {
        self.opened().model()
    }

    /// Returns the variable of this identifier in the [`Model`].
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-file-variable-by-id")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(file.variable_by_id(v.id())?.name(), "v");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ENOTVAR` if there is none.
    pub fn variable_by_id(&self, id: VarId) -> Result<Variable> {
        self.model().var(id)?;
        Ok(Variable::new(Arc::clone(self.opened()), id))
    }

    /// Returns the underlying dataset, for calls by their C names
    /// ([`NcDispatch`](nczarr_nc_table::NcDispatch)).
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-file-dataset")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// use nczarr::nc_table::NcDispatch;
    /// let dataset = file.dataset();
    /// assert_eq!(dataset.inq_varid(nczarr::model::GroupId::ROOT, "v")?, v.id());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn dataset(&self) -> &Arc<dyn Dataset> {
        &self.opened().dataset
    }

    /// Returns the registry of the dataset.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-file-registry")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert!(file.registry().driver("nczarr").is_ok());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn registry(&self) -> &Arc<Registry> {
        &self.opened().registry
    }

    /// Sets the fill mode of new variables.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-file-set-fill-mode")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// use nczarr::FillMode;
    /// file.set_fill_mode(FillMode::NoFill)?;      // for variables that are defined from here on
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Perm`](crate::ErrorKind::Perm) if the dataset is read-only.
    pub fn set_fill_mode(&self, mode: FillMode) -> Result<()> {
        self.opened().edit(&Edit::SetFill { mode }).map(drop)
    }

    /// Ends define mode and writes all changes: first the data, then the metadata with the new lengths.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-file-sync")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// file.sync()?;                             // other handles see the data from here on
    /// assert_eq!(nczarr::open(file.place())?.variable("v")?.get_value::<f32>(2)?, 3.0);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// The storage's error. No change is lost if you call `sync` again.
    pub fn sync(&self) -> Result<()> {
        self.opened().dataset()?.sync().map_err(|error| self.opened().located(error))
    }

    /// Closes a dataset of one file in memory ([`OpenOptions::open_bytes`](crate::OpenOptions::open_bytes),
    /// [`OpenOptions::open_in_memory`](crate::OpenOptions::open_in_memory),
    /// [`CreateOptions::create_in_memory`](crate::CreateOptions::create_in_memory)) and returns the bytes of
    /// the file.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "zip"))] {
    /// let file = nczarr::CreateOptions::new().create_in_memory("x.zip", false)?;
    /// file.add_dimension("x", 3)?;
    /// let bytes = file.close_to_bytes()?;
    /// assert_eq!(nczarr::open_bytes(bytes)?.dimension("x")?.len(), 3);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_EINMEMORY` if it is not in memory; the errors of closing.
    pub fn close_to_bytes(self) -> Result<Vec<u8>> {
        self.opened().close()?;
        self.opened().dataset.image().map_err(|error| self.opened().located(error))
    }

    /// Writes all changes and closes the dataset, for all its handles.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-file-close")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// file.close()?;                            // returns the error if data cannot be stored
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// The storage's error. The dataset is closed nevertheless.
    pub fn close(self) -> Result<()> {
        self.opened().close()
    }
}

impl Deref for File {
    type Target = Group;

    fn deref(&self) -> &Group {
        &self.root
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("path", &self.path()).finish_non_exhaustive()
    }
}
