//! [`Draft`]: a copy while it is made, with what is needed to go on with it later.
//!
//! A Zarr store in a directory or in storage of objects is written through a [`Hold`], with a [`Record`] beside its chunks. Everything
//! else is written as it is: an archive has the list of its members at its end, and the metadata of HDF5 and the length of
//! a classic file say nothing of which data were written, so nothing in half of such a file tells what is complete.

use std::cell::{Cell, RefCell};
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{Error, ErrorKind, Result};
use nczarr::dispatch::{ByteRange, Dataset, Durability, Key, ZMap};
use nczarr::{CreateOptions, File, OpenOptions, Registry};

use super::hold::{self, Hold};
use super::overlap;
use super::record::{Left, NAME, Reached, Record, Terms};

/// The driver whose datasets are many objects.
const DRIVER: &str = "nczarr";
/// How the next record is called until it has that name, with the word of who writes it.
const NEW: &str = ".ncz-copy.new-";
/// Why a copy goes no further.
const ANOTHER: &str = "another copy writes there, or took this one over";
/// Maps that are one file, or nothing that outlives the process.
const UNFIT: [&str; 2] = ["zip", "mem"];

/// A copy that is being made.
pub struct Draft {
    url: String,
    options: CreateOptions,
    kept: Option<Kept>,
}

/// What is needed to go on with it.
struct Kept {
    hold: Arc<Hold>,
    record: RefCell<Record>,
    /// How far it was when this process began; `None`: it is this one's own.
    before: RefCell<Option<Reached>>,
    /// Where it lies, if that is a directory.
    folder: Option<PathBuf>,
    /// Whether others may come by there.
    public: bool,
    /// Whether it is another one's that this process goes on with: it stays, whatever happens.
    found: bool,
    /// Whether there is a record of this process.
    written: Cell<bool>,
}

/// Whether a copy to a URL can be gone on with.
pub fn can_resume(url: &str, registry: &Registry) -> bool {
    let Ok(target) = url_infer::parse(url) else { return false };
    let is_other = |mode: &String| {
        registry.driver_by_mode(mode).is_ok_and(|driver| driver.is_some_and(|driver| driver.info().name != DRIVER))
    };
    if target.modes.iter().any(is_other) || target.has_mode("zip") {
        return false;
    }
    url_infer::infer_create(&target)
        .is_ok_and(|plan| plan.driver == DRIVER && plan.map.is_none_or(|map| !UNFIT.contains(&map.as_str())))
}

impl Draft {
    /// A copy of what is at `source`, at `url`, where nothing is; or, with `resume`, perhaps half of one. `terms`: what must be as it was; `public`: whether others
    /// may come by there.
    ///
    /// # Errors
    /// `NC_EEXIST` or `NC_EOBJECT` if something is there that may not be replaced; `NC_EINVAL` if the terms are others, or if the
    /// source is there; what the storage says.
    pub fn begin(
        (source, url): (&str, &str),
        (options, clobber): (CreateOptions, bool),
        registry: &Arc<Registry>,
        resume: bool,
        (terms, public): (&Terms, bool),
    ) -> Result<Self> {
        if !can_resume(url, registry) {
            return Ok(Self::whole(url, options));
        }
        let names = registry.driver(DRIVER)?.info().markers;
        let target = url_infer::parse(url)?;
        let folder = target.scheme.is_local().then(|| PathBuf::from(&target.path));
        let owner = word();
        let (map, record, before) = match if resume { found(url)? } else { None } {
            Some((map, bytes)) => {
                let mut record = Record::of(&bytes)?;
                record.check(terms)?;
                record.owner.clone_from(&owner);
                let before = record.reached.clone();
                (map, record, Some(before))
            }
            None => {
                let none = Record::new(&Terms { layout: String::new(), ..terms.clone() }, &owner);
                let place = (folder.as_deref(), &none);
                let map = match clobber && folder.is_none() && registry.check_dataset(url).is_ok() {
                    true => replaced_map((source, url), &options, &none)?,
                    false => new_map(url, &options, clobber, place)?,
                };
                (map, Record::new(terms, &owner), None)
            }
        };
        let caps = map.caps();
        if !(caps.write && caps.overwrite && caps.delete && caps.list) {
            map.close()?;
            return Ok(Self::whole(url, options));
        }
        let hold = Arc::new(Hold::new(map, names));
        let options = options.map(hold.clone());
        let found = before.is_some();
        let (record, before) = (RefCell::new(record), RefCell::new(before));
        let kept = Kept { hold, record, before, folder, public, found, written: Cell::new(false) };
        if found {
            // Whoever began it sees that it is another one's now.
            remove_new(kept.folder.as_deref())?;
            kept.put()?;
        }
        Ok(Self { url: url.to_owned(), options, kept: Some(kept) })
    }

