//! `nc_create`.

use std::ffi::c_int;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use nczarr::dispatch::{Clobber, FormatX};
use nczarr::{Error, ErrorKind, Kind, Place, Registry, Result};

use super::{flags, path, settings};
use crate::boundary::pointer::{OutPtr, TextPtr, path_from_bytes};
use crate::error::system_error;
use crate::open_file::OpenFile;
use crate::{table, user_format};

c_functions! {
    /// Creates a dataset.
    fn nc_create(path: TextPtr, cmode: c_int, ncidp: OutPtr<c_int>) {
        create(&path, cmode, 0, ncidp)
    }

    /// As `nc_create`. Only user-defined formats use a hint: that of the size.
    fn nc__create(
        path: TextPtr, cmode: c_int, initialsz: usize, _chunksize: OutPtr<usize>, ncidp: OutPtr<c_int>,
    ) {
        create(&path, cmode, initialsz, ncidp)
    }
}

fn create(path: &TextPtr, cmode: c_int, initial: usize, ncidp: OutPtr<c_int>) -> Result<()> {
    let bytes = path::bytes(path)?;
    flags::check(cmode)?;
    if let Some(format) = user_format::of_path(bytes, cmode, true)? {
        ncidp.set(user_format::create(bytes, cmode, initial, format)?);
        return Ok(());
    }
    let mut place = path::place(bytes);
    let (registry, options) = (nczarr::registry()?, super::options());
    let clobber = if cmode & flags::NOCLOBBER != 0 { Clobber::Refuse } else { Clobber::Replace };
    let mut classic_model = cmode & flags::CLASSIC_MODEL != 0;
    // A URL names its format itself.
    if let Some(file) = place.as_path().map(Path::to_owned) {
        let kind = flags::kind(cmode, settings::default_kind())?;
        classic_model = kind == Kind::NetCdf4Classic;
        check_folder(&file, kind)?;
        if cmode & flags::DISKLESS == 0 {
            check_not_open(&file, clobber)?;
            clear_foreign_file(&registry, &place, &file, clobber)?;
        }
        place = kind.modes().iter().fold(place, |place, &word| place.mode(word));
    }
    let created = if cmode & flags::DISKLESS != 0 {
        let persist = cmode & flags::PERSIST != 0;
        registry.create_in_memory(&place, clobber, classic_model, &options, persist)
    } else {
        registry.create(&place, clobber, classic_model, &options)
    };
    let dataset = created.map_err(|error| existing(error).in_path(&place))?;
    let mode = cmode | flags::of_format(dataset.info().format);
    ncidp.set(table::insert(OpenFile::new(dataset, bytes.to_vec(), mode)?)?);
    Ok(())
}

/// Refuses a file in a missing folder with the code of netCDF-C, which is that of its HDF5 for netCDF-4.
fn check_folder(file: &Path, kind: Kind) -> Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.exists()) {
        let hdf5 = matches!(kind, Kind::NetCdf4 | Kind::NetCdf4Classic);
        let code = if hdf5 { libc::EACCES } else { libc::ENOENT };
        return Err(system_error(format!("{}: the folder does not exist", file.display()), code));
    }
    Ok(())
}

/// Refuses to replace an HDF5 file that this process has open. A new one is not on disk before its first
/// metadata are.
fn check_not_open(file: &Path, clobber: Clobber) -> Result<()> {
    let real = |path: &Path| fs::canonicalize(path).ok();
    let Some(wanted) = real(file) else { return Ok(()) };
    let is_wanted = |open: &OpenFile| {
        let is_on_disk = open.memory.is_none() && open.mode & flags::DISKLESS == 0;
        is_on_disk
            && open.formatx == FormatX::Hdf5
            && real(&path_from_bytes(&open.path)) == Some(wanted.clone())
    };
    if table::find_by(is_wanted).is_none() {
        return Ok(());
    }
    match clobber {
        Clobber::Replace => Err(system_error(format!("{}: the file is open", file.display()), libc::EACCES)),
        _ => Err(ErrorKind::Exist.context(format!("{}: the file exists", file.display()))),
    }
}

/// Removes a regular file that is no dataset, since C programs expect that creation replaces any file. The
/// registry replaces datasets itself.
fn clear_foreign_file(registry: &Arc<Registry>, place: &Place, file: &Path, clobber: Clobber) -> Result<()> {
    if clobber != Clobber::Replace || !fs::metadata(file).is_ok_and(|found| found.is_file()) {
        return Ok(());
    }
    match registry.check_dataset(place) {
        Err(error) if error.kind() == ErrorKind::NotNc => {
            fs::remove_file(file).map_err(|error| Error::io_at(file, error))
        }
        _ => Ok(()),
    }
}

/// An existing dataset is `NC_EEXIST`, wherever it is.
fn existing(error: Error) -> Error {
    if error.kind() == ErrorKind::Object {
        return ErrorKind::Exist.context(error.what().to_owned()).caused_by(error);
    }
    error
}
