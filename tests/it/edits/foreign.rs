//! Edits Zarr V3 stores by other writers. Only one element and one attribute of each variable change, in
//! values and in documents.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use nczarr::model::Slab;
use nczarr::{ErrorKind, File, Group, MemRef, NcType, Values, Variable};
use nczarr_tests::plan::get;
use nczarr_tests::report::{Outcome, Report};
use serde_json::Value;

use crate::corpus;

const ADDED: &str = "added_here";
const CONSOLIDATED: &str = "consolidated_metadata";

#[test]
fn stores_of_other_writers_are_edited_and_else_unchanged() {
    corpus::each("nczarr-v3", "edited datasets in Zarr V3", |folder| {
        let rows = corpus::manifest(folder).into_iter();
        of_stores(
            folder,
            rows.filter(|row| row[0].split('/').next() != Some("fork-consolidated"))
                .map(|row| row[0].clone()),
        )
    });
    for root in corpus::roots() {
        let folder = root.join("zarr");
        let rows = corpus::manifest(&folder);
        let bad: BTreeSet<&str> = rows.iter().filter(|row| row[11] == "error").map(|row| &*row[0]).collect();
        let rows = rows.iter().filter(|row| row[4] == "3" && !bad.contains(&*row[0]));
        let report = of_stores(&folder, rows.map(|row| row[0].clone()));
        report.print(&format!("edited Zarr V3 stores in {}", folder.display()));
        assert_eq!(report.failed(), 0);
    }
}

fn of_stores(folder: &Path, stores: impl Iterator<Item = String>) -> Report {
    let mut report = Report::default();
    for store in stores.collect::<BTreeSet<_>>() {
        let from = folder.join(&store);
        if from.is_dir() {
            report.add(&store, edited(&from));
        }
    }
    report
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to)
        } else {
            // The test must not write to the corpus.
            fs::write(&to, fs::read(entry.path()).unwrap()).unwrap()
        }
    }
}

/// The documents below a folder, without those that are not strict JSON.
fn documents(folder: &Path) -> BTreeMap<String, Value> {
    let strict =
        |key: String| Some((serde_json::from_slice(&fs::read(folder.join(&key)).unwrap()).ok()?, key));
    keys(folder).into_iter().filter_map(strict).map(|(document, key)| (key, document)).collect()
}

/// The keys of all documents.
fn keys(folder: &Path) -> BTreeSet<String> {
    let (mut found, mut open) = (BTreeSet::new(), vec![folder.to_path_buf()]);
    while let Some(here) = open.pop() {
        for entry in fs::read_dir(&here).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.file_name().is_some_and(|name| name == "zarr.json") {
                found.insert(path.strip_prefix(folder).unwrap().display().to_string());
            }
        }
    }
    found
}

fn variables(group: &Group) -> Vec<Variable> {
    group.variables().into_iter().chain(group.groups().iter().flat_map(variables)).collect()
}

/// The values of every variable that can be read and has strings or elements of a fixed size.
fn content(file: &File) -> BTreeMap<String, Values> {
    let fixed =
        |variable: &Variable| variable.nc_type() == NcType::String || variable.nc_type().size().is_some();
    let all = variables(&file.root()).into_iter().filter(fixed);
    all.filter_map(|variable| Some((variable.full_name(), get(&variable).ok()?))).collect()
}

/// Returns the values with a different last element.
fn changed(values: &Values) -> Option<Values> {
    let mut bytes = values.to_native_bytes()?;
    let size = values.nc_type().size()?;
    let at = bytes.len().checked_sub(size)?;
    let one = match values.nc_type() {
        // All floating-point types hold 1 and 2 exactly, including float16.
        NcType::Float => (if bytes[at..] == 2f32.to_ne_bytes() { 1f32 } else { 2f32 }).to_ne_bytes().to_vec(),
        NcType::Double => {
            (if bytes[at..] == 2f64.to_ne_bytes() { 1f64 } else { 2f64 }).to_ne_bytes().to_vec()
        }
        // 0 and 1 are also valid booleans.
        _ => {
            let mut one = vec![0; size];
            let low = if cfg!(target_endian = "little") { 0 } else { size - 1 };
            one[low] = u8::from(bytes[at..].iter().all(|&byte| byte == 0));
            one
        }
    };
    bytes[at..].copy_from_slice(&one);
    Values::from_native_bytes(values.nc_type(), &bytes)
}

fn edited(from: &Path) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    // If the root of a store is an array, the store's name is the variable's name.
    let place = folder.path().join(from.file_name().expect("a store has a name"));
    copy(from, &place);
    match edit(&place) {
        Ok(()) => Outcome::Passed,
        Err(why) => Outcome::Failed(why),
    }
}

