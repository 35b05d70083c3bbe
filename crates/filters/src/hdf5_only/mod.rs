//! Filters that exist only in HDF5 files: n-bit, scale-offset, LZF. Zarr has no codec for them.
//!
//! N-bit and scale-offset only decode. Their parameters follow from the type and fill value of a dataset. LZF
//! also encodes.

mod bits;
mod lzf;
mod nbit;
mod scaleoffset;

use nczarr_codec::Json;
use nczarr_model::{Error, ErrorKind, Result};

pub use lzf::LzfClass;
pub use nbit::NbitClass;
pub use scaleoffset::ScaleOffsetClass;

/// Returns the error of a filter without a codec description.
fn no_codec<T>(name: &str, codec: &Json) -> Result<T> {
    Err(ErrorKind::NoFilter
        .context(format!("{name}: only HDF5 files have this filter; it has no codec ({codec})")))
}

fn only_read(name: &str) -> Error {
    ErrorKind::NoFilter.context(format!("{name}: it cannot encode"))
}
