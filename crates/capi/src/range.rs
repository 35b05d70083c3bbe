//! Values that do not fit a type.
//!
//! netCDF-C 4.10 stores and returns the fill value for them in classic formats, and the low bits in others.

use nczarr::model::{FILL_VALUE, Var, convert, fill};
use nczarr::{NcType, Result, Values};

/// Converts elements, with the default fill value of the new type for each that does not fit it. Returns
/// whether there was one.
pub fn convert_or_fill(from: NcType, to: NcType, bytes: &[u8]) -> Result<(Vec<u8>, bool)> {
    convert_or_put(from, to, bytes, fill::default(to).as_ref())
}

/// As [`convert_or_fill`], for elements of a variable, with its own fill value if it has one.
pub fn convert_for(var: &Var, from: NcType, bytes: &[u8]) -> Result<Vec<u8>> {
    let is_value = |value: &&Values| value.nc_type() == var.xtype && value.len() == 1;
    let own = var.atts.get(FILL_VALUE).filter(is_value).cloned();
    let fill = own.or_else(|| fill::default(var.xtype));
    convert_or_put(from, var.xtype, bytes, fill.as_ref()).map(|(bytes, _)| bytes)
}

fn convert_or_put(from: NcType, to: NcType, bytes: &[u8], fill: Option<&Values>) -> Result<(Vec<u8>, bool)> {
    let row = convert::native_row(from, to)?;
    let fill = fill.and_then(Values::to_native_bytes).unwrap_or_default();
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
