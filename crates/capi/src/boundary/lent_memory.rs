//! Memory of a C program that holds a dataset.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Memory that a program lent or gave to the library. It does not change while the dataset is open.
pub struct LentMemory {
    address: *mut c_void,
    len: usize,
    /// The library frees it.
    is_owned: AtomicBool,
}

// SAFETY: the contract of `nc_open_mem` forbids changes of the memory while the dataset is open.
unsafe impl Send for LentMemory {}
// SAFETY: as above.
unsafe impl Sync for LentMemory {}

impl LentMemory {
    /// Borrows memory of `len` bytes.
    pub fn new(address: *mut c_void, len: usize) -> Arc<Self> {
        Arc::new(Self { address, len, is_owned: AtomicBool::new(false) })
    }

    /// Makes the library the owner of the memory, which comes from `malloc`.
    pub fn take(&self) {
        self.is_owned.store(true, Ordering::Release);
    }

    /// Returns address and length. The caller owns the memory now.
    pub fn give_back(&self) -> (*mut c_void, usize) {
        self.is_owned.store(false, Ordering::Release);
        (self.address, self.len)
    }
}

impl Drop for LentMemory {
    fn drop(&mut self) {
        if *self.is_owned.get_mut() {
            // SAFETY: the program gave memory of `malloc` to the library, and nobody else uses it.
            unsafe { libc::free(self.address) }
        }
    }
}

/// The bytes of lent memory.
pub struct LentBytes(pub Arc<LentMemory>);

impl AsRef<[u8]> for LentBytes {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the program keeps the memory unchanged until the dataset is closed.
        unsafe { slice::from_raw_parts(self.0.address.cast(), self.0.len) }
    }
}
