//! How many threads a piece of work is worth.

use nczarr_dispatch::{Options, cpu_count};

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
    match options.threads {
        0 => cpu_count(),
        threads => threads,
    }
}
