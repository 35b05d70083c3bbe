//! Damaged or large user-defined types: an interrupted rename, a deleted attribute, and documents that claim
//! too much.

use nczarr_dispatch::{Dataset, MemMut};
use nczarr_model::{Defined, Edit, ErrorKind, FILL_VALUE, GroupId, NcType, TypeId, Values, VarFill, VarId};
use nczarr_nc_table::NcDispatch;
use nczarr_runtime::OutBuf;

use crate::support::{TestMap, create, open, open_rw, var};

const ROOT: GroupId = GroupId::ROOT;

/// The same limit as in HDF5.
const MOST: usize = 65_535;

fn define(dataset: &dyn Dataset, edit: &Edit<'_>) -> TypeId {
    match dataset.edit(edit).unwrap() {
        Defined::Type(id) => id,
        other => panic!("{other:?}"),
    }
}

fn field(dataset: &dyn Dataset, ty: TypeId, name: &str, offset: usize, field: NcType) {
    dataset.edit(&Edit::InsertField { ty, name, offset, field, shape: &[] }).unwrap();
}

fn bytes(dataset: &dyn Dataset, id: VarId, size: usize) -> Vec<u8> {
    let ty = dataset.model().snapshot().var(id).unwrap().xtype;
    let mut bytes = vec![1; size];
    dataset.get_vara(id, &[], &[], MemMut::Fixed { ty, out: &mut OutBuf::from_slice(&mut bytes) }).unwrap();
    bytes
}

