//! Damaged and hostile documents give typed errors that name key and member, and never a panic. Other
//! documents stay readable.

use nczarr_dispatch::{MemMut, MemRef};
use nczarr_model::{ErrorKind, NcType};
use nczarr_nc_table::NcDispatch;
use nczarr_runtime::OutBuf;
use proptest::prelude::*;

use crate::support::{TestMap, get, open, open_rw, try_get, var};

const ATTRS: &str = concat!(
    r#"{"_nczarr_superblock": {"version": "2.0.0"}, "_nczarr_group": {"dimensions": {"x": 4, "t": {"size": 2, "#,
    r#""unlimited": 1}}, "arrays": ["v","w"], "groups": ["g"]}}"#
);
const ZARRAY: &str = concat!(
    r#"{"zarr_format": 2, "shape": [4], "dtype": "<i4", "chunks": [2], "fill_value": 5, "order": "C", "#,
    r#""compressor": null, "filters": null}"#
);
const VATTRS: &str = r#"{"u": "K", "_nczarr_array": {"dimension_references": ["/x"], "storage": "chunked"}}"#;
const GATTRS: &str = r#"{"_nczarr_group": {"dimensions": {}, "arrays": [], "groups": []}}"#;

fn dataset() -> std::sync::Arc<TestMap> {
    TestMap::new(&[
        (".zgroup", "{\"zarr_format\": 2}"),
        (".zattrs", ATTRS),
        ("v/.zarray", ZARRAY),
        ("v/.zattrs", VATTRS),
        ("w/.zarray", ZARRAY),
        ("w/.zattrs", VATTRS),
        ("g/.zgroup", "{\"zarr_format\": 2}"),
        ("g/.zattrs", GATTRS),
    ])
}

#[test]
fn faults_of_the_root_are_errors_of_opening() {
    for (key, from, to, kind, words) in [
        (
            ".zattrs",
            "[\"v\",\"w\"]",
            "[\"v\",\"..\"]",
            ErrorKind::Inval,
            [".zattrs", "\"arrays\"", ".."].as_slice(),
        ),
        (
            ".zattrs",
            "[\"v\",\"w\"]",
            "[\"v\",\"a/b\"]",
            ErrorKind::BadName,
            &[".zattrs", "\"arrays\"", "a/b"],
        ),
        (".zattrs", "[\"v\",\"w\"]", "[\"v\",\"\"]", ErrorKind::Inval, &[".zattrs", "\"arrays\"", "empty"]),
        (".zattrs", "[\"g\"]", "[\".\"]", ErrorKind::Inval, &[".zattrs", "\"groups\"", "\".\""]),
        (".zattrs", "[\"v\",\"w\"]", "[\"v\",\"v\"]", ErrorKind::NameInUse, &["v"]),
        (".zattrs", "[\"v\",\"w\"]", "{}", ErrorKind::NcZarr, &[".zattrs", "\"arrays\""]),
        (".zattrs", "[\"v\",\"w\"]", "[1]", ErrorKind::NcZarr, &[".zattrs", "\"arrays\""]),
        (".zattrs", "\"x\": 4", "\"x\": -4", ErrorKind::NcZarr, &[".zattrs", "\"dimensions.x\""]),
        (".zattrs", "\"x\": 4", "\"x\": \"4\"", ErrorKind::NcZarr, &[".zattrs", "\"dimensions.x\""]),
        (".zattrs", "\"_nczarr_group\"", "\"other\"", ErrorKind::NcZarr, &["_nczarr_group"]),
        (
            ".zattrs",
            "{\"_nczarr_superblock\"",
            "[\"_nczarr_superblock\"",
            ErrorKind::NcZarr,
            &[".zattrs", "byte"],
        ),
    ] {
        let map = dataset();
        let text = map.text(key);
        assert!(text.contains(from), "{key} {from}");
        map.put(key, text.replacen(from, to, 1).as_bytes());
        let error = open(&map).err().unwrap_or_else(|| panic!("{key}: {to}: opened"));
        assert_eq!(error.kind(), kind, "{to}: {error}");
        for word in words {
            assert!(error.to_string().contains(word), "{to}: {error}");
        }
    }
    let map = dataset();
    map.put(".zattrs", "[".repeat(200_000).as_bytes());
    let error = open(&map).unwrap_err();
    assert!(error.to_string().contains(".zattrs") && error.to_string().contains("too deeply"), "{error}");
}

