//! [`Persist`]: where an archive in memory is put when it is closed.
//!
//! What is there at the beginning is locked from then on. The new archive is made beside it, each object once, and takes its
//! place in one step: whoever is stopped meanwhile leaves the old one. What came to the place meanwhile is not replaced.

use std::path::{Path, PathBuf};

use nczarr_dispatch::Options;
use nczarr_model::{Error, ErrorKind, Result};

use crate::ZipMap;
use crate::place::{self, Held};
use crate::repack;

/// A place for an archive, which is put there once.
#[derive(Debug)]
pub(crate) struct Persist {
    path: PathBuf,
    /// What is there, locked; `None`: nothing.
    old: Option<Held>,
    /// Nothing that could be put there was there before.
    is_new: bool,
    options: Options,
}

impl Persist {
    /// Back to the file it was read from.
    pub(crate) fn to_opened(held: Held, options: &Options) -> Self {
        Self { path: held.path.clone(), old: Some(held), is_new: false, options: options.clone() }
    }

    /// To a place, or in the place of `old`.
    ///
    /// # Errors
    /// `NC_EEXIST` if there is no `old` and yet something is there; what the system says.
    pub(crate) fn to_new(path: &Path, old: Option<Held>, options: &Options) -> Result<Self> {
        let path = match &old {
            Some(old) => old.path.clone(),
            None => path.to_owned(),
        };
        match path.symlink_metadata() {
            Ok(_) if old.is_none() => {
                return Err(ErrorKind::Exist.context(format!("{}: something is there already", path.display())));
            }
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(path.display().to_string(), error));
            }
            _ => {}
        }
        Ok(Self { path, old, is_new: true, options: options.clone() })
    }

    /// Puts an archive of all objects there, and of what else was in the archive that was read, unless it is new and nothing
    /// was ever put into it.
    ///
    /// # Errors
    /// `NC_EEXIST` if something else is there by now; what the system says. Then what was there is there still.
    pub(crate) fn put(&mut self, map: &ZipMap) -> Result<()> {
        if self.is_new && map.is_empty() {
            return Ok(());
        }
        let fail = |error| Error::io(self.path.display().to_string(), error);
        let old = self.old.as_ref().map(|old| &*old.file);
        let mut made = place::beside(&self.path, old).map_err(fail)?;
        repack::write(map, made.as_file_mut())?;
        let made = match &self.old {
            Some(old) if place::is_at(&old.file, &self.path) => {
                place::put(made, &self.path, &mut self.old, &self.options).map_err(fail)?
            }
            _ => place::put_new(made, &self.path, &self.options)?,
        };
        let _ = made.unlock();
        Ok(())
    }
}
