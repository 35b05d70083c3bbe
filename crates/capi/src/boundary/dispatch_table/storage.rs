//! The stored form of variables: chunks, filters, byte order and quantization.

use std::ffi::c_int;
use std::ptr::{null, null_mut};

use nczarr::{CacheConfig, ErrorKind, Result};

use super::TablePtr;
use crate::user_format::{Turn, outcome};

impl TablePtr {
    /// Defines shuffle, deflate or both, with the flags of C.
    pub fn def_var_deflate(
        self,
        (ncid, var): (c_int, c_int),
        shuffle: c_int,
        deflate: c_int,
        level: c_int,
    ) -> Result<()> {
        call!(self.def_var_deflate(ncid, var, shuffle, deflate, level))
    }

    pub fn def_var_fletcher32(self, (ncid, var): (c_int, c_int), fletcher32: c_int) -> Result<()> {
        call!(self.def_var_fletcher32(ncid, var, fletcher32))
    }

    /// Defines storage and, for chunked storage, the chunk shape.
    pub fn def_var_chunking(
        self,
        (ncid, var): (c_int, c_int),
        storage: c_int,
        sizes: Option<&[usize]>,
    ) -> Result<()> {
        let sizes = sizes.map_or(null(), <[usize]>::as_ptr);
        call!(self.def_var_chunking(ncid, var, storage, sizes))
    }

    pub fn def_var_endian(self, (ncid, var): (c_int, c_int), endian: c_int) -> Result<()> {
        call!(self.def_var_endian(ncid, var, endian))
    }

    pub fn def_var_filter(self, (ncid, var): (c_int, c_int), id: u32, params: &[u32]) -> Result<()> {
        call!(self.def_var_filter(ncid, var, id, params.len(), params.as_ptr()))
    }

    pub fn def_var_quantize(self, (ncid, var): (c_int, c_int), mode: c_int, digits: c_int) -> Result<()> {
        call!(self.def_var_quantize(ncid, var, mode, digits))
    }

    pub fn set_var_chunk_cache(self, (ncid, var): (c_int, c_int), cache: CacheConfig) -> Result<()> {
        call!(self.set_var_chunk_cache(ncid, var, cache.bytes, cache.slots, cache.preemption))
    }

    pub fn get_var_chunk_cache(self, (ncid, var): (c_int, c_int)) -> Result<CacheConfig> {
        let (mut bytes, mut slots, mut preemption) = (0, 0, 0.0);
        call!(self.get_var_chunk_cache(ncid, var, &mut bytes, &mut slots, &mut preemption))?;
        Ok(CacheConfig::default().bytes(bytes).slots(slots).preemption(preemption))
    }

    /// Returns the HDF5 ids of all filters.
    pub fn inq_var_filter_ids(self, (ncid, var): (c_int, c_int)) -> Result<Vec<u32>> {
        let mut count = 0;
        call!(self.inq_var_filter_ids(ncid, var, &mut count, null_mut()))?;
        let mut ids = vec![0; count];
        if count > 0 {
            call!(self.inq_var_filter_ids(ncid, var, &mut count, ids.as_mut_ptr()))?;
        }
        Ok(ids)
    }

    /// Returns the parameters of a filter.
    pub fn inq_var_filter_info(self, (ncid, var): (c_int, c_int), id: u32) -> Result<Vec<u32>> {
        let mut count = 0;
        call!(self.inq_var_filter_info(ncid, var, id, &mut count, null_mut()))?;
        let mut params = vec![0; count];
        if count > 0 {
            call!(self.inq_var_filter_info(ncid, var, id, &mut count, params.as_mut_ptr()))?;
        }
        Ok(params)
    }

    /// Returns mode and digits of the quantization.
    pub fn inq_var_quantize(self, (ncid, var): (c_int, c_int)) -> Result<(c_int, c_int)> {
        let (mut mode, mut digits) = (0, 0);
        call!(self.inq_var_quantize(ncid, var, &mut mode, &mut digits))?;
        Ok((mode, digits))
    }

    pub fn inq_filter_avail(self, ncid: c_int, id: u32) -> Result<()> {
        call!(self.inq_filter_avail(ncid, id))
    }
}
