//! Moves a finished copy to its target in one step.

use std::fs;
use std::io;
use std::path::Path;

/// Exchanges two paths. Where the system cannot do that in one step, first moves the existing object to
/// `old`.
pub(super) fn exchange(made: &Path, target: &Path, old: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, made, CWD, target, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
    }
    fs::rename(target, old)?;
    fs::rename(made, target).inspect_err(|_| {
        // Restore the previous state; the caller checks whether even that failed.
        let _ = fs::rename(old, target);
    })
}

/// Moves to a path that does not exist.
pub(super) fn move_to_nothing(made: &Path, target: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, made, CWD, target, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS) => {}
            moved => return moved.map_err(io::Error::from),
        }
    }
    if target.symlink_metadata().is_ok() {
        return Err(io::Error::from(io::ErrorKind::AlreadyExists));
    }
    fs::rename(made, target)
}
