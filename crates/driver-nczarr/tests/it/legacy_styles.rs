//! Metadata of older NCZarr styles reads like the current style. A write converts it to the current style.

use std::sync::Arc;

use nczarr_dispatch::{Dataset, Driver, HeaderPadding, OpenRequest, OpenScope, Options};
use nczarr_driver_nczarr::NcZarrDriver;
use nczarr_model::{Endian, ErrorKind, GroupId, Model, NcType, Values};
use nczarr_nc_table::NcDispatch;
use nczarr_storage::ZMap;
use proptest::prelude::*;

use crate::bad_documents::mutate;
use crate::support::{TestMap, get, open, open_rw, open_with, put, registry, var};

const ROOT: GroupId = GroupId::ROOT;

const SAMPLES: [&str; 12] = [
    "old480_atts",
    "old480_endian",
    "old480_groups",
    "old480_scalars",
    "old490_endian",
    "old490_groups",
    "old490_types",
    "old492_endian",
    "old492_groups",
    "old492_jsonatts",
    "old492_scalars",
    "old492_strings",
];

/// Describes a model without the attribute `added` and the stored layout of elements.
fn describe(model: &Model) -> String {
    let mut text = String::new();
    for (id, group) in model.groups() {
        let atts: Vec<_> = group.atts.iter().filter(|(name, _)| *name != "added").collect();
        text += &format!("{} {:?} {:?}\n", group.name, group.parent, atts);
        for (name, &dim) in &group.dims {
            let dim = model.dim(dim).unwrap();
            text += &format!("  {name} {} {}\n", dim.len(), dim.unlimited);
        }
        for (name, &var) in &group.vars {
            let here = model.var(var).unwrap();
            assert!(here.group == id && here.problem.is_none(), "{name}: {:?}", here.problem);
            text += &format!(
                "  {name} {:?} {:?} {:?} {:?} {:?} {:?}\n",
                here.xtype, here.dims, here.fill, here.chunking, here.filters, here.atts
            );
        }
    }
    text
}

fn add(d: &dyn Dataset) -> nczarr_model::Result<()> {
    d.put_att(ROOT, None, "added", NcType::Int, &Values::Int(vec![1]))?;
    d.editor().unwrap().commit(HeaderPadding::default())
}

/// Returns a chunk of little-endian ones.
fn ones(map: &TestMap, var: &str) -> Vec<u8> {
    let chunks = map.json(&format!("{var}/.zarray"))["chunks"].clone();
    [1, 0, 0, 0].repeat(chunks[0].as_u64().unwrap() as usize)
}

/// Checks that every document has the current style and is valid JSON.
fn check_today(map: &TestMap, name: &str) {
    for (key, value) in map.objects() {
        let text = String::from_utf8(value).unwrap();
        assert!(!key.contains(".ncz"), "{name}: {key}");
        assert!(
            !["_NCZARR", "dimrefs", "\"vars\"", "<U1"].iter().any(|old| text.contains(old)),
            "{name}: {key}: {text}"
        );
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let marker = [".zgroup", ".zarray"].iter().any(|marker| key.ends_with(marker));
        let has_own = document.as_object().unwrap().keys().any(|member| member.starts_with("_nczarr_"));
        assert_eq!(has_own, !marker, "{name}: {key}: {text}");
        assert!(!text.contains("\">i4\""), "{name}: {key}: {text}");
    }
}

#[test]
fn a_first_change_brings_all_to_todays_style_and_changes_nothing_else() {
    for name in SAMPLES {
        let map = TestMap::sample(name);
        let before = open(&map).unwrap();
        let d = open_rw(&map);
        assert_eq!(describe(&d.model().snapshot()), describe(&before.model().snapshot()), "{name}");
        add(&*d).unwrap();
        check_today(&map, name);
        let now = describe(&open(&map).unwrap().model().snapshot());
        assert_eq!(now, describe(&before.model().snapshot()), "{name}");
        map.take_writes();
        d.close().unwrap();
        assert_eq!(map.take_writes(), Vec::<String>::new(), "{name}: once");
        // No old marker is left. A reader needs to know only the current style.
        let info = open(&map).unwrap().info();
        assert!(
            info.notes.iter().any(|note| note.ends_with("the root has \"_nczarr_superblock\"")),
            "{info:?}"
        );
    }
}

