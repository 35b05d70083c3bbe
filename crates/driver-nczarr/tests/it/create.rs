//! New datasets: the exact bytes of every document, and the values that are read back.

use nczarr_dispatch::{Clobber, MemRef, Options};
use nczarr_model::{Chunking, Endian, ErrorKind, FillMode, GroupId, NcType, Quantize, Values, VarFill};
use nczarr_nc_table::NcDispatch;

use crate::support::{
    TestMap, create, create_with, get, get_text, open, open_with, put, put_text, registry, try_put, var,
};

const ROOT: GroupId = GroupId::ROOT;

fn version() -> String {
    format!("version=2,nczarr-rs={},nczarr=2.0.0", env!("CARGO_PKG_VERSION"))
}

/// Several threads plan the layouts. The errors are the same as with one thread.
#[test]
fn an_impossible_layout_names_the_first_bad_variable() {
    for modes in ["nczarr", "zarr,v3"] {
        let map = TestMap::new(&[]);
        let d = create(&map, modes);
        let (x, huge) =
            (d.def_dim(ROOT, "x", Some(5)).unwrap(), d.def_dim(ROOT, "huge", Some(1 << 40)).unwrap());
        let bad = [70, 71, 230];
        let vars: Vec<_> = (0..300)
            .map(|at| {
                let dim = if bad.contains(&at) { huge } else { x };
                let var = d.def_var(ROOT, &format!("v{at:03}"), NcType::Double, &[dim]).unwrap();
                let chunk = if bad.contains(&at) { 1 << 30 } else { 1 + at as u64 % 5 };
                d.def_var_chunking(var, &Chunking::Chunked(vec![chunk])).unwrap();
                var
            })
            .collect();
        for at in bad {
            let error = d._enddef(0, 0, 0, 0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BadChunk);
            assert!(error.to_string().contains(&format!("v{at:03}")), "{modes}: {error}");
            d.def_var_chunking(vars[at], &Chunking::Chunked(vec![1 << 10])).unwrap();
        }
        d._enddef(0, 0, 0, 0).unwrap();
        d.close().unwrap();
        let d = open(&map).unwrap();
        let model = d.model().snapshot();
        assert_eq!(model.vars().len(), 300);
        for at in 0..300 {
            let chunk = if bad.contains(&at) { 1 << 10 } else { 1 + at as u64 % 5 };
            let var = model.var(var(&*d, &format!("/v{at:03}"))).unwrap();
            assert_eq!(var.chunking, Chunking::Chunked(vec![chunk]), "{modes}: v{at:03}");
        }
    }
}

/// A kind of variable: its type, its number of dimensions, and its other settings.
type Kind =
    (NcType, usize, fn(&dyn nczarr_dispatch::Dataset, nczarr_model::VarId) -> nczarr_model::Result<()>);

/// Each kind differs from the first one in one setting.
const KINDS: [Kind; 13] = [
    (NcType::Float, 1, |_, _| Ok(())),
    (NcType::Double, 1, |_, _| Ok(())),
    (NcType::Float, 2, |_, _| Ok(())),
    (NcType::Float, 0, |_, _| Ok(())),
    (NcType::Float, 1, |d, v| d.def_var_fill(v, false, Some(&Values::Float(vec![0.0])))),
    (NcType::Float, 1, |d, v| d.def_var_fill(v, false, Some(&Values::Float(vec![-0.0])))),
    (NcType::Float, 1, |d, v| {
        d.put_att(ROOT, Some(v), "_FillValue", NcType::Float, &Values::Float(vec![f32::NAN]))
    }),
    (NcType::Float, 1, |d, v| d.def_var_fill(v, true, None)),
    (NcType::Float, 1, |d, v| d.def_var_endian(v, Endian::Big)),
    (NcType::Float, 1, |d, v| d.def_var_chunking(v, &Chunking::Chunked(vec![3]))),
    (NcType::Float, 1, |d, v| d.def_var_deflate(v, true, true, 4)),
    (NcType::Float, 1, |d, v| d.def_var_deflate(v, true, true, 5)),
    (NcType::String, 1, |d, v| {
        d.put_att(ROOT, Some(v), "_nczarr_maxstrlen", NcType::Int, &Values::Int(vec![9]))
    }),
];

