//! A file as memory, for those who asked for it: the pages are read when they are first looked at.
//!
//! Nothing here can keep others from changing the file. What they write shows or does not; where they cut the
//! file short, the system ends the process that looks there. That is why it is never the default.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;
use model::{Error, Result};

/// Maps all of a file, to be read.
///
/// # Errors
/// What the system says.
pub(crate) fn map(file: &File, path: &Path) -> Result<Mmap> {
    // SAFETY: the bytes are only copied out, and any bytes are values; whoever asked for the map promises that the
    // file is left alone (`Options::memory_map`).
    unsafe { Mmap::map(file) }.map_err(|error| Error::io(format!("{}: map into memory", path.display()), error))
}
