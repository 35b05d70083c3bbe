//! [`infer_create`]: decides the kind of a new dataset at a target.
//!
//! An explicit `mode` decides, then the scheme, then the ending of the path. The result has names only; the
//! registry knows which drivers and maps exist. A caller with plugin modes checks those first.

use std::path::Path;

use nczarr_model::{ErrorKind, Result};

use crate::{Scheme, Target};

/// The kind of a new dataset, by names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatePlan {
    /// The driver's name: `nczarr`, `classic`, `hdf5`, `hdf4` or `cdl`.
    pub driver: &'static str,
    /// The map's name or scheme; `None` for a driver without maps.
    pub map: Option<String>,
    /// The replacement for `driver` in a build without it.
    pub fallback: Option<&'static str>,
    /// The reason, for messages.
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

/// Endings of single files.
const FILES: &[&str] =
    &["nc", "nc3", "nc4", "cdf", "cdl", "zip", "h5", "hdf5", "he5", "hdf", "hdf4", "h4", "he4", "hdfeos"];

/// Whether the target is a single file, judged by its ending.
pub fn names_a_file(target: &Target) -> bool {
    ending(&target.path_text()).is_some_and(|ending| FILES.contains(&ending.as_str()))
}

/// The driver of netCDF-4 files, which support the full data model.
const NETCDF4: &str = "hdf5";
/// The driver of netCDF files in a build without [`NETCDF4`].
const CLASSIC: &str = "classic";

/// Whether a value of `mode`, given in lower case, names a format or a version of Zarr.
pub fn names_a_format(mode: &str) -> bool {
    matches!(mode, "v2" | "v3") || DRIVERS.iter().any(|(word, _)| *word == mode)
}

const KNOWN: &str = ".zarr, / or no ending (a directory), .zip (an archive), .nc or .nc4 (a netCDF-4 file), .cdf (a classic file), .cdl (text)";

fn find<'t>(target: &'t Target, table: &[(&str, &'static str)]) -> Option<(&'t str, &'static str)> {
    target
        .modes
        .iter()
        .find_map(|mode| table.iter().find(|(word, _)| word == mode).map(|(_, name)| (mode.as_str(), *name)))
}

/// Decides the kind of a new dataset at `target`.
///
/// # Errors
/// `NC_EINVAL` if mode, scheme and ending do not decide; the message lists the possibilities.
pub fn infer_create(target: &Target) -> Result<CreatePlan> {
    if target.has_mode("bytes") {
        return Err(ErrorKind::Inval
            .context(format!("{target}: mode `bytes` only reads; it cannot create a dataset")));
    }
    let map_word = find(target, MAPS);
    if let Some((mode, driver)) = find(target, DRIVERS) {
        let map = (driver == "nczarr").then(|| map_of(target, map_word));
        return Ok(CreatePlan { driver, map, fallback: None, reason: format!("mode {mode}") });
    }
    match (map_word, &target.scheme) {
        // `file` holds files of any format, so the ending decides.
        (Some((mode, map)), _) if mode != "file" => {
            let (map, reason) = (Some(map.to_owned()), format!("mode {mode}"));
            Ok(CreatePlan { driver: "nczarr", map, fallback: None, reason })
        }
        (_, Scheme::Other(name)) => {
            let (map, reason) = (Some(name.clone()), format!("scheme {name}:"));
            Ok(CreatePlan { driver: "nczarr", map, fallback: None, reason })
        }
        (file, Scheme::Path | Scheme::File) => by_ending(target, file.is_some()),
        _ => Err(ErrorKind::Inval.context(format!(
            "{target}: the format of the new dataset is not specified; name one, for instance #mode=nczarr,s3"
        ))),
    }
}

/// Returns the map of a Zarr dataset, if the mode named the driver.
fn map_of(target: &Target, word: Option<(&str, &'static str)>) -> String {
    match (word, &target.scheme) {
        (Some((_, map)), _) => map,
        (None, Scheme::Path | Scheme::File) => match ending(&target.path_text()).as_deref() {
            Some("zip") => "zip",
            _ => "file",
        },
        (None, Scheme::Http | Scheme::Https) => "http",
        (None, scheme) => scheme.name().unwrap_or("file"),
    }
    .to_owned()
}

fn by_ending(target: &Target, in_directory: bool) -> Result<CreatePlan> {
    let ending = ending(&target.path_text());
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
        None if ending.contains('#') => Err(ErrorKind::Inval.context(format!(
            "{target}: the ending .{ending} names no format; a # in a path has no meaning, but one in a URL has \
             (file:///dir/x.zarr#mode=zarr)"
        ))),
        None => Err(ErrorKind::Inval.context(format!(
            "{target}: the ending .{ending} names no format (expected {KNOWN}); or name a format, for instance #mode=nczarr"
        ))),
    }
}

/// Returns the ending of the last name, in lower case; `None` after a trailing `/`, or for `.name` and
/// `name.`.
fn ending(path: &str) -> Option<String> {
    if path.ends_with('/') || (cfg!(windows) && path.ends_with('\\')) {
        return None;
    }
    let ending = Path::new(path).extension()?.to_str()?.to_lowercase();
    (!ending.is_empty()).then_some(ending)
}
