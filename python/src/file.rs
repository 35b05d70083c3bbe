//! The handle of an open dataset.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nczarr::model::Model;
use nczarr::{ErrorKind, Result};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::calls;
use crate::error::IntoPython;
use crate::group::Group;
use crate::options::{CommonOptions, PlaceArgument};
use crate::values::bytes_to_python;

/// The dataset that all handles of a file share.
pub struct SharedFile {
    file: Mutex<Option<nczarr::File>>,
    /// Whether its storage is a network away.
    remote: bool,
    /// Whether its storage is a map in Python.
    in_python: bool,
}

impl SharedFile {
    fn new(file: nczarr::File, in_python: bool) -> Arc<Self> {
        let remote = file.path().contains("://")
            && !file.path().starts_with("file:")
            && !file.path().starts_with("memory:");
        Arc::new(Self { file: Mutex::new(Some(file)), remote: remote || in_python, in_python })
    }

    fn lock(&self) -> MutexGuard<'_, Option<nczarr::File>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a short call that touches no storage. Another thread may hold a lock of the dataset while it
    /// waits for the interpreter to run a map in Python, so such a call must not hold the interpreter.
    pub fn look<T: Send>(&self, py: Python<'_>, look: impl FnOnce() -> T + Send) -> T {
        if self.in_python { py.detach(look) } else { look() }
    }

    /// Calls `work` with the file, without a lock: work on a map in Python may wait for the interpreter.
    pub fn with<T>(&self, work: impl FnOnce(&nczarr::File) -> Result<T>) -> Result<T> {
        let file = self.lock().clone();
        file.as_ref().map_or_else(|| Err(closed()), work)
    }

    /// Returns the metadata.
    pub fn model(&self, py: Python<'_>) -> PyResult<Arc<Model>> {
        self.look(py, || self.with(|file| Ok(file.model()))).into_python(py)
    }

    /// Whether its storage is a network away.
    pub fn is_remote(&self) -> bool {
        self.remote
    }

    fn take(&self) -> Option<nczarr::File> {
        self.lock().take()
    }
}

impl Drop for SharedFile {
    /// Closing may write, so it happens without the interpreter.
    fn drop(&mut self) {
        if let Some(file) = self.take() {
            // A handle without `close` has nobody left to tell; the Python half warns.
            let _ = Python::try_attach(|py| py.detach(|| drop(file)));
        }
    }
}

fn closed() -> nczarr::Error {
    ErrorKind::BadId.context("the dataset is closed")
}

/// An open dataset.
#[pyclass(frozen)]
pub struct File(Arc<SharedFile>);

/// Opens a dataset.
#[pyfunction]
pub fn open(py: Python<'_>, place: PlaceArgument, writable: bool, options: CommonOptions) -> PyResult<File> {
    let remote = place.is_remote();
    let (place, map) = place.place(py, writable)?;
    let in_python = map.is_some();
    let file = calls::transfer(py, 0, remote, || {
        let options = options.to_open(writable)?;
        map.into_iter().fold(options, nczarr::OpenOptions::map).open(place)
    })?;
    Ok(File(SharedFile::new(file, in_python)))
}

/// Opens a dataset from the bytes of its one file, without a copy.
#[pyfunction]
pub fn open_bytes(
    py: Python<'_>,
    name: &str,
    bytes: Bound<'_, PyBytes>,
    options: CommonOptions,
) -> PyResult<File> {
    let bytes = pyo3::pybacked::PyBackedBytes::from(bytes);
    let file = calls::run(py, || options.to_open(false)?.open_bytes(name, bytes))?;
    Ok(File(SharedFile::new(file, false)))
}

/// Creates a dataset; `in_memory` keeps it in memory, for `close_to_bytes`.
#[pyfunction]
pub fn create(
    py: Python<'_>,
    place: PlaceArgument,
    clobber: bool,
    kind: Option<String>,
    in_memory: bool,
    options: CommonOptions,
) -> PyResult<File> {
    let (place, map) = place.place(py, true)?;
    let in_python = map.is_some();
    let file = calls::run(py, || {
        let options = options.to_create(clobber, kind.as_deref())?;
        let options = map.into_iter().fold(options, nczarr::CreateOptions::map);
        if in_memory { options.create_in_memory(place, false) } else { options.create(place) }
    })?;
    Ok(File(SharedFile::new(file, in_python)))
}

#[pymethods]
impl File {
    /// The path or URL of opening.
    fn path(&self, py: Python<'_>) -> PyResult<String> {
        self.0.with(|file| Ok(file.path().into_owned())).into_python(py)
    }

    /// The root group.
    fn root(&self, py: Python<'_>) -> PyResult<Group> {
        let root = self.0.look(py, || self.0.with(|file| Ok(file.root()))).into_python(py)?;
        Ok(Group::new(Arc::clone(&self.0), root))
    }

    /// The format, the storage and the notes of opening, as a dict.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = self.0.look(py, || self.0.with(|file| Ok(file.info()))).into_python(py)?;
        let members = PyDict::new(py);
        members.set_item("driver", info.driver)?;
        members.set_item("map", info.map)?;
        members.set_item("flavour", info.flavour)?;
        members.set_item("version", info.version)?;
        members.set_item("writable", info.writable)?;
        members.set_item("format", info.format.code())?;
        members.set_item("notes", info.notes)?;
        let faults = info.faults.iter().map(|fault| (fault.path.as_str(), fault.text.as_str()));
        members.set_item("faults", faults.collect::<Vec<_>>())?;
        Ok(members)
    }

    /// Stores all that was written.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        calls::run(py, || self.0.with(nczarr::File::sync))
    }

    /// Whether elements of new variables start as fill values.
    fn set_fill(&self, py: Python<'_>, fill: bool) -> PyResult<()> {
        let mode = if fill { nczarr::FillMode::Fill } else { nczarr::FillMode::NoFill };
        calls::run(py, || self.0.with(|file| file.set_fill_mode(mode)))
    }

    /// Whether the dataset was closed.
    fn is_closed(&self) -> bool {
        self.0.lock().is_none()
    }

    /// Stores all that was written, and closes the dataset. Closing twice does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        match py.detach(|| self.0.take()) {
            Some(file) => calls::run(py, || file.close()),
            None => Ok(()),
        }
    }

    /// Closes a dataset in memory and returns its bytes.
    fn close_to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let Some(file) = py.detach(|| self.0.take()) else { return Err(closed()).into_python(py) };
        let bytes = calls::run(py, || file.close_to_bytes())?;
        bytes_to_python(py, &bytes)
    }
}
