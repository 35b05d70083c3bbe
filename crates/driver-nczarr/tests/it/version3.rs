//! Zarr V3 datasets opened for writing. One document holds a whole node and may have members of other
//! writers.

use std::sync::Arc;

use nczarr_dispatch::{Dataset, MemRef, Options};
use nczarr_model::{Chunking, Endian, ErrorKind, GroupId, NcType, Values, VarId};
use nczarr_nc_table::NcDispatch;
use serde_json::{Value, json};

use crate::support::{TestMap, create, get, open, open_rw, open_with, put, var};

const ROOT: GroupId = GroupId::ROOT;

/// Creates an unlimited `t` with 2 records in `a` and `g/b`, `x` of 3, and a group.
fn small(modes: &str) -> Arc<TestMap> {
    let map = TestMap::new(&[]);
    let d = create(&map, modes);
    let t = d.def_dim(ROOT, "t", None).unwrap();
    let x = d.def_dim(ROOT, "x", Some(3)).unwrap();
    let a = d.def_var(ROOT, "a", NcType::Int, &[t, x]).unwrap();
    d.put_att(ROOT, Some(a), "units", NcType::Char, &Values::text("K")).unwrap();
    d.put_att(ROOT, None, "title", NcType::Char, &Values::text("small")).unwrap();
    let g = d.def_grp(ROOT, "g").unwrap();
    d.def_var(g, "b", NcType::Double, &[t]).unwrap();
    put(&*d, a, &[0, 0], &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    d.close().unwrap();
    map.take_writes();
    map
}

fn put_int(d: &dyn Dataset, var: Option<VarId>, name: &str, value: i32) {
    d.put_att(ROOT, var, name, NcType::Int, &Values::Int(vec![value])).unwrap();
}

fn int(d: &dyn Dataset, var: Option<VarId>, name: &str) -> Option<i32> {
    match d.get_att(ROOT, var, name, None).ok()?.0 {
        Values::Int(values) => values.first().copied(),
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn a_session_that_changes_nothing_writes_nothing() {
    for modes in ["nczarr,v3", "zarr,v3"] {
        let map = small(modes);
        let d = open_rw(&map);
        get(&*d, var(&*d, "a"));
        d.sync().unwrap();
        d.close().unwrap();
        assert_eq!(map.take_writes(), Vec::<String>::new(), "{modes}");
    }
}

#[test]
fn definitions_are_added_later() {
    let map = small("nczarr,v3");
    let d = open_rw(&map);
    let y = d.def_dim(ROOT, "y", Some(2)).unwrap();
    let g = d.inq_ncid(ROOT, "g").unwrap();
    let h = d.def_grp(g, "h").unwrap();
    let t = d.inq_dimid(ROOT, "t").unwrap();
    let c = d.def_var(h, "c", NcType::Short, &[t, y]).unwrap();
    d.put_att(ROOT, None, "note", NcType::Char, &Values::text("later")).unwrap();
    put(&*d, c, &[0, 0], &[1, 2], &[7.0, 8.0]);
    d.close().unwrap();
    let written: Vec<_> = map.take_writes().into_iter().filter(|key| key.ends_with("zarr.json")).collect();
    assert_eq!(written, ["g/h/c/zarr.json", "g/h/zarr.json", "g/zarr.json", "zarr.json"]);
    let d = open(&map).unwrap();
    assert_eq!(get(&*d, var(&*d, "g/h/c")), [7.0, 8.0, -32767.0, -32767.0]);
    assert_eq!(get(&*d, var(&*d, "a"))[5], 6.0);
}

#[test]
fn records_are_appended_to_all_that_share_the_dimension() {
    let map = small("nczarr,v3");
    for round in 2..5u64 {
        let d = open_rw(&map);
        put(&*d, var(&*d, "a"), &[round, 0], &[1, 3], &[round as f64; 3]);
        d.close().unwrap();
        assert_eq!(map.json("a/zarr.json")["shape"], json!([round + 1, 3]));
        assert_eq!(map.json("g/b/zarr.json")["shape"], json!([round + 1]));
        let dims = &map.json("zarr.json")["attributes"]["_nczarr_group"]["dimensions"];
        assert_eq!(dims[0], json!({"name": "t", "size": round + 1, "unlimited": 1}));
    }
    let d = open(&map).unwrap();
    assert_eq!(get(&*d, var(&*d, "a"))[12..], [4.0; 3]);
    assert_eq!(get(&*d, var(&*d, "g/b")), [nczarr_model::fill::DOUBLE; 5]);
}

#[test]
fn several_writers_keep_dimension_lengths_and_attributes() {
    let map = small("nczarr,v3");
    let (one, two) = (open_rw(&map), open_rw(&map));
    let a = var(&*one, "a");
    put(&*one, a, &[9, 0], &[1, 3], &[9.0; 3]);
    put_int(&*one, Some(a), "one", 1);
    put_int(&*one, None, "global1", 1);
    one.del_att(ROOT, Some(a), "units").unwrap();
    one.sync().unwrap();
    put(&*two, a, &[4, 0], &[1, 3], &[4.0; 3]);
    put_int(&*two, Some(a), "two", 2);
    put_int(&*two, None, "global2", 2);
    two.def_grp(ROOT, "theirs").unwrap();
    two.close().unwrap();
    one.def_grp(ROOT, "ours").unwrap();
    put_int(&*one, Some(a), "one", 11);
    one.close().unwrap();
    assert_eq!(map.json("a/zarr.json")["shape"], json!([10, 3]));
    assert_eq!(map.json("g/b/zarr.json")["shape"], json!([10]));
    let d = open(&map).unwrap();
    let values = get(&*d, a);
    assert_eq!((values[12], values[27]), (4.0, 9.0));
    let number = |name| int(&*d, Some(a), name);
    assert_eq!((number("one"), number("two")), (Some(11), Some(2)));
    assert_eq!((int(&*d, None, "global1"), int(&*d, None, "global2")), (Some(1), Some(2)));
    assert_eq!(d.get_att(ROOT, Some(a), "units", None).unwrap_err().kind(), ErrorKind::NotAtt);
    for group in ["g", "ours", "theirs"] {
        d.inq_ncid(ROOT, group).unwrap();
    }

    // Concurrent readers see the records after a sync.
    let writer = open_rw(&map);
    put(&*writer, a, &[11, 0], &[1, 3], &[11.0; 3]);
    writer.sync().unwrap();
    assert_eq!(get(&*d, a).len(), 30);
    d.sync().unwrap();
    assert_eq!(get(&*d, a)[33..], [11.0; 3]);
}

#[test]
fn everything_is_renamed() {
    let map = small("nczarr,v3");
    let d = open_rw(&map);
    let (a, g) = (var(&*d, "a"), d.inq_ncid(ROOT, "g").unwrap());
    d.rename_var(a, "c").unwrap();
    d.rename_grp(g, "h").unwrap();
    d.rename_dim(d.inq_dimid(ROOT, "x").unwrap(), "y").unwrap();
    d.rename_att(ROOT, Some(a), "units", "unit").unwrap();
    d.close().unwrap();
    assert!(!map.keys().iter().any(|key| key.starts_with("a/") || key.starts_with("g/")));
    let array = map.json("c/zarr.json");
    assert_eq!(array["dimension_names"], json!(["t", "y"]));
    assert_eq!(array["attributes"]["_nczarr_array"]["dimension_references"], json!(["/t", "/y"]));
    let types = array["attributes"]["_nczarr_attrs"]["attribute_types"].to_string();
    assert!(types.contains("\"unit\"") && !types.contains("\"units\""), "{types}");
    let d = open(&map).unwrap();
    assert_eq!(get(&*d, var(&*d, "c"))[5], 6.0);
    assert_eq!(get(&*d, var(&*d, "h/b")).len(), 2);
    assert_eq!(d.get_att(ROOT, Some(var(&*d, "c")), "unit", None).unwrap().0, Values::text("K"));
}

#[test]
fn an_abort_restores_the_stored_state() {
    let map = small("nczarr,v3");
    let before = map.objects();
    let d = open_rw(&map);
    d.redef().unwrap();
    d.def_grp(ROOT, "new").unwrap();
    put_int(&*d, None, "new", 1);
    d.def_var(ROOT, "v", NcType::Int, &[]).unwrap();
    d.abort().unwrap();
    assert_eq!(map.objects(), before);
}

#[test]
fn a_layout_is_changed_before_there_are_data() {
    let map = small("nczarr,v3");
    let d = open_rw(&map);
    let (a, b) = (var(&*d, "a"), var(&*d, "g/b"));
    for outcome in [d.def_var_chunking(a, &Chunking::Chunked(vec![2, 3])), d.def_var_endian(a, Endian::Big)] {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::LateDef);
    }
    assert_eq!(d.def_var_fill(a, true, None).unwrap_err().kind(), ErrorKind::LateFill);
    d.def_var_chunking(b, &Chunking::Chunked(vec![7])).unwrap();
    d.def_var_deflate(b, true, true, 1).unwrap();
    d.def_var_fill(b, false, Some(&Values::Double(vec![-1.0]))).unwrap();
    d.close().unwrap();
    let document = map.json("g/b/zarr.json");
    assert_eq!(document["chunk_grid"]["configuration"]["chunk_shape"], json!([7]));
    assert_eq!(document["codecs"][1]["name"], "blosc");
    assert_eq!(document["fill_value"], json!(-1.0));
    let d = open_rw(&map);
    let b = var(&*d, "g/b");
    assert_eq!(get(&*d, b), [-1.0, -1.0]);
    // The write happens again, from the loaded metadata.
    d.def_var_chunking(b, &Chunking::Chunked(vec![5])).unwrap();
    put(&*d, b, &[0], &[1], &[3.0]);
    d.close().unwrap();
    let d = open(&map).unwrap();
    assert_eq!((d.data(b).unwrap().chunk_shape(), get(&*d, b)), (Some(vec![5]), vec![3.0, -1.0]));
}

/// A store of another writer, indented and with unknown members.
fn foreign() -> Arc<TestMap> {
    TestMap::new(&[
        (
            "zarr.json",
            r#"{"zarr_format": 3, "node_type": "group", "ours": {"must_understand": false, "a": [1, 2]},
                "attributes": {"title": "x", "nested": {"a": {"b": null}}, "_ARRAY_DIMENSIONS": 5},
                "consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": {"v": {}}}}"#,
        ),
        (
            "v/zarr.json",
            r#"{"node_type": "array", "zarr_format": 3, "shape": [4, 6], "data_type": {"name": "int16"},
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 6]}},
                "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "/"}},
                "fill_value": 7, "dimension_names": ["y", null], "storage_transformers": [],
                "hint": {"name": "hint", "must_understand": false, "configuration": {"k": 1.50}},
                "codecs": [
                  {"name": "transpose", "configuration": {"order": [1, 0]}},
                  {"name": "sharding_indexed", "configuration": {"chunk_shape": [3, 1],
                    "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}],
                    "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
                    "index_location": "start"}}],
                "attributes": {"scale_factor": 1.50, "flags": [true, false], "odd": {"x": [1, {"y": 2}]}, "_FillValue": 7}}"#,
        ),
    ])
}

