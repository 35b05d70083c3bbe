//! netCDF-4 files by netCDF-C: the CDL text matches byte for byte, from a path and from memory.

use std::fs;
use std::path::{Path, PathBuf};

use nczarr::{File, OpenOptions, Place};
use nczarr_cdl::{Options, PrintedPart};
use nczarr_tests::dump::dump;
use nczarr_tests::report::{Outcome, Report};

use crate::corpus;
use crate::known_differences;
use crate::netcdf_c::same;

#[test]
fn netcdf4_files_of_netcdf_c_print_as_they_should() {
    corpus::each("netcdf-c", "netCDF-4 files of netCDF-C", |folder| {
        let mut report = Report::default();
        for row in corpus::manifest(folder).into_iter().filter(|row| row[1].starts_with("hdf5/")) {
            let path = folder.join(&row[1]);
            report.add(row[0].clone(), prints(&path, &row[0]).unwrap_or_else(Outcome::Failed));
        }
        report
    });
}

fn prints(path: &Path, name: &str) -> Result<Outcome, String> {
    let text = path.display().to_string();
    let file = nczarr::open(&text).map_err(|error| format!("open: {error}"))?;
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let held =
        OpenOptions::new().open_bytes(&text, bytes).map_err(|error| format!("open in memory: {error}"))?;
    let variants = [
        ("h.cdl", Options { part: PrintedPart::Header, ..Options::default() }),
        ("cdl", Options::default()),
        ("s.cdl", Options { special: true, ..Options::default() }),
        (
            "p17.cdl",
            Options { special: true, float_digits: Some(9), double_digits: Some(17), ..Options::default() },
        ),
    ];
    for (ending, options) in variants {
        let beside = path.with_file_name(format!("{name}.{ending}"));
        if !beside.exists() {
            continue;
        }
        let options = Options { name: name.to_owned(), ..options };
        let mut expected = fs::read_to_string(&beside).map_err(|error| error.to_string())?;
        for fix in known_differences::HIDDEN_TYPE.iter().filter(|fix| fix.dataset == name) {
            expected = expected.replace(&format!("\t{}", fix.wrong), &format!("\t{}", fix.right));
        }
        for (how, file) in [("", &file), ("in memory, ", &held)] {
            let found = dump(file, &options).map_err(|error| format!("{how}{ending}: {error}"))?;
            same(&found, &expected).map_err(|why| format!("{how}{ending}: {why}"))?;
        }
    }
    Ok(Outcome::Passed)
}

/// Each file gets an attribute and a group with a variable, and its numbers are written again. Existing
/// content stays.
#[test]
fn netcdf4_files_of_netcdf_c_are_written_to() {
    corpus::each("netcdf-c", "netCDF-4 files of netCDF-C, written to", |folder| {
        let mut report = Report::default();
        for row in corpus::manifest(folder).into_iter().filter(|row| row[1].starts_with("hdf5/")) {
            let outcome =
                written_to(&folder.join(&row[1])).map_or_else(Outcome::Failed, |()| Outcome::Passed);
            report.add(row[0].clone(), outcome);
        }
        report
    });
}

fn written_to(path: &Path) -> Result<(), String> {
    let said = |error: nczarr::Error| error.to_string();
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let copy = place.path().join("x.nc").display().to_string();
    fs::copy(path, &copy).map_err(|error| error.to_string())?;
    let text =
        |file: &File| dump(file, &Options { name: "x".to_owned(), ..Options::default() }).map_err(said);
    let before = text(&nczarr::open(&copy).map_err(said)?)?;
    nczarr::append(&copy).map_err(said)?.close().map_err(said)?;
    if fs::read(&copy).ok() != fs::read(path).ok() {
        return Err("a file that was opened and closed is another one".to_owned());
    }
    for round in 0..3 {
        let file = nczarr::append(&copy).map_err(said)?;
        let classic = file.info().format == nczarr::dispatch::Format::NetCdf4Classic;
        file.put_attribute("added", round).map_err(said)?;
        if round == 0 && !classic {
            let group = file.add_group("added_group").map_err(said)?;
            group.add_dimension("x", 3).map_err(said)?;
            let variable = group.add_variable::<i32>("v", &["x"]).map_err(said)?;
            variable.put(&[1, 2, 3], ..).map_err(said)?;
        }
        for variable in file.root().variables() {
            let is_number =
                variable.nc_type().is_numeric() && variable.shape().map_err(said)?.iter().all(|&len| len > 0);
            if is_number {
                let values = variable.get_values::<f64>(..).map_err(said)?;
                if values.iter().all(|value| value.is_finite() && value.abs() < 1e9) {
                    variable.put(&values, ..).map_err(said)?;
                }
            }
        }
        file.close().map_err(said)?;
        let file = nczarr::open(&copy).map_err(said)?;
        let after = text(&file)?;
        let added =
            |line: &&str| !line.contains(":added = ") && *line != "// global attributes:" && !line.is_empty();
        let own = after.split("\ngroup: added_group {").next().unwrap_or_default();
        let own: Vec<&str> = own.lines().filter(added).collect();
        let expected = before.trim_end().trim_end_matches('}');
        let own_end = own.last().copied() == Some("}");
        let own = &own[..own.len() - usize::from(own_end)];
        let expected: Vec<&str> = expected.lines().filter(added).collect();
        if own != expected {
            let at =
                own.iter().zip(&expected).position(|(a, b)| a != b).unwrap_or(own.len().min(expected.len()));
            return Err(format!("line {at}: {:?}, it was {:?}", own.get(at), expected.get(at)));
        }
    }
    Ok(())
}

