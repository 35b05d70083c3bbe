//! Null strings (`NIL`) and empty ones: distinct where the format can hold both, and empty strings elsewhere,
//! for every reader. Only printing follows the reference there.

use std::fs;
use std::path::Path;

use nczarr::model::Slab;
use nczarr::{File, MemRef, NcString, Place, Values};
use proptest::prelude::*;

use crate::{out, text};

/// Makes a variable `s` with these strings, in chunks of 3.
fn store(url: &str, strings: &[NcString]) {
    let file = nczarr::create(Place::url(url)).unwrap();
    file.add_dimension("x", strings.len() as u64).unwrap();
    let s = file.add_string_variable("s", &["x"]).unwrap();
    s.set_chunking(&[3.min(strings.len() as u64)]).unwrap();
    s.write(&Slab::new(&[0], &[strings.len() as u64]), MemRef::Strings(strings)).unwrap();
    file.close().unwrap();
}

/// Returns the strings of `s`; `None` for null strings.
fn strings(file: &File) -> Vec<Option<String>> {
    let found = file.variable("s").unwrap().get_nc_strings(..).unwrap();
    found.iter().map(|one| (!one.is_nil()).then(|| one.to_str().unwrap().to_owned())).collect()
}

fn read(url: &str) -> Vec<Option<String>> {
    strings(&nczarr::open(Place::url(url)).unwrap())
}

/// Returns the same, with empty strings for null ones.
fn empty(strings: &[Option<String>]) -> Vec<Option<String>> {
    strings.iter().map(|one| Some(one.clone().unwrap_or_default())).collect()
}

/// Copies `s` through the library.
fn copied(from: &str, to: &str) -> Vec<Option<String>> {
    let source = nczarr::open(from).unwrap();
    let target = nczarr::create(Place::url(to)).unwrap();
    let len = source.dimension("x").unwrap().len();
    target.add_dimension("x", len).unwrap();
    target.copy_variable(&source.variable("s").unwrap()).unwrap();
    target.close().unwrap();
    read(to)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn null_strings_differ_from_empty_strings_if_the_format_can(
        given in prop::collection::vec(prop::option::of("[a-z]{0,2}"), 1..8)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| text(&folder.path().join(name)).to_owned();
        let list: Vec<NcString> =
            given.iter().map(|one| one.as_deref().map_or(NcString::nil(), NcString::from)).collect();
        for (fragment, keeps_null) in
            [("#mode=nc4", true), ("#mode=nczarr,v3", true), ("#mode=nczarr,file", false), ("#mode=zarr,v3", false)]
        {
            let name = fragment.replace(['#', '=', ','], "-");
            let expected = if keeps_null { given.clone() } else { empty(&given) };
            store(&format!("{}{fragment}", path(&name)), &list);
            prop_assert_eq!(&read(&path(&name)), &expected, "{}", fragment);
            // An empty string from a format without null strings does not become null in a copy.
            let other = path(&format!("{name}-copied"));
            prop_assert_eq!(&copied(&path(&name), &format!("{other}#mode=nc4")), &expected, "{}", fragment);
            let other = path(&format!("{name}-by-tool"));
            out(&["copy", &path(&name), &format!("{other}#mode=nc4")]);
            prop_assert_eq!(&read(&other), &expected, "{}", fragment);
        }
    }
}

/// A plain store of Zarr V3 with strings of a fixed size, in chunks of 2; the second is absent.
fn fixed(folder: &Path) {
    fs::create_dir_all(folder.join("s/c")).unwrap();
    fs::write(folder.join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
    let array = r#"{"zarr_format": 3, "node_type": "array", "shape": [4], "dimension_names": ["x"],
        "data_type": {"name": "null_terminated_bytes", "configuration": {"length_bytes": 2}},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": "", "codecs": [{"name": "bytes"}], "attributes": {}}"#;
    fs::write(folder.join("s/zarr.json"), array).unwrap();
    fs::write(folder.join("s/c/0"), b"ab\0\0").unwrap();
}

#[test]
fn stored_empty_text_of_a_fixed_size_prints_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("source"), folder.path().join("target"));
    fixed(&source);
    let expected: Vec<_> = ["ab", "", "", ""].map(|one| Some(one.to_owned())).to_vec();
    assert_eq!(read(text(&source)), expected);
    let printed = |path: &Path| out(&["dump", text(path)]);
    // In plain Zarr it is text, not a null string; absent chunks contain the fill value.
    assert!(printed(&source).contains(" s = \"ab\", \"\", _, _ ;"), "{}", printed(&source));
    let url = format!("{}#mode=nc4", target.display());
    out(&["copy", text(&source), &url]);
    assert_eq!(read(text(&target)), expected);
    assert!(printed(&target).contains(" s = \"ab\", _, _, _ ;"), "{}", printed(&target));
    fs::remove_file(&target).unwrap();
    assert_eq!(copied(text(&source), &url), expected);
}

#[test]
fn null_strings_overwrite_stored_attributes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v2");
    let nul = || Values::String(vec!["\0".into(), "a".into()]);
    let created = |mode: &str| {
        fs::remove_dir_all(&path).ok();
        nczarr::create(Place::url(format!("{}#mode={mode}", path.display()))).unwrap()
    };
    // A plain store records no types, so no string there is null.
    for mode in ["zarr", "zarr,v3"] {
        let file = created(mode);
        file.put_attribute("a", nul()).unwrap();
        file.put_attribute("none", Values::String(vec![NcString::nil()])).unwrap();
        file.close().unwrap();
        let document = if mode == "zarr" { ".zattrs" } else { "zarr.json" };
        let found: serde_json::Value =
            serde_json::from_slice(&fs::read(path.join(document)).unwrap()).unwrap();
        let found = if mode == "zarr" { &found } else { &found["attributes"] };
        assert_eq!(
            (&found["a"], &found["none"]),
            (&serde_json::json!(["\0", "a"]), &serde_json::json!("")),
            "{mode}"
        );
    }
    // NCZarr records types; an existing empty string reads as null, and stays when the dataset is edited.
    for (mode, document) in [("nczarr,file", ".zattrs"), ("nczarr,v3", "zarr.json")] {
        let file = created(mode);
        assert_eq!(file.put_attribute("a", nul()).unwrap_err().kind(), nczarr::ErrorKind::Char);
        file.put_attribute("a", Values::String(vec!["here".into(), "a".into()])).unwrap();
        file.close().unwrap();
        let document = path.join(document);
        let stored = fs::read_to_string(&document).unwrap().replace("here", "\\u0000");
        fs::write(&document, stored).unwrap();
        let file = nczarr::append(text(&path)).unwrap();
        file.put_attribute("b", "more").unwrap();
        file.close().unwrap();
        let target = folder.path().join("copy");
        out(&["copy", "--clobber", text(&path), &format!("{}#mode=nc4", target.display())]);
        for path in [&path, &target] {
            let printed = out(&["dump", "-h", text(path)]);
            assert!(printed.contains(":a = NIL, \"a\" ;"), "{mode} {printed}");
        }
    }
}
