//! [`ZipMap`]: the map's methods over an archive.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLockReadGuard};

use nczarr_dispatch::{
    ByteRange, ByteSource, Key, Limits, MapCaps, Options, OutBuf, Precondition, ReadJob, Version, WriteOutcome, ZMap,
};
use nczarr_model::{Error, ErrorKind, Result};

use crate::append::{Appender, Other};
use crate::batch;
use crate::directory::{Directory, Folder};
use crate::elsewhere;
use crate::index::{Before, Changed, Found, Index};
use crate::listing::{Entry, Form};
use crate::member::Members;
use crate::persist::Persist;
use crate::place::{self, Held};
use crate::records::{MAX_NAME, Member};
use crate::repack;
use crate::source::{self, Source};

/// A dataset in a zip archive.
pub struct ZipMap {
    name: String,
    /// The folder in which the keys begin, with a `/` at its end; empty: the root.
    folder: String,
    index: Index,
    /// The names of objects that no key can have, from the folder on.
    unnamable: Vec<Vec<u8>>,
    members: Members,
    /// Who writes; `None` where nobody does.
    appender: Option<Appender>,
    /// Whether it is nobody's file.
    in_memory: bool,
    /// Where it goes when it is closed.
    persist: Mutex<Option<Persist>>,
    /// A number no other archive of the process has: versions are of one archive.
    id: u64,
}

/// The mark of one state of one object.
#[derive(PartialEq, Eq)]
struct Mark {
    archive: u64,
    at: u64,
}

impl ZipMap {
    /// Opens the archive in a file. It is found by `markers` in which folder the keys begin: see [`ZipMap::folder`].
    ///
    /// # Errors
    /// `NC_ENOTNC` if it is no archive; `NC_EPERM` if it is to be written and cannot be, or somebody else writes it.
    pub fn open(
        path: &Path,
        folder: Option<&str>,
        markers: &[&str],
        writable: bool,
        options: &Options,
    ) -> Result<Self> {
        let name = path.display().to_string();
        let folder = folder.map_or(Folder::With(markers), Folder::Named);
        // If it cannot be read, others may have it at once.
        let held = if writable { Some(place::claim(path)?) } else { None };
        let file = match &held {
            Some(held) => Arc::clone(&held.file),
            None => Arc::new(place::open(path, false)?),
        };
        let source = Source::File(Arc::clone(&file));
        Self::over(name, source, &folder, writable.then_some(file), options)
    }

    /// What lies in a file that is held, for reading.
    pub(crate) fn look(held: &Held, markers: &[&str], options: &Options) -> Result<Self> {
        let source = Source::File(Arc::clone(&held.file));
        Self::over(held.path.display().to_string(), source, &Folder::With(markers), None, options)
    }

