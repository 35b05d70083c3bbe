//! Shards that the caller requests when it defines a Zarr V3 variable.

use std::sync::atomic::{AtomicU32, Ordering};

use nczarr::{CreateOptions, ErrorKind, File, Place, Result, Values, Variable};
use nczarr_tests::plan::Plan;
use nczarr_tests::samples;

/// The objects below a folder that are not documents.
fn objects(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() { found.extend(objects(&entry)) } else { found.push(entry.display().to_string()) }
    }
    // The lock of writers has a hidden name.
    found.retain(|path| !path.ends_with("zarr.json") && !path.rsplit('/').next().unwrap().starts_with('.'));
    found.sort();
    found
}

fn fresh(mode: &str) -> File {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    nczarr::create(format!("memory://shards-{}#mode={mode}", NEXT.fetch_add(1, Ordering::Relaxed))).unwrap()
}

fn kind<T: std::fmt::Debug>(outcome: Result<T>) -> ErrorKind {
    outcome.unwrap_err().kind()
}

fn made(file: &File) -> Variable {
    file.add_dimension("y", 10).unwrap();
    file.add_dimension("x", 7).unwrap();
    let v = file.add_variable::<i32>("v", &["y", "x"]).unwrap();
    v.set_chunking(&[2, 3]).unwrap();
    v
}

#[test]
fn chunks_lie_in_the_shards_that_were_asked_for() {
    let place = tempfile::tempdir().unwrap();
    for flavour in ["nczarr", "zarr"] {
        let path = place.path().join(flavour);
        let file = nczarr::create(format!("file://{}#mode={flavour},v3", path.display())).unwrap();
        let v = made(&file);
        v.set_deflate(3, true).unwrap();
        v.set_shards(&[4, 6]).unwrap();
        let values: Vec<i32> = (0..70).map(|i| i * 77 - 1000).collect();
        v.put(&values, ..).unwrap();
        file.close().unwrap();
        assert_eq!(objects(&path).len(), 3 * 2, "one for each shard");
        let file = nczarr::open(path.display().to_string()).unwrap();
        let v = file.variable("v").unwrap();
        assert_eq!((v.shard_shape(), v.chunk_shape().unwrap()), (Some(vec![4, 6]), Some(vec![2, 3])));
        assert_eq!(v.get::<i32>(..).unwrap().as_slice(), values);
        assert_eq!(v.get::<i32>((3..9, 2..5)).unwrap().as_slice(), {
            let rows = (3..9).flat_map(|y| (2..5).map(move |x| (y, x)));
            rows.map(|(y, x)| values[y * 7 + x]).collect::<Vec<_>>()
        });
    }
}

#[test]
fn parts_are_written_and_grow() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a");
    let file = nczarr::create(format!("file://{}#mode=nczarr,v3", path.display())).unwrap();
    file.add_unlimited_dimension("t").unwrap();
    file.add_dimension("x", 5).unwrap();
    let v = file.add_variable::<f64>("v", &["t", "x"]).unwrap();
    v.set_chunking(&[1, 5]).unwrap();
    v.set_shards(&[4, 5]).unwrap();
    for t in 0..6u8 {
        v.put(&[f64::from(t); 5], (u64::from(t), ..)).unwrap();
        if t % 2 == 0 {
            file.sync().unwrap();
        }
    }
    v.put(&[9.5], (2, 3)).unwrap();
    file.close().unwrap();
    assert_eq!(objects(&path).len(), 2, "{:?}", objects(&path));
    let file = nczarr::open(path.display().to_string()).unwrap();
    let found = file.variable("v").unwrap().get::<f64>(..).unwrap();
    let mut expected: Vec<f64> = (0..6).flat_map(|t| [f64::from(t); 5]).collect();
    expected[13] = 9.5;
    assert_eq!(found.as_slice(), expected);
}