    /// A copy that cannot be gone on with.
    pub fn whole(url: &str, options: CreateOptions) -> Self {
        Self { url: url.to_owned(), options, kept: None }
    }

    /// The dataset, without anything in it.
    ///
    /// # Errors
    /// As [`CreateOptions::create`].
    pub fn create(&self) -> Result<File> {
        self.options.create(&self.url)
    }

    /// The dataset as it is once it is finished.
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    pub fn open(&self) -> Result<File> {
        match &self.kept {
            Some(kept) => OpenOptions::new().map(kept.hold.clone()).open(&self.url),
            None => nczarr::open(&self.url),
        }
    }

    /// A copy of which nothing will stay: it is made elsewhere, in `folder`.
    ///
    /// # Errors
    /// As [`CreateOptions::create_map`].
    pub fn passing(url: &str, options: CreateOptions, folder: &Path) -> Result<Self> {
        let map = options.create_map(&format!("{}#mode=nczarr,file", folder.display()))?;
        Ok(Self { url: url.to_owned(), options: options.map(map), kept: None })
    }

    /// What the one that is gone on with found out by trying.
    pub fn left(&self) -> Left {
        self.kept.as_ref().map(|kept| kept.record.borrow().left.clone()).unwrap_or_default()
    }

    /// Takes away what there is, so that it can be created again, otherwise: `left`.
    ///
    /// # Errors
    /// What the storage says; `NC_EACCESS` if it is another one's now.
    pub fn restart(&self, left: Left) -> Result<()> {
        let Some(kept) = &self.kept else { return nczarr::delete(&self.url) };
        kept.before.take();
        {
            let mut record = kept.record.borrow_mut();
            record.reached = Reached::default();
            record.left = left;
        }
        // Before anything goes: whoever goes on from there would take it for being there.
        if kept.written.get() {
            kept.put()?;
        }
        kept.hold.clear(NAME)
    }

    /// Takes away what this process made, the record last. What was found stays, and what is another one's now.
    ///
    /// # Errors
    /// What the storage says.
    pub fn abandon(&self) -> Result<()> {
        let Some(kept) = self.kept.as_ref().filter(|kept| kept.written.get() && !kept.found) else { return Ok(()) };
        kept.record.borrow_mut().reached = Reached::default();
        kept.put()?;
        if kept.public {
            kept.hold.clear(NAME)?;
        }
        kept.remove(kept.folder.as_deref())?;
        kept.written.set(false);
        Ok(())
    }

    /// Everything is defined in `to`: the copy goes on if the same was defined before. Where nobody else looks, the record is written
    /// when there is something to tell; where others may come by, before anything else.
    ///
    /// # Errors
    /// `NC_EINVAL` if something else was; what the storage says.
    pub fn defined(&self, to: &dyn Dataset, mut terms: Terms) -> Result<()> {
        let Some(kept) = &self.kept else { return Ok(()) };
        to.sync()?;
        terms.layout = format!("{} {:016x}", terms.layout, kept.hold.sum());
        let terms = &terms;
        if kept.before.borrow().as_ref().is_some_and(Reached::is_something) {
            return kept.record.borrow().check(terms);
        }
        // Somebody began what lies there, and perhaps otherwise.
        if kept.found && !kept.record.borrow().is_laid_out(terms) {
            clear_chunks(&kept.hold)?;
        }
        {
            let mut record = kept.record.borrow_mut();
            let (owner, left) = (record.owner.clone(), record.left.clone());
            *record = Record::new(terms, &owner);
            record.left = left;
        }
        if kept.public || kept.written.get() { kept.put() } else { Ok(()) }
    }

