//! A corrupt or hostile store gives a typed error that names key and member. It causes no panic and takes no
//! memory beyond the declared chunk.
//!
//! The allocator counts for the whole process, so a test that counts runs alone.

mod alloc;
mod cases;
mod classic_fuzz;
mod classic_map;
mod classic_memory;
mod fuzz;
mod hdf4_fuzz;
mod hdf5_fuzz;
mod keys;
mod zips;

use std::path::Path;
use std::time::Instant;

use nczarr::{ErrorKind, NcType, Result};

use cases::Case;

/// Memory allowed beyond the declared chunk.
const SPARE: usize = 32 << 20;

/// Opens a dataset and reads every variable in its own type. The memory of each is freed before the next.
fn read_all(path: &str) -> Result<()> {
    let file = nczarr::open(path)?;
    let ids: Vec<_> = file.model().vars().map(|(id, _)| id).collect();
    for id in ids {
        let variable = file.variable_by_id(id)?;
        match variable.nc_type() {
            NcType::String => drop(variable.get_nc_strings(..)?),
            NcType::Char => drop(variable.get_chars(..)?),
            _ => drop(variable.get::<f64>(..)?),
        }
    }
    Ok(())
}

fn run(case: &Case, folder: &Path) -> std::result::Result<(), String> {
    let path = folder.join("x.zarr");
    (case.make)(&path);
    let path = path.display().to_string();
    let started = Instant::now();
    let (outcome, peak) = alloc::peak(|| read_all(&path));
    let took = started.elapsed();
    let error = match outcome {
        Ok(()) => return Err("it was read".to_owned()),
        Err(error) => error,
    };
    if error.kind() == ErrorKind::Internal {
        return Err(format!("an internal error: {error}"));
    }
    let text = error.to_string();
    for name in &case.names {
        if !text.contains(name) {
            return Err(format!("{text:?} does not name {name:?}"));
        }
    }
    if peak > case.declared + SPARE {
        return Err(format!("took {} KiB for a chunk of {} KiB", peak >> 10, case.declared >> 10));
    }
    // This limit detects endless loops. It does not measure speed.
    if took.as_secs() >= 10 {
        return Err(format!("took {took:?}"));
    }
    Ok(())
}

#[test]
fn hostile_stores_are_refused_by_name_within_bounds() {
    let _alone = alloc::alone();
    let mut failed = Vec::new();
    let cases = cases::all();
    for case in &cases {
        let folder = tempfile::tempdir().expect("a temporary folder");
        if let Err(why) = run(case, folder.path()) {
            failed.push(format!("{}: {why}", case.what));
        }
    }
    eprintln!("hostile stores: {} passed, {} failed, 0 skipped", cases.len() - failed.len(), failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