#[test]
fn shards_are_whole_chunks() {
    let file = fresh("nczarr,v3");
    let v = made(&file);
    for bad in [&[3, 3][..], &[4, 0], &[4], &[4, 6, 1], &[4, u64::MAX]] {
        assert_eq!(kind(v.set_shards(bad)), ErrorKind::BadChunk, "{bad:?}");
    }
    // Shards can extend beyond the data.
    v.set_shards(&[100, 300]).unwrap();
    assert_eq!(kind(v.set_chunking(&[3, 3])), ErrorKind::BadChunk);
    v.set_chunking(&[5, 3]).unwrap();
    let scalar = file.add_variable::<i32>("s", &[]).unwrap();
    assert_eq!(kind(scalar.set_shards(&[])), ErrorKind::Inval);
    // If the library chooses the chunk shape, a shard is a whole number of chunks.
    let chosen = file.add_variable::<i32>("chosen", &["y", "x"]).unwrap();
    chosen.set_shards(&[3, 11]).unwrap();
    v.put(&[1; 70], ..).unwrap();
    chosen.put(&[2; 70], ..).unwrap();
    file.sync().unwrap();
    assert_eq!((chosen.chunk_shape().unwrap(), chosen.shard_shape()), (Some(vec![3, 7]), Some(vec![3, 14])));
    assert_eq!(kind(v.set_shards(&[5, 3])), ErrorKind::LateDef);
}

#[test]
fn an_index_has_a_limit() {
    let file = fresh("nczarr,v3");
    file.add_unlimited_dimension("t").unwrap();
    let v = file.add_variable::<i32>("v", &["t"]).unwrap();
    v.set_chunking(&[1]).unwrap();
    v.set_shards(&[1 << 40]).unwrap();
    let error = file.sync().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadChunk);
    assert!(error.to_string().contains("found 17592186044420)"), "{error}");
}

#[test]
fn other_formats_have_none() {
    for mode in ["nczarr", "zarr"] {
        let file = fresh(mode);
        let error = made(&file).set_shards(&[4, 6]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotNc4);
        assert!(error.to_string().contains("only Zarr V3"), "{error}");
    }
    let file = CreateOptions::new().create_in_memory(Place::url("c.nc#mode=classic"), false).unwrap();
    file.add_dimension("y", 10).unwrap();
    let error = file.add_variable::<i32>("v", &["y"]).unwrap().set_shards(&[4]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotNc4);
    assert!(error.to_string().contains("shards: not supported by the classic formats"), "{error}");
}

#[test]
fn all_samples_round_trip_in_shards() {
    let place = tempfile::tempdir().unwrap();
    for (name, plan) in samples::all() {
        for flavour in ["nczarr", "zarr"] {
            let path = place.path().join(format!("{name}.{flavour}")).display().to_string();
            plan.sharded().create(&format!("file://{path}#mode={flavour},v3")).unwrap();
            let file = nczarr::open(&path).unwrap();
            let found = Plan::of(&file).unwrap();
            in_shards(name, &found);
            if flavour == "nczarr" {
                assert_eq!(plan.differences(&file), Vec::<String>::new(), "{name}");
            } else {
                same_data(name, &plan, &found);
            }
        }
    }
}

fn in_shards(name: &str, plan: &Plan) {
    for var in &plan.vars {
        assert_eq!(var.shards.is_some(), !var.dims.is_empty(), "{name}: {}", var.name);
    }
    plan.groups.iter().for_each(|(_, plan)| in_shards(name, plan));
}

/// Compares names and values. The characters of a plain store are numbers.
fn same_data(name: &str, plan: &Plan, found: &Plan) {
    for var in &plan.vars {
        let there = found.vars.iter().find(|there| there.name == var.name).unwrap();
        let found = match (&var.data, &there.data) {
            (Values::Char(_), Values::UByte(bytes)) => Values::Char(bytes.clone()),
            (_, data) => data.clone(),
        };
        assert_eq!(format!("{found:?}"), format!("{:?}", var.data), "{name}: {}", var.name);
    }
    for (group, plan) in &plan.groups {
        let (_, found) = found.groups.iter().find(|(there, _)| there == group).unwrap();
        same_data(name, plan, found);
    }
}
