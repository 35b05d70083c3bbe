//! Concurrent access: threads that define and write, several writers of one store, and maps with their own
//! batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use nczarr_dispatch::{Dataset, HeaderPadding, Options};
use nczarr_model::{Chunking, ErrorKind, GroupId, NcType, Values, VarId};
use nczarr_nc_table::NcDispatch;
use nczarr_storage::ZMapExt;

use crate::support::{TestMap, create, get, open, open_rw, open_with, put, var};

const ROOT: GroupId = GroupId::ROOT;

/// Creates a dimension `x` of 10 and `count` variables over it.
fn with_variables(map: &Arc<TestMap>, modes: &str, count: usize) -> Arc<dyn Dataset> {
    let d = create(map, modes);
    let x = d.def_dim(ROOT, "x", Some(10)).unwrap();
    for i in 0..count {
        let v = d.def_var(ROOT, &format!("v{i}"), NcType::Float, &[x]).unwrap();
        d.put_att(ROOT, Some(v), "units", NcType::Char, &Values::text("K")).unwrap();
    }
    d
}

/// Runs `work` on several threads at once. Each gets its number.
fn at_once(threads: usize, work: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for number in 0..threads {
            let work = &work;
            scope.spawn(move || work(number));
        }
    });
}

fn number(dataset: &dyn Dataset, var: Option<VarId>, name: &str) -> Option<i32> {
    match dataset.get_att(ROOT, var, name, None).ok()?.0 {
        Values::Int(values) => values.first().copied(),
        _ => None,
    }
}

#[test]
fn one_of_concurrent_definitions_of_a_name_wins() {
    // One dataset is new and one is opened. The opened one asks the storage for each name.
    for opened in [false, true] {
        let map = TestMap::new(&[]);
        let mut d = with_variables(&map, "nczarr", 4);
        if opened {
            d.close().unwrap();
            d = open_rw(&map);
        }
        let x = d.inq_dimid(ROOT, "x").unwrap();
        let (made, renamed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        at_once(4, |thread| {
            for round in 0..25 {
                let name = format!("new{round}");
                let outcome = match (thread + round) % 2 {
                    0 => d.def_var(ROOT, &name, NcType::Int, &[x]).map(drop),
                    _ => d.def_grp(ROOT, &name).map(drop),
                };
                match outcome {
                    Ok(()) => made.fetch_add(1, Ordering::Relaxed),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::NameInUse, "{error}");
                        0
                    }
                };
                let own = VarId(thread as u32);
                match d.rename_var(own, &format!("r{round}")) {
                    Ok(()) => renamed.fetch_add(1, Ordering::Relaxed),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::NameInUse, "{error}");
                        0
                    }
                };
            }
        });
        assert_eq!(made.into_inner(), 25);
        assert!(renamed.into_inner() >= 25);
        let model = d.model().snapshot();
        d.close().unwrap();
        let again = open(&map).unwrap().model().snapshot();
        let names = |model: &nczarr_model::Model| {
            let root = model.root();
            let mut names: Vec<String> = root.vars.keys().chain(root.groups.keys()).cloned().collect();
            names.sort();
            names
        };
        assert_eq!(names(&again), names(&model), "opened: {opened}");
        assert_eq!(names(&again).len(), 4 + 25);
    }
}

