//! Names that Zarr V3 nodes cannot have. The driver stores such nodes under other names and records the true
//! name.

use nczarr_dispatch::{Dataset, Options, Place};
use nczarr_model::{ErrorKind, GroupId, NcType};
use nczarr_nc_table::NcDispatch;
use serde_json::json;

use crate::support::{TestMap, create, get, open, open_rw, open_with, put, var};

const ROOT: GroupId = GroupId::ROOT;
const MODES: [&str; 2] = ["nczarr,v3", "zarr,v3,annotate"];

/// Returns the variables' paths in order, with the first value of each.
fn values(d: &dyn Dataset) -> Vec<(String, f64)> {
    let model = d.model().snapshot();
    model.vars().map(|(id, _)| (model.var_path(id).unwrap(), get(d, id)[0])).collect()
}

fn expect(d: &dyn Dataset, expected: &[(&str, f64)]) {
    let found = values(d);
    let found: Vec<_> = found.iter().map(|(path, value)| (path.as_str(), *value)).collect();
    assert_eq!(found, expected);
}

/// Creates variables in the order of their values.
fn dataset(modes: &str) -> std::sync::Arc<TestMap> {
    let map = TestMap::new(&[]);
    let d = create(&map, modes);
    let x = d.def_dim(ROOT, "zarr.json", Some(2)).unwrap();
    let g = d.def_grp(ROOT, "__g").unwrap();
    let y = d.def_dim(g, "y", Some(2)).unwrap();
    let h = d.def_grp(g, "zarr.json").unwrap();
    for (i, (group, name, dim)) in [
        (ROOT, "zarr.json", x),
        (ROOT, "_nczarr.zarr.json", x),
        (ROOT, "plain", x),
        (g, "__v", y),
        (h, "zarr.json", y),
    ]
    .into_iter()
    .enumerate()
    {
        let v = d.def_var(group, name, NcType::Int, &[dim]).unwrap();
        put(&*d, v, &[0], &[2], &[i as f64; 2]);
    }
    d.close().unwrap();
    map
}

const ALL: [(&str, f64); 5] = [
    ("/zarr.json", 0.0),
    ("/_nczarr.zarr.json", 1.0),
    ("/plain", 2.0),
    ("/__g/__v", 3.0),
    ("/__g/zarr.json/zarr.json", 4.0),
];

#[test]
fn any_name_is_stored_and_found() {
    for modes in MODES {
        let map = dataset(modes);
        let d = open(&map).unwrap();
        expect(&*d, &ALL);
        let model = d.model().snapshot();
        let dims = |path: &str| model.var(var(&*d, path)).unwrap().dims.clone();
        assert_eq!(dims("__g/__v"), dims("__g/zarr.json/zarr.json"), "{modes}");
        assert_eq!(dims("zarr.json"), dims("plain"), "{modes}");
        let keys = map.keys();
        for key in
            ["_nczarr.zarr.json/zarr.json", "_nczarr._nczarr.zarr.json/c/0", "_nczarr.__g/_nczarr.__v/c/0"]
        {
            assert!(keys.iter().any(|found| found == key), "{modes}: {keys:?}");
        }
        // No segment is reserved except those of documents.
        let nodes =
            keys.iter().flat_map(|key| key.rsplit_once('/').map_or("", |(nodes, _)| nodes).split('/'));
        assert!(nodes.into_iter().all(|name| name != "zarr.json" && !name.starts_with("__")), "{keys:?}");
        // The dataset is read as plain Zarr without names, as other readers see it.
        let d = open_with(&map, "zarr,noxarray", false, &Options::default()).unwrap();
        assert_eq!(get(&*d, var(&*d, "_nczarr.__g/_nczarr.__v")), [3.0; 2]);
    }
    let map = dataset("nczarr,v3");
    let keys = &map.json("_nczarr.__g/zarr.json")["attributes"]["_nczarr_group"];
    assert_eq!((&keys["name"], &keys["arrays"]), (&json!("__g"), &json!(["_nczarr.__v"])));
    let keys = &map.json("_nczarr.__g/_nczarr.__v/zarr.json")["attributes"]["_nczarr_array"];
    assert_eq!((&keys["name"], &keys["dimension_references"]), (&json!("__v"), &json!(["/__g/y"])));
    assert_eq!(map.json("plain/zarr.json")["attributes"]["_nczarr_array"].get("name"), None);
}

#[test]
fn a_plain_store_without_a_place_for_the_name_refuses_it() {
    let d = create(&TestMap::new(&[]), "zarr,v3");
    for name in ["zarr.json", "__v"] {
        let error = d.def_var(ROOT, name, NcType::Int, &[]).unwrap_err();
        assert!(error.kind() == ErrorKind::BadName && error.what().contains(name), "{error}");
    }
    d.def_var(ROOT, "_nczarr.v", NcType::Int, &[]).unwrap();
}

