//! [`FileMap`] over [`std::fs`] alone, for systems other than Linux.
//!
//! It has the same guarantees at a higher cost. Paths are checked segment by segment. All changes take one
//! lock of the whole dataset. A version is a copy of the bytes; equal bytes make equal versions, which is
//! harmless. A link that is placed in a path after its check is not noticed.

mod dirs;

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::{
    ByteRange, Durability, Key, ListMode, MapCaps, MapOptions, ObjectInfo, Precondition, ReadOptions,
    UpdateFn, Version, WriteOutcome, ZMap,
};

use crate::names::{self, LOCK};
use dirs::{
    entries, first_special_file, gone, is_absence, is_special, leads, remove_hollow, remove_temporaries,
};

/// A dataset in a directory.
#[derive(Debug)]
pub struct FileMap {
    path: PathBuf,
    writable: bool,
    durability: Durability,
    exclusive: bool,
    changing: Mutex<()>,
}

/// The bytes of an object when it was read.
struct BytesVersion(Vec<u8>);

/// Locks the dataset against other threads and processes; closing the file unlocks.
struct DatasetGuard<'m> {
    file: Option<File>,
    _held: MutexGuard<'m, ()>,
}

/// The kind of file at a path.
enum PathKind {
    Nothing,
    Object(u64),
    Directory,
}

