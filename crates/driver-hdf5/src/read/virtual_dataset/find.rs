//! Finds the dataset that a mapping names, in the file itself or in a file beside it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nczarr_dispatch::single_file;
use nczarr_model::{Error, ErrorKind, Result};

use super::super::cursor::damaged;
use super::super::external::{not_beside, path_beside};
use super::super::file::{HdfFile, WalkBudget};
use super::super::file_bytes::FileBytes;
use super::super::header::{ObjectHeader, message_type};
use super::super::messages::{DataLayout, Dataspace};
use super::super::open::lock;
use super::super::paths::{self, ResolvedPath};
use super::super::walk::{self, DatasetStorage};
use super::super::{shared_messages, superblock};
use super::extend;
use super::mapping::{HERE, SourceName};
use super::source_cache::CacheShare;

/// Most levels of virtual datasets. More are probably a circle.
const DEPTH: u32 = 4;

/// Most sources of virtual sources that one dataset opens. Each of a few sources may have many.
const OPENED: u64 = 100_000;

/// Depth of nested virtual datasets, sources that may still be opened, and the cache share.
#[derive(Debug, Clone)]
pub(crate) struct Nesting {
    depth: u32,
    left: Arc<AtomicU64>,
    pub(super) share: CacheShare,
}

impl Default for Nesting {
    fn default() -> Self {
        Self { depth: 0, left: Arc::new(OPENED.into()), share: CacheShare::default() }
    }
}

impl Nesting {
    /// Returns the nesting of a source.
    ///
    /// # Errors
    /// `NC_EHDFERR` if there are too many levels or sources.
    pub(super) fn inner(&self) -> Result<Self> {
        if self.depth >= DEPTH {
            return Err(damaged(format!(
                "virtual datasets are nested more than {DEPTH} levels deep; perhaps they form a circle"
            )));
        }
        if self.depth > 0 {
            let spent =
                self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            spent.map_err(|_| damaged(format!("virtual dataset: more than {OPENED} nested sources")))?;
        }
        Ok(Self { depth: self.depth + 1, left: Arc::clone(&self.left), share: self.share })
    }
}

/// Opens a file beside `from`; `None` if it does not exist.
///
/// # Errors
/// `NC_ESTORAGE` if either file lies elsewhere; I/O errors; errors of a damaged file.
pub(crate) fn file(from: &HdfFile, name: &str) -> Result<Option<HdfFile>> {
    let FileBytes::File(_, own) = &*from.store else {
        return Err(ErrorKind::Storage.context(format!(
            "its data are in another file, {name:?}; open the dataset by a local path to read it"
        )));
    };
    let path = path_beside(own.parent().unwrap_or(Path::new(".")), name.strip_prefix("./").unwrap_or(name))?;
    let io = |error: io::Error| Error::io(path.display().to_string(), error);
    let opened = match single_file::open_regular(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(io)?.ok_or_else(|| not_beside(path.display()))?,
    };
    let at = |error: Error| error.at(path.display());
    lock(&opened, &path)?;
    let (found, _) = superblock::open(Arc::new(FileBytes::File(opened, path.clone()))).map_err(at)?;
    Ok(Some(found))
}

/// Reads shape and storage of a dataset by name; `None` if the name does not exist.
///
/// # Errors
/// `NC_EHDFERR` if it is not a dataset, or damaged; `NC_ESTORAGE` if a link leads to another file.
pub(super) fn dataset(
    file: &HdfFile,
    name: &str,
    nest: &Nesting,
) -> Result<Option<(Dataspace, DatasetStorage)>> {
    object(file, name, |header| {
        let space = header.find(message_type::DATASPACE).ok_or_else(|| damaged("it is no dataset"))?;
        let mut space =
            Dataspace::parse(file, &shared_messages::resolve(file, message_type::DATASPACE, space)?)?;
        let stored = walk::stored(file, header)?;
        if space.dims.is_none() {
            return Err(damaged("the dataset has a null dataspace"));
        }
        extend(file, &stored.layout, &mut space, nest)?;
        Ok((space, stored))
    })
}

/// Reads the layout of a dataset by name; `None` if the name does not exist.
///
/// # Errors
/// As [`dataset`].
pub(super) fn layout(file: &HdfFile, name: &str) -> Result<Option<DataLayout>> {
    object(file, name, |header| walk::stored(file, header).map(|stored| stored.layout))
}

/// Calls `found` with the header of an object by name.
fn object<T>(
    file: &HdfFile,
    name: &str,
    found: impl FnOnce(&ObjectHeader) -> Result<T>,
) -> Result<Option<T>> {
    let at = |error: Error| error.at(format_args!("source {name:?}"));
    let address = match paths::follow(file, name, file.root, &mut WalkBudget::new(file, 8)).map_err(at)? {
        ResolvedPath::Object(address) => address,
        ResolvedPath::Nothing => return Ok(None),
        ResolvedPath::External { .. } | ResolvedPath::Elsewhere => {
            return Err(at(ErrorKind::Storage
                .context("a link leads to another file, which is not supported for sources")));
        }
    };
    ObjectHeader::read(file, address).and_then(|header| found(&header)).map(Some).map_err(at)
}

/// Reads the shape of the dataset that a mapping names.
///
/// # Errors
/// As [`file()`] and [`dataset`].
pub(super) fn shape(from: &HdfFile, names: &SourceName, nest: &Nesting) -> Result<Option<Vec<u64>>> {
    let nest = nest.inner()?;
    let other;
    let file = match &*names.file {
        HERE => from,
        name => match file(from, name)? {
            Some(found) => {
                other = found;
                &other
            }
            None => return Ok(None),
        },
    };
    Ok(dataset(file, &names.dataset, &nest)?.and_then(|(space, _)| space.dims))
}