    /// Opens an archive that lies in memory, for reading.
    ///
    /// # Errors
    /// `NC_ENOTNC` if it is none.
    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>, markers: &[&str], limits: &Limits) -> Result<Self> {
        let mut options = Options::default();
        options.limits = limits.clone();
        Self::in_memory(bytes, None, markers, false, &options)
    }

    /// Opens an archive that lies in memory; `folder` and `markers` as in [`ZipMap::open`]. What is written goes to a copy:
    /// [`ZMap::image`] answers an archive of all objects, each once.
    ///
    /// # Errors
    /// `NC_ENOTNC` if it is none; what the system says if there is no memory for a copy.
    pub fn in_memory(
        bytes: impl Into<Arc<[u8]>>,
        folder: Option<&str>,
        markers: &[&str],
        writable: bool,
        options: &Options,
    ) -> Result<Self> {
        let (name, bytes) = ("an archive in memory".to_owned(), bytes.into());
        let folder = folder.map_or(Folder::With(markers), Folder::Named);
        let mut map = if writable {
            let file = source::file_in_memory(&bytes).map_err(|error| Error::io(&name, error))?;
            let file = Arc::new(file);
            Self::over(name, Source::File(Arc::clone(&file)), &folder, Some(file), options)?
        } else {
            Self::over(name, Source::Memory(bytes), &folder, None, options)?
        };
        map.in_memory = true;
        Ok(map)
    }

    /// Reads an archive into memory, as [`ZipMap::open`] opens it. With `persist`, if it is writable, an archive of all
    /// objects takes its place when the map is closed; nobody else can write it until then.
    ///
    /// # Errors
    /// As [`ZipMap::open`]; what the system says if there is no memory for it.
    pub fn open_in_memory(
        path: &Path,
        folder: Option<&str>,
        markers: &[&str],
        writable: bool,
        persist: bool,
        options: &Options,
    ) -> Result<Self> {
        let held = if writable && persist { Some(place::claim(path)?) } else { None };
        let file = match &held {
            Some(held) => Arc::clone(&held.file),
            None => Arc::new(place::open(path, false)?),
        };
        let name = path.display().to_string();
        let fail = |error| Error::io(&name, error);
        let mut map = if writable {
            let copy = Arc::new(source::copy_in_memory(&file).map_err(fail)?);
            let folder = folder.map_or(Folder::With(markers), Folder::Named);
            Self::over(name, Source::File(Arc::clone(&copy)), &folder, Some(copy), options)?
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
    pub(crate) fn create_in_memory(folder: &str, persist: Option<Persist>, options: &Options) -> Result<Self> {
        let nothing: [(Key, &[u8]); 0] = [];
        let mut map = Self::in_memory(repack::archive(nothing)?, Some(folder), &[], true, options)?;
        map.persist = Mutex::new(persist);
        Ok(map)
    }

    /// Opens an archive that lies somewhere else, for reading; `folder` and `markers` as in [`ZipMap::open`]. `name` is what
    /// messages call it.
    ///
    /// # Errors
    /// `NC_ENOTNC` if it is none; what the storage says.
    pub fn elsewhere(
        name: String,
        source: Arc<dyn ByteSource>,
        folder: Option<&str>,
        markers: &[&str],
        options: &Options,
    ) -> Result<Self> {
        let folder = folder.map_or(Folder::With(markers), Folder::Named);
        Self::over(name, Source::Elsewhere(source), &folder, None, options)
    }

    /// Makes an empty archive for writing, whose keys begin in `folder`; it takes the place of a file that is there
    /// if `replace` says so.
    ///
    /// # Errors
    /// `NC_EEXIST` if something is there that may not be replaced; what the system says.
    pub fn create(path: &Path, folder: &str, replace: bool, options: &Options) -> Result<Self> {
        let old = if replace { place::claim_old(path)? } else { None };
        Self::create_over(path, folder, old, options)
    }

    /// Makes an empty archive in the place of an old one.
    pub(crate) fn create_over(path: &Path, folder: &str, old: Option<Held>, options: &Options) -> Result<Self> {
        let (file, folder) = (Arc::new(place::create(path, old, options)?), Folder::Named(folder));
        Self::over(path.display().to_string(), Source::File(Arc::clone(&file)), &folder, Some(file), options)
    }

    fn over(
        name: String,
        source: Source,
        folder: &Folder<'_>,
        file: Option<Arc<File>>,
        options: &Options,
    ) -> Result<Self> {
        static ARCHIVES: AtomicU64 = AtomicU64::new(0);
        let directory = Directory::read(&source, folder, &options.limits).map_err(|error| error.at(&name))?;
        let appender = file.map(|file| Appender::new(file, &source, &directory, options)).transpose();
        let appender = appender.map_err(|error| error.at(&name))?;
        Ok(Self {
            name,
            folder: directory.folder,
            unnamable: directory.unnamable,
            index: Index::new(directory.entries, appender.is_some()),
            members: Members::new(source, directory.end, directory.archive),
            appender,
            in_memory: false,
            persist: Mutex::new(None),
            id: ARCHIVES.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// The folder in which the keys begin; empty: the root of the archive.
    ///
    /// That is the root if an object with the name of a marker is there; else the outermost folder that everything lies in
    /// and that holds one, as when a directory was packed with its name.
    pub fn folder(&self) -> &str {
        self.folder.trim_end_matches('/')
    }

    /// The file it lies in, or what it is called.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(&self.name)
    }

    /// All members with the bytes of each, in the order of their keys.
    pub(crate) fn each(&self, mut take: impl FnMut(&str, Vec<u8>) -> Result<()>) -> Result<()> {
        for key in self.index.list("") {
            let Some(entry) = self.index.get(&key) else { continue };
            let mut bytes = Vec::new();
            let read = self.members.append(&entry, ByteRange::ALL, &mut bytes);
            read.and_then(|()| take(&key, bytes)).map_err(|error| self.named(error, &key))?;
        }
        Ok(())
    }

    /// The comment of the archive.
    pub(crate) fn comment(&self) -> &[u8] {
        self.appender.as_ref().map_or(&[], Appender::comment)
    }

    /// The members that are no objects, for who makes an archive anew: what reads them, and each with its record in the directory.
    pub(crate) fn others(&self) -> Result<(&Members, Vec<Other<'_>>)> {
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

    pub(crate) fn find(&self, key: &Key) -> Result<Option<Found<'_>>> {
        let found = self.index.get(key.as_str());
        if found.is_none() && self.index.leads(key.as_str()) {
            return Err(self.error(ErrorKind::Empty, key, "a prefix, which holds nothing"));
        }
        Ok(found)
    }

    /// Keeps an archive that is written open.
    pub(crate) fn stay_open(&self, doing: &str, key: &Key) -> Result<Option<RwLockReadGuard<'_, bool>>> {
        self.appender.as_ref().map(|_| Ok(self.writer(doing, key)?.1)).transpose()
    }

    /// The mark of a member that was found.
    pub(crate) fn version(&self, entry: &Entry) -> Version {
        Version::comparable(Mark { archive: self.id, at: entry.at })
    }

    /// Appends a range of a member; what is beyond the end is left out.
    pub(crate) fn append(&self, key: &Key, entry: &Entry, range: ByteRange, out: &mut Vec<u8>) -> Result<()> {
        self.members.append(entry, range, out).map_err(|error| self.named(error, key.as_str()))
    }

    /// Fills `out` from `offset` on, as far as there is anything.
    pub(crate) fn fill(&self, key: &Key, entry: &Entry, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        self.members.read_into(entry, offset, out).map_err(|error| self.named(error, key.as_str()))
    }

    /// Who writes; it is not closed as long as the second is held.
    fn writer(&self, doing: &str, key: &Key) -> Result<(&Appender, RwLockReadGuard<'_, bool>)> {
        match &self.appender {
            Some(appender) => match appender.enter() {
                Some(open) => Ok((appender, open)),
                None => Err(self.error(ErrorKind::BadId, key, &format!("cannot {doing}: the archive was closed"))),
            },
            None => Err(self.error(ErrorKind::Perm, key, &format!("cannot {doing}: the archive is only read"))),
        }
    }

    fn put(&self, key: &Key, value: &[u8], before: Before) -> Result<WriteOutcome> {
        let (appender, _open) = self.writer("write", key)?;
        if key.is_root() {
            return Err(self.error(ErrorKind::Object, key, "the root cannot hold an object"));
        }
        let name = format!("{}{key}", self.folder);
        if name.len() > MAX_NAME {
            let what = format!("a name of {} bytes, an archive holds names of {MAX_NAME}", name.len());
            return Err(self.error(ErrorKind::Inval, key, &what));
        }
        let collides = || self.error(ErrorKind::Object, key, "is a prefix of an object or lies below one");
        // What cannot be put there is not written, as far as that is known before.
        match self.index.admits(key.as_str(), before) {
            Changed::Done => {}
            Changed::Lost => return Ok(WriteOutcome::Conflict),
            Changed::Collision => return Err(collides()),
        }
        let crc = crc32fast::hash(value);
        let len = value.len() as u64;
        let at = appender.append(&name, value, crc).map_err(|error| self.named(error, key.as_str()))?;
        let entry = Entry::new(at, len, len, crc, Form::Stored, None);
        entry.begins(at + crate::records::local_len(&name, len));
        match self.index.put(key.as_str(), entry, before) {
            Changed::Done => {
                appender.changed();
                Ok(WriteOutcome::Done(Some(Version::comparable(Mark { archive: self.id, at }))))
            }
            Changed::Lost => Ok(WriteOutcome::Conflict),
            Changed::Collision => Err(collides()),
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

    /// Whether it holds no objects.
    pub(crate) fn is_empty(&self) -> bool {
        self.index.search("").is_empty()
    }

    /// Writes a directory of what there is now, if anything changed since the last one.
    fn save(&self, appender: &Appender) -> Result<()> {
        let saved = appender.save(|out| {
            self.index.each(|key, entry| {
                let name = format!("{}{key}", self.folder);
                out.add(entry.central, &Member { name: &name, at: entry.at, len: entry.len, crc: entry.crc })
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
        MapCaps {
            write,
            overwrite: write,
            delete: write,
            list: true,
            range_read: true,
            conditional_write: write,
            versioned_parts: true,
            remote: self.members.elsewhere().is_some(),
        }
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        Ok(self.find(key)?.map(|entry| entry.len))
    }

    fn read(&self, key: &Key, range: ByteRange, out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let Some(entry) = self.find(key)? else { return Ok(false) };
        self.append(key, &entry, range, out)?;
        Ok(true)
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        out.clear();
        let Some(entry) = self.find(key)? else { return Ok(false) };
        self.fill(key, &entry, offset, out)?;
        Ok(true)
    }

    fn read_versioned(&self, key: &Key, limit: usize, out: &mut Vec<u8>) -> Result<Option<Version>> {
        let _open = self.writer("read versions", key)?;
        out.clear();
        let Some(entry) = self.find(key)? else { return Ok(None) };
        self.append(key, &entry, ByteRange::first(limit as u64), out)?;
        Ok(Some(self.version(&entry)))
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        match self.members.elsewhere() {
            Some(source) => elsewhere::read(self, source, job),
            None => batch::read(self, job),
        }
    }

    fn children(&self, prefix: &Key) -> Result<Vec<String>> {
        Ok(self.index.search(prefix.as_str()))
    }

    fn invalid_names(&self, prefix: &Key) -> Result<Vec<String>> {
        let mut found: Vec<String> = self.unnamable.iter().filter_map(|name| unnamable_below(name, prefix)).collect();
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    fn list(&self, prefix: &Key) -> Result<Vec<Key>> {
        self.index.list(prefix.as_str()).iter().map(|key| Key::new(key)).collect()
    }

    fn write(&self, key: &Key, value: &[u8]) -> Result<()> {
        self.put(key, value, Before::Anything).map(drop)
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: Precondition<'_>) -> Result<WriteOutcome> {
        let before = match expect {
            Precondition::Absent => Before::Nothing,
            Precondition::Unchanged(version) => match version.get::<Mark>() {
                Some(mark) if mark.archive == self.id => Before::At(mark.at),
                _ => return Err(self.error(ErrorKind::Inval, key, "a version of another map")),
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
            return Err(ErrorKind::InMemory.context(format!("{}: a file, not an archive in memory", self.name)));
        }
        match &self.members.source {
            Source::Memory(bytes) => Ok(bytes.to_vec()),
            Source::File(_) | Source::Elsewhere(_) => repack::image(self),
        }
    }

    fn sync(&self) -> Result<()> {
        let Some(appender) = &self.appender else { return Ok(()) };
        appender.enter().map_or(Ok(()), |_open| self.save(appender))
    }

    fn close(&self) -> Result<()> {
        self.end()?;
        // Whoever cannot put it in its place may try again.
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
        // What was not closed is not put in its place.
        let Err(error) = self.end() else { return };
        tracing::error!(archive = %self.name, error = format_args!("{error:#}"), "closing failed: what was written since the last sync is lost");
        // Nobody can try again. What was synced is to be found by everybody.
        if let Some(Err(error)) = self.appender.as_ref().map(Appender::release) {
            tracing::error!(archive = %self.name, error = format_args!("{error:#}"), "what is left of a directory could not be cut off");
        }
    }
}

/// The names right below `prefix` that no key can have, as text to show.
fn unnamable_below(name: &[u8], prefix: &Key) -> Option<String> {
    let segments: Vec<&[u8]> = name.split(|byte| *byte == b'/').collect();
    let is_legal = |segment: &[u8]| str::from_utf8(segment).is_ok_and(Key::is_segment);
    // The last one, if the name is only too long.
    let at = segments.iter().position(|segment| !is_legal(segment)).unwrap_or(segments.len() - 1);
    let is_below = segments[..at].iter().copied().eq(prefix.segments().map(str::as_bytes));
    let leads = if at + 1 < segments.len() { "/" } else { "" };
    is_below.then(|| Key::escaped(segments[at]) + leads)
}
