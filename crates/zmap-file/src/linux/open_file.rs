//! [`OpenFile`]: a cached open file, which counts towards the limit of the process.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Resource, getrlimit};

/// The most cached files of a process, over all its maps, and the divisor of its limit of open files.
const MAX_OPEN_FILES: usize = 128;
const LIMIT_DIVISOR: u64 = 8;

/// The number of cached files.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// An open file that counts towards the limit.
#[derive(Debug)]
pub(super) struct OpenFile(OwnedFd);

impl OpenFile {
    /// Counts an open file; returns it if the limit is reached.
    pub(super) fn new(file: OwnedFd) -> Result<Self, OwnedFd> {
        if COUNT.fetch_add(1, Ordering::Relaxed) < most() {
            return Ok(Self(file));
        }
        COUNT.fetch_sub(1, Ordering::Relaxed);
        Err(file)
    }

    /// Whether the limit allows another file.
    pub(super) fn is_allowed() -> bool {
        COUNT.load(Ordering::Relaxed) < most()
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

impl AsFd for OpenFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn most() -> usize {
    static ALLOWED: OnceLock<usize> = OnceLock::new();
    *ALLOWED.get_or_init(|| {
        let allowed = getrlimit(Resource::Nofile).current.map_or(u64::MAX, |limit| limit / LIMIT_DIVISOR);
        usize::try_from(allowed).unwrap_or(MAX_OPEN_FILES).min(MAX_OPEN_FILES)
    })
}
