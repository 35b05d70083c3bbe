//! `Dimension::reserve`: many writers append records, and each record exists once.
//!
//! Writers are threads on one handle, several handles, and copies of the test program as other processes.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nczarr::{CreateOptions, ErrorKind, File, OpenOptions};
use serde_json::Value;

const WRITERS: usize = 6;
const APPENDS: usize = 12;
const FILL: i32 = -7;
const PLACE: &str = "NCZ_TEST_RESERVE";
const WRITER: &str = "NCZ_TEST_RESERVE_WRITER";

/// The formats that several handles may write at the same time: the name, the modes, and whether to use
/// shards.
const SHARED: [(&str, &str, bool); 7] = [
    ("nczarr2.zarr", "nczarr,v2", false),
    ("nczarr3.zarr", "nczarr,v3", false),
    ("zarr2.zarr", "zarr,v2", false),
    ("zarr3.zarr", "zarr,v3", false),
    ("shards.zarr", "nczarr,v3", true),
    ("consolidated2.zarr", "zarr,v2,consolidated", false),
    ("consolidated3.zarr", "nczarr,v3,consolidated", true),
];

/// The formats with a single writer.
const ALONE: [(&str, &str); 7] = [
    ("a.zip", "nczarr,v2,zip"),
    ("b.zip", "zarr,v3,zip"),
    ("cdf1.nc", "cdf1"),
    ("cdf2.nc", "cdf2"),
    ("cdf5.nc", "cdf5"),
    ("new.nc", "netcdf-4"),
    ("classic.nc", "nc4-classic"),
];

fn url(dir: &Path, name: &str, modes: &str) -> String {
    format!("file://{}#mode={modes}", dir.join(name).display())
}

/// Makes a dataset without records. Records of several writers share each chunk.
fn make(place: &str, shards: bool) -> File {
    let file = CreateOptions::new().annotate(true).create(place).unwrap();
    file.add_unlimited_dimension("time").unwrap();
    file.add_dimension("x", 2).unwrap();
    let time = file.add_variable::<i32>("time", &["time"]).unwrap();
    let v = file.add_variable::<i32>("v", &["time", "x"]).unwrap();
    let is_chunked = !place.contains("mode=cdf");
    for variable in [&time, &v] {
        variable.set_fill(FILL).unwrap();
    }
    if is_chunked {
        time.set_chunking(&[4]).unwrap();
        v.set_chunking(&[4, 2]).unwrap();
    }
    if shards {
        v.set_shards(&[16, 2]).unwrap();
    }
    file
}

/// Appends blocks of one to three records, each with the number of its writer and its own number.
fn append(file: &File, writer: usize, syncs: bool) {
    let dimension = file.dimension("time").unwrap();
    let (time, v) = (file.variable("time").unwrap(), file.variable("v").unwrap());
    let mut number = 0;
    for block in 0..APPENDS {
        let count = block as u64 % 3 + 1;
        let start = dimension.reserve(count).unwrap();
        assert!(dimension.len() >= start + count, "the new length is visible at once");
        let numbers: Vec<i32> = (0..count as i32).map(|at| (writer * 1000) as i32 + number + at).collect();
        let pairs: Vec<i32> = numbers.iter().flat_map(|value| [*value, -value]).collect();
        time.put(&numbers, start..start + count).unwrap();
        v.put(&pairs, (start..start + count, ..)).unwrap();
        number += count as i32;
        if syncs {
            file.sync().unwrap();
        }
    }
}

fn records() -> usize {
    (0..APPENDS).map(|block| block % 3 + 1).sum()
}

/// Checks that each record of each writer exists once, and that each writer's records are in order.
fn check(file: &File, name: &str) {
    let v = file.variable("v").unwrap();
    let total = records() * WRITERS;
    assert_eq!(v.shape().unwrap(), [total as u64, 2], "{name}");
    let times = file.variable("time").unwrap().get_values::<i32>(..).unwrap();
    let pairs = v.get_values::<i32>(..).unwrap();
    let expected: Vec<i32> = times.iter().flat_map(|value| [*value, -value]).collect();
    assert_eq!(pairs, expected, "{name}");
    let mut of_writers: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for value in times {
        of_writers.entry(value / 1000).or_default().push(value % 1000);
    }
    let numbers: Vec<i32> = (0..records() as i32).collect();
    let all = (0..WRITERS as i32).map(|writer| (writer, numbers.clone())).collect();
    assert_eq!(of_writers, all, "{name}");
}