#[test]
fn names_are_consolidated_renamed_and_merged() {
    for modes in MODES {
        let map = dataset(modes);
        let d = open_with(&map, &format!("{modes},consolidated"), true, &Options::default()).unwrap();
        d.rename_var(var(&*d, "zarr.json"), "__moved").unwrap();
        d.rename_var(var(&*d, "plain"), "zarr.json").unwrap();
        d.rename_var(var(&*d, "__g/__v"), "v").unwrap();
        d.rename_grp(d.inq_ncid(ROOT, "__g").unwrap(), "g").unwrap();
        d.close().unwrap();
        let expected = [
            ("/__moved", 0.0),
            ("/_nczarr.zarr.json", 1.0),
            ("/zarr.json", 2.0),
            ("/g/v", 3.0),
            ("/g/zarr.json/zarr.json", 4.0),
        ];
        expect(&*open(&map).unwrap(), &expected);
        assert!(map.text("zarr.json").contains("consolidated_metadata"), "{modes}");
        assert!(map.keys().iter().any(|key| key == "g/v/zarr.json"), "{:?}", map.keys());
        assert!(
            !map.text("g/v/zarr.json").contains("__v") && !map.text("g/zarr.json").contains("__g"),
            "{modes}"
        );
        // There are two writers, and one renames.
        let (one, two) = (open_rw(&map), open_rw(&map));
        let w = two.def_var(ROOT, "__new", NcType::Int, &[]).unwrap();
        put(&*two, w, &[], &[], &[5.0]);
        two.close().unwrap();
        one.rename_var(var(&*one, "__moved"), "still").unwrap();
        one.close().unwrap();
        let mut found = values(&*open(&map).unwrap());
        found.sort_by(|a, b| a.1.total_cmp(&b.1));
        assert_eq!((&*found[0].0, &*found[5].0, found.len()), ("/still", "/__new", 6), "{modes}");
    }
}

#[test]
fn foreign_nodes_with_escaped_names_stay() {
    for modes in MODES {
        let map = TestMap::new(&[]);
        let d = create(&map, modes);
        let x = d.def_dim(ROOT, "x", Some(2)).unwrap();
        for (i, name) in ["a", "b", "c"].iter().enumerate() {
            let v = d.def_var(ROOT, name, NcType::Int, &[x]).unwrap();
            put(&*d, v, &[0], &[2], &[i as f64; 2]);
        }
        d.close().unwrap();
        // The nodes are as a writer without this feature would store them.
        for (from, to) in [("a", "__a"), ("b", "_nczarr.__b")] {
            for rest in ["zarr.json", "c/0"] {
                let bytes = map.objects()[&format!("{from}/{rest}")].clone();
                map.put(&format!("{to}/{rest}"), &bytes);
                map.remove(&format!("{from}/{rest}"));
            }
            let root = map.text("zarr.json").replace(&format!("\"{from}\""), &format!("\"{to}\""));
            map.put("zarr.json", root.as_bytes());
        }
        let d = open_with(&map, modes, true, &Options::default()).unwrap();
        let mut found = values(&*d);
        found.sort_by(|a, b| a.1.total_cmp(&b.1));
        assert_eq!((&*found[0].0, &*found[1].0), ("/__a", "/_nczarr.__b"), "{modes}");
        // The stored name of a new one is taken.
        assert_eq!(d.def_var(ROOT, "__b", NcType::Int, &[]).unwrap_err().kind(), ErrorKind::Object);
        d.rename_var(var(&*d, "c"), "__c").unwrap();
        d.close().unwrap();
        let keys = map.keys();
        for key in ["__a/zarr.json", "_nczarr.__b/c/0", "_nczarr.__c/c/0"] {
            assert!(keys.iter().any(|found| found == key), "{modes}: {keys:?}");
        }
        assert_eq!(get(&*open(&map).unwrap(), var(&*open(&map).unwrap(), "__c")), [2.0; 2]);
    }
}

