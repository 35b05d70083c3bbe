//! A file as memory, for those who asked for it: the pages are read when they are first looked at.
//!
//! Nothing here can keep others from changing the file. What they write shows or does not. Where they cut the file short,
//! the system ends the process that looks there: so the file is asked for its size before every look, but it can happen
//! in the middle of one. That is why it is never the default.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use nczarr_model::{Error, ErrorKind, Result};

/// All of a file, to be read.
#[derive(Debug)]
pub(crate) struct Mapped {
    map: Mmap,
    file: File,
    path: PathBuf,
}

impl Mapped {
    /// # Errors
    /// What the system says.
    pub(crate) fn new(file: File, path: PathBuf) -> Result<Self> {
        // SAFETY: the bytes are only copied out, and any bytes are values; whoever asked for the map promises that the
        // file is not cut short while it is read (`Options::memory_map`).
        let map = unsafe { Mmap::map(&file) };
        let map = map.map_err(|error| Error::io(format!("{}: map into memory", path.display()), error))?;
        Ok(Self { map, file, path })
    }

    /// How many bytes there were when it was opened.
    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    /// Where the file was when it was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What the file is now.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn metadata(&self) -> Result<Metadata> {
        self.file.metadata().map_err(|error| Error::io(format!("{}: look at", self.path.display()), error))
    }

    /// # Errors
    /// `NC_ETRUNC` if somebody has cut the file short since.
    pub(crate) fn bytes(&self) -> Result<&[u8]> {
        let size = self.metadata()?.len();
        if size < self.map.len() as u64 {
            let path = self.path.display();
            let was = self.map.len();
            return Err(ErrorKind::Trunc.context(format!("{path}: it had {was} bytes and was cut to {size}")));
        }
        Ok(&self.map)
    }
}