/// The lengths along `time` in each document of a store, also inside consolidated metadata.
fn stored_lengths(value: &Value, found: &mut Vec<u64>) {
    if let Value::Object(members) = value {
        if let Some(shape) = members.get("shape") {
            found.push(shape[0].as_u64().unwrap());
        }
        members.values().for_each(|member| stored_lengths(member, found));
    }
}

#[test]
fn threads_of_one_handle_get_different_records_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let shared = SHARED.map(|(name, modes, shards)| (url(dir.path(), name, modes), shards));
    let alone = ALONE.map(|(name, modes)| (url(dir.path(), name, modes), false));
    let memory = [("memory://reserve-threads".to_owned(), false)];
    for (place, shards) in shared.into_iter().chain(alone).chain(memory) {
        let file = make(&place, shards);
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let file = &file;
                scope.spawn(move || append(file, writer, false));
            }
        });
        check(&file, &place);
        file.close().unwrap();
        check(&nczarr::open(place.as_str()).unwrap(), &place);
        let file = nczarr::append(place.as_str()).unwrap();
        let start = file.dimension("time").unwrap().reserve(1).unwrap();
        assert_eq!(start, (records() * WRITERS) as u64, "{place}");
    }
}

#[test]
fn several_handles_get_different_records() {
    let dir = tempfile::tempdir().unwrap();
    let places = SHARED.map(|(name, modes, shards)| (url(dir.path(), name, modes), shards));
    for (place, shards) in places.into_iter().chain([("memory://reserve-handles".to_owned(), false)]) {
        make(&place, shards).close().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let place = place.as_str();
                scope.spawn(move || {
                    let file = nczarr::append(place).unwrap();
                    append(&file, writer, writer % 2 == 0);
                    file.close().unwrap();
                });
            }
        });
        check(&nczarr::open(place.as_str()).unwrap(), &place);
    }
}

#[test]
fn several_processes_get_different_records() {
    if let Ok(place) = std::env::var(PLACE) {
        let writer = std::env::var(WRITER).unwrap().parse().unwrap();
        let file = OpenOptions::new().writable(true).threads(1).open(place.as_str()).unwrap();
        append(&file, writer, true);
        return file.close().unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    for (name, modes, shards) in SHARED {
        let place = url(dir.path(), name, modes);
        make(&place, shards).close().unwrap();
        let start = |writer: usize| -> Child {
            Command::new(std::env::current_exe().expect("this program"))
                .args(["--nocapture", "--test-threads=1", "--exact"])
                .arg("reserve::several_processes_get_different_records")
                .env(PLACE, &place)
                .env(WRITER, writer.to_string())
                .stdout(Stdio::null())
                .spawn()
                .expect("a child")
        };
        let mut children: Vec<Child> = (0..WRITERS).map(start).collect();
        let consolidated =
            dir.path().join(name).join(if modes.contains("v2") { ".zmetadata" } else { "zarr.json" });
        let (mut looks, mut last) = (0, 0);
        // Readers of consolidated metadata find equal lengths at each moment, and they never shrink.
        while modes.contains("consolidated")
            && children.iter_mut().any(|child| child.try_wait().unwrap().is_none())
        {
            let document: Value = serde_json::from_slice(&std::fs::read(&consolidated).unwrap()).unwrap();
            let mut lengths = Vec::new();
            stored_lengths(&document, &mut lengths);
            assert_eq!(lengths.len(), 2, "{name}: {document}");
            assert!(lengths[0] == lengths[1] && lengths[0] >= last, "{name}: {lengths:?} after {last}");
            (looks, last) = (looks + 1, lengths[0]);
        }
        assert!(looks > 0 || !modes.contains("consolidated"), "{name}");
        for child in &mut children {
            assert!(child.wait().unwrap().success(), "{name}");
        }
        check(&nczarr::open(place.as_str()).unwrap(), name);
        // All documents have the final length, and nothing else is in the store.
        let file = nczarr::append(place.as_str()).unwrap();
        assert!(file.faults().unwrap().is_empty(), "{name}");
        let audit = file.dataset().audit().unwrap();
        assert!(audit.faults.is_empty(), "{name}: {audit:?}");
    }
}

#[test]
fn a_reserved_record_reads_as_fill_until_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let shared = SHARED.map(|(name, modes, shards)| (url(dir.path(), name, modes), shards));
    let alone = ALONE.map(|(name, modes)| (url(dir.path(), name, modes), false));
    for (place, shards) in shared.into_iter().chain(alone) {
        let file = make(&place, shards);
        let time = file.dimension("time").unwrap();
        let v = file.variable("v").unwrap();
        assert_eq!(time.reserve(0).unwrap(), 0, "{place}");
        assert_eq!(time.reserve(2).unwrap(), 0, "{place}");
        assert_eq!(v.get_values::<i32>(..).unwrap(), [FILL; 4], "{place}");
        v.put(&[1, 2], (1, ..)).unwrap();
        // A record past the end counts too.
        v.put(&[3, 4], (2, ..)).unwrap();
        assert_eq!(time.reserve(1).unwrap(), 3, "{place}");
        assert_eq!((time.len(), time.reserve(0).unwrap()), (4, 4), "{place}");
        file.close().unwrap();
        let file = nczarr::open(place.as_str()).unwrap();
        let expected = [FILL, FILL, 1, 2, 3, 4, FILL, FILL];
        assert_eq!(file.variable("v").unwrap().get_values::<i32>(..).unwrap(), expected, "{place}");
        assert_eq!(file.variable("time").unwrap().get_values::<i32>(..).unwrap(), [FILL; 4], "{place}");
    }
}

