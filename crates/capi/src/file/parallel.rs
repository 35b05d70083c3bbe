//! `nc_create_par` and `nc_open_par`: one Zarr store that several processes write.
//!
//! The communicator is not used. A store in a directory has locks of its own, so the processes need not be
//! those of one MPI program. A file has one writer, so it is answered as by a library without parallel
//! access.

use std::ffi::{c_int, c_void};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use nczarr::dispatch::{Clobber, Dataset, FormatX, Options};
use nczarr::nc_table::NcDispatch as _;
use nczarr::{Error, ErrorKind, Place, Registry, Result};

use super::open::recognised;
use super::{flags, path};
use crate::boundary::pointer::{OutPtr, TextPtr};
use crate::collective::CollectiveDataset;
use crate::open_file::OpenFile;
use crate::table;

export!(
    "nc_create_par",
    (path: TextPtr, cmode: c_int, _comm: *const c_void, _info: *const c_void, ncidp: OutPtr<c_int>),
    create(&path, cmode, ncidp)
);
export!(
    "nc_open_par",
    (path: TextPtr, mode: c_int, _comm: *const c_void, _info: *const c_void, ncidp: OutPtr<c_int>),
    open(&path, mode, ncidp)
);
export!(
    "nc_create_par_fortran",
    (path: TextPtr, cmode: c_int, _comm: c_int, _info: c_int, ncidp: OutPtr<c_int>),
    create(&path, cmode, ncidp)
);
export!(
    "nc_open_par_fortran",
    (path: TextPtr, mode: c_int, _comm: c_int, _info: c_int, ncidp: OutPtr<c_int>),
    open(&path, mode, ncidp)
);

/// Creates a store, or joins the one that another process created.
///
/// An existing store is never replaced: it may be the one of the other processes, with their data.
fn create(path: &TextPtr, cmode: c_int, ncidp: OutPtr<c_int>) -> Result<()> {
    let bytes = path::bytes(path)?;
    flags::check(cmode)?;
    let (place, registry) = (path::place(bytes), nczarr::registry()?);
    let directory = directory_of(&place)?;
    let is_created = !is_occupied(&directory) && create_root(&registry, &place, &directory)?;
    if !is_created && cmode & flags::NOCLOBBER != 0 {
        return Err(ErrorKind::Exist.context(format!("{place}: it exists")));
    }
    let dataset = open_store(&registry, &place, true)?;
    check_version(&place, &*dataset)?;
    // The program ends the define mode, as after `nc_create`.
    dataset.redef()?;
    let mode = cmode | flags::of_format(dataset.info().format);
    insert(dataset, bytes, mode, ncidp)
}

fn open(path: &TextPtr, mode: c_int, ncidp: OutPtr<c_int>) -> Result<()> {
    let bytes = path::bytes(path)?;
    flags::check(mode)?;
    let place = path::place(bytes);
    let target = place.target()?;
    if target.scheme.is_local() && target.path.is_file() {
        return Err(no_parallel(&place));
    }
    let dataset = open_store(&nczarr::registry()?, &place, mode & flags::WRITE != 0)?;
    let mode = (mode & !flags::NETCDF4) | (flags::of_format(dataset.info().format) & !flags::CLASSIC_MODEL);
    insert(dataset, bytes, mode, ncidp)
}

fn insert(dataset: Arc<dyn Dataset>, path: &[u8], mode: c_int, ncidp: OutPtr<c_int>) -> Result<()> {
    ncidp.set(table::insert(OpenFile::new(dataset, path.to_vec(), mode)?.of_several_processes())?);
    Ok(())
}

/// The answer for a place that one process at a time may write.
fn no_parallel(place: &Place) -> Error {
    ErrorKind::NoPar.context(format!(
        "{place}: only one process may write it; name a Zarr store in a directory by a URL, such as \
         file:///data/x.zarr#mode=nczarr,file"
    ))
}

/// Returns the directory of a new store.
fn directory_of(place: &Place) -> Result<PathBuf> {
    let target = place.target()?;
    let is_store = place.as_path().is_none() && target.scheme.is_local() && !target.has_mode("zip");
    if is_store { Ok(target.path) } else { Err(no_parallel(place)) }
}

/// Whether a path is in use; an empty directory is not.
fn is_occupied(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Creates an empty store under another name and gives it its name in one step. Returns `false` if another
/// process was faster.
fn create_root(registry: &Arc<Registry>, place: &Place, directory: &Path) -> Result<bool> {
    let made = beside(place);
    let path = directory_of(&made)?;
    let outcome = registry.create(&made, Clobber::Refuse, false, &Options::default()).and_then(|dataset| {
        let is_directory = dataset.info().map.as_deref() == Some("file");
        dataset.close()?;
        if is_directory { Ok(()) } else { Err(no_parallel(place)) }
    });
    let renamed = outcome.and_then(|()| match fs::rename(&path, directory) {
        Ok(()) => Ok(true),
        Err(_) if is_occupied(directory) => Ok(false),
        Err(error) => Err(Error::io_at(directory, error)),
    });
    if !matches!(renamed, Ok(true)) {
        // It is empty but for the root's documents.
        let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    }
    renamed.map_err(|error| error.in_path(place))
}

/// Returns a place in the same folder, with a name that no other process uses.
fn beside(place: &Place) -> Place {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let text = place.as_text();
    let (location, fragment) = text.split_at(text.find('#').unwrap_or(text.len()));
    let location = location.trim_end_matches('/');
    let (folder, name) = location.split_at(location.rfind('/').map_or(0, |slash| slash + 1));
    let (process, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    Place::url(format!("{folder}.nczarr-{process}-{number}-{time}-{name}{fragment}"))
}

/// Opens a store. Its definitions join those of other processes.
fn open_store(registry: &Arc<Registry>, place: &Place, writable: bool) -> Result<Arc<dyn Dataset>> {
    let mut options = Options::default();
    options.collective = true;
    let dataset =
        registry.open(place, writable, &options).map_err(|error| recognised(error).in_path(place))?;
    let info = dataset.info();
    if info.formatx != FormatX::NcZarr || info.map.as_deref() == Some("zip") {
        dataset.close()?;
        return Err(no_parallel(place));
    }
    Ok(Arc::new(CollectiveDataset::new(dataset)))
}

/// Checks that the store of another process has the version of Zarr that this one asks for.
fn check_version(place: &Place, dataset: &dyn Dataset) -> Result<()> {
    let (target, found) = (place.target()?, dataset.info().version);
    let asked = ["2", "3"].into_iter().find(|version| target.has_mode(&format!("v{version}")));
    match asked.filter(|asked| *asked != found) {
        None => Ok(()),
        Some(asked) => {
            dataset.close()?;
            Err(ErrorKind::Exist.context(format!(
                "{place}: it is a store of another Zarr version (expected {asked}, found {found}); delete it first"
            )))
        }
    }
}
