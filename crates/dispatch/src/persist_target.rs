//! [`PersistTarget`]: the file that receives a dataset in memory when it is closed.
//!
//! An existing file is locked from opening on. The new content replaces it in one step.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use nczarr_model::{Error, Result};

use crate::single_file::{self, ClaimedPath, OpenedFile};
use crate::{Clobber, Durability, Magic, Registry};

/// A file that is written once.
#[derive(Debug)]
pub struct PersistTarget {
    /// The path, without links.
    target: PathBuf,
    /// The existing file, locked.
    held: Option<File>,
    /// The treatment of a file that appears meanwhile.
    clobber: Clobber,
    durability: Durability,
    /// The first bytes of the format's files.
    own: &'static [Magic],
}

impl PersistTarget {
    /// Writes back to the file that was opened for writing.
    pub fn to_opened(opened: OpenedFile, durability: Durability, own: &'static [Magic]) -> Self {
        Self { target: opened.path, held: Some(opened.file), clobber: Clobber::Replace, durability, own }
    }

    /// Writes a new file, or replaces the existing one.
    ///
    /// # Errors
    /// `NC_EEXIST` if the path is in use and may not be replaced; `NC_EACCESS` if another process writes the
    /// file; otherwise the system's error.
    pub fn to_new(
        path: &Path,
        clobber: Clobber,
        registry: &Registry,
        durability: Durability,
        own: &'static [Magic],
    ) -> Result<Self> {
        single_file::check_replaceable(path, clobber, registry, own)?;
        let target = single_file::resolve(path)?;
        let held = if fs::exists(&target).map_err(|error| Error::io(target.display().to_string(), error))? {
            single_file::open_locked(&target)?
        } else {
            None
        };
        Ok(Self { target, held, clobber, durability, own })
    }

    /// Writes the file.
    ///
    /// # Errors
    /// As [`PersistTarget::to_new`], for a file that appeared meanwhile. The old file is unchanged then.
    pub fn write(&self, bytes: &[u8], registry: &Registry) -> Result<()> {
        let known = self.held.as_ref().is_some_and(|held| single_file::is_still_at(held, &self.target));
        let taken = if known {
            None
        } else {
            Some(single_file::claim_path(&self.target, self.clobber, registry, self.own)?)
        };
        let written = self.put(bytes);
        if let (Err(_), Some(ClaimedPath::New(_))) = (&written, &taken)
            && let Err(error) = fs::remove_file(&self.target)
        {
            tracing::warn!(path = %self.target.display(), %error, "an empty file could not be removed");
        }
        written
    }

    fn put(&self, bytes: &[u8]) -> Result<()> {
        let (mut opened, mut unfinished) = single_file::create_temp_file(&self.target)?;
        let io = |error| Error::io(self.target.display().to_string(), error);
        // Always synced: the old file disappears, so the new one must be on disk.
        opened.file.write_all(bytes).and_then(|()| opened.file.sync_data()).map_err(io)?;
        let place = unfinished.persist()?;
        match self.durability {
            Durability::Fsync => single_file::sync_directory(&place),
            Durability::Rename => Ok(()),
        }
    }

    /// Releases the lock, for the next writer.
    pub fn release(&self) {
        if let Some(Err(error)) = self.held.as_ref().map(File::unlock) {
            tracing::debug!(path = %self.target.display(), %error, "the file could not be unlocked");
        }
    }
}
