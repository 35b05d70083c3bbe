//! [`FileMap`] on Linux: an open directory, and the map's methods.
//!
//! * `beneath` opens paths without following links.
//! * `read` reads objects with `fetch`; `open_files` caches files that are read in parts.
//! * `write` stores objects with `directory` and `stage`.
//! * `tree` walks directories; `lock` locks keys; `leftovers` cleans up after crashed writers.
//! * `version` detects changes.

mod beneath;
mod directory;
mod fetch;
mod leftovers;
mod lock;
mod memory;
mod open_file;
mod open_files;
mod read;
mod read_failure;
mod stage;
mod tree;
mod version;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::batch::{ReadJob, WriteJob};
use nczarr_storage::{
    Durability, Key, ListMode, MapCaps, MapOptions, ObjectInfo, OutBuf, Precondition, ReadOptions, UpdateFn,
    Version, WriteOutcome, ZMap,
};
use rustix::fs::{Access, AtFlags, Mode, accessat, open};
use rustix::io::Errno;

use directory::LastDirectory;
use lock::KeyLocks;
use open_files::OpenFileCache;

/// A dataset in a directory.
pub struct FileMap {
    path: PathBuf,
    root: OwnedFd,
    writable: bool,
    durability: Durability,
    locks: KeyLocks,
    kept: OpenFileCache,
    last: LastDirectory,
    /// The way to name new files; see `stage`.
    staging: AtomicU8,
    /// Whether the last unconditional write replaced an object.
    replacing: AtomicBool,
    /// Whether the last write had to make its directory.
    spreading: AtomicBool,
    /// Directories whose entries changed since their last sync.
    dirty: Mutex<BTreeSet<String>>,
    /// The number of objects removed from directories that may be empty now.
    thinned: Mutex<BTreeMap<String, u32>>,
}

impl FileMap {
    /// Opens the dataset in the directory `path`. Changes nothing. A directory without permission to list can
    /// still be read by names.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if the path does not exist, `NC_ENOTNC` if it is not a directory, `NC_EACCESS` without
    /// the necessary permissions.
    pub fn open(path: impl AsRef<Path>, writable: bool, options: &MapOptions) -> Result<Self> {
        let path = path.as_ref();
        let fail = |errno: Errno| Error::io(format!("cannot open {}", path.display()), errno.into());
        // An `O_PATH` handle is cheaper, but writers also lock and list the directory.
        let how = if writable { beneath::LIST } else { beneath::PLACE };
        let root = match open(path, how, Mode::empty()) {
            Err(Errno::NOTDIR) => {
                return Err(ErrorKind::NotNc.context(format!("{} is not a directory", path.display())));
            }
            root => root.map_err(fail)?,
        };
        if writable {
            accessat(&root, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).map_err(fail)?;
        }
        Ok(Self {
            path: path.to_owned(),
            root,
            writable,
            durability: options.durability,
            locks: KeyLocks::new(options.exclusive),
            kept: OpenFileCache::default(),
            last: LastDirectory::default(),
            staging: AtomicU8::new(0),
            replacing: AtomicBool::new(false),
            spreading: AtomicBool::new(false),
            dirty: Mutex::default(),
            thinned: Mutex::default(),
        })
    }