#[test]
fn a_damaged_group_leaves_others_readable() {
    for (key, from, to, path, words) in [
        (".zattrs", "[\"g\"]", "[\"g\",\"h\"]", "/h", ["h/.zgroup"].as_slice()),
        ("g/.zattrs", GATTRS, "{}", "/g", &["g", "_nczarr_group"]),
        ("g/.zattrs", GATTRS, "[]", "/g", &["g/.zattrs", "object"]),
        ("g/.zattrs", "\"arrays\": []", "\"arrays\": [\"..\"]", "/g", &["g/.zattrs", "\"arrays\""]),
        ("g/.zattrs", "\"groups\": []", "\"groups\": 7", "/g", &["g/.zattrs", "\"groups\""]),
        (
            "g/.zattrs",
            "\"dimensions\": {}",
            "\"dimensions\": {\"x\": -1}",
            "/g",
            &["g/.zattrs", "dimensions.x"],
        ),
    ] {
        let map = dataset();
        let text = map.text(key);
        assert!(text.contains(from), "{key} {from}");
        map.put(key, text.replacen(from, to, 1).as_bytes());
        let d = open(&map).unwrap_or_else(|error| panic!("{key}: {to}: {error}"));
        let faults = d.info().faults;
        let fault =
            faults.iter().find(|fault| fault.path == path).unwrap_or_else(|| panic!("{to}: {faults:?}"));
        assert!(words.iter().all(|word| fault.text.contains(word)), "{to}: {fault}");
        assert_eq!(get(&*d, var(&*d, "v")), [5.0; 4]);
    }
}

#[test]
fn a_damaged_variable_leaves_others_readable() {
    for (key, from, to, kind, words) in [
        ("v/.zarray", ZARRAY, "", ErrorKind::NcZarr, ["v/.zarray"].as_slice()),
        ("v/.zarray", "\"shape\": [4]", "\"shape\": 4", ErrorKind::NcZarr, &["v/.zarray", "\"shape\""]),
        ("v/.zarray", "\"shape\": [4]", "\"shape\": [-4]", ErrorKind::NcZarr, &["v/.zarray", "\"shape\""]),
        ("v/.zarray", "\"shape\": [4]", "\"shape\": [5]", ErrorKind::DimSize, &["v", "\"x\"", "5", "4"]),
        ("v/.zarray", "\"shape\": [4]", "\"shape\": [4,4]", ErrorKind::NcZarr, &["v/.zarray", "\"chunks\""]),
        ("v/.zarray", "\"chunks\": [2]", "\"chunks\": [0]", ErrorKind::NcZarr, &["v/.zarray", "\"chunks\""]),
        ("v/.zarray", "\"<i4\"", "5", ErrorKind::NcZarr, &["v/.zarray", "\"dtype\""]),
        ("v/.zarray", "\"<i4\"", "\"<f16\"", ErrorKind::BadType, &["v/.zarray", "\"dtype\"", "<f16"]),
        (
            "v/.zarray",
            "\"fill_value\": 5",
            "\"fill_value\": \"abc\"",
            ErrorKind::NcZarr,
            &["v/.zarray", "\"fill_value\""],
        ),
        (
            "v/.zarray",
            "\"fill_value\": 5",
            "\"fill_value\": 1e99",
            ErrorKind::NcZarr,
            &["v/.zarray", "\"fill_value\""],
        ),
        (
            "v/.zarray",
            "\"fill_value\": 5",
            "\"fill_value\": 9999999999",
            ErrorKind::Range,
            &["v/.zarray", "\"fill_value\""],
        ),
        (
            "v/.zarray",
            "\"filters\": null",
            "\"filters\": [{\"id\": \"wavelet\"}]",
            ErrorKind::NoFilter,
            &["v/.zarray", "wavelet"],
        ),
        (
            "v/.zarray",
            "\"filters\": null",
            "\"filters\": [{\"id\": \"szip\"}]",
            ErrorKind::Filter,
            &["v/.zarray", "szip", "\"mask\""],
        ),
        (
            "v/.zarray",
            "\"filters\": null",
            "\"filters\": [7]",
            ErrorKind::NcZarr,
            &["v/.zarray", "\"filters\""],
        ),
        ("v/.zattrs", VATTRS, "{}", ErrorKind::NcZarr, &["v/.zattrs", "_nczarr_array"]),
        ("v/.zattrs", VATTRS, "[]", ErrorKind::NcZarr, &["v/.zattrs"]),
        ("v/.zattrs", VATTRS, "{", ErrorKind::NcZarr, &["v/.zattrs", "byte"]),
        ("v/.zattrs", "\"/x\"", "\"/y\"", ErrorKind::BadDim, &["v/.zattrs", "/y"]),
        ("v/.zattrs", "\"/x\"", "\"/../x\"", ErrorKind::BadDim, &["v/.zattrs", "/../x"]),
        ("v/.zattrs", "[\"/x\"]", "[]", ErrorKind::NcZarr, &["v/.zattrs", "dimension_references"]),
        ("v/.zattrs", "[\"/x\"]", "[4]", ErrorKind::NcZarr, &["v/.zattrs", "dimension_references"]),
        ("v/.zattrs", "\"storage\"", "\"scalar\": 1, \"storage\"", ErrorKind::NcZarr, &["v", "scalar"]),
    ] {
        let map = dataset();
        let text = map.text(key);
        assert!(text.contains(from), "{key} {from}");
        map.put(key, text.replacen(from, to, 1).as_bytes());
        let d = open(&map).unwrap_or_else(|error| panic!("{to}: {error}"));
        let error = try_get(&*d, var(&*d, "v")).err().unwrap_or_else(|| panic!("{to}: read"));
        assert_eq!(error.kind(), kind, "{to}: {error}");
        for word in words {
            assert!(error.to_string().contains(word), "{to}: {error}");
        }
        assert_eq!(get(&*d, var(&*d, "w")), [5.0; 4], "the other variable is readable");
        // A session for writing does not replace unreadable documents.
        let before = map.objects();
        let d = crate::support::open_rw(&map);
        nczarr_nc_table::NcDispatch::put_att(
            &*d,
            nczarr_model::GroupId::ROOT,
            None,
            "a",
            nczarr_model::NcType::Int,
            &nczarr_model::Values::Int(vec![1]),
        )
        .unwrap();
        d.close().unwrap();
        for (key, value) in before.iter().filter(|(key, _)| *key != ".zattrs") {
            assert_eq!(map.objects()[key], *value, "{to}: {key}");
        }
    }
    let map = dataset();
    map.remove("v/.zarray");
    let d = open(&map).unwrap();
    let error = try_get(&*d, var(&*d, "v")).unwrap_err();
    assert!(error.kind() == ErrorKind::NoObject && error.to_string().contains("v/.zarray"), "{error}");
}