#[test]
fn an_interrupted_upgrade_always_opens() {
    for name in SAMPLES {
        let expected = describe(&open(&TestMap::sample(name)).unwrap().model().snapshot());
        let mut budget = 0;
        loop {
            let map = TestMap::sample(name);
            let d = open_rw(&map);
            map.fail_after(Some(budget));
            let done = add(&*d);
            map.fail_after(None);
            let between = open(&map).unwrap_or_else(|error| panic!("{name} after {budget}: {error}"));
            assert_eq!(describe(&between.model().snapshot()), expected, "{name} after {budget}");
            // The next commit does the rest.
            let next = open_rw(&map);
            assert_eq!(describe(&next.model().snapshot()), expected, "{name} after {budget}");
            next.put_att(ROOT, None, "more", NcType::Int, &Values::Int(vec![2])).unwrap();
            next.close().unwrap();
            let text = describe(&open(&map).unwrap().model().snapshot()).replace("(\"more\", Int([2]))", "");
            assert_eq!(text.replace(", ]", "]"), expected, "{name} after {budget}");
            if done.is_ok() {
                break;
            }
            // The next commit also repeats the failed steps.
            d.editor().unwrap().commit(HeaderPadding::default()).unwrap();
            budget += 1;
        }
        assert!(budget > 4, "{name}: {budget}");
    }
}

#[test]
fn a_session_that_changes_nothing_writes_nothing() {
    for name in SAMPLES {
        let map = TestMap::sample(name);
        let before = map.objects();
        let d = open_rw(&map);
        d.sync().unwrap();
        d.close().unwrap();
        assert_eq!(map.objects(), before, "{name}");
        let d = open_rw(&map);
        d.put_att(ROOT, None, "added", NcType::Int, &Values::Int(vec![1])).unwrap();
        d.abort().unwrap();
        assert!(!map.objects().contains_key(".zmetadata"), "{name}");
        assert_eq!(
            describe(&open(&map).unwrap().model().snapshot()),
            describe(&open(&TestMap::sample(name)).unwrap().model().snapshot())
        );
    }
}

