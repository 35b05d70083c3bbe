//! Datasets opened for writing: new definitions, appended records, several writers, faults and aborts.

use nczarr_dispatch::{HeaderPadding, Options};
use nczarr_model::{Chunking, Endian, ErrorKind, GroupId, NcString, NcType, Values};
use nczarr_nc_table::NcDispatch;

use crate::support::{TestMap, create, get, open, open_rw, open_with, put, try_put, var};

const ROOT: GroupId = GroupId::ROOT;

/// Creates an unlimited `t` with 2 records in `a` and `b`, `x` of 3, and a group.
fn small() -> std::sync::Arc<TestMap> {
    let map = TestMap::new(&[]);
    let d = create(&map, "nczarr");
    let t = d.def_dim(ROOT, "t", None).unwrap();
    let x = d.def_dim(ROOT, "x", Some(3)).unwrap();
    let a = d.def_var(ROOT, "a", NcType::Int, &[t, x]).unwrap();
    let g = d.def_grp(ROOT, "g").unwrap();
    d.def_var(g, "b", NcType::Double, &[t]).unwrap();
    put(&*d, a, &[0, 0], &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    d.close().unwrap();
    map.take_writes();
    map
}

/// A nil string and an empty string are equal in the model.
#[test]
fn null_and_empty_strings_convert_into_each_other() {
    for modes in ["nczarr", "nczarr,v3"] {
        let map = TestMap::new(&[]);
        create(&map, modes).close().unwrap();
        for nil in [true, false, true] {
            let d = open_rw(&map);
            let string = if nil { NcString::nil() } else { NcString::new() };
            d.put_att(ROOT, None, "a", NcType::String, &Values::String(vec![string, "b".into()])).unwrap();
            d.close().unwrap();
            let Values::String(found) = open(&map).unwrap().get_att(ROOT, None, "a", None).unwrap().0 else {
                panic!()
            };
            assert_eq!((found[0].is_nil(), found[1].is_nil()), (nil, false), "{modes}");
        }
    }
}

#[test]
fn a_definition_after_closing_is_an_error() {
    let map = small();
    let d = open_rw(&map);
    let within = std::sync::Arc::clone(&d);
    // This happens between the check of the storage and the definition.
    map.once("len fresh", move || within.close().unwrap());
    let outcome = d.def_var(ROOT, "fresh", NcType::Int, &[]).map(drop);
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::BadId);
}

#[test]
fn a_session_that_changes_nothing_writes_nothing() {
    let map = small();
    for modes in ["nczarr", "nczarr,noxarray"] {
        let d = open_with(&map, modes, true, &Options::default()).unwrap();
        get(&*d, var(&*d, "a"));
        d.sync().unwrap();
        d.close().unwrap();
        assert_eq!(map.take_writes(), Vec::<String>::new());
    }
}

#[test]
fn definitions_are_added_later() {
    let map = small();
    let d = open_rw(&map);
    let y = d.def_dim(ROOT, "y", Some(2)).unwrap();
    let g = d.inq_ncid(ROOT, "g").unwrap();
    let h = d.def_grp(g, "h").unwrap();
    let t = d.inq_dimid(ROOT, "t").unwrap();
    let c = d.def_var(h, "c", NcType::Short, &[t, y]).unwrap();
    d.put_att(ROOT, None, "note", NcType::Char, &Values::text("later")).unwrap();
    put(&*d, c, &[0, 0], &[1, 2], &[7.0, 8.0]);
    d.close().unwrap();
    let written: Vec<_> = map.take_writes().into_iter().filter(|key| key.contains(".z")).collect();
    let expected = ["g/h/c/.zattrs", "g/h/c/.zarray", "g/h/.zattrs", "g/h/.zgroup", "g/.zattrs", ".zattrs"];
    assert_eq!(written, expected, "children before what lists them, and nothing else");
    let d = open(&map).unwrap();
    assert_eq!(get(&*d, var(&*d, "g/h/c")), [7.0, 8.0, -32767.0, -32767.0]);
    assert_eq!(get(&*d, var(&*d, "a"))[5], 6.0);
}