    /// Whether a part of variable number `variable` was complete when this process began.
    pub fn covers(&self, variable: u64, shape: &[u64], start: &[u64], count: &[u64]) -> bool {
        let before = self.kept.as_ref().map(|kept| kept.before.borrow());
        before.is_some_and(|before| before.as_ref().is_some_and(|it| it.covers(variable, shape, start, count)))
    }

    /// Whether there is a record to write.
    pub fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Whether somebody could go on with it, and would have less to do; or began it.
    pub fn is_worth_keeping(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.found || kept.record.borrow().reached.is_something())
    }

    /// Writes down how far the data have come, once they are on disk.
    ///
    /// # Errors
    /// What the storage says; what was written down before still is.
    pub fn reached(&self, to: &dyn Dataset, reached: &Reached) -> Result<()> {
        let Some(kept) = &self.kept else { return Ok(()) };
        to.sync()?;
        kept.write(reached)
    }

    /// Makes a dataset of it. The record stays until that is where it belongs.
    ///
    /// # Errors
    /// What the storage says.
    pub fn publish(&self) -> Result<()> {
        match &self.kept {
            Some(kept) => {
                kept.check_owner()?;
                // Chunks before the documents that tell of them.
                kept.settle(kept.folder.as_deref())?;
                kept.hold.publish()
            }
            None => Ok(()),
        }
    }

    /// Takes the record away; `moved`: where the copy is now, if that is another place than that where it was made.
    ///
    /// # Errors
    /// What the storage says.
    pub fn forget(&self, moved: Option<&Path>) -> Result<()> {
        let Some(kept) = &self.kept else { return Ok(()) };
        if kept.written.get() {
            let folder = moved.or(kept.folder.as_deref());
            kept.settle(folder)?;
            kept.remove(folder)?;
        }
        kept.hold.inner().close()
    }
}

impl Kept {
    fn write(&self, reached: &Reached) -> Result<()> {
        self.settle(self.folder.as_deref())?;
        let before = std::mem::replace(&mut self.record.borrow_mut().reached, reached.clone());
        self.put().inspect_err(|_| self.record.borrow_mut().reached = before)
    }

    /// Stores the record, if that there is not another one's.
    fn put(&self) -> Result<()> {
        // Of one that was found it is another one's, once.
        if self.written.get() || !self.found {
            self.check_owner()?;
        }
        let record = self.record.borrow();
        put_record(self.hold.inner(), self.folder.as_deref(), &record)?;
        self.written.set(true);
        Ok(())
    }

    /// Takes the record away, if it is not another one's.
    fn remove(&self, folder: Option<&Path>) -> Result<()> {
        match folder {
            None => {
                self.check_owner()?;
                self.hold.inner().delete(&Key::new(NAME)?).map(drop)
            }
            Some(folder) => {
                remove_new(Some(folder))?;
                remove_file(&folder.join(NAME))
            }
        }
    }

    /// That no other process took it over.
    fn check_owner(&self) -> Result<()> {
        let mut bytes = Vec::new();
        let is_there = match &self.folder {
            None => self.hold.inner().read(&Key::new(NAME)?, ByteRange::ALL, &mut bytes)?,
            Some(folder) => match fs::read(folder.join(NAME)) {
                Ok(read) => {
                    bytes = read;
                    true
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
                Err(error) => return Err(Error::io(folder.join(NAME).display().to_string(), error)),
            },
        };
        let is_ours = match is_there {
            true => Record::of(&bytes).is_ok_and(|there| there.owner == self.record.borrow().owner),
            // None before the first one.
            false => !self.written.get(),
        };
        if is_ours { Ok(()) } else { Err(ErrorKind::Access.context(ANOTHER)) }
    }

    /// Waits until everything written is on disk: all of the file system at once, which costs less than each object alone. Where the
    /// system cannot do that, objects are synced when they are written ([`durability`]).
    fn settle(&self, folder: Option<&Path>) -> Result<()> {
        #[cfg(target_os = "linux")]
        if let Some(folder) = folder {
            let fail = |error: std::io::Error| Error::io(folder.display().to_string(), error);
            let directory = fs::File::open(folder).map_err(fail)?;
            rustix::fs::syncfs(&directory).map_err(|errno| fail(errno.into()))?;
        }
        Ok(())
    }
}

/// Removes everything that is stored, and nothing that is held back.
fn clear_chunks(hold: &Hold) -> Result<()> {
    hold::clear(hold.inner(), NAME)
}

/// A word that no other process has.
fn word() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}-{}", random(), random(), std::process::id())
}

