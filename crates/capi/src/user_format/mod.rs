//! User-defined formats: tables of C (`nc_def_user_format`) as datasets of this library.
//!
//! * `registry`: the tables, and the choice of one for a path and its mode flags.
//! * `plugins`: tables in shared libraries that rc files name.
//! * `open`: opens and creates datasets by a table.
//! * `load`, `load_types`: build the model of a dataset from the inquiries of its table.
//! * `numbers`: the numbers of the table for the objects of the model.
//! * `dataset`, `data`, `editor`: the dataset, its values and its definitions.
//! * `storage`: chunks, filters, byte order and quantization of variables.
//! * `c_memory`: values in the memory of C, for entries.
//! * `turn`: one thread at a time calls entries.
//! * `default_entries`, `ready_entries`: functions that programs put into their tables.
//!
//! The library answers inquiries from the model, which is read once when a dataset is opened. The formats of
//! `nc_inq_format`, define mode, `nc_sync`, the ends of a dataset and all data come from the table. Its codes
//! reach the program unchanged.

mod c_memory;
mod data;
mod dataset;
mod default_entries;
mod editor;
mod load;
mod load_types;
mod numbers;
mod open;
mod plugins;
mod ready_entries;
mod registry;
mod storage;
mod turn;

use std::ffi::{CString, c_int};
use std::fmt;

use nczarr::{ErrorKind, Result};

pub use dataset::UserDataset;
pub use open::{create, open};
pub use plugins::load_once as load_plugins;
pub use registry::of_path;
pub use turn::Turn;

/// The code that an entry of a table returned.
#[derive(Debug)]
pub struct TableCode(pub c_int);

impl fmt::Display for TableCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "code {}: {}", self.0, crate::error::text_of(self.0))
    }
}

impl std::error::Error for TableCode {}

/// Turns the code of an entry into a result. The error keeps the code.
pub fn outcome(entry: &str, code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    let kind = ErrorKind::from_code(code).unwrap_or(ErrorKind::Internal);
    Err(kind.context(format!("entry {entry} of the user-defined format")).caused_by(TableCode(code)))
}

/// Makes a name for an entry of a table.
fn c_name(name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| ErrorKind::BadName.context(format!("name {name:?} has a zero byte")))
}

/// Returns a name that an entry stored.
fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let what = format!("name {:?} is not UTF-8", String::from_utf8_lossy(error.as_bytes()));
        ErrorKind::BadName.context(what)
    })
}
