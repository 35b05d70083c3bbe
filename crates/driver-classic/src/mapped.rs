//! A memory-mapped file. Pages are read on first access.
//!
//! Other processes can change the file; their writes may be visible. If they truncate it, the system ends the
//! process at the next access. The size is checked before each access, but truncation may happen during one.
//! So this is never the default.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use nczarr_model::{Error, ErrorKind, Result};

/// A whole file for reading.
#[derive(Debug)]
pub(crate) struct MappedFile {
    map: Mmap,
    file: File,
    path: PathBuf,
}

impl MappedFile {
    /// # Errors
    /// The system's error.
    pub(crate) fn new(file: File, path: PathBuf) -> Result<Self> {
        // SAFETY: the bytes are only copied, and any bytes are valid; the user of the option promises that
        // the file is not truncated during reads (`Options::memory_map`).
        let map = unsafe { Mmap::map(&file) };
        let map = map.map_err(|error| Error::io(format!("{}: map into memory", path.display()), error))?;
        Ok(Self { map, file, path })
    }

    /// Returns the number of bytes at opening.
    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    /// Returns the path of the file at opening.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the current metadata of the file.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn metadata(&self) -> Result<Metadata> {
        self.file.metadata().map_err(|error| Error::io(format!("{}: look at", self.path.display()), error))
    }

    /// # Errors
    /// `NC_ETRUNC` if the file was truncated.
    pub(crate) fn bytes(&self) -> Result<&[u8]> {
        let size = self.metadata()?.len();
        if size < self.map.len() as u64 {
            let path = self.path.display();
            let was = self.map.len();
            return Err(ErrorKind::Trunc.context(format!("{path}: truncated from {was} to {size} bytes")));
        }
        Ok(&self.map)
    }
}
