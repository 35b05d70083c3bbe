//! The version of an object: its file, held open.
//!
//! While a file is open, its inode number is not reused, and this crate never changes a file in place. So the
//! object is unchanged as long as its name leads to the same inode. Device, inode and times alone do not
//! suffice, because numbers are reused and clocks are coarse.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Stat, fstat};
use rustix::io::Errno;

use super::open_file::OpenFile;

/// The state of one object when it was read or written.
#[derive(Debug)]
pub(super) struct FileVersion {
    file: VersionFile,
    stat: Stat,
}

/// A file, owned or from the cache.
#[derive(Debug)]
enum VersionFile {
    Own(OwnedFd),
    Kept(Arc<OpenFile>),
}

/// Both files are open, so equal numbers mean one file; size and time reveal writes in place.
impl PartialEq for FileVersion {
    fn eq(&self, other: &Self) -> bool {
        state(&self.stat) == state(&other.stat)
    }
}

fn state(stat: &Stat) -> impl PartialEq + use<> {
    (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec)
}

impl FileVersion {
    /// Records the current state of the object in `file`.
    pub(super) fn of(file: OwnedFd) -> Result<Self, Errno> {
        let stat = fstat(&file)?;
        Ok(Self::own(file, stat))
    }

    /// Records the state of an object that was just opened.
    pub(super) fn own(file: OwnedFd, stat: Stat) -> Self {
        Self { file: VersionFile::Own(file), stat }
    }

    /// Records the state of a cached object whose name was just looked up.
    pub(super) fn kept(object: Arc<OpenFile>, stat: Stat) -> Self {
        Self { file: VersionFile::Kept(object), stat }
    }

    /// Returns the file.
    pub(super) fn file(&self) -> BorrowedFd<'_> {
        match &self.file {
            VersionFile::Own(file) => file.as_fd(),
            VersionFile::Kept(object) => object.as_fd(),
        }
    }

    /// Whether `found`, the current file of the name, has the recorded state.
    pub(super) fn has_same_state(&self, found: &Stat) -> bool {
        state(&self.stat) == state(found)
    }

    /// Returns the recorded state.
    pub(super) fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Whether `found`, the current file of the name, is the same object in the same state.
    ///
    /// Size and time are only a hint of writes in place by other programs.
    pub(super) fn is_current(&self, found: &Stat) -> Result<bool, Errno> {
        Ok(state(&self.stat) == state(found) && fstat(self.file())?.st_nlink > 0)
    }
}