#[test]
fn records_are_appended_to_all_that_share_the_dimension() {
    let map = small();
    for round in 2..5u64 {
        let d = open_rw(&map);
        put(&*d, var(&*d, "a"), &[round, 0], &[1, 3], &[round as f64; 3]);
        d.close().unwrap();
        let shape = |key: &str| map.json(key)["shape"].to_string();
        assert_eq!(shape("a/.zarray"), format!("[{},3]", round + 1));
        assert_eq!(shape("g/b/.zarray"), format!("[{}]", round + 1));
        let size = &map.json(".zattrs")["_nczarr_group"]["dimensions"]["t"]["size"];
        assert_eq!(*size, round + 1);
    }
    let d = open(&map).unwrap();
    assert_eq!(get(&*d, var(&*d, "a"))[12..], [4.0; 3]);
    assert_eq!(get(&*d, var(&*d, "g/b")), [nczarr_model::fill::DOUBLE; 5]);
}

#[test]
fn several_writers_never_shrink_a_dimension() {
    let map = small();
    let (one, two) = (open_rw(&map), open_rw(&map));
    let a = var(&*one, "a");
    put(&*one, a, &[9, 0], &[1, 3], &[9.0; 3]);
    one.sync().unwrap();
    put(&*two, a, &[4, 0], &[1, 3], &[4.0; 3]);
    two.close().unwrap();
    one.close().unwrap();
    assert_eq!(map.json("a/.zarray")["shape"].to_string(), "[10,3]");
    assert_eq!(map.json("g/b/.zarray")["shape"].to_string(), "[10]");
    let d = open(&map).unwrap();
    let values = get(&*d, a);
    assert_eq!((values[12], values[27]), (4.0, 9.0));

    // Concurrent readers see the records after a sync.
    let writer = open_rw(&map);
    put(&*writer, a, &[11, 0], &[1, 3], &[11.0; 3]);
    writer.sync().unwrap();
    assert_eq!(get(&*d, a).len(), 30);
    d.sync().unwrap();
    assert_eq!(get(&*d, a)[33..], [11.0; 3]);
}

#[test]
fn layout_is_fixed_once_there_are_data() {
    let map = small();
    let d = open_rw(&map);
    let (a, b) = (var(&*d, "a"), var(&*d, "g/b"));
    let late = [
        d.def_var_chunking(a, &Chunking::Chunked(vec![2, 3])),
        d.def_var_endian(a, Endian::Big),
        d.def_var_deflate(a, false, true, 1),
    ];
    for outcome in late {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::LateDef);
    }
    assert_eq!(d.def_var_fill(a, true, None).unwrap_err().kind(), ErrorKind::LateFill);
    // `b` has no stored data. Its metadata exists and its chunks do not.
    let cache = d.get_var_chunk_cache(b).unwrap().bytes(12345);
    d.set_var_chunk_cache(b, cache).unwrap();
    d.def_var_chunking(b, &Chunking::Chunked(vec![7])).unwrap();
    d.def_var_endian(b, Endian::Big).unwrap();
    d.def_var_deflate(b, true, true, 1).unwrap();
    d.def_var_fill(b, false, Some(&Values::Double(vec![-1.0]))).unwrap();
    assert_eq!(d.get_var_chunk_cache(b).unwrap().bytes, 12345);
    put(&*d, b, &[1], &[1], &[5.0]);
    assert_eq!(d.def_var_endian(b, Endian::Little).unwrap_err().kind(), ErrorKind::LateDef);
    d.close().unwrap();
    let zarray = map.json("g/b/.zarray");
    assert_eq!((zarray["dtype"].as_str(), zarray["chunks"].to_string()), (Some(">f8"), "[7]".to_owned()));
    assert_eq!(get(&*open(&map).unwrap(), b), [-1.0, 5.0]);
    // A caller holds the data handle. Its write in the old layout is refused, not lost.
    let map = small();
    let d = open_rw(&map);
    let (held, bytes) = (d.data(b).unwrap(), 1f64.to_ne_bytes());
    let write = |data: &dyn nczarr_dispatch::VarData| {
        data.put(
            &nczarr_model::Slab::new(&[0], &[1]).check(&[1], |_| false).unwrap(),
            nczarr_dispatch::MemRef::Fixed { ty: NcType::Double, bytes: &bytes },
        )
    };
    d.def_var_endian(b, Endian::Big).unwrap();
    assert_eq!(write(&*held).unwrap_err().kind(), ErrorKind::LateDef);
    let held = d.data(b).unwrap();
    write(&*held).unwrap();
    assert_eq!(d.def_var_endian(b, Endian::Little).unwrap_err().kind(), ErrorKind::LateDef);
    d.close().unwrap();
    assert_eq!(write(&*held).unwrap_err().kind(), ErrorKind::BadId);
    assert_eq!(d.data(b).unwrap_err().kind(), ErrorKind::BadId);
    assert_eq!(get(&*open(&map).unwrap(), b)[0], 1.0);
}

