//! The dataset that a mapping names: in the file itself, or in one beside it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nczarr_dispatch::place;
use nczarr_model::{Error, ErrorKind, Result};

use super::super::cursor::bad;
use super::super::external::{elsewhere, path_beside};
use super::super::file::{Budget, Hdf};
use super::super::header::{Header, kind};
use super::super::messages::{Layout, Space};
use super::super::open::lock;
use super::super::paths::{self, Reached};
use super::super::store::Store;
use super::super::walk::{self, Stored};
use super::super::{shared, superblock};
use super::extend;
use super::kept::Share;
use super::mapping::{HERE, Names};

/// Virtual datasets in one another, at most: what has more goes in a circle.
const DEPTH: u32 = 4;

/// Sources of sources that may be opened for the data of one dataset: few of them may each be the sources of many.
const OPENED: u64 = 100_000;

/// In how many virtual datasets one is, how many sources may still be opened, and what its own may keep.
#[derive(Debug, Clone)]
pub(crate) struct Nest {
    depth: u32,
    left: Arc<AtomicU64>,
    pub(super) share: Share,
}

impl Default for Nest {
    fn default() -> Self {
        Self { depth: 0, left: Arc::new(OPENED.into()), share: Share::default() }
    }
}

impl Nest {
    /// The one of a source.
    ///
    /// # Errors
    /// `NC_EHDFERR` if that makes too many.
    pub(super) fn inner(&self) -> Result<Self> {
        if self.depth >= DEPTH {
            return Err(bad(format!(
                "virtual datasets whose data are in virtual ones, more than {DEPTH} times: perhaps a circle"
            )));
        }
        if self.depth > 0 {
            let spent = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            spent.map_err(|_| bad(format!("more than {OPENED} sources of sources of a virtual dataset")))?;
        }
        Ok(Self { depth: self.depth + 1, left: Arc::clone(&self.left), share: self.share })
    }
}

/// A file beside one; `None` if it is not there.
///
/// # Errors
/// `NC_ESTORAGE` for a file elsewhere, or beside none; what the system says, and the file if it is damaged.
pub(crate) fn file(from: &Hdf, name: &str) -> Result<Option<Hdf>> {
    let Store::File(_, own) = &*from.store else {
        return Err(ErrorKind::Storage.context(format!(
            "its data are in another file, {name:?}; such are read only beside a local file that is opened by its path"
        )));
    };
    let path = path_beside(own.parent().unwrap_or(Path::new(".")), name.strip_prefix("./").unwrap_or(name))?;
    let io = |error: io::Error| Error::io(path.display().to_string(), error);
    let opened = match place::open_regular(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(io)?.ok_or_else(|| elsewhere(path.display()))?,
    };
    let at = |error: Error| error.at(path.display());
    lock(&opened, &path.display().to_string())?;
    let (found, _) = superblock::open(Arc::new(Store::File(opened, path.clone()))).map_err(at)?;
    Ok(Some(found))
}

/// What a dataset of a file is, as a source; `None` if there is none of that name.
///
/// # Errors
/// `NC_EHDFERR` if it is no dataset, or damaged; `NC_ESTORAGE` if a link leads to another file.
pub(super) fn dataset(file: &Hdf, name: &str, nest: &Nest) -> Result<Option<(Space, Stored)>> {
    object(file, name, |header| {
        let space = header.find(kind::DATASPACE).ok_or_else(|| bad("it is no dataset"))?;
        let mut space = Space::parse(file, &shared::resolve(file, kind::DATASPACE, space)?)?;
        let stored = walk::stored(file, header)?;
        if space.dims.is_none() {
            return Err(bad("it is a dataset without a shape, which has no elements"));
        }
        extend(file, &stored.layout, &mut space, nest)?;
        Ok((space, stored))
    })
}

/// Where the data of a dataset of a file are; `None` if there is none of that name.
///
/// # Errors
/// As [`dataset`].
pub(super) fn layout(file: &Hdf, name: &str) -> Result<Option<Layout>> {
    object(file, name, |header| walk::stored(file, header).map(|stored| stored.layout))
}

/// What is found in the header of an object of a file.
fn object<T>(file: &Hdf, name: &str, found: impl FnOnce(&Header) -> Result<T>) -> Result<Option<T>> {
    let at = |error: Error| error.at(format_args!("source {name:?}"));
    let address = match paths::follow(file, name, file.root, &mut Budget::new(file, 8)).map_err(at)? {
        Reached::Object(address) => address,
        Reached::Nothing => return Ok(None),
        Reached::External { .. } | Reached::Elsewhere => {
            return Err(at(ErrorKind::Storage.context("a link leads to another file, where no data are read")));
        }
    };
    Header::read(file, address).and_then(|header| found(&header)).map(Some).map_err(at)
}

/// The shape of a dataset that a mapping names.
///
/// # Errors
/// As [`file()`] and [`dataset`].
pub(super) fn shape(from: &Hdf, names: &Names, nest: &Nest) -> Result<Option<Vec<u64>>> {
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
