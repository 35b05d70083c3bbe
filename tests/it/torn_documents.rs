//! A torn document of one child makes only that child unreadable. A writer leaves the document unchanged.

use std::fs;
use std::path::{Path, PathBuf};

use nczarr::dispatch::FaultKind;
use nczarr::{ErrorKind, File};

/// Names of documents.
const DOCUMENTS: [&str; 4] = [".zgroup", ".zarray", ".zattrs", "zarr.json"];

/// Makes a dataset with variables in the root and in two levels of groups.
fn make(folder: &Path, modes: &str) -> (PathBuf, String) {
    let store = folder.join("a");
    let url = format!("file://{}#mode={modes}", store.display());
    let file = nczarr::create(&url).unwrap();
    file.put_attribute("title", "all").unwrap();
    let mut group = file.root();
    for name in ["", "g", "h"] {
        if !name.is_empty() {
            group = group.add_group(name).unwrap();
            group.put_attribute("about", name).unwrap();
        }
        let dim = format!("x{name}");
        group.add_dimension(&dim, 3).unwrap();
        for name in ["good", "other"] {
            let variable = group.add_variable::<i32>(name, &[&dim]).unwrap();
            variable.put_attribute("units", "m").unwrap();
            variable.put(&[1, 2, 3], ..).unwrap();
        }
    }
    file.close().unwrap();
    (store, url)
}

