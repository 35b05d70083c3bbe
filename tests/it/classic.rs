//! Classic files that netCDF-C wrote: the CDL text of each, byte for byte, and the damaged ones with the right answer.

use std::fs;
use std::path::Path;

use cdl::{Options, Part};
use nczarr_tests::dump::dump;
use nczarr_tests::report::{Outcome, Report};

use crate::corpus;

#[test]
fn classic_files_of_netcdf_c_print_as_they_should() {
    corpus::each("netcdf-c", "classic files of netCDF-C", |folder| {
        let mut report = Report::default();
        for row in corpus::manifest(folder).into_iter().filter(|row| row[1].starts_with("classic/")) {
            let outcome = prints(&folder.join(&row[1]), &row[0]).unwrap_or_else(Outcome::Failed);
            report.add(row[0].clone(), outcome);
        }
        report
    });
}

fn prints(path: &Path, name: &str) -> Result<Outcome, String> {
    let file = nczarr::open(&path.display().to_string()).map_err(|error| format!("open: {error}"))?;
    // Of CDF-5 netCDF-C prints no special attributes.
    let special = path.with_file_name(format!("{name}.s.cdl")).exists();
    let variants = [
        ("h.cdl", Options { part: Part::Header, ..Options::default() }),
        ("cdl", Options::default()),
        ("s.cdl", Options { special: true, ..Options::default() }),
        ("p17.cdl", Options { special, float_digits: Some(9), double_digits: Some(17), ..Options::default() }),
    ];
    for (ending, options) in variants {
        let beside = path.with_file_name(format!("{name}.{ending}"));
        if !beside.exists() {
            continue;
        }
        let options = Options { name: name.to_owned(), ..options };
        let found = dump(&file, &options).map_err(|error| format!("{ending}: {error}"))?;
        let expected = fs::read_to_string(&beside).map_err(|error| error.to_string())?;
        if let Some((found, expected)) = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected)
        {
            return Err(format!("{ending}:\n      found    {found}\n      expected {expected}"));
        }
        if found != expected {
            return Err(format!("{ending}: {} bytes, expected {}", found.len(), expected.len()));
        }
    }
    Ok(Outcome::Passed)
}