#[test]
fn sizes_are_limits() {
    for shape in ["18446744073709551615", "9223372036854775808", "9223372036854775807"] {
        let map = TestMap::new(&[
            (".zgroup", "{\"zarr_format\": 2}"),
            ("v/.zarray", &ZARRAY.replace("[4]", &format!("[{shape}]"))),
            ("w/.zarray", &ZARRAY.replace("[4]", &format!("[{shape},{shape}]")).replace("[2]", "[2,2]")),
            (
                "z/.zarray",
                &ZARRAY.replace("[4]", &format!("[{shape}]")).replace("[2]", &format!("[{shape}]")),
            ),
        ]);
        let d = open(&map).unwrap();
        // The metadata is available. No chunk of that size is allocated.
        let error = d.data(var(&*d, "z")).unwrap_err();
        assert!(error.to_string().contains('z'), "{error}");
        for name in ["v", "w"] {
            if let Ok(data) = d.data(var(&*d, name)) {
                let mut out = [0u8; 8];
                let (start, count) = if name == "v" { (vec![0], vec![2]) } else { (vec![0, 0], vec![1, 2]) };
                let out = nczarr_dispatch::MemMut::Fixed {
                    ty: nczarr_model::NcType::Int,
                    out: &mut nczarr_runtime::OutBuf::from_slice(&mut out),
                };
                let slab = nczarr_model::Slab::new(&start, &count).check(&count, |_| false).unwrap();
                data.get(&slab, out).unwrap();
            }
        }
    }
}

/// Replaces, removes or repeats a piece of a text.
pub fn mutate(text: &str, at: usize, len: usize, with: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let from = at % (chars.len() + 1);
    let to = (from + len).min(chars.len());
    chars[..from].iter().copied().chain(with.chars()).chain(chars[to..].iter().copied()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_mutation_panics(
        which in 0usize..4, at in 0usize..400, len in 0usize..12,
        with in prop::sample::select(vec!["", "0", "-1", "1e9", "null", "{}", "[]", "\"", "[", "}", ",", "NaN", "9999999999999999999999", "\"..\"", "\\u0000", "[[[[", "true", "\u{ff}", "/"]),
        plain in any::<bool>(),
    ) {
        let map = dataset();
        let key = [".zattrs", "v/.zarray", "v/.zattrs", "g/.zattrs"][which];
        if plain {
            map.put(".zattrs", b"{}");
        }
        map.put(key, mutate(&map.text(key), at, len, with).as_bytes());
        if let Ok(d) = open(&map) {
            let model = d.model().snapshot();
            for (id, _) in model.vars() {
                if model.shape(id).unwrap().iter().product::<u64>() < 1000 {
                    let _ = try_get(&*d, id);
                }
            }
            let d = crate::support::open_with(&map, "nczarr", true, &nczarr_dispatch::Options::default());
            if let Ok(d) = d {
                let _ = nczarr_nc_table::NcDispatch::put_att(&*d, nczarr_model::GroupId::ROOT, None, "a", nczarr_model::NcType::Int, &nczarr_model::Values::Int(vec![1]));
                let _ = d.close();
            }
        }
    }
}

#[test]
fn an_error_names_the_variable_once() {
    let map = dataset();
    map.put("v/0", b"abc");
    let d = open(&map).unwrap();
    let v = var(&*d, "v");
    let mut bytes = [0; 16];
    let out = MemMut::Fixed { ty: NcType::Int, out: &mut OutBuf::from_slice(&mut bytes) };
    let error = d.get_vara(v, &[0], &[4], out).unwrap_err().to_string();
    assert!(error.contains(": /v: chunk v/0: ") && error.matches("/v: ").count() == 1, "{error}");

    let map = dataset();
    let d = open_rw(&map);
    let (v, ints) = (var(&*d, "v"), [7i64 << 40; 4].map(i64::to_ne_bytes).concat());
    let error = d.put_vara(v, &[0], &[4], MemRef::Fixed { ty: NcType::Int64, bytes: &ints }).unwrap_err();
    assert_eq!((error.kind(), error.to_string().matches("/v").count()), (ErrorKind::Range, 1), "{error}");
}