/// Defines variables of these kinds in order, applies `change`, and returns the document of each array.
fn arrays(modes: &str, kinds: &[usize], change: &[(usize, usize)]) -> Vec<String> {
    let map = TestMap::new(&[]);
    let d = create(&map, modes);
    let dims = [d.def_dim(ROOT, "x", Some(7)).unwrap(), d.def_dim(ROOT, "t", None).unwrap()];
    let define = |(at, &kind): (usize, &usize)| {
        let (xtype, rank, more) = KINDS[kind];
        let v = d.def_var(ROOT, &format!("v{at}"), xtype, &dims[..rank]).unwrap();
        more(&*d, v).unwrap();
        v
    };
    let vars: Vec<_> = kinds.iter().enumerate().map(define).collect();
    d._enddef(0, 0, 0, 0).unwrap();
    for &(at, kind) in change {
        KINDS[kind].2(&*d, vars[at]).unwrap();
    }
    d.close().unwrap();
    let document = if modes.contains("v3") { "zarr.json" } else { ".zarray" };
    (0..kinds.len()).map(|at| map.text(&format!("v{at}/{document}"))).collect()
}

/// Equal variables share one layout. Each variable has the same layout as it would have alone.
#[test]
fn variables_do_not_affect_the_documents_of_others() {
    let turns = (0..KINDS.len()).flat_map(|a| [a, a, (a + 1) % KINDS.len(), (a + 5) % KINDS.len(), 0, 0]);
    let turns: Vec<usize> = turns.collect();
    for modes in ["nczarr", "zarr", "nczarr,v3", "zarr,v3"] {
        let alone: Vec<String> = (0..KINDS.len()).flat_map(|kind| arrays(modes, &[kind], &[])).collect();
        let expected = |kinds: &[usize]| kinds.iter().map(|&kind| alone[kind].clone()).collect::<Vec<_>>();
        assert_eq!(arrays(modes, &turns, &[]), expected(&turns), "{modes}");
        // Three variables share a layout, and then one of them changes.
        for kind in [4, 8, 9, 10] {
            assert_eq!(arrays(modes, &[0, 0, 0], &[(1, kind)]), expected(&[0, kind, 0]), "{modes}: {kind}");
        }
    }
}

