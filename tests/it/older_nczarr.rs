//! A write to a dataset of an older NCZarr style keeps all its metadata and data.

use std::fs;
use std::path::Path;

use nczarr::OpenOptions;
use nczarr_cdl::Options;
use nczarr_tests::dump::dump;
use nczarr_tests::report::{Outcome, Report};
use nczarr_tests::unpack::unpack;

use crate::corpus;

#[test]
fn datasets_of_older_styles_become_todays_and_hold_the_same() {
    corpus::each("netcdf-c", "datasets of older styles, written to", |folder| {
        let mut report = Report::default();
        for row in corpus::manifest(folder) {
            let [name, dataset, writer, ..] = row.as_slice() else { continue };
            let old = ["netcdf-c 4.8.0", "netcdf-c 4.9.0", "netcdf-c 4.9.2"]
                .iter()
                .any(|old| writer.starts_with(old));
            if old && dataset.starts_with("nczarr/") && dataset.ends_with(".zarr.zip") {
                let outcome = written_to(&folder.join(dataset), name)
                    .map_or_else(Outcome::Failed, |()| Outcome::Passed);
                report.add(name.clone(), outcome);
            }
        }
        report
    });
}

fn written_to(archive: &Path, name: &str) -> Result<(), String> {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    unpack(archive, scratch.path()).map_err(|error| error.to_string())?;
    let store = scratch.path().join(format!("{name}.zarr"));
    let path = store.display().to_string();
    let options = Options { float_digits: Some(9), double_digits: Some(17), ..Options::default() };
    let text =
        || nczarr::open(&path).and_then(|file| dump(&file, &options)).map_err(|error| error.to_string());
    let before = text()?;
    let change = |change: &dyn Fn(&nczarr::File) -> nczarr::Result<()>| {
        let file = OpenOptions::new().writable(true).open(&path)?;
        change(&file)?;
        file.close()
    };
    change(&|file| file.put_attribute("added", 1)).map_err(|error| error.to_string())?;
    if !text()?.contains(":added = 1 ;") {
        return Err("the attribute is not there".to_owned());
    }
    change(&|file| file.delete_attribute("added")).map_err(|error| error.to_string())?;
    let after = text()?;
    if after != before {
        return Err(format!("was\n{before}\nis\n{after}"));
    }
    let is_plain = before.contains("_Anonymous_Dim_") || name.ends_with("_pure");
    check_documents(&store, is_plain)
}

/// Checks that no document has an older style.
fn check_documents(folder: &Path, is_plain: bool) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            check_documents(&path, is_plain)?;
            continue;
        }
        if [".nczarr", ".nczgroup", ".nczvar", ".nczattr"].contains(&&*name) {
            return Err(format!("{} is left", path.display()));
        }
        if name.starts_with(".z") {
            let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
            let mut old = ["_NCZARR", "\"dimrefs\"", "\"vars\"", "<U1"].iter();
            if !is_plain
                && (old.any(|old| text.contains(old)) || text.contains("_nczarr") && name != ".zattrs")
            {
                return Err(format!("{}: {text}", path.display()));
            }
        }
    }
    Ok(())
}