#[test]
fn a_misfitting_recorded_name_is_ignored() {
    for modes in MODES {
        let map = dataset(modes);
        let change = |key: &str, from: &str, to: &str| {
            let text = map.text(key);
            assert!(text.contains(from), "{key}: {text}");
            map.put(key, text.replace(from, to).as_bytes());
        };
        // A rename left this name behind. The stored name counts.
        change("_nczarr.__g/_nczarr.__v/zarr.json", "\"name\": \"__v\"", "\"name\": \"old\"");
        // The name behind the prefix needs no escape, or no name is recorded, or the record is not a name.
        let after = if modes.starts_with("zarr") { "" } else { ", " };
        let named = format!("\"attributes\": {{\"name\": \"__plain\"{after}");
        change("plain/zarr.json", "\"attributes\": {", &named);
        expect(&*open(&map).unwrap(), &ALL);
        change("_nczarr.__g/_nczarr.__v/zarr.json", "\"name\": \"old\"", "\"name\": 5");
        let d = open(&map).unwrap();
        assert_eq!(get(&*d, var(&*d, "__g/_nczarr.__v")), [3.0; 2], "{modes}");
        // A node of that name exists as well.
        let bytes = map.objects()["plain/zarr.json"].clone();
        map.put("__g/zarr.json", &bytes);
        change("zarr.json", "\"plain\"", "\"plain\",\"__g\"");
        let d = open(&map).unwrap();
        let model = d.model().snapshot();
        assert!(
            model.find_group(ROOT, "_nczarr.__g").is_some() && model.root().vars.contains_key("__g"),
            "{modes}"
        );
    }
}

/// Creates `__a` with the value 0 and `_nczarr.__a` with 1.
fn pair(modes: &str) -> std::sync::Arc<TestMap> {
    let map = TestMap::new(&[]);
    let d = create(&map, modes);
    for (value, name) in ["__a", "_nczarr.__a"].into_iter().enumerate() {
        let v = d.def_var(ROOT, name, NcType::Int, &[]).unwrap();
        put(&*d, v, &[], &[], &[value as f64]);
    }
    d.close().unwrap();
    map
}

/// Checks the values in a store by name.
fn expect_stored(map: &std::sync::Arc<TestMap>, expected: &[(&str, f64)]) {
    let mut found = values(&*open(map).unwrap());
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let found: Vec<_> = found.iter().map(|(path, value)| (path.as_str(), *value)).collect();
    assert_eq!(found, expected, "{:?}", map.keys());
    assert!(
        map.keys().iter().all(|key| !key.split('/').any(|name| name.starts_with('.'))),
        "{:?}",
        map.keys()
    );
}

#[test]
fn a_name_and_its_escaped_form_are_two_nodes() {
    for modes in MODES {
        // The dataset is new, or was opened with the first node in it, or without it.
        for opened in [None, Some(false), Some(true)] {
            let map = TestMap::new(&[]);
            let mut d = create(&map, modes);
            let define = |d: &dyn Dataset| {
                let v = d.def_var(ROOT, "__a", NcType::Int, &[]).unwrap();
                let g = d.def_grp(ROOT, "__g").unwrap();
                let w = d.def_var(g, "w", NcType::Int, &[]).unwrap();
                put(d, v, &[], &[], &[1.0]);
                put(d, w, &[], &[], &[2.0]);
            };
            if opened == Some(true) {
                define(&*d);
            }
            if opened.is_some() {
                d.close().unwrap();
                d = open_with(&map, modes, true, &Options::default()).unwrap();
            }
            if opened != Some(true) {
                define(&*d);
            }
            d.rename_var(var(&*d, "__a"), "_nczarr.__a").unwrap();
            d.rename_grp(d.inq_ncid(ROOT, "__g").unwrap(), "_nczarr.__g").unwrap();
            let v = d.def_var(ROOT, "__a", NcType::Int, &[]).unwrap();
            let g = d.def_grp(ROOT, "__g").unwrap();
            let w = d.def_var(g, "w", NcType::Int, &[]).unwrap();
            put(&*d, v, &[], &[], &[3.0]);
            put(&*d, w, &[], &[], &[4.0]);
            d.close().unwrap();
            let all = [("/__a", 3.0), ("/__g/w", 4.0), ("/_nczarr.__a", 1.0), ("/_nczarr.__g/w", 2.0)];
            expect_stored(&map, &all);
        }
    }
}

#[test]
fn a_name_and_its_escaped_form_are_swapped() {
    for modes in MODES {
        for synced in [false, true] {
            let map = pair(modes);
            let d = open_with(&map, modes, true, &Options::default()).unwrap();
            let (p, q) = (var(&*d, "__a"), var(&*d, "_nczarr.__a"));
            for (id, name) in [(p, "tmp"), (q, "__a"), (p, "_nczarr.__a")] {
                d.rename_var(id, name).unwrap();
                if synced {
                    d.sync().unwrap();
                }
            }
            d.close().unwrap();
            expect_stored(&map, &[("/__a", 1.0), ("/_nczarr.__a", 0.0)]);
            // Each name gains one escape, and the first name is defined anew.
            let d = open_with(&map, modes, true, &Options::default()).unwrap();
            d.rename_var(var(&*d, "_nczarr.__a"), "_nczarr._nczarr.__a").unwrap();
            d.rename_var(var(&*d, "__a"), "_nczarr.__a").unwrap();
            let v = d.def_var(ROOT, "__a", NcType::Int, &[]).unwrap();
            put(&*d, v, &[], &[], &[2.0]);
            d.close().unwrap();
            expect_stored(&map, &[("/__a", 2.0), ("/_nczarr.__a", 1.0), ("/_nczarr._nczarr.__a", 0.0)]);
        }
    }
}

