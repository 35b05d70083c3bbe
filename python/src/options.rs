//! Options of opening and creating, by keyword.

use std::path::PathBuf;
use std::sync::Arc;

use nczarr::storage::ZMap;
use nczarr::{CreateOptions, Durability, ErrorKind, Kind, MissingChunks, OpenOptions, Place, Result};
use pyo3::prelude::*;

use crate::map::PythonMap;

/// A place: `str` is a path or a URL, a path object is always a path, and `Mounted` is a map in Python.
#[derive(FromPyObject)]
pub enum PlaceArgument {
    Text(String),
    Path(PathBuf),
    Map { map: Py<PyAny>, name: String, modes: Vec<String> },
}

impl PlaceArgument {
    /// The place as the library takes it, and the map if it is one in Python.
    pub fn place(self, py: Python<'_>, writable: bool) -> PyResult<(Place, Option<Arc<dyn ZMap>>)> {
        match self {
            Self::Text(text) => Ok((Place::from(text), None)),
            Self::Path(path) => Ok((Place::path(path), None)),
            Self::Map { map, name, modes } => {
                let place = modes.into_iter().fold(Place::path(&name), Place::mode);
                Ok((place, Some(Arc::new(PythonMap::new(py, map, name, writable)?))))
            }
        }
    }

    /// Whether each request to its storage may take long.
    pub fn is_remote(&self) -> bool {
        match self {
            Self::Text(text) => text.contains("://"),
            Self::Path(_) => false,
            Self::Map { .. } => true,
        }
    }
}

const MISSING_CHUNKS: [(&str, MissingChunks); 3] =
    [("fill", MissingChunks::Fill), ("warn", MissingChunks::Warn), ("error", MissingChunks::Error)];
const DURABILITIES: [(&str, Durability); 2] = [("rename", Durability::Rename), ("fsync", Durability::Fsync)];
const KINDS: [(&str, Kind); 9] = [
    ("nczarr-v2", Kind::NcZarrV2),
    ("nczarr-v3", Kind::NcZarrV3),
    ("zarr-v2", Kind::ZarrV2),
    ("zarr-v3", Kind::ZarrV3),
    ("netcdf4", Kind::NetCdf4),
    ("netcdf4-classic", Kind::NetCdf4Classic),
    ("cdf1", Kind::Cdf1),
    ("cdf2", Kind::Cdf2),
    ("cdf5", Kind::Cdf5),
];

/// The keyword arguments that opening and creating share.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct CommonOptions {
    threads: Option<usize>,
    cache_bytes: Option<usize>,
    missing_chunks: Option<String>,
    exclusive: bool,
    durability: Option<String>,
    growing: Vec<String>,
}

macro_rules! with_common {
    ($options:expr, $common:expr) => {{
        let (mut options, common) = ($options.exclusive($common.exclusive), $common);
        if let Some(threads) = common.threads {
            options = options.threads(threads);
        }
        if let Some(bytes) = common.cache_bytes {
            options = options.cache_bytes(bytes);
        }
        if let Some(name) = &common.missing_chunks {
            options = options.missing_chunks(choice("missing_chunks", name, &MISSING_CHUNKS)?);
        }
        if let Some(name) = &common.durability {
            options = options.durability(choice("durability", name, &DURABILITIES)?);
        }
        options
    }};
}

impl CommonOptions {
    /// The options of opening.
    pub fn to_open(&self, writable: bool) -> Result<OpenOptions> {
        Ok(with_common!(OpenOptions::new().writable(writable).growing(&self.growing), self))
    }

    /// The options of creating. Without a kind, the path decides.
    pub fn to_create(&self, clobber: bool, kind: Option<&str>) -> Result<CreateOptions> {
        let options = with_common!(CreateOptions::new().clobber(clobber), self);
        match kind {
            Some(kind) => Ok(options.kind(choice("kind", kind, &KINDS)?)),
            None => Ok(options),
        }
    }
}

/// Returns the value of this name.
fn choice<T: Copy>(option: &str, name: &str, choices: &[(&str, T)]) -> Result<T> {
    let found = choices.iter().find(|(choice, _)| *choice == name).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let names = choices.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        ErrorKind::Inval.context(format!("{option}={name:?}: expected one of {names}"))
    })
}