impl FileMap {
    /// Opens the dataset in the directory `path`. Changes nothing.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if the path does not exist, `NC_ENOTNC` if it is not a directory, `NC_EACCESS` if it is
    /// read-only and `writable` is set.
    pub fn open(path: impl AsRef<Path>, writable: bool, options: &MapOptions) -> Result<Self> {
        let path = path.as_ref();
        let fail = |error| Error::io(format!("cannot open {}", path.display()), error);
        let about = fs::metadata(path).map_err(fail)?;
        if !about.is_dir() {
            return Err(ErrorKind::NotNc.context(format!("{} is not a directory", path.display())));
        }
        if writable && about.permissions().readonly() {
            return Err(fail(io::ErrorKind::PermissionDenied.into()));
        }
        Ok(Self {
            path: path.to_owned(),
            writable,
            durability: options.durability,
            exclusive: options.exclusive,
            changing: Mutex::default(),
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
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !path.is_dir() => {
                return Err(
                    ErrorKind::Exist.context(format!("{} exists and is not a directory", path.display()))
                );
            }
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Error::io(format!("cannot create {}", path.display()), error));
            }
            _ => {}
        }
        let map = Self::open(path, true, options)?;
        let names = entries(path).map_err(|error| map.fail("", "list", error))?;
        if names.iter().all(|(name, _)| name.to_str().is_some_and(names::is_reserved)) {
            return Ok(map);
        }
        let Some(markers) = replace else {
            return Err(ErrorKind::Object.context(format!("{} exists and is not empty", path.display())));
        };
        let is_file =
            |marker: &&str| fs::symlink_metadata(path.join(marker)).is_ok_and(|about| about.is_file());
        if !markers.iter().any(is_file) {
            return Err(ErrorKind::Object.context(format!(
                "{} is not empty and not a recognised dataset (expected one of {})",
                path.display(),
                markers.join(", ")
            )));
        }
        // The markers go last, so that an interrupted removal can be repeated.
        map.remove_tree(markers)?;
        map.remove_markers(markers)?;
        Ok(map)
    }

    /// Removes the markers from the root.
    fn remove_markers(&self, markers: &[&str]) -> Result<()> {
        for marker in markers {
            gone(fs::remove_file(self.path.join(marker)))
                .map_err(|error| self.fail(marker, "remove", error))?;
        }
        Ok(())
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
        fs::remove_dir(fs::canonicalize(path).map_err(fail)?).map_err(fail)
    }

    /// Returns the directory of the dataset.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn fail(&self, key: &str, doing: &str, error: io::Error) -> Error {
        Error::io(format!("{}: cannot {doing} key {key:?}", self.path.display()), error)
    }

    fn refuse(&self, kind: ErrorKind, key: &Key, why: &str) -> Error {
        kind.context(format!("{}: key {:?} {why}", self.path.display(), key.as_str()))
    }

    fn place(&self, key: &Key) -> PathBuf {
        let mut path = self.path.clone();
        path.extend(key.segments());
        path
    }

    /// Returns the kind of file at a key, without following links.
    fn path_kind(&self, key: &Key) -> Result<PathKind> {
        if names::has_reserved(key) || key.segments().any(is_special) {
            return Ok(PathKind::Nothing);
        }
        if !self.path.is_dir() {
            return Err(ErrorKind::NotFound.context(format!("{} has been removed", self.path.display())));
        }
        let (mut path, mut there) = (self.path.clone(), PathKind::Directory);
        for segment in key.segments() {
            let PathKind::Directory = there else { return Ok(PathKind::Nothing) };
            path.push(segment);
            there = match fs::symlink_metadata(&path) {
                Ok(about) if about.is_dir() => PathKind::Directory,
                Ok(about) if about.is_file() => PathKind::Object(about.len()),
                Ok(_) => {
                    return Err(self.refuse(ErrorKind::Access, key, "is or lies behind a special file"));
                }
                Err(error) if is_absence(&error) => return Ok(PathKind::Nothing),
                Err(error) => return Err(self.fail(key.as_str(), "look at", error)),
            };
        }
        Ok(there)
    }

    /// Returns the length of an object; `NC_EEMPTY` for a prefix.
    fn find(&self, key: &Key) -> Result<Option<u64>> {
        match self.path_kind(key)? {
            PathKind::Nothing => Ok(None),
            PathKind::Object(len) => Ok(Some(len)),
            PathKind::Directory if self.leads(key)? => {
                Err(self.refuse(ErrorKind::Empty, key, "is a prefix of objects, not an object"))
            }
            PathKind::Directory => Ok(None),
        }
    }

    fn leads(&self, key: &Key) -> Result<bool> {
        leads(&self.place(key)).map_err(|error| self.fail(key.as_str(), "search", error))
    }

    /// Returns the names below a prefix; with `verified` only directories that contain objects.
    fn entry_names(&self, prefix: &Key, verified: bool) -> Result<Vec<String>> {
        let PathKind::Directory = self.path_kind(prefix)? else { return Ok(Vec::new()) };
        let fail = |error| self.fail(prefix.as_str(), "search", error);
        let place = self.place(prefix);
        let mut names = Vec::new();
        for (name, is_dir) in entries(&place).map_err(fail)? {
            let Some(name) = name.to_str().filter(|name| names::is_segment(name)) else { continue };
            if is_dir != Some(true) || !verified || leads(&place.join(name)).map_err(fail)? {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns the names below a prefix that cannot be segments of keys, as text to show.
    fn unnamable_entries(&self, prefix: &Key) -> Result<Vec<String>> {
        let PathKind::Directory = self.path_kind(prefix)? else { return Ok(Vec::new()) };
        let entries =
            entries(&self.place(prefix)).map_err(|error| self.fail(prefix.as_str(), "search", error))?;
        let shown = |(name, is_dir): &(OsString, Option<bool>)| {
            let leads = if (*is_dir)? { "/" } else { "" };
            Some(names::unnamable(name.as_encoded_bytes())? + leads)
        };
        let mut found: Vec<String> = entries.iter().filter_map(shown).collect();
        found.sort_unstable();
        Ok(found)
    }

    fn want(&self, key: &Key, doing: &str) -> Result<()> {
        if !self.writable {
            return Err(self.refuse(ErrorKind::Perm, key, &format!("cannot be {doing}: opened read-only")));
        }
        Ok(())
    }

    fn want_name(&self, key: &Key) -> Result<()> {
        if key.is_root() {
            return Err(self.refuse(ErrorKind::Object, key, "is the root and cannot hold an object"));
        }
        if names::has_reserved(key) || key.segments().any(is_special) {
            return Err(self.refuse(ErrorKind::Inval, key, "has a name that is not possible on this system"));
        }
        Ok(())
    }

    fn hold(&self) -> io::Result<DatasetGuard<'_>> {
        let held = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.exclusive {
            return Ok(DatasetGuard { file: None, _held: held });
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(self.path.join(LOCK))?;
        file.lock()?;
        // Temporary files are made only under this lock, so a mark means that their maker crashed.
        if file.metadata()?.len() > 0 {
            remove_temporaries(&self.path)?;
            file.set_len(0)?;
        }
        Ok(DatasetGuard { file: Some(file), _held: held })
    }

    /// Writes an object, if it has the expected state.
    fn put(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<bool> {
        self.want(key, "written")?;
        self.want_name(key)?;
        let guard = self.hold().map_err(|error| self.fail(key.as_str(), "lock", error))?;
        let mark = |len| guard.file.as_ref().map_or(Ok(()), |file| file.set_len(len));
        mark(1).map_err(|error| self.fail(key.as_str(), "write", error))?;
        let done = self.put_held(key, value, expect);
        // Removes the mark in any case; if that fails, the next writer searches once more.
        let _ = mark(0);
        drop(guard);
        done
    }

    fn put_held(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<bool> {
        let there = self.path_kind(key)?;
        if let PathKind::Directory = there {
            if self.leads(key)? {
                return Err(self.refuse(ErrorKind::Object, key, "is a prefix of objects"));
            }
            remove_hollow(&self.place(key))
                .map_err(|error| self.fail(key.as_str(), "clear the place of", error))?;
        }
        let expected = match expect {
            Precondition::Any => true,
            Precondition::Absent => !matches!(there, PathKind::Object(_)),
            Precondition::Unchanged(version) => {
                let Some(BytesVersion(bytes)) = version.get() else {
                    return Err(self.refuse(ErrorKind::Inval, key, "got a version of another map"));
                };
                let mut now = Vec::new();
                matches!(there, PathKind::Object(_))
                    && self.read_range(key, ByteRange::ALL, &mut now)?
                    && now == *bytes
            }
        };
        if !expected {
            return Ok(false);
        }
        let place = self.place(key);
        let fail = |error| self.fail(key.as_str(), "write", error);
        let Some(dir) = place.parent() else { return Err(fail(io::ErrorKind::InvalidInput.into())) };
        self.make_dirs(key)?;
        let temporary = dir.join(names::temporary());
        let written = self.write_file(&temporary, value).and_then(|()| fs::rename(&temporary, &place));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written.map(|()| true).map_err(fail)
    }

    fn write_file(&self, path: &Path, value: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all(value)?;
        if self.durability == Durability::Fsync { file.sync_all() } else { Ok(()) }
    }

    /// Makes the directories of a key.
    fn make_dirs(&self, key: &Key) -> Result<()> {
        let mut here = Key::root();
        let segments: Vec<&str> = key.segments().collect();
        for segment in segments.iter().take(segments.len().saturating_sub(1)) {
            here.push(segment)?;
            match self.path_kind(&here)? {
                PathKind::Directory => {}
                PathKind::Object(_) => {
                    return Err(self.refuse(ErrorKind::Object, key, "lies below an object"));
                }
                PathKind::Nothing => match fs::create_dir(self.place(&here)) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(self.fail(key.as_str(), "make the directories of", error));
                    }
                    _ => {}
                },
            }
        }
        Ok(())
    }

    /// Removes empty directories from `key` upwards.
    fn prune(&self, key: &Key) {
        let mut here = key.parent();
        while let Some(dir) = here.filter(|dir| !dir.is_root()) {
            if fs::remove_dir(self.place(&dir)).is_err() {
                return;
            }
            here = dir.parent();
        }
    }

    fn remove_tree(&self, kept: &[&str]) -> Result<()> {
        let fail = |error| self.fail("", "remove the contents", error);
        if let Some(odd) = first_special_file(&self.path).map_err(fail)? {
            return Err(ErrorKind::CantRemove.context(format!(
                "{}: {} is neither a file nor a directory; nothing was removed",
                self.path.display(),
                odd.display()
            )));
        }
        for (name, is_dir) in entries(&self.path).map_err(fail)? {
            let path = self.path.join(&name);
            if name.to_str().is_some_and(|name| kept.contains(&name)) {
                continue;
            }
            gone(if is_dir == Some(true) { fs::remove_dir_all(path) } else { fs::remove_file(path) })
                .map_err(fail)?;
        }
        Ok(())
    }

    fn read_range(&self, key: &Key, range: ByteRange, out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        if self.find(key)?.is_none() {
            return Ok(false);
        }
        let mut read = || {
            let mut file = File::open(self.place(key))?;
            let len = file.metadata()?.len();
            if range.offset < len {
                file.seek(SeekFrom::Start(range.offset))?;
                file.take(range.len.unwrap_or(u64::MAX)).read_to_end(out)?;
            }
            Ok(())
        };
        match read() {
            Ok(()) => Ok(true),
            Err(error) if is_absence(&error) => Ok(false),
            Err(error) => Err(self.fail(key.as_str(), "read", error)),
        }
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
            .conditional_write(self.writable)
            .parallel_writes(true)
            .max_segment(Some(names::MAX_SEGMENT))
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        self.find(key)
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        if !options.versioned {
            return Ok(self.read_range(key, options.range, out)?.then(ObjectInfo::default));
        }
        self.want(key, "conditionally written")?;
        if !self.read_range(key, ByteRange::ALL, out)? {
            return Ok(None);
        }
        let wanted = options.range.cut(out).to_vec();
        let mark = BytesVersion(std::mem::replace(out, wanted));
        Ok(Some(ObjectInfo::new(Some(Version::new(mark)))))
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        match mode {
            ListMode::Children => self.entry_names(prefix, true).map(Some),
            ListMode::PossibleChildren => self.entry_names(prefix, false).map(Some),
            ListMode::InvalidNames => self.unnamable_entries(prefix).map(Some),
            _ => Ok(None),
        }
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        let done = self.put(key, value, expect)?;
        let version = || Version::new(BytesVersion(value.to_vec()));
        Ok(match expect {
            _ if !done => WriteOutcome::Conflict,
            Precondition::Any => WriteOutcome::Done(None),
            Precondition::Absent | Precondition::Unchanged(_) => WriteOutcome::Done(Some(version())),
        })
    }

    fn update(&self, key: &Key, limit: usize, change: &mut UpdateFn<'_>) -> Result<()> {
        self.want(key, "changed")?;
        self.want_name(key)?;
        let _guard = self.hold().map_err(|error| self.fail(key.as_str(), "lock", error))?;
        let (mut old, mut new) = (Vec::new(), Vec::new());
        let found = self.read_range(key, ByteRange::first((limit as u64).saturating_add(1)), &mut old)?;
        if old.len() > limit {
            return Err(self.refuse(
                ErrorKind::Io,
                key,
                &format!("is too long (expected at most {limit} bytes)"),
            ));
        }
        change(found.then_some(&old), &mut new)?;
        self.put_held(key, &new, &Precondition::Any).map(|_| ())
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        self.want(key, "deleted")?;
        let PathKind::Object(_) = self.path_kind(key)? else { return Ok(false) };
        let _guard = self.hold().map_err(|error| self.fail(key.as_str(), "lock", error))?;
        match fs::remove_file(self.place(key)) {
            Ok(()) => {}
            Err(error) if is_absence(&error) => return Ok(false),
            Err(error) => return Err(self.fail(key.as_str(), "delete", error)),
        }
        self.prune(key);
        Ok(true)
    }

    fn rename(&self, from: &Key, to: &Key) -> Result<()> {
        self.want(from, "moved")?;
        if from.is_root() || to.is_root() {
            return Err(self.refuse(
                ErrorKind::Inval,
                from,
                &format!("cannot be moved to {:?}", to.as_str()),
            ));
        }
        self.want_name(from)?;
        self.want_name(to)?;
        let _guard = self.hold().map_err(|error| self.fail(from.as_str(), "lock", error))?;
        let nested = from == to || to.relative_to(from).is_some() || from.relative_to(to).is_some();
        let taken = match self.path_kind(to)? {
            PathKind::Nothing => false,
            PathKind::Object(_) => true,
            PathKind::Directory => self.leads(to)?,
        };
        if nested || taken {
            return Err(self.refuse(ErrorKind::Object, to, "already exists"));
        }
        match self.path_kind(from)? {
            PathKind::Nothing => return Ok(()),
            PathKind::Directory if !self.leads(from)? => return Ok(()),
            _ => {}
        }
        self.make_dirs(to)?;
        if let PathKind::Directory = self.path_kind(to)? {
            remove_hollow(&self.place(to))
                .map_err(|error| self.fail(to.as_str(), "clear the place of", error))?;
        }
        fs::rename(self.place(from), self.place(to))
            .map_err(|error| self.fail(from.as_str(), "move", error))?;
        self.prune(from);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use nczarr_storage::ZMapExt;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn the_map_passes_the_suite() {
        let (scratch, count) = (tempfile::tempdir().unwrap(), AtomicUsize::new(0));
        let path = || scratch.path().join(count.fetch_add(1, Ordering::Relaxed).to_string());
        nczarr_conformance::check_map(&|| {
            Arc::new(FileMap::create(path(), None, &MapOptions::default()).unwrap())
        })
        .unwrap();
        nczarr_conformance::check_map(&|| {
            let path = path();
            drop(FileMap::create(&path, None, &MapOptions::default()).unwrap());
            Arc::new(FileMap::open(&path, false, &MapOptions::default()).unwrap())
        })
        .unwrap();
    }

    #[test]
    fn only_recognised_datasets_are_replaced_or_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("it");
        let create = |markers| FileMap::create(&path, markers, &MapOptions::default());
        create(None).unwrap().write(&Key::new("a/b").unwrap(), b"1").unwrap();
        assert_eq!(create(None).unwrap_err().kind(), ErrorKind::Object);
        assert_eq!(create(Some(&["a"])).unwrap_err().kind(), ErrorKind::Object);
        fs::write(path.join("mark"), b"").unwrap();
        let map = create(Some(&["mark"])).unwrap();
        assert!(map.keys(&Key::root()).unwrap().is_empty());
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("/", path.join("link")).unwrap();
            assert_eq!(map.len(&Key::new("link").unwrap()).unwrap_err().kind(), ErrorKind::Access);
            assert_eq!(FileMap::remove(&path).unwrap_err().kind(), ErrorKind::CantRemove);
            fs::remove_file(path.join("link")).unwrap();
        }
        FileMap::remove(&path).unwrap();
        assert!(!map.path().exists());
        assert_eq!(map.len(&Key::new("a").unwrap()).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
