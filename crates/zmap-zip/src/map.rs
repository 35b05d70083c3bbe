//! [`ZipMap`]: the map's methods over an archive.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLockReadGuard};

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::batch::ReadJob;
use nczarr_storage::source::{ByteSource, SharedBytes};
use nczarr_storage::{
    ByteRange, Key, Limits, ListMode, MapCaps, MapOptions, ObjectInfo, OutBuf, Precondition, ReadOptions,
    Version, WriteOutcome, ZMap,
};

use crate::append::{Appender, ForeignMember};
use crate::archive_file::{self, LockedArchive};
use crate::batch;
use crate::directory::{Directory, KeyFolder};
use crate::index::{ExpectedMember, FoundMember, IndexChange, MemberIndex};
use crate::listing::{MemberEntry, MemberStorage};
use crate::member::{MemberBytes, MemberReader};
use crate::persist::Persist;
use crate::records::{MAX_NAME, MemberRecord};
use crate::remote;
use crate::repack;
use crate::scratch::Scratch;
use crate::source::{self, ArchiveSource};

/// A dataset in a zip archive.
pub struct ZipMap {
    name: String,
    /// The folder of the keys, with a trailing `/`; empty for the root.
    folder: String,
    index: MemberIndex,
    /// Names of objects that no key can have, relative to the folder.
    unnamable: Vec<Vec<u8>>,
    members: MemberReader,
    /// The writer; `None` if the map is read-only.
    appender: Option<Appender>,
    /// Whether the archive is in memory.
    in_memory: bool,
    /// The file to write when the map is closed.
    persist: Mutex<Option<Persist>>,
    /// A number that is unique in the process: versions belong to one archive.
    id: u64,
}

/// The version of one object.
#[derive(PartialEq, Eq)]
struct ZipVersion {
    archive: u64,
    at: u64,
}

impl ZipMap {
    /// Opens the archive in a file. `markers` determine the folder of the keys: see [`ZipMap::folder`].
    ///
    /// # Errors
    /// `NC_ENOTNC` if it is not an archive; `NC_EPERM` if it cannot be written, or another process writes it.
    pub fn open(
        path: &Path,
        folder: Option<&str>,
        markers: &[&str],
        writable: bool,
        options: &MapOptions,
    ) -> Result<Self> {
        let name = path.display().to_string();
        let folder = folder.map_or(KeyFolder::With(markers), KeyFolder::Named);
        // The lock is released at once if reading fails.
        let held = if writable { Some(archive_file::claim(path)?) } else { None };
        let file = match &held {
            Some(held) => Arc::clone(&held.file),
            None => Arc::new(archive_file::open(path, false)?),
        };
        let source = ArchiveSource::File(Arc::clone(&file));
        Self::over(name, source, &folder, writable.then_some(file), options)
    }

    /// Reads a locked archive.
    pub(crate) fn look(held: &LockedArchive, markers: &[&str], options: &MapOptions) -> Result<Self> {
        let source = ArchiveSource::File(Arc::clone(&held.file));
        Self::over(held.path.display().to_string(), source, &KeyFolder::With(markers), None, options)
    }

    /// Opens an archive in memory for reading.
    ///
    /// # Errors
    /// `NC_ENOTNC` if it is not an archive.
    pub fn from_bytes(bytes: impl Into<SharedBytes>, markers: &[&str], limits: &Limits) -> Result<Self> {
        let mut options = MapOptions::default();
        options.limits = limits.clone();
        Self::in_memory(bytes, None, markers, false, &options)
    }

    /// Opens an archive in memory; `folder` and `markers` as in [`ZipMap::open`]. Writes go to a copy:
    /// [`ZMap::image`] returns an archive of all objects, each once.
    ///
    /// # Errors
    /// `NC_ENOTNC` if it is not an archive; errors of the system if there is no memory for a copy.
    pub fn in_memory(
        bytes: impl Into<SharedBytes>,
        folder: Option<&str>,
        markers: &[&str],
        writable: bool,
        options: &MapOptions,
    ) -> Result<Self> {
        let (name, bytes) = ("an archive in memory".to_owned(), bytes.into());
        let folder = folder.map_or(KeyFolder::With(markers), KeyFolder::Named);
        let mut map = if writable {
            let file = source::file_in_memory(&bytes).map_err(|error| Error::io(&name, error))?;
            let file = Arc::new(file);
            Self::over(name, ArchiveSource::File(Arc::clone(&file)), &folder, Some(file), options)?
        } else {
            Self::over(name, ArchiveSource::Memory(bytes), &folder, None, options)?
        };
        map.in_memory = true;
        Ok(map)
    }