#[test]
fn data_alone_are_written_as_the_old_reader_expects_them() {
    for name in ["old480_endian", "old490_endian", "old492_endian"] {
        let map = TestMap::sample(name);
        let documents = map.objects();
        let d = open_rw(&map);
        let v = var(&*d, "int_big");
        let len = d.model().snapshot().shape(v).unwrap()[0];
        let values: Vec<f64> = (0..len).map(|i| i as f64 - 2.0).collect();
        put(&*d, v, &[0], &[len], &values);
        d.close().unwrap();
        for (key, text) in &documents {
            assert_eq!(map.objects()[key], *text, "{name}: {key}");
        }
        let chunk = map.objects()["int_big/0"].clone();
        assert_eq!(
            chunk[..8],
            [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            "{name}: little-endian, as its writer did"
        );
        let d = open(&map).unwrap();
        assert_eq!((get(&*d, v), d.model().snapshot().var(v).unwrap().endian), (values.clone(), Endian::Big));
        // Current documents describe the bytes.
        let d = open_rw(&map);
        add(&*d).unwrap();
        assert_eq!(map.json("int_big/.zarray")["dtype"], "<i4");
        let after = open(&map).unwrap();
        assert_eq!((get(&*d, v), get(&*after, v)), (values.clone(), values));
        assert_eq!(after.model().snapshot().var(v).unwrap().endian, Endian::Little);
        // A new variable would be read as little-endian.
        let dims = [d.model().snapshot().var(v).unwrap().dims[0]];
        let new = d.def_var(ROOT, "new", NcType::Int, &dims).unwrap();
        assert_eq!(d.def_var_endian(new, Endian::Big).unwrap_err().kind(), ErrorKind::Inval);
        d.def_var_endian(new, Endian::Little).unwrap();
        d.close().unwrap();
    }
}

#[test]
fn only_the_recorded_version_implies_swapped_elements() {
    for (version, value) in [("4.9.2", 1.0), ("4.9.3", 16_777_216.0), ("", 16_777_216.0)] {
        for plain in [false, true] {
            let map = TestMap::sample("old490_endian");
            let root = map.text(".zattrs").replace("netcdf=4.9.0", &format!("netcdf={version}"));
            map.put(".zattrs", if version.is_empty() { b"{}" } else { root.as_bytes() });
            map.put("int_big/0", &ones(&map, "int_big"));
            let modes = if plain { "zarr" } else { "nczarr" };
            let d = open_with(&map, modes, false, &Options::default()).unwrap();
            assert_eq!(get(&*d, var(&*d, "int_big"))[0], value, "{version} {plain}");
            let d = open_only(&map, modes, "int_big");
            assert_eq!(get(&*d, var(&*d, "int_big"))[0], value, "{version} {plain}");
        }
    }
}

/// Opens one variable, or the whole dataset.
fn open_only(map: &Arc<TestMap>, modes: &str, path: &str) -> Arc<dyn Dataset> {
    let target = nczarr_url_infer::parse(&format!("file:///some/store.v1.zarr#mode={modes},file")).unwrap();
    NcZarrDriver
        .open(
            &OpenRequest::new(&target, &Options::default(), &registry())
                .map(Some((Arc::clone(map) as Arc<dyn ZMap>).into()))
                .scope(Some(OpenScope { path, data_only: false })),
        )
        .unwrap()
}

#[test]
fn the_oldest_style_is_recognised_by_its_marker_alone() {
    let map = TestMap::sample("old480_groups");
    let full = open(&map).unwrap();
    let dims = |d: &dyn Dataset| {
        let model = d.model().snapshot();
        let var = model.var(model.var_at(ROOT, "data").unwrap()).unwrap();
        var.dims.iter().map(|&dim| model.dim(dim).unwrap().name.clone()).collect::<Vec<_>>()
    };
    let expected = dims(&*full);
    // The document is as a tool writes it that consolidates only known documents.
    let mut documents = serde_json::Map::new();
    for (key, value) in map.objects() {
        if [".zgroup", ".zattrs", ".zarray"].iter().any(|name| key.ends_with(name)) {
            documents.insert(key, serde_json::from_slice(&value).unwrap());
        }
    }
    let gathered = serde_json::json!({"zarr_consolidated_format": 1, "metadata": documents});
    map.put(".zmetadata", gathered.to_string().as_bytes());
    let d = open(&map).unwrap();
    assert_eq!(describe(&d.model().snapshot()), describe(&full.model().snapshot()));
    map.remove(".zmetadata");
    // The dataset has no record of its writer.
    map.put(".zattrs", br#"{"where": "root"}"#);
    assert_eq!(dims(&*open(&map).unwrap()), expected);
    assert_eq!(dims(&*open_only(&map, "nczarr", "data")), expected);
}

#[test]
fn a_plain_store_of_an_old_writer_stays_readable_when_it_is_written() {
    let map = TestMap::new(&[
        (".zgroup", r#"{"zarr_format": 2}"#),
        (".zattrs", r#"{"_NCProperties": "version=2,netcdf=4.9.2,nczarr=2.0.0"}"#),
        (
            "v/.zarray",
            r#"{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": ">i4", "fill_value": 0, "order": "C", "filters": null, "compressor": null}"#,
        ),
        (
            "c/.zarray",
            r#"{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<U1", "fill_value": "", "order": "C", "filters": null, "compressor": null}"#,
        ),
    ]);
    let d = open_rw(&map);
    let v = var(&*d, "v");
    d.def_var_chunking(v, &nczarr_model::Chunking::Chunked(vec![1])).unwrap();
    d.put_att(ROOT, Some(var(&*d, "c")), "u", NcType::Int, &Values::Int(vec![1])).unwrap();
    put(&*d, v, &[0], &[2], &[1.0, 2.0]);
    d.close().unwrap();
    assert_eq!(map.objects()["v/0"], [1, 0, 0, 0]);
    let d = open(&map).unwrap();
    assert_eq!(get(&*d, v), [1.0, 2.0]);
    assert_eq!(d.model().snapshot().var(var(&*d, "c")).unwrap().xtype, NcType::Char);
}

#[test]
fn damaged_legacy_documents_are_not_upgraded() {
    for (name, key) in [("old480_groups", "ocean/m/.nczvar"), ("old492_groups", "ocean/m/.zarray")] {
        let map = TestMap::sample(name);
        map.put(key, b"{\"dimrefs\": [\"/nowhere\"], ");
        let before = map.objects();
        let error = open_with(&map, "nczarr", true, &Options::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Perm, "{name}");
        assert!(
            error.to_string().contains("legacy NCZarr style") && error.to_string().contains(key),
            "{error}"
        );
        let d = open(&map).unwrap();
        let model = d.model().snapshot();
        assert!(model.var(var(&*d, "ocean/m")).unwrap().problem.is_some());
        assert!(model.var(var(&*d, "ocean/data")).unwrap().problem.is_none());
        assert_eq!(map.objects(), before);
    }
    for (key, text) in
        [("ocean/.nczgroup", "{\"dims\": 4}"), ("ocean/.nczgroup", "{"), ("ocean/.nczattr", "{")]
    {
        let map = TestMap::sample("old480_groups");
        map.put(key, text.as_bytes());
        let error = open_with(&map, "nczarr", true, &Options::default()).unwrap_err();
        assert!(
            error.kind() == ErrorKind::Perm && error.to_string().contains("/ocean"),
            "{key} {text}: {error}"
        );
        let d = open(&map).unwrap();
        let faults: Vec<String> = d.info().faults.into_iter().map(|fault| fault.path).collect();
        assert_eq!(faults, ["/ocean"], "{key} {text}");
        assert!(d.model().snapshot().var(var(&*d, "data")).unwrap().problem.is_none());
    }
    for (key, text) in [(".nczgroup", "[]"), (".nczgroup", "{"), (".nczattr", "{")] {
        let map = TestMap::sample("old480_groups");
        map.put(key, text.as_bytes());
        let error = open(&map).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NcZarr, "{key} {text}: {error}");
    }
}

#[test]
fn a_renamed_variable_moves_in_todays_style() {
    for name in ["old480_groups", "old490_groups", "old492_groups"] {
        let map = TestMap::sample(name);
        let chunk = ones(&map, "atmos/data");
        map.put("atmos/data/0", &chunk);
        let d = open_rw(&map);
        d.rename_var(var(&*d, "atmos/data"), "other").unwrap();
        d.close().unwrap();
        map.remove("atmos/other/0");
        check_today(&map, name);
        map.put("atmos/other/0", &chunk);
        let d = open(&map).unwrap();
        assert_eq!(get(&*d, var(&*d, "atmos/other"))[0], 1.0);
        assert!(d.model().snapshot().var_at(ROOT, "atmos/data").is_err());
    }
}

#[test]
fn consolidated_metadata_is_of_one_style() {
    for name in SAMPLES {
        let map = TestMap::sample(name);
        let expected = describe(&open(&map).unwrap().model().snapshot());
        open_with(&map, "nczarr,consolidated", true, &Options::default()).unwrap().close().unwrap();
        let document = map.text(".zmetadata");
        assert!(document.contains("_nczarr_superblock") && !document.contains("dimrefs"), "{name}");
        map.remove(".zmetadata");
        check_today(&map, name);
        map.put(".zmetadata", document.as_bytes());
        assert_eq!(describe(&open(&map).unwrap().model().snapshot()), expected, "{name}");
    }
}

#[test]
fn another_writer_s_upgrade_and_change_stay() {
    for name in SAMPLES {
        let map = TestMap::sample(name);
        let (one, two) = (open_rw(&map), open_rw(&map));
        one.def_dim(ROOT, "fresh", Some(3)).unwrap();
        one.close().unwrap();
        two.put_att(ROOT, None, "added", NcType::Int, &Values::Int(vec![1])).unwrap();
        two.close().unwrap();
        check_today(&map, name);
        let model = open(&map).unwrap().model().snapshot();
        assert!(model.root().dims.contains_key("fresh") && model.root().atts.contains_key("added"), "{name}");
    }
}

#[test]
fn each_document_is_requested_at_most_once() {
    let asked = |map: &Arc<TestMap>| {
        map.take_asked();
        open(map).unwrap();
        map.take_asked()
    };
    let root = [".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json"];
    // Current style: the open reads the listed nodes.
    let map = TestMap::sample("groups_0");
    let mut expected: Vec<String> = root.iter().map(|key| (*key).to_owned()).collect();
    expected.extend(map.keys().into_iter().filter(|key| key.contains("/.")));
    expected.sort();
    assert_eq!(asked(&map), expected);
    // Plain Zarr: the open lists the root once.
    let map = TestMap::sample("mode_04_nc-noxarray");
    let mut expected: Vec<String> = root.iter().map(|key| (*key).to_owned()).collect();
    expected
        .extend(map.keys().into_iter().filter(|key| key.ends_with("/.zarray") || key.ends_with("/.zattrs")));
    expected.push("/".to_owned());
    expected.sort();
    let found = asked(&map);
    assert_eq!(
        found.iter().filter(|key| !key.contains(".zarray") || map.keys().contains(key)).count(),
        found.len() - 1
    );
    assert_eq!(found, expected);
    // The oldest style: the open also reads its separate documents.
    let map = TestMap::sample("old480_groups");
    let found = asked(&map);
    for key in map.keys() {
        assert_eq!(found.iter().filter(|asked| **asked == key).count(), 1, "{key}");
    }
    assert_eq!(found.iter().filter(|key| key.ends_with('/')).count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// After any change of a document, a dataset that opens for writing reads the same afterwards. Any other
    /// stays unchanged.
    #[test]
    fn damage_is_refused_or_kept(
        sample in prop::sample::select(vec!["old480_atts", "old480_groups", "old490_types", "old492_jsonatts", "old492_strings"]),
        which in any::<usize>(), at in 0usize..700, len in 0usize..12,
        with in prop::sample::select(vec![
            "", "0", "-1", "1e9", "null", "{}", "[]", "\"", "[", "}", ",", "NaN", "tRUE", "01", "\"12\"", "<U1", ">S1", "\\u0000",
            "9999999999999999999999", "_NCZARR_ATTR", "_nczarr_group", "scalar", "/", "\u{ff}",
        ]),
    ) {
        let map = TestMap::sample(sample);
        let keys = map.keys();
        let key = &keys[which % keys.len()];
        map.put(key, mutate(&map.text(key), at, len, with).as_bytes());
        let before = map.objects();
        match open_with(&map, "nczarr", true, &Options::default()) {
            Err(_) => prop_assert_eq!(map.objects(), before),
            Ok(d) => {
                let expected = describe(&d.model().snapshot());
                let _ = add(&*d);
                let after = open(&map).unwrap();
                if after.info().flavour == "nczarr" {
                    prop_assert_eq!(describe(&after.model().snapshot()), expected, "{}", key);
                }
            }
        }
    }
}

#[test]
fn one_damaged_recorded_type_keeps_the_others() {
    for (name, key, from, to) in [
        ("old480_atts", "month/.nczattr", "\"a_uint\": \"9\"", "\"a_uint\": NaN"),
        ("old492_jsonatts", ".zattrs", "\"types\": {", "\"types\": {\"more\": [NaN], "),
    ] {
        let map = TestMap::sample(name);
        let text = map.text(key);
        assert!(text.contains(from), "{name}: {text}");
        map.put(key, text.replacen(from, to, 1).as_bytes());
        let d = open_rw(&map);
        let expected = describe(&d.model().snapshot());
        add(&*d).unwrap();
        d.close().unwrap();
        let after = open(&map).unwrap();
        let added = |text: String| {
            text.lines().filter(|line| !line.contains("added")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(added(describe(&after.model().snapshot())), added(expected), "{name}");
    }
}
