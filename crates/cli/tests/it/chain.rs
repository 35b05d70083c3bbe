//! Chains of copies: classic → NCZarr → plain Zarr → classic, in Zarr V2 and V3. At the end, every classic
//! file of the corpus prints as before.
//!
//! NCZarr and plain Zarr also go V2 → V3 → V2, and keep their layout.
//!
//! The repository contains a part of the corpus. `NCZ_CORPUS` names the whole corpus.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{failure, run, text};

/// Returns the classic files of the corpus with their names.
pub fn classic_files() -> Vec<(String, PathBuf)> {
    let mut roots = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus")];
    roots.extend(std::env::var_os("NCZ_CORPUS").map(PathBuf::from));
    let mut files = Vec::new();
    for folder in roots.into_iter().map(|root| root.join("netcdf-c")) {
        let manifest = fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
        for row in manifest.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>()) {
            if row[1].starts_with("classic/") {
                files.push((row[0].to_owned(), folder.join(row[1])));
            }
        }
    }
    files
}

/// Returns the `-k` name of a classic file's kind.
pub fn kind(path: &Path) -> &'static str {
    match fs::read(path).unwrap()[3] {
        1 => "classic",
        2 => "64-bit offset",
        _ => "cdf5",
    }
}

/// Prints a dataset twice: by default, and with all digits.
fn dumps(path: &Path) -> [String; 2] {
    [&["-n", "x"][..], &["-n", "x", "-p", "9,17"]].map(|args| {
        let output = run([&["dump"], args, &[text(path)]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    })
}

/// Makes strict copies in sequence: from, to, the kind and the URL fragment; returns the first failure's
/// message.
fn copies(steps: &[(&Path, &Path, &str, &str)]) -> Option<String> {
    steps.iter().find_map(|(from, to, kind, fragment)| {
        let to = format!("{}{fragment}", to.display());
        let output = run(["copy", "--strict", "-k", kind, text(from), &to]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        (!output.status.success() || !message.is_empty()).then(|| format!("to {kind}{fragment}: {message}"))
    })
}

#[test]
fn from_version_2_to_3_and_back() {
    let mut bad = Vec::new();
    let dump = |path: &Path| {
        String::from_utf8(run(["dump", "-s", "-n", "x", "-p", "9,17", text(path)]).stdout).unwrap()
    };
    for (name, path) in &classic_files() {
        for kind in ["nczarr", "zarr"] {
            let folder = tempfile::tempdir().unwrap();
            let [two, three, back] = ["2", "3", "back"].map(|name| folder.path().join(name));
            let filtered =
                run(["copy", "-k", kind, "--filter", "shuffle|deflate,3|fletcher32", text(path), text(&two)]);
            assert!(filtered.status.success(), "{name}");
            let steps = [(&*two, &*three, kind, "#mode=v3"), (&three, &back, kind, "")];
            if let Some(message) = copies(&steps) {
                bad.push(format!("{name}: {message}"));
                continue;
            }
            assert!(three.join("zarr.json").is_file() && !back.join("zarr.json").is_file());
            let (before, after) = (dump(&two), dump(&back));
            if before != after {
                let line = before.lines().zip(after.lines()).find(|(before, after)| before != after);
                bad.push(format!("{name} {kind}: {line:?}"));
            }
        }
    }
    assert!(bad.is_empty(), "{}:\n{}", bad.len(), bad.join("\n"));
}

#[test]
fn every_classic_file_survives_the_chain() {
    let mut bad = Vec::new();
    let files = classic_files();
    for ((name, path), format) in files.iter().flat_map(|file| [(file, ""), (file, "#mode=v3")]) {
        let folder = tempfile::tempdir().unwrap();
        let [nczarr, zarr, back] = ["nczarr", "zarr", "back"].map(|name| folder.path().join(name));
        let steps = [
            (&**path, &*nczarr, "nczarr", format),
            (&nczarr, &zarr, "zarr", format),
            (&zarr, &back, kind(path), ""),
        ];
        if let Some(message) = copies(&steps) {
            bad.push(format!("{name}: {message}"));
            continue;
        }
        let (before, after) = (dumps(path), dumps(&back));
        for (before, after) in before.iter().zip(&after).filter(|(before, after)| before != after) {
            let line = before.lines().zip(after.lines()).find(|(before, after)| before != after);
            bad.push(format!("{name}: {line:?}"));
        }
        // Other readers see the same plain store, except for one attribute.
        assert!(
            !zarr.join(".zattrs").exists()
                || !fs::read_to_string(zarr.join(".zattrs")).unwrap().contains("_nczarr")
        );
    }
    assert!(bad.is_empty(), "{} of {}:\n{}", bad.len(), files.len(), bad.join("\n"));
    assert!(files.len() > 2);
}

#[test]
fn without_the_annotation_a_strict_chain_stops() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("plain");
    let (name, path) = classic_files().into_iter().find(|(name, _)| name == "cdf1_atts").unwrap();
    let (code, message) = failure(&["copy", "--strict", "--plain", "-k", "zarr", text(&path), text(&target)]);
    assert!(code == 1 && message.contains("loss: attributes with "), "{name}: {message}");
    assert!(!target.exists());
}
