//! [`File`]: an open dataset; and `Open`, what all its handles share.

use std::fmt;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use nczarr_dispatch::{Dataset, DatasetInfo, Fault, NcDispatch, Registry};
use nczarr_model::{Defined, Edit, ErrorKind, FillMode, GroupId, Model, Result, Values, VarId};

use crate::{Attribute, Group, OpenOptions, Variable};

/// An open dataset.
///
/// It is its root group as well: every method of [`Group`] is there. Clones are handles to the same dataset.
/// The last handle to go closes it and can only log what goes wrong then; [`File::close`] says it.
#[derive(Clone)]
pub struct File {
    root: Group,
}

/// What every handle of one dataset shares.
pub(crate) struct Open {
    dataset: Arc<dyn Dataset>,
    path: String,
    registry: Arc<Registry>,
    closed: AtomicBool,
    /// What a variable that was opened for its data alone lacks.
    rest: Option<Rest>,
}

/// The variable with all that is said of it, and how it is opened, once.
struct Rest {
    options: Box<OpenOptions>,
    name: String,
    variable: OnceLock<Variable>,
}

impl File {
    pub(crate) fn new(dataset: Arc<dyn Dataset>, path: &str, registry: Arc<Registry>) -> Self {
        Self::with(dataset, path, registry, None)
    }

    /// One of which only the data of one variable are to be read; with these options it is opened as a whole.
    pub(crate) fn for_data(
        dataset: Arc<dyn Dataset>,
        path: &str,
        registry: Arc<Registry>,
        (options, variable): (&OpenOptions, &str),
    ) -> Self {
        let rest = Rest { options: Box::new(options.clone()), name: variable.to_owned(), variable: OnceLock::new() };
        Self::with(dataset, path, registry, Some(rest))
    }

    fn with(dataset: Arc<dyn Dataset>, path: &str, registry: Arc<Registry>, rest: Option<Rest>) -> Self {
        let open = Arc::new(Open { dataset, path: path.to_owned(), registry, closed: AtomicBool::new(false), rest });
        Self { root: Group::new(open, GroupId::ROOT) }
    }

    fn opened(&self) -> &Arc<Open> {
        self.root.opened()
    }

    /// The path or URL it was opened with.
    pub fn path(&self) -> &str {
        &self.opened().path
    }

    /// The root group.
    pub fn root(&self) -> Group {
        self.root.clone()
    }

    /// What the dataset says of itself: driver, map, format, flavour.
    pub fn info(&self) -> DatasetInfo {
        self.opened().dataset.info()
    }

    /// All faults of the dataset: those that opening met, and those that a search of the storage shows.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn faults(&self) -> Result<Vec<Fault>> {
        let mut faults = self.info().faults;
        faults.extend(self.opened().dataset()?.search_faults()?);
        Ok(faults)
    }

    /// The metadata as it is now. It does not follow later changes, except that unlimited dimensions grow.
    pub fn model(&self) -> Arc<Model> {
        self.opened().model()
    }

    /// The variable of this identifier in the [`Model`].
    ///
    /// # Errors
    /// `NC_ENOTVAR` if there is none.
    pub fn variable_by_id(&self, id: VarId) -> Result<Variable> {
        self.model().var(id)?;
        Ok(Variable::new(Arc::clone(self.opened()), id))
    }

    /// The dataset below this handle, for calls by their C names ([`NcDispatch`]).
    pub fn dataset(&self) -> &Arc<dyn Dataset> {
        &self.opened().dataset
    }

    /// The registry it was opened with.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.opened().registry
    }

    /// What new variables without a fill value of their own do.
    ///
    /// # Errors
    /// [`ErrorKind::Perm`] if the dataset is read-only.
    pub fn set_fill_mode(&self, mode: FillMode) -> Result<()> {
        self.opened().edit(&Edit::SetFill { mode }).map(drop)
    }

    /// Writes everything out: data first, then the metadata that count them. It ends define mode.
    ///
    /// # Errors
    /// What the storage says; nothing is lost by trying again.
    pub fn sync(&self) -> Result<()> {
        self.opened().dataset()?.sync()
    }

    /// Closes a dataset that lies in memory as one file ([`OpenOptions::open_bytes`](crate::OpenOptions::open_bytes),
    /// [`OpenOptions::open_in_memory`](crate::OpenOptions::open_in_memory),
    /// [`CreateOptions::create_in_memory`](crate::CreateOptions::create_in_memory)) and answers that file's bytes.
    ///
    /// # Errors
    /// `NC_EINMEMORY` if it does not lie in memory; what is left to be said when it is closed.
    pub fn close_to_bytes(self) -> Result<Vec<u8>> {
        self.opened().close()?;
        self.opened().dataset.image()
    }

    /// Writes everything out and closes the dataset, for all its handles.
    ///
    /// # Errors
    /// What the storage says. The dataset is closed nevertheless.
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

