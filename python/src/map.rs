//! A map whose methods are Python's: `nczarr.Map`, and the adapters of `nczarr/_stores.py`.
//!
//! Engine threads call it, so each method acquires the interpreter for itself. Only `None` means that there
//! is no object. Every exception is an error that keeps the exception (see `raised.rs`).

use std::fmt;

use nczarr::storage::{
    ByteRange, Key, ListMode, MapCaps, ObjectInfo, Precondition, ReadOptions, Version, WriteOutcome, ZMap,
};
use nczarr::{ErrorKind, Result};
use pyo3::IntoPyObjectExt;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::raised;
use crate::values::bytes_to_python;

/// A map, and its name in errors.
pub struct PythonMap {
    map: Py<PyAny>,
    name: String,
    caps: MapCaps,
}

/// The abilities of a map: which methods its class has.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Abilities {
    write: bool,
    delete: bool,
    list: bool,
    conditional: bool,
}

impl PythonMap {
    pub fn new(py: Python<'_>, map: Py<PyAny>, name: String, writable: bool) -> PyResult<Self> {
        let able: Abilities = map.bind(py).call_method0("_abilities")?.extract()?;
        let caps = MapCaps::new()
            .list(able.list)
            .range_read(true)
            .remote(true)
            .write(able.write && writable)
            .overwrite(able.write && writable)
            .delete(able.delete && writable)
            .conditional_write(able.conditional && able.write && writable);
        Ok(Self { map, name, caps })
    }

    /// Calls a method and converts its result, with the interpreter.
    fn call<T>(
        &self,
        method: &str,
        key: &Key,
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
        convert: impl for<'py> FnOnce(Bound<'py, PyAny>) -> PyResult<T>,
    ) -> Result<T> {
        let outcome = Python::try_attach(|py| {
            let called = arguments(py).and_then(|list| self.map.bind(py).call_method1(method, list));
            called.and_then(convert).map_err(|error| raised::error(py, self.place(key), method, error))
        });
        outcome.unwrap_or_else(|| {
            Err(ErrorKind::Io.context(format!("{}: {method}: the interpreter has ended", self.place(key))))
        })
    }

    fn place(&self, key: &Key) -> String {
        format!("{}: key {:?}", self.name, key.as_str())
    }

    /// Reads a range. `None` as version: it is not wanted.
    fn get(&self, key: &Key, range: ByteRange, out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        if range.len == Some(0) {
            return Ok(self.size(key)?.is_some());
        }
        let end = range.len.and_then(|len| range.offset.checked_add(len));
        let found = self.call(
            "read",
            key,
            |py| (key.as_str(), range.offset, end).into_pyobject(py),
            |bytes| optional_bytes(&bytes, out),
        )?;
        if found {
            self.check_length(key, range, out.len() as u64)?;
        }
        Ok(found)
    }

    /// Checks that a read returned all bytes of the range that exist: a part of them would be taken for data.
    fn check_length(&self, key: &Key, range: ByteRange, found: u64) -> Result<()> {
        let Some(wanted) = range.len else { return Ok(()) };
        let size = if found < wanted { self.size(key)?.unwrap_or(0) } else { u64::MAX };
        let expected = wanted.min(size.saturating_sub(range.offset));
        if found == expected {
            return Ok(());
        }
        Err(ErrorKind::Io.context(format!(
            "{}: read({}, {}) returned {found} bytes, expected {expected}",
            self.place(key),
            range.offset,
            range.offset.saturating_add(wanted)
        )))
    }

    fn size(&self, key: &Key) -> Result<Option<u64>> {
        self.call("size", key, |py| (key.as_str(),).into_pyobject(py), |size| size.extract())
    }

    fn names(&self, method: &str, prefix: &Key) -> Result<Vec<String>> {
        let convert = |names: Bound<'_, PyAny>| names.try_iter()?.map(|name| name?.extract()).collect();
        let mut names: Vec<String> =
            self.call(method, prefix, |py| (prefix.as_str(),).into_pyobject(py), convert)?;
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    fn require(&self, able: bool, what: &str, key: &Key) -> Result<()> {
        if able {
            return Ok(());
        }
        Err(ErrorKind::Perm.context(format!("{}: this map cannot {what}", self.place(key))))
    }
}

