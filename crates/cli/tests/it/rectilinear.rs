//! Arrays of Zarr V3 with a rectilinear chunk grid, by zarr-python.

use std::fs;
use std::path::Path;

use crate::{out, run, text};

const CASE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/reports/rect.zarr");

/// The numbers from 0 to 59, ten in a line.
fn lines() -> Vec<String> {
    (0..6).map(|y| (0..10).map(|x| (y * 10 + x).to_string()).collect::<Vec<_>>().join(", ")).collect()
}

#[test]
fn all_elements_are_printed_in_order() {
    let printed = out(&["dump", "-v", "t2m", CASE]);
    let data = format!(" t2m =\n  {} ;\n", lines().join(",\n  "));
    assert!(printed.contains(&data), "{printed}");
}

#[test]
fn a_part_may_touch_several_chunks() {
    let part = |start, count, stride| {
        let place = ["--start", start, "--count", count, "--stride", stride];
        out(&[&["cat", CASE, "t2m", "--format", "text"], &place[..]].concat())
    };
    assert_eq!(part("0,1", "3,3", "2,4"), "1.0 5.0 9.0\n21.0 25.0 29.0\n41.0 45.0 49.0\n");
    assert_eq!(part("2,3", "2,2", "1,1"), "23.0 24.0\n33.0 34.0\n");
}

#[test]
fn its_chunks_are_known() {
    let printed = out(&["validate", "--deep", CASE]);
    assert!(printed.contains("9 chunks read: 0 errors, 0 warnings"), "{printed}");
    // Others are not.
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path();
    fs::create_dir_all(store.join("t2m/c/2")).unwrap();
    for document in ["zarr.json", "t2m/zarr.json"] {
        fs::copy(Path::new(CASE).join(document), store.join(document)).unwrap();
    }
    for chunk in ["2", "3"] {
        fs::copy(Path::new(CASE).join("t2m/c/2/2"), store.join("t2m/c/2").join(chunk)).unwrap();
    }
    let validated = || {
        let output = run(["validate", text(store)]);
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let printed = validated();
    assert!(
        printed.contains("t2m/c/2/3: is beyond the array, which has 3 chunks along dimension 1"),
        "{printed}"
    );
    assert!(!printed.contains("t2m/c/2/2"), "{printed}");
    // An unknown grid gives one error, and no reports about its chunks.
    let document = fs::read_to_string(store.join("t2m/zarr.json")).unwrap();
    fs::write(store.join("t2m/zarr.json"), document.replace("rectilinear", "hexagonal")).unwrap();
    let printed = validated();
    assert!(
        printed.contains("\"hexagonal\" is not a known chunk grid") && !printed.contains("t2m/c/2"),
        "{printed}"
    );
}

#[test]
fn copies_of_every_kind_have_the_values() {
    let folder = tempfile::tempdir().unwrap();
    for kind in ["nc4", "classic", "zarr", "nczarr"] {
        let to = text(&folder.path().join(kind)).to_owned();
        let output = run(["copy", CASE, &to, "-k", kind]);
        assert!(output.status.success(), "{kind}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(out(&["diff", CASE, &to]), "", "{kind}");
        assert!(out(&["dump", "-v", "t2m", &to]).contains(&lines().join(",\n  ")), "{kind}");
    }
    let to = text(&folder.path().join("v3")).to_owned();
    out(&["copy", CASE, &format!("file://{to}#mode=zarr,v3")]);
    assert_eq!(out(&["diff", CASE, &to]), "");
}