#[test]
fn edits_change_only_the_edited_foreign_members() {
    let map = foreign();
    let (root, array) = (map.json("zarr.json"), map.json("v/zarr.json"));
    let d = open_rw(&map);
    let v = var(&*d, "v");
    put(&*d, v, &[1, 2], &[1, 1], &[42.0]);
    d.sync().unwrap();
    assert_eq!((map.json("zarr.json"), map.json("v/zarr.json")), (root.clone(), array.clone()));
    put_int(&*d, Some(v), "new", 5);
    d.close().unwrap();
    let mut expected = array.clone();
    expected["attributes"]["new"] = json!(5);
    assert_eq!(map.json("v/zarr.json"), expected);
    assert!(map.text("v/zarr.json").contains("1.50"));
    // The consolidated metadata agrees with the documents.
    let mut expected = root.clone();
    expected["consolidated_metadata"]["metadata"]["v"] = map.json("v/zarr.json");
    assert_eq!(map.json("zarr.json"), expected);

    let d = open_rw(&map);
    let values = get(&*d, v);
    assert!(
        values.iter().enumerate().all(|(at, &value)| value == if at == 8 { 42.0 } else { 7.0 }),
        "{values:?}"
    );
    put_int(&*d, None, "global", 6);
    d.rename_att(ROOT, Some(v), "new", "newer").unwrap();
    d.del_att(ROOT, Some(v), "flags").unwrap();
    d.rename_dim(d.inq_dimid(ROOT, "y").unwrap(), "z").unwrap();
    d.close().unwrap();
    let mut attributes = array["attributes"].clone();
    attributes.as_object_mut().unwrap().remove("flags");
    attributes["newer"] = json!(5);
    let found = map.json("v/zarr.json");
    assert_eq!(found["attributes"], attributes);
    for member in
        ["codecs", "chunk_key_encoding", "hint", "storage_transformers", "shape", "fill_value", "data_type"]
    {
        assert_eq!(found[member], array[member], "{member}");
    }
    let found = map.json("zarr.json");
    let mut attributes = root["attributes"].clone();
    attributes["global"] = json!(6);
    assert_eq!((&found["attributes"], &found["ours"]), (&attributes, &root["ours"]));
}