#[test]
fn threads_define_rename_delete_write_and_commit() {
    const ROUNDS: usize = 30;
    let map = TestMap::new(&[]);
    let d = with_variables(&map, "nczarr", 0);
    let x = d.inq_dimid(ROOT, "x").unwrap();
    at_once(4, |thread| {
        for round in 0..ROUNDS {
            let v = d.def_var(ROOT, &format!("t{thread}r{round}"), NcType::Int, &[x]).unwrap();
            d.put_att(ROOT, Some(v), "old", NcType::Int, &Values::Int(vec![round as i32])).unwrap();
            d.put_att(ROOT, Some(v), "gone", NcType::Int, &Values::Int(vec![1])).unwrap();
            d.def_var_chunking(v, &Chunking::Chunked(vec![1 + round as u64 % 10])).unwrap();
            if round % 5 == thread {
                d.sync().unwrap();
            }
            d.rename_att(ROOT, Some(v), "old", "new").unwrap();
            d.del_att(ROOT, Some(v), "gone").unwrap();
            put(&*d, v, &[0], &[10], &[round as f64; 10]);
            if round % 3 == 0 {
                d.rename_var(v, &format!("m{thread}r{round}")).unwrap();
            }
            d.put_att(ROOT, None, &format!("global{thread}"), NcType::Int, &Values::Int(vec![round as i32]))
                .unwrap();
        }
    });
    d.close().unwrap();
    let d = open(&map).unwrap();
    for thread in 0..4 {
        for round in 0..ROUNDS {
            let letter = if round % 3 == 0 { 'm' } else { 't' };
            let v = var(&*d, &format!("{letter}{thread}r{round}"));
            assert_eq!(get(&*d, v), [round as f64; 10]);
            assert_eq!(
                (number(&*d, Some(v), "new"), number(&*d, Some(v), "gone")),
                (Some(round as i32), None)
            );
            assert_eq!(d.data(v).unwrap().chunk_shape(), Some(vec![1 + round as u64 % 10]));
        }
        assert_eq!(number(&*d, None, &format!("global{thread}")), Some(ROUNDS as i32 - 1));
    }
    assert_eq!(d.model().snapshot().vars().len(), 4 * ROUNDS);
}

#[test]
fn the_last_edit_of_a_layout_counts_despite_data_access() {
    let map = TestMap::new(&[]);
    let d = with_variables(&map, "nczarr", 1);
    let v = var(&*d, "v0");
    at_once(3, |thread| {
        for round in 0..200u64 {
            match thread {
                0 => d.def_var_chunking(v, &Chunking::Chunked(vec![1 + round % 10])).unwrap(),
                1 => drop(d.data(v).unwrap().chunk_shape()),
                _ => d.editor().unwrap().commit(HeaderPadding::default()).unwrap(),
            }
        }
    });
    d.def_var_chunking(v, &Chunking::Chunked(vec![7])).unwrap();
    assert_eq!(d.data(v).unwrap().chunk_shape(), Some(vec![7]));
    put(&*d, v, &[0], &[10], &[1.0; 10]);
    d.close().unwrap();
    assert_eq!(map.json("v0/.zarray")["chunks"].to_string(), "[7]");
    assert_eq!(get(&*open(&map).unwrap(), VarId(0)), [1.0; 10]);
}

#[test]
fn commits_in_a_thread_pool_do_not_deadlock() {
    let map = TestMap::new(&[]);
    let d = with_variables(&map, "nczarr", 300);
    let x = d.inq_dimid(ROOT, "x").unwrap();
    let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.scope(|scope| {
        for task in 0..8 {
            let d = &d;
            scope.spawn(move |_| {
                for i in 0..60 {
                    d.def_var(ROOT, &format!("task{task}_{i}"), NcType::Float, &[x]).unwrap();
                }
                d.editor().unwrap().commit(HeaderPadding::default()).unwrap();
            });
        }
    });
    d.close().unwrap();
    assert_eq!(open(&map).unwrap().model().snapshot().vars().len(), 300 + 8 * 60);
}