    /// Reads an archive into memory, with the arguments of [`ZipMap::open`]. With `persist`, a writable
    /// archive replaces the file when the map is closed; no other process can write it until then.
    ///
    /// # Errors
    /// As [`ZipMap::open`]; errors of the system if there is no memory.
    pub fn open_in_memory(
        path: &Path,
        folder: Option<&str>,
        markers: &[&str],
        writable: bool,
        persist: bool,
        options: &MapOptions,
    ) -> Result<Self> {
        let held = if writable && persist { Some(archive_file::claim(path)?) } else { None };
        let file = match &held {
            Some(held) => Arc::clone(&held.file),
            None => Arc::new(archive_file::open(path, false)?),
        };
        let name = path.display().to_string();
        let fail = |error| Error::io(&name, error);
        let mut map = if writable {
            let copy = Arc::new(source::copy_in_memory(&file).map_err(fail)?);
            let folder = folder.map_or(KeyFolder::With(markers), KeyFolder::Named);
            Self::over(name, ArchiveSource::File(Arc::clone(&copy)), &folder, Some(copy), options)?
        } else {
            let mut bytes = Vec::new();
            (&*file).read_to_end(&mut bytes).map_err(fail)?;
            Self::in_memory(bytes, folder, markers, false, options)?
        };
        drop(file);
        map.in_memory = true;
        map.persist = Mutex::new(held.map(|held| Persist::to_opened(held, options)));
        Ok(map)
    }

    /// Makes an empty archive in memory.
    pub(crate) fn create_in_memory(
        folder: &str,
        persist: Option<Persist>,
        options: &MapOptions,
    ) -> Result<Self> {
        let nothing: [(Key, &[u8]); 0] = [];
        let mut map = Self::in_memory(repack::archive(nothing)?, Some(folder), &[], true, options)?;
        map.persist = Mutex::new(persist);
        Ok(map)
    }

    /// Opens a remote archive for reading; `folder` and `markers` as in [`ZipMap::open`]. `name` is used in
    /// messages.
    ///
    /// # Errors
    /// `NC_ENOTNC` if it is not an archive; errors of the storage.
    pub fn open_remote(
        name: String,
        source: Arc<dyn ByteSource>,
        folder: Option<&str>,
        markers: &[&str],
        options: &MapOptions,
    ) -> Result<Self> {
        let folder = folder.map_or(KeyFolder::With(markers), KeyFolder::Named);
        Self::over(name, ArchiveSource::Remote(source), &folder, None, options)
    }

    /// Makes an empty archive for writing, with keys in `folder`. With `replace` it replaces an existing
    /// file.
    ///
    /// # Errors
    /// `NC_EEXIST` if a file exists that may not be replaced; errors of the system.
    pub fn create(path: &Path, folder: &str, replace: bool, options: &MapOptions) -> Result<Self> {
        let old = if replace { archive_file::claim_old(path)? } else { None };
        Self::create_over(path, folder, old, options)
    }

    /// Makes an empty archive in place of an old one.
    pub(crate) fn create_over(
        path: &Path,
        folder: &str,
        old: Option<LockedArchive>,
        options: &MapOptions,
    ) -> Result<Self> {
        let (file, folder) = (Arc::new(archive_file::create(path, old, options)?), KeyFolder::Named(folder));
        Self::over(
            path.display().to_string(),
            ArchiveSource::File(Arc::clone(&file)),
            &folder,
            Some(file),
            options,
        )
    }