    /// Creates an empty dataset in the directory `path`, which may exist if it is empty.
    ///
    /// With `replace`, deletes the contents of the directory first, if its root has one of the given keys and
    /// it contains only files and directories.
    ///
    /// # Errors
    /// `NC_EOBJECT` if the directory is not empty and may not be replaced; `NC_EEXIST` if the path is not a
    /// directory; `NC_ENOTFOUND` if the parent directory does not exist.
    pub fn create(path: impl AsRef<Path>, replace: Option<&[&str]>, options: &MapOptions) -> Result<Self> {
        let path = path.as_ref();
        match fs::create_dir(path) {
            Ok(()) if options.durability == Durability::Fsync => {
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                fs::File::open(parent.unwrap_or(Path::new(".")))
                    .and_then(|parent| parent.sync_all())
                    .map_err(|error| {
                        Error::io(format!("cannot sync the parent directory of {}", path.display()), error)
                    })?;
            }
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let about = fs::metadata(path);
                if !about
                    .map_err(|error| Error::io(format!("cannot inspect {}", path.display()), error))?
                    .is_dir()
                {
                    return Err(
                        ErrorKind::Exist.context(format!("{} exists and is not a directory", path.display()))
                    );
                }
            }
            Err(error) => return Err(Error::io(format!("cannot create {}", path.display()), error)),
        }
        let map = Self::open(path, true, options)?;
        map.clear_for_new(replace)?;
        Ok(map)
    }

    /// Deletes the directory `path` and its contents.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if it does not exist; `NC_ENOTNC` if it is not a directory; `NC_ECANTREMOVE` if it
    /// contains anything except files and directories; then nothing is deleted.
    pub fn remove(path: impl AsRef<Path>) -> Result<()> {
        Self::remove_last(path.as_ref(), &[])
    }

    /// As [`FileMap::remove`], but deletes the markers last, so that an interrupted removal can be repeated.
    pub(crate) fn remove_last(path: &Path, markers: &[&str]) -> Result<()> {
        let map = Self::open(path, true, &MapOptions::default())?;
        map.remove_tree(markers)?;
        map.remove_markers(markers)?;
        let fail = |error| Error::io(format!("cannot remove {}", path.display()), error);
        // Resolves a symbolic link to the directory itself.
        let path = fs::canonicalize(path).map_err(fail)?;
        fs::remove_dir(path).map_err(fail)
    }

    /// Returns the directory of the dataset.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn dirty(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.dirty.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Returns the error of a system call on a key.
    fn fail(&self, key: &str, doing: &str, errno: Errno) -> Error {
        match errno {
            Errno::LOOP => self.refuse(key, "is or lies behind a symbolic link; links are not followed"),
            Errno::NXIO | Errno::SPIPE => self.refuse(key, "is not a regular file"),
            errno => Error::io(format!("{}: cannot {doing} key {key:?}", self.path.display()), errno.into()),
        }
    }

    fn refuse(&self, key: &str, why: &str) -> Error {
        ErrorKind::Access.context(format!("{}: key {key:?} {why}", self.path.display()))
    }

    /// Returns the error of a write that would make one object's key a prefix of another's.
    fn collision(&self, key: &str, why: &str) -> Error {
        ErrorKind::Object.context(format!("{}: key {key:?} {why}", self.path.display()))
    }

    fn want_writable(&self, doing: &str, key: &Key) -> Result<()> {
        if self.writable {
            return Ok(());
        }
        Err(ErrorKind::Perm.context(format!(
            "{}: cannot {doing} key {:?}: opened read-only",
            self.path.display(),
            key.as_str()
        )))
    }

    fn want_versions(&self, key: &Key) -> Result<()> {
        self.want_writable("conditionally write", key)?;
        if self.locks.is_supported(self.root()) {
            return Ok(());
        }
        Err(ErrorKind::Perm.context(format!(
            "{}: cannot conditionally write key {:?}: the file system refuses locks",
            self.path.display(),
            key.as_str()
        )))
    }
}

impl Drop for FileMap {
    fn drop(&mut self) {
        self.prune_thinned();
        self.locks.withdraw();
    }
}

impl fmt::Debug for FileMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileMap")
            .field("path", &self.path)
            .field("writable", &self.writable)
            .finish_non_exhaustive()
    }
}

impl ZMap for FileMap {
    fn caps(&self) -> MapCaps {
        MapCaps::new()
            .write(self.writable)
            .overwrite(self.writable)
            .delete(self.writable)
            .list(true)
            .range_read(true)
            .conditional_write(self.writable && self.locks.is_supported(self.root()))
            .versioned_parts(true)
            .parallel_writes(true)
            .max_segment(Some(crate::names::MAX_SEGMENT))
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        self.object_len(key)
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        if options.versioned {
            self.want_versions(key)?;
        }
        let found = self.read_vec(key, options.range, out, options.versioned)?;
        Ok(found.map(|mark| ObjectInfo::new(mark.map(Version::scarce))))
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        self.read_out(key, offset, out)
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        match mode {
            ListMode::Children => self.entry_names(prefix, true).map(Some),
            ListMode::PossibleChildren => self.entry_names(prefix, false).map(Some),
            ListMode::InvalidNames => self.unnamable_entries(prefix).map(Some),
            ListMode::Keys => self.list_keys(prefix).map(Some),
            _ => Ok(None),
        }
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        self.put_one(key, value, self.intent(key, expect)?)
    }

    fn update(&self, key: &Key, limit: usize, change: &mut UpdateFn<'_>) -> Result<()> {
        self.change(key, limit, change)
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        self.delete_object(key)
    }

    fn rename(&self, from: &Key, to: &Key) -> Result<()> {
        self.rename_all(from, to)
    }

    fn sync(&self) -> Result<()> {
        self.kept.clear();
        self.last.clear();
        self.sync_dirs()
    }

    /// Releases files and locks, but keeps the directory, so that later calls still work.
    fn close(&self) -> Result<()> {
        let synced = self.sync();
        self.locks.release();
        synced
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        self.serve_reads(job);
    }

    fn write_batch(&self, job: &dyn WriteJob) {
        self.serve_writes(job);
    }
}