/// All documents below a folder, without those of the folder itself.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(here) = open.pop() {
        for entry in fs::read_dir(&here).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                open.push(path);
            } else if DOCUMENTS.contains(&&*name) && here != folder {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The paths of all reported faults and unreadable variables.
fn reported(file: &File) -> Vec<String> {
    let model = file.model();
    let broken = model.vars().filter(|(_, var)| var.problem.is_some());
    let mut paths: Vec<String> = broken.map(|(id, _)| model.var_path(id).unwrap()).collect();
    let faults = file.faults().unwrap().into_iter().filter(|fault| fault.kind == FaultKind::Damaged);
    paths.extend(faults.map(|fault| fault.path));
    paths
}

/// The paths of all variables that read as written.
fn readable(file: &File) -> Vec<String> {
    let model = file.model();
    let good = model.vars().filter(|(id, _)| {
        let values = file.variable_by_id(*id).and_then(|variable| variable.get_values::<i32>(..));
        values.is_ok_and(|values| values == [1, 2, 3])
    });
    good.map(|(id, _)| model.var_path(id).unwrap()).collect()
}

/// Damages each document of a child in several ways. All other nodes must read as before.
fn damage_each(modes: &str, open_modes: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (store, url) = make(folder.path(), modes);
    let all = readable(&nczarr::open(&url).unwrap());
    assert_eq!(all.len(), 6, "{modes}");
    let url = format!("file://{}#mode={open_modes}", store.display());
    for document in documents(&store) {
        let whole = fs::read_to_string(&document).unwrap();
        let below = document.parent().unwrap().strip_prefix(&store).unwrap();
        let child = format!("/{}", below.display());
        let cuts = [0, whole.len() / 3, whole.len() * 2 / 3, whole.trim_end().len() - 1];
        let damaged = cuts.map(|cut| whole[..cut].to_owned());
        for text in damaged.iter().map(String::as_str).chain([
            "[]",
            "7",
            "\u{feff}",
            "{\"zarr_format\": 3, \"x\": 1}",
        ]) {
            if text.ends_with('}') && !document.ends_with("zarr.json") {
                continue; // an object is a document of V2
            }
            fs::write(&document, text).unwrap();
            let case = format!("{modes}: {}: {text:?}", document.display());
            let file = nczarr::open(&url).unwrap_or_else(|error| panic!("{case}: {error}"));
            let (good, bad) = (readable(&file), reported(&file));
            let is_here = |path: &str| path == child || path.starts_with(&format!("{child}/"));
            for path in &all {
                assert!(good.contains(path) || is_here(path), "{case}: {path} is not readable: {bad:?}");
            }
            assert!(bad.contains(&child), "{case}: {child} is not among {bad:?}");
            assert!(bad.iter().all(|path| is_here(path)), "{case}: {bad:?}");
            drop(file);
            // A writing session leaves unreadable documents unchanged.
            let file = nczarr::append(&url).unwrap_or_else(|error| panic!("{case}: {error}"));
            file.put_attribute("title", format!("after {}", text.len())).unwrap();
            if let Ok(group) = file.group(&child) {
                assert_eq!(group.put_attribute("new", 1).unwrap_err().kind(), ErrorKind::Perm, "{case}");
                assert_eq!(group.add_dimension("new", 1).unwrap_err().kind(), ErrorKind::Perm, "{case}");
            }
            file.close().unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_eq!(fs::read_to_string(&document).unwrap(), text, "{case}");
        }
        fs::write(&document, whole).unwrap();
    }
    assert_eq!(readable(&nczarr::open(&url).unwrap()), all, "{modes}");
}

#[test]
fn a_torn_document_closes_only_its_child() {
    for modes in ["zarr", "nczarr", "zarr,v3", "nczarr,v3"] {
        damage_each(modes, modes);
    }
}

#[test]
fn a_torn_document_closes_only_its_child_beside_consolidated_metadata() {
    for modes in ["zarr", "nczarr", "zarr,v3", "nczarr,v3"] {
        damage_each(&format!("{modes},consolidated"), &format!("{modes},noconsolidated"));
    }
}

#[test]
fn damaged_consolidated_metadata_closes_only_its_child() {
    for flavour in ["zarr", "nczarr"] {
        let folder = tempfile::tempdir().unwrap();
        let (store, url) = make(folder.path(), &format!("{flavour},consolidated"));
        let path = store.join(".zmetadata");
        let whole: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for (key, child) in
            [("g/.zattrs", "/g"), ("g/good/.zarray", "/g/good"), ("g/good/.zattrs", "/g/good")]
        {
            for damage in [serde_json::json!([1]), serde_json::json!("text")] {
                let mut document = whole.clone();
                document["metadata"][key] = damage.clone();
                fs::write(&path, document.to_string()).unwrap();
                let file =
                    nczarr::open(&url).unwrap_or_else(|error| panic!("{flavour}: {key}: {damage}: {error}"));
                assert!(reported(&file).contains(&child.to_owned()), "{flavour}: {key}: {damage}");
                let good = readable(&file);
                assert!(
                    ["/good", "/other"].iter().all(|path| good.contains(&(*path).to_owned())),
                    "{good:?}"
                );
            }
        }
    }
}

#[test]
fn a_group_of_an_unknown_extension_is_not_looked_into() {
    let folder = tempfile::tempdir().unwrap();
    let (store, url) = make(folder.path(), "zarr,v3");
    fs::write(store.join("g/zarr.json"), r#"{"zarr_format": 3, "node_type": "group", "packed": true}"#)
        .unwrap();
    let file = nczarr::open(&url).unwrap();
    assert_eq!(
        (readable(&file), reported(&file)),
        (vec!["/good".into(), "/other".into()], vec!["/g".to_owned()])
    );
}

#[test]
fn a_torn_array_keeps_no_chunk_for_a_node() {
    let folder = tempfile::tempdir().unwrap();
    let (store, url) = make(folder.path(), "zarr,v3");
    for name in ["good/0", "good/1.1", "good/c/1/2"] {
        fs::create_dir_all(store.join(name).parent().unwrap()).unwrap();
        fs::write(store.join(name), [0; 4]).unwrap();
    }
    fs::write(store.join("good/zarr.json"), "{\"zarr_format\": 3, \"node").unwrap();
    let file = nczarr::open(&url).unwrap();
    let names: Vec<String> = file.variables().iter().map(|variable| variable.name()).collect();
    assert!(names.contains(&"good".to_owned()) && file.groups().len() == 1, "{names:?}");
    assert_eq!(reported(&file), ["/good"]);
}

/// A writer of another program stops in the middle of a document that this session changed too.
#[test]
fn a_document_torn_during_a_session_is_not_replaced() {
    for modes in ["zarr", "nczarr", "zarr,v3", "nczarr,v3"] {
        let folder = tempfile::tempdir().unwrap();
        let (store, url) = make(folder.path(), modes);
        let name = if modes.ends_with("v3") { "zarr.json" } else { ".zattrs" };
        let path = store.join("g/good").join(name);
        let whole = fs::read_to_string(&path).unwrap();
        for text in ["", &whole[..whole.len() / 2], "[]"] {
            fs::write(&path, &whole).unwrap();
            let file = nczarr::append(&url).unwrap();
            file.variable("g/good").unwrap().put_attribute("units", "km").unwrap();
            fs::write(&path, text).unwrap();
            let error = file.close().unwrap_err();
            let case = format!("{modes}: {text:?}: {error}");
            assert_eq!(error.kind(), ErrorKind::NcZarr, "{case}");
            assert!(error.to_string().contains(&format!("g/good/{name}")), "{case}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text, "{case}");
        }
    }
}