fn edit(place: &Path) -> Result<(), String> {
    let path = place.display().to_string();
    let (before, there) = (documents(place), keys(place));
    let mut expected = content(&nczarr::open(&path).map_err(|error| format!("read: {error}"))?);
    let file = nczarr::append(&path).map_err(|error| format!("append: {error}"))?;
    let (mut touched, mut read_only) = (BTreeSet::new(), Vec::new());
    for variable in variables(&file.root()) {
        let name = variable.full_name();
        match variable.put_attribute(ADDED, 7) {
            Ok(()) => drop(touched.insert(name.clone())),
            Err(error) if error.kind() == ErrorKind::Perm => read_only.push(error.to_string()),
            Err(error) => return Err(format!("{name}: {error}")),
        }
        let Some(values) = expected.get_mut(&name) else { continue };
        let Some(new) = changed(values) else { continue };
        let shape = variable.shape().map_err(|error| error.to_string())?;
        let start: Vec<u64> = shape.iter().map(|len| len - 1).collect();
        let bytes = new.to_native_bytes().expect("it came from bytes");
        let one = &bytes[bytes.len() - new.nc_type().size().expect("a fixed size")..];
        let slab = Slab::new(&start, &const { [1; 32] }[..shape.len()]);
        variable
            .write(&slab, MemRef::Fixed { ty: new.nc_type(), bytes: one })
            .map_err(|error| format!("{name}: put: {error}"))?;
        *values = new;
    }
    file.close().map_err(|error| format!("close: {error}"))?;

    let file = nczarr::open(&path).map_err(|error| format!("read again: {error}"))?;
    let found = content(&file);
    for (name, values) in &expected {
        if found.get(name) != Some(values) {
            return Err(format!("{name}: values {:?}, expected {values:?}", found.get(name)));
        }
    }
    for variable in variables(&file.root()).iter().filter(|variable| touched.contains(&variable.full_name()))
    {
        if variable.attribute(ADDED).map(nczarr::Attribute::into_values) != Some(Values::Int(vec![7])) {
            return Err(format!("{}: the attribute is not there", variable.full_name()));
        }
    }
    let mut after = documents(place);
    consolidated_is_right(&after)?;
    let mut added = 0;
    for (key, was) in before {
        let Some(mut now) = after.remove(&key) else { return Err(format!("{key} is gone, or no JSON")) };
        added += usize::from(forget(&mut now));
        let mut was = was;
        // `consolidated_is_right` has checked this member already.
        for document in [&mut was, &mut now] {
            document.as_object_mut().map(|document| document.remove(CONSOLIDATED));
        }
        if now.get("attributes").is_some_and(|attrs| *attrs == serde_json::json!({}))
            && was.get("attributes").is_none()
        {
            now.as_object_mut().map(|now| now.remove("attributes"));
        }
        if now != was {
            return Err(format!("{key}:\n      is  {now}\n      was {was}"));
        }
    }
    // The remaining documents were not strict JSON before the edit.
    added += after.values_mut().map(|document| usize::from(forget(document))).sum::<usize>();
    if let Some(key) = after.keys().find(|key| !there.contains(*key)) {
        return Err(format!("{key} is new"));
    }
    if added == touched.len() && (touched.len() + read_only.len() > 0 || expected.is_empty()) {
        Ok(())
    } else {
        Err(format!("{added} attributes were written of {}; not: {read_only:?}", touched.len()))
    }
}

/// Checks that consolidated metadata, if present, equal the documents.
fn consolidated_is_right(documents: &BTreeMap<String, Value>) -> Result<(), String> {
    let root = documents
        .get("zarr.json")
        .and_then(|root| root.get(CONSOLIDATED))
        .and_then(|found| found["metadata"].as_object());
    for (path, said) in root.into_iter().flatten() {
        let [mut said, mut is] = [Some(said), documents.get(&format!("{path}/zarr.json"))]
            .map(|document| document.cloned().unwrap_or_default());
        for document in [&mut said, &mut is] {
            document.as_object_mut().map(|document| document.remove(CONSOLIDATED));
        }
        if said != is {
            return Err(format!("{path}: consolidated as\n      {said}\n      it is\n      {is}"));
        }
    }
    Ok(())
}

/// Removes the added attribute and its recorded type from a document. Returns whether the attribute existed.
fn forget(document: &mut Value) -> bool {
    let Some(attrs) = document.get_mut("attributes").and_then(Value::as_object_mut) else { return false };
    match attrs.get_mut("_nczarr_attrs").and_then(|recorded| recorded.get_mut("attribute_types")) {
        Some(Value::Array(list)) => list.retain(|entry| entry["name"] != ADDED),
        Some(Value::Object(types)) => drop(types.remove(ADDED)),
        _ => {}
    }
    attrs.remove(ADDED).is_some()
}
