//! [`Draft`]: a copy while it is made, with what is needed to go on with it later.
//!
//! A Zarr store in a directory or in storage of objects is written through a [`Hold`], with a [`Record`] beside its chunks. Everything
//! else is written as it is: an archive has the list of its members at its end, and the metadata of HDF5 and the length of
//! a classic file say nothing of which data were written, so nothing in half of such a file tells what is complete.

mod hold;
mod kept;
mod process;
mod reached;
mod record;
mod store;
mod terms;

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nczarr::dispatch::Dataset;
use nczarr::{CreateOptions, File, OpenOptions, Registry};
use nczarr_model::Result;

use hold::Hold;
use kept::Kept;

pub use reached::Reached;
pub use record::{Left, NAME, Record};
pub use store::durability;
pub use terms::{Terms, flags};

/// The driver whose datasets are many objects.
const DRIVER: &str = "nczarr";
/// Maps that are one file, or nothing that outlives the process.
const UNFIT: [&str; 2] = ["zip", "mem"];

/// A copy that is being made.
pub struct Draft {
    url: String,
    options: CreateOptions,
    kept: Option<Kept>,
}

/// Whether a copy to a URL can be gone on with.
pub fn can_resume(url: &str, registry: &Registry) -> bool {
    let Ok(target) = nczarr_url_infer::parse(url) else { return false };
    let is_other = |mode: &String| {
        registry.driver_by_mode(mode).is_ok_and(|driver| driver.is_some_and(|driver| driver.info().name != DRIVER))
    };
    if target.modes.iter().any(is_other) || target.has_mode("zip") {
        return false;
    }
    nczarr_url_infer::infer_create(&target)
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
        let target = nczarr_url_infer::parse(url)?;
        let folder = target.scheme.is_local().then(|| PathBuf::from(&target.path));
        let owner = word();
        let (map, record, begun) = match if resume { store::found(url)? } else { None } {
            Some((map, bytes)) => {
                let mut record = Record::of(&bytes)?;
                record.check(terms)?;
                let whose = record.taken(&owner);
                let before = record.reached.clone();
                (map, record, Some((whose, before)))
            }
            None => {
                let none = Record::new(&Terms { layout: String::new(), ..terms.clone() }, &owner);
                let place = (folder.as_deref(), &none);
                let map = if clobber && folder.is_none() && registry.check_dataset(url).is_ok() {
                    store::replaced_map((source, url), &options, &none)?
                } else {
                    store::new_map(url, &options, clobber, place)?
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
        let (found, before) = begun.unzip();
        let (record, before) = (RefCell::new(record), RefCell::new(before));
        let kept = Kept { hold, record, before, folder, public, found, written: Cell::new(false) };
        if kept.found.is_some() {
            // Whoever began it sees that it is another one's now.
            store::remove_new(kept.folder.as_deref())?;
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
        let Some(kept) = self.kept.as_ref().filter(|kept| kept.written.get() && kept.found.is_none()) else {
            return Ok(());
        };
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
        if kept.found.is_some() && !kept.record.borrow().is_laid_out(terms) {
            hold::clear(kept.hold.inner(), NAME)?;
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
        self.kept.as_ref().is_some_and(|kept| kept.found.is_some() || kept.record.borrow().reached.is_something())
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

/// A word that no other process has.
fn word() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}-{}", random(), random(), std::process::id())
}
