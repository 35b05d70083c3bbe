//! Walks directories: listing, distinguishing empty directories from prefixes, clearing and removing.
//!
//! Names that cannot be a segment of a key, this crate's own files, and special files are not objects. A
//! symbolic link is listed, so that its reader gets an error: data must not appear absent.

use std::ffi::CString;
use std::mem;
use std::os::fd::BorrowedFd;
use std::sync::PoisonError;

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::{Durability, Key};
use rustix::fs::{AtFlags, Dir, DirEntry, FileType, Mode, OFlags, fsync, openat, statat, unlinkat};
use rustix::io::{Errno, retry_on_intr};

use super::{FileMap, beneath};
use crate::names::{self, LOCK};

/// More nested directories than any path can name.
const DEPTH: usize = 2048;

/// The meaning of a directory entry for the map.
#[derive(PartialEq, Eq)]
enum EntryKind {
    Object,
    Directory,
    Nothing,
}

impl FileMap {
    /// Returns the names below a prefix; with `verified` only directories that contain objects.
    pub(super) fn entry_names(&self, prefix: &Key, verified: bool) -> Result<Vec<String>> {
        let fail = |errno| self.fail(prefix.as_str(), "search", errno);
        let mut names = Vec::new();
        let Some(mut dir) = self.open_dir(prefix.as_str())? else { return Ok(names) };
        while let Some(entry) = dir.read() {
            let entry = entry.map_err(fail)?;
            let Some(name) = segment(&entry) else { continue };
            let here = dir.fd().map_err(fail)?;
            let has_objects = match kind(here, &entry).map_err(fail)? {
                EntryKind::Object => true,
                EntryKind::Directory => !verified || has_objects(here, name).map_err(fail)?,
                EntryKind::Nothing => false,
            };
            if has_objects {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns the names below a prefix that cannot be segments of keys, as text to show.
    pub(super) fn unnamable_entries(&self, prefix: &Key) -> Result<Vec<String>> {
        let fail = |errno| self.fail(prefix.as_str(), "search", errno);
        let mut found = Vec::new();
        let Some(mut dir) = self.open_dir(prefix.as_str())? else { return Ok(found) };
        while let Some(entry) = dir.read() {
            let entry = entry.map_err(fail)?;
            let Some(name) = names::unnamable(entry.file_name().to_bytes()) else { continue };
            match kind(dir.fd().map_err(fail)?, &entry).map_err(fail)? {
                EntryKind::Object => found.push(name),
                EntryKind::Directory => found.push(name + "/"),
                EntryKind::Nothing => {}
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    pub(super) fn list_keys(&self, prefix: &Key) -> Result<Vec<String>> {
        if !prefix.is_root() && self.exists_object(prefix)? {
            return Ok(vec![prefix.as_str().to_owned()]);
        }
        let (mut keys, mut open) = (Vec::new(), vec![prefix.clone()]);
        while let Some(here) = open.pop() {
            let fail = |errno| self.fail(here.as_str(), "list", errno);
            let Some(mut dir) = self.open_dir(here.as_str())? else { continue };
            while let Some(entry) = dir.read() {
                let entry = entry.map_err(fail)?;
                let Some(name) = segment(&entry) else { continue };
                match kind(dir.fd().map_err(fail)?, &entry).map_err(fail)? {
                    EntryKind::Object => keys.push(here.join(name)?.into()),
                    EntryKind::Directory => open.push(here.join(name)?),
                    EntryKind::Nothing => {}
                }
            }
        }
        keys.sort_unstable();
        Ok(keys)
    }

    fn exists_object(&self, key: &Key) -> Result<bool> {
        match self.object_len(key) {
            Ok(len) => Ok(len.is_some()),
            Err(error) if error.kind() == ErrorKind::Empty => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether an object exists below the directory `path`.
    pub(super) fn leads_to_object(&self, path: &str) -> Result<bool> {
        match self.open_dir(path)? {
            Some(dir) => has_objects_in(dir).map_err(|errno| self.fail(path, "search", errno)),
            None => Ok(false),
        }
    }

    /// Opens the directory `path`; `None` if it does not exist.
    fn open_dir(&self, path: &str) -> Result<Option<Dir>> {
        match beneath::open(self.root(), path, beneath::LIST, Mode::empty()).and_then(Dir::new) {
            Ok(dir) => Ok(Some(dir)),
            Err(Errno::NOENT | Errno::NOTDIR) => self.want_root().map(|()| None),
            Err(errno) => Err(self.fail(path, "search", errno)),
        }
    }

    /// Counts a removal from the directory `path`, and sometimes prunes it and its empty parents.
    ///
    /// Checking a directory can take as long as it once was large. So attempts become rarer with the number
    /// of removals; the next sync prunes the rest.
    pub(super) fn thinned(&self, path: &str) {
        if path.is_empty() {
            return;
        }
        let due = {
            let mut thinned = self.thinned.lock().unwrap_or_else(PoisonError::into_inner);
            let count = thinned.entry(path.to_owned()).or_default();
            *count += 1;
            count.is_power_of_two()
        };
        if due && self.prune(path) {
            self.thinned.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
        }
    }

    /// Prunes the directories that [`FileMap::thinned`] left.
    pub(super) fn prune_thinned(&self) {
        if self.thinned.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            return;
        }
        let Some(_guard) = self.locks.try_lock_tree(self.root()) else { return };
        let thinned = mem::take(&mut *self.thinned.lock().unwrap_or_else(PoisonError::into_inner));
        // Deeper directories come first.
        for path in thinned.keys().rev() {
            self.prune_held(path);
        }
    }

    /// Removes the directory `path` and its parents as far as they are empty; returns whether it is gone.
    ///
    /// Does nothing while another process holds the lock.
    pub(super) fn prune(&self, path: &str) -> bool {
        let _guard = match self.locks.try_lock_tree(self.root()) {
            Some(guard) if !path.is_empty() => guard,
            _ => return false,
        };
        self.prune_held(path)
    }

    fn prune_held(&self, mut path: &str) -> bool {
        let mut gone = false;
        while !path.is_empty() {
            let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
            let Ok(dir) = beneath::open(self.root(), parent, beneath::PLACE, Mode::empty()) else {
                return gone;
            };
            match unlinkat(&dir, name, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => gone = true,
                Err(_) => return gone,
            }
            self.touched(parent);
            path = parent;
        }
        gone
    }

    /// Records that the entries of a directory changed.
    pub(super) fn touched(&self, path: &str) {
        if self.durability == Durability::Fsync {
            self.dirty().insert(path.to_owned());
        }
    }

    /// Syncs the directories whose entries changed.
    pub(super) fn sync_dirs(&self) -> Result<()> {
        self.prune_thinned();
        loop {
            let Some(path) = self.dirty().pop_first() else { return Ok(()) };
            let synced = beneath::open(self.root(), &path, beneath::LIST, Mode::empty()).and_then(fsync);
            match synced {
                Ok(()) | Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(errno) => {
                    let error = self.fail(&path, "sync the directory of", errno);
                    self.dirty().insert(path);
                    return Err(error);
                }
            }
        }
    }

    /// Checks that the root is empty; deletes its contents if they are a recognised dataset.
    pub(super) fn clear_for_new(&self, replace: Option<&[&str]>) -> Result<()> {
        let place = self.path.display();
        let fail = |errno| self.fail("", "list", errno);
        let Some(mut dir) = self.open_dir("")? else { return Ok(()) };
        let mut occupied = false;
        while let Some(entry) = dir.read() {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name().to_bytes();
            occupied |=
                !matches!(name, b"." | b"..") && !entry.file_name().to_str().is_ok_and(names::is_reserved);
        }
        if !occupied {
            return Ok(());
        }
        let Some(markers) = replace else {
            return Err(ErrorKind::Object.context(format!("{place} exists and is not empty")));
        };
        // Whether a marker exists; an error if that is unknown.
        let mut known = Ok(false);
        for marker in markers {
            match statat(&self.root, *marker, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                    known = Ok(true);
                    break;
                }
                Ok(_) | Err(Errno::NOENT) => {}
                Err(errno) => known = Err(self.fail(marker, "look at", errno)),
            }
        }
        if !known? {
            return Err(ErrorKind::Object.context(format!(
                "{place} is not empty and not a recognised dataset (expected one of {})",
                markers.join(", ")
            )));
        }
        // The markers go last, so that an interrupted removal can be repeated. The lock file stays.
        let last: Vec<&str> = markers.iter().copied().chain([LOCK]).collect();
        self.remove_tree(&last)?;
        self.remove_markers(markers)?;
        self.touched("");
        Ok(())
    }

    /// Removes the markers from the root.
    pub(super) fn remove_markers(&self, markers: &[&str]) -> Result<()> {
        for marker in markers {
            match unlinkat(&self.root, *marker, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(self.fail(marker, "remove", errno)),
            }
        }
        Ok(())
    }

    /// Deletes everything except the `kept` names in the root, if the tree has only files and directories.
    pub(super) fn remove_tree(&self, kept: &[&str]) -> Result<()> {
        let fail = |errno| self.fail("", "remove the contents", errno);
        let Some(mut dir) = self.open_dir("")? else { return Ok(()) };
        if let Some(odd) = first_special_file(&mut dir, 0).map_err(fail)? {
            return Err(ErrorKind::CantRemove.context(format!(
                "{}: {odd:?} is neither a file nor a directory; nothing was removed",
                self.path.display()
            )));
        }
        let Some(mut dir) = self.open_dir("")? else { return Ok(()) };
        remove_below(&mut dir, kept, 0).map_err(fail)
    }
}

/// Returns the entry's name, if it can be a segment of a key.
fn segment(entry: &DirEntry) -> Option<&str> {
    entry.file_name().to_str().ok().filter(|name| names::is_segment(name))
}

fn file_type(dir: BorrowedFd<'_>, entry: &DirEntry) -> Result<Option<FileType>, Errno> {
    match entry.file_type() {
        FileType::Unknown => match statat(dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        },
        known => Ok(Some(known)),
    }
}

fn kind(dir: BorrowedFd<'_>, entry: &DirEntry) -> Result<EntryKind, Errno> {
    Ok(match file_type(dir, entry)? {
        Some(FileType::RegularFile | FileType::Symlink) => EntryKind::Object,
        Some(FileType::Directory) => EntryKind::Directory,
        _ => EntryKind::Nothing,
    })
}

/// Opens a directory in `dir`, not through a link; `None` if it is gone.
pub(super) fn enter(dir: BorrowedFd<'_>, name: impl rustix::path::Arg + Copy) -> Result<Option<Dir>, Errno> {
    match retry_on_intr(|| openat(dir, name, beneath::LIST | OFlags::NOFOLLOW, Mode::empty()))
        .and_then(Dir::new)
    {
        Ok(dir) => Ok(Some(dir)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Whether an object exists below the directory `name`.
pub(super) fn has_objects(dir: BorrowedFd<'_>, name: &str) -> Result<bool, Errno> {
    enter(dir, name)?.map_or(Ok(false), has_objects_in)
}

fn has_objects_in(dir: Dir) -> Result<bool, Errno> {
    let mut open = vec![dir];
    while let Some(dir) = open.last_mut() {
        let Some(entry) = dir.read().transpose()? else {
            open.pop();
            continue;
        };
        if segment(&entry).is_none() {
            continue;
        }
        match kind(dir.fd()?, &entry)? {
            EntryKind::Object => return Ok(true),
            EntryKind::Directory => {
                if let Some(below) = enter(dir.fd()?, entry.file_name())? {
                    if open.len() >= DEPTH {
                        return Err(Errno::NAMETOOLONG);
                    }
                    open.push(below);
                }
            }
            EntryKind::Nothing => {}
        }
    }
    Ok(false)
}

/// Removes the directory `name` if it contains only empty directories and temporary files.
///
/// `ENOTEMPTY` otherwise. A temporary file there may be in use: its writer finds the directory gone and
/// starts again.
pub(super) fn remove_hollow(dir: BorrowedFd<'_>, name: &str) -> Result<(), Errno> {
    if has_objects(dir, name)? {
        return Err(Errno::NOTEMPTY);
    }
    remove_hollow_below(dir, name, 0)
}

fn remove_hollow_below(dir: BorrowedFd<'_>, name: &str, depth: usize) -> Result<(), Errno> {
    let Some(mut below) = enter(dir, name)? else { return Ok(()) };
    for (name, kind) in entries(&mut below, depth)? {
        let Ok(name) = name.to_str() else { continue };
        match kind {
            FileType::Directory => remove_hollow_below(below.fd()?, name, depth + 1)?,
            FileType::RegularFile if names::is_reserved(name) && name != LOCK => {
                gone(unlinkat(below.fd()?, name, AtFlags::empty()))?;
            }
            _ => {}
        }
    }
    gone(unlinkat(dir, name, AtFlags::REMOVEDIR))
}

/// Reads all entries of a directory before any is removed.
pub(super) fn entries(dir: &mut Dir, depth: usize) -> Result<Vec<(CString, FileType)>, Errno> {
    if depth > DEPTH {
        return Err(Errno::NAMETOOLONG);
    }
    let mut found = Vec::new();
    while let Some(entry) = dir.read() {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..")
            && let Some(kind) = file_type(dir.fd()?, &entry)?
        {
            found.push((entry.file_name().to_owned(), kind));
        }
    }
    Ok(found)
}

/// Treats the removal of a missing file as success.
fn gone(removed: Result<(), Errno>) -> Result<(), Errno> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        Err(Errno::EXIST) => Err(Errno::NOTEMPTY),
        removed => removed,
    }
}

/// Returns the path of the first special file below a directory.
fn first_special_file(dir: &mut Dir, depth: usize) -> Result<Option<String>, Errno> {
    for (name, kind) in entries(dir, depth)? {
        let found = match kind {
            FileType::RegularFile => None,
            FileType::Directory => match enter(dir.fd()?, name.as_c_str())? {
                Some(mut below) => first_special_file(&mut below, depth + 1)?.map(|path| format!("/{path}")),
                None => None,
            },
            _ => Some(String::new()),
        };
        if let Some(path) = found {
            return Ok(Some(format!("{}{path}", name.to_string_lossy())));
        }
    }
    Ok(None)
}

fn remove_below(dir: &mut Dir, kept: &[&str], depth: usize) -> Result<(), Errno> {
    for (name, kind) in entries(dir, depth)? {
        if name.to_str().is_ok_and(|name| kept.contains(&name)) {
            continue;
        }
        let here = dir.fd()?;
        match kind {
            FileType::RegularFile => gone(unlinkat(here, name.as_c_str(), AtFlags::empty()))?,
            FileType::Directory => {
                if let Some(mut below) = enter(here, name.as_c_str())? {
                    remove_below(&mut below, &[], depth + 1)?;
                }
                gone(unlinkat(here, name.as_c_str(), AtFlags::REMOVEDIR))?;
            }
            // It appeared after the check.
            _ => return Err(Errno::NOTEMPTY),
        }
    }
    Ok(())
}
