//! The chunk cache of a variable.

use std::ffi::c_int;

use nczarr::nc_table::NcDispatch as _;
use nczarr::{CacheConfig, Result};

use crate::boundary::pointer::OutPtr;
use crate::file::cache_settings;
use crate::table;

c_functions! {
    /// Sets the chunk cache.
    fn nc_set_var_chunk_cache(ncid: c_int, varid: c_int, size: usize, nelems: usize, preemption: f32) {
        set(ncid, varid, cache_settings(size, nelems, preemption)?)
    }

    /// Returns the chunk cache.
    fn nc_get_var_chunk_cache(
        ncid: c_int, varid: c_int, sizep: OutPtr<usize>, nelemsp: OutPtr<usize>, preemptionp: OutPtr<f32>,
    ) {
        let cache = get(ncid, varid)?;
        sizep.set(cache.bytes);
        nelemsp.set(cache.slots);
        preemptionp.set(cache.preemption);
        Ok(())
    }

    /// As `nc_set_var_chunk_cache`, for Fortran: the size in MiB and the preemption in percent. A negative
    /// number means the default.
    fn nc_set_var_chunk_cache_ints(
        ncid: c_int, varid: c_int, size: c_int, nelems: c_int, preemption: c_int,
    ) {
        let default = CacheConfig::default();
        let size = usize::try_from(size).map_or(default.bytes, |size| size.saturating_mul(1 << 20));
        let nelems = usize::try_from(nelems).unwrap_or(default.slots);
        let preemption = if preemption < 0 { default.preemption } else { preemption as f32 / 100.0 };
        set(ncid, varid, cache_settings(size, nelems, preemption)?)
    }

    /// As `nc_get_var_chunk_cache`, for Fortran.
    fn nc_get_var_chunk_cache_ints(
        ncid: c_int, varid: c_int, sizep: OutPtr<c_int>, nelemsp: OutPtr<c_int>, preemptionp: OutPtr<c_int>,
    ) {
        let cache = get(ncid, varid)?;
        sizep.set((cache.bytes >> 20) as c_int);
        nelemsp.set(cache.slots as c_int);
        preemptionp.set((cache.preemption * 100.0).round() as c_int);
        Ok(())
    }
}

fn set(ncid: c_int, varid: c_int, cache: CacheConfig) -> Result<()> {
    let node = table::find(ncid)?;
    node.check_not_cdf()?;
    node.set_cache(node.var(varid)?, cache)
}

fn get(ncid: c_int, varid: c_int) -> Result<CacheConfig> {
    let node = table::find(ncid)?;
    node.check_not_cdf()?;
    let var = node.var(varid)?;
    match node.cache(var) {
        Some(cache) => Ok(cache),
        None => node.nc().get_var_chunk_cache(var),
    }
}