/// The state of an object that a map's `read_versioned` returned.
struct PythonVersion(Py<PyAny>);

impl ZMap for PythonMap {
    fn caps(&self) -> MapCaps {
        self.caps
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        self.size(key)
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        if !options.versioned {
            return Ok(self.get(key, options.range, out)?.then(ObjectInfo::default));
        }
        self.require(self.caps.conditional_write, "read versions", key)?;
        out.clear();
        let convert = |pair: Bound<'_, PyAny>| -> PyResult<Option<Version>> {
            if pair.is_none() {
                return Ok(None);
            }
            let (bytes, version): (Bound<'_, PyAny>, Py<PyAny>) = pair.extract()?;
            optional_bytes(&bytes, out)?;
            Ok(Some(Version::new(PythonVersion(version))))
        };
        let version = self.call("read_versioned", key, |py| (key.as_str(),).into_pyobject(py), convert)?;
        cut(out, options.range);
        Ok(version.map(|version| ObjectInfo::new(Some(version))))
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        self.require(self.caps.list, "list", prefix)?;
        match mode {
            ListMode::Children | ListMode::PossibleChildren => self.names("children", prefix).map(Some),
            ListMode::Keys => self.names("list", prefix).map(Some),
            _ => Ok(None),
        }
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        self.require(self.caps.write, "write", key)?;
        let expected = match expect {
            Precondition::Any => {
                self.call(
                    "write",
                    key,
                    |py| (key.as_str(), bytes_to_python(py, value)?).into_pyobject(py),
                    |_| Ok(()),
                )?;
                return Ok(WriteOutcome::Done(None));
            }
            Precondition::Absent => None,
            Precondition::Unchanged(version) => {
                let own = version.get::<PythonVersion>();
                let foreign = || ErrorKind::Inval.context("the version belongs to another map");
                Some(own.ok_or_else(foreign)?)
            }
        };
        self.require(self.caps.conditional_write, "write conditionally", key)?;
        let done = self.call(
            "write_if",
            key,
            |py| {
                let version = expected.map(|version| version.0.bind(py)).into_py_any(py)?;
                (key.as_str(), bytes_to_python(py, value)?, version).into_pyobject(py)
            },
            |done| done.extract::<bool>(),
        )?;
        Ok(if done { WriteOutcome::Done(None) } else { WriteOutcome::Conflict })
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        self.require(self.caps.delete, "delete", key)?;
        self.call("delete", key, |py| (key.as_str(),).into_pyobject(py), |found| found.extract())
    }

    fn sync(&self) -> Result<()> {
        self.call("sync", &Key::root(), |py| Ok(PyTuple::empty(py)), |_| Ok(()))
    }
}

impl fmt::Debug for PythonMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonMap").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Appends the bytes of any object with a buffer; `false` for `None`.
fn optional_bytes(bytes: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> PyResult<bool> {
    if bytes.is_none() {
        return Ok(false);
    }
    let no_memory = |_| PyMemoryError::new_err("the memory does not suffice for an object of the map");
    match bytes.cast::<PyBytes>() {
        Ok(bytes) => {
            let bytes = bytes.as_bytes();
            out.try_reserve_exact(bytes.len()).map_err(no_memory)?;
            out.extend_from_slice(bytes);
        }
        Err(_) => {
            let buffer = PyBuffer::<u8>::get(bytes)?;
            let start = out.len();
            out.try_reserve_exact(buffer.len_bytes()).map_err(no_memory)?;
            out.resize(start + buffer.len_bytes(), 0);
            buffer.copy_to_slice(bytes.py(), &mut out[start..])?;
        }
    }
    Ok(true)
}

/// Keeps only a range of the bytes.
fn cut(bytes: &mut Vec<u8>, range: ByteRange) {
    let len = bytes.len() as u64;
    let end = range.len.map_or(len, |wanted| range.offset.saturating_add(wanted).min(len));
    bytes.truncate(end as usize);
    bytes.drain(..(range.offset.min(end)) as usize);
}