#[test]
fn read_only_is_read_only() {
    let map = small();
    let before = map.objects();
    let d = open(&map).unwrap();
    assert_eq!(d.redef().unwrap_err().kind(), ErrorKind::Perm);
    assert_eq!(d.def_dim(ROOT, "n", Some(1)).unwrap_err().kind(), ErrorKind::Perm);
    assert_eq!(d.rename_var(var(&*d, "a"), "z").unwrap_err().kind(), ErrorKind::Perm);
    assert_eq!(try_put(&*d, var(&*d, "a"), &[0, 0], &[1, 1], &[1.0]).unwrap_err().kind(), ErrorKind::Perm);
    d.editor().unwrap().commit(HeaderPadding::default()).unwrap();
    d.sync().unwrap();
    d.abort().unwrap();
    d.close().unwrap();
    assert_eq!(map.objects(), before);
}

#[test]
fn an_abort_reverts_uncommitted_changes() {
    let map = TestMap::new(&[]);
    let d = create(&map, "nczarr");
    let v = d.def_var(ROOT, "v", NcType::Int, &[]).unwrap();
    // Data may be in transit before any metadata exists.
    nczarr_dispatch::VarData::put(
        &*d.data(v).unwrap(),
        &nczarr_model::Slab::new(&[], &[]).check(&[], |_| false).unwrap(),
        nczarr_dispatch::MemRef::Fixed { ty: NcType::Int, bytes: &1i32.to_ne_bytes() },
    )
    .unwrap();
    d.abort().unwrap();
    assert_eq!(map.keys(), Vec::<String>::new());

    let map = small();
    let before = map.objects();
    let d = open_rw(&map);
    d.redef().unwrap();
    d.def_var(ROOT, "new", NcType::Int, &[]).unwrap();
    d.rename_var(var(&*d, "a"), "renamed").unwrap();
    d.put_att(ROOT, None, "note", NcType::Int, &Values::Int(vec![1])).unwrap();
    d.abort().unwrap();
    assert_eq!(map.objects(), before);
}

#[test]
fn every_fault_leaves_a_dataset_that_opens() {
    let build = |map: &std::sync::Arc<TestMap>| -> nczarr_model::Result<()> {
        let d = open_with(map, "nczarr", true, &Options::default())?;
        let y = d.def_dim(ROOT, "y", Some(2))?;
        let h = d.def_grp(ROOT, "h")?;
        let c = d.def_var(h, "c", NcType::Short, &[y])?;
        d.rename_var(d.inq_varid(ROOT, "a")?, "z")?;
        try_put(&*d, c, &[0], &[2], &[7.0, 8.0])?;
        let t = d.inq_varid(ROOT, "z")?;
        try_put(&*d, t, &[2, 0], &[1, 3], &[7.0, 8.0, 9.0])?;
        d.close()
    };
    let mut steps = 0;
    loop {
        let map = small();
        map.fail_after(Some(steps));
        let outcome = build(&map);
        map.fail_after(None);
        let d = open(&map).unwrap_or_else(|error| panic!("after {steps} changes: {error}"));
        let model = d.model().snapshot();
        for (id, var) in model.vars() {
            // The error names a variable that is in the middle of a move. All others have their values.
            match crate::support::try_get(&*d, id) {
                Ok(values) if var.name == "a" || var.name == "z" => assert_eq!(values[..3], [1.0, 2.0, 3.0]),
                Ok(_) => {}
                Err(error) => assert!(error.to_string().contains("a/.z"), "after {steps}: {error}"),
            }
        }
        steps += 1;
        if outcome.is_ok() {
            break;
        }
        assert!(steps < 200);
    }
    assert!(steps > 10, "{steps}");
}

