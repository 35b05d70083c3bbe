//! The version of an object: its file, held open.
//!
//! While a file is open its inode number is not given to another, and no writer of ours changes a file in
//! place: the object is unchanged as long as its name leads to the same inode. Device, inode and times alone
//! would not do, because numbers are used again and clocks are coarse.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Stat, fstat};
use rustix::io::Errno;

use super::kept::Object;

/// The state of one object when it was read or written.
#[derive(Debug)]
pub(super) struct Mark {
    file: Open,
    stat: Stat,
}

/// A file, perhaps one that is kept for others too.
#[derive(Debug)]
enum Open {
    Own(OwnedFd),
    Kept(Arc<Object>),
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
        Ok(Self { file: Open::Own(file), stat })
    }

    /// The state of a kept object, as its name was looked up just now.
    pub(super) fn kept(object: Arc<Object>, stat: Stat) -> Self {
        Self { file: Open::Kept(object), stat }
    }

    /// The file.
    pub(super) fn file(&self) -> BorrowedFd<'_> {
        match &self.file {
            Open::Own(file) => file.as_fd(),
            Open::Kept(object) => object.as_fd(),
        }
    }

    /// Whether `found`, which a name leads to now, has the state that it had.
    pub(super) fn is_like(&self, found: &Stat) -> bool {
        state(&self.stat) == state(found)
    }

    /// What was known of the file when the mark was made.
    pub(super) fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Whether `found`, which a name leads to now, is the same object in the same state.
    ///
    /// Length and time are a hint only: they tell of others who write in place.
    pub(super) fn is(&self, found: &Stat) -> Result<bool, Errno> {
        Ok(state(&self.stat) == state(found) && fstat(self.file())?.st_nlink > 0)
    }
}