#[test]
fn a_foreign_layout_is_kept() {
    let map = foreign();
    let d = open_rw(&map);
    let v = var(&*d, "v");
    for outcome in [
        d.def_var_chunking(v, &Chunking::Chunked(vec![2, 2])),
        d.def_var_endian(v, Endian::Big),
        d.def_var_deflate(v, false, true, 1),
    ] {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::LateDef);
    }
    assert_eq!(
        d.def_var_fill(v, false, Some(&Values::Short(vec![1]))).unwrap_err().kind(),
        ErrorKind::LateFill
    );
    let fill = Values::Short(vec![1]);
    let outcome = d.put_att(ROOT, Some(v), "_FillValue", NcType::Short, &fill);
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::LateFill);
    assert_eq!(d.del_att(ROOT, Some(v), "_FillValue").unwrap_err().kind(), ErrorKind::LateFill);
    d.close().unwrap();
    assert_eq!(map.take_writes(), Vec::<String>::new());
}

/// The form that the first writer of NCZarr in V3 used.
#[test]
fn nczarr_keys_keep_their_spelling() {
    let map = TestMap::new(&[
        (
            "zarr.json",
            r#"{"zarr_format": 3, "node_type": "group", "attributes": {"_nczarr_superblock": {"version": "3.0.0"},
                "_nczarr_group": {"dimensions": {"n": {"size": 2, "unlimited": 1}}, "arrays": ["c"], "groups": []},
                "_nczarr_attrs": {"attribute_types": {"_nczarr_superblock": "json", "_nczarr_group": "json"}}}}"#,
        ),
        (
            "c/zarr.json",
            r#"{"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "uint8",
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
                "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
                "fill_value": "", "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                "dimension_names": ["n"],
                "attributes": {"_nczarr_array": {"dimension_references": ["/n"], "nczarr_type": "char"},
                  "a": "b", "_nczarr_attrs": {"attribute_types": {"a": "char", "_nczarr_array": "json"}}}}"#,
        ),
    ]);
    let before = map.json("c/zarr.json");
    let d = open_rw(&map);
    let c = var(&*d, "c");
    d.put_att(ROOT, Some(c), "new", NcType::Short, &Values::Short(vec![5])).unwrap();
    d.def_grp(ROOT, "g").unwrap();
    d.put_vara(c, &[2], &[1], MemRef::Fixed { ty: NcType::Char, bytes: b"x" }).unwrap();
    d.close().unwrap();
    let mut expected = before;
    expected["shape"] = json!([3]);
    expected["attributes"]["new"] = json!(5);
    expected["attributes"]["_nczarr_attrs"]["attribute_types"]["new"] = json!("int16");
    assert_eq!(map.json("c/zarr.json"), expected);
    let group: Value = map.json("zarr.json")["attributes"]["_nczarr_group"].clone();
    let dims = json!({"n": {"size": 3, "unlimited": 1}});
    assert_eq!(group, json!({"dimensions": dims, "arrays": ["c"], "groups": ["g"]}));
    let d = open_with(&map, "nczarr", false, &Options::default()).unwrap();
    d.inq_ncid(ROOT, "g").unwrap();
}