#[test]
fn a_failed_commit_is_done_by_the_next() {
    let map = small();
    let d = open_rw(&map);
    d.put_att(ROOT, None, "note", NcType::Int, &Values::Int(vec![1])).unwrap();
    map.fail_after(Some(0));
    assert_eq!(d.sync().unwrap_err().kind(), ErrorKind::Io);
    map.fail_after(None);
    d.sync().unwrap();
    assert_eq!(map.json(".zattrs")["note"], 1);
}

#[test]
fn only_changed_documents_are_written() {
    let map = TestMap::new(&[]);
    let d = create(&map, "nczarr");
    let x = d.def_dim(ROOT, "x", Some(2)).unwrap();
    let t = d.def_dim(ROOT, "t", None).unwrap();
    for i in 0..300 {
        // Each write ends define mode, so metadata is written 300 times.
        let v = d.def_var(ROOT, &format!("v{i}"), NcType::Int, &[if i % 2 == 0 { x } else { t }]).unwrap();
        put(&*d, v, &[0], &[1], &[1.0]);
    }
    d.sync().unwrap();
    map.take_writes();
    let metadata =
        || -> Vec<String> { map.take_writes().into_iter().filter(|key| key.contains(".z")).collect() };
    d.sync().unwrap();
    assert_eq!(metadata(), Vec::<String>::new());
    d.put_att(ROOT, Some(var(&*d, "v7")), "a", NcType::Int, &Values::Int(vec![1])).unwrap();
    d.sync().unwrap();
    assert_eq!(metadata(), ["v7/.zattrs"]);
    put(&*d, var(&*d, "v7"), &[4], &[1], &[1.0]);
    d.sync().unwrap();
    assert_eq!(metadata().len(), 151, "all along the dimension, and the group that declares it");
    d.rename_dim(x, "y").unwrap();
    d.close().unwrap();
    assert_eq!(
        metadata().len(),
        152,
        "all that refer to it, and the group that declares it, before and after"
    );
    let model = open(&map).unwrap().model().snapshot();
    assert!(model.vars().all(|(_, var)| var.problem.is_none()));
}

#[test]
fn a_name_that_is_taken_is_in_use_in_a_stored_dataset_as_well() {
    let map = TestMap::new(&[]);
    let d = create(&map, "nczarr");
    let x = d.def_dim(ROOT, "x", Some(2)).unwrap();
    d.def_var(ROOT, "v", NcType::Int, &[x]).unwrap();
    d.def_grp(ROOT, "g").unwrap();
    d.close().unwrap();
    let d = open_rw(&map);
    for name in ["v", "g"] {
        assert_eq!(
            d.def_var(ROOT, name, NcType::Int, &[x]).unwrap_err().kind(),
            ErrorKind::NameInUse,
            "{name}"
        );
        assert_eq!(d.def_grp(ROOT, name).unwrap_err().kind(), ErrorKind::NameInUse, "{name}");
    }
    // Objects outside of all lists are not overwritten.
    map.put("w/0", b"someone's");
    assert_eq!(d.def_var(ROOT, "w", NcType::Int, &[x]).unwrap_err().kind(), ErrorKind::Object);
}