#[test]
fn other_handles_see_the_length_after_sync() {
    let dir = tempfile::tempdir().unwrap();
    for (name, modes, shards) in SHARED {
        let place = url(dir.path(), name, modes);
        make(&place, shards).close().unwrap();
        let reader = nczarr::open(place.as_str()).unwrap();
        let (one, other) = (nczarr::append(place.as_str()).unwrap(), nczarr::append(place.as_str()).unwrap());
        let reserve = |file: &File, count| file.dimension("time").unwrap().reserve(count).unwrap();
        assert_eq!((reserve(&one, 3), reserve(&other, 2), reserve(&one, 1)), (0, 3, 5), "{name}");
        assert_eq!(reader.dimension("time").unwrap().len(), 0, "{name}");
        reader.sync().unwrap();
        assert_eq!(reader.variable("time").unwrap().shape().unwrap(), [6], "{name}");
        // Other changes of a handle keep the lengths.
        one.put_attribute("title", "x").unwrap();
        one.sync().unwrap();
        other.variable("v").unwrap().put_attribute("units", "K").unwrap();
        other.close().unwrap();
        assert_eq!(reserve(&one, 1), 6, "{name}");
        drop(one);
        let file = nczarr::open(place.as_str()).unwrap();
        assert_eq!(file.variable("v").unwrap().shape().unwrap(), [7, 2], "{name}");
        assert!(file.attribute("title").is_some(), "{name}");
    }
}

#[test]
fn a_dimension_of_a_group_and_a_second_one_grow_by_themselves() {
    let dir = tempfile::tempdir().unwrap();
    for modes in ["nczarr,v2", "nczarr,v3", "zarr,v2", "zarr,v3,consolidated", "netcdf-4"] {
        let place = url(dir.path(), &modes.replace(',', "-"), modes);
        let file = CreateOptions::new().annotate(true).create(place.as_str()).unwrap();
        let outer = file.add_unlimited_dimension("outer").unwrap();
        let group = file.add_group("g").unwrap();
        let inner = group.add_unlimited_dimension("inner").unwrap();
        let v = group.add_variable::<i32>("v", &["outer", "inner"]).unwrap();
        file.add_variable::<i32>("outer", &["outer"]).unwrap();
        assert_eq!(
            (inner.reserve(3).unwrap(), outer.reserve(2).unwrap(), inner.reserve(1).unwrap()),
            (0, 0, 3)
        );
        v.put(&[5, 6], (1, 2..4)).unwrap();
        file.close().unwrap();
        let file = nczarr::append(place.as_str()).unwrap();
        let v = file.group("g").unwrap().variable("v").unwrap();
        assert_eq!(v.shape().unwrap(), [2, 4], "{modes}");
        assert_eq!(v.get_values::<i32>((1, 2..)).unwrap(), [5, 6], "{modes}");
        let dims = v.dimensions();
        assert_eq!((dims[1].reserve(1).unwrap(), dims[0].reserve(1).unwrap()), (4, 2), "{modes}");
        assert_eq!(v.shape().unwrap(), [3, 5], "{modes}");
    }
}

