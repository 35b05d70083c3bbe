//! Rules of `nccopy`: the kind of the copy where the command line gives none (the target's ending does not
//! count), and the meaning of `-c` without lengths.

use nczarr::Place;
use nczarr_model::{Chunking, Model, Result};

use super::args::CopyArgs;
use super::kind::Kind;
use super::source_kind;
use crate::find;
use crate::list::split_list;

/// Returns the kind of the source. If chunks or filters are asked for, classic kinds become the classic model
/// of netCDF-4.
///
/// # Errors
///
/// The error of opening the source.
pub fn kind(args: &CopyArgs) -> Result<Kind> {
    let file = nczarr::open(Place::url(&args.source))?;
    let info = file.info();
    file.close()?;
    Ok(source_kind::netcdf_kind(args, &info))
}

/// Returns the requested chunks with the lengths that nccopy leaves out. `dim/` means the length of the
/// dimension, `var:` one chunk for the whole variable. A variable with an unlimited dimension, or with
/// contiguous storage, stays unchanged.
///
/// # Errors
///
/// `NC_ENOTVAR` for a missing variable.
pub fn chunks(args: &CopyArgs, model: &Model) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for spec in &args.chunks {
        let Some(path) = spec.strip_suffix(':') else {
            let items = split_list(spec);
            all.push(if items.iter().any(|item| item.ends_with('/')) {
                items
                    .into_iter()
                    .map(|item| with_length(model, item).replace(',', "\\,"))
                    .collect::<Vec<_>>()
                    .join(",")
            } else {
                spec.clone()
            });
            continue;
        };
        for id in find::vars(model, "-c", path)? {
            let var = model.var(id)?;
            let mut grows = false;
            for &dim in &var.dims {
                grows |= model.dim(dim)?.unlimited;
            }
            if !grows && matches!(var.chunking, Chunking::Chunked(_)) {
                let lens: Vec<String> = model.shape(id)?.iter().map(|len| len.max(&1).to_string()).collect();
                all.push(format!("{}:{}", model.var_path(id)?, lens.join(",")));
            }
        }
    }
    Ok(all)
}

/// Adds the length of the dimension to `dim/`. Any other text, and a name of no or several dimensions, stays
/// unchanged.
fn with_length(model: &Model, item: String) -> String {
    let Some(path) = item.strip_suffix('/') else { return item };
    let names = nczarr_model::name::split_path(path);
    let mut lens: Vec<u64> = model
        .dims()
        .filter(|(_, dim)| names.last() == Some(&dim.name))
        .map(|(_, dim)| dim.len().max(1))
        .collect();
    lens.dedup();
    match lens[..] {
        [len] => format!("{path}/{len}"),
        _ => item,
    }
}
