//! Values that do not fit a type.

use nczarr::model::{convert, fill};
use nczarr::{NcType, Result};

/// Converts elements, with the default fill value of the new type for each that does not fit it.
pub fn convert_or_fill(from: NcType, to: NcType, bytes: &[u8]) -> Result<Vec<u8>> {
    let row = convert::native_row(from, to)?;
    let fill = fill::default(to).and_then(|value| value.to_native_bytes()).unwrap_or_default();
    let (from, to) = (from.size().unwrap_or(1), to.size().unwrap_or(1));
    let mut out = vec![0; bytes.len() / from * to];
    for (element, out) in bytes.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
        if row(element, out) {
            out.copy_from_slice(&fill);
        }
    }
    Ok(out)
}
