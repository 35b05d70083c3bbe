//! Snapshots of the public items of the contract crates and the facade make each change visible in review.
//!
//! `NCZ_UPDATE_SNAPSHOTS=1` rewrites the files of `tests/api`. Items of private modules count too.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const PACKAGES: &[(&str, &str)] = &[
    ("nczarr", "src"),
    ("nczarr-model", "crates/model/src"),
    ("nczarr-storage", "crates/storage/src"),
    ("nczarr-codec", "crates/codec/src"),
    ("nczarr-dispatch", "crates/dispatch/src"),
    ("nczarr-nc-table", "crates/nc-table/src"),
    ("nczarr-url-infer", "crates/url-infer/src"),
    ("nczarr-conformance", "crates/conformance/src"),
];

#[test]
fn public_items_equal_the_snapshots() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for (package, folder) in PACKAGES {
        let mut files = Vec::new();
        sources(&root.join(folder), &mut files);
        files.sort();
        let mut found = String::new();
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let items = public_items(text.split("\n#[cfg(test)]").next().unwrap());
            if !items.is_empty() {
                writeln!(found, "{}", file.strip_prefix(root).unwrap().display()).unwrap();
                items.iter().for_each(|item| writeln!(found, "    {item}").unwrap());
            }
        }
        let snapshot = root.join("tests/api").join(format!("{package}.txt"));
        if std::env::var_os("NCZ_UPDATE_SNAPSHOTS").is_some() {
            fs::write(&snapshot, &found).unwrap();
        }
        let expected = fs::read_to_string(&snapshot).unwrap_or_default();
        let (gone, new) = (missing(&expected, &found), missing(&found, &expected));
        assert!(
            found == expected && found.lines().count() > 10,
            "{package}: removed {gone:#?}, added {new:#?}"
        );
    }
}

/// The largest number of names at the root of the contract for maps.
const MOST_STORAGE_NAMES: usize = 35;

#[test]
fn the_contract_for_maps_is_small() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let names = root_names(&fs::read_to_string(root.join("crates/storage/src/lib.rs")).unwrap());
    assert!((20..=MOST_STORAGE_NAMES).contains(&names.len()), "{} names: {names:?}", names.len());
}

/// The largest contract for plugins: methods without a default, and all methods.
const MOST_REQUIRED: usize = 8;
const MOST_METHODS: usize = 14;

/// Traits with a blanket implementation: no plugin implements them.
const FOR_CALLERS: &[&str] = &["ZMapExt"];

#[test]
fn contracts_are_small() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut contracts = Vec::new();
    for folder in ["crates/storage/src", "crates/codec/src", "crates/dispatch/src"] {
        let mut files = Vec::new();
        sources(&root.join(folder), &mut files);
        files.iter().for_each(|file| contracts.extend(methods_of_traits(&fs::read_to_string(file).unwrap())));
    }
    for known in ["ZMap", "MapFactory", "Filter", "Driver", "Dataset", "Editor", "VarData"] {
        assert!(contracts.iter().any(|(name, ..)| name == known), "{known} was not found: {contracts:?}");
    }
    for (name, required, all) in contracts.iter().filter(|(name, ..)| !FOR_CALLERS.contains(&name.as_str())) {
        assert!(
            *required <= MOST_REQUIRED && *all <= MOST_METHODS,
            "{name}: {required} of {all} methods required"
        );
    }
}

/// The public traits of a text, with the number of required methods and of all methods.
fn methods_of_traits(text: &str) -> Vec<(String, usize, usize)> {
    let mut traits: Vec<(String, usize, usize)> = Vec::new();
    let (mut inside, mut in_signature) = (false, false);
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("pub trait ") {
            let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            traits.push((rest[..end].to_owned(), 0, 0));
            inside = true;
        } else if line == "}" {
            inside = false;
        } else if inside && line.starts_with("    fn ") {
            traits.last_mut().unwrap().2 += 1;
            in_signature = true;
        }
        if in_signature && line.ends_with([';', '{', '}']) {
            traits.last_mut().unwrap().1 += usize::from(line.ends_with(';'));
            in_signature = false;
        }
    }
    traits
}

#[test]
fn methods_are_counted() {
    let text = "pub trait A: B {\n    fn a(\n        &self,\n    ) -> u8;\n    fn b(&self) {\n        let x = 1;\n    }\n    fn c(&self) {}\n}\npub trait D {}\n";
    assert_eq!(methods_of_traits(text), [("A".to_owned(), 1, 3), ("D".to_owned(), 0, 0)]);
}

/// The names that the root of a crate exports: public modules, and the imports that it passes on.
fn root_names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for statement in text.split(';').map(str::trim) {
        if let Some(at) = statement.rfind("pub mod ") {
            names.push(statement[at + "pub mod ".len()..].to_owned());
        } else if let Some(at) = statement.rfind("pub use ") {
            let path = &statement[at + "pub use ".len()..];
            let list = path.split_once('{').map_or(path, |(_, list)| list.trim_end_matches('}'));
            let last = |name: &str| name.rsplit([':', ' ']).next().unwrap_or_default().to_owned();
            names.extend(list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(last));
        }
    }
    names
}

#[test]
fn root_names_are_found() {
    let text = "//! A crate; it is small.\nmod a;\npub mod b;\npub use a::{C,\n    D};\npub use e;\npub use f::g::H as I;\n";
    assert_eq!(root_names(text), ["b", "C", "D", "e", "I"]);
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            files.push(path);
        }
    }
}

/// The lines of a text that are missing from another text.
fn missing<'t>(text: &'t str, other: &str) -> Vec<&'t str> {
    let other: std::collections::BTreeSet<&str> = other.lines().collect();
    text.lines().filter(|line| !other.contains(line)).collect()
}

/// The signatures of public items and of the methods of public traits.
fn public_items(text: &str) -> Vec<String> {
    let (mut items, mut open, mut is_trait): (Vec<String>, Option<String>, bool) = (Vec::new(), None, false);
    for line in text.lines() {
        let trimmed = line.trim();
        if line == "}" {
            is_trait = false;
        }
        let is_item = trimmed.starts_with("pub ") || (is_trait && line.starts_with("    fn "));
        match &mut open {
            Some(item) => {
                item.push(' ');
                item.push_str(trimmed);
            }
            None if is_item => open = Some(trimmed.to_owned()),
            None => continue,
        }
        is_trait |= line.starts_with("pub trait ");
        // A field ends with a comma, any other item with a block or a semicolon.
        let is_field = open.as_ref().is_some_and(|item| !item.contains('(') && item.ends_with(','));
        if trimmed.ends_with('{') || trimmed.ends_with(';') || trimmed.ends_with('}') || is_field {
            let item = open.take().unwrap();
            items.push(item.trim_end_matches([' ', '{', ';', ',']).to_owned());
        }
    }
    items
}

#[test]
fn signatures_are_found() {
    let text = "pub struct A {\n    pub b: u8,\n    c: u8,\n}\npub trait T {\n    fn f(\n        &self,\n    ) -> u8;\n}\nfn g() {}\n";
    let items = public_items(text);
    assert_eq!(items, ["pub struct A", "pub b: u8", "pub trait T", "fn f( &self, ) -> u8"]);
}
