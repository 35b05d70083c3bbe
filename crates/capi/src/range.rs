//! Values that do not fit a type.
//!
//! netCDF-C 4.10 stores and returns the fill value for them in classic formats, and the low bits in others.

use nczarr::model::{convert, fill};
use nczarr::{NcType, Result};

/// Converts elements, with the default fill value of the new type for each that does not fit it. Returns
/// whether there was one.
pub fn convert_or_fill(from: NcType, to: NcType, bytes: &[u8]) -> Result<(Vec<u8>, bool)> {
    let row = convert::native_row(from, to)?;
    let fill = fill::default(to).and_then(|value| value.to_native_bytes()).unwrap_or_default();
    let (from, to) = (from.size().unwrap_or(1), to.size().unwrap_or(1));
    let (mut out, mut filled) = (vec![0; bytes.len() / from * to], false);
    for (element, out) in bytes.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
        if row(element, out) {
            out.copy_from_slice(&fill);
            filled = true;
        }
    }
    Ok((out, filled))
}
