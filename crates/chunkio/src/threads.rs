//! Determines the number of threads for a piece of work.

use nczarr_dispatch::Options;
use nczarr_runtime::cpu_count;

/// The number of bytes below which a second thread starts too late to help.
const WORTH: usize = 256 << 10;

/// Returns the number of threads for `chunks` chunks with `bytes` decoded bytes together.
pub(crate) fn worth(options: &Options, chunks: usize, bytes: usize) -> usize {
    if chunks < 2 || bytes < WORTH {
        return 1;
    }
    most(options).min(chunks)
}

/// Returns the maximum number of threads.
pub(crate) fn most(options: &Options) -> usize {
    match options.threads {
        0 => cpu_count(),
        threads => threads,
    }
}
