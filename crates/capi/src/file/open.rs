//! `nc_open`.

use std::ffi::c_int;
use std::fs;
use std::sync::Arc;

use nczarr::{Error, ErrorKind, Result};

use super::{flags, path};
use crate::boundary::pointer::{OutPtr, TextPtr, path_from_bytes};
use crate::open_file::OpenFile;
use crate::{table, user_format};

c_functions! {
    /// Opens a dataset.
    fn nc_open(path: TextPtr, mode: c_int, ncidp: OutPtr<c_int>) {
        open(&path, mode, ncidp)
    }

    /// As `nc_open`. The hint of a buffer size is not used.
    fn nc__open(path: TextPtr, mode: c_int, _chunksize: OutPtr<usize>, ncidp: OutPtr<c_int>) {
        open(&path, mode, ncidp)
    }
}

fn open(path: &TextPtr, mode: c_int, ncidp: OutPtr<c_int>) -> Result<()> {
    let bytes = path::bytes(path)?;
    flags::check(mode)?;
    if let Some(format) = user_format::of_path(bytes, mode, false)? {
        ncidp.set(user_format::open(bytes, mode, format)?);
        return Ok(());
    }
    let place = path::place(bytes);
    let writable = mode & flags::WRITE != 0;
    let (registry, options) = (nczarr::registry()?, super::options());
    let opened = if mode & flags::DISKLESS != 0 {
        registry.open_in_memory(&place, writable, &options, mode & flags::PERSIST != 0)
    } else {
        registry.open(&place, writable, &options)
    };
    let dataset = match opened {
        Err(error) if error.kind() == ErrorKind::Access && !writable => {
            // This process writes the file itself, as HDF5 allows it.
            let writer = writer_of(bytes).ok_or(error)?;
            ncidp.set(table::insert(writer.reader()?)?);
            return Ok(());
        }
        opened => opened.map_err(|error| recognised(error).in_path(&place))?,
    };
    // An opened file shows the flag of its format, but not that of the classic model.
    let mode = (mode & !flags::NETCDF4) | (flags::of_format(dataset.info().format) & !flags::CLASSIC_MODEL);
    ncidp.set(table::insert(OpenFile::new(dataset, bytes.to_vec(), mode)?)?);
    Ok(())
}

/// Finds the dataset of this process that writes the file at a path.
fn writer_of(path: &[u8]) -> Option<Arc<OpenFile>> {
    let real = |path: &[u8]| fs::canonicalize(path_from_bytes(path)).ok();
    let wanted = real(path)?;
    table::find_by(|file| file.writable && real(&file.path).is_some_and(|found| found == wanted))
}

/// A path that is no dataset of any kind is `NC_ENOTNC`.
pub fn recognised(error: Error) -> Error {
    if error.kind() == ErrorKind::NotZarr {
        return ErrorKind::NotNc.context(error.what().to_owned()).caused_by(error);
    }
    error
}
