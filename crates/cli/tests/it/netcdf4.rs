//! Copies to netCDF-4 files: a file by netCDF-C is unchanged after a copy to our file and back.

use std::fs;
use std::path::PathBuf;

use super::{out, run, text};

/// Returns the folders of datasets of a kind: of the repository, and of the whole corpus if it is given.
fn folders(kind: &str) -> Vec<PathBuf> {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let roots = [Some(own), std::env::var_os("NCZ_CORPUS").map(PathBuf::from)];
    let kinds = roots.into_iter().flatten().map(|root| root.join("netcdf-c").join(kind));
    kinds.flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path()).collect()
}

/// Prints a dataset, without the writer's name and the storage of filters.
fn cdl(path: &str) -> String {
    let printed = out(&["dump", "-s", "-n", "x", "-p", "9,17", path]);
    let own = |line: &&str| {
        !["_NCProperties", "_SuperblockVersion", ":_Filter = "].iter().any(|what| line.contains(what))
    };
    printed.lines().filter(own).collect::<Vec<_>>().join("\n")
}

#[test]
fn files_of_netcdf_c_come_back() {
    let mut seen = 0;
    for kind in ["classic", "hdf5"] {
        for folder in folders(kind) {
            let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
            let source = folder.join(format!("{name}.nc"));
            // Truncated on purpose.
            if !source.exists() || name.ends_with("truncated") {
                continue;
            }
            let place = tempfile::tempdir().unwrap();
            let (there, back) = (place.path().join("there.nc"), place.path().join("back.nc"));
            let format = out(&["dump", "-k", text(&source)]);
            let (first, second) = match format.trim() {
                "netCDF-4" => ("nc4", "nc4"),
                "netCDF-4 classic model" => ("nc4-classic", "nc4-classic"),
                classic => ("nc4", classic),
            };
            let copied = run(["copy", "-k", first, text(&source), text(&there)]);
            assert!(copied.status.success(), "{name}: {}", String::from_utf8_lossy(&copied.stderr));
            assert_eq!(String::from_utf8_lossy(&copied.stderr), "", "{name}");
            assert_eq!(
                out(&["dump", "-k", text(&there)]).trim(),
                if first == "nc4" { "netCDF-4" } else { format.trim() }
            );
            out(&["copy", "-k", second, text(&there), text(&back)]);
            assert_eq!(cdl(text(&back)), cdl(text(&source)), "{name}");
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen} datasets");
}