impl Open {
    /// The dataset, unless it was closed.
    pub(crate) fn dataset(&self) -> Result<&Arc<dyn Dataset>> {
        if self.closed.load(Ordering::Acquire) {
            return Err(ErrorKind::BadId.context(format!("{}: the dataset is closed", self.path)));
        }
        Ok(&self.dataset)
    }

    pub(crate) fn model(&self) -> Arc<Model> {
        self.dataset.model().snapshot()
    }

    /// What `look` sees of the metadata as it is now; nothing of the dataset is to be called meanwhile.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Model) -> T) -> T {
        self.dataset.model().with(look)
    }

    /// The variable as a whole, if this was opened for its data alone.
    pub(crate) fn whole(&self) -> Result<Option<&Variable>> {
        let Some(rest) = &self.rest else { return Ok(None) };
        self.dataset()?;
        if let Some(variable) = rest.variable.get() {
            return Ok(Some(variable));
        }
        let variable = rest.options.open_variable(&self.path, &rest.name)?;
        Ok(Some(rest.variable.get_or_init(|| variable)))
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(crate) fn attribute(&self, group: GroupId, var: Option<VarId>, name: &str) -> Option<Attribute> {
        let (values, _) = self.dataset.get_att(group, var, name, None).ok()?;
        Some(Attribute::new(name, values))
    }

    /// Makes an edit; enters define mode for it, also where netCDF's own functions leave that to their caller.
    pub(crate) fn edit(&self, edit: &Edit<'_>) -> Result<Defined> {
        self.change(|dataset| dataset.edit(edit))
    }

    /// Puts an attribute of a group, or of a variable, as [`Open::edit`] makes an edit.
    pub(crate) fn put_att(&self, group: GroupId, var: Option<VarId>, name: &str, mut values: Values) -> Result<()> {
        self.change(|dataset| dataset.edit_att(group, var, name, &mut values))
    }

    fn change<T>(&self, mut change: impl FnMut(&dyn Dataset) -> Result<T>) -> Result<T> {
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

    /// Leaves define mode, if the dataset is in it.
    pub(crate) fn leave_define_mode(&self) -> Result<()> {
        match self.dataset()?._enddef(0, 0, 0, 0) {
            // Another thread was first.
            Err(error) if error.kind() == ErrorKind::NotInDefine => Ok(()),
            outcome => outcome,
        }
    }

    fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        // A plugin may panic: then whoever closes next goes on.
        let reopen = Reopen(&self.closed);
        let outcome = self.dataset.close();
        std::mem::forget(reopen);
        outcome
    }
}

/// Says on unwinding that it is not closed.
struct Reopen<'a>(&'a AtomicBool);

impl Drop for Reopen<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // The thread may be unwinding already, and a second panic would end the process.
        match catch_unwind(AssertUnwindSafe(|| self.close())) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(path = %self.path, error = format_args!("{error:#}"), "closing failed"),
            Err(_) => tracing::error!(path = %self.path, "closing failed: a plugin panicked"),
        }
    }
}
