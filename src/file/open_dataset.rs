//! [`OpenDataset`]: the state that all handles of a dataset share.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use nczarr_dispatch::{Dataset, Place, Registry};
use nczarr_model::{Defined, Edit, Error, ErrorKind, GroupId, Model, Result, Values, VarId};
use nczarr_nc_table::{NcDispatch, to_data_mode};
use nczarr_runtime::StopSignal;

use crate::{Attribute, OpenOptions, Variable};

/// The state that all handles of a dataset share.
pub(crate) struct OpenDataset {
    pub(super) dataset: Arc<dyn Dataset>,
    pub(super) place: Arc<Place>,
    pub(super) registry: Arc<Registry>,
    closed: AtomicBool,
    /// The parts that a variable opened for its data lacks.
    rest: Option<DeferredRest>,
}

/// Opens the complete variable, once.
pub(super) struct DeferredRest {
    options: Box<OpenOptions>,
    name: String,
    variable: OnceLock<Variable>,
}

impl DeferredRest {
    pub(super) fn new(options: &OpenOptions, variable: &str) -> Self {
        Self { options: Box::new(options.clone()), name: variable.to_owned(), variable: OnceLock::new() }
    }
}

impl OpenDataset {
    pub(super) fn new(
        dataset: Arc<dyn Dataset>,
        place: Place,
        registry: Arc<Registry>,
        rest: Option<DeferredRest>,
    ) -> Self {
        Self { dataset, place: Arc::new(place), registry, closed: AtomicBool::new(false), rest }
    }

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

    /// Ends define mode, if the dataset is in it, because data are to be written.
    pub(crate) fn leave_define_mode(&self) -> Result<()> {
        let dataset = &**self.dataset()?;
        let ended = match to_data_mode(dataset) {
            // In the classic model netCDF's functions leave that to the caller.
            Err(error) if error.kind() == ErrorKind::InDefine => dataset._enddef(0, 0, 0, 0),
            outcome => outcome,
        };
        match ended {
            // Another thread was first.
            Err(error) if error.kind() == ErrorKind::NotInDefine => Ok(()),
            outcome => outcome.map_err(|error| self.located(error)),
        }
    }

    pub(super) fn close(&self) -> Result<()> {
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
