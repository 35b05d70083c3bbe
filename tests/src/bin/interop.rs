//! Our side of the interoperability test.
//!
//! `interop write DIR` writes datasets and, as `DIR/expected.json`, what is in them, for other programs to check.
//! `interop read DIR` checks datasets that other programs wrote against their `DIR/expected.json`.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

use nczarr_tests::plan::Plan;
use nczarr_tests::report::{Outcome, Report};
use nczarr_tests::samples;
use serde_json::{Value, json};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", folder] => write(Path::new(folder)),
        ["read", folder] => read(Path::new(folder)),
        _ => Err("usage: interop write|read DIR".to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// The ways a dataset is written: the name's ending, and the fragment.
const FLAVOURS: [(&str, &str); 10] = [
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
];

fn write(folder: &Path) -> Result<(), String> {
    let mut list = Vec::new();
    for (name, plan) in samples::all() {
        for (flavour, fragment) in FLAVOURS {
            let ending = if flavour == "zip" { "zip" } else { "zarr" };
            let file = format!("{name}.{flavour}.{ending}");
            let path = folder.join(&file).display().to_string();
            let plan = if flavour.starts_with("sharded") { &plan.sharded() } else { &plan };
            plan.create(&format!("file://{path}#{fragment}")).map_err(|error| format!("{file}: {error}"))?;
            list.push(json!({"name": name, "flavour": flavour, "path": file, "content": plan.to_json()}));
        }
    }
    println!("{} datasets written", list.len());
    std::fs::write(folder.join("expected.json"), Value::Array(list).to_string()).map_err(|error| error.to_string())
}

fn read(folder: &Path) -> Result<(), String> {
    let path = folder.join("expected.json");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let list: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let mut report = Report::default();
    for dataset in list.as_array().ok_or("the list is no list")? {
        let name = dataset["path"].as_str().ok_or("a dataset without path")?;
        let plan = Plan::from_json(&dataset["content"])?;
        let outcome = match nczarr::open(&folder.join(name).display().to_string()) {
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
