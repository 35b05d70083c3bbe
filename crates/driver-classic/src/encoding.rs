//! The codes and the byte order of the format, which reading and writing share.
//!
//! Source: the grammar of the netCDF classic format specification.

use nczarr_model::{ErrorKind, Result, Values};

/// The tag of the list of dimensions.
pub(crate) const DIMENSIONS: u32 = 10;
/// The tag of the list of variables.
pub(crate) const VARIABLES: u32 = 11;
/// The tag of a list of attributes.
pub(crate) const ATTRIBUTES: u32 = 12;

/// The number for a size that exceeds 32 bits.
pub(crate) const TOO_LARGE: u32 = u32::MAX;

/// Converts elements of `item` bytes between the byte order of the file and the native one.
pub(crate) fn swap(bytes: &mut [u8], item: usize) {
    if cfg!(target_endian = "little") && item > 1 {
        bytes.chunks_exact_mut(item).for_each(<[u8]>::reverse);
    }
}

/// Returns the values in big-endian order, as they are stored.
///
/// # Errors
/// `NC_EBADTYPE` for a type without a fixed size.
pub(crate) fn big_endian(values: &Values) -> Result<Vec<u8>> {
    let ty = values.nc_type();
    match (values.to_native_bytes(), ty.size()) {
        (Some(mut bytes), Some(item)) => {
            swap(&mut bytes, item);
            Ok(bytes)
        }
        _ => Err(ErrorKind::BadType.context(format!("type {} cannot be stored", ty.name()))),
    }
}
