//! [`File`]: an open dataset. `OpenDataset`: the state that its handles share.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use nczarr_dispatch::{Dataset, DatasetInfo, Fault, Place, Registry};
use nczarr_model::{Defined, Edit, Error, ErrorKind, FillMode, GroupId, Model, Result, Values, VarId};
use nczarr_nc_table::NcDispatch;
use nczarr_runtime::StopSignal;

use crate::{Attribute, Group, OpenOptions, Variable};

/// An open dataset.
///
/// It dereferences to its root group, so every method of [`Group`] is available. Clones are handles to the
/// same dataset. The last handle closes the dataset when it is dropped and can only log errors;
/// [`File::close`] returns them.
#[derive(Clone)]
pub struct File {
    root: Group,
}

/// The state that all handles of a dataset share.
pub(crate) struct OpenDataset {
    dataset: Arc<dyn Dataset>,
    place: Arc<Place>,
    registry: Arc<Registry>,
    closed: AtomicBool,
    /// The parts that a variable opened for its data lacks.
    rest: Option<DeferredRest>,
}

/// Opens the complete variable, once.
struct DeferredRest {
    options: Box<OpenOptions>,
    name: String,
    variable: OnceLock<Variable>,
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
        let rest = DeferredRest {
            options: Box::new(options.clone()),
            name: variable.to_owned(),
            variable: OnceLock::new(),
        };
        Self::with(dataset, place, registry, Some(rest))
    }

    fn with(
        dataset: Arc<dyn Dataset>,
        place: Place,
        registry: Arc<Registry>,
        rest: Option<DeferredRest>,
    ) -> Self {
        let (place, closed) = (Arc::new(place), AtomicBool::new(false));
        let open = Arc::new(OpenDataset { dataset, place, registry, closed, rest });
        Self { root: Group::new(open, GroupId::ROOT) }
    }

    fn opened(&self) -> &Arc<OpenDataset> {
        self.root.opened()
    }

    /// Returns the path or URL of opening as text. Bytes of a path that are not UTF-8 are replaced.
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

    /// Returns the place of opening: it opens the same dataset again.
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

    /// Returns all faults of the dataset, including those that need a search of the storage.
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
    /// Those of the storage.
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

    /// Returns the underlying dataset, for calls by their C names ([`NcDispatch`]).
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
    /// [`ErrorKind::Perm`] if the dataset is read-only.
    pub fn set_fill_mode(&self, mode: FillMode) -> Result<()> {
        self.opened().edit(&Edit::SetFill { mode }).map(drop)
    }

    /// Writes all changes: data first, then the metadata that count them. It ends define mode.
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
    /// The storage's error; another attempt loses nothing.
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

impl OpenDataset {
    /// Returns the dataset, unless it is closed.
    pub(crate) fn dataset(&self) -> Result<&Arc<dyn Dataset>> {
        if self.closed.load(Ordering::Acquire) {
            let error = ErrorKind::BadId.context(format!("{}: the dataset is closed", self.place));
            return Err(self.located(error));
        }
        Ok(&self.dataset)
    }

    pub(crate) fn model(&self) -> Arc<Model> {
        self.dataset.model().snapshot()
    }

    /// Calls `look` with the current metadata. `look` must not call the dataset.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Model) -> T) -> T {
        self.dataset.model().with(look)
    }

    /// Returns the complete variable, if this was opened for its data.
    pub(crate) fn whole(&self) -> Result<Option<&Variable>> {
        let Some(rest) = &self.rest else { return Ok(None) };
        self.dataset()?;
        if let Some(variable) = rest.variable.get() {
            return Ok(Some(variable));
        }
        let variable = rest.options.open_variable(&*self.place, &rest.name)?;
        Ok(Some(rest.variable.get_or_init(|| variable)))
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(crate) fn shared_place(&self) -> Arc<Place> {
        Arc::clone(&self.place)
    }

    /// Adds the path of the dataset to an error.
    pub(crate) fn located(&self, error: Error) -> Error {
        error.in_path(&self.place)
    }

    pub(crate) fn attribute(&self, group: GroupId, var: Option<VarId>, name: &str) -> Option<Attribute> {
        let (values, _) = self.dataset.get_att(group, var, name, None).ok()?;
        Some(Attribute::new(name, values))
    }

    /// Makes an edit; enters define mode if needed, also where netCDF's functions leave that to the caller.
    pub(crate) fn edit(&self, edit: &Edit<'_>) -> Result<Defined> {
        self.change(|dataset| dataset.edit(edit))
    }

    /// Sets an attribute of a group or variable, as [`OpenDataset::edit`] makes an edit.
    pub(crate) fn put_att(
        &self,
        group: GroupId,
        var: Option<VarId>,
        name: &str,
        mut values: Values,
    ) -> Result<()> {
        self.change(|dataset| dataset.edit_att(group, var, name, &mut values))
    }

    /// Runs a change in define mode.
    pub(crate) fn change<T>(&self, change: impl FnMut(&dyn Dataset) -> Result<T>) -> Result<T> {
        self.defining(change).map_err(|error| self.located(error))
    }

    fn defining<T>(&self, mut change: impl FnMut(&dyn Dataset) -> Result<T>) -> Result<T> {
        let dataset = &**self.dataset()?;
        match change(dataset) {
            Err(error) if error.kind() == ErrorKind::NotInDefine => {}
            outcome => return outcome,
        }
        match dataset.redef() {
            // Another thread was first.
            Err(error) if error.kind() == ErrorKind::InDefine => change(dataset),
            Err(error) => Err(error),
            Ok(()) => {
                let outcome = change(dataset);
                if outcome.is_err() {
                    dataset.model().end();
                }
                outcome
            }
        }
    }

    /// Ends define mode, if the dataset is in it, without a call into the dataset if it is not.
    pub(crate) fn leave_define_mode_if_defining(&self) -> Result<()> {
        if self.dataset()?.model().is_defining() { self.leave_define_mode() } else { Ok(()) }
    }

    /// Ends define mode, if the dataset is in it.
    pub(crate) fn leave_define_mode(&self) -> Result<()> {
        match self.dataset()?._enddef(0, 0, 0, 0) {
            // Another thread was first.
            Err(error) if error.kind() == ErrorKind::NotInDefine => Ok(()),
            outcome => outcome.map_err(|error| self.located(error)),
        }
    }

    fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        // If a plugin panics, the next call closes it.
        let reopen = Reopen(&self.closed);
        // Changes that closing does not write are lost, so it is not stopped.
        let outcome = StopSignal::run(None, || self.dataset.close());
        std::mem::forget(reopen);
        outcome.map_err(|error| self.located(error))
    }
}

/// Records on unwinding that it is not closed.
struct Reopen<'a>(&'a AtomicBool);

impl Drop for Reopen<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Drop for OpenDataset {
    fn drop(&mut self) {
        // The thread may be unwinding, and a second panic would abort the process.
        match catch_unwind(AssertUnwindSafe(|| self.close())) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::error!(path = %self.place, error = format_args!("{error:#}"), "closing failed")
            }
            Err(_) => tracing::error!(path = %self.place, "closing failed: a plugin panicked"),
        }
    }
}
