//! Filters that exist in HDF5 files only: n-bit, scale-offset, LZF. Zarr has no codec for them.
//!
//! N-bit and scale-offset are read and not written: what they need is worked out from the type of a dataset and its fill
//! value, and stands in their parameters. LZF is written too.

mod bits;
mod lzf;
mod nbit;
mod scaleoffset;

use nczarr_dispatch::Json;
use nczarr_model::{Error, ErrorKind, Result};

pub use lzf::LzfClass;
pub use nbit::NbitClass;
pub use scaleoffset::ScaleOffsetClass;

/// What a filter says of a codec description.
fn no_codec<T>(name: &str, codec: &Json) -> Result<T> {
    Err(ErrorKind::NoFilter.context(format!("{name} exists in HDF5 files only, no codec has that name: {codec}")))
}

fn only_read(name: &str) -> Error {
    ErrorKind::NoFilter.context(format!("{name} is only read"))
}
