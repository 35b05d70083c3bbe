//! The end of a program that did not close its datasets.
#![allow(unsafe_code)]

use std::process;
use std::sync::OnceLock;

use crate::table;

/// The process that registered the handler. A forked child has copies of datasets that it must not write.
static OWNER: OnceLock<u32> = OnceLock::new();

/// Lets the end of the process close all datasets.
pub fn close_at_exit() {
    OWNER.get_or_init(|| {
        // SAFETY: the handler is a function of this library, and accepts being called at any time.
        unsafe { libc::atexit(close_all) };
        process::id()
    });
}

extern "C" fn close_all() {
    if OWNER.get() != Some(&process::id()) {
        return;
    }
    // The thread that ends the process has no thread-local storage any more.
    if let Ok(thread) = std::thread::Builder::new().spawn(table::close_all) {
        // Nobody can receive an error now.
        let _ = thread.join();
    }
}
