//! The stored form of variables: chunks, byte order and quantization.

use std::ffi::c_int;

use nczarr::model::VarId;
use nczarr::nc_table::NcDispatch as _;
use nczarr::{Chunking, DimVec, Endian, ErrorKind, Quantize, Result};

use crate::boundary::pointer::{InPtr, OutPtr};
use crate::open_file::{NC_GLOBAL, Node};
use crate::table;

pub const CHUNKED: c_int = 0;
pub const CONTIGUOUS: c_int = 1;
pub const COMPACT: c_int = 2;

c_functions! {
    /// Sets storage and chunk shape. Without a shape the format chooses it.
    fn nc_def_var_chunking(ncid: c_int, varid: c_int, storage: c_int, chunksizesp: InPtr<usize>) {
        let node = table::find(ncid)?;
        let var = node.var_of_layout(varid)?;
        let rank = node.look(|model| Ok(model.var(var)?.dims.len()))?;
        def_chunking(&node, var, storage, chunksizesp.sizes(rank).filter(|_| !chunksizesp.is_null()))
    }

    /// As `nc_def_var_chunking`, for Fortran.
    fn nc_def_var_chunking_ints(ncid: c_int, varid: c_int, storage: c_int, chunksizesp: InPtr<c_int>) {
        let node = table::find(ncid)?;
        let var = node.var_of_layout(varid)?;
        let rank = node.look(|model| Ok(model.var(var)?.dims.len()))?;
        let sizes = chunksizesp.slice(rank).filter(|_| !chunksizesp.is_null());
        let sizes = sizes.map(|sizes| sizes.iter().map(|&size| u64::try_from(size)).collect());
        let sizes = sizes.transpose().map_err(|_| ErrorKind::BadChunk.context("a chunk size is negative"))?;
        def_chunking(&node, var, storage, sizes)
    }

    /// Returns storage and chunk shape.
    fn nc_inq_var_chunking(
        ncid: c_int, varid: c_int, storagep: OutPtr<c_int>, chunksizesp: OutPtr<usize>,
    ) {
        let (storage, sizes) = chunking(ncid, varid)?;
        storagep.set(storage);
        chunksizesp.set_all(sizes.iter().map(|&size| size as usize));
        Ok(())
    }

    /// As `nc_inq_var_chunking`, for Fortran.
    fn nc_inq_var_chunking_ints(
        ncid: c_int, varid: c_int, storagep: OutPtr<c_int>, chunksizesp: OutPtr<c_int>,
    ) {
        let (storage, sizes) = chunking(ncid, varid)?;
        storagep.set(storage);
        let small = |&size| {
            c_int::try_from(size).map_err(|_| ErrorKind::Range.context(format!("a chunk size of {size}")))
        };
        let sizes = sizes.iter().map(small).collect::<Result<Vec<_>>>()?;
        chunksizesp.set_all(sizes);
        Ok(())
    }

    /// Sets the byte order.
    fn nc_def_var_endian(ncid: c_int, varid: c_int, endian: c_int) {
        let node = table::find(ncid)?;
        let var = node.var_of_layout(varid)?;
        let order = endian_of(endian)?;
        if !node.look(|model| Ok(model.var(var)?.xtype.is_atomic()))? {
            return Err(ErrorKind::Inval.context("a user-defined type has no byte order"));
        }
        node.nc().def_var_endian(var, order)
    }

    /// Returns the byte order.
    fn nc_inq_var_endian(ncid: c_int, varid: c_int, endianp: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        node.check_not_cdf()?;
        let var = node.var(varid)?;
        endianp.set(endian_code(node.look(|model| Ok(model.var(var)?.endian))?));
        Ok(())
    }

    /// Sets the quantization: the digits or bits that stay significant.
    fn nc_def_var_quantize(ncid: c_int, varid: c_int, quantize_mode: c_int, nsd: c_int) {
        let node = table::find(ncid)?;
        if varid == NC_GLOBAL {
            return Err(ErrorKind::Global.context("a group has no quantization"));
        }
        let var = node.var_of_layout(varid)?;
        node.nc().def_var_quantize(var, quantize_of(quantize_mode, nsd)?)
    }

    /// Returns the quantization.
    fn nc_inq_var_quantize(ncid: c_int, varid: c_int, quantize_modep: OutPtr<c_int>, nsdp: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        node.check_not_cdf()?;
        let (mode, digits) = quantize_code(node.nc().inq_var_quantize(node.var(varid)?)?);
        quantize_modep.set(mode);
        nsdp.set(digits);
        Ok(())
    }
}

