//! Settings of the process.

use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use nczarr::dispatch::{Options, settings};
use nczarr::{CacheConfig, ErrorKind, Kind, Result};

use crate::boundary::pointer::OutPtr;

/// The format of new datasets whose flags name none. In C that is CDF-1 at the beginning.
static DEFAULT_KIND: Mutex<Kind> = Mutex::new(Kind::Cdf1);

/// Returns the options of datasets. The rules of netCDF-C apply where the Rust library allows more.
pub fn options() -> Options {
    let mut options = Options::default();
    options.netcdf_c_rules = true;
    // HDF5 allows chunks of less than 4 GiB, and netCDF-C sets no other limit.
    options.limits.chunk = options.limits.chunk.max(u32::MAX.into());
    options
}

/// Returns the format of new datasets whose flags name none.
pub fn default_kind() -> Kind {
    *DEFAULT_KIND.lock().unwrap_or_else(PoisonError::into_inner)
}

const FORMATS: [(c_int, Kind); 5] =
    [(1, Kind::Cdf1), (2, Kind::Cdf2), (3, Kind::NetCdf4), (4, Kind::NetCdf4Classic), (5, Kind::Cdf5)];

c_functions! {
    /// Sets the format of new datasets whose flags name none.
    fn nc_set_default_format(format: c_int, old_formatp: OutPtr<c_int>) {
        let mut now = DEFAULT_KIND.lock().unwrap_or_else(PoisonError::into_inner);
        let old = FORMATS.iter().find(|(_, kind)| *kind == *now).map_or(1, |(code, _)| *code);
        old_formatp.set(old);
        let known = FORMATS.iter().find(|(code, _)| *code == format);
        let (_, kind) = known.ok_or_else(|| ErrorKind::Inval.context(format!("no format {format}")))?;
        *now = *kind;
        Ok(())
    }

    /// Sets the chunk cache of variables of datasets that are opened later.
    fn nc_set_chunk_cache(size: usize, nelems: usize, preemption: f32) {
        settings::set_chunk_cache(cache(size, nelems, preemption)?)
    }

    /// Returns the chunk cache of variables of datasets that are opened later.
    fn nc_get_chunk_cache(sizep: OutPtr<usize>, nelemsp: OutPtr<usize>, preemptionp: OutPtr<f32>) {
        let cache = settings::chunk_cache();
        sizep.set(cache.bytes);
        nelemsp.set(cache.slots);
        preemptionp.set(cache.preemption);
        Ok(())
    }

    /// As `nc_set_chunk_cache`, for Fortran.
    fn nc_set_chunk_cache_ints(size: c_int, nelems: c_int, preemption: c_int) {
        let [size, nelems] = [size, nelems].map(usize::try_from);
        let negative = |_| ErrorKind::Inval.context("chunk cache: a negative size");
        let (size, nelems) = (size.map_err(negative)?, nelems.map_err(negative)?);
        settings::set_chunk_cache(cache(size, nelems, preemption as f32 / 100.0)?)
    }

    /// As `nc_get_chunk_cache`, for Fortran.
    fn nc_get_chunk_cache_ints(sizep: OutPtr<c_int>, nelemsp: OutPtr<c_int>, preemptionp: OutPtr<c_int>) {
        let cache = settings::chunk_cache();
        sizep.set(cache.bytes as c_int);
        nelemsp.set(cache.slots as c_int);
        preemptionp.set((cache.preemption * 100.0) as c_int);
        Ok(())
    }
}

/// Makes the settings of a chunk cache.
pub fn cache(bytes: usize, slots: usize, preemption: f32) -> Result<CacheConfig> {
    let cache = CacheConfig::default().bytes(bytes).slots(slots).preemption(preemption);
    cache.check()?;
    Ok(cache)
}