/// Builds a V2 dataset with these types and arrays in its root, without dimensions.
fn dataset(types: &str, arrays: &[(&str, &str, &str)]) -> std::sync::Arc<TestMap> {
    let names: Vec<String> = arrays.iter().map(|(name, ..)| format!("\"{name}\"")).collect();
    let root = format!(
        "{{\"_nczarr_superblock\": {{\"version\": \"2.0.0\"}}, \"_nczarr_group\": {{\"dimensions\": {{}}, \"arrays\": [{}], \
         \"groups\": [], \"types\": {types}}}}}",
        names.join(",")
    );
    let map = TestMap::new(&[(".zgroup", r#"{"zarr_format": 2}"#), (".zattrs", &root)]);
    for (name, array, attrs) in arrays {
        let array = format!(
            "{{\"zarr_format\": 2, \"shape\": [1], \"chunks\": [1], \"order\": \"C\", \"compressor\": null, {array}}}"
        );
        map.put(&format!("{name}/.zarray"), array.as_bytes());
        let attrs = format!(
            "{{\"_nczarr_array\": {{\"dimension_references\": [], \"scalar\": 1, \"storage\": \"chunked\", {attrs}}}}}"
        );
        map.put(&format!("{name}/.zattrs"), attrs.as_bytes());
    }
    map
}

/// A rename moves a group before it rewrites any document that refers to the group.
#[test]
fn types_are_found_after_an_interrupted_group_rename() {
    for modes in ["nczarr,v2", "nczarr,v3"] {
        let map = TestMap::new(&[]);
        let d = create(&map, modes);
        let g = d.def_grp(ROOT, "g").unwrap();
        let inner = define(&*d, &Edit::DefOpaque { group: g, name: "inner", size: 3 });
        let point = define(&*d, &Edit::DefCompound { group: g, name: "point", size: 6 });
        field(&*d, point, "a", 0, NcType::User(inner));
        field(&*d, point, "b", 3, NcType::User(inner));
        let row = define(&*d, &Edit::DefVlen { group: ROOT, name: "row", base: NcType::User(point) });
        let value = Values::User(point, b"abcdef".to_vec());
        for (group, owner) in [(ROOT, None), (g, None)] {
            d.put_att(group, owner, "p", NcType::User(point), &value).unwrap();
        }
        let v = d.def_var(ROOT, "v", NcType::User(point), &[]).unwrap();
        let w = d.def_var(g, "w", NcType::User(row), &[]).unwrap();
        d.put_att(g, Some(w), "p", NcType::User(point), &value).unwrap();
        d.close().unwrap();
        for (key, object) in map.objects() {
            if let Some(rest) = key.strip_prefix("g/") {
                map.put(&format!("h/{rest}"), &object);
                map.remove(&key);
            }
        }
        let d = open(&map).unwrap();
        let model = d.model().snapshot();
        let h = d.inq_ncid(ROOT, "h").unwrap();
        let point = model.find_type(h, "point").unwrap();
        let expected = Values::User(point, b"abcdef".to_vec());
        for atts in [&model.root().atts, &model.group(h).unwrap().atts, &model.var(w).unwrap().atts] {
            assert_eq!(atts["p"], expected, "{modes}");
        }
        assert_eq!(model.var(v).unwrap().xtype, NcType::User(point));
        let row = model.find_type(ROOT, "row").unwrap();
        assert_eq!(model.vlen_base(NcType::User(row)).unwrap(), Some(NcType::User(point)));
        for id in [v, w] {
            assert!(
                model.var(id).unwrap().problem.is_none(),
                "{modes}: {:?}",
                model.var(id).unwrap().problem
            );
        }
    }
}

#[test]
fn a_deleted_fill_value_stays_away() {
    for modes in ["nczarr,v2", "nczarr,v3"] {
        let map = TestMap::new(&[]);
        let d = create(&map, modes);
        let blob = define(&*d, &Edit::DefOpaque { group: ROOT, name: "blob", size: 2 });
        let v = d.def_var(ROOT, "v", NcType::User(blob), &[]).unwrap();
        let value = Values::User(blob, b"ab".to_vec());
        d.put_att(ROOT, Some(v), FILL_VALUE, NcType::User(blob), &value).unwrap();
        d.close().unwrap();
        let d = open_rw(&map);
        assert_eq!(d.model().snapshot().var(v).unwrap().atts[FILL_VALUE], value);
        d.del_att(ROOT, Some(v), FILL_VALUE).unwrap();
        d.close().unwrap();
        let d = open(&map).unwrap();
        let model = d.model().snapshot();
        let found = model.var(v).unwrap();
        assert_eq!((found.atts.get(FILL_VALUE), &found.fill), (None, &VarFill::Default), "{modes}");
        assert_eq!(bytes(&*d, v, 2), [0; 2]);
    }
}

/// A fill value in an attribute is as large in memory as in its document.
#[test]
fn a_short_text_cannot_make_a_large_fill_value() {
    let types = r#"[{"name": "big", "class": "opaque", "size": 16777216}, {"name": "small", "class": "opaque", "size": 4096},
        {"name": "text", "class": "compound", "size": 8, "fields": [{"name": "s", "type": "string", "offset": 0}]},
        {"name": "row", "class": "vlen", "base": "int"},
        {"name": "texts", "class": "compound", "size": 9600, "fields": [
            {"name": "s", "type": "string", "offset": 0, "shape": [1000]}, {"name": "r", "type": "/row", "offset": 8000, "shape": [100]}]}]"#;
    let packed = r#""dtype": "|O", "filters": [{"id": "vlen-bytes"}], "fill_value": "#;
    let map = dataset(
        types,
        &[
            (
                "v_big",
                r#""filters": null, "dtype": "|V16777216", "fill_value": 0"#,
                r#""type": "/big", "fill": 0"#,
            ),
            ("v_plain", r#""filters": null, "dtype": "|V16777216", "fill_value": 0"#, r#""type": "/big""#),
            (
                "v_none",
                r#""filters": null, "dtype": "|V16777216", "fill_value": null"#,
                r#""type": "/big", "fill": 0"#,
            ),
            (
                "v_small",
                r#""filters": null, "dtype": "|V4096", "fill_value": 0"#,
                r#""type": "/small", "fill": 0"#,
            ),
            ("v_texts", &format!("{packed} \"\""), r#""type": "/texts", "fill": 0"#),
            ("v_row", &format!("{packed} \"\""), r#""type": "/row", "fill": 0"#),
        ],
    );
    let d = open(&map).unwrap();
    let model = d.model().snapshot();
    for name in ["v_big", "v_texts"] {
        let problem = model.var(var(&*d, name)).unwrap().problem.clone().unwrap();
        assert!(
            problem.kind() == ErrorKind::NcZarr && problem.to_string().contains("fill_value"),
            "{name}: {problem}"
        );
        assert!(
            problem.to_string().contains("4096") && problem.to_string().contains(name),
            "{name}: {problem}"
        );
    }
    for (name, fill, has) in [("v_plain", VarFill::Default, false), ("v_none", VarFill::NoFill, false)] {
        let found = model.var(var(&*d, name)).unwrap();
        assert!(
            found.problem.is_none() && found.fill == fill && found.atts.contains_key(FILL_VALUE) == has,
            "{name}"
        );
    }
    for name in ["v_small", "v_row"] {
        let found = model.var(var(&*d, name)).unwrap();
        assert!(
            found.problem.is_none() && found.atts.contains_key(FILL_VALUE),
            "{name}: {:?}",
            found.problem
        );
    }
}

/// A stored fill value counts, zeros or not.
#[test]
fn a_large_fill_value_that_is_stored_comes_back() {
    for (modes, byte) in [("nczarr,v2", 0), ("nczarr,v2", 7), ("nczarr,v3", 0), ("nczarr,v3", 7)] {
        let map = TestMap::new(&[]);
        let d = create(&map, modes);
        let blob = define(&*d, &Edit::DefOpaque { group: ROOT, name: "blob", size: 9000 });
        let v = d.def_var(ROOT, "v", NcType::User(blob), &[]).unwrap();
        let value = Values::User(blob, vec![byte; 9000]);
        d.put_att(ROOT, Some(v), FILL_VALUE, NcType::User(blob), &value).unwrap();
        d.close().unwrap();
        let d = open(&map).unwrap();
        let found = d.model().snapshot().var(v).unwrap().clone();
        assert!(found.problem.is_none() && found.atts[FILL_VALUE] == value, "{modes}: {:?}", found.problem);
        assert_eq!(bytes(&*d, v, 9000), vec![byte; 9000]);
    }
}

/// Each type contains the previous one twice. As a tree they have 2^28 nodes.
#[test]
fn nested_types_are_examined_once() {
    let mut types = vec![
        r#"{"name": "t0", "class": "compound", "size": 8, "fields": [{"name": "s", "type": "string", "offset": 0}]}"#
            .to_owned(),
    ];
    for i in 1..=27u64 {
        let (half, inner) = (8 << (i - 1), i - 1);
        types.push(format!(
            "{{\"name\": \"t{i}\", \"class\": \"compound\", \"size\": {}, \"fields\": [{{\"name\": \"a\", \"type\": \"/t{inner}\", \
             \"offset\": 0}}, {{\"name\": \"b\", \"type\": \"/t{inner}\", \"offset\": {half}}}]}}",
            2 * half
        ));
    }
    let types = format!("[{}]", types.join(","));
    let map = dataset(
        &types,
        &[("v", r#""filters": null, "dtype": "|V8", "fill_value": null"#, r#""type": "/t27""#)],
    );
    let d = open(&map).unwrap();
    let model = d.model().snapshot();
    assert_eq!(model.var(var(&*d, "v")).unwrap().problem.clone().unwrap().kind(), ErrorKind::NcZarr);
    assert_eq!(model.root().types.len(), 28);
}

#[test]
fn types_have_the_member_limits_of_hdf5() {
    let members = |count: usize| {
        let list: Vec<String> =
            (0..count).map(|i| format!("{{\"name\": \"m{i}\", \"value\": {i}}}")).collect();
        format!(
            "[{{\"name\": \"e\", \"class\": \"enum\", \"base\": \"int\", \"members\": [{}]}}]",
            list.join(",")
        )
    };
    let fields = |count: usize| {
        let field = |i| format!("{{\"name\": \"f{i}\", \"type\": \"byte\", \"offset\": {i}}}");
        let list: Vec<String> = (0..count).map(field).collect();
        format!(
            "[{{\"name\": \"c\", \"class\": \"compound\", \"size\": 100000, \"fields\": [{}]}}]",
            list.join(",")
        )
    };
    for types in [members(MOST + 1), fields(MOST + 1)] {
        let error = open(&dataset(&types, &[])).unwrap_err();
        assert!(error.kind() == ErrorKind::NcZarr && error.to_string().contains("65535"), "{error}");
    }
    // Values that could not be read back are not written.
    let map = dataset(&members(MOST - 1), &[]);
    let d = open_rw(&map);
    let ty = d.model().snapshot().find_type(ROOT, "e").unwrap();
    let insert = |name, value| d.edit(&Edit::InsertEnum { ty, name, value });
    insert("last", -1).unwrap();
    assert_eq!(insert("more", -2).unwrap_err().kind(), ErrorKind::NotNc4);
    d.close().unwrap();
    open(&map).unwrap();
    let d = open_rw(&dataset(&fields(MOST), &[]));
    let ty = d.model().snapshot().find_type(ROOT, "c").unwrap();
    let more = Edit::InsertField { ty, name: "more", offset: MOST, field: NcType::Byte, shape: &[] };
    assert_eq!(d.edit(&more).unwrap_err().kind(), ErrorKind::NotNc4);
}
