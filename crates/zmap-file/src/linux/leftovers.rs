//! Removes temporary files of crashed writers, if no living writer can own them.
//!
//! A writer that makes its first named temporary file takes a shared lock on a byte of the lock file, and
//! marks the lock file by its length. A writer that gets the lock alone and finds the mark follows a crash,
//! and searches the whole tree once. The last writer removes the mark. Without locks nothing is removed;
//! writers in exclusive mode make no lock file. A file removed by mistake is written again by its owner, so
//! no object is lost.

use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, FileType, Mode, fstat, ftruncate, unlinkat};
use rustix::io::Errno;

use super::FileMap;
use super::beneath;
use super::tree;
use crate::names;

impl FileMap {
    /// Announces temporary files; call before a temporary file gets a name.
    pub(super) fn announce(&self) {
        self.locks.announce(self.root(), &|| self.sweep());
    }

    /// Removes all temporary files.
    fn sweep(&self) -> Result<(), Errno> {
        let root = beneath::open(self.root(), "", beneath::LIST, Mode::empty())?;
        let mut open = vec![rustix::fs::Dir::new(root)?];
        while let Some(mut dir) = open.pop() {
            let depth = open.len();
            for (name, kind) in tree::entries(&mut dir, depth)? {
                let Ok(name) = name.to_str() else { continue };
                match kind {
                    FileType::Directory => open.extend(tree::enter(dir.fd()?, name)?),
                    FileType::RegularFile if names::is_temporary(name) => {
                        let _ = unlinkat(dir.fd()?, name, AtFlags::empty());
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// Whether a lock file has the mark of temporary files.
pub(super) fn is_marked(file: BorrowedFd<'_>) -> Result<bool, Errno> {
    Ok(fstat(file)?.st_size > 0)
}

/// Sets or removes the mark.
pub(super) fn mark(file: BorrowedFd<'_>, made: bool) -> Result<(), Errno> {
    ftruncate(file, u64::from(made))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use nczarr_storage::{Key, MapOptions, ZMapExt};

    use super::*;

    fn temporaries(path: &Path) -> usize {
        let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
        entries
            .map(|entry| {
                if entry.file_type().unwrap().is_dir() {
                    temporaries(&entry.path())
                } else {
                    usize::from(entry.file_name().to_str().is_some_and(names::is_temporary))
                }
            })
            .sum()
    }

    #[test]
    fn leftovers_are_removed_if_no_other_writer_is_active() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("x");
        let open = || FileMap::open(&path, true, &MapOptions::default()).unwrap();
        let key = Key::new("a/b").unwrap();
        let replace = |map: &FileMap| (0..2).for_each(|_| map.write(&key, b"1").unwrap());
        let leave = || {
            fs::write(path.join(".nczarr-tmp-1-1"), b"x").unwrap();
            fs::write(path.join("a/.nczarr-tmp-1-2"), b"x").unwrap();
        };
        let first = FileMap::create(&path, None, &MapOptions::default()).unwrap();
        replace(&first);
        leave();
        // A writer is active. The temporary files may belong to it.
        let second = open();
        replace(&second);
        assert_eq!(temporaries(&path), 2);
        drop(second);
        drop(first);
        // All writers have ended normally, so these files have another owner.
        replace(&open());
        assert_eq!(temporaries(&path), 2);
        // A killed writer has marked the lock file, and holds no lock.
        fs::write(path.join(names::LOCK), b"x").unwrap();
        let third = open();
        assert_eq!(temporaries(&path), 2, "a map that replaces nothing removes nothing");
        replace(&third);
        assert_eq!(temporaries(&path), 0);
        assert!(fs::metadata(path.join(names::LOCK)).unwrap().len() > 0, "it may be stopped, too");
        leave();
        replace(&third);
        assert_eq!(temporaries(&path), 2, "leftovers are removed once");
        drop(third);
        assert_eq!(fs::metadata(path.join(names::LOCK)).unwrap().len(), 0);
    }
}
