//! NCZarr and pure Zarr datasets that netCDF-C wrote: the CDL text of each, byte for byte.
//!
//! Where netCDF-C is wrong the right text stands beside the dataset (`.right.cdl`) or in `right`, with the
//! reason.

use std::fs;
use std::path::Path;

use nczarr_cdl::{Options, PrintedPart};
use nczarr_tests::dump::dump;
use nczarr_tests::report::{Outcome, Report};
use nczarr_tests::unpack::unpack;

use crate::{corpus, known_differences};

struct Row {
    name: String,
    dataset: String,
    fragment: String,
}

#[test]
fn datasets_of_netcdf_c_print_as_they_should() {
    corpus::each("netcdf-c", "datasets of netCDF-C", |folder| {
        let mut report = Report::default();
        for mut row in corpus::manifest(folder) {
            let row =
                Row { fragment: row.swap_remove(3), dataset: row.swap_remove(1), name: row.swap_remove(0) };
            if !row.dataset.starts_with("nczarr/") {
                continue;
            }
            report.add(&row.name, prints(folder, &row).unwrap_or_else(Outcome::Failed));
        }
        report
    });
}

fn prints(folder: &Path, row: &Row) -> Result<Outcome, String> {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let archive = folder.join(&row.dataset);
    unpack(&archive, scratch.path()).map_err(|error| error.to_string())?;
    // A packed dataset is unpacked first; one made by netCDF-C is opened directly.
    let is_transport = row.dataset.ends_with(".zarr.zip");
    let unpacked =
        scratch.path().join(if is_transport { format!("{}.zarr", row.name) } else { row.name.clone() });
    let plain = if is_transport { &unpacked } else { &archive }.display().to_string();
    // A word alone in the fragment is a mode for us and nothing for netCDF-C.
    let fragment = row.fragment.split('&').filter(|pair| pair.contains('=')).collect::<Vec<_>>().join("&");
    let file =
        nczarr::open(&format!("file://{plain}#{fragment}")).map_err(|error| format!("open: {error}"))?;
    let variants = [
        ("h.cdl", Options { part: PrintedPart::Header, ..Options::default() }),
        ("cdl", Options::default()),
        ("s.cdl", Options { special: true, ..Options::default() }),
        (
            "p17.cdl",
            Options { special: true, float_digits: Some(9), double_digits: Some(17), ..Options::default() },
        ),
    ];
    let beside = |ending: &str| archive.with_file_name(format!("{}.{ending}", row.name));
    for (ending, options) in variants {
        let path = beside(ending);
        if !path.exists() {
            continue;
        }
        let options = Options { name: row.name.clone(), ..options };
        let found = dump(&file, &options).map_err(|error| format!("{ending}: {error}"))?;
        let reference = text_of(&path, &row.name)?;
        let fixes = fixes(&beside("cdl"), &beside("right.cdl"), &row.name, &options)?;
        same(&found, &righted(&reference, &fixes)).map_err(|why| format!("{ending}: {why}"))?;
        // It opens without a mode.
        let again =
            nczarr::open(&plain).and_then(|file| dump(&file, &options)).map_err(|error| error.to_string())?;
        same(&again, &found).map_err(|why| format!("opened by its path alone, {ending}: {why}"))?;
        // A directory that was packed is the same dataset, and so is an archive that was unpacked.
        if ending == "cdl" {
            let other = if is_transport { &archive } else { &unpacked }.display().to_string();
            let again = nczarr::open(&other).and_then(|file| dump(&file, &options));
            let again = again.map_err(|error| format!("packed or unpacked: {error}"))?;
            same(&again, &found).map_err(|why| format!("packed or unpacked: {why}"))?;
        }
    }
    Ok(Outcome::Passed)
}

/// Lines to replace: those in which the right text differs from the reference, and those of `right`.
fn fixes(
    reference: &Path,
    right: &Path,
    name: &str,
    options: &Options,
) -> Result<Vec<(String, String)>, String> {
    let mut fixes = Vec::new();
    if right.exists() {
        let read = |path| text_of(path, name);
        let (reference, right) = (read(reference)?, read(right)?);
        if reference.lines().count() != right.lines().count() {
            return Err("the right text has another number of lines".to_owned());
        }
        let changed = reference.lines().zip(right.lines()).filter(|(wrong, right)| wrong != right);
        fixes.extend(
            changed.map(|(wrong, right)| (wrong.trim_start().to_owned(), right.trim_start().to_owned())),
        );
    }
    let known = known_differences::FIRST_TYPE
        .iter()
        .chain(known_differences::BARE_TEXT)
        .chain(known_differences::STRING_LIST);
    let known = known
        .chain(known_differences::LOST_SCALAR)
        .chain(known_differences::UNWRITTEN_SCALAR)
        .chain(known_differences::EMPTY_TEXT);
    fixes.extend(known.filter(|fix| fix.dataset == name).map(|fix| {
        let exact = fix.exact.filter(|_| options.double_digits.is_some());
        let right = exact.or(fix.special.filter(|_| options.special)).unwrap_or(fix.right);
        (fix.wrong.to_owned(), right.to_owned())
    }));
    Ok(fixes)
}

/// The text of the reference, in our words. Strings that were cut within a character are no UTF-8.
fn text_of(path: &Path, name: &str) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    for (_, theirs, ours) in
        known_differences::OTHER_WORDS.iter().filter(|(dataset, ..)| name.starts_with(dataset))
    {
        text = text.replace(theirs, ours);
    }
    Ok(text)
}

fn righted(reference: &str, fixes: &[(String, String)]) -> String {
    let mut text = String::new();
    for line in reference.lines() {
        let line = without_scalar_chunks(line);
        let bare = line.trim_start();
        text.push_str(&line[..line.len() - bare.len()]);
        let fix = fixes.iter().find(|(wrong, _)| wrong == bare);
        text.push_str(fix.map_or(bare, |(_, right)| right));
        text.push('\n');
    }
    text
}

/// Of a scalar netCDF-C prints the chunk sizes as far as there are some: the line is not ended.
fn without_scalar_chunks(line: &str) -> &str {
    match line.split_once(":_ChunkSizes = ") {
        Some((_, rest)) if !rest.starts_with(|c: char| c.is_ascii_digit()) => rest,
        _ => line,
    }
}

pub(crate) fn same(found: &str, expected: &str) -> Result<(), String> {
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        if found != expected {
            return Err(format!("line {}:\n      found    {found}\n      expected {expected}", number + 1));
        }
    }
    if found == expected {
        Ok(())
    } else {
        Err(format!("{} bytes, expected {}", found.len(), expected.len()))
    }
}