    fn over(
        name: String,
        source: ArchiveSource,
        folder: &KeyFolder<'_>,
        file: Option<Arc<File>>,
        options: &MapOptions,
    ) -> Result<Self> {
        static ARCHIVES: AtomicU64 = AtomicU64::new(0);
        let directory = Directory::read(&source, folder, &options.limits).map_err(|error| error.at(&name))?;
        let appender = file.map(|file| Appender::new(file, &source, &directory, options)).transpose();
        let appender = appender.map_err(|error| error.at(&name))?;
        Ok(Self {
            name,
            folder: directory.folder,
            unnamable: directory.unnamable,
            index: MemberIndex::new(directory.entries, appender.is_some()),
            members: MemberReader::new(source, directory.end, directory.archive),
            appender,
            in_memory: false,
            persist: Mutex::new(None),
            id: ARCHIVES.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// Returns the folder of the keys; empty for the root of the archive.
    ///
    /// It is the root if that has an object with the name of a marker; else the outermost folder that
    /// contains everything and has one, as when a directory was packed with its name.
    pub fn folder(&self) -> &str {
        self.folder.trim_end_matches('/')
    }

    /// Returns the path of the file, or the name of the archive.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(&self.name)
    }

    /// Calls `take` for all members with their bytes, in key order.
    pub(crate) fn each(&self, mut take: impl FnMut(&str, Vec<u8>) -> Result<()>) -> Result<()> {
        for key in self.index.list("") {
            let Some(entry) = self.index.get(&key) else { continue };
            let mut bytes = Vec::new();
            let read = self.members.append(&entry, ByteRange::ALL, &mut bytes);
            read.and_then(|()| take(&key, bytes)).map_err(|error| self.named(error, &key))?;
        }
        Ok(())
    }

    /// Returns the comment of the archive.
    pub(crate) fn comment(&self) -> &[u8] {
        self.appender.as_ref().map_or(&[], Appender::comment)
    }

    /// Returns the members that are not objects with their directory records, and their reader, for a rewrite
    /// of the archive.
    pub(crate) fn others(&self) -> Result<(&MemberReader, Vec<ForeignMember<'_>>)> {
        let others = self.appender.as_ref().map(Appender::others).transpose()?;
        Ok((&self.members, others.unwrap_or_default()))
    }

    #[cfg(test)]
    pub(crate) fn appender(&self) -> &Appender {
        self.appender.as_ref().unwrap()
    }

    fn named(&self, error: Error, key: &str) -> Error {
        error.at(format_args!("{}: key {key:?}", self.name))
    }

    fn error(&self, kind: ErrorKind, key: &Key, what: &str) -> Error {
        self.named(kind.context(what), key.as_str())
    }

    pub(crate) fn find(&self, key: &Key) -> Result<Option<FoundMember<'_>>> {
        let found = self.index.get(key.as_str());
        if found.is_none() && self.index.leads(key.as_str()) {
            return Err(self.error(ErrorKind::Empty, key, "a prefix of objects, not an object"));
        }
        Ok(found)
    }

    /// Prevents closing of a writable archive.
    pub(crate) fn stay_open(&self, doing: &str, key: &Key) -> Result<Option<RwLockReadGuard<'_, bool>>> {
        self.appender.as_ref().map(|_| Ok(self.writer(doing, key)?.1)).transpose()
    }

    /// Returns the version of a member.
    pub(crate) fn version(&self, entry: &MemberEntry) -> Version {
        Version::comparable(ZipVersion { archive: self.id, at: entry.at })
    }

