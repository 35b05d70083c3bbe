//! How many threads a piece of work is worth.

use std::sync::OnceLock;

use dispatch::Options;

/// Less than this is done before a second thread has woken up.
const WORTH: usize = 256 << 10;

/// Threads for `chunks` chunks of `bytes` decoded bytes together.
pub(crate) fn worth(options: &Options, chunks: usize, bytes: usize) -> usize {
    if chunks < 2 || bytes < WORTH {
        return 1;
    }
    most(options).min(chunks)
}

/// Threads for however much work.
pub(crate) fn most(options: &Options) -> usize {
    // Asking the system reads files: once per process.
    static SYSTEM: OnceLock<usize> = OnceLock::new();
    match options.threads {
        0 => *SYSTEM.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from)),
        threads => threads,
    }
}
