//! [`ResumableState`]: a resumable copy: its chunks in the storage, its documents held back, and its record,
//! which names its owner.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nczarr_model::Result;

use super::completed_blocks::CompletedBlocks;
use super::document_hold::DocumentHold;
use super::record::CopyRecord;
use super::store;

/// The parts of a resumable copy.
pub(super) struct ResumableState {
    pub(super) hold: Arc<DocumentHold>,
    pub(super) record: RefCell<CopyRecord>,
    /// The progress at the start of this process; `None` if this process began the copy.
    pub(super) before: RefCell<Option<CompletedBlocks>>,
    /// The directory of the copy, if it is local.
    pub(super) folder: Option<PathBuf>,
    /// Whether other processes may find it.
    pub(super) public: bool,
    /// The owner that this process continues for; its work is never removed.
    pub(super) found: Option<String>,
    /// Whether this process has written a record.
    pub(super) written: Cell<bool>,
}

impl ResumableState {
    /// Records the progress of the data.
    pub(super) fn write(&self, completed: &CompletedBlocks) -> Result<()> {
        self.settle(self.folder.as_deref())?;
        let before = std::mem::replace(&mut self.record.borrow_mut().completed, completed.clone());
        self.put().inspect_err(|_| self.record.borrow_mut().completed = before)
    }

    /// Stores the record, unless the stored one is another process's.
    pub(super) fn put(&self) -> Result<()> {
        let record = self.record.borrow();
        store::put(self.hold.inner(), self.folder.as_deref(), &record, &|there| {
            self.is_ours(&record, there)
        })?;
        self.written.set(true);
        Ok(())
    }

    /// Returns whether the stored record is this process's own, or, the first time, the previous owner's.
    fn is_ours(&self, record: &CopyRecord, there: Option<&[u8]>) -> bool {
        let before = self.found.as_ref().filter(|_| !self.written.get());
        match there {
            Some(bytes) => {
                let owner = CopyRecord::of(bytes).ok().map(|there| there.owner);
                owner.is_some_and(|owner| owner == record.owner || before == Some(&owner))
            }
            // There is none before the first one.
            None => !self.written.get() && before.is_none(),
        }
    }

    /// Deletes the record, unless it is another process's.
    pub(super) fn remove(&self, folder: Option<&Path>) -> Result<()> {
        if folder.is_none() {
            self.check_owner()?;
        }
        store::remove(self.hold.inner(), folder)
    }

    /// Checks that no other process took the copy over.
    pub(super) fn check_owner(&self) -> Result<()> {
        let there = store::read(self.hold.inner(), self.folder.as_deref())?;
        if self.is_ours(&self.record.borrow(), there.as_deref()) { Ok(()) } else { Err(store::another()) }
    }

    /// Waits until everything written is on disk. One sync of the whole file system costs less than one per
    /// object. Where the system has no such call, objects are synced when they are written
    /// ([`store::durability`]).
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
