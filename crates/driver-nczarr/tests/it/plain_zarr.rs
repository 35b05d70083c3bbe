//! Plain Zarr from other programs, and NCZarr read as plain Zarr.

use nczarr_dispatch::{FaultKind, Options};
use nczarr_model::{ErrorKind, GroupId, NcType, Values, VarFill};
use nczarr_nc_table::NcDispatch;

use crate::support::{TestMap, get, get_text, open, open_rw, open_with, put, put_text, try_get, var};

const ROOT: GroupId = GroupId::ROOT;
const GROUP: (&str, &str) = (".zgroup", r#"{"zarr_format": 2}"#);

/// A `.zarray` of 4 elements in one chunk.
fn zarray(dtype: &str, fill: &str, rest: &str) -> String {
    format!(
        r#"{{"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": {dtype}, "fill_value": {fill}, "order": "C", "filters": null, "compressor": null{rest}}}"#
    )
}

fn dims(map: &std::sync::Arc<TestMap>) -> Vec<(String, u64, bool)> {
    let model = open(map).unwrap().model().snapshot();
    model.dims().map(|(_, dim)| (dim.name.clone(), dim.len(), dim.unlimited)).collect()
}

fn shape(lens: &str) -> String {
    zarray("\"<i4\"", "0", "").replace("\"shape\": [4]", &format!("\"shape\": {lens}")).replace(
        "\"chunks\": [4]",
        &format!("\"chunks\": {}", lens.replace(|c: char| c.is_ascii_digit(), "1").replace("11", "1")),
    )
}

#[test]
fn dimensions_are_named_or_made_up() {
    let map = TestMap::new(&[
        GROUP,
        ("a/.zarray", &shape("[4,5]")),
        ("b/.zarray", &shape("[5,4]")),
        ("b/.zattrs", r#"{"_ARRAY_DIMENSIONS": ["y","x"]}"#),
        // The same name has another length, and then the same length again.
        ("c/.zarray", &shape("[7,5]")),
        ("c/.zattrs", r#"{"_ARRAY_DIMENSIONS": ["x","y"]}"#),
        ("d/.zarray", &shape("[7]")),
        ("d/.zattrs", r#"{"_ARRAY_DIMENSIONS": ["x"]}"#),
        // These names are invalid.
        ("e/.zarray", &shape("[4]")),
        ("e/.zattrs", r#"{"_ARRAY_DIMENSIONS": ["x","y"]}"#),
        ("f/.zarray", &shape("[4]")),
        ("f/.zattrs", r#"{"_ARRAY_DIMENSIONS": "x"}"#),
        ("h/.zarray", &shape("[4]")),
        ("h/.zattrs", r#"{"_ARRAY_DIMENSIONS": ["a/b"]}"#),
        // Each group has its own dimension. A dimension of length 0 is unlimited.
        ("g/.zgroup", r#"{"zarr_format": 2}"#),
        ("g/v/.zarray", &shape("[3,0]")),
        ("g/v/.zattrs", r#"{"_ARRAY_DIMENSIONS": ["x","t"]}"#),
    ]);
    let expected = [
        ("_Anonymous_Dim_4", 4, false),
        ("_Anonymous_Dim_5", 5, false),
        ("y", 5, false),
        ("x", 4, false),
        ("x_7", 7, false),
        ("x", 3, false),
        ("t", 0, true),
    ];
    assert_eq!(dims(&map), expected.map(|(name, len, unlimited)| (name.to_owned(), len, unlimited)));
    let d = open(&map).unwrap();
    let info = d.info();
    assert_eq!(info.flavour, "xarray");
    let faults: Vec<_> = info.faults.iter().map(|fault| (fault.kind, fault.to_string())).collect();
    let text = "/x_7 is inconsistent: arrays call it by the name of a dimension of another length, \"x\"";
    assert_eq!(faults, [(FaultKind::Inconsistent, text.to_owned())]);
    assert!(!d.model().snapshot().var(var(&*d, "b")).unwrap().atts.contains_key("_ARRAY_DIMENSIONS"));
    let d = open_with(&map, "zarr,noxarray", false, &Options::default()).unwrap();
    assert!(d.model().snapshot().dims().all(|(_, dim)| dim.name.starts_with("_Anonymous_Dim_")));
    // A session for writing changes none of it.
    let before = map.objects();
    let d = open_rw(&map);
    d.close().unwrap();
    assert_eq!(map.objects(), before);
}

#[test]
fn reports_of_conflicting_dimension_names_are_limited() {
    let map = TestMap::new(&[GROUP]);
    for i in 0..30 {
        map.put(&format!("v{i:02}/.zarray"), shape(&format!("[{}]", i + 1)).as_bytes());
        map.put(&format!("v{i:02}/.zattrs"), br#"{"_ARRAY_DIMENSIONS": ["x"]}"#);
    }
    // The name is already in use, and this array has a third length.
    map.put("w/.zarray", shape("[2,77]").as_bytes());
    map.put("w/.zattrs", br#"{"_ARRAY_DIMENSIONS": ["x","x_3"]}"#);
    let d = open(&map).unwrap();
    let model = d.model().snapshot();
    let w: Vec<_> =
        model.var(var(&*d, "w")).unwrap().dims.iter().map(|&dim| &model.dim(dim).unwrap().name).collect();
    assert_eq!(w, ["x_2", "x_3_77"]);
    let faults = d.info().faults;
    assert_eq!(faults.iter().filter(|fault| fault.text.contains("arrays call it")).count(), 20);
    assert!(faults.iter().any(|fault| fault.text.starts_with("10 more dimensions")), "{faults:?}");
}

#[test]
fn stores_without_groups() {
    // The store has one array and nothing else.
    let map = TestMap::new(&[(".zarray", &zarray("\"<i4\"", "7", "")), (".zattrs", r#"{"units": "K"}"#)]);
    let d = open_rw(&map);
    let v = var(&*d, "store.v1");
    assert_eq!(get(&*d, v), [7.0; 4]);
    assert_eq!(d.model().snapshot().var(v).unwrap().atts["units"], Values::text("K"));
    assert!(d.model().snapshot().root().atts.is_empty());
    assert_eq!(d.def_var(ROOT, "x", NcType::Int, &[]).unwrap_err().kind(), ErrorKind::Perm);
    assert_eq!(
        d.put_att(ROOT, None, "a", NcType::Int, &Values::Int(vec![1])).unwrap_err().kind(),
        ErrorKind::Perm
    );
    d.put_att(ROOT, Some(v), "units", NcType::Char, &Values::text("C")).unwrap();
    put(&*d, v, &[1], &[1], &[5.0]);
    d.close().unwrap();
    assert_eq!(map.keys(), [".zarray", ".zattrs", "0"]);
    assert_eq!(map.text(".zattrs"), r#"{"units": "C"}"#);
    assert_eq!(get(&*open(&map).unwrap(), v), [7.0, 5.0, 7.0, 7.0]);

    // The arrays are in folders without groups. The other folders and objects are foreign.
    let map = TestMap::new(&[
        ("lonely/.zarray", &zarray("\"<i4\"", "1", "")),
        ("a/b/v/.zarray", &zarray("\"<i4\"", "2", "")),
        ("other/thing.txt", "x"),
        ("readme", "x"),
        (".DS_Store", "x"),
    ]);
    let d = open(&map).unwrap();
    let model = d.model().snapshot();
    let paths: Vec<_> = model.vars().map(|(id, _)| model.var_path(id).unwrap()).collect();
    assert_eq!(paths, ["/lonely", "/a/b/v"]);
    assert_eq!(model.groups().len(), 3);
    assert_eq!(get(&*d, var(&*d, "a/b/v")), [2.0; 4]);

    assert_eq!(open(&TestMap::new(&[])).unwrap_err().kind(), ErrorKind::NotZarr);
    assert_eq!(open(&TestMap::new(&[("x/y", "z")])).unwrap_err().kind(), ErrorKind::NotZarr);
    let v3 = TestMap::new(&[("zarr.json", "{}")]);
    assert_eq!(open(&v3).unwrap_err().kind(), ErrorKind::NcZarr);
    let both = TestMap::new(&[GROUP, ("zarr.json", "{}")]);
    assert!(open(&both).is_ok());
}

#[test]
fn foreign_types_are_read() {
    let map = TestMap::new(&[
        GROUP,
        ("bool/.zarray", &zarray("\"|b1\"", "true", "")),
        ("bool/0", "\0\u{1}\0\0"),
        ("u/.zarray", &zarray("\"<U2\"", "\"é\"", "")),
        (
            "o/.zarray",
            &zarray("\"|O\"", "0", "").replace("\"filters\": null", "\"filters\": [{\"id\": \"vlen-utf8\"}]"),
        ),
        ("c/.zarray", &zarray("\"int4\"", "0", "")),
        ("r/.zarray", &zarray("[[\"a\",\"|O\"]]", "null", "")),
        (
            "p/.zarray",
            &zarray("\"|O\"", "null", "").replace("\"filters\": null", "\"filters\": [{\"id\": \"pickle\"}]"),
        ),
        (
            "z/.zarray",
            &zarray("\"<i4\"", "1", "").replace("\"compressor\": null", "\"compressor\": {\"id\": \"zfpy\"}"),
        ),
        ("i/.zarray", &zarray("\"<i4\"", "1", "")),
    ]);
    let d = open_rw(&map);
    let model = d.model().snapshot();
    let find = |name: &str| model.var(var(&*d, name)).unwrap();
    assert_eq!((find("bool").xtype, find("bool").stored_type.as_deref()), (NcType::UByte, Some("|b1")));
    assert_eq!((find("u").xtype, find("u").stored_type.as_deref()), (NcType::String, Some("<U2")));
    assert_eq!((find("o").xtype, find("o").stored_type.as_deref()), (NcType::String, Some("|O")));
    assert_eq!(find("c").stored_type.as_deref(), Some("int4"));
    assert_eq!(find("r").stored_type.as_deref(), Some("[[\"a\",\"|O\"]]"));
    for (name, kind, word) in [
        ("c", ErrorKind::BadType, "int4"),
        ("r", ErrorKind::BadType, "\"a\""),
        ("p", ErrorKind::BadType, "pickle"),
        ("z", ErrorKind::NoFilter, "zfpy"),
    ] {
        let error = try_get(&*d, var(&*d, name)).unwrap_err();
        assert_eq!(error.kind(), kind, "{name}");
        assert!(error.to_string().contains(word), "{error}");
        assert!(error.to_string().contains(&format!("{name}/.zarray")), "{error}");
    }
    assert!(find("z").problem.as_ref().unwrap().to_string().contains("zstd"), "says what there is");
    assert_eq!(get(&*d, var(&*d, "bool")), [0.0, 1.0, 0.0, 0.0]);
    assert_eq!(get(&*d, var(&*d, "i")), [1.0; 4]);
    // A write keeps the stored types.
    put(&*d, var(&*d, "bool"), &[3], &[1], &[1.0]);
    put_text(&*d, var(&*d, "u"), &[1], &[1], &["日本"]).unwrap();
    put_text(&*d, var(&*d, "o"), &[1], &[1], &["a longer text"]).unwrap();
    let before = map.objects();
    d.close().unwrap();
    let after = map.objects();
    for (key, value) in before.iter().filter(|(key, _)| key.contains(".z")) {
        assert_eq!(after[key], *value, "{key}");
    }
    let d = open(&map).unwrap();
    assert_eq!(get(&*d, var(&*d, "bool")), [0.0, 1.0, 0.0, 1.0]);
    assert_eq!(get_text(&*d, var(&*d, "u")), ["é", "日本", "é", "é"]);
    assert_eq!(get_text(&*d, var(&*d, "o")), ["", "a longer text", "", ""]);
}

#[test]
fn fill_values_by_the_convention_of_xarray() {
    let named = r#"{"_ARRAY_DIMENSIONS": ["x"]}"#;
    let map = TestMap::new(&[
        GROUP,
        ("a/.zarray", &zarray("\"<i4\"", "-9", "")),
        ("a/.zattrs", named),
        ("b/.zarray", &zarray("\"<i4\"", "-9", "")),
        ("c/.zarray", &zarray("\"<f8\"", "9.96921e+36", "")),
        ("c/.zattrs", named),
        ("d/.zarray", &zarray("\"<i4\"", "null", "")),
        ("d/.zattrs", named),
        ("e/.zarray", &zarray("\"<i4\"", "-2147483647", "")),
        ("e/.zattrs", named),
    ]);
    let d = open_rw(&map);
    let model = d.model().snapshot();
    let find = |name: &str| model.var(var(&*d, name)).unwrap();
    assert_eq!(find("a").atts["_FillValue"], Values::Int(vec![-9]));
    assert_eq!(find("b").fill, VarFill::Value(Values::Int(vec![-9])));
    for name in ["b", "c", "d", "e"] {
        assert!(!find(name).atts.contains_key("_FillValue"), "{name}");
    }
    assert_eq!((&find("d").fill, &find("e").fill), (&VarFill::NoFill, &VarFill::Default));
    // A derived attribute is not stored until it changes.
    d.put_att(ROOT, Some(var(&*d, "a")), "units", NcType::Char, &Values::text("K")).unwrap();
    d.sync().unwrap();
    assert_eq!(map.text("a/.zattrs"), r#"{"units": "K", "_ARRAY_DIMENSIONS": ["x"]}"#);
    d.put_att(ROOT, Some(var(&*d, "a")), "_FillValue", NcType::Int, &Values::Int(vec![5])).unwrap();
    d.close().unwrap();
    assert_eq!(map.json("a/.zarray")["fill_value"], 5);
    assert_eq!(map.json("a/.zattrs")["_FillValue"], 5);
}

#[test]
fn a_plain_store_stays_plain() {
    let map = TestMap::new(&[
        GROUP,
        (".zattrs", r#"{"list": [1, "a"], "deep": {"a": {"b": null}}, "mixed": [1, 2.5], "NAME": "kept"}"#),
        ("v/.zarray", &zarray("\"<i4\"", "0", ", \"extra\": {\"kept\": true}").replace("[4]", "[0]")),
        ("v/.zattrs", r#"{"_ARRAY_DIMENSIONS": ["t"], "flag": true, "n": 1e3, "DIMENSION_LIST": 5}"#),
    ]);
    let d = open_rw(&map);
    let model = d.model().snapshot();
    assert_eq!(model.root().atts.keys().collect::<Vec<_>>(), ["list", "deep", "mixed"]);
    assert_eq!(model.root().atts["mixed"], Values::Double(vec![1.0, 2.5]));
    let v = var(&*d, "v");
    put(&*d, v, &[0], &[2], &[1.0, 2.0]);
    d.put_att(ROOT, None, "new", NcType::Float, &Values::Float(vec![0.5])).unwrap();
    d.put_att(ROOT, Some(v), "new", NcType::Int, &Values::Int(vec![1])).unwrap();
    let x = d.def_dim(ROOT, "x", Some(2)).unwrap();
    d.def_var(ROOT, "w", NcType::Short, &[x]).unwrap();
    d.close().unwrap();
    assert_eq!(
        map.text(".zattrs"),
        r#"{"list": [1,"a"], "deep": {"a": {"b": null}}, "mixed": [1,2.5], "new": 0.5, "NAME": "kept"}"#
    );
    assert_eq!(
        map.text("v/.zattrs"),
        r#"{"flag": true, "n": 1e3, "new": 1, "DIMENSION_LIST": 5, "_ARRAY_DIMENSIONS": ["t"]}"#
    );
    let zarray = map.json("v/.zarray");
    assert_eq!(
        (zarray["shape"].to_string(), zarray["extra"].to_string()),
        ("[2]".into(), r#"{"kept":true}"#.into())
    );
    assert!(map.objects().values().all(|value| !String::from_utf8_lossy(value).contains("_nczarr")));
}

#[test]
fn nczarr_read_as_plain_zarr() {
    let map = TestMap::sample("scalars_0");
    let d = open_with(&map, "zarr", false, &Options::default()).unwrap();
    let model = d.model().snapshot();
    let scalar = model.var(var(&*d, "sc_char")).unwrap();
    assert_eq!(scalar.xtype, NcType::Char, "the mark of a char is still one");
    assert_eq!(model.dim(scalar.dims[0]).unwrap().name, "_scalar_");
    assert!(matches!(scalar.atts["u"], Values::Char(_)));
    assert!(model.root().atts.keys().all(|name| !name.starts_with("_nczarr")));
    let error = open_with(&map, "zarr", true, &Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Perm);
}

#[test]
fn consolidated_metadata_is_trusted_unless_disabled() {
    let map = TestMap::new(&[
        GROUP,
        ("v/.zarray", &zarray("\"<i4\"", "3", "")),
        ("w/.zarray", &zarray("\"<i4\"", "4", "")),
        (
            ".zmetadata",
            &format!(
                r#"{{"zarr_consolidated_format": 1, "metadata": {{".zgroup": {{"zarr_format": 2}}, "v/.zarray": {}}}}}"#,
                zarray("\"<i4\"", "3", "")
            ),
        ),
    ]);
    assert_eq!(open(&map).unwrap().model().snapshot().vars().len(), 1);
    let d = open_with(&map, "nczarr,noconsolidated", false, &Options::default()).unwrap();
    assert_eq!(d.model().snapshot().vars().len(), 2);
    map.put(".zmetadata", b"{\"zarr_consolidated_format\": 3, \"metadata\": {}}");
    assert_eq!(open(&map).unwrap_err().kind(), ErrorKind::ZarrMeta);
    map.put(".zmetadata", b"{");
    let error = open(&map).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ZarrMeta);
    assert!(error.to_string().contains(".zmetadata"));
    assert!(open_with(&map, "nczarr,noconsolidated", false, &Options::default()).is_ok());
}
