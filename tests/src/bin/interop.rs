//! Our side of the interoperability test.
//!
//! `interop write DIR` writes datasets and describes them in `DIR/expected.json`, so other programs can check
//! them. `interop edit` edits the stores that standard input names, so other programs can read them again.
//! `interop read DIR` checks datasets by other programs against their `DIR/expected.json`. `interop chunks FILE`
//! prints filter mask, length and checksum of each stored chunk as JSON.
//! `interop types DIR` writes variables of types that only Zarr has, and attributes as JSON. `zarr_types.py`
//! knows their values. `interop append URL` makes a dataset, and `interop append URL FIRST COUNT` appends
//! records to it.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

use nczarr::model::{Slab, name};
use nczarr::{Codec, CreateOptions, Endian, Kind, MemRef, NcType, OpenOptions, Place, TimeStep, ZarrType};
use nczarr_tests::plan::{Plan, get, put};
use nczarr_tests::report::{Outcome, Report};
use nczarr_tests::samples;
use serde_json::{Value, json};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", folder] => write(Path::new(folder)),
        ["read", folder] => read(Path::new(folder)),
        ["types", folder] => types(Path::new(folder)).map_err(|error| error.to_string()),
        ["edit"] => edit(),
        ["append", url] => define(url).map_err(|error| error.to_string()),
        ["append", url, first, count] => append(url, first, count),
        ["chunks", path] => chunks(path).map_err(|error| error.to_string()),
        _ => Err("usage: interop write|read|types DIR, interop edit, interop chunks FILE, \
                  interop append URL [FIRST COUNT]"
            .to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Makes a dataset without records, for `append`.
fn define(url: &str) -> nczarr::Result<()> {
    let file = CreateOptions::new().create(Place::url(url))?;
    file.add_unlimited_dimension("time")?;
    file.add_dimension("pair", 2)?;
    file.add_variable::<i32>("time", &["time"])?.set_chunking(&[64])?;
    // Records of several writers share each chunk.
    file.add_variable::<i32>("value", &["time", "pair"])?.set_chunking(&[16, 2])?;
    file.close()
}

/// Appends `count` records with the values from `first` on, and prints index and value of each.
fn append(url: &str, first: &str, count: &str) -> Result<(), String> {
    let number = |text: &str| text.parse::<i32>().map_err(|error| format!("{text}: {error}"));
    let values = number(first)?..number(first)?.saturating_add(number(count)?);
    let appended = || -> nczarr::Result<()> {
        let file = OpenOptions::new().writable(true).threads(1).open(Place::url(url))?;
        let dimension = file.dimension("time")?;
        let (time, pairs) = (file.variable("time")?, file.variable("value")?);
        for value in values {
            let index = dimension.reserve(1)?;
            time.put(&[value], index..=index)?;
            pairs.put(&[value, -value], (index, ..))?;
            file.sync()?;
            println!("{index} {value}");
        }
        file.close()
    };
    appended().map_err(|error| error.to_string())
}

/// The ways to write a dataset: the ending of the name, and the fragment of the URL.
const FLAVOURS: [(&str, &str); 13] = [
    ("nczarr", "mode=nczarr,file"),
    ("zarr", "mode=zarr,file"),
    ("annotated", "mode=zarr,annotate,file"),
    ("consolidated", "mode=nczarr,file,consolidated"),
    ("zip", "mode=zarr,zip"),
    ("nczarr3", "mode=nczarr,v3,file"),
    ("zarr3", "mode=zarr,v3,file"),
    ("consolidated_nczarr3", "mode=nczarr,v3,file,consolidated"),
    ("sharded_nczarr3", "mode=nczarr,v3,file"),
    ("sharded_zarr3", "mode=zarr,v3,file"),
    ("annotated3", "mode=zarr,v3,annotate,file"),
    (EDITED, "mode=nczarr,v3,file"),
    (NETCDF4, "mode=nc4"),
];

/// The flavour that is an HDF5 file.
const NETCDF4: &str = "nc4";
/// Samples with codecs that have no number in HDF5.
const ZARR_ONLY: [&str; 2] = ["chains", "codecs"];

/// The flavour that is opened again and edited.
const EDITED: &str = "edited3";
/// The attribute that the edit adds.
const ADDED: &str = "added_here";

fn write(folder: &Path) -> Result<(), String> {
    let mut list = Vec::new();
    for (name, plan) in samples::all() {
        for (flavour, fragment) in FLAVOURS {
            if flavour == NETCDF4 && ZARR_ONLY.contains(&name) {
                continue;
            }
            let ending = match flavour {
                "zip" => "zip",
                NETCDF4 => "nc",
                _ => "zarr",
            };
            let file = format!("{name}.{flavour}.{ending}");
            let path = folder.join(&file).display().to_string();
            let plan = if flavour.starts_with("sharded") { &plan.sharded() } else { &plan };
            plan.create(&format!("file://{path}#{fragment}")).map_err(|error| format!("{file}: {error}"))?;
            let plan = match flavour {
                EDITED => written_again(plan, &path).map_err(|error| format!("{file}: {error}"))?,
                _ => plan.clone(),
            };
            list.push(json!({"name": name, "flavour": flavour, "path": file, "content": plan.to_json()}));
        }
    }
    println!("{} datasets written", list.len());
    std::fs::write(folder.join("expected.json"), Value::Array(list).to_string())
        .map_err(|error| error.to_string())
}

/// Prints filter mask, length and checksum of the stored chunks of each variable that has chunks.
fn chunks(path: &str) -> nczarr::Result<()> {
    let file = nczarr::open(path)?;
    let mut found = serde_json::Map::new();
    let mut groups = vec![file.root()];
    while let Some(group) = groups.pop() {
        for variable in group.variables() {
            let Ok(stored) = variable.stored_chunks() else { continue };
            let mut chunks = serde_json::Map::new();
            for chunk in stored {
                let Some(bytes) = chunk.read_encoded()? else { continue };
                let index: Vec<String> = chunk.index().iter().map(u64::to_string).collect();
                let sum = crc32fast::hash(&bytes.bytes);
                chunks.insert(index.join("."), json!([bytes.filter_mask, bytes.bytes.len(), sum]));
            }
            found.insert(variable.full_name(), Value::Object(chunks));
        }
        groups.extend(group.groups());
    }
    println!("{}", Value::Object(found));
    Ok(())
}

/// Writes variables of types that only Zarr has. The last two of five elements stay unwritten.
fn types(folder: &Path) -> nczarr::Result<()> {
    for (name, kind) in [("v2.zarr", Kind::ZarrV2), ("v3.zarr", Kind::ZarrV3)] {
        let file = CreateOptions::new().kind(kind).create(folder.join(name))?;
        file.add_dimension("x", 5)?;
        let add = |name: &str, ty, codecs: &[Codec]| -> nczarr::Result<nczarr::Variable> {
            let variable = file.add_zarr_variable(name, ty, &["x"])?;
            variable.set_chunking(&[2])?;
            variable.set_codecs(codecs.to_vec())?;
            Ok(variable)
        };
        let shuffled = [Codec::shuffle(), Codec::zstd(3)];
        add("mask", ZarrType::Bool, &[Codec::zstd(3)])?.put(&[1u8, 0, 1], ..3)?;
        let half = add("half", ZarrType::Float16, &shuffled)?;
        half.put(&[0.5f32, 65504.0, -1.25], ..3)?;
        half.put_attribute_json("nested", r#"{"a": [1, null, {"b": true}], "c": "日本"}"#)?;
        let big = add("big", ZarrType::Float16, &[Codec::blosc().bitshuffle().into()])?;
        big.set_endian(Endian::Big)?;
        big.set_fill(2.0f32)?;
        big.put(&[0.5f32, 65504.0, -1.25], ..3)?;
        let bytes = |values: &[f64]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
        let singles: Vec<u8> =
            [1.5f32, -2.0, 0.0, 1.0, 3.0, 4.0].iter().flat_map(|v| v.to_ne_bytes()).collect();
        add("complex", ZarrType::Complex64, &shuffled)?.put_raw(&singles, ..3)?;
        add("wide", ZarrType::Complex128, &[])?.put_raw(&bytes(&[1.5, -2.0, 0.0, 1.0, 3.0, 4.0]), ..3)?;
        for (name, step) in
            [("days", TimeStep::Day), ("seconds", TimeStep::Second), ("nanos", TimeStep::Nano)]
        {
            let times = ["1969-12-31", "2024-02-29", "NaT"];
            add(name, ZarrType::DateTime64(step), &[Codec::deflate(5)])?.put_strings(&times, ..3)?;
        }
        add("spans", ZarrType::TimeDelta64(TimeStep::Milli), &[])?
            .put_strings(&["1ms", "-2s", "NaT"], ..3)?;
        file.put_attribute_json("multiscales", r#"[{"axes": ["y", "x"], "version": "0.4"}]"#)?;
        file.put_attribute_json("truth", true)?;
        file.close()?;
    }
    Ok(())
}

/// Writes all values of a dataset again and adds attributes. Returns the expected content.
fn written_again(plan: &Plan, path: &str) -> nczarr::Result<Plan> {
    fn group(plan: &Plan, here: &nczarr::Group) -> nczarr::Result<Plan> {
        let mut all = plan.clone();
        here.put_attribute(ADDED, 7)?;
        all.att(ADDED, 7);
        for var in &mut all.vars {
            let variable = here.variable(&name::escape(&var.name))?;
            variable.put_attribute(ADDED, 7)?;
            var.atts.push((ADDED.to_owned(), nczarr::Values::Int(vec![7])));
            put(&variable, &variable.shape()?, &var.data)?;
        }
        for (name, below) in &mut all.groups {
            *below = group(below, &here.group(&name::escape(name))?)?;
        }
        Ok(all)
    }
    let file = nczarr::append(path)?;
    let all = group(plan, &file.root())?;
    file.close()?;
    Ok(all)
}

/// Changes the last element of each numeric variable and adds an attribute, in each store that standard input
/// names. Prints the new element of each variable.
fn edit() -> Result<(), String> {
    let mut all = serde_json::Map::new();
    for path in std::io::stdin().lines() {
        let path = path.map_err(|error| error.to_string())?;
        let mut put = serde_json::Map::new();
        if let Err(error) = edit_one(&path, &mut put) {
            put.insert(String::new(), json!(error.to_string()));
        }
        all.insert(path, Value::Object(put));
    }
    println!("{}", Value::Object(all));
    Ok(())
}

fn edit_one(path: &str, put: &mut serde_json::Map<String, Value>) -> nczarr::Result<()> {
    let file = nczarr::append(nczarr::Place::url(path))?;
    let mut groups = vec![file.root()];
    while let Some(group) = groups.pop() {
        groups.extend(group.groups());
        for variable in group.variables() {
            let Ok(values) = get(&variable) else { continue };
            variable.put_attribute(ADDED, 7)?;
            let last: Vec<u64> = variable.shape()?.iter().map(|len| len.saturating_sub(1)).collect();
            // Other programs name variables without escape characters.
            let path = variable.full_name().replace('\\', "");
            let is_number = !matches!(values.nc_type(), NcType::Char | NcType::String | NcType::User(_));
            if is_number && !values.is_empty() {
                // Every number type can hold 0 and 1.
                let one = if variable.get_values::<f64>(..)?.last() == Some(&1.0) { 0.0 } else { 1.0 };
                let ones = vec![1; last.len()];
                let bytes = f64::to_ne_bytes(one);
                variable
                    .write(&Slab::new(&last, &ones), MemRef::Fixed { ty: NcType::Double, bytes: &bytes })?;
                put.insert(path, json!(one));
            } else {
                put.insert(path, Value::Null);
            }
        }
    }
    file.close()
}

fn read(folder: &Path) -> Result<(), String> {
    let path = folder.join("expected.json");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let list: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let mut report = Report::default();
    for dataset in list.as_array().ok_or("the list is no list")? {
        let name = dataset["path"].as_str().ok_or("a dataset without path")?;
        let plan = Plan::from_json(&dataset["content"])?;
        let outcome = match nczarr::open(folder.join(name).display().to_string()) {
            Err(error) => Outcome::Failed(error.to_string()),
            Ok(file) => match plan.differences(&file) {
                found if found.is_empty() => Outcome::Passed,
                found => Outcome::Failed(found.join("\n    ")),
            },
        };
        report.add(name, outcome);
    }
    println!("nczarr reads what others wrote: {report}");
    if report.failed() > 0 { Err(format!("{} failed", report.failed())) } else { Ok(()) }
}
