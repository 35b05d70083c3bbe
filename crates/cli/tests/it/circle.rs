//! Strict copies around a circle of formats. Every classic dataset of the corpus goes classic → NCZarr →
//! netCDF-4 → NCZarr V3 → plain Zarr V3 → classic. Every HDF5 dataset goes netCDF-4 → NCZarr → netCDF-4, by
//! V2 and by V3, with all its types. Each prints the same text at the end.
//!
//! The repository contains a part of the corpus. `NCZ_CORPUS` names the whole corpus. This file lists
//! exceptions with their reasons. They must still fail.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::chain::kind;
use crate::{out, run, text};

/// The known outcome for a dataset.
#[derive(Clone, Copy)]
enum Known {
    /// It cannot be read; the error contains this text.
    Refused(&'static str),
    /// It loses something outside its text; the report contains this text.
    Without(&'static str),
}

/// Datasets, their way, the known outcome, and the reason.
const KNOWN: [(&str, &str, Known, &str); 22] = [
    ("earliest.h5", "V2", Known::Refused(REFERENCE), "no netCDF-4 file: netCDF has no references"),
    ("earliest.h5", "V3", Known::Refused(REFERENCE), "the same"),
    ("v108.h5", "V2", Known::Refused(REFERENCE), "the same"),
    ("v108.h5", "V3", Known::Refused(REFERENCE), "the same"),
    ("bad_cdf5_begin.nc", "V2, V3", Known::Refused("NC_ENOTNC: /var_small: it begins"), "damaged on purpose"),
    ("nc4_f_szip.nc", "V3", Known::Without("szip: "), "no reader of Zarr V3 has szip"),
    ("ref_szip.h5", "V3", Known::Without("szip: "), "the same"),
    ("external.h5", "V2", Known::Refused("\"../external.raw\""), "its data are where none are read"),
    ("external.h5", "V3", Known::Refused("\"../external.raw\""), "the same"),
    ("stretches.h5", "V2", Known::Refused("many0.raw"), "its data are not there"),
    ("stretches.h5", "V3", Known::Refused("many0.raw"), "the same"),
    (
        "virtual-odd.h5",
        "V2",
        Known::Refused("perhaps they form a circle"),
        "its data are its own, on purpose",
    ),
    ("virtual-odd.h5", "V3", Known::Refused("perhaps they form a circle"), "the same"),
    ("lzf.h5", "V2", Known::Without("filter lzf"), "no Zarr has the filter"),
    ("lzf.h5", "V3", Known::Without("filter lzf"), "the same"),
    ("nbit.h5", "V2", Known::Without("filter nbit"), "the same"),
    ("nbit.h5", "V3", Known::Without("filter nbit"), "the same"),
    ("scaled.h5", "V2", Known::Without("filter scaleoffset"), "the same"),
    ("scaled.h5", "V3", Known::Without("filter scaleoffset"), "the same"),
    ("scaleoffset.h5", "V2", Known::Without("filter scaleoffset"), "the same"),
    ("scaleoffset.h5", "V3", Known::Without("filter scaleoffset"), "the same"),
    ("szip.h5", "V3", Known::Without("szip: "), "no reader of Zarr V3 has szip"),
];
const REFERENCE: &str = "NC_EBADTYPID: ref: HDF5 type reference";

/// A way: the kind of each copy and its URL fragment.
type Way = &'static [(&'static str, &'static str)];

const CLASSIC: [(&str, Way); 1] =
    [("V2, V3", &[("nczarr", ""), ("nc4", ""), ("nczarr", "#mode=v3"), ("zarr", "#mode=v3")])];

const HDF5: [(&str, Way); 2] = [("V2", &[("nczarr", "")]), ("V3", &[("nczarr", "#mode=v3")])];

/// Returns all files of the corpus with this prefix, by their names.
fn files(begins: &[&[u8]]) -> BTreeMap<String, PathBuf> {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let roots = [Some(own), std::env::var_os("NCZ_CORPUS").map(PathBuf::from)];
    let mut folders: Vec<PathBuf> =
        roots.into_iter().flatten().flat_map(|root| [root.join("netcdf-c"), root.join("hdf5")]).collect();
    let mut files = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if begins.iter().any(|begin| begins_with(&path, begin)) {
                // The repository has a part of the whole corpus.
                files.insert(path.file_name().unwrap().to_str().unwrap().to_owned(), path);
            }
        }
    }
    files
}

