//! [`Persist`]: where the bytes of a dataset in memory go when it is closed.
//!
//! What is there when it is opened is locked from then on. The bytes take its place in one step.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use nczarr_model::{Error, Result};

use crate::place::{self, Opened, Taken};
use crate::{Clobber, Durability, Magic, Registry};

/// A file to be written once.
#[derive(Debug)]
pub struct Persist {
    /// No link.
    target: PathBuf,
    /// What is there, locked.
    held: Option<File>,
    /// What to do about what came there meanwhile.
    clobber: Clobber,
    durability: Durability,
    /// First bytes of the format's files.
    own: &'static [Magic],
}

impl Persist {
    /// Back to the file that was opened to be written.
    pub fn to_opened(opened: Opened, durability: Durability, own: &'static [Magic]) -> Self {
        Self { target: opened.path, held: Some(opened.file), clobber: Clobber::Replace, durability, own }
    }

    /// A new file at a place, or in the place of what is there.
    ///
    /// # Errors
    /// `NC_EEXIST` if something is there that may not be replaced; `NC_EACCESS` if somebody writes it; what the system
    /// says.
    pub fn to_new(
        path: &Path,
        clobber: Clobber,
        registry: &Registry,
        durability: Durability,
        own: &'static [Magic],
    ) -> Result<Self> {
        place::check_replaceable(path, clobber, registry, own)?;
        let target = place::resolve(path)?;
        let held = match fs::exists(&target).map_err(|error| Error::io(target.display().to_string(), error))? {
            true => place::claim(&target)?,
            false => None,
        };
        Ok(Self { target, held, clobber, durability, own })
    }

    /// Writes the file.
    ///
    /// # Errors
    /// As [`Persist::to_new`], of what came there meanwhile. What was there is there still.
    pub fn write(&self, bytes: &[u8], registry: &Registry) -> Result<()> {
        let known = self.held.as_ref().is_some_and(|held| place::is_at(held, &self.target));
        let taken = if known { None } else { Some(place::take(&self.target, self.clobber, registry, self.own)?) };
        let written = self.put(bytes);
        if let (Err(_), Some(Taken::New(_))) = (&written, &taken)
            && let Err(error) = fs::remove_file(&self.target)
        {
            tracing::warn!(path = %self.target.display(), %error, "an empty file could not be removed");
        }
        written
    }

    fn put(&self, bytes: &[u8]) -> Result<()> {
        let (mut opened, mut unfinished) = place::beside(&self.target)?;
        let io = |error| Error::io(self.target.display().to_string(), error);
        // Synced in any case: what was there goes, and must not depend on what storage has not written yet.
        opened.file.write_all(bytes).and_then(|()| opened.file.sync_data()).map_err(io)?;
        let place = unfinished.keep()?;
        match self.durability {
            Durability::Fsync => place::sync_directory(&place),
            Durability::Rename => Ok(()),
        }
    }

    /// Gives up the lock, for who opens the file next.
    pub fn release(&self) {
        if let Some(Err(error)) = self.held.as_ref().map(File::unlock) {
            tracing::debug!(path = %self.target.display(), %error, "the file could not be unlocked");
        }
    }
}
