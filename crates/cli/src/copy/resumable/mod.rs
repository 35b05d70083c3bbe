//! [`CopyDraft`]: an unfinished copy, with the state that a later process needs to resume it.
//!
//! A Zarr store in a directory or in object storage is written through a [`DocumentHold`], with a
//! [`CopyRecord`] beside its chunks. Other targets are written directly and cannot be resumed. An archive has
//! its directory at the end, and neither the metadata of HDF5 nor the length of a classic file shows which
//! data were written.

mod completed_blocks;
mod copy_fingerprint;
mod document_hold;
mod process;
mod record;
mod source_check;
mod state;
mod store;

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nczarr::dispatch::Dataset;
use nczarr::{CreateOptions, File, OpenOptions, Place, Registry};
use nczarr_model::Result;

use document_hold::DocumentHold;
use state::ResumableState;

pub use completed_blocks::CompletedBlocks;
pub use copy_fingerprint::{CopyFingerprint, flags};
pub use record::{CopyRecord, KnownLosses, NAME};
pub use store::durability;

/// The driver whose datasets are many objects.
const DRIVER: &str = "nczarr";
/// Maps that are one file, or do not outlive the process.
const UNFIT: [&str; 2] = ["zip", "mem"];

/// An unfinished copy.
pub struct CopyDraft {
    url: String,
    options: CreateOptions,
    kept: Option<ResumableState>,
}

/// The parameters of a new or resumed copy.
pub struct DraftRequest<'a> {
    /// The URL of the source.
    pub source: &'a str,
    /// The URL at which the copy is made.
    pub url: &'a str,
    /// Whether an existing dataset may be replaced.
    pub clobber: bool,
    /// Whether a partial copy is continued.
    pub resume: bool,
    /// Whether other processes may find the copy.
    pub is_public: bool,
}

/// Returns whether a copy to a URL can be resumed.
pub fn can_resume(url: &str, registry: &Registry) -> bool {
    let Ok(target) = nczarr_url_infer::parse(url) else { return false };
    let is_other = |mode: &String| {
        registry
            .driver_by_mode(mode)
            .is_ok_and(|driver| driver.is_some_and(|driver| driver.info().name != DRIVER))
    };
    if target.modes.iter().any(is_other) || target.has_mode("zip") {
        return false;
    }
    nczarr_url_infer::infer_create(&target)
        .is_ok_and(|plan| plan.driver == DRIVER && plan.map.is_none_or(|map| !UNFIT.contains(&map.as_str())))
}

impl CopyDraft {
    /// Begins a copy at an empty URL, or, with `resume`, continues a partial one. `fingerprint` must match
    /// the record's.
    ///
    /// # Errors
    ///
    /// `NC_EEXIST` or `NC_EOBJECT` if an object is in the way that may not be replaced; `NC_EINVAL` if the
    /// terms differ, or if the source is at `url`; errors of the storage.
    pub fn begin(
        request: DraftRequest<'_>,
        options: CreateOptions,
        registry: &Arc<Registry>,
        fingerprint: &CopyFingerprint,
    ) -> Result<Self> {
        let DraftRequest { source, url, clobber, resume, is_public: public } = request;
        if !can_resume(url, registry) {
            return Ok(Self::whole(url, options));
        }
        let names = registry.driver(DRIVER)?.info().markers;
        let target = nczarr_url_infer::parse(url)?;
        let folder = target.scheme.is_local().then(|| PathBuf::from(&target.path));
        let owner = word();
        let (map, record, begun) = match if resume { store::found(url)? } else { None } {
            Some((map, bytes)) => {
                let mut record = CopyRecord::of(&bytes)?;
                record.check(fingerprint)?;
                let whose = record.taken(&owner);
                let before = record.completed.clone();
                (map, record, Some((whose, before)))
            }
            None => {
                let none = CopyRecord::new(
                    &CopyFingerprint { layout: String::new(), ..fingerprint.clone() },
                    &owner,
                );
                let map = if clobber && folder.is_none() && registry.check_dataset(&Place::url(url)).is_ok() {
                    store::replaced_map(source, url, &options, &none)?
                } else {
                    store::new_map(url, &options, clobber, folder.as_deref(), &none)?
                };
                (map, CopyRecord::new(fingerprint, &owner), None)
            }
        };
        let caps = map.caps();
        if !(caps.write && caps.overwrite && caps.delete && caps.list) {
            map.close()?;
            return Ok(Self::whole(url, options));
        }
        let hold = Arc::new(DocumentHold::new(map, names));
        let options = options.map(hold.clone());
        let (found, before) = begun.unzip();
        let (record, before) = (RefCell::new(record), RefCell::new(before));
        let kept = ResumableState { hold, record, before, folder, public, found, written: Cell::new(false) };
        if kept.found.is_some() {
            // The previous owner sees from this record that the copy is not its own any more.
            store::remove_new(kept.folder.as_deref())?;
            kept.put()?;
        }
        Ok(Self { url: url.to_owned(), options, kept: Some(kept) })
    }

    /// Begins a copy that cannot be resumed.
    pub fn whole(url: &str, options: CreateOptions) -> Self {
        Self { url: url.to_owned(), options, kept: None }
    }

    /// Creates the dataset, empty.
    ///
    /// # Errors
    ///
    /// Like [`CreateOptions::create`].
    pub fn create(&self) -> Result<File> {
        self.options.create(Place::url(&self.url))
    }