    /// Returns a range of a member, up to its end, if it is in memory.
    pub(crate) fn lend(
        &self,
        key: &Key,
        entry: &MemberEntry,
        range: ByteRange,
    ) -> Result<Option<MemberBytes<'_>>> {
        self.members.lend(entry, range).map_err(|error| self.named(error, key.as_str()))
    }

    /// Appends a range of a member, up to its end, to memory that is used again.
    pub(crate) fn append_to_scratch(
        &self,
        key: &Key,
        entry: &MemberEntry,
        range: ByteRange,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let read = self.members.append_to_scratch(entry, range, scratch);
        read.map_err(|error| self.named(error, key.as_str()))
    }

    /// Fills `out` from `offset` on, up to the end of the member.
    pub(crate) fn fill(
        &self,
        key: &Key,
        entry: &MemberEntry,
        offset: u64,
        out: &mut OutBuf<'_>,
    ) -> Result<()> {
        self.members.read_into(entry, offset, out).map_err(|error| self.named(error, key.as_str()))
    }

    /// Returns the writer, and a guard that prevents closing.
    fn writer(&self, doing: &str, key: &Key) -> Result<(&Appender, RwLockReadGuard<'_, bool>)> {
        match &self.appender {
            Some(appender) => match appender.enter() {
                Some(open) => Ok((appender, open)),
                None => {
                    Err(self.error(ErrorKind::BadId, key, &format!("cannot {doing}; the archive is closed")))
                }
            },
            None => {
                Err(self.error(ErrorKind::Perm, key, &format!("cannot {doing}; the archive is read-only")))
            }
        }
    }

    /// Returns the names directly below a prefix that no key can have, as text to show.
    fn unnamable_below(&self, prefix: &Key) -> Vec<String> {
        let mut found: Vec<String> =
            self.unnamable.iter().filter_map(|name| unnamable_below(name, prefix)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    fn put(&self, key: &Key, value: &[u8], before: ExpectedMember) -> Result<WriteOutcome> {
        let (appender, _open) = self.writer("write", key)?;
        if key.is_root() {
            return Err(self.error(ErrorKind::Object, key, "the root cannot hold an object"));
        }
        let name = format!("{}{key}", self.folder);
        if name.len() > MAX_NAME {
            let what =
                format!("the name is too long (expected at most {MAX_NAME} bytes, found {})", name.len());
            return Err(self.error(ErrorKind::Inval, key, &what));
        }
        let collides = || self.error(ErrorKind::Object, key, "is a prefix of an object or lies below one");
        // Checks first, so that no bytes are wasted.
        match self.index.admits(key.as_str(), before) {
            IndexChange::Done => {}
            IndexChange::Lost => return Ok(WriteOutcome::Conflict),
            IndexChange::Collision => return Err(collides()),
        }
        let crc = crc32fast::hash(value);
        let len = value.len() as u64;
        let at = appender.append(&name, value, crc).map_err(|error| self.named(error, key.as_str()))?;
        let entry = MemberEntry::new(at, len, len, crc, MemberStorage::Stored, None);
        entry.set_data(at + crate::records::local_len(&name, len));
        match self.index.put(key.as_str(), entry, before) {
            IndexChange::Done => {
                appender.changed();
                Ok(WriteOutcome::Done(Some(Version::comparable(ZipVersion { archive: self.id, at }))))
            }
            IndexChange::Lost => Ok(WriteOutcome::Conflict),
            IndexChange::Collision => Err(collides()),
        }
    }

    /// Writes the last directory.
    fn end(&self) -> Result<()> {
        match &self.appender {
            Some(appender) => appender.close(|| self.save(appender)).map_err(|error| error.at(&self.name)),
            None => Ok(()),
        }
    }

    fn lock_persist(&self) -> MutexGuard<'_, Option<Persist>> {
        self.persist.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has no objects.
    pub(crate) fn is_empty(&self) -> bool {
        self.index.search("").is_empty()
    }

    /// Writes a directory of the current members, if they changed since the last one.
    fn save(&self, appender: &Appender) -> Result<()> {
        let saved = appender.save(|out| {
            self.index.each(|key, entry| {
                let name = format!("{}{key}", self.folder);
                out.add(
                    entry.central,
                    &MemberRecord { name: &name, at: entry.at, len: entry.len, crc: entry.crc },
                )
            })
        });
        saved.map_err(|error| error.at(&self.name))
    }
}

impl fmt::Debug for ZipMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZipMap")
            .field("name", &self.name)
            .field("folder", &self.folder)
            .field("writable", &self.appender.is_some())
            .finish_non_exhaustive()
    }
}

