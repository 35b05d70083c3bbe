//! [`Draft`]: a copy while it is made, with what is needed to go on with it later.
//!
//! A Zarr store in a directory or in storage of objects is written through a [`Hold`], with a [`Record`] beside its chunks. Everything
//! else is written as it is: an archive has the list of its members at its end, and the metadata of HDF5 and the length of
//! a classic file say nothing of which data were written, so nothing in half of such a file tells what is complete.

use std::cell::RefCell;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{Error, ErrorKind, Result};
use nczarr::dispatch::{Dataset, Durability, Key, ZMap};
use nczarr::{CreateOptions, File, OpenOptions, Registry};

use super::hold::Hold;
use super::record::{NAME, Reached, Record, Terms};

/// The driver whose datasets are many objects.
const DRIVER: &str = "nczarr";
/// What the next record is called until it has that name.
const NEW: &str = ".ncz-copy.new";
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
    folder: Option<String>,
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
    /// A copy at `url`, where nothing is; or, with `resume`, perhaps half of one. `terms`: what must be as it was.
    ///
    /// # Errors
    /// `NC_EEXIST` or `NC_EOBJECT` if something is there that may not be replaced; `NC_EINVAL` if the terms are others; what the
    /// storage says.
    pub fn begin(
        url: &str,
        (options, clobber): (CreateOptions, bool),
        registry: &Registry,
        resume: bool,
        terms: &Terms,
    ) -> Result<Self> {
        let whole = |options| Self { url: url.to_owned(), options, kept: None };
        if !can_resume(url, registry) {
            return Ok(whole(options));
        }
        let names = registry.driver(DRIVER)?.info().markers;
        let target = url_infer::parse(url)?;
        let folder = target.scheme.is_local().then(|| target.path.clone());
        let (map, record, before) = match if resume { found(url)? } else { None } {
            Some((map, record)) => {
                record.check(terms)?;
                let before = record.reached.clone();
                (map, record, Some(before))
            }
            None => (new_map(url, &options, clobber)?, Record::new(terms), None),
        };
        let caps = map.caps();
        if !(caps.write && caps.overwrite && caps.delete && caps.list) {
            map.close()?;
            return Ok(whole(options));
        }
        let hold = Arc::new(Hold::new(map, names));
        let options = options.map(hold.clone());
        let kept = Kept { hold, record: RefCell::new(record), before: RefCell::new(before), folder };
        Ok(Self { url: url.to_owned(), options, kept: Some(kept) })
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

    /// Takes away what there is, so that it can be created again.
    ///
    /// # Errors
    /// What the storage says.
    pub fn clear(&self) -> Result<()> {
        let Some(kept) = &self.kept else { return nczarr::delete(&self.url) };
        kept.before.take();
        kept.record.borrow_mut().reached = Reached::default();
        kept.hold.clear()
    }

    /// Everything is defined: the copy goes on if the same was defined before. Where nobody else looks, the record is written when
    /// there is something to tell; where others may come by (`public`), before anything else.
    ///
    /// # Errors
    /// `NC_EINVAL` if something else was; what the storage says.
    pub fn defined(&self, terms: &Terms, public: bool) -> Result<()> {
        let Some(kept) = &self.kept else { return Ok(()) };
        if kept.before.borrow().is_some() {
            return kept.record.borrow().check(terms);
        }
        *kept.record.borrow_mut() = Record::new(terms);
        if public { kept.write(&Reached::default()) } else { Ok(()) }
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

    /// Whether somebody could go on with it, and would have less to do.
    pub fn is_worth_keeping(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.record.borrow().reached.is_something())
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
            Some(kept) => kept.hold.publish(),
            None => Ok(()),
        }
    }

    /// Takes the record away; `moved`: where the copy is now, if that is another place than that where it was made.
    ///
    /// # Errors
    /// What the storage says.
    pub fn forget(&self, moved: Option<&Path>) -> Result<()> {
        let Some(kept) = &self.kept else { return Ok(()) };
        let folder = moved.map(Path::to_owned).or_else(|| kept.folder.as_ref().map(PathBuf::from));
        match folder {
            None => drop(kept.hold.inner().delete(&Key::new(NAME)?)?),
            Some(folder) => {
                for path in [NAME, NEW].map(|name| folder.join(name)) {
                    match fs::remove_file(&path) {
                        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                            return Err(Error::io(path.display().to_string(), error));
                        }
                        _ => {}
                    }
                }
            }
        }
        kept.hold.inner().close()
    }
}

impl Kept {
    fn write(&self, reached: &Reached) -> Result<()> {
        self.settle()?;
        let mut record = self.record.borrow().clone();
        record.reached = reached.clone();
        match &self.folder {
            Some(folder) => replace(Path::new(folder), &record.to_bytes())?,
            None => self.hold.inner().write(&Key::new(NAME)?, &record.to_bytes())?,
        }
        *self.record.borrow_mut() = record;
        Ok(())
    }

    /// Waits until everything written is on disk: all of the file system at once, which costs less than each object alone. Where the
    /// system cannot do that, objects are synced when they are written ([`durability`]).
    fn settle(&self) -> Result<()> {
        #[cfg(target_os = "linux")]
        if let Some(folder) = &self.folder {
            let fail = |error: std::io::Error| Error::io(folder.clone(), error);
            let directory = fs::File::open(folder).map_err(fail)?;
            rustix::fs::syncfs(&directory).map_err(|errno| fail(errno.into()))?;
        }
        Ok(())
    }
}

/// Puts a record in the place of the one in a directory, in one step and on disk; not through the map, which for that would need a lock
/// file beside it.
fn replace(folder: &Path, record: &[u8]) -> Result<()> {
    let (path, new) = (folder.join(NAME), folder.join(NEW));
    let write = || {
        let mut file = fs::File::create(&new)?;
        file.write_all(record)?;
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

/// A map with nothing in it.
fn new_map(url: &str, options: &CreateOptions, clobber: bool) -> Result<Arc<dyn ZMap>> {
    let error = match options.create_map(url) {
        Err(error) if matches!(error.kind(), ErrorKind::Exist | ErrorKind::Object) => error,
        made => return made,
    };
    match found(url) {
        // No dataset, which is not replaced, but ours.
        Ok(Some((map, _))) if clobber => {
            for key in map.list(&Key::root())? {
                map.delete(&key)?;
            }
            Ok(map)
        }
        Ok(Some(_)) => {
            let what = "half of a copy is there; --resume goes on with it, --clobber begins anew";
            Err(error.kind().context(what))
        }
        _ => Err(error),
    }
}

/// The map at `url` and the record in it, if there are both.
fn found(url: &str) -> Result<Option<(Arc<dyn ZMap>, Record)>> {
    let map = match OpenOptions::new().writable(true).durability(durability()).open_map(url) {
        Ok(map) => map,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotNc) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    if !map.read(&Key::new(NAME)?, nczarr::dispatch::ByteRange::ALL, &mut bytes)? {
        return Ok(None);
    }
    Ok(Some((map, Record::of(&bytes)?)))
}