    /// Opens the dataset in its finished form.
    ///
    /// # Errors
    ///
    /// Like [`OpenOptions::open`].
    pub fn open(&self) -> Result<File> {
        match &self.kept {
            Some(kept) => OpenOptions::new().map(kept.hold.clone()).open(Place::url(&self.url)),
            None => nczarr::open(Place::url(&self.url)),
        }
    }

    /// Begins a temporary copy in `folder`, which is discarded in the end.
    ///
    /// # Errors
    ///
    /// Like [`CreateOptions::create_map`].
    pub fn passing(url: &str, options: CreateOptions, folder: &Path) -> Result<Self> {
        let map = options.create_map(Place::path(folder).mode("nczarr").mode("file"))?;
        Ok(Self { url: url.to_owned(), options: options.map(map), kept: None })
    }

    /// Returns the findings of the process that began the copy.
    pub fn left(&self) -> KnownLosses {
        self.kept.as_ref().map(|kept| kept.record.borrow().left.clone()).unwrap_or_default()
    }

    /// Removes all objects, so that the dataset can be created again with `left`.
    ///
    /// # Errors
    ///
    /// Errors of the storage; `NC_EACCESS` if another process has taken the copy over.
    pub fn restart(&self, left: KnownLosses) -> Result<()> {
        let Some(kept) = &self.kept else { return nczarr::delete(Place::url(&self.url)) };
        kept.before.take();
        {
            let mut record = kept.record.borrow_mut();
            record.completed = CompletedBlocks::default();
            record.left = left;
        }
        // The record must change before any chunk is removed: a later process would take removed chunks for
        // stored.
        if kept.written.get() {
            kept.put()?;
        }
        kept.hold.clear(NAME)
    }

    /// Removes the objects that this process made, the record last. Resumed work stays, and so does a copy
    /// that another process has taken over.
    ///
    /// # Errors
    ///
    /// Errors of the storage.
    pub fn abandon(&self) -> Result<()> {
        let Some(kept) = self.kept.as_ref().filter(|kept| kept.written.get() && kept.found.is_none()) else {
            return Ok(());
        };
        kept.record.borrow_mut().completed = CompletedBlocks::default();
        kept.put()?;
        if kept.public {
            kept.hold.clear(NAME)?;
        }
        kept.remove(kept.folder.as_deref())?;
        kept.written.set(false);
        Ok(())
    }

    /// Records the end of definition. A resumed copy must have the same definitions in `to`. A local copy
    /// writes its record once there is progress; a public one writes it before anything else.
    ///
    /// # Errors
    ///
    /// `NC_EINVAL` if the definitions differ; errors of the storage.
    pub fn defined(&self, to: &dyn Dataset, mut fingerprint: CopyFingerprint) -> Result<()> {
        let Some(kept) = &self.kept else { return Ok(()) };
        to.sync()?;
        fingerprint.layout = format!("{} {:016x}", fingerprint.layout, kept.hold.sum());
        let fingerprint = &fingerprint;
        if kept.before.borrow().as_ref().is_some_and(CompletedBlocks::is_something) {
            return kept.record.borrow().check(fingerprint);
        }
        // Another process began this copy, perhaps with other definitions.
        if kept.found.is_some() && !kept.record.borrow().is_laid_out(fingerprint) {
            document_hold::clear(kept.hold.inner(), NAME)?;
        }
        {
            let mut record = kept.record.borrow_mut();
            let (owner, left) = (record.owner.clone(), record.left.clone());
            *record = CopyRecord::new(fingerprint, &owner);
            record.left = left;
        }
        if kept.public || kept.written.get() { kept.put() } else { Ok(()) }
    }

    /// Returns whether a part of variable number `variable` was complete when this process began.
    pub fn covers(&self, variable: u64, shape: &[u64], start: &[u64], count: &[u64]) -> bool {
        let before = self.kept.as_ref().map(|kept| kept.before.borrow());
        before
            .is_some_and(|before| before.as_ref().is_some_and(|it| it.covers(variable, shape, start, count)))
    }

    /// Returns whether there is a record to write.
    pub fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Returns whether resuming would save work, or another process began the copy.
    pub fn is_worth_keeping(&self) -> bool {
        self.kept
            .as_ref()
            .is_some_and(|kept| kept.found.is_some() || kept.record.borrow().completed.is_something())
    }

    /// Records the progress of the data, once they are on disk.
    ///
    /// # Errors
    ///
    /// Errors of the storage; the previous record is still in place.
    pub fn completed(&self, to: &dyn Dataset, completed: &CompletedBlocks) -> Result<()> {
        let Some(kept) = &self.kept else { return Ok(()) };
        to.sync()?;
        kept.write(completed)
    }

    /// Publishes the dataset. The record stays until the dataset is in its final place.
    ///
    /// # Errors
    ///
    /// Errors of the storage.
    pub fn publish(&self) -> Result<()> {
        match &self.kept {
            Some(kept) => {
                kept.check_owner()?;
                // Chunks must be on disk before the documents that refer to them.
                kept.settle(kept.folder.as_deref())?;
                kept.hold.publish()
            }
            None => Ok(()),
        }
    }

    /// Deletes the record; `moved`: the new place of the copy, if it was moved.
    ///
    /// # Errors
    ///
    /// Errors of the storage.
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

/// Returns a token that no other process has.
fn word() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}-{}", random(), random(), std::process::id())
}