#[test]
fn a_new_node_never_replaces_a_foreign_node() {
    for modes in MODES {
        let map = pair(modes);
        // The store is as a writer without this feature makes it: without `__a`, and with `_nczarr.__a` under
        // its own name.
        for rest in ["zarr.json", "c"] {
            map.remove(&format!("_nczarr.__a/{rest}"));
            let bytes = map.objects()[&format!("_nczarr._nczarr.__a/{rest}")].clone();
            map.put(&format!("_nczarr.__a/{rest}"), &bytes);
            map.remove(&format!("_nczarr._nczarr.__a/{rest}"));
        }
        let text = map.text("_nczarr.__a/zarr.json");
        assert!(text.contains("\"name\": \"_nczarr.__a\""), "{text}");
        map.put("_nczarr.__a/zarr.json", text.replace("\"name\": \"_nczarr.__a\"", "\"name\": 5").as_bytes());
        map.put("zarr.json", map.text("zarr.json").replace(",\"_nczarr._nczarr.__a\"", "").as_bytes());
        let d = open_with(&map, modes, true, &Options::default()).unwrap();
        let foreign = var(&*d, "_nczarr.__a");
        let refused = d.def_var(ROOT, "__a", NcType::Int, &[]).unwrap_err();
        assert!(refused.kind() == ErrorKind::Object && refused.what().contains("_nczarr.__a"), "{refused}");
        // While the node is about to leave, another one takes its stored name. Then the node cannot stay.
        d.rename_var(foreign, "b").unwrap();
        let v = d.def_var(ROOT, "__a", NcType::Int, &[]).unwrap();
        let refused = d.rename_var(foreign, "_nczarr.__a").unwrap_err();
        assert!(refused.kind() == ErrorKind::Object && refused.what().contains("/__a"), "{refused}");
        put(&*d, v, &[], &[], &[7.0]);
        d.close().unwrap();
        expect_stored(&map, &[("/__a", 7.0), ("/b", 1.0)]);
    }
}

#[test]
fn a_name_too_long_for_a_directory_is_refused_at_once() {
    let registry = crate::support::registry();
    let registry =
        std::sync::Arc::new(nczarr_dispatch::Registry::clone(&registry).with_map(nczarr_zmap_file::FileMaps));
    for format in [",v3", ""] {
        let dir = tempfile::tempdir().unwrap();
        let path = format!("file://{}/d.zarr#mode=nczarr,file{format}", dir.path().to_str().unwrap());
        let d = registry
            .create(&Place::url(&path), nczarr_dispatch::Clobber::Refuse, false, &Options::default())
            .unwrap();
        let name = |begin: &str, len: usize| begin.to_owned() + &"x".repeat(len - begin.len());
        let most = if format == ",v3" { 255 - "_nczarr.".len() } else { 255 };
        for refused in [name("__", most + 1), name("_y", 256)] {
            assert_eq!(d.def_var(ROOT, &refused, NcType::Int, &[]).unwrap_err().kind(), ErrorKind::MaxName);
            assert_eq!(d.def_grp(ROOT, &refused).unwrap_err().kind(), ErrorKind::MaxName);
        }
        let (escaped, plain) = (name("__", most), name("_y", 255));
        for name in [&escaped, &plain] {
            let v = d.def_var(ROOT, name, NcType::Int, &[]).unwrap();
            put(&*d, v, &[], &[], &[name.len() as f64]);
        }
        assert_eq!(d.rename_var(var(&*d, &plain), &name("_z", 256)).unwrap_err().kind(), ErrorKind::MaxName);
        d.close().unwrap();
        let d = registry.open(&Place::url(&path), false, &Options::default()).unwrap();
        assert_eq!(get(&*d, var(&*d, &escaped)), [escaped.len() as f64]);
        assert_eq!(get(&*d, var(&*d, &plain)), [255.0]);
    }
    // In other formats netCDF's limit applies.
    let d = create(&TestMap::new(&[]), "nczarr,v3");
    d.def_var(ROOT, &"_".repeat(256), NcType::Int, &[]).unwrap();
}
