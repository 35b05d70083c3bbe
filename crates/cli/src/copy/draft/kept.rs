//! [`Kept`]: a copy that can be gone on with: its chunks in the storage, its documents held back, and its record, which says whose it is.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nczarr_model::Result;

use super::hold::Hold;
use super::reached::Reached;
use super::record::Record;
use super::store;

/// What is needed to go on with a copy.
pub(super) struct Kept {
    pub(super) hold: Arc<Hold>,
    pub(super) record: RefCell<Record>,
    /// How far it was when this process began; `None`: it is this one's own.
    pub(super) before: RefCell<Option<Reached>>,
    /// Where it lies, if that is a directory.
    pub(super) folder: Option<PathBuf>,
    /// Whether others may come by there.
    pub(super) public: bool,
    /// Whose it was that this process goes on with: it stays, whatever happens.
    pub(super) found: Option<String>,
    /// Whether there is a record of this process.
    pub(super) written: Cell<bool>,
}

impl Kept {
    /// Writes down how far the data have come.
    pub(super) fn write(&self, reached: &Reached) -> Result<()> {
        self.settle(self.folder.as_deref())?;
        let before = std::mem::replace(&mut self.record.borrow_mut().reached, reached.clone());
        self.put().inspect_err(|_| self.record.borrow_mut().reached = before)
    }

    /// Stores the record, if that there is not another one's.
    pub(super) fn put(&self) -> Result<()> {
        let record = self.record.borrow();
        store::put(self.hold.inner(), self.folder.as_deref(), &record, &|there| self.is_ours(&record, there))?;
        self.written.set(true);
        Ok(())
    }

    /// Whether the record that is there is this process's own, or, once, the one of whom it goes on with.
    fn is_ours(&self, record: &Record, there: Option<&[u8]>) -> bool {
        let before = self.found.as_ref().filter(|_| !self.written.get());
        match there {
            Some(bytes) => {
                let owner = Record::of(bytes).ok().map(|there| there.owner);
                owner.is_some_and(|owner| owner == record.owner || before == Some(&owner))
            }
            // None before the first one.
            None => !self.written.get() && before.is_none(),
        }
    }

    /// Takes the record away, if it is not another one's.
    pub(super) fn remove(&self, folder: Option<&Path>) -> Result<()> {
        if folder.is_none() {
            self.check_owner()?;
        }
        store::remove(self.hold.inner(), folder)
    }

    /// That no other process took it over.
    pub(super) fn check_owner(&self) -> Result<()> {
        let there = store::read(self.hold.inner(), self.folder.as_deref())?;
        if self.is_ours(&self.record.borrow(), there.as_deref()) { Ok(()) } else { Err(store::another()) }
    }

    /// Waits until everything written is on disk: all of the file system at once, which costs less than each object alone. Where the
    /// system cannot do that, objects are synced when they are written ([`store::durability`]).
    pub(super) fn settle(&self, folder: Option<&Path>) -> Result<()> {
        #[cfg(target_os = "linux")]
        if let Some(folder) = folder {
            let fail = |error: std::io::Error| nczarr_model::Error::io(folder.display().to_string(), error);
            let directory = std::fs::File::open(folder).map_err(fail)?;
            rustix::fs::syncfs(&directory).map_err(|errno| fail(errno.into()))?;
        }
        Ok(())
    }
}
