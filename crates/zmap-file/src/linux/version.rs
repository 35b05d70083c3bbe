//! The version of an object: its file, held open.
//!
//! While a file is open its inode number is not given to another, and no writer of ours changes a file in
//! place: the object is unchanged as long as its name leads to the same inode. Device, inode and times alone
//! would not do, because numbers are used again and clocks are coarse.

use std::os::fd::OwnedFd;

use rustix::fs::{Stat, fstat};
use rustix::io::Errno;

/// The state of one object when it was read or written.
#[derive(Debug)]
pub(super) struct Mark {
    file: OwnedFd,
    stat: Stat,
}

/// Both files are held open, so that equal numbers are of one file; state and time tell of who writes in place.
impl PartialEq for Mark {
    fn eq(&self, other: &Self) -> bool {
        state(&self.stat) == state(&other.stat)
    }
}

fn state(stat: &Stat) -> impl PartialEq + use<> {
    (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec)
}

impl Mark {
    /// The state of the object in `file` now.
    pub(super) fn of(file: OwnedFd) -> Result<Self, Errno> {
        let stat = fstat(&file)?;
        Ok(Self { file, stat })
    }

    /// The file.
    pub(super) fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// What was known of the file when the mark was made.
    pub(super) fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Whether `found`, which a name leads to now, is the same object in the same state.
    ///
    /// Length and time are a hint only: they tell of others who write in place.
    pub(super) fn is(&self, found: &Stat) -> Result<bool, Errno> {
        Ok(state(&self.stat) == state(found) && fstat(&self.file)?.st_nlink > 0)
    }
}
