//! [`Persist`]: the file that an archive in memory replaces when it is closed.
//!
//! The existing file is locked from the start. The new archive is written beside it, each object once, and
//! replaces it in one step, so a crash leaves the old one. A file that appeared meanwhile is not replaced.

use std::path::{Path, PathBuf};

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::MapOptions;

use crate::ZipMap;
use crate::archive_file::{self, LockedArchive};
use crate::repack;

/// The target file of an archive, written once.
#[derive(Debug)]
pub(crate) struct Persist {
    path: PathBuf,
    /// The existing file, locked; `None` if there is none.
    old: Option<LockedArchive>,
    /// The archive is new and not a copy of the file.
    is_new: bool,
    options: MapOptions,
}

impl Persist {
    /// The target is the file that the archive was read from.
    pub(crate) fn to_opened(held: LockedArchive, options: &MapOptions) -> Self {
        Self { path: held.path.clone(), old: Some(held), is_new: false, options: options.clone() }
    }

    /// The target is a new file, or replaces `old`.
    ///
    /// # Errors
    /// `NC_EEXIST` if a file exists and `old` is `None`; errors of the system.
    pub(crate) fn to_new(path: &Path, old: Option<LockedArchive>, options: &MapOptions) -> Result<Self> {
        let path = match &old {
            Some(old) => old.path.clone(),
            None => path.to_owned(),
        };
        match path.symlink_metadata() {
            Ok(_) if old.is_none() => {
                return Err(ErrorKind::Exist.context(format!("{}: the file already exists", path.display())));
            }
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(path.display().to_string(), error));
            }
            _ => {}
        }
        Ok(Self { path, old, is_new: true, options: options.clone() })
    }

    /// Writes an archive of all objects and other members to the target, unless it is new and has no objects.
    ///
    /// # Errors
    /// `NC_EEXIST` if another file appeared; errors of the system. The old file then stays.
    pub(crate) fn put(&mut self, map: &ZipMap) -> Result<()> {
        if self.is_new && map.is_empty() {
            return Ok(());
        }
        let fail = |error| Error::io(self.path.display().to_string(), error);
        let old = self.old.as_ref().map(|old| &*old.file);
        let mut made = archive_file::beside(&self.path, old).map_err(fail)?;
        repack::write(map, made.as_file_mut())?;
        let made = match &self.old {
            Some(old) if archive_file::is_at(&old.file, &self.path) => {
                archive_file::put(made, &self.path, &mut self.old, &self.options).map_err(fail)?
            }
            _ => archive_file::put_new(made, &self.path, &self.options)?,
        };
        let _ = made.unlock();
        Ok(())
    }
}
