//! Called as `nccopy`: of which kind the copy is where the command line does not say it. The target's ending says nothing there.

use model::Result;
use nczarr::dispatch::Format;

use super::kind::Kind;
use crate::args::Copy;

/// The kind of the source; the classic model of netCDF-4 where chunks or filters are asked for, which other classic kinds lack.
///
/// # Errors
/// Why the source cannot be opened.
pub fn kind(args: &Copy) -> Result<Kind> {
    let file = nczarr::open(&args.source)?;
    let format = file.info().format;
    file.close()?;
    let lays_out = args.deflate.is_some_and(|level| level > 0)
        || args.shuffle
        || !args.chunks.is_empty()
        || args.filter.iter().any(|filter| filter != "none");
    Ok(match format {
        Format::NetCdf4 => Kind::NetCdf4,
        Format::NetCdf4Classic => Kind::NetCdf4Classic,
        _ if lays_out => Kind::NetCdf4Classic,
        Format::Classic => Kind::Classic,
        Format::Offset64 => Kind::Offset64,
        Format::Cdf5 => Kind::Cdf5,
    })
}
