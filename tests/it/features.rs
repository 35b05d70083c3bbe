//! README, feature script and manifest list the same features.

use std::collections::BTreeSet;
use std::fs;

fn text(path: &str) -> String {
    let path = format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The features of the root package without `default`.
fn features() -> BTreeSet<String> {
    let manifest = text("Cargo.toml");
    let section = manifest.split("\n[features]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let names = section.lines().filter_map(|line| line.split_once(" = [")).map(|(name, _)| name.to_owned());
    let mut names: BTreeSet<_> = names.collect();
    assert!(names.remove("default"));
    assert!(names.contains("nczarr") && names.contains("blosc-snappy"), "{names:?}");
    names
}

#[test]
fn readme_rows_match_features_and_compilers() {
    let readme = text("README.md");
    let rows =
        readme.lines().filter(|line| line.starts_with("| `")).map(|line| line.split('|').map(str::trim));
    let rows = rows.map(Iterator::collect::<Vec<_>>).filter(|row| row.len() == 6);
    let (mut named, mut pure) = (BTreeSet::new(), BTreeSet::new());
    for row in rows {
        let name = row[1].trim_matches('`').to_owned();
        match row[4] {
            "no" => assert!(pure.insert(name.clone())),
            "C" | "C++" => {}
            other => panic!("{name}: {other:?} is neither `no`, `C` nor `C++`"),
        }
        assert!(named.insert(name), "{row:?} is there twice");
    }
    assert_eq!(named, features());

    // Features that the script builds without a C compiler must not need one. Memory mapping exists only on
    // Unix and Windows.
    let script = text("tests/features.sh");
    let built = script.lines().find_map(|line| line.strip_prefix("pure=")).unwrap();
    let built: BTreeSet<_> = built.split(',').map(str::to_owned).collect();
    pure.remove("mmap");
    assert_eq!(built, pure);
}
