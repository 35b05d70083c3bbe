//! Opens and creates datasets by a table.

use std::ffi::{CString, c_int};
use std::sync::Arc;

use nczarr::{ErrorKind, Result};

use super::UserDataset;
use crate::boundary::dispatch_table::TablePtr;
use crate::open_file::OpenFile;
use crate::table;

const NC_WRITE: c_int = 0x1;

/// Opens a dataset, and returns its id.
pub fn open(path: &[u8], mode: c_int, (number, table): (usize, TablePtr)) -> Result<c_int> {
    let place = c_path(path)?;
    table::insert_with(|ncid| {
        table.open(&place, mode, ncid).map_err(|error| error.at(place.to_string_lossy()))?;
        let dataset = UserDataset::opened(table, number, ncid, mode & NC_WRITE != 0);
        OpenFile::of_user_format(Arc::new(dataset), path.to_vec(), mode)
    })
}

/// Creates a dataset, and returns its id.
pub fn create(
    path: &[u8],
    cmode: c_int,
    initial: usize,
    (number, table): (usize, TablePtr),
) -> Result<c_int> {
    let place = c_path(path)?;
    table::insert_with(|ncid| {
        table.create(&place, cmode, initial, ncid).map_err(|error| error.at(place.to_string_lossy()))?;
        let dataset = UserDataset::created(table, number, ncid);
        OpenFile::of_user_format(Arc::new(dataset), path.to_vec(), cmode)
    })
}

fn c_path(path: &[u8]) -> Result<CString> {
    CString::new(path).map_err(|_| ErrorKind::Inval.context("the path has a zero byte"))
}