#[test]
fn documents_of_nczarr() {
    let map = TestMap::new(&[]);
    let d = create(&map, "nczarr");
    d.put_att(ROOT, None, "title", NcType::Char, &Values::text("1.10")).unwrap();
    let t = d.def_dim(ROOT, "t", None).unwrap();
    let x = d.def_dim(ROOT, "x y", Some(3)).unwrap();
    let v = d.def_var(ROOT, "v", NcType::Int, &[t, x]).unwrap();
    d.put_att(ROOT, Some(v), "_FillValue", NcType::Int, &Values::Int(vec![-7])).unwrap();
    d.put_att(ROOT, Some(v), "range", NcType::Double, &Values::Double(vec![-1.0, 0.1])).unwrap();
    d.def_var_deflate(v, true, true, 4).unwrap();
    let s = d.def_var(ROOT, "s", NcType::Double, &[]).unwrap();
    let g = d.def_grp(ROOT, "g").unwrap();
    let b = d.def_var(g, "b", NcType::Byte, &[x]).unwrap();
    put(&*d, v, &[0, 0], &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    put(&*d, s, &[], &[], &[2.5]);
    put(&*d, b, &[1], &[1], &[9.0]);
    d.close().unwrap();
    d.close().unwrap();

    let expected = [
        (".zgroup", r#"{"zarr_format": 2}"#.to_owned()),
        (
            ".zattrs",
            format!(
                concat!(
                    r#"{{"title": "1.10", "_NCProperties": "{}", "#,
                    r#""_nczarr_group": {{"dimensions": {{"t": {{"size": 2, "unlimited": 1}}, "x y": 3}}, "#,
                    r#""arrays": ["v","s"], "groups": ["g"]}}, "_nczarr_superblock": {{"version": "2.0.0"}}, "#,
                    r#""_nczarr_attr": {{"types": {{"title": ">S1", "_NCProperties": ">S1", "_nczarr_group": "|J0", "#,
                    r#""_nczarr_superblock": "|J0", "_nczarr_attr": "|J0"}}}}}}"#
                ),
                version()
            ),
        ),
        (
            "v/.zarray",
            concat!(
                r#"{"zarr_format": 2, "shape": [2,3], "dtype": "<i4", "chunks": [1,3], "fill_value": -7, "order": "C", "#,
                r#""compressor": {"id": "zlib", "level": 4}, "filters": [{"id": "shuffle", "elementsize": 4}], "#,
                r#""dimension_separator": "."}"#
            )
            .to_owned(),
        ),
        (
            "v/.zattrs",
            concat!(
                r#"{"_FillValue": -7, "range": [-1.0,0.1], "_ARRAY_DIMENSIONS": ["t","x y"], "#,
                r#""_nczarr_array": {"dimension_references": ["/t","/x y"], "storage": "chunked"}, "#,
                r#""_nczarr_attr": {"types": {"_FillValue": "<i4", "range": "<f8", "_nczarr_array": "|J0", "#,
                r#""_nczarr_attr": "|J0"}}}"#
            )
            .to_owned(),
        ),
        (
            "s/.zarray",
            concat!(
                r#"{"zarr_format": 2, "shape": [1], "dtype": "<f8", "chunks": [1], "#,
                r#""fill_value": 9.969209968386869e36, "order": "C", "compressor": null, "filters": null, "#,
                r#""dimension_separator": "."}"#
            )
            .to_owned(),
        ),
        (
            "s/.zattrs",
            concat!(
                r#"{"_ARRAY_DIMENSIONS": ["_scalar_"], "#,
                r#""_nczarr_array": {"dimension_references": [], "scalar": 1, "storage": "chunked"}, "#,
                r#""_nczarr_attr": {"types": {"_nczarr_array": "|J0", "_nczarr_attr": "|J0"}}}"#
            )
            .to_owned(),
        ),
        ("g/.zgroup", r#"{"zarr_format": 2}"#.to_owned()),
        (
            "g/.zattrs",
            concat!(
                r#"{"_nczarr_group": {"dimensions": {}, "arrays": ["b"], "groups": []}, "#,
                r#""_nczarr_attr": {"types": {"_nczarr_group": "|J0", "_nczarr_attr": "|J0"}}}"#
            )
            .to_owned(),
        ),
        (
            "g/b/.zarray",
            concat!(
                r#"{"zarr_format": 2, "shape": [3], "dtype": "|i1", "chunks": [3], "fill_value": -127, "order": "C", "#,
                r#""compressor": null, "filters": null, "dimension_separator": "."}"#
            )
            .to_owned(),
        ),
    ];
    for (key, text) in expected {
        assert_eq!(map.text(key), text, "{key}");
    }
    let chunks: Vec<_> = map.keys().into_iter().filter(|key| !key.contains(".z")).collect();
    assert_eq!(chunks, ["g/b/0", "s/0", "v/0.0", "v/1.0"]);
    assert_eq!(map.objects()["g/b/0"], [129, 9, 129]);

    let d = open(&map).unwrap();
    assert_eq!(get(&*d, var(&*d, "v")), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(get(&*d, var(&*d, "s")), [2.5]);
    assert_eq!(get(&*d, var(&*d, "g/b")), [-127.0, 9.0, -127.0]);
    let info = d.info();
    assert_eq!((info.properties, info.superblock), (Some(version()), Some(2)));
    assert_eq!((info.flavour.as_str(), info.version.as_str(), info.writable), ("nczarr", "2", false));
}

#[test]
fn documents_of_plain_zarr() {
    for (modes, named) in [("zarr", true), ("xarray", true), ("zarr,noxarray", false)] {
        let map = TestMap::new(&[]);
        let d = create(&map, modes);
        let t = d.def_dim(ROOT, "t", None).unwrap();
        let v = d.def_var(ROOT, "v", NcType::Float, &[t]).unwrap();
        d.put_att(ROOT, Some(v), "_FillValue", NcType::Float, &Values::Float(vec![f32::NAN])).unwrap();
        d.def_var(ROOT, "s", NcType::Int, &[]).unwrap();
        let c = d.def_var(ROOT, "c", NcType::Char, &[t]).unwrap();
        d.put_att(ROOT, Some(c), "_FillValue", NcType::Char, &Values::text("#")).unwrap();
        put(&*d, v, &[0], &[3], &[1.0, 2.0, 3.0]);
        d.put_vara(c, &[1], &[1], MemRef::Fixed { ty: NcType::Char, bytes: b"q" }).unwrap();
        d.close().unwrap();
        assert_eq!(map.text(".zattrs"), format!(r#"{{"_NCProperties": "{}"}}"#, version()));
        let dims = if named { r#", "_ARRAY_DIMENSIONS": ["t"]"# } else { "" };
        assert_eq!(map.text("v/.zattrs"), format!(r#"{{"_FillValue": "NaN"{dims}}}"#));
        assert_eq!(map.text("s/.zattrs"), if named { r#"{"_ARRAY_DIMENSIONS": []}"# } else { "{}" });
        let zarray = map.json("s/.zarray");
        assert_eq!((zarray["shape"].to_string(), zarray["chunks"].to_string()), ("[]".into(), "[]".into()));
        assert_eq!(map.json("v/.zarray")["fill_value"], "NaN");
        let zarray = map.json("c/.zarray");
        assert_eq!((zarray["dtype"].as_str(), zarray["fill_value"].as_str()), (Some("|S1"), Some("Iw==")));

        let d = open(&map).unwrap();
        assert_eq!(d.info().flavour, if named { "xarray" } else { "zarr" });
        assert_eq!(d.info().superblock, Some(0));
        assert_eq!(get(&*d, var(&*d, "v")), [1.0, 2.0, 3.0]);
        // Only NCZarr marks char. Elsewhere it is text.
        assert_eq!(get_text(&*d, var(&*d, "c")), ["#", "q", "#"]);
        let names: Vec<_> = d.model().snapshot().dims().map(|(_, dim)| dim.name.clone()).collect();
        assert_eq!(names, [if named { "t" } else { "_Anonymous_Dim_3" }]);
    }
}

#[test]
fn nczarr_without_dimension_names_stays_nczarr() {
    let map = TestMap::new(&[]);
    let d = create(&map, "nczarr,noxarray");
    let x = d.def_dim(ROOT, "x", Some(2)).unwrap();
    d.def_var(ROOT, "v", NcType::Int, &[x]).unwrap();
    d.close().unwrap();
    assert!(map.json("v/.zattrs").get("_ARRAY_DIMENSIONS").is_none());
    let d = open_with(&map, "noxarray", false, &Options::default()).unwrap();
    assert_eq!(d.info().flavour, "nczarr");
    assert_eq!(d.model().snapshot().dims().next().unwrap().1.name, "x");
}

#[test]
fn every_type_comes_back() {
    let map = TestMap::new(&[]);
    let d = create(&map, "nczarr");
    let x = d.def_dim(ROOT, "x", Some(5)).unwrap();
    for ty in NcType::ATOMIC {
        for (suffix, endian) in [("n", Endian::Native), ("b", Endian::Big), ("l", Endian::Little)] {
            let v = d.def_var(ROOT, &format!("{}_{suffix}", ty.name()), ty, &[x]).unwrap();
            if ty.is_numeric() {
                d.def_var_endian(v, endian).unwrap();
                put(&*d, v, &[1], &[2], &[1.0, 100.0]);
            }
        }
    }
    let c = var(&*d, "char_n");
    d.put_vara(c, &[2], &[2], MemRef::Fixed { ty: NcType::Char, bytes: b"q\xe9" }).unwrap();
    d.close().unwrap();
    assert_eq!(map.json("short_b/.zarray")["dtype"], ">i2");
    assert_eq!(map.json("ubyte_b/.zarray")["dtype"], "|u1");
    assert_eq!(map.json("char_n/.zarray")["dtype"], ">S1");
    let d = open(&map).unwrap();
    let model = d.model().snapshot();
    for (id, var) in model.vars() {
        assert!(var.name.starts_with(var.xtype.name()), "{}", var.name);
        assert_eq!(var.fill, VarFill::Default, "{}", var.name);
        if var.xtype.is_numeric() {
            let values = get(&*d, id);
            assert_eq!(values[1..3], [1.0, 100.0], "{}", var.name);
            let Some(fill) = nczarr_model::fill::default(var.xtype).and_then(|fill| fill.scalar(0)) else {
                panic!()
            };
            let fill = match fill {
                nczarr_model::Scalar::Int(fill) => fill as f64,
                nczarr_model::Scalar::Float(fill) => fill,
            };
            assert_eq!(values[3], fill, "{}", var.name);
        }
    }
}

#[test]
fn strings_have_the_width_that_was_asked_for() {
    let map = TestMap::new(&[]);
    let d = create(&map, "nczarr");
    let x = d.def_dim(ROOT, "x", Some(3)).unwrap();
    let wide = d.def_var(ROOT, "wide", NcType::String, &[x]).unwrap();
    d._enddef(0, 0, 0, 0).unwrap();
    d.put_att(ROOT, None, "_nczarr_default_maxstrlen", NcType::Int, &Values::Int(vec![20])).unwrap();
    let v = d.def_var(ROOT, "v", NcType::String, &[x]).unwrap();
    let five = d.def_var(ROOT, "five", NcType::String, &[x]).unwrap();
    d.put_att(ROOT, Some(five), "_nczarr_maxstrlen", NcType::Int, &Values::Int(vec![5])).unwrap();
    d.put_att(ROOT, Some(five), "_FillValue", NcType::String, &Values::String(vec!["n/a".into()])).unwrap();
    put_text(&*d, five, &[0], &[1], &["größe"]).unwrap_err();
    put_text(&*d, five, &[0], &[2], &["grö", ""]).unwrap();
    put_text(&*d, v, &[0], &[1], &["x"]).unwrap();
    for bad in
        [Values::Int(vec![0]), Values::Int(vec![1, 2]), Values::text("5"), Values::Int64(vec![1 << 40])]
    {
        let error = d.put_att(ROOT, Some(wide), "_nczarr_maxstrlen", bad.nc_type(), &bad).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Inval);
    }
    // A variable with data accepts only its present setting.
    let set =
        |width: i32| d.put_att(ROOT, Some(five), "_nczarr_maxstrlen", NcType::Int, &Values::Int(vec![width]));
    set(5).unwrap();
    assert_eq!(set(6).unwrap_err().kind(), ErrorKind::LateDef);
    d.close().unwrap();
    let dtypes = ["wide", "v", "five"].map(|name| map.json(&format!("{name}/.zarray"))["dtype"].to_string());
    assert_eq!(dtypes, [r#""|S128""#, r#""|S20""#, r#""|S5""#]);
    assert_eq!(map.json("five/.zarray")["fill_value"], "n/a");
    let d = open(&map).unwrap();
    assert_eq!(get_text(&*d, var(&*d, "five")), ["grö", "", "n/a"]);

    let d = create(&TestMap::new(&[]), "nczarr");
    let v = d.def_var(ROOT, "v", NcType::String, &[]).unwrap();
    d.put_att(ROOT, Some(v), "_nczarr_maxstrlen", NcType::Int, &Values::Int(vec![2])).unwrap();
    d.put_att(ROOT, Some(v), "_FillValue", NcType::String, &Values::String(vec!["n/a".into()])).unwrap();
    assert_eq!(d._enddef(0, 0, 0, 0).unwrap_err().kind(), ErrorKind::Inval);
}

#[test]
fn attributes_come_back_bit_for_bit() {
    let all = [
        ("byte", Values::Byte(vec![-128, 127])),
        ("float", Values::Float(vec![0.1, -0.0, f32::NAN, f32::INFINITY, 1e-45])),
        ("double", Values::Double(vec![0.1, -0.0, f64::NAN, f64::NEG_INFINITY, 5e-324, -999.0])),
        ("u64", Values::UInt64(vec![u64::MAX])),
        ("i64", Values::Int64(vec![i64::MIN, i64::MAX])),
        ("empty", Values::Char(vec![])),
        ("none", Values::Int(vec![])),
        ("number", Values::text("1.10")),
        ("nan", Values::text("NaN")),
        ("truth", Values::text("true")),
        ("json", Values::text("{\"k\": [1,2.50]}")),
        ("quoted", Values::text("a \"q\" \\ b\n\u{1}")),
        ("größe 日本", Values::text("größe 日本 €")),
        ("strings", Values::String(vec!["a".into(), "".into(), "日本".into()])),
        ("string", Values::String(vec!["[1]".into()])),
    ];
    let map = TestMap::new(&[]);
    let d = create(&map, "nczarr");
    let v = d.def_var(ROOT, "v", NcType::Int, &[]).unwrap();
    for (name, values) in &all {
        d.put_att(ROOT, None, name, values.nc_type(), values).unwrap();
        d.put_att(ROOT, Some(v), name, values.nc_type(), values).unwrap();
    }
    d.close().unwrap();
    let first = map.objects();
    assert_eq!(map.json(".zattrs")["_nczarr_attr"]["types"]["json"], ">S1");
    assert!(map.text(".zattrs").contains("größe 日本 €"), "raw UTF-8");
    let d = crate::support::open_rw(&map);
    let model = d.model().snapshot();
    for place in [&model.root().atts, &model.var(var(&*d, "v")).unwrap().atts] {
        assert_eq!(place.len(), all.len());
        for ((name, values), (found_name, found)) in all.iter().zip(place) {
            assert_eq!((name, values), (&found_name.as_str(), found));
        }
    }
    // A second write of the loaded metadata gives the same bytes.
    let again = create(&TestMap::new(&[]), "nczarr");
    d.put_att(ROOT, None, "extra", NcType::Int, &Values::Int(vec![1])).unwrap();
    d.sync().unwrap();
    d.del_att(ROOT, None, "extra").unwrap();
    d.close().unwrap();
    assert_eq!(map.objects(), first);
    drop(again);
}

#[test]
fn unsupported_definitions_are_refused() {
    let map = TestMap::new(&[]);
    let d = create(&map, "nczarr");
    let x = d.def_dim(ROOT, "x", Some(2)).unwrap();
    let v = d.def_var(ROOT, "v", NcType::Int, &[x]).unwrap();
    for name in
        ["_ARRAY_DIMENSIONS", "_nczarr_group", "_nczarr_attr", "_NCProperties", "_Netcdf4Dimid", "_Codecs"]
    {
        for place in [None, Some(v)] {
            let error = d.put_att(ROOT, place, name, NcType::Int, &Values::Int(vec![1])).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NameInUse, "{name}");
        }
    }
    d.put_att(ROOT, None, "a", NcType::Int, &Values::Int(vec![1])).unwrap();
    assert_eq!(d.rename_att(ROOT, None, "a", "_nczarr_array").unwrap_err().kind(), ErrorKind::NameInUse);
    assert_eq!(d.def_var(ROOT, ".hidden", NcType::Int, &[]).unwrap_err().kind(), ErrorKind::BadName);
    assert_eq!(d.def_grp(ROOT, ".hidden").unwrap_err().kind(), ErrorKind::BadName);
    assert_eq!(d.def_opaque(ROOT, 1 << 31, "o").unwrap_err().kind(), ErrorKind::Inval);
    assert_eq!(d.def_var_filter(v, 305, &[9]).unwrap_err().kind(), ErrorKind::NoFilter);
    let huge = d.def_dim(ROOT, "huge", Some(1 << 40)).unwrap();
    let big = d.def_var(ROOT, "big", NcType::Double, &[huge]).unwrap();
    d.def_var_chunking(big, &Chunking::Chunked(vec![1 << 30])).unwrap();
    assert_eq!(d._enddef(0, 0, 0, 0).unwrap_err().kind(), ErrorKind::BadChunk);
    d.def_var_chunking(big, &Chunking::Contiguous).unwrap();
    d._enddef(0, 0, 0, 0).unwrap();
    // As one chunk the variable would be too large to read.
    assert!(d.data(big).unwrap().chunk_shape().unwrap()[0] <= 1 << 21);

    let deep = create(&TestMap::new(&[]), "nczarr");
    let mut group = ROOT;
    let name = "g".repeat(250);
    let error = loop {
        match deep.def_grp(group, &name) {
            Ok(below) => group = below,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::MaxName);
}

#[test]
fn fill_modes_and_fill_values() {
    let map = TestMap::new(&[]);
    let d = create(&map, "nczarr");
    let x = d.def_dim(ROOT, "x", Some(4)).unwrap();
    let with = d.def_var(ROOT, "with", NcType::Double, &[x]).unwrap();
    d.def_var_fill(with, false, Some(&Values::Double(vec![0.1]))).unwrap();
    d.set_fill(FillMode::NoFill).unwrap();
    let without = d.def_var(ROOT, "without", NcType::Int, &[x]).unwrap();
    d.def_var_chunking(without, &Chunking::Chunked(vec![2])).unwrap();
    put(&*d, with, &[0], &[1], &[7.0]);
    put(&*d, without, &[0], &[1], &[7.0]);
    for (v, kind) in [(with, ErrorKind::LateFill), (without, ErrorKind::LateFill)] {
        assert_eq!(d.def_var_fill(v, true, None).unwrap_err().kind(), kind);
    }
    let same = Values::Double(vec![0.1]);
    d.put_att(ROOT, Some(with), "_FillValue", NcType::Double, &same).unwrap();
    let other = Values::Double(vec![0.2]);
    let error = d.put_att(ROOT, Some(with), "_FillValue", NcType::Double, &other).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LateFill);
    assert_eq!(d.del_att(ROOT, Some(with), "_FillValue").unwrap_err().kind(), ErrorKind::LateFill);
    d.close().unwrap();
    assert_eq!(map.json("with/.zarray")["fill_value"], 0.1);
    assert!(map.json("without/.zarray")["fill_value"].is_null());
    let d = open(&map).unwrap();
    assert_eq!(get(&*d, var(&*d, "with")), [7.0, 0.1, 0.1, 0.1]);
    assert_eq!(get(&*d, var(&*d, "without")), [7.0, 0.0, 0.0, 0.0]);
    assert_eq!(d.model().snapshot().var(var(&*d, "without")).unwrap().fill, VarFill::NoFill);
}

#[test]
fn separators_and_consolidated_metadata() {
    let map = TestMap::new(&[]);
    let d = create_with(&map, "mode=nczarr,file,consolidated&dimension_separator=/", Clobber::Refuse, false)
        .unwrap();
    let x = d.def_dim(ROOT, "x", Some(4)).unwrap();
    let v = d.def_var(ROOT, "v", NcType::Int, &[x, x]).unwrap();
    d.def_var_chunking(v, &Chunking::Chunked(vec![2, 4])).unwrap();
    put(&*d, v, &[3, 0], &[1, 1], &[5.0]);
    d.close().unwrap();
    assert!(map.keys().contains(&"v/1/0".to_owned()));
    let zmetadata = map.json(".zmetadata");
    assert_eq!(zmetadata["zarr_consolidated_format"], 1);
    for key in map.keys().iter().filter(|key| key.contains(".z") && *key != ".zmetadata") {
        assert_eq!(zmetadata["metadata"][key], map.json(key), "{key}");
    }
    // Consolidated metadata answers for the other documents. A session that changes anything renews it.
    for key in [".zgroup", ".zattrs", "v/.zarray", "v/.zattrs"] {
        let text = map.text(key);
        map.remove(key);
        assert_eq!(get(&*open(&map).unwrap(), v)[12], 5.0);
        map.put(key, text.as_bytes());
    }
    let d = crate::support::open_rw(&map);
    d.put_att(ROOT, None, "a", NcType::Int, &Values::Int(vec![1])).unwrap();
    d.close().unwrap();
    assert_eq!(map.json(".zmetadata")["metadata"][".zattrs"]["a"], 1);
    let d = open_with(&map, "nczarr,noconsolidated", true, &Options::default()).unwrap();
    d.put_att(ROOT, None, "a", NcType::Int, &Values::Int(vec![2])).unwrap();
    d.close().unwrap();
    assert_eq!(map.json(".zmetadata")["metadata"][".zattrs"]["a"], 2);
    let bad =
        create_with(&TestMap::new(&[]), "mode=nczarr,file&dimension_separator=x", Clobber::Refuse, false);
    assert_eq!(bad.unwrap_err().kind(), ErrorKind::Inval);
}

#[test]
fn existing_objects_are_not_lost() {
    let map = TestMap::new(&[(".zgroup", "{\"zarr_format\": 2}"), ("v/0", "x")]);
    let error = create_with(&map, "mode=nczarr,file", Clobber::Refuse, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Object);
    let foreign = TestMap::new(&[("letter.txt", "dear")]);
    let error = create_with(&foreign, "mode=nczarr,file", Clobber::Replace, false).unwrap_err();
    assert_eq!((error.kind(), foreign.keys().len()), (ErrorKind::Exist, 1));
    create_with(&map, "mode=nczarr,file", Clobber::Replace, false).unwrap().close().unwrap();
    assert_eq!(map.keys(), [".zattrs", ".zgroup"]);
}

#[test]
fn the_classic_model() {
    let map = TestMap::new(&[]);
    let d = create_with(&map, "mode=nczarr,file", Clobber::Refuse, true).unwrap();
    d.def_dim(ROOT, "t", None).unwrap();
    assert_eq!(d.def_dim(ROOT, "u", None).unwrap_err().kind(), ErrorKind::Unlimit);
    assert_eq!(d.def_grp(ROOT, "g").unwrap_err().kind(), ErrorKind::StrictNc3);
    assert_eq!(d.def_var(ROOT, "v", NcType::UInt, &[]).unwrap_err().kind(), ErrorKind::StrictNc3);
    let text = Values::String(vec!["x".into()]);
    assert_eq!(d.put_att(ROOT, None, "a", NcType::String, &text).unwrap_err().kind(), ErrorKind::StrictNc3);
    let v = d.def_var(ROOT, "v", NcType::Int, &[]).unwrap();
    assert_eq!(try_put(&*d, v, &[], &[], &[1.0]).unwrap_err().kind(), ErrorKind::InDefine);
    d._enddef(0, 0, 0, 0).unwrap();
    put(&*d, v, &[], &[], &[1.0]);
    d.close().unwrap();
    assert_eq!(get(&*open(&map).unwrap(), v), [1.0]);
}

#[test]
fn rounded_values_say_so() {
    let map = TestMap::new(&[]);
    let d = create(&map, "nczarr");
    let x = d.def_dim(ROOT, "x", Some(3)).unwrap();
    let v = d.def_var(ROOT, "v", NcType::Float, &[x]).unwrap();
    d.def_var_quantize(v, Some(Quantize::BitRound(4))).unwrap();
    put(&*d, v, &[0], &[2], &[1.0, 1.234_567]);
    d.close().unwrap();
    let attrs = map.json("v/.zattrs");
    assert_eq!(attrs["_QuantizeBitRoundNumberOfSignificantBits"], 4);
    let d = open(&map).unwrap();
    assert_eq!(d.inq_var_quantize(v).unwrap(), Some(Quantize::BitRound(4)));
    assert_eq!(get(&*d, v)[..2], [1.0, 1.25]);
}

#[test]
fn many_threads_define_nothing_twice() {
    let map = TestMap::new(&[]);
    let d = create(&map, "nczarr");
    let x = d.def_dim(ROOT, "x", Some(1000)).unwrap();
    let vars: Vec<_> =
        (0..16).map(|i| d.def_var(ROOT, &format!("v{i}"), NcType::Int, &[x]).unwrap()).collect();
    std::thread::scope(|scope| {
        for (i, &v) in vars.iter().enumerate() {
            let d = &d;
            scope.spawn(move || put(&**d, v, &[0], &[1000], &vec![i as f64; 1000]));
        }
    });
    d.close().unwrap();
    let d = open(&map).unwrap();
    for (i, &v) in vars.iter().enumerate() {
        assert_eq!(get(&*d, v), vec![i as f64; 1000]);
    }
    assert!(registry().driver("nczarr").is_ok());
}

#[test]
fn a_variable_may_have_the_name_of_another_versions_document() {
    for modes in ["nczarr", "zarr"] {
        let map = TestMap::new(&[]);
        let d = create(&map, modes);
        let x = d.def_dim(ROOT, "x", Some(2)).unwrap();
        let v = d.def_var(ROOT, "zarr.json", NcType::Int, &[x]).unwrap();
        let group = d.def_grp(ROOT, "g").unwrap();
        let inner = d.def_grp(group, "zarr.json").unwrap();
        let w = d.def_var(inner, "zarr.json", NcType::Int, &[x]).unwrap();
        put(&*d, v, &[0], &[2], &[1.0, 2.0]);
        put(&*d, w, &[0], &[2], &[3.0, 4.0]);
        d.close().unwrap();
        let d = open_with(&map, modes, true, &Options::default()).unwrap();
        assert_eq!(get(&*d, var(&*d, "zarr.json")), [1.0, 2.0], "{modes}");
        assert_eq!(get(&*d, var(&*d, "g/zarr.json/zarr.json")), [3.0, 4.0], "{modes}");
        assert!(
            !d.info().notes.iter().any(|note| note.contains("zarr.json")),
            "{modes}: {:?}",
            d.info().notes
        );
        d.rename_var(var(&*d, "zarr.json"), "v").unwrap();
        d.close().unwrap();
        let d = open_with(&map, modes, false, &Options::default()).unwrap();
        assert_eq!(get(&*d, var(&*d, "v")), [1.0, 2.0], "{modes}");
    }
}
