//! Formats in shared libraries that rc files name.
//!
//! The keys are those of netCDF-C: `NETCDF.UDF0.LIBRARY`, `NETCDF.UDF0.INIT` and `NETCDF.UDF0.MAGIC`, up to
//! `UDF9`. A format that cannot be loaded stays absent, and a call that names it reports the reason.

use std::env;
use std::sync::atomic::{AtomicBool, Ordering};

use nczarr::{ErrorKind, Result};
use nczarr_runtime::RcFile;

use super::Turn;
use super::registry::{self, FORMATS};
use crate::boundary::dispatch_table::TablePtr;

c_functions! {
    /// Loads the formats that rc files name, again if the settings changed.
    fn NC_udf_load_plugins() {
        let _turn = Turn::take();
        STARTED.store(true, Ordering::Release);
        load_all();
        LOADED.store(true, Ordering::Release);
        Ok(())
    }
}

/// The variable that enables formats in shared libraries.
const ENABLE: &str = "NCZARR_FORMAT_PLUGINS";

static STARTED: AtomicBool = AtomicBool::new(false);
static LOADED: AtomicBool = AtomicBool::new(false);

/// Loads the formats that rc files name, at the first call of the process.
pub fn load_once() {
    if LOADED.load(Ordering::Acquire) {
        return;
    }
    // Other threads wait. A function of a library may open a dataset, and comes here in its own turn.
    let _turn = Turn::take();
    if !STARTED.swap(true, Ordering::AcqRel) {
        load_all();
        LOADED.store(true, Ordering::Release);
    }
}

fn load_all() {
    let rc = RcFile::load(&|name| env::var(name).ok());
    for number in 0..FORMATS {
        let outcome = rc.as_ref().map_err(Clone::clone).and_then(|rc| load(rc, number));
        if let Err(error) = outcome {
            registry::note_problem(number, error);
        }
    }
}

/// Loads a format, if the settings name its library.
fn load(rc: &RcFile, number: usize) -> Result<()> {
    let key = |ending: &str| format!("NETCDF.UDF{number}.{ending}");
    let value = |ending: &str| rc.get_exactly(&key(ending));
    let (library, function) = match (value("LIBRARY"), value("INIT")) {
        (Some(library), Some(function)) => (library, function),
        (None, None) => return Ok(()),
        (Some(_), None) => return Err(incomplete(&key("LIBRARY"), &key("INIT"))),
        (None, Some(_)) => return Err(incomplete(&key("INIT"), &key("LIBRARY"))),
    };
    let magic = value("MAGIC").unwrap_or_default();
    register(number, library, function, magic.as_bytes())
        .map_err(|error| error.at(key("LIBRARY")).at(library))
}

fn incomplete(found: &str, missing: &str) -> nczarr::Error {
    ErrorKind::Inval.context(format!("rc file: {found} needs {missing}, which is missing"))
}

fn register(number: usize, library: &str, function: &str, magic: &[u8]) -> Result<()> {
    if env::var_os(ENABLE).is_none_or(|value| value.is_empty() || value == "0") {
        return Err(ErrorKind::NotBuilt.context(format!("set {ENABLE}=1 to load foreign code")));
    }
    // A library of the same name in another directory would be another program.
    if !std::path::Path::new(library).is_absolute() {
        return Err(ErrorKind::Inval.context("the path of the library must be absolute"));
    }
    let before = registry::registrations(number);
    let table = TablePtr::of_library(library, function)?;
    if !table.is_null() {
        return registry::register(number, table, Some(magic).filter(|magic| !magic.is_empty()));
    }
    if registry::registrations(number) == before {
        let what = format!("{function} neither returned a table nor registered one for the format");
        return Err(ErrorKind::NotBuilt.context(what));
    }
    registry::add_magic(number, magic)
}
