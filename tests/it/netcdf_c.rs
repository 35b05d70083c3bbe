//! NCZarr and pure Zarr datasets by netCDF-C: the CDL text of each matches byte for byte.
//!
//! If netCDF-C is wrong, `.right.cdl` beside the dataset or the module `known_differences` contains the right
//! text and the reason.

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
    // A dataset that was packed only for the corpus is unpacked first. An archive by netCDF-C is opened
    // directly.
    let is_transport = row.dataset.ends_with(".zarr.zip");
    let unpacked =
        scratch.path().join(if is_transport { format!("{}.zarr", row.name) } else { row.name.clone() });
    let plain = if is_transport { &unpacked } else { &archive }.display().to_string();
    // A single word in the fragment is a mode here and has no meaning for netCDF-C.
    let fragment = row.fragment.split('&').filter(|pair| pair.contains('=')).collect::<Vec<_>>().join("&");
    let file =
        nczarr::open(format!("file://{plain}#{fragment}")).map_err(|error| format!("open: {error}"))?;
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
        // The dataset also opens without a mode.
        let again =
            nczarr::open(&plain).and_then(|file| dump(&file, &options)).map_err(|error| error.to_string())?;
        same(&again, &found).map_err(|why| format!("opened by its path alone, {ending}: {why}"))?;
        // The packed form and the unpacked form are the same dataset.
        if ending == "cdl" {
            let other = if is_transport { &archive } else { &unpacked }.display().to_string();
            let again = nczarr::open(&other).and_then(|file| dump(&file, &options));
            let again = again.map_err(|error| format!("packed or unpacked: {error}"))?;
            same(&again, &found).map_err(|why| format!("packed or unpacked: {why}"))?;
        }
    }
    Ok(Outcome::Passed)
}

/// The lines to replace, from `.right.cdl` and from the known differences.
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

/// The reference text in our wording. Lossy decoding is needed because the writer cut some strings inside a
/// character.
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

/// netCDF-C prints an unfinished line of chunk sizes for a scalar. Returns the text after it.
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
