//! Opens paths below the root of a dataset without following symbolic links.
//!
//! It uses `openat2` if the kernel has it, else one `openat` per segment. Paths are those of keys: relative,
//! without `.` and `..`; the empty path is the root itself.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, openat, openat2, statat};
use rustix::io::{Errno, retry_on_intr};

/// Flags to read an object. A fifo must not block, and a terminal must not become the controlling one.
pub(super) const READ: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW);

/// Flags to inspect a path without opening the file.
pub(super) const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Flags for a directory as the base of later operations.
pub(super) const PLACE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Flags to list a directory.
pub(super) const LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens `path` below `root`; `ELOOP` if any segment is a symbolic link.
pub(super) fn open(root: BorrowedFd<'_>, path: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    static OPENAT2: AtomicBool = AtomicBool::new(true);
    let path = if path.is_empty() { "." } else { path };
    if OPENAT2.load(Ordering::Relaxed) {
        let opened = retry_on_intr(|| openat2(root, path, flags, mode, ResolveFlags::NO_SYMLINKS));
        match opened {
            Err(Errno::NOSYS) => OPENAT2.store(false, Ordering::Relaxed),
            // Sandboxes without the call answer this; a real permission error appears again in the walk.
            Err(Errno::PERM) => {}
            opened => return opened,
        }
    }
    walk(root, path, flags, mode)
}

fn walk(root: BorrowedFd<'_>, path: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut here: Option<OwnedFd> = None;
    for segment in parents.split('/').filter(|segment| !segment.is_empty()) {
        let dir = here.as_ref().map_or(root, AsFd::as_fd);
        here = Some(step(dir, segment, PLACE, Mode::empty())?);
    }
    step(here.as_ref().map_or(root, AsFd::as_fd), name, flags, mode)
}

fn step(dir: BorrowedFd<'_>, name: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let is_link = || {
        let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    };
    // With `O_PATH` a link itself would be opened, so this checks first.
    if flags.contains(OFlags::PATH) && !flags.contains(OFlags::DIRECTORY) && is_link()? {
        return Err(Errno::LOOP);
    }
    match retry_on_intr(|| openat(dir, name, flags | OFlags::NOFOLLOW, mode)) {
        Err(Errno::NOTDIR) if is_link()? => Err(Errno::LOOP),
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::open as open_root;

    use super::*;

    #[test]
    fn both_ways_answer_the_same() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path();
        fs::create_dir_all(path.join("a/b")).unwrap();
        fs::write(path.join("a/b/c"), b"x").unwrap();
        fs::write(path.join("f"), b"x").unwrap();
        symlink("a/b/c", path.join("l")).unwrap();
        symlink("a", path.join("d")).unwrap();
        symlink("nowhere", path.join("broken")).unwrap();
        let root = open_root(path, LIST, Mode::empty()).unwrap();
        let table = [
            (".", LIST, None),
            ("a/b/c", READ, None),
            ("a/b/c", LOOK, None),
            ("a/b", PLACE, None),
            ("a/b", READ, None),
            ("l", READ, Some(Errno::LOOP)),
            ("l", LOOK, Some(Errno::LOOP)),
            ("broken", READ, Some(Errno::LOOP)),
            ("d", PLACE, Some(Errno::LOOP)),
            ("d", LIST, Some(Errno::LOOP)),
            ("d/b", PLACE, Some(Errno::LOOP)),
            ("d/b/c", READ, Some(Errno::LOOP)),
            ("f/x", READ, Some(Errno::NOTDIR)),
            ("f/x/y", READ, Some(Errno::NOTDIR)),
            ("f", PLACE, Some(Errno::NOTDIR)),
            ("a/x", READ, Some(Errno::NOENT)),
            ("x/y/z", LOOK, Some(Errno::NOENT)),
        ];
        for (path, flags, expected) in table {
            let one = open(root.as_fd(), path, flags, Mode::empty()).err();
            let other = walk(root.as_fd(), path, flags, Mode::empty()).err();
            assert_eq!((one, other), (expected, expected), "{path} {flags:?}");
        }
    }
}