/// Returns the byte order of a number of C.
pub fn endian_of(code: c_int) -> Result<Endian> {
    match code {
        0 => Ok(Endian::Native),
        1 => Ok(Endian::Little),
        2 => Ok(Endian::Big),
        other => Err(ErrorKind::Inval.context(format!("byte order {other}"))),
    }
}

pub fn endian_code(endian: Endian) -> c_int {
    match endian {
        Endian::Native => 0,
        Endian::Little => 1,
        Endian::Big => 2,
    }
}

/// Returns the quantization of a mode of C and its digits or bits.
pub fn quantize_of(mode: c_int, digits: c_int) -> Result<Option<Quantize>> {
    let negative = |_| ErrorKind::Inval.context(format!("{digits} significant digits"));
    let digits = || u32::try_from(digits).map_err(negative);
    Ok(match mode {
        0 => None,
        1 => Some(Quantize::BitGroom(digits()?)),
        2 => Some(Quantize::GranularBitRound(digits()?)),
        3 => Some(Quantize::BitRound(digits()?)),
        other => return Err(ErrorKind::Inval.context(format!("quantize mode {other}"))),
    })
}

/// Returns the mode of C and its digits or bits.
pub fn quantize_code(quantize: Option<Quantize>) -> (c_int, c_int) {
    match quantize {
        None => (0, 0),
        Some(Quantize::BitGroom(digits)) => (1, digits as c_int),
        Some(Quantize::GranularBitRound(digits)) => (2, digits as c_int),
        Some(Quantize::BitRound(bits)) => (3, bits as c_int),
    }
}

fn def_chunking(node: &Node, var: VarId, storage: c_int, sizes: Option<DimVec<u64>>) -> Result<()> {
    let is_own = node.user.is_none();
    let chunking = match (storage, sizes) {
        (CHUNKED, Some(sizes)) if !is_own => Chunking::Chunked(sizes.to_vec()),
        (CHUNKED, None) if !is_own => Chunking::Default,
        (CHUNKED, Some(sizes)) => chunks_of(node, var, &sizes)?,
        (CHUNKED, None) => default_chunks(node, var)?,
        (CONTIGUOUS, _) => Chunking::Contiguous,
        (COMPACT, _) => Chunking::Compact,
        (other, _) => return Err(ErrorKind::Inval.context(format!("storage {other}"))),
    };
    if is_own && chunking == Chunking::Compact {
        check_compact(node, var)?;
    }
    if is_own
        && chunking == Chunking::Contiguous
        && node.look(|model| Ok(!model.var(var)?.filters.is_empty()))?
    {
        return Err(ErrorKind::Inval.context("filters need chunks"));
    }
    node.nc().def_var_chunking(var, &chunking)
}

/// Makes a variable chunked that the program made contiguous or compact, since filters need chunks.
/// `NC_EINVAL` for a scalar.
pub fn chunk_for_filters(node: &Node, var: VarId) -> Result<()> {
    let (chunking, is_scalar) = node.look(|model| {
        let var = model.var(var)?;
        Ok((var.chunking.clone(), var.dims.is_empty()))
    })?;
    if is_scalar {
        return Err(ErrorKind::Inval.context("a scalar has no filters"));
    }
    match chunking {
        Chunking::Contiguous | Chunking::Compact => {
            node.nc().def_var_chunking(var, &default_chunks(node, var)?)
        }
        Chunking::Default | Chunking::Chunked(_) => Ok(()),
    }
}

/// The largest compact variable in bytes.
const LARGEST_COMPACT: u64 = 64 << 10;

/// Checks that a variable is small enough to be stored in its header.
fn check_compact(node: &Node, var: VarId) -> Result<()> {
    node.look_types(|types| {
        let model = types.model;
        let size = types.size(model.var(var)?.xtype)? as u64;
        let bytes = model.shape(var)?.iter().fold(size, |bytes, &len| bytes.saturating_mul(len));
        if bytes > LARGEST_COMPACT {
            return Err(ErrorKind::VarSize.context(format!(
                "compact storage: too many bytes (expected at most {LARGEST_COMPACT}, found {bytes})"
            )));
        }
        Ok(())
    })
}