#[test]
fn several_datasets_add_to_one_store() {
    let map = TestMap::new(&[]);
    with_variables(&map, "nczarr", 2).close().unwrap();
    let (one, two) = (open_rw(&map), open_rw(&map));
    let x = one.inq_dimid(ROOT, "x").unwrap();
    one.def_var(ROOT, "a", NcType::Int, &[x]).unwrap();
    let y = two.def_dim(ROOT, "y", Some(3)).unwrap();
    let z = two.def_dim(ROOT, "z", None).unwrap();
    let b = two.def_var(ROOT, "b", NcType::Int, &[z, y]).unwrap();
    put(&*two, b, &[0, 0], &[2, 3], &[5.0; 6]);
    one.sync().unwrap();
    two.sync().unwrap();
    // A rename by one writer does not affect additions of the other, and old values do not return.
    one.rename_var(var(&*one, "v0"), "w").unwrap();
    one.def_grp(ROOT, "g").unwrap();
    one.sync().unwrap();
    two.def_grp(ROOT, "h").unwrap();
    two.close().unwrap();
    one.close().unwrap();
    let d = open(&map).unwrap();
    let model = d.model().snapshot();
    let mut names: Vec<&String> = model.root().vars.keys().chain(model.root().groups.keys()).collect();
    names.sort();
    assert_eq!(names, ["a", "b", "g", "h", "v1", "w"]);
    assert_eq!(get(&*d, var(&*d, "b")), [5.0; 6]);
    assert_eq!(model.shape(var(&*d, "b")).unwrap(), [2, 3]);
}

#[test]
fn datasets_of_several_threads_lose_nothing() {
    const ROUNDS: usize = 12;
    let map = TestMap::new(&[]);
    with_variables(&map, "nczarr", 1).close().unwrap();
    at_once(4, |thread| {
        let d = open_rw(&map);
        let x = d.inq_dimid(ROOT, "x").unwrap();
        for round in 0..ROUNDS {
            let own = d.def_dim(ROOT, &format!("d{thread}_{round}"), Some(2)).unwrap();
            d.def_var(ROOT, &format!("v{thread}_{round}"), NcType::Int, &[x, own]).unwrap();
            d.def_grp(ROOT, &format!("g{thread}_{round}")).unwrap();
            d.sync().unwrap();
        }
        d.close().unwrap();
    });
    let model = open(&map).unwrap().model().snapshot();
    assert_eq!((model.vars().len(), model.groups().len()), (1 + 4 * ROUNDS, 1 + 4 * ROUNDS));
    assert_eq!(model.dims().len(), 1 + 4 * ROUNDS);
}

#[test]
fn attributes_are_written_before_array_documents() {
    for (modes, eager) in [("nczarr", false), ("nczarr", true), ("zarr", true)] {
        let map = TestMap::new(&[]);
        if eager {
            map.be_eager();
        }
        let d = with_variables(&map, modes, 100);
        let g = d.def_grp(ROOT, "g").unwrap();
        d.def_grp(g, "h").unwrap();
        d.close().unwrap();
        let written = map.take_writes();
        let place =
            |key: &str| written.iter().position(|one| one == key).unwrap_or_else(|| panic!("no {key}"));
        for i in 0..100 {
            assert!(place(&format!("v{i}/.zattrs")) < place(&format!("v{i}/.zarray")));
            assert!(place(&format!("v{i}/.zarray")) < place(".zattrs"));
        }
        assert!(place("g/h/.zattrs") < place("g/h/.zgroup") && place("g/h/.zgroup") < place("g/.zattrs"));
        assert!(place("g/.zgroup") < place(".zattrs"));
        assert_eq!(place(".zgroup"), 0, "it is known for a dataset from the beginning");
        assert_eq!(written.len(), 2 * 103);
        let modes = if modes == "zarr" { "zarr" } else { "nczarr" };
        let d = crate::support::open_with(&map, modes, false, &nczarr_dispatch::Options::default()).unwrap();
        assert_eq!(d.model().snapshot().vars().len(), 100);
    }
}

#[test]
fn objects_dropped_by_a_map_are_written_again() {
    let map = TestMap::new(&[]);
    let d = with_variables(&map, "nczarr", 5);
    for kept in 0..4 {
        map.be_forgetful(Some(kept));
        assert_eq!(
            d.editor().unwrap().commit(HeaderPadding::default()).unwrap_err().kind(),
            ErrorKind::Internal
        );
    }
    assert!(!map.exists(&nczarr_storage::Key::new(".zattrs").unwrap()).unwrap());
    map.be_forgetful(None);
    d.close().unwrap();
    assert_eq!(open(&map).unwrap().model().snapshot().vars().len(), 5);
}