fn begins_with(path: &Path, begin: &[u8]) -> bool {
    let mut found = vec![0; begin.len()];
    fs::File::open(path).unwrap().read_exact(&mut found).is_ok() && found == begin
}

/// Prints a dataset, with all digits.
fn cdl(path: &Path) -> Vec<u8> {
    let output = run(["dump", "-n", "x", "-p", "9,17", text(path)]);
    assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Sends a dataset around; returns the report, and whether the text differs in the end.
fn around(path: &Path, way: Way, last: &'static str, strict: bool) -> (String, Option<String>) {
    let folder = tempfile::tempdir().unwrap();
    let (mut message, mut from) = (String::new(), path.to_owned());
    for (number, (kind, fragment)) in way.iter().chain([&(last, "")]).enumerate() {
        let to = folder.path().join(number.to_string());
        let url = format!("{}{fragment}", to.display());
        let strictly = strict.then_some("--strict");
        let args = ["copy", "-k", kind].into_iter().chain(strictly).chain([text(&from), &url]);
        let output = run(args);
        message += &String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return (format!("to {kind}{fragment}: {message}"), None);
        }
        from = to;
    }
    // The strings of NCZarr V2 have a fixed size, so a null string becomes an empty one.
    let alike = way.contains(&("nczarr", ""));
    let printed = |path: &Path| match alike {
        true => {
            let text = String::from_utf8_lossy(&cdl(path)).replace("NIL", "_").replace("\"\"", "_");
            text.split_whitespace().collect::<Vec<_>>().join(" ").replace(" ; ", " ;\n").into_bytes()
        }
        false => cdl(path),
    };
    let (before, after) = (printed(path), printed(&from));
    let lines = |text: &[u8]| {
        text.split(|&byte| byte == b'\n').map(String::from_utf8_lossy).map(String::from).collect()
    };
    let differs = (before != after).then(|| {
        let (before, after): (Vec<String>, Vec<String>) = (lines(&before), lines(&after));
        format!("{:?}", before.iter().zip(&after).find(|(before, after)| before != after))
    });
    (message, differs)
}

/// Returns the defects of a dataset after its round trip.
fn wrong(path: &Path, way: &(&'static str, Way), last: &'static str) -> Option<String> {
    let name = path.file_name().unwrap();
    let known = KNOWN.iter().find(|(dataset, by, ..)| *dataset == name && *by == way.0);
    let known = known.map(|(_, _, known, why)| (known, why));
    let strict = !matches!(known, Some((Known::Without(_), _)));
    let (message, differs) = around(path, way.1, last, strict);
    match (known, differs) {
        (_, Some(line)) => Some(line),
        (None, None) => (!message.is_empty()).then_some(message),
        (Some((Known::Refused(what) | Known::Without(what), _)), None) if message.contains(what) => {
            // No other loss is allowed.
            let others = message.lines().filter(|line| !line.contains(what)).collect::<Vec<_>>();
            (!others.is_empty()).then(|| others.join("\n"))
        }
        (Some((_, why)), None) => Some(format!("not as known ({why}): {message:?}")),
    }
}

/// Sends all files around all ways.
fn all_around(
    files: &BTreeMap<String, PathBuf>,
    ways: &[(&'static str, Way)],
    last: impl Fn(&Path) -> &'static str + Sync,
) {
    let runs: Vec<_> = files.values().flat_map(|path| ways.iter().map(move |way| (path, way))).collect();
    let (next, bad) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some((path, way)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(what) = wrong(path, way, last(path)) {
                        bad.lock().unwrap().push(format!("{} by {}: {what}", path.display(), way.0));
                    }
                }
            });
        }
    });
    let bad = bad.into_inner().unwrap();
    assert!(bad.is_empty(), "{} of {}:\n{}", bad.len(), runs.len(), bad.join("\n"));
}

#[test]
fn every_classic_dataset_goes_around() {
    let files = files(&[b"CDF\x01", b"CDF\x02", b"CDF\x05"]);
    assert!(files.len() > 30, "{} files", files.len());
    all_around(&files, &CLASSIC, kind);
}

#[test]
fn every_hdf5_dataset_goes_around() {
    let files = files(&[b"\x89HDF\r\n\x1a\n"]);
    assert!(files.len() > 20, "{} files", files.len());
    all_around(&files, &HDF5, |path| match out(&["dump", "-k", text(path)]).trim() {
        "netCDF-4 classic model" => "nc4-classic",
        _ => "nc4",
    });
}