fn put_record(map: &dyn ZMap, folder: Option<&Path>, record: &Record) -> Result<()> {
    match folder {
        Some(folder) => replace(folder, record),
        None => map.write(&Key::new(NAME)?, &record.to_bytes()),
    }
}

fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path.display().to_string(), error)),
        _ => Ok(()),
    }
}

/// Removes records in a directory that never got their name.
fn remove_new(folder: Option<&Path>) -> Result<()> {
    let Some(folder) = folder else { return Ok(()) };
    let entries = fs::read_dir(folder).map_err(|error| Error::io(folder.display().to_string(), error))?;
    for entry in entries.flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(NEW.as_bytes()) {
            remove_file(&entry.path())?;
        }
    }
    Ok(())
}

/// Puts a record in the place of the one in a directory, in one step and on disk; not through the map, which for that would need a lock
/// file beside it.
fn replace(folder: &Path, record: &Record) -> Result<()> {
    let (path, new) = (folder.join(NAME), folder.join(format!("{NEW}{}", record.owner)));
    let write = || {
        let mut file = fs::File::create(&new)?;
        file.write_all(&record.to_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        // Elsewhere a directory is no file that can be opened.
        #[cfg(unix)]
        fs::File::open(folder)?.sync_all()?;
        Ok::<(), std::io::Error>(())
    };
    write().map_err(|error| Error::io(path.display().to_string(), error))
}

/// When objects of a copy count as written.
pub fn durability() -> Durability {
    if cfg!(target_os = "linux") { Durability::Rename } else { Durability::Fsync }
}

/// A map with nothing in it where a dataset was, far away. That goes only once the record `none` was put there and the source does not
/// show it: one place may have several names.
fn replaced_map((source, url): (&str, &str), options: &CreateOptions, none: &Record) -> Result<Arc<dyn ZMap>> {
    let before = found(url)?.map(|(_, bytes)| bytes);
    let map = OpenOptions::new().writable(true).durability(durability()).open_map(url)?;
    put_record(&*map, None, none)?;
    let made = match overlap::shows(source, &*map, none) {
        Ok(true) => Err(overlap::overlap(crate::failure::place(source), crate::failure::place(url))),
        Ok(false) => options.create_map(url),
        Err(error) => Err(error),
    };
    if made.is_err() {
        // As it was.
        let name = Key::new(NAME)?;
        match before {
            Some(before) => map.write(&name, &before)?,
            None => drop(map.delete(&name)?),
        }
    }
    made
}

/// A map with nothing in it but, perhaps, the record `none`, which says that nothing is.
fn new_map(
    url: &str,
    options: &CreateOptions,
    clobber: bool,
    (folder, none): (Option<&Path>, &Record),
) -> Result<Arc<dyn ZMap>> {
    if clobber && let Ok(Some((map, _))) = found(url) {
        // Before anything goes: whoever goes on from there would take it for being there.
        put_record(&*map, folder, none)?;
    }
    let error = match options.create_map(url) {
        Err(error) if matches!(error.kind(), ErrorKind::Exist | ErrorKind::Object) => error,
        made => return made,
    };
    match found(url) {
        // No dataset, which is not replaced, but ours.
        Ok(Some((map, _))) if clobber => {
            hold::clear(&*map, NAME)?;
            Ok(map)
        }
        Ok(Some(_)) => {
            let what = "half of a copy is there; --resume goes on with it, --clobber begins anew";
            Err(error.kind().context(what))
        }
        _ => Err(error),
    }
}

/// A map and the bytes of the record in it.
type Found = (Arc<dyn ZMap>, Vec<u8>);

/// The map at `url` and the record in it, if there are both.
fn found(url: &str) -> Result<Option<Found>> {
    let map = match OpenOptions::new().writable(true).durability(durability()).open_map(url) {
        Ok(map) => map,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotNc) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    let is_there = map.read(&Key::new(NAME)?, ByteRange::ALL, &mut bytes)?;
    Ok(is_there.then_some((map, bytes)))
}