#[test]
fn many_renames_chains_and_circles() {
    let map = TestMap::new(&[]);
    let d = with_variables(&map, "nczarr", 40);
    for i in 0..40 {
        put(&*d, VarId(i), &[0], &[10], &[f64::from(i); 10]);
    }
    d.close().unwrap();
    let d = open_rw(&map);
    // 0..10 move up by one, all at once. 10..20 rotate, 20..30 swap in pairs, and the others stay.
    d.rename_var(VarId(9), "top").unwrap();
    for i in (0..9u32).rev() {
        d.rename_var(VarId(i), &format!("v{}", i + 1)).unwrap();
    }
    let to = |i: u32| match i {
        10..20 => 10 + (i - 10 + 3) % 10,
        20..30 => i ^ 1,
        _ => i,
    };
    for i in 10..30 {
        d.rename_var(VarId(i), &format!("tmp{i}")).unwrap();
    }
    for i in 10..30 {
        d.rename_var(VarId(i), &format!("v{}", to(i))).unwrap();
    }
    d.close().unwrap();
    let d = open(&map).unwrap();
    let expected = (0..9).map(|i| (format!("v{}", i + 1), i)).chain([("top".to_owned(), 9)]);
    for (name, value) in expected.chain((10..40).map(|i| (format!("v{}", to(i)), i))) {
        assert_eq!(get(&*d, var(&*d, &name)), [f64::from(value); 10], "{name}");
    }
    assert!(map.keys().iter().all(|key| !key.contains(".moving")), "{:?}", map.keys());
}

/// Two sessions on one dataset each store only their own changes of attributes.
#[test]
fn attributes_of_two_writers_are_all_there() {
    for modes in ["nczarr", "zarr", "zarr,annotate", "nczarr,v3", "zarr,v3,annotate"] {
        let map = TestMap::new(&[]);
        let d = with_variables(&map, modes, 1);
        for var in [None, Some(VarId(0))] {
            for name in ["both", "gone", "old", "kept"] {
                d.put_att(ROOT, var, name, NcType::Short, &Values::Short(vec![1])).unwrap();
            }
        }
        d.close().unwrap();
        let options = nczarr_dispatch::Options::default();
        let open = |writable| {
            let modes: Vec<&str> = modes.split(',').filter(|mode| *mode != "annotate").collect();
            crate::support::open_with(&map, &modes.join(","), writable, &options).unwrap()
        };
        let (one, other) = (open(true), open(true));
        for var in [None, Some(VarId(0))] {
            other.put_att(ROOT, var, "theirs", NcType::Byte, &Values::Byte(vec![7])).unwrap();
            other.put_att(ROOT, var, "both", NcType::Byte, &Values::Byte(vec![7])).unwrap();
            other.put_att(ROOT, var, "old", NcType::Float, &Values::Float(vec![0.1])).unwrap();
            other.del_att(ROOT, var, "gone").unwrap();
            other.put_att(ROOT, var, "nan", NcType::Double, &Values::Double(vec![-f64::NAN])).unwrap();
        }
        other.sync().unwrap();
        for var in [None, Some(VarId(0))] {
            one.put_att(ROOT, var, "ours", NcType::UByte, &Values::UByte(vec![3])).unwrap();
            one.put_att(ROOT, var, "both", NcType::Int64, &Values::Int64(vec![3])).unwrap();
        }
        one.close().unwrap();
        other.close().unwrap();
        let found = open(false);
        let types = !modes.starts_with("zarr") || modes.ends_with("annotate");
        for var in [None, Some(VarId(0))] {
            let att = |name: &str| found.get_att(ROOT, var, name, None).map(|found| found.0);
            assert!(att("gone").is_err(), "{modes}");
            for (name, values) in [
                ("theirs", Values::Byte(vec![7])),
                ("ours", Values::UByte(vec![3])),
                ("both", Values::Int64(vec![3])),
                ("kept", Values::Short(vec![1])),
                ("old", Values::Float(vec![0.1])),
            ] {
                let found = att(name).unwrap_or_else(|error| panic!("{modes}: {name}: {error}"));
                assert!(!types || found == values, "{modes}: {name} is {found:?}");
            }
            match att("nan").unwrap() {
                Values::Double(nan) if types => {
                    assert_eq!(nan[0].to_bits(), (-f64::NAN).to_bits(), "{modes}")
                }
                nan => assert!(!types, "{modes}: {nan:?}"),
            }
        }
    }
}

