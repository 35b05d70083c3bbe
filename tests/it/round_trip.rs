//! Round trips are exact, and a second write gives the same bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use nczarr::{Result, Values};
use nczarr_tests::plan::{Dim, Plan, Var};
use nczarr_tests::samples;
use proptest::prelude::*;

#[test]
fn every_sample_round_trips() {
    let folder = tempfile::tempdir().unwrap();
    for (name, plan) in samples::all() {
        for (kind, url) in [
            ("directory", folder.path().join(format!("{name}.zarr")).display().to_string()),
            ("consolidated", format!("file://{}/{name}-c#mode=nczarr,consolidated", folder.path().display())),
            ("annotated", format!("file://{}/{name}-a#mode=zarr,annotate", folder.path().display())),
            ("version 3", format!("file://{}/{name}-3#mode=nczarr,v3", folder.path().display())),
            (
                "version 3, annotated",
                format!("file://{}/{name}-3a#mode=zarr,v3,annotate", folder.path().display()),
            ),
            ("memory", format!("memory://round-trip-{name}#mode=nczarr")),
        ] {
            plan.create(&url).unwrap_or_else(|error| panic!("{name}, {kind}: {error}"));
            let file = nczarr::open(&url).unwrap_or_else(|error| panic!("{name}, {kind}: {error}"));
            let found = plan.differences(&file);
            assert!(found.is_empty(), "{name}, {kind}:\n{}", found.join("\n"));
        }
    }
}

/// Every object below a folder.
fn objects(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![folder.to_path_buf()]);
    while let Some(here) = open.pop() {
        for entry in fs::read_dir(&here).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let key = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(key, fs::read(&path).unwrap());
            }
        }
    }
    // The lock of concurrent writers is not an object of the dataset.
    found.remove(".nczarr-lock");
    found
}

#[test]
fn samples_survive_a_second_write() {
    for (name, plan) in samples::all() {
        written_again(name, &plan, "nczarr");
        written_again(name, &plan, "zarr,annotate");
        written_again(name, &plan, "nczarr,v3");
        written_again(name, &plan, "zarr,v3,annotate");
    }
}

/// Pure Zarr cannot express text of type char and unlimited dimensions. Everything else is kept.
#[test]
fn the_same_in_pure_zarr() {
    for (name, plan) in samples::all() {
        if !["chars", "unlimited"].contains(&name) {
            written_again(name, &plan, "zarr");
        }
    }
}

/// Pure Zarr V3 also cannot record the filters behind codecs, so these samples are omitted too.
#[test]
fn the_same_in_pure_zarr_of_version_3() {
    for (name, plan) in samples::all() {
        if !["chars", "unlimited", "filters", "chains", "codecs"].contains(&name) {
            written_again(name, &plan, "zarr,v3");
        }
    }
}

fn written_again(name: &str, plan: &Plan, mode: &str) {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|which| folder.path().join(format!("{which}.zarr")));
    let url = |path: &Path| format!("file://{}#mode={mode}", path.display());
    plan.create(&url(&first)).unwrap();
    let again = Plan::of(&nczarr::open(url(&first)).unwrap()).unwrap();
    again.create(&url(&second)).unwrap();
    let (first, second) = (objects(&first), objects(&second));
    for (key, bytes) in &first {
        // Only chunks that were never written can differ. The second write stores them with the same values.
        let Some(other) = second.get(key) else { panic!("{name}: {key} is gone") };
        assert!(other == bytes, "{name}: {key}:\n{}\n{}", text(bytes), text(other));
    }
    let is_chunk = |key: &String| {
        key.rsplit('/').next().is_some_and(|last| !last.starts_with('.') && last != "zarr.json")
    };
    for key in second.keys() {
        assert!(first.contains_key(key) || is_chunk(key), "{name}: {key} is new");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Creates a dataset with these attributes in memory and reads them back.
fn through(name: &str, plan: &Plan) -> Result<Plan> {
    let url = format!("memory://{name}#mode=nczarr");
    plan.create(&url)?;
    let read = nczarr::open(&url).and_then(|file| Plan::of(&file));
    nczarr::delete(&url)?;
    read
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn floats_in_metadata_keep_every_bit(
        singles in prop::collection::vec(any::<u32>().prop_map(f32::from_bits), 1..20),
        doubles in prop::collection::vec(any::<u64>().prop_map(f64::from_bits), 1..20),
        odd in any::<u64>(),
    ) {
        // Also tests the sign and payload of NaN, which JSON cannot express.
        let (mut single, mut double) = (singles, doubles);
        single.push(f32::from_bits(0xffc0_0001 | odd as u32));
        double.push(f64::from_bits(0x7ff4_0000_0000_0001 | odd));
        let mut plan = Plan { dims: vec![Dim::fixed("x", 1)], ..Plan::default() };
        for (name, values) in [("f", Values::Float(single.clone())), ("d", Values::Double(double.clone()))] {
            plan.att(name, values);
        }
        for (name, fill) in [("vf", Values::Float(vec![single[0]])), ("vd", Values::Double(vec![double[0]])),
            ("nf", Values::Float(vec![single[single.len() - 1]])), ("nd", Values::Double(vec![double[double.len() - 1]]))] {
            let var = Var::new(name, &["x"], fill.clone());
            plan.vars.push(Var { written: false, fill: Some(fill.clone()), ..var }.att("_FillValue", fill));
        }
        let read = through("floats", &plan).unwrap();
        prop_assert_eq!(format!("{:?}", read.atts), format!("{:?}", plan.atts));
        prop_assert_eq!(&read.atts, &plan.atts);
        for (read, var) in read.vars.iter().zip(&plan.vars) {
            prop_assert_eq!(&read.atts, &var.atts);
            prop_assert_eq!(&read.data, &var.data);
        }
    }

    #[test]
    fn text_in_metadata_is_kept(texts in prop::collection::vec("\\PC{0,12}|[-+.0-9eE]{1,8}|\\[.*\\]|true|null|\"", 1..8)) {
        let mut plan = Plan::default();
        for (number, text) in texts.iter().enumerate() {
            plan.att(&format!("char{number}"), Values::text(text));
        }
        plan.att("string", Values::String(texts.iter().map(|text| text.as_str().into()).collect()));
        let read = through("texts", &plan).unwrap();
        for ((_, read), (_, put)) in read.atts.iter().zip(&plan.atts) {
            // Text that is a JSON object or list is stored as JSON, so blanks in it do not count.
            let json = |values: &Values| serde_json::from_str::<serde_json::Value>(values.as_text().unwrap_or_default());
            match json(put) {
                Ok(value) if value.is_object() || value.is_array() => prop_assert_eq!(json(read).unwrap(), value),
                _ => prop_assert_eq!(read, put),
            }
        }
    }
}
