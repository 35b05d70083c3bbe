//! NCZarr and pure Zarr datasets that netCDF-C wrote: the CDL text of each, byte for byte.
//!
//! Where netCDF-C is wrong the right text stands beside the dataset (`.right.cdl`) or in [`RIGHT`], with the reason.

use std::fs;
use std::path::Path;

use cdl::{Options, Part};
use nczarr_tests::dump::dump;
use nczarr_tests::json;
use nczarr_tests::report::{Outcome, Report};
use nczarr_tests::unpack::unpack;

use crate::corpus;

struct Row {
    name: String,
    dataset: String,
    fragment: String,
}

/// Lines in which netCDF-C's text is wrong: datasets, its line, the right line, and why.
const RIGHT: &[(&str, &str, &str, &str)] = &[];

#[test]
fn datasets_of_netcdf_c_print_as_they_should() {
    for root in corpus::roots() {
        let folder = root.join("netcdf-c");
        let mut report = Report::default();
        for mut row in corpus::manifest(&folder) {
            let row = Row { fragment: row.swap_remove(3), dataset: row.swap_remove(1), name: row.swap_remove(0) };
            if !row.dataset.starts_with("nczarr/") {
                continue;
            }
            let outcome = if row.dataset.ends_with(".zarr.zip") {
                prints(&folder, &row).unwrap_or_else(Outcome::Failed)
            } else {
                Outcome::Skipped("a zip store".to_owned())
            };
            report.add(row.name, outcome);
        }
        report.finish(&format!("datasets of netCDF-C in {}", folder.display()));
    }
}

fn prints(folder: &Path, row: &Row) -> Result<Outcome, String> {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let archive = folder.join(&row.dataset);
    unpack(&archive, scratch.path()).map_err(|error| error.to_string())?;
    let store = scratch.path().join(format!("{}.zarr", row.name));
    if let Some(why) = missing(&store)? {
        return Ok(Outcome::Skipped(why));
    }
    let plain = store.display().to_string();
    let file = nczarr::open(&format!("file://{plain}#{}", row.fragment)).map_err(|error| format!("open: {error}"))?;
    let variants = [
        ("cdl", Options::default()),
        ("h.cdl", Options { part: Part::Header, ..Options::default() }),
        ("s.cdl", Options { special: true, ..Options::default() }),
        (
            "p17.cdl",
            Options { special: true, float_digits: Some(9), double_digits: Some(17), ..Options::default() },
        ),
    ];
    let beside = |ending: &str| archive.with_file_name(format!("{}.{ending}", row.name));
    let fixes = fixes(&beside("cdl"), &beside("right.cdl"), &row.name)?;
    for (ending, options) in variants {
        let path = beside(ending);
        if !path.exists() {
            continue;
        }
        let options = Options { name: row.name.clone(), ..options };
        let found = dump(&file, &options).map_err(|error| format!("{ending}: {error}"))?;
        let reference = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        same(&found, &righted(&reference, &fixes)).map_err(|why| format!("{ending}: {why}"))?;
        // Nobody has to say what it is.
        let again = nczarr::open(&plain).and_then(|file| dump(&file, &options)).map_err(|error| error.to_string())?;
        same(&again, &found).map_err(|why| format!("opened by its path alone, {ending}: {why}"))?;
    }
    Ok(Outcome::Passed)
}

/// What the dataset needs and this build has not, read off its metadata.
fn missing(store: &Path) -> Result<Option<String>, String> {
    let mut folders = vec![store.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| error.to_string())? {
            let path = entry.map_err(|error| error.to_string())?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let old = name == ".nczarr" || {
                let markers = ["_NCZARR_GROUP", "_nczarr_group", "_NCZARR_ARRAY", "_nczarr_array"];
                let text = if name == ".zgroup" || name == ".zarray" { fs::read_to_string(&path) } else { Ok(String::new()) };
                let text = text.map_err(|error| error.to_string())?;
                markers.iter().any(|marker| text.contains(marker))
            };
            if old {
                return Ok(Some("metadata in the style of an older version".to_owned()));
            }
            if name == ".zarray" {
                let document = json::parse(&fs::read_to_string(&path).map_err(|error| error.to_string())?)?;
                let codecs = document["filters"].as_array().into_iter().flatten().chain([&document["compressor"]]);
                for id in codecs.filter_map(|codec| codec["id"].as_str()) {
                    if !["shuffle", "zlib", "fletcher32", "zstd", "blosc"].contains(&id) {
                        return Ok(Some(format!("the codec {id}")));
                    }
                }
            }
        }
    }
    Ok(None)
}

/// Lines to replace: those in which the right text differs from the reference, and those of [`RIGHT`].
fn fixes(reference: &Path, right: &Path, name: &str) -> Result<Vec<(String, String)>, String> {
    let mut fixes = Vec::new();
    if right.exists() {
        let read = |path| fs::read_to_string(path).map_err(|error| error.to_string());
        let (reference, right) = (read(reference)?, read(right)?);
        if reference.lines().count() != right.lines().count() {
            return Err("the right text has another number of lines".to_owned());
        }
        let changed = reference.lines().zip(right.lines()).filter(|(wrong, right)| wrong != right);
        fixes.extend(changed.map(|(wrong, right)| (wrong.to_owned(), right.to_owned())));
    }
    for (datasets, wrong, right, _why) in RIGHT {
        if name.starts_with(datasets) {
            fixes.push(((*wrong).to_owned(), (*right).to_owned()));
        }
    }
    Ok(fixes)
}

fn righted(reference: &str, fixes: &[(String, String)]) -> String {
    let mut text = String::new();
    for line in reference.lines() {
        let fix = fixes.iter().find(|(wrong, _)| wrong == line);
        text.push_str(&empty_for_nil(fix.map_or(line, |(_, right)| right)));
        text.push('\n');
    }
    text
}

/// `NIL` says that netCDF-C handed out no pointer: the string is empty.
fn empty_for_nil(line: &str) -> String {
    let (mut text, mut quoted) = (String::new(), false);
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '\\' if quoted => rest.chars().take(2).map(char::len_utf8).sum(),
            '"' => {
                quoted = !quoted;
                1
            }
            'N' if !quoted && rest.starts_with("NIL") => {
                text.push_str("\"\"");
                rest = &rest[3..];
                continue;
            }
            c => c.len_utf8(),
        };
        text.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    text
}

fn same(found: &str, expected: &str) -> Result<(), String> {
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        if found != expected {
            return Err(format!("line {}:\n      found    {found}\n      expected {expected}", number + 1));
        }
    }
    if found == expected { Ok(()) } else { Err(format!("{} bytes, expected {}", found.len(), expected.len())) }
}

#[test]
fn nil_outside_of_quotes_is_an_empty_string() {
    assert_eq!(empty_for_nil(r#" five = "NIL", NIL, "a\"NIL", _ ;"#), r#" five = "NIL", "", "a\"NIL", _ ;"#);
}
