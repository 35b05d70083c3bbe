//! Called as `nccopy`: of which kind the copy is where the command line does not say it, of which the target's ending says nothing there;
//! and what `-c` means without lengths.

use nczarr_model::{Chunking, Model, Result};

use super::kept;
use super::kind::Kind;
use crate::args::{Copy, split_list};
use crate::find;

/// The kind of the source; the classic model of netCDF-4 where chunks or filters are asked for, which other classic kinds
/// lack.
///
/// # Errors
/// Why the source cannot be opened.
pub fn kind(args: &Copy) -> Result<Kind> {
    let file = nczarr::open(&args.source)?;
    let info = file.info();
    file.close()?;
    Ok(kept::netcdf_kind(args, &info))
}

/// The chunks that are asked for, with lengths where that tool needs none: `dim/` is as long as the dimension, `var:` one chunk for
/// all of a variable. One that may grow stays as it is then, as does what lies in one piece.
///
/// # Errors
/// `NC_ENOTVAR` for a variable that is not there.
pub fn chunks(args: &Copy, model: &Model) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for spec in &args.chunks {
        let Some(path) = spec.strip_suffix(':') else {
            let items = split_list(spec);
            all.push(if items.iter().any(|item| item.ends_with('/')) {
                items.into_iter().map(|item| with_length(model, item).replace(',', "\\,")).collect::<Vec<_>>().join(",")
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

/// `dim/` with the length of the dimension; anything else, and what names none or several, as it is.
fn with_length(model: &Model, item: String) -> String {
    let Some(path) = item.strip_suffix('/') else { return item };
    let names = nczarr_model::name::split_path(path);
    let mut lens: Vec<u64> =
        model.dims().filter(|(_, dim)| names.last() == Some(&dim.name)).map(|(_, dim)| dim.len().max(1)).collect();
    lens.dedup();
    match lens[..] {
        [len] => format!("{path}/{len}"),
        _ => item,
    }
}