#[test]
fn a_reservation_that_cannot_be_made_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let shared = SHARED.map(|(name, modes, shards)| (url(dir.path(), name, modes), shards));
    let alone = ALONE.map(|(name, modes)| (url(dir.path(), name, modes), false));
    for (place, shards) in shared.into_iter().chain(alone) {
        let file = make(&place, shards);
        let kind =
            |file: &File, name: &str, count| file.dimension(name).unwrap().reserve(count).unwrap_err().kind();
        assert_eq!(kind(&file, "x", 1), ErrorKind::Inval, "{place}");
        let time = file.dimension("time").unwrap();
        assert_eq!(time.reserve(5).unwrap(), 0, "{place}");
        for count in [u64::MAX, i64::MAX as u64 - 4] {
            assert_eq!(kind(&file, "time", count), ErrorKind::DimSize, "{place}");
        }
        assert_eq!(time.len(), 5, "{place}: a failed call reserves nothing");
        file.close().unwrap();
        assert_eq!(time.reserve(1).unwrap_err().kind(), ErrorKind::BadId, "{place}");
        let reader = nczarr::open(place.as_str()).unwrap();
        assert_eq!(kind(&reader, "time", 1), ErrorKind::Perm, "{place}");
        assert_eq!(reader.dimension("time").unwrap().len(), 5, "{place}");
    }
}

/// Plain Zarr without annotation cannot mark a dimension as unlimited, so it is fixed once it has records.
#[test]
fn plain_zarr_without_annotation() {
    let dir = tempfile::tempdir().unwrap();
    for modes in ["zarr,v2", "zarr,v3"] {
        let place = url(dir.path(), modes, modes);
        let file = nczarr::create(place.as_str()).unwrap();
        let time = file.add_unlimited_dimension("time").unwrap();
        let error = time.reserve(1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadDim, "{error}");
        file.add_variable::<i32>("b", &["time"]).unwrap();
        file.add_variable::<i32>("a", &["time"]).unwrap();
        file.add_variable::<i32>("time", &["time"]).unwrap();
        file.sync().unwrap();
        let other = nczarr::append(place.as_str()).unwrap();
        assert_eq!(time.reserve(2).unwrap(), 0, "{modes}");
        assert_eq!(other.dimension("time").unwrap().reserve(3).unwrap(), 2, "{modes}");
        assert_eq!(time.reserve(1).unwrap(), 5, "{modes}");
        let late = nczarr::append(place.as_str()).unwrap();
        assert_eq!(
            late.dimension("time").unwrap().reserve(1).unwrap_err().kind(),
            ErrorKind::Inval,
            "{modes}"
        );
        for name in ["a", "b", "time"] {
            assert_eq!(late.variable(name).unwrap().shape().unwrap(), [6], "{modes}");
        }
    }
}

#[test]
fn a_writer_that_is_alone_stores_the_length_later() {
    let dir = tempfile::tempdir().unwrap();
    for (name, modes, shards) in SHARED {
        let place = url(dir.path(), name, modes);
        make(&place, shards).close().unwrap();
        let file = OpenOptions::new().writable(true).exclusive(true).open(place.as_str()).unwrap();
        let time = file.dimension("time").unwrap();
        assert_eq!((time.reserve(2).unwrap(), time.reserve(2).unwrap()), (0, 2), "{name}");
        file.close().unwrap();
        assert_eq!(nczarr::open(place.as_str()).unwrap().dimension("time").unwrap().len(), 4, "{name}");
    }
}

/// A writer that stops between its steps leaves documents of different lengths.
#[test]
fn the_next_reservation_repairs_an_interrupted_one() {
    let dir = tempfile::tempdir().unwrap();
    let place = url(dir.path(), "a", "nczarr,v2,consolidated");
    let file = make(&place, false);
    let time = file.dimension("time").unwrap();
    assert_eq!(time.reserve(2).unwrap(), 0);
    file.close().unwrap();
    for (document, from, to) in [
        // Only the meeting point was written, or only an array, as by zarr-python.
        (".zattrs", "\"size\": 2", "\"size\": 5"),
        ("v/.zarray", "\"shape\": [6,", "\"shape\": [9,"),
    ] {
        let path = dir.path().join("a").join(document);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(&path, text.replace(from, to)).unwrap();
        let expected = if document == ".zattrs" { 5 } else { 9 };
        let file = nczarr::append(place.as_str()).unwrap();
        assert_eq!(file.dimension("time").unwrap().reserve(1).unwrap(), expected);
        drop(file);
        let mut lengths = Vec::new();
        for name in ["v/.zarray", "time/.zarray", ".zmetadata"] {
            let text = std::fs::read(dir.path().join("a").join(name)).unwrap();
            stored_lengths(&serde_json::from_slice(&text).unwrap(), &mut lengths);
        }
        assert_eq!(lengths, [expected + 1; 4], "{document}");
    }
}
