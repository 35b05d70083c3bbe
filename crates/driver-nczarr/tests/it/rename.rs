//! Renames of every kind: data follow, nothing is lost, and an impossible rename is refused in advance.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use nczarr_model::{ErrorKind, GroupId, NcType};
use nczarr_nc_table::NcDispatch;

use crate::support::{TestMap, create, get, open, open_rw, put, var};

const ROOT: GroupId = GroupId::ROOT;

fn dataset(modes: &str) -> std::sync::Arc<TestMap> {
    let map = TestMap::new(&[]);
    let d = create(&map, modes);
    let x = d.def_dim(ROOT, "x", Some(2)).unwrap();
    for (i, name) in ["a", "b", "c"].iter().enumerate() {
        let v = d.def_var(ROOT, name, NcType::Int, &[x]).unwrap();
        put(&*d, v, &[0], &[2], &[i as f64; 2]);
    }
    let g = d.def_grp(ROOT, "g").unwrap();
    let h = d.def_grp(g, "h").unwrap();
    let v = d.def_var(h, "v", NcType::Int, &[x]).unwrap();
    put(&*d, v, &[0], &[2], &[9.0; 2]);
    d.close().unwrap();
    map
}

/// Returns the first value of each variable by path.
fn values(map: &std::sync::Arc<TestMap>) -> Vec<(String, f64)> {
    let d = open(map).unwrap();
    let model = d.model().snapshot();
    let mut all: Vec<_> =
        model.vars().map(|(id, _)| (model.var_path(id).unwrap(), get(&*d, id)[0])).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

fn expect(map: &std::sync::Arc<TestMap>, expected: &[(&str, f64)]) {
    let found = values(map);
    let found: Vec<_> = found.iter().map(|(path, value)| (path.as_str(), *value)).collect();
    assert_eq!(found, expected);
    assert!(map.keys().iter().all(|key| !key.contains(".moving")), "{:?}", map.keys());
}

#[test]
fn variables_and_groups_take_their_data_along() {
    for modes in ["nczarr", "zarr"] {
        let map = dataset(modes);
        let d = open_rw(&map);
        let a = var(&*d, "a");
        d.rename_var(a, "renamed").unwrap();
        d.rename_grp(d.inq_ncid(ROOT, "g").unwrap(), "G").unwrap();
        d.rename_var(var(&*d, "G/h/v"), "w").unwrap();
        // `a` is read before the rename, written in between, and read after the move.
        assert_eq!(get(&*d, a), [0.0; 2]);
        put(&*d, a, &[1], &[1], &[5.0]);
        d.close().unwrap();
        expect(&map, &[("/G/h/w", 9.0), ("/b", 1.0), ("/c", 2.0), ("/renamed", 0.0)]);
        let d = open(&map).unwrap();
        assert_eq!(get(&*d, var(&*d, "renamed")), [0.0, 5.0]);
    }
}

#[test]
fn names_are_swapped_and_rotated() {
    let map = dataset("nczarr");
    let d = open_rw(&map);
    let [a, b, c] = ["a", "b", "c"].map(|name| var(&*d, name));
    let held = d.data(b).unwrap();
    d.redef().unwrap();
    for (id, name) in [(a, "t"), (b, "a"), (c, "b"), (a, "c")] {
        d.rename_var(id, name).unwrap();
    }
    d._enddef(0, 0, 0, 0).unwrap();
    // A handle from before the move writes to the variable's new place.
    let slab = nczarr_model::Slab::new(&[1], &[1]).check(&[2], |_| false).unwrap();
    held.put(&slab, nczarr_dispatch::MemRef::Fixed { ty: NcType::Int, bytes: &77i32.to_ne_bytes() }).unwrap();
    drop(held);
    d.close().unwrap();
    expect(&map, &[("/a", 1.0), ("/b", 2.0), ("/c", 0.0), ("/g/h/v", 9.0)]);
    let d = open(&map).unwrap();
    assert_eq!(get(&*d, var(&*d, "a")), [1.0, 77.0]);
}

#[test]
fn a_name_that_became_free_is_taken_by_a_new_variable() {
    let map = dataset("nczarr");
    let d = open_rw(&map);
    d.redef().unwrap();
    d.rename_var(var(&*d, "a"), "old").unwrap();
    let x = d.inq_dimid(ROOT, "x").unwrap();
    let new = d.def_var(ROOT, "a", NcType::Int, &[x]).unwrap();
    d.rename_grp(d.inq_ncid(ROOT, "g").unwrap(), "k").unwrap();
    let g = d.def_grp(ROOT, "g").unwrap();
    let v = d.def_var(g, "v", NcType::Int, &[x]).unwrap();
    // The read comes before the commit, so the old data must already be moved away.
    assert_eq!(d.data(new).unwrap().chunk_shape(), Some(vec![2]));
    put(&*d, new, &[0], &[1], &[42.0]);
    put(&*d, v, &[0], &[1], &[43.0]);
    d.close().unwrap();
    expect(&map, &[("/a", 42.0), ("/b", 1.0), ("/c", 2.0), ("/g/v", 43.0), ("/k/h/v", 9.0), ("/old", 0.0)]);
}

#[test]
fn dimensions_and_attributes() {
    let map = dataset("nczarr");
    let d = open_rw(&map);
    d.rename_dim(d.inq_dimid(ROOT, "x").unwrap(), "lon").unwrap();
    d.put_att(ROOT, None, "p", NcType::Int, &nczarr_model::Values::Int(vec![1])).unwrap();
    d.rename_att(ROOT, None, "p", "q").unwrap();
    d.close().unwrap();
    assert_eq!(map.json("a/.zattrs")["_nczarr_array"]["dimension_references"].to_string(), r#"["/lon"]"#);
    assert_eq!(map.json("g/h/v/.zattrs")["_ARRAY_DIMENSIONS"].to_string(), r#"["lon"]"#);
    assert_eq!((map.json(".zattrs")["q"].clone(), map.json(".zattrs").get("p")), (1.into(), None));
    expect(&map, &[("/a", 0.0), ("/b", 1.0), ("/c", 2.0), ("/g/h/v", 9.0)]);
}

#[test]
fn impossible_renames_change_nothing() {
    let map = dataset("nczarr");
    // Objects outside of all lists belong to another program.
    map.put("stray/0", b"x");
    let before = map.objects();
    let d = open_rw(&map);
    assert_eq!(d.rename_var(var(&*d, "a"), "stray").unwrap_err().kind(), ErrorKind::Object);
    assert_eq!(d.def_var(ROOT, "stray", NcType::Int, &[]).unwrap_err().kind(), ErrorKind::Object);
    assert_eq!(d.def_grp(ROOT, "stray").unwrap_err().kind(), ErrorKind::Object);
    assert_eq!(d.rename_var(var(&*d, "a"), "b").unwrap_err().kind(), ErrorKind::NameInUse);
    assert_eq!(d.rename_var(var(&*d, "a"), ".a").unwrap_err().kind(), ErrorKind::BadName);
    assert_eq!(d.rename_grp(ROOT, "r").unwrap_err().kind(), ErrorKind::BadGrpId);
    d.close().unwrap();
    assert_eq!(map.objects(), before);
}

#[test]
fn a_briefly_reused_name_moves_no_foreign_data() {
    for modes in ["nczarr", "zarr", "nczarr,v3"] {
        for groups in [false, true] {
            for aborts in [false, true] {
                let map = dataset(modes);
                let before = map.objects();
                let d = open_rw(&map);
                if groups {
                    d.rename_grp(d.inq_ncid(ROOT, "g").unwrap(), "G").unwrap();
                    let new = d.def_grp(ROOT, "g").unwrap();
                    let h = d.def_grp(new, "h").unwrap();
                    let v = d.def_var(h, "v", NcType::Int, &[]).unwrap();
                    if !aborts {
                        d.rename_grp(new, "f").unwrap();
                        put(&*d, v, &[], &[], &[7.0]);
                    }
                } else {
                    d.rename_var(var(&*d, "a"), "A").unwrap();
                    let new = d.def_var(ROOT, "a", NcType::Int, &[]).unwrap();
                    if !aborts {
                        d.rename_var(new, "f").unwrap();
                        put(&*d, new, &[], &[], &[7.0]);
                    }
                }
                if aborts {
                    d.abort().unwrap();
                    assert_eq!(map.objects(), before, "{modes}");
                    continue;
                }
                d.close().unwrap();
                match groups {
                    true => expect(
                        &map,
                        &[("/G/h/v", 9.0), ("/a", 0.0), ("/b", 1.0), ("/c", 2.0), ("/f/h/v", 7.0)],
                    ),
                    false => {
                        expect(&map, &[("/A", 0.0), ("/b", 1.0), ("/c", 2.0), ("/f", 7.0), ("/g/h/v", 9.0)])
                    }
                }
            }
        }
    }
}

/// Returns the key of the only chunk of a variable.
fn chunk(modes: &str, name: &str) -> String {
    if modes.ends_with("v3") { format!("{name}/c/0") } else { format!("{name}/0") }
}

#[test]
fn no_access_reaches_chunks_during_a_move() {
    for modes in ["nczarr", "zarr", "nczarr,v3"] {
        for call in ["read", "write"] {
            let map = dataset(modes);
            let d = open_rw(&map);
            let b = var(&*d, "b");
            let (sender, receiver) = channel();
            let within = std::sync::Arc::clone(&d);
            map.once(&format!("{call} {}", chunk(modes, "b")), move || {
                within.rename_var(b, "B").unwrap();
                sender.send(within._enddef(0, 0, 0, 0)).unwrap();
            });
            match call {
                "read" => assert_eq!(get(&*d, b), [1.0; 2], "{modes}"),
                _ => put(&*d, b, &[0], &[2], &[5.0; 2]),
            }
            // The chunks would have moved during an access.
            assert_eq!(receiver.recv().unwrap().unwrap_err().kind(), ErrorKind::InDefine, "{modes}: {call}");
            d.close().unwrap();
            let b = if call == "read" { 1.0 } else { 5.0 };
            expect(&map, &[("/B", b), ("/a", 0.0), ("/c", 2.0), ("/g/h/v", 9.0)]);
            assert!(!map.keys().iter().any(|key| key.starts_with("b/")), "{modes}: {:?}", map.keys());
        }
    }
}

/// A definition may use a name while another variable gives it up. The definition is stored under that name.
#[test]
fn a_name_can_be_reused_during_a_move() {
    for modes in ["nczarr", "zarr", "nczarr,v3"] {
        let map = TestMap::new(&[]);
        let d = create(&map, modes);
        let x = d.def_dim(ROOT, "x", Some(2)).unwrap();
        let old = d.def_var(ROOT, "a", NcType::Int, &[x]).unwrap();
        put(&*d, old, &[0], &[2], &[1.0; 2]);
        d.rename_var(old, "A").unwrap();
        let within = std::sync::Arc::clone(&d);
        map.once(&format!("delete {}", chunk(modes, "a")), move || {
            within.def_var(ROOT, "a", NcType::Int, &[x]).unwrap();
            within.def_dim(ROOT, "second", Some(1)).unwrap();
        });
        d._enddef(0, 0, 0, 0).unwrap();
        put(&*d, var(&*d, "a"), &[0], &[2], &[2.0; 2]);
        d.close().unwrap();
        expect(&map, &[("/A", 1.0), ("/a", 2.0)]);
        assert!(!map.keys().iter().any(|key| key.contains(".waiting")), "{modes}: {:?}", map.keys());
    }
}

/// A foreign map may panic.
#[test]
fn a_panic_during_a_move_blocks_no_reader() {
    for modes in ["nczarr", "zarr", "nczarr,v3"] {
        let map = dataset(modes);
        let d = open_rw(&map);
        d.rename_var(var(&*d, "a"), "A").unwrap();
        map.once(&format!("delete {}", chunk(modes, "a")), || panic!("a map that panics, on purpose"));
        let moving = Arc::clone(&d);
        assert!(thread::spawn(move || moving.sync()).join().is_err(), "{modes}");
        // These data were not accessed yet.
        let (sender, receiver) = channel();
        let reader = thread::spawn(move || sender.send(get(&*d, var(&*d, "b"))));
        assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok(vec![1.0; 2]), "{modes}");
        reader.join().unwrap().unwrap();
    }
}

#[test]
fn an_abort_reverts_a_partly_failed_move() {
    for modes in ["nczarr", "zarr", "nczarr,v3"] {
        let map = dataset(modes);
        let before = map.objects();
        let d = open_rw(&map);
        d.rename_var(var(&*d, "a"), "A").unwrap();
        d.rename_var(var(&*d, "b"), "B").unwrap();
        // One of them is copied and deleted. The other is not started.
        let count = before.keys().filter(|key| key.starts_with("a/")).count();
        map.fail_after(Some(2 * count));
        assert_eq!(d.sync().unwrap_err().kind(), ErrorKind::Io, "{modes}");
        assert!(map.keys().iter().any(|key| key.starts_with(['A', 'B'])), "{modes}: {:?}", map.keys());
        map.fail_after(None);
        d.abort().unwrap();
        assert_eq!(map.objects(), before, "{modes}");
    }
}