/// Returns chunks of given sizes. A size of 0 is that of a default chunk.
fn chunks_of(node: &Node, var: VarId, sizes: &[u64]) -> Result<Chunking> {
    if sizes.is_empty() || !sizes.contains(&0) {
        return Ok(Chunking::Chunked(sizes.to_vec()));
    }
    let shape = match default_chunks(node, var)? {
        Chunking::Chunked(shape) => shape,
        default if sizes.iter().all(|&size| size == 0) => return Ok(default),
        default => {
            node.nc().def_var_chunking(var, &default)?;
            match node.nc().inq_var_all(var)?.chunking {
                Chunking::Chunked(shape) => shape,
                other => return Err(ErrorKind::BadChunk.context(format!("chunks {sizes:?} of {other:?}"))),
            }
        }
    };
    let size = |(&size, &default): (&u64, &u64)| if size == 0 { default } else { size };
    Ok(Chunking::Chunked(sizes.iter().zip(&shape).map(size).collect()))
}

/// The size of a default chunk in bytes.
const CHUNK_BYTES: f64 = 16_777_216.0;

/// Returns chunks of the default size for a variable of fixed dimensions: its shape, divided evenly. With an
/// unlimited dimension the format chooses.
fn default_chunks(node: &Node, var: VarId) -> Result<Chunking> {
    node.look_types(|types| {
        let model = types.model;
        let ty = model.var(var)?.xtype;
        let dims = model.var(var)?.dims.iter().map(|&dim| model.dim(dim)).collect::<Result<Vec<_>>>()?;
        if dims.is_empty() || dims.iter().any(|dim| dim.unlimited) {
            return Ok(Chunking::Default);
        }
        let lens: Vec<u64> = dims.iter().map(|dim| dim.len()).collect();
        Ok(Chunking::Chunked(even_chunks(&lens, types.size(ty)?)))
    })
}

/// Divides a shape evenly into chunks, as netCDF-C does. A chunk has less than 4 GiB.
fn even_chunks(lens: &[u64], element: usize) -> Vec<u64> {
    // netCDF-C counts elements in a float.
    let elements = lens.iter().fold(1.0_f32, |all, &len| all * len as f32);
    let bytes = f64::from(elements) * element as f64;
    let share = (CHUNK_BYTES / bytes).powf(1.0 / lens.len() as f64);
    // Conversion to an integer truncates, and saturates below zero.
    let part = |&len: &u64| ((share * len as f64 - 0.5) as u64).clamp(1, len.max(1));
    let mut parts: Vec<u64> = lens.iter().map(part).collect();
    while parts.iter().fold(element as f64, |bytes, &part| bytes * part as f64) > f64::from(u32::MAX) {
        parts.iter_mut().for_each(|part| *part = (*part / 2).max(1));
    }
    // The last chunk shall have little beyond the length.
    for (part, &len) in parts.iter_mut().zip(lens) {
        let chunks = len.div_ceil(*part).max(1);
        *part -= (chunks * *part).saturating_sub(len) / chunks;
    }
    parts
}

fn chunking(ncid: c_int, varid: c_int) -> Result<(c_int, Vec<u64>)> {
    let node = table::find(ncid)?;
    let var = node.var(varid)?;
    if node.is_cdf() {
        return Ok((CONTIGUOUS, Vec::new()));
    }
    Ok(match node.nc().inq_var_all(var)?.chunking {
        Chunking::Chunked(shape) => (CHUNKED, shape),
        Chunking::Compact => (COMPACT, Vec::new()),
        Chunking::Contiguous | Chunking::Default => (CONTIGUOUS, Vec::new()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of netCDF-C 4.10.1.
    #[test]
    fn default_chunks_are_those_of_netcdf_c() {
        for (lens, element, expected) in [
            (&[1_804_289_383, 846_930_886, 1_681_692_777][..], 4, &[211, 99, 197][..]),
            (&[3000, 5000], 8, &[1000, 1667]),
            (&[4, 4, 5], 2, &[4, 4, 5]),
            (&[2048, 1024], 8, &[1024, 512]),
            (&[1], 8, &[1]),
        ] {
            assert_eq!(even_chunks(lens, element), expected, "{lens:?}");
        }
    }
}