/// Consolidated metadata of a group is removed before a change below the group, and only then.
#[test]
fn consolidated_metadata_of_groups_stays_current() {
    for (modes, key) in [("nczarr", "g/.zmetadata"), ("zarr", "g/.zmetadata"), ("zarr,v3", "g/zarr.json")] {
        for change in 0..4 {
            let map = TestMap::new(&[]);
            let d = create(&map, modes);
            let x = d.def_dim(ROOT, "x", Some(2)).unwrap();
            let g = d.def_grp(ROOT, "g").unwrap();
            let h = d.def_grp(g, "h").unwrap();
            let v = d.def_var(h, "v", NcType::Int, &[x]).unwrap();
            put(&*d, v, &[0], &[2], &[1.0, 2.0]);
            d.close().unwrap();
            let nested = "{\"kind\": \"inline\", \"must_understand\": false, \"metadata\": {}}";
            if modes.ends_with("v3") {
                let text = map.text(key);
                let text = text.trim_end().strip_suffix('}').unwrap();
                map.put(key, format!("{text}, \"consolidated_metadata\": {nested}}}").as_bytes());
            } else {
                map.put(key, b"{\"metadata\": {}, \"zarr_consolidated_format\": 1}");
            }
            let is_there =
                || map.keys().iter().any(|one| one == key) && map.text(key).contains("onsolidated_");
            assert!(is_there());
            let d = open_rw(&map);
            let model = d.model().snapshot();
            let (g, v) = (model.root().groups["g"], VarId(0));
            let h = model.group(g).unwrap().groups["h"];
            put(&*d, v, &[0], &[1], &[3.0]);
            d.sync().unwrap();
            assert!(is_there(), "data alone");
            match change {
                0 => d.put_att(h, Some(v), "a", NcType::Int, &Values::Int(vec![1])).unwrap(),
                1 => d.put_att(h, None, "a", NcType::Int, &Values::Int(vec![1])).unwrap(),
                2 => d.rename_var(v, "w").unwrap(),
                _ => drop(d.def_var(h, "w", NcType::Int, &[x]).unwrap()),
            }
            d.close().unwrap();
            assert!(!is_there(), "{modes} {change}");
            open(&map).unwrap();
        }
    }
}

