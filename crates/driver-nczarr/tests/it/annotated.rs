//! Plain Zarr with annotations: the stored form, the round trip, and changes by other programs.

use std::sync::Arc;

use nczarr_dispatch::{Dataset, Driver, OpenRequest, OpenScope, Options};
use nczarr_driver_nczarr::NcZarrDriver;
use nczarr_model::{ErrorKind, GroupId, Model, NcType, Values};
use nczarr_nc_table::NcDispatch;
use nczarr_storage::ZMap;

use crate::support::{TestMap, create, get, open, open_rw, open_with, put, registry, var};

const ROOT: GroupId = GroupId::ROOT;

/// A dataset with an unlimited and an unused dimension, nodes out of order, char and unusual attributes.
fn sample() -> Arc<TestMap> {
    let map = TestMap::new(&[]);
    let d = create(&map, "zarr,annotate");
    d.put_att(ROOT, None, "level", NcType::Short, &Values::Short(vec![5])).unwrap();
    d.put_att(ROOT, None, "title", NcType::Char, &Values::text("plain")).unwrap();
    let t = d.def_dim(ROOT, "t", None).unwrap();
    d.def_dim(ROOT, "unused", Some(7)).unwrap();
    let x = d.def_dim(ROOT, "x", Some(3)).unwrap();
    let z = d.def_var(ROOT, "z", NcType::Int, &[t, x]).unwrap();
    let a = d.def_var(ROOT, "a", NcType::Char, &[x]).unwrap();
    d.put_att(ROOT, Some(a), "_FillValue", NcType::Char, &Values::text("-")).unwrap();
    d.put_att(ROOT, Some(z), "valid", NcType::Float, &Values::Float(vec![0.1, f32::NAN])).unwrap();
    let h = d.def_grp(ROOT, "h").unwrap();
    d.def_grp(ROOT, "g").unwrap();
    d.def_var(h, "v", NcType::Double, &[t]).unwrap();
    put(&*d, z, &[0, 0], &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    d.close().unwrap();
    map
}

/// Describes everything that the annotation covers.
fn structure(model: &Model) -> String {
    let mut dims: Vec<_> =
        model.dims().map(|(_, dim)| (dim.group, &dim.name, dim.len(), dim.unlimited)).collect();
    dims.sort_by_key(|dim| dim.0);
    // The order within each group is kept.
    let mut vars: Vec<_> = model.vars().map(|(_, var)| var).collect();
    vars.sort_by_key(|var| var.group);
    let dim_name = |dim: &_| model.dim(*dim).unwrap().name.clone();
    let names = |var: &nczarr_model::Var| var.dims.iter().map(dim_name).collect::<Vec<_>>();
    let vars: Vec<_> = vars.iter().map(|var| (&var.name, var.xtype, names(var), &var.atts)).collect();
    let groups: Vec<_> = model.groups().map(|(_, group)| (&group.name, &group.atts)).collect();
    format!("{dims:?} {vars:?} {groups:?}")
}

fn read(map: &Arc<TestMap>) -> Arc<Model> {
    open(map).unwrap().model().snapshot()
}

fn is_left_aside(dataset: &dyn Dataset) -> bool {
    dataset.info().notes.iter().any(|note| note.contains("_netcdf is ignored"))
}

#[test]
fn netcdf_annotations_restore_the_model() {
    let map = sample();
    let expected = [
        (
            ".zattrs",
            r#"{"dimensions": {"t": {"size": 2, "unlimited": 1}, "unused": 7, "x": 3}, "arrays": ["z","a"], "groups": ["h","g"], "types": {"level": "<i2"}}"#,
        ),
        ("a/.zattrs", r#"{"type": "char"}"#),
        ("z/.zattrs", r#"{"types": {"valid": "<f4"}}"#),
        ("h/v/.zattrs", "null"),
        ("h/.zattrs", "null"),
    ];
    for (key, annotation) in expected {
        let expected: serde_json::Value = serde_json::from_str(annotation).unwrap();
        let found = map.json(key).get("_netcdf").cloned().unwrap_or_default();
        assert_eq!(found, expected, "{key}");
    }
    assert_eq!(map.json("a/.zarray")["dtype"], "|S1");
    let d = open(&map).unwrap();
    let model = d.model().snapshot();
    let dims: Vec<_> = model.dims().map(|(_, dim)| (dim.name.as_str(), dim.len(), dim.unlimited)).collect();
    assert_eq!(dims, [("t", 2, true), ("unused", 7, false), ("x", 3, false)]);
    let vars: Vec<_> = model.vars().map(|(_, var)| (var.name.as_str(), var.xtype)).collect();
    assert_eq!(vars, [("z", NcType::Int), ("a", NcType::Char), ("v", NcType::Double)]);
    assert_eq!(model.root().groups.keys().collect::<Vec<_>>(), ["h", "g"]);
    assert_eq!(model.root().atts.keys().collect::<Vec<_>>(), ["level", "title"]);
    assert_eq!(model.root().atts["level"], Values::Short(vec![5]));
    let (z, a) = (model.var(var(&*d, "/z")).unwrap(), model.var(var(&*d, "/a")).unwrap());
    assert_eq!(z.atts["valid"], Values::Float(vec![0.1, f32::NAN]));
    assert_eq!((a.fill_value(), &a.atts["_FillValue"]), (Some(Values::text("-")), &Values::text("-")));
    assert_eq!(get(&*d, var(&*d, "/z")), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn annotations_repeat_no_known_facts() {
    for modes in ["zarr,annotate", "zarr", "zarr,annotate,noxarray", "nczarr,annotate"] {
        let map = TestMap::new(&[]);
        let d = create(&map, modes);
        let dims = [d.def_dim(ROOT, "y", Some(2)).unwrap(), d.def_dim(ROOT, "x", Some(3)).unwrap()];
        d.put_att(ROOT, None, "title", NcType::Char, &Values::text("plain")).unwrap();
        d.put_att(ROOT, None, "number", NcType::Int, &Values::Int(vec![5])).unwrap();
        for name in ["a", "b"] {
            let v = d.def_var(ROOT, name, NcType::Float, &dims).unwrap();
            d.put_att(ROOT, Some(v), "_FillValue", NcType::Float, &Values::Float(vec![-1.0])).unwrap();
        }
        if modes != "zarr,annotate" {
            d.def_dim(ROOT, "t", None).unwrap();
        }
        d.close().unwrap();
        let said: Vec<String> =
            map.keys().into_iter().filter(|key| map.text(key).contains("\"_netcdf\"")).collect();
        assert!(said.is_empty(), "{modes}: {said:?}");
    }
}

#[test]
fn annotations_stay_correct_after_writes() {
    let map = sample();
    let before = map.objects();
    open_rw(&map).close().unwrap();
    assert_eq!(map.objects(), before);

    let d = open_rw(&map);
    put(&*d, var(&*d, "/z"), &[4, 0], &[1, 3], &[7.0, 8.0, 9.0]);
    d.del_att(ROOT, None, "level").unwrap();
    d.redef().ok();
    d.rename_dim(d.model().snapshot().find_dim(ROOT, "unused").unwrap(), "free").unwrap();
    d.def_var(ROOT, "b", NcType::Char, &[]).unwrap();
    d.close().unwrap();
    let root = map.json(".zattrs");
    let expected = r#"{"dimensions": {"t": {"size": 5, "unlimited": 1}, "free": 7, "x": 3}, "arrays": ["z","a","b"], "groups": ["h","g"]}"#;
    assert_eq!(root["_netcdf"], serde_json::from_str::<serde_json::Value>(expected).unwrap());
    assert_eq!(map.json("h/v/.zarray")["shape"], serde_json::json!([5]));
    assert_eq!(map.json("b/.zattrs")["_netcdf"], serde_json::json!({"type": "char"}));
    assert_eq!(structure(&read(&map)), structure(&d.model().snapshot()));
}

#[test]
fn annotations_distinguish_fill_values_from_zarr_defaults() {
    let map = TestMap::new(&[]);
    let d = create(&map, "zarr,annotate");
    let x = d.def_dim(ROOT, "x", Some(2)).unwrap();
    let zero = Values::Int(vec![0]);
    for name in ["said", "unsaid"] {
        let v = d.def_var(ROOT, name, NcType::Int, &[x]).unwrap();
        if name == "said" {
            d.def_var_fill(v, false, Some(&zero)).unwrap();
        } else {
            d.edit(&nczarr_model::Edit::DefVarUnwritten { var: v, value: &zero }).unwrap();
        }
    }
    d.close().unwrap();
    assert_eq!(map.json("unsaid/.zarray")["fill_value"], 0);
    assert_eq!(map.json("unsaid/.zattrs")["_netcdf"], serde_json::json!({"fill": "unwritten"}));
    for writable in [false, true] {
        let d = if writable { open_rw(&map) } else { open(&map).unwrap() };
        let model = d.model().snapshot();
        for (name, said) in [("said", Some(&zero)), ("unsaid", None)] {
            let var = model.var(model.find_var(ROOT, name).unwrap()).unwrap();
            assert_eq!(
                (&var.fill, var.atts.get("_FillValue")),
                (&nczarr_model::VarFill::Value(zero.clone()), said),
                "{name}"
            );
        }
        let before = map.objects();
        d.close().unwrap();
        assert_eq!(map.objects(), before);
    }
}

#[test]
fn unwritten_elements_may_differ_from_missing_values_in_plain_v3() {
    let (missing, unwritten) = (Values::Int(vec![-9]), Values::Int(vec![7]));
    for mode in ["zarr,v3", "zarr,v3,annotate", "zarr", "nczarr,v3"] {
        let map = TestMap::new(&[]);
        let d = create(&map, mode);
        let x = d.def_dim(ROOT, "x", Some(2)).unwrap();
        let v = d.def_var(ROOT, "v", NcType::Int, &[x]).unwrap();
        d.def_var_fill(v, false, Some(&missing)).unwrap();
        let done = d.edit(&nczarr_model::Edit::DefVarUnwritten { var: v, value: &unwritten });
        if !mode.starts_with("zarr,v3") {
            assert_eq!(done.unwrap_err().kind(), ErrorKind::Inval, "{mode}");
            continue;
        }
        done.unwrap();
        d.close().unwrap();
        let stored = map.json("v/zarr.json");
        assert_eq!(stored["fill_value"], 7);
        assert_eq!(stored["attributes"]["_FillValue"], -9);
        for writable in [false, true] {
            let d = if writable { open_rw(&map) } else { open(&map).unwrap() };
            let model = d.model().snapshot();
            let found = model.var(model.find_var(ROOT, "v").unwrap()).unwrap();
            let expected = (&nczarr_model::VarFill::Value(unwritten.clone()), Some(&missing));
            assert_eq!((&found.fill, found.atts.get("_FillValue")), expected, "{mode}");
            let before = map.objects();
            d.close().unwrap();
            assert_eq!(map.objects(), before);
        }
    }
}

/// A writer stopped before it finished, or another program appended to one array.
#[test]
fn an_unlimited_dimension_grows_with_its_longest_array() {
    let map = sample();
    let text = map.text("z/.zarray").replace("[2,3]", "[4,3]");
    map.put("z/.zarray", text.as_bytes());
    let d = open(&map).unwrap();
    let model = d.model().snapshot();
    let t = model.dim(model.find_dim(ROOT, "t").unwrap()).unwrap();
    assert_eq!((t.len(), t.unlimited, is_left_aside(&*d)), (4, true, false));
    assert_eq!(model.shape(var(&*d, "/h/v")).unwrap(), [4]);
    // Another program changes the array while the dataset is open.
    map.put("z/.zarray", text.replace("[4,3]", "[6,3]").as_bytes());
    d.sync().unwrap();
    assert_eq!(t.len(), 6);
}

#[test]
fn the_documents_win() {
    let shorter = |map: &TestMap| {
        for (key, from, to) in [("z/.zarray", "[2,3]", "[1,3]"), ("h/v/.zarray", "[2]", "[1]")] {
            map.put(key, map.text(key).replacen(from, to, 1).as_bytes());
        }
    };
    let replace = |key: &'static str, from: &'static str, to: &'static str| {
        move |map: &TestMap| {
            let text = map.text(key);
            assert!(text.contains(from), "{text}");
            map.put(key, text.replacen(from, to, 1).as_bytes());
        }
    };
    type Change<'a> = (&'a dyn Fn(&TestMap), bool, Vec<(&'a str, u64, bool)>);
    let (t, unused, x) = (("t", 2, true), ("unused", 7, false), ("x", 3, false));
    let fixed = |lens: [u64; 4]| {
        let names = ["x", "t", "x", "t"];
        names
            .into_iter()
            .zip(lens)
            .map(|(name, len)| (name, len, false))
            .filter(|dim| dim.1 > 0)
            .collect::<Vec<_>>()
    };
    let gone = |map: &TestMap| {
        ["a/.zarray", "a/.zattrs", "g/.zgroup", "g/.zattrs"].iter().for_each(|key| map.remove(key))
    };
    let changes: [Change<'_>; 6] = [
        // All arrays are shorter, so the dimension has their length.
        (&shorter, false, vec![("t", 1, true), unused, x]),
        (&replace("h/v/.zarray", "\"shape\": [2]", "\"shape\": [1]"), true, fixed([3, 2, 0, 1])),
        (
            &replace("a/.zarray", "\"shape\": [3]", "\"shape\": [9]"),
            true,
            vec![("x", 9, false), ("t", 2, false), ("x_3", 3, false), ("t", 2, false)],
        ),
        (&replace(".zattrs", "\"x\": 3", "\"x\": -3"), true, fixed([3, 2, 0, 2])),
        (&replace("z/.zattrs", "[\"t\",\"x\"]", "[\"s\",\"x\"]"), false, vec![t, unused, x, ("s", 2, false)]),
        (&gone, false, vec![t, unused, x]),
    ];
    for (i, (change, left_aside, dims)) in changes.into_iter().enumerate() {
        let map = sample();
        change(&map);
        let d = open(&map).unwrap();
        let model = d.model().snapshot();
        let found: Vec<_> =
            model.dims().map(|(_, dim)| (dim.name.as_str(), dim.len(), dim.unlimited)).collect();
        assert_eq!((found, is_left_aside(&*d)), (dims, left_aside), "{i}: {:?}", d.info().notes);
        assert!(model.vars().all(|(_, var)| var.problem.is_none()));
        // A new write by this library makes the annotation valid again.
        let d = open_rw(&map);
        d.redef().ok();
        d.def_dim(ROOT, "more", None).unwrap();
        d.close().unwrap();
        let again = open(&map).unwrap();
        assert!(!is_left_aside(&*again), "{i}: {:?}", again.info().notes);
        assert_eq!(structure(&again.model().snapshot()), structure(&d.model().snapshot()), "{i}");
    }
}

#[test]
fn types_hold_for_values_that_fit() {
    for (value, expected) in [
        ("6", Values::Short(vec![6])),
        ("[1,-2]", Values::Short(vec![1, -2])),
        ("70000", Values::Int(vec![70000])),
        ("2.5", Values::Double(vec![2.5])),
        ("\"7\"", Values::text("7")),
        ("true", Values::UByte(vec![1])),
        ("{\"a\": 1}", Values::text("{\"a\": 1}")),
    ] {
        let map = sample();
        map.put(
            ".zattrs",
            map.text(".zattrs").replacen("\"level\": 5", &format!("\"level\": {value}"), 1).as_bytes(),
        );
        assert_eq!(read(&map).root().atts["level"], expected, "{value}");
    }
    // Text of more than one byte is not char.
    let map = sample();
    map.put("a/.zarray", map.text("a/.zarray").replace("|S1", "|S2").replace("LQ==", "").as_bytes());
    let d = open(&map).unwrap();
    assert_eq!(d.model().snapshot().var(var(&*d, "/a")).unwrap().xtype, NcType::String);
}

#[test]
fn invalid_annotations_are_ignored() {
    for annotation in [
        "1",
        "[]",
        "{}",
        r#"{"dimensions": 1}"#,
        r#"{"dimensions": {"x": "3"}}"#,
        r#"{"dimensions": {"a/b": 3}}"#,
        r#"{"dimensions": {"": 3}}"#,
        r#"{"dimensions": {"x": 3, "x": 4}}"#,
        r#"{"dimensions": {"x": 18446744073709551615}}"#,
        r#"{"arrays": {"a": 1}}"#,
        r#"{"arrays": ["a","a","nothing","z"], "groups": ["g","g"]}"#,
        r#"{"groups": [1]}"#,
        r#"{"types": 5, "nan": 7, "type": []}"#,
        r#"{"types": {"level": 5, "title": "<f4", "none": "<i2"}}"#,
    ] {
        let map = sample();
        for key in [".zattrs", "a/.zattrs", "h/.zattrs"] {
            let mut document = map.json(key);
            document["_netcdf"] = serde_json::Value::Null;
            map.put(
                key,
                document
                    .to_string()
                    .replace("\"_netcdf\":null", &format!("\"_netcdf\":{annotation}"))
                    .as_bytes(),
            );
        }
        let model = read(&map);
        assert_eq!(model.vars().len(), 3, "{annotation}");
        assert_eq!(model.root().atts["title"], Values::text("plain"), "{annotation}");
        assert_eq!(model.shape(model.find_var(ROOT, "z").unwrap()).unwrap(), [2, 3], "{annotation}");
    }
}

#[test]
fn one_variable_opened_alone_is_the_same() {
    let map = sample();
    let all = read(&map);
    let target = nczarr_url_infer::parse("file:///some/store.zarr").unwrap();
    for (path, other) in [("/z", "/a"), ("/a", "/z"), ("/h/v", "/z")] {
        let opened = NcZarrDriver.open(
            &OpenRequest::new(&target, &Options::default(), &registry())
                .map(Some((Arc::clone(&map) as Arc<dyn ZMap>).into()))
                .scope(Some(OpenScope { path, data_only: false })),
        );
        let model = opened.unwrap().model().snapshot();
        // All arrays together determine the length of an unlimited dimension.
        assert!(model.var_at(ROOT, other).is_ok());
        assert_eq!(structure(&model), structure(&all), "{path}");
    }
}

#[test]
fn dimension_annotations_are_ignored_without_names() {
    let d = open_with(&sample(), "zarr,noxarray", false, &Options::default()).unwrap();
    let model = d.model().snapshot();
    assert!(model.dims().all(|(_, dim)| dim.name.starts_with("_Anonymous_Dim_")));
    assert_eq!(model.var(var(&*d, "/a")).unwrap().xtype, NcType::Char);
}
