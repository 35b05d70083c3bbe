//! Walking directories: searching and listing, telling empty directories from prefixes, clearing and removing.
//!
//! A name that cannot be a segment of a key, our own files, and whatever is neither file, directory nor
//! link are no objects. A symbolic link is listed, so that whoever reads it is told that it is not followed:
//! leaving it out would make data look absent.

use std::ffi::CString;
use std::mem;
use std::os::fd::BorrowedFd;
use std::sync::PoisonError;

use nczarr_dispatch::{Durability, Key};
use nczarr_model::{ErrorKind, Result};
use rustix::fs::{AtFlags, Dir, DirEntry, FileType, Mode, OFlags, fsync, openat, statat, unlinkat};
use rustix::io::{Errno, retry_on_intr};

use super::{FileMap, beneath};
use crate::names::{self, LOCK};

/// More directories inside one another than any path can name.
const DEPTH: usize = 2048;

/// What an entry of a directory is to a map.
#[derive(PartialEq, Eq)]
enum Entry {
    Object,
    Directory,
    Nothing,
}

impl FileMap {
    /// The names below a prefix; with `verified` only those of directories below which there is an object.
    pub(super) fn entry_names(&self, prefix: &Key, verified: bool) -> Result<Vec<String>> {
        let fail = |errno| self.fail(prefix.as_str(), "search", errno);
        let mut names = Vec::new();
        let Some(mut dir) = self.open_dir(prefix.as_str())? else { return Ok(names) };
        while let Some(entry) = dir.read() {
            let entry = entry.map_err(fail)?;
            let Some(name) = segment(&entry) else { continue };
            let here = dir.fd().map_err(fail)?;
            let leads = match kind(here, &entry).map_err(fail)? {
                Entry::Object => true,
                Entry::Directory => !verified || leads(here, name).map_err(fail)?,
                Entry::Nothing => false,
            };
            if leads {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// The names below a prefix that can be no segments of keys, as text to show.
    pub(super) fn unnamable_entries(&self, prefix: &Key) -> Result<Vec<String>> {
        let fail = |errno| self.fail(prefix.as_str(), "search", errno);
        let mut found = Vec::new();
        let Some(mut dir) = self.open_dir(prefix.as_str())? else { return Ok(found) };
        while let Some(entry) = dir.read() {
            let entry = entry.map_err(fail)?;
            let Some(name) = names::unnamable(entry.file_name().to_bytes()) else { continue };
            match kind(dir.fd().map_err(fail)?, &entry).map_err(fail)? {
                Entry::Object => found.push(name),
                Entry::Directory => found.push(name + "/"),
                Entry::Nothing => {}
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    pub(super) fn list_keys(&self, prefix: &Key) -> Result<Vec<Key>> {
        if !prefix.is_root() && self.exists_object(prefix)? {
            return Ok(vec![prefix.clone()]);
        }
        let (mut keys, mut open) = (Vec::new(), vec![prefix.clone()]);
        while let Some(here) = open.pop() {
            let fail = |errno| self.fail(here.as_str(), "list", errno);
            let Some(mut dir) = self.open_dir(here.as_str())? else { continue };
            while let Some(entry) = dir.read() {
                let entry = entry.map_err(fail)?;
                let Some(name) = segment(&entry) else { continue };
                match kind(dir.fd().map_err(fail)?, &entry).map_err(fail)? {
                    Entry::Object => keys.push(here.join(name)?),
                    Entry::Directory => open.push(here.join(name)?),
                    Entry::Nothing => {}
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

    /// Whether there is an object somewhere below the directory `path`.
    pub(super) fn leads_to_object(&self, path: &str) -> Result<bool> {
        match self.open_dir(path)? {
            Some(dir) => leads_on(dir).map_err(|errno| self.fail(path, "search", errno)),
            None => Ok(false),
        }
    }

    /// The directory `path`; `None` if there is none.
    fn open_dir(&self, path: &str) -> Result<Option<Dir>> {
        match beneath::open(self.root(), path, beneath::LIST, Mode::empty()).and_then(Dir::new) {
            Ok(dir) => Ok(Some(dir)),
            Err(Errno::NOENT | Errno::NOTDIR) => self.want_root().map(|()| None),
            Err(errno) => Err(self.fail(path, "search", errno)),
        }
    }

    /// After a removal from the directory `path`: removes it, if it is empty, and those around it.
    ///
    /// Looking whether a directory is empty can take as long as it once was, so the more removals there were
    /// the less often it is tried; what is left over goes with the next sync. An empty directory is nothing.
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

    /// Removes what [`FileMap::thinned`] left over.
    pub(super) fn prune_thinned(&self) {
        if self.thinned.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            return;
        }
        let Some(_guard) = self.locks.try_lock_tree(self.root()) else { return };
        let thinned = mem::take(&mut *self.thinned.lock().unwrap_or_else(PoisonError::into_inner));
        // What lies deeper comes later, and takes with it what lies around it.
        for path in thinned.keys().rev() {
            self.prune_held(path);
        }
    }

    /// Removes the directory `path`, if it is empty, and those around it; whether it is gone.
    ///
    /// Left undone where others are at it.
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
            let Ok(dir) = beneath::open(self.root(), parent, beneath::PLACE, Mode::empty()) else { return gone };
            match unlinkat(&dir, name, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => gone = true,
                Err(_) => return gone,
            }
            self.touched(parent);
            path = parent;
        }
        gone
    }

    /// Notes that the entries of a directory changed.
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

    /// Makes sure the root is empty, deleting what is there if it is recognisably a dataset.
    pub(super) fn clear_for_new(&self, replace: Option<&[&str]>) -> Result<()> {
        let place = self.path.display();
        let fail = |errno| self.fail("", "list", errno);
        let Some(mut dir) = self.open_dir("")? else { return Ok(()) };
        let mut occupied = false;
        while let Some(entry) = dir.read() {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name().to_bytes();
            occupied |= !matches!(name, b"." | b"..") && !entry.file_name().to_str().is_ok_and(names::is_reserved);
        }
        if !occupied {
            return Ok(());
        }
        let Some(markers) = replace else {
            return Err(ErrorKind::Object.context(format!("{place} exists and is not empty")));
        };
        // Whether one is there, as far as it can be known.
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
                "{place} is not empty and not recognisably a dataset: it holds none of {}",
                markers.join(", ")
            )));
        }
        // The markers go last: a removal that was interrupted can be taken up again. The lock file stays.
        let last: Vec<&str> = markers.iter().copied().chain([LOCK]).collect();
        self.remove_tree(&last)?;
        self.remove_markers(markers)?;
        self.touched("");
        Ok(())
    }

    /// Removes from the root what is left when all else is gone.
    pub(super) fn remove_markers(&self, markers: &[&str]) -> Result<()> {
        for marker in markers {
            match unlinkat(&self.root, *marker, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(self.fail(marker, "remove", errno)),
            }
        }
        Ok(())
    }

    /// Deletes everything but the `kept` names in the root, if all of it is files and directories.
    pub(super) fn remove_tree(&self, kept: &[&str]) -> Result<()> {
        let fail = |errno| self.fail("", "remove what is below", errno);
        let Some(mut dir) = self.open_dir("")? else { return Ok(()) };
        if let Some(odd) = oddity(&mut dir, 0).map_err(fail)? {
            return Err(ErrorKind::CantRemove.context(format!(
                "{}: {odd:?} is neither file nor directory; nothing was removed",
                self.path.display()
            )));
        }
        let Some(mut dir) = self.open_dir("")? else { return Ok(()) };
        remove_below(&mut dir, kept, 0).map_err(fail)
    }
}

/// The entry's name, if it can be a segment of a key.
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

fn kind(dir: BorrowedFd<'_>, entry: &DirEntry) -> Result<Entry, Errno> {
    Ok(match file_type(dir, entry)? {
        Some(FileType::RegularFile | FileType::Symlink) => Entry::Object,
        Some(FileType::Directory) => Entry::Directory,
        _ => Entry::Nothing,
    })
}

/// A directory in `dir` itself, not behind a link; `None` if it is gone.
pub(super) fn enter(dir: BorrowedFd<'_>, name: impl rustix::path::Arg + Copy) -> Result<Option<Dir>, Errno> {
    match retry_on_intr(|| openat(dir, name, beneath::LIST | OFlags::NOFOLLOW, Mode::empty())).and_then(Dir::new) {
        Ok(dir) => Ok(Some(dir)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Whether there is an object somewhere below the directory `name`.
pub(super) fn leads(dir: BorrowedFd<'_>, name: &str) -> Result<bool, Errno> {
    enter(dir, name)?.map_or(Ok(false), leads_on)
}

fn leads_on(dir: Dir) -> Result<bool, Errno> {
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
            Entry::Object => return Ok(true),
            Entry::Directory => {
                if let Some(below) = enter(dir.fd()?, entry.file_name())? {
                    if open.len() >= DEPTH {
                        return Err(Errno::NAMETOOLONG);
                    }
                    open.push(below);
                }
            }
            Entry::Nothing => {}
        }
    }
    Ok(false)
}

/// Removes the directory `name` if nothing but empty directories and temporaries of ours is below it.
///
/// `ENOTEMPTY` otherwise. A temporary there may be one that is being written: its writer finds the place gone
/// and starts again.
pub(super) fn remove_hollow(dir: BorrowedFd<'_>, name: &str) -> Result<(), Errno> {
    if leads(dir, name)? {
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

/// All entries of a directory, read before any is removed.
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

/// A removal whose aim was reached before counts as done.
fn gone(removed: Result<(), Errno>) -> Result<(), Errno> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        Err(Errno::EXIST) => Err(Errno::NOTEMPTY),
        removed => removed,
    }
}

/// The path of the first thing below a directory that is neither file nor directory.
fn oddity(dir: &mut Dir, depth: usize) -> Result<Option<String>, Errno> {
    for (name, kind) in entries(dir, depth)? {
        let found = match kind {
            FileType::RegularFile => None,
            FileType::Directory => match enter(dir.fd()?, name.as_c_str())? {
                Some(mut below) => oddity(&mut below, depth + 1)?.map(|path| format!("/{path}")),
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
            // It came after everything was looked at.
            _ => return Err(Errno::NOTEMPTY),
        }
    }
    Ok(())
}
