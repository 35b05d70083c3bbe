//! [`infer_create`]: what a new dataset at a target is to be.
//!
//! An explicit `mode` decides; else the scheme; else the ending of the path. Names are words: whether a driver or
//! map of that name is there, the registry knows. A caller whose plugins have modes of their own asks them first.

use std::path::Path;

use nczarr_model::{ErrorKind, Result};

use crate::{Scheme, Target};

/// What a new dataset is to be, by names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatePlan {
    /// The driver's name: `nczarr`, `classic`, `hdf5`, `hdf4` or `cdl`.
    pub driver: &'static str,
    /// The map's name, or a scheme of its; `None` for a driver that uses none.
    pub map: Option<String>,
    /// The driver that takes the place of `driver` in a build without that one.
    pub fallback: Option<&'static str>,
    /// Why, for people.
    pub reason: String,
}

/// Values of `mode` that name a driver.
const DRIVERS: &[(&str, &str)] = &[
    ("nczarr", "nczarr"),
    ("zarr", "nczarr"),
    ("xarray", "nczarr"),
    ("noxarray", "nczarr"),
    ("classic", "classic"),
    ("netcdf-3", "classic"),
    ("64bitoffset", "classic"),
    ("64bitdata", "classic"),
    ("cdf1", "classic"),
    ("cdf2", "classic"),
    ("cdf5", "classic"),
    ("netcdf-4", "hdf5"),
    ("netcdf4", "hdf5"),
    ("nc4", "hdf5"),
    ("nc4-classic", "hdf5"),
    ("enhanced", "hdf5"),
    ("hdf5", "hdf5"),
    ("hdf4", "hdf4"),
    ("cdl", "cdl"),
];

/// Values of `mode` that name a map.
const MAPS: &[(&str, &str)] = &[
    ("file", "file"),
    ("zip", "zip"),
    ("s3", "s3"),
    ("gs3", "gs3"),
    ("http", "http"),
    ("mem", "mem"),
    ("memory", "mem"),
];

/// Endings that name a driver, with the map's name.
const ENDINGS: &[(&str, &str, Option<&str>)] = &[
    ("zarr", "nczarr", Some("file")),
    ("zip", "nczarr", Some("zip")),
    ("nc", NETCDF4, None),
    ("nc4", NETCDF4, None),
    ("cdf", CLASSIC, None),
    ("cdl", "cdl", None),
];

/// Endings of names of single files.
const FILES: &[&str] =
    &["nc", "nc3", "nc4", "cdf", "cdl", "zip", "h5", "hdf5", "he5", "hdf", "hdf4", "h4", "he4", "hdfeos"];

/// Whether the name of a target is that of a single file, by its ending.
pub fn names_a_file(target: &Target) -> bool {
    ending(&target.path).is_some_and(|ending| FILES.contains(&ending.as_str()))
}

/// The driver of netCDF-4 files, which hold all that netCDF knows.
const NETCDF4: &str = "hdf5";
/// The driver of netCDF files in a build without [`NETCDF4`].
const CLASSIC: &str = "classic";

const KNOWN: &str = ".zarr, / or no ending (a directory), .zip (an archive), .nc or .nc4 (a netCDF-4 file), .cdf (a classic file), .cdl (text)";

fn find<'t>(target: &'t Target, table: &[(&str, &'static str)]) -> Option<(&'t str, &'static str)> {
    target
        .modes
        .iter()
        .find_map(|mode| table.iter().find(|(word, _)| word == mode).map(|(_, name)| (mode.as_str(), *name)))
}

/// Says what a new dataset at `target` is to be.
///
/// # Errors
/// `NC_EINVAL` if neither mode, scheme nor ending says it, with a list of what would.
pub fn infer_create(target: &Target) -> Result<CreatePlan> {
    if target.has_mode("bytes") {
        return Err(ErrorKind::Inval.context(format!("{target}: mode bytes reads files in place; it cannot create")));
    }
    let map_word = find(target, MAPS);
    if let Some((mode, driver)) = find(target, DRIVERS) {
        let map = (driver == "nczarr").then(|| map_of(target, map_word));
        return Ok(CreatePlan { driver, map, fallback: None, reason: format!("mode {mode}") });
    }
    match (map_word, &target.scheme) {
        // `file` is where files of any format lie, so it leaves the format to the ending.
        (Some((mode, map)), _) if mode != "file" => {
            let (map, reason) = (Some(map.to_owned()), format!("mode {mode}"));
            Ok(CreatePlan { driver: "nczarr", map, fallback: None, reason })
        }
        (_, Scheme::Other(name)) => {
            let (map, reason) = (Some(name.clone()), format!("scheme {name}:"));
            Ok(CreatePlan { driver: "nczarr", map, fallback: None, reason })
        }
        (file, Scheme::Path | Scheme::File) => by_ending(target, file.is_some()),
        _ => Err(ErrorKind::Inval
            .context(format!("{target}: nothing says what to create; name a format, for instance #mode=nczarr,s3"))),
    }
}

/// The map of a Zarr dataset, where the mode named the driver.
fn map_of(target: &Target, word: Option<(&str, &'static str)>) -> String {
    match (word, &target.scheme) {
        (Some((_, map)), _) => map,
        (None, Scheme::Path | Scheme::File) => match ending(&target.path).as_deref() {
            Some("zip") => "zip",
            _ => "file",
        },
        (None, Scheme::Http | Scheme::Https) => "http",
        (None, scheme) => scheme.name().unwrap_or("file"),
    }
    .to_owned()
}

fn by_ending(target: &Target, in_directory: bool) -> Result<CreatePlan> {
    let ending = ending(&target.path);
    let plan = |driver, map: Option<&str>, reason| {
        let fallback = (driver == NETCDF4).then_some(CLASSIC);
        CreatePlan { driver, map: map.map(str::to_owned), fallback, reason }
    };
    let Some(ending) = ending else {
        return Ok(plan("nczarr", Some("file"), "the path has no ending".to_owned()));
    };
    match ENDINGS.iter().find(|(known, ..)| *known == ending) {
        Some((_, driver, map)) => {
            let map = map.map(|map| if in_directory { "file" } else { map });
            Ok(plan(driver, map, format!("ending .{ending}")))
        }
        None if in_directory => Ok(plan("nczarr", Some("file"), "mode file".to_owned())),
        None => Err(ErrorKind::Inval.context(format!(
            "{target}: the ending .{ending} does not say what to create; there are {KNOWN}; or name a format, for instance #mode=nczarr"
        ))),
    }
}

/// The ending of the last name, in lower case; none behind a trailing `/`, or in `.name` and `name.`.
fn ending(path: &str) -> Option<String> {
    if path.ends_with('/') || (cfg!(windows) && path.ends_with('\\')) {
        return None;
    }
    let ending = Path::new(path).extension()?.to_str()?.to_lowercase();
    (!ending.is_empty()).then_some(ending)
}