impl ZMap for ZipMap {
    fn caps(&self) -> MapCaps {
        let write = self.appender.is_some();
        MapCaps::new()
            .write(write)
            .overwrite(write)
            .delete(write)
            .list(true)
            .range_read(true)
            .conditional_write(write)
            .versioned_parts(true)
            .remote(self.members.remote().is_some())
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        Ok(self.find(key)?.map(|entry| entry.len))
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        let _open = if options.versioned { Some(self.writer("read versions", key)?) } else { None };
        out.clear();
        let Some(entry) = self.find(key)? else { return Ok(None) };
        let read = self.members.append(&entry, options.range, out);
        read.map_err(|error| self.named(error, key.as_str()))?;
        Ok(Some(ObjectInfo::new(options.versioned.then(|| self.version(&entry)))))
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        out.clear();
        let Some(entry) = self.find(key)? else { return Ok(false) };
        self.fill(key, &entry, offset, out)?;
        Ok(true)
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        match self.members.remote() {
            Some(source) => remote::read(self, source, job),
            None => batch::read(self, job),
        }
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        Ok(match mode {
            ListMode::Children | ListMode::PossibleChildren => Some(self.index.search(prefix.as_str())),
            ListMode::InvalidNames => Some(self.unnamable_below(prefix)),
            ListMode::Keys => Some(self.index.list(prefix.as_str())),
            _ => None,
        })
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        let before = match expect {
            Precondition::Any => ExpectedMember::Anything,
            Precondition::Absent => ExpectedMember::Nothing,
            Precondition::Unchanged(version) => match version.get::<ZipVersion>() {
                Some(mark) if mark.archive == self.id => ExpectedMember::At(mark.at),
                _ => return Err(self.error(ErrorKind::Inval, key, "the version belongs to another map")),
            },
        };
        self.put(key, value, before)
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        let (appender, _open) = self.writer("delete", key)?;
        let removed = self.index.remove(key.as_str());
        if removed {
            appender.changed();
        }
        Ok(removed)
    }

    fn image(&self) -> Result<Vec<u8>> {
        if !self.in_memory {
            return Err(
                ErrorKind::InMemory.context(format!("{}: the archive is a file, not in memory", self.name))
            );
        }
        match &self.members.source {
            ArchiveSource::Memory(bytes) => Ok(bytes.to_vec()),
            ArchiveSource::File(_) | ArchiveSource::Remote(_) => repack::image(self),
        }
    }

    fn sync(&self) -> Result<()> {
        let Some(appender) = &self.appender else { return Ok(()) };
        appender.enter().map_or(Ok(()), |_open| self.save(appender))
    }

    fn close(&self) -> Result<()> {
        self.end()?;
        // After an error the caller may try again.
        let mut persist = self.lock_persist();
        if let Some(place) = &mut *persist {
            place.put(self)?;
            *persist = None;
        }
        Ok(())
    }
}

impl Drop for ZipMap {
    fn drop(&mut self) {
        // An archive that was not closed does not replace the file.
        let Err(error) = self.end() else { return };
        tracing::error!(archive = %self.name, error = format_args!("{error:#}"), "closing failed; changes since the last sync are lost");
        // No later attempt is possible, so at least the last directory must be at the end.
        if let Some(Err(error)) = self.appender.as_ref().map(Appender::release) {
            tracing::error!(archive = %self.name, error = format_args!("{error:#}"), "an incomplete directory could not be cut off");
        }
    }
}

/// Returns the name directly below `prefix` that no key can have, as text to show.
fn unnamable_below(name: &[u8], prefix: &Key) -> Option<String> {
    let segments: Vec<&[u8]> = name.split(|byte| *byte == b'/').collect();
    let is_legal = |segment: &[u8]| str::from_utf8(segment).is_ok_and(Key::is_segment);
    // The last segment, if the name is only too long.
    let at = segments.iter().position(|segment| !is_legal(segment)).unwrap_or(segments.len() - 1);
    let is_below = segments[..at].iter().copied().eq(prefix.segments().map(str::as_bytes));
    let leads = if at + 1 < segments.len() { "/" } else { "" };
    is_below.then(|| Key::escaped(segments[at]) + leads)
}
