//! Hints for the layout of HDF5 files. They are kept and have no effect: the library lays files out itself.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr::ErrorKind;

use crate::boundary::pointer::OutPtr;

/// Threshold and alignment.
static ALIGNMENT: Mutex<[c_int; 2]> = Mutex::new([0; 2]);
/// The size of blocks of metadata; 0: the default.
static META_BLOCK: AtomicUsize = AtomicUsize::new(0);

c_functions! {
    /// Keeps an alignment.
    fn nc_set_alignment(threshold: c_int, alignment: c_int) {
        *ALIGNMENT.lock().unwrap_or_else(PoisonError::into_inner) = [threshold, alignment];
        Ok(())
    }

    /// Returns the alignment that `nc_set_alignment` keeps.
    fn nc_get_alignment(thresholdp: OutPtr<c_int>, alignmentp: OutPtr<c_int>) {
        let [threshold, alignment] = *ALIGNMENT.lock().unwrap_or_else(PoisonError::into_inner);
        thresholdp.set(threshold);
        alignmentp.set(alignment);
        Ok(())
    }

    /// Keeps a size of blocks of metadata.
    fn nc_set_meta_block_size(size: usize) {
        META_BLOCK.store(size, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the size that `nc_set_meta_block_size` keeps.
    fn nc_get_meta_block_size(sizep: OutPtr<usize>) {
        sizep.set(META_BLOCK.load(Ordering::Relaxed));
        Ok(())
    }

    /// As `nc_set_meta_block_size`, for Fortran.
    fn nc_set_meta_block_size_ints(size: c_int) {
        let negative = |_| ErrorKind::Inval.context(format!("a block of metadata with {size} bytes"));
        nc_set_meta_block_size(usize::try_from(size).map_err(negative)?)
    }

    /// As `nc_get_meta_block_size`, for Fortran. The largest number stands for a larger size.
    fn nc_get_meta_block_size_ints(sizep: OutPtr<c_int>) {
        sizep.set(c_int::try_from(META_BLOCK.load(Ordering::Relaxed)).unwrap_or(c_int::MAX));
        Ok(())
    }
}
