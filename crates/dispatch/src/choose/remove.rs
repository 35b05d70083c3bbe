//! Deleting a dataset, and making room for a new one: only what is recognised is ever removed.

use std::fs::TryLockError;
use std::sync::Arc;

use nczarr_model::{Error, ErrorKind, Result};

use super::refused::Refused;
use super::site::{Content, Place, Site};
use super::{Looks, target_of};
use crate::trace;
use crate::{Clobber, CreateRequest, MapFactory, OpenRequest, Options, Registry};

impl Registry {
    /// Deletes the dataset that `path`, a path or URL, means. Anything that is not recognised as one is left alone,
    /// whatever `mode=` says. Of a symbolic link to a dataset only the link goes: the dataset stays where it is.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if nothing is there; `NC_ENOTNC` if it is no dataset; what the storage says.
    pub fn delete(self: &Arc<Self>, path: &str) -> Result<()> {
        let (target, options) = (target_of(path)?, Options::default());
        let request =
            OpenRequest { target: &target, writable: true, options: &options, registry: self, map: None, only: None };
        trace::call("delete", &target, || match self.recognise(&request)? {
            _ if target.scheme.is_local() && is_link(&target.path) => remove_link(&target.path),
            Site::Map(factory, ..) => factory.delete(&request),
            Site::File(_) if !target.scheme.is_local() => {
                Err(ErrorKind::Perm.context(format!("{target}: a file elsewhere, which is only read")))
            }
            Site::File(_) => remove_file(&target.path),
        })
    }

    /// Whether [`Registry::delete`] would find a dataset at `path`, or a file of a format that the project knows and this
    /// build has not: whatever may be replaced when that was asked for.
    ///
    /// # Errors
    /// As [`Registry::delete`]; nothing is changed.
    pub fn check_dataset(self: &Arc<Self>, path: &str) -> Result<()> {
        let (target, options) = (target_of(path)?, Options::default());
        let request =
            OpenRequest { target: &target, writable: false, options: &options, registry: self, map: None, only: None };
        match self.recognise(&request) {
            Err(error) if error.kind() == ErrorKind::NotBuilt => Ok(()),
            recognised => recognised.map(drop),
        }
    }

    /// The site of a dataset that is recognised.
    fn recognise<'r>(self: &'r Arc<Self>, request: &OpenRequest<'_>) -> Result<Site<'r>> {
        let target = request.target;
        self.check_words(target, false)?;
        match self.site(request, false, &mut Looks::unheard())? {
            Site::Map(factory, why, source) => {
                let map = self.open_with(factory, why.clone(), request, source)?;
                let mut refused = Refused::default();
                let known = self.driver_by_markers(&*map, &mut Looks::unheard(), &mut refused);
                let closed = map.close();
                if known.map_err(|error| error.at(target))?.is_none() {
                    refused.check().map_err(|error| error.at(target))?;
                    return Err(self.nothing_in_map(target, &map, false, Refused::default()));
                }
                closed?;
                Ok(Site::Map(factory, why, None))
            }
            Site::File(Content::Nothing(error)) => Err(error),
            site => Ok(site),
        }
    }

    /// A regular file stands where a map is to be made: it goes if it is a dataset of a driver and may be replaced.
    /// Everything else is the factory's business, which knows what is its own.
    pub(super) fn clear_for(&self, factory: &Arc<dyn MapFactory>, request: &CreateRequest<'_>) -> Result<()> {
        let path = &request.target.path;
        match Place::of(path)? {
            Place::Special(name) => Err(ErrorKind::Exist.context(format!("{path}: {name} is there"))),
            Place::File if factory.info().magic.is_empty() => match (self.driver_of_file(path)?, request.clobber) {
                (Some(_), Clobber::Replace) => remove_file(path),
                (Some(driver), Clobber::Refuse) => {
                    Err(ErrorKind::Exist
                        .context(format!("{path}: a dataset of driver {} is there", driver.info().name)))
                }
                (None, _) => Err(ErrorKind::Exist.context(format!("{path}: a file is there that is not a dataset"))),
            },
            _ => Ok(()),
        }
    }
}

/// Whether a symbolic link is at a path. A slash at the end does not make it what it leads to.
fn is_link(path: &str) -> bool {
    std::fs::symlink_metadata(without_slash(path)).is_ok_and(|found| found.is_symlink())
}

fn without_slash(path: &str) -> &str {
    path.trim_end_matches('/')
}

fn remove_link(path: &str) -> Result<()> {
    let path = without_slash(path);
    // Some systems have links to directories that are removed as such.
    let removed = std::fs::remove_file(path).or_else(|error| std::fs::remove_dir(path).map_err(|_| error));
    removed.map_err(|error| ErrorKind::CantRemove.context(path).caused_by(error))
}

fn remove_file(path: &str) -> Result<()> {
    // Whoever writes it would write on where nobody looks any more. Not every file system has locks.
    let file = std::fs::File::open(path);
    if let Ok(file) = &file
        && let Err(TryLockError::WouldBlock) = file.try_lock()
    {
        return Err(ErrorKind::Access
            .context(format!("{path}: it is locked: open for writing elsewhere, or, if it is netCDF-4, for reading")));
    }
    std::fs::remove_file(path).map_err(|error| match Error::io(path, error) {
        error if error.kind() == ErrorKind::NotFound => error,
        error => ErrorKind::CantRemove.context(path).caused_by(error),
    })
}
