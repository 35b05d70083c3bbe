//! Chooses the kind of a copy if the command line gives none: the source's kind, if the target's ending
//! allows it.
//!
//! A `.nc` file may be of every netCDF kind. A `.zarr` directory, a `.zip` archive, or a path without an
//! ending may be of every Zarr kind.

use std::path::Path;

use nczarr::Place;
use nczarr::dispatch::{DatasetInfo, Format, FormatX};
use nczarr_model::Result;

use super::args::CopyArgs;
use super::kind::Kind;

/// Returns the target with the kind of the source, or unchanged: a mode, another scheme or another ending
/// decides by itself.
///
/// # Errors
///
/// The error of opening the source.
pub fn url(args: &CopyArgs) -> Result<String> {
    let given = || Ok(args.target.clone());
    let target = match nczarr_url_infer::parse(&args.target) {
        Ok(target) if target.scheme.is_local() && target.modes.is_empty() => target,
        // A mistake in it is reported when it is created.
        _ => return given(),
    };
    let ending = Path::new(&target.path).extension().map(|ending| ending.to_ascii_lowercase());
    let ending =
        ending.as_ref().and_then(|ending| ending.to_str()).filter(|_| !target.path_text().ends_with('/'));
    let (is_netcdf, is_zarr) = (ending == Some("nc"), matches!(ending, None | Some("zarr" | "zip")));
    if !is_netcdf && !is_zarr {
        return given();
    }
    let file = nczarr::open(Place::url(&args.source))?;
    let info = file.info();
    file.close()?;
    let mode = match (is_netcdf, info.formatx == FormatX::NcZarr) {
        (true, false) => match netcdf_kind(args, &info) {
            // Such a build makes the netCDF files that it can.
            Kind::NetCdf4 | Kind::NetCdf4Classic if nczarr::registry()?.driver("hdf5").is_err() => {
                return given();
            }
            kind => kind.mode(),
        },
        (false, true) => match (info.flavour.as_str(), info.version.as_str()) {
            ("nczarr", "3") => "nczarr,v3",
            ("nczarr", _) => "nczarr,v2",
            (_, "3") => "zarr,v3",
            _ => "zarr,v2",
        },
        // The ending decides: the target is of another family than the source.
        _ => return given(),
    };
    let separator = if args.target.contains('#') && !target.fragment.is_empty() { '&' } else { '#' };
    Ok(format!("{}{separator}mode={mode}", args.target))
}

/// The netCDF kind of a source. The classic model of netCDF-4 takes the place of the classic kinds where
/// chunks or filters are asked for, which they lack.
pub fn netcdf_kind(args: &CopyArgs, info: &DatasetInfo) -> Kind {
    let lays_out = args.deflate.is_some_and(|level| level > 0)
        || args.shuffle
        || !args.chunks.is_empty()
        || args.filter.iter().any(|filter| filter != "none");
    match info.format {
        Format::NetCdf4 => Kind::NetCdf4,
        Format::NetCdf4Classic => Kind::NetCdf4Classic,
        _ if lays_out => Kind::NetCdf4Classic,
        Format::Classic => Kind::Classic,
        Format::Offset64 => Kind::Offset64,
        Format::Cdf5 => Kind::Cdf5,
    }
}