/// Consolidated metadata lists the documents of both writers. If one writer may lack a document, it is
/// removed.
#[test]
fn consolidated_metadata_includes_another_writers_objects() {
    for modes in ["nczarr", "zarr", "nczarr,v3", "zarr,v3"] {
        // One writer creates the dataset and one opens it. The other writer defines a variable or only an
        // attribute.
        for (created, defines) in [(true, true), (true, false), (false, true), (false, false)] {
            let map = TestMap::new(&[]);
            let mut one = with_variables(&map, &format!("{modes},consolidated"), 2);
            one.sync().unwrap();
            if !created {
                one.close().unwrap();
                one = open_rw(&map);
            }
            let key = if modes.ends_with("v3") { "zarr.json" } else { ".zmetadata" };
            let is_there = || map.keys().iter().any(|one| one == key);
            let text = || if is_there() { map.text(key) } else { String::new() };
            assert!(text().contains("onsolidated_"), "{modes}");
            let other = open_rw(&map);
            other.put_att(ROOT, Some(VarId(0)), "theirs", NcType::Int, &Values::Int(vec![7])).unwrap();
            if defines {
                let x = other.inq_dimid(ROOT, "x").unwrap();
                other.def_var(ROOT, "w", NcType::Int, &[x]).unwrap();
            }
            other.close().unwrap();
            assert!(text().contains("theirs"), "{modes}");
            one.put_att(ROOT, Some(VarId(0)), "ours", NcType::Int, &Values::Int(vec![8])).unwrap();
            one.close().unwrap();
            let context = format!("{modes} {created} {defines}");
            if defines {
                assert!(!text().contains("onsolidated_"), "{context}: {}", text());
            } else {
                let text = text();
                assert!(
                    text.contains("onsolidated_") && text.contains("theirs") && text.contains("ours"),
                    "{context}: {text}"
                );
            }
            let again = open(&map).unwrap();
            assert_eq!(number(&*again, Some(VarId(0)), "theirs"), Some(7), "{context}");
            assert_eq!(number(&*again, Some(VarId(0)), "ours"), Some(8), "{context}");
            assert_eq!(again.inq_varid(ROOT, "w").is_ok(), defines, "{context}");
        }
    }
}

/// Another writer changes a document after this one has read it to repeat it. The last consolidated metadata
/// repeats the change.
#[test]
fn consolidated_metadata_includes_a_concurrent_change() {
    for modes in ["nczarr", "zarr", "nczarr,v3", "zarr,v3"] {
        let is_v3 = modes.ends_with("v3");
        let map = TestMap::new(&[]);
        with_variables(&map, &format!("{modes},consolidated"), 2).close().unwrap();
        let (one, other) = (open_rw(&map), open_rw(&map));
        // The documents of `v0` are read before.
        map.once(if is_v3 { "read v1/zarr.json" } else { "read v1/.zarray" }, move || {
            other.put_att(ROOT, Some(VarId(0)), "theirs", NcType::Int, &Values::Int(vec![7])).unwrap();
            other.close().unwrap();
        });
        one.put_att(ROOT, None, "ours", NcType::Int, &Values::Int(vec![8])).unwrap();
        one.close().unwrap();
        let text = map.text(if is_v3 { "zarr.json" } else { ".zmetadata" });
        assert!(text.contains("onsolidated_"), "{modes}: {text}");
        assert!(text.contains("theirs") && text.contains("ours"), "{modes}: {text}");
    }
}

/// Another writer adds consolidated metadata while this one stores its change. The metadata repeats the
/// change.
#[test]
fn new_consolidated_metadata_includes_a_concurrent_change() {
    for modes in ["nczarr", "zarr", "nczarr,v3", "zarr,v3"] {
        let is_v3 = modes.ends_with("v3");
        let map = TestMap::new(&[]);
        with_variables(&map, modes, 2).close().unwrap();
        let one = open_rw(&map);
        let store = Arc::clone(&map);
        map.once(if is_v3 { "read v0/zarr.json" } else { "read v0/.zattrs" }, move || {
            let other = open_with(&store, "consolidated", true, &Options::default()).unwrap();
            other.put_att(ROOT, None, "theirs", NcType::Int, &Values::Int(vec![7])).unwrap();
            other.close().unwrap();
        });
        one.put_att(ROOT, Some(VarId(0)), "ours", NcType::Int, &Values::Int(vec![8])).unwrap();
        one.close().unwrap();
        let text = map.text(if is_v3 { "zarr.json" } else { ".zmetadata" });
        assert!(text.contains("onsolidated_"), "{modes}: {text}");
        assert!(text.contains("theirs") && text.contains("ours"), "{modes}: {text}");
    }
}
