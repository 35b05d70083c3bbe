//! Deletes a dataset, or clears the path of a new one. Only recognised datasets are removed.

use std::fs::TryLockError;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nczarr_model::{Error, ErrorKind, Result};

use super::locate::{DatasetLocation, FileContent, PathKind};
use super::refused_keys::RefusedKeys;
use super::{ProbeLog, parse_target};
use crate::trace;
use crate::{Clobber, CreateRequest, OpenRequest, Options, Registry};
use nczarr_storage::MapFactory;
use nczarr_url_infer::Place;

impl Registry {
    /// Deletes the dataset at `path`, a path or URL. The call never deletes anything else, with any `mode=`.
    /// For a symbolic link it removes only the link.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if the path is empty; `NC_ENOTNC` if it is not a dataset; otherwise the storage's
    /// error.
    pub fn delete(self: &Arc<Self>, place: &Place) -> Result<()> {
        let (target, options) = (parse_target(place)?, Options::default());
        let request = OpenRequest::new(&target, &options, self).writable(true);
        trace::call("delete", &target, || match self.recognise(&request)? {
            _ if target.scheme.is_local() && is_link(&target.path) => remove_link(&target.path),
            DatasetLocation::Map(factory, ..) => request.with_map_request(|request| factory.delete(request)),
            DatasetLocation::File(_) if !target.scheme.is_local() => {
                Err(ErrorKind::Perm.context(format!("{target}: cannot delete a remote file")))
            }
            DatasetLocation::File(_) => remove_file(&target.path),
        })
    }

    /// Checks that `path` is a dataset, as [`Registry::delete`] would, or a file of a known format that this
    /// build lacks. Such a path may be replaced on request.
    ///
    /// # Errors
    /// As [`Registry::delete`]; nothing is changed.
    pub fn check_dataset(self: &Arc<Self>, place: &Place) -> Result<()> {
        let (target, options) = (parse_target(place)?, Options::default());
        let request = OpenRequest::new(&target, &options, self);
        match self.recognise(&request) {
            Err(error) if error.kind() == ErrorKind::NotBuilt => Ok(()),
            recognised => recognised.map(drop),
        }
    }

    /// Returns the location of a dataset, if a driver recognises it.
    fn recognise<'r>(self: &'r Arc<Self>, request: &OpenRequest<'_>) -> Result<DatasetLocation<'r>> {
        let target = request.target;
        self.check_words(target, false)?;
        match self.locate(request, false, &mut ProbeLog::disabled())? {
            DatasetLocation::Map(factory, why, source) => {
                let map = self.open_with(factory, why.clone(), request, source)?;
                let mut refused = RefusedKeys::default();
                let known = self.driver_by_markers(&*map, &mut ProbeLog::disabled(), &mut refused);
                let closed = map.close();
                if known.map_err(|error| error.at(target))?.is_none() {
                    refused.check().map_err(|error| error.at(target))?;
                    return Err(self.nothing_in_map(target, &map, false, RefusedKeys::default()));
                }
                closed?;
                Ok(DatasetLocation::Map(factory, why, None))
            }
            DatasetLocation::File(FileContent::Nothing(error)) => Err(error),
            site => Ok(site),
        }
    }

    /// Removes a regular file at the path of a new map, if it is a dataset and may be replaced. All other
    /// cases are left to the factory.
    pub(super) fn clear_for(&self, factory: &Arc<dyn MapFactory>, request: &CreateRequest<'_>) -> Result<()> {
        let path = &request.target.path;
        let shown = path.display();
        match PathKind::of(path)? {
            PathKind::Special(name) => Err(ErrorKind::Exist.context(format!("{shown}: {name} exists"))),
            PathKind::File if factory.info().magic.is_empty() => {
                match (self.driver_of_file(path)?, request.clobber) {
                    (Some(_), Clobber::Replace) => remove_file(path),
                    (Some(driver), Clobber::Refuse) => Err(ErrorKind::Exist
                        .context(format!("{shown}: a dataset of driver {} exists", driver.info().name))),
                    (None, _) => {
                        Err(ErrorKind::Exist.context(format!("{shown}: a file exists that is not a dataset")))
                    }
                }
            }
            _ => Ok(()),
        }
    }
}

/// Whether the path is a symbolic link. A trailing slash is ignored.
fn is_link(path: &Path) -> bool {
    std::fs::symlink_metadata(without_slash(path)).is_ok_and(|found| found.is_symlink())
}

fn without_slash(path: &Path) -> PathBuf {
    match path.file_name() {
        Some(name) if path.as_os_str().as_encoded_bytes().ends_with(b"/") => path.with_file_name(name),
        _ => path.to_owned(),
    }
}

fn remove_link(path: &Path) -> Result<()> {
    let path = &without_slash(path);
    // Some systems remove links to directories like directories.
    let removed = std::fs::remove_file(path).or_else(|error| std::fs::remove_dir(path).map_err(|_| error));
    removed.map_err(|error| not_removed(path).caused_by(error))
}

fn remove_file(path: &Path) -> Result<()> {
    // Its writer would continue to write an unreachable file. Some file systems have no locks.
    let file = std::fs::File::open(path);
    if let Ok(file) = &file
        && let Err(TryLockError::WouldBlock) = file.try_lock()
    {
        return Err(ErrorKind::Access.context(format!(
            "{}: the file is locked: another process has it open for writing, or for reading if it is netCDF-4",
            path.display()
        )));
    }
    std::fs::remove_file(path).map_err(|error| match Error::io_at(path, error) {
        error if error.kind() == ErrorKind::NotFound => error,
        error => not_removed(path).caused_by(error),
    })
}

fn not_removed(path: &Path) -> Error {
    ErrorKind::CantRemove.context(path.display().to_string())
}
