//! The corpus: datasets by other implementations and the values that a reader must return.
//!
//! A part of it is beside the tests in the same layout. `NCZ_CORPUS` names the folder of the whole corpus.

use std::path::{Path, PathBuf};

use nczarr_tests::report::{Report, say};

/// The roots of the corpus: the part in the repository, and the whole corpus if `NCZ_CORPUS` is set.
pub fn roots() -> Vec<PathBuf> {
    let mut roots = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")];
    match std::env::var_os("NCZ_CORPUS") {
        Some(root) => roots.push(root.into()),
        None => say("NCZ_CORPUS is not set: only the part of the corpus in the repository is tested"),
    }
    roots
}

/// The rows of a `MANIFEST.tsv` without the header.
pub fn manifest(folder: &Path) -> Vec<Vec<String>> {
    let path = folder.join("MANIFEST.tsv");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// Runs `check` over each root that has the folder `part`, and prints its reports. Panics at the end if a row
/// failed or nothing was tested.
pub fn each(part: &str, what: &str, check: impl Fn(&Path) -> Report) {
    let mut bad = Vec::new();
    for root in roots() {
        let folder = root.join(part);
        let report = check(&folder);
        report.print(&format!("{what} in {}", folder.display()));
        if !report.is_good() {
            bad.push(folder);
        }
    }
    assert!(bad.is_empty(), "{what}: rows failed, or none passed, in {bad:?}");
}