/// Without a fill value an unwritten string is a null string.
#[test]
fn strings_without_a_fill_value_are_written() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x.nc").display().to_string();
    let file = nczarr::create(Place::url(format!("{path}#mode=nc4"))).unwrap();
    file.add_dimension("x", 3).unwrap();
    let variable = file.add_string_variable("s", &["x"]).unwrap();
    variable.set_no_fill().unwrap();
    variable.put_strings(&["two"], 1..2).unwrap();
    file.close().unwrap();
    let file = nczarr::open(&path).unwrap();
    assert_eq!(file.variable("s").unwrap().get_strings(..).unwrap().as_slice(), ["", "two", ""]);
    let printed = dump(&file, &Options { name: "x".to_owned(), ..Options::default() }).unwrap();
    assert!(printed.contains("s = NIL, \"two\", NIL ;"), "{printed}");
}

fn report(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/reports").join(name)
}

/// Elements beyond the length of a variable read as the default fill value, also after a write to the file.
#[test]
fn a_variable_shorter_than_its_dimension_is_unchanged() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x.nc");
    std::fs::copy(report("copy-nofill-records-garbage/in.nc"), &path).unwrap();
    let path = path.display().to_string();
    let default = [2.0, 2.0, 2.0, 9.969_21e36, 9.969_21e36, 9.969_21e36];
    let read = |file: &nczarr::File| file.variable("B").unwrap().get_values::<f32>(..).unwrap();
    assert_eq!(read(&nczarr::open(&path).unwrap()), default);
    let file = nczarr::OpenOptions::new().writable(true).open(&path).unwrap();
    assert_eq!(read(&file), default);
    file.root().put_attribute("added", 1_i32).unwrap();
    file.variable("t").unwrap().put(&[3_i32], 2..3).unwrap();
    file.close().unwrap();
    let file = nczarr::open(&path).unwrap();
    assert_eq!(read(&file)[..6], default);
    assert_eq!(file.variable("t").unwrap().get_values::<i32>(..).unwrap(), [1, 2, 3]);
}

/// HDF5 1.10 cannot read a missing chunk of strings beside other chunks.
#[test]
fn chunks_of_strings_are_stored_if_some_are() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x.nc").display().to_string();
    let file = nczarr::create(Place::url(format!("{path}#mode=nc4"))).unwrap();
    file.add_unlimited_dimension("t").unwrap();
    let s = file.add_string_variable("s", &["t"]).unwrap();
    s.set_chunking(&[2]).unwrap();
    s.put_strings(&["one"], 0..1).unwrap();
    let none = file.add_string_variable("none", &["t"]).unwrap();
    none.set_chunking(&[2]).unwrap();
    file.add_variable::<i32>("long", &["t"]).unwrap().put(&[1_i32; 7], 0..7).unwrap();
    file.close().unwrap();
    let file = nczarr::open(&path).unwrap();
    assert_eq!(
        file.variable("s").unwrap().get_strings(..).unwrap().as_slice(),
        ["one", "", "", "", "", "", ""]
    );
    assert_eq!(file.variable("none").unwrap().get_strings(..).unwrap().as_slice(), [""; 7]);
    let absent = |name: &str, at: u64| {
        let data = file.dataset().data(file.variable(name).unwrap().id()).unwrap();
        let slab = nczarr::model::Slab::new(std::slice::from_ref(&at), &[1]).check(&[7], |_| false).unwrap();
        data.is_absent(&slab).unwrap()
    };
    assert_eq!([0, 2, 4, 6].map(|at| absent("s", at)), [false; 4]);
    assert_eq!([0, 2, 4, 6].map(|at| absent("none", at)), [true; 4]);
}
