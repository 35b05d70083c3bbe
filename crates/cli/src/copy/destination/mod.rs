//! The place where a copy is made, and the move to its target.
//!
//! A copy to a local path is made in a hidden directory beside the target. Once it is finished, read again
//! and accepted, it moves to the target in one step. *Invariant:* until then the existing dataset stays
//! unchanged, and readers see nothing of the copy. A failed copy is removed with the directory. Storage
//! without a directory beside the target (memory, a bucket), and an empty directory, are written directly.
//! Directories of killed copies are resumed on request, otherwise removed (`leftover`).

mod check;
mod leftover;
mod swap;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::url_path::with_path;
use nczarr::{Place, Registry};
use nczarr_model::{Error, ErrorKind, Result};
use tempfile::TempDir;

use super::resumable::NAME;
use check::{is_empty_directory, lock};

pub use check::{check, has_beside};

/// The temporary name of a replaced dataset, until it is removed.
pub const REPLACED: &str = "replaced";
/// The prefix of the directory's name.
pub const PREFIX: &str = ".ncz-";
/// The suffix of the directory's name.
pub const SUFFIX: &str = ".copy";

/// Copies permissions from the replaced target. A reader of a file may enter a directory, and no file becomes
/// executable.
fn keep(rights: &fs::Permissions, was_file: bool, made: &Path) {
    let is_file = made.is_file();
    #[cfg(unix)]
    let rights = {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = rights.mode() & 0o7777;
        &fs::Permissions::from_mode(match (was_file, is_file) {
            // Other bits mean something else in a directory, and its owner must be able to remove it.
            (true, false) => mode & 0o777 | (mode & 0o444) >> 2 | 0o700,
            (false, true) => mode & 0o666,
            _ => mode,
        })
    };
    if cfg!(unix) || was_file == is_file {
        // Some file systems have no such permissions.
        let _ = fs::set_permissions(made, rights.clone());
    }
}

/// The place where a copy is made.
#[derive(Debug)]
pub struct Destination {
    url: String,
    beside: Option<StagingDir>,
}

/// A directory beside the target.
#[derive(Debug)]
struct StagingDir {
    /// The final path, links resolved.
    target: PathBuf,
    /// The temporary path.
    made: PathBuf,
    /// The target to be replaced: its permissions, and its lock if it is a file.
    old: Option<(fs::Permissions, Option<File>)>,
    folder: TempDir,
    /// Marks the directory as in use while it exists.
    held: Option<File>,
}

/// The treatment of a resumable copy beside the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftoverPolicy {
    /// It is resumed.
    Resume,
    /// It is an error.
    Refuse,
    /// It is removed.
    Remove,
    /// It is ignored.
    Leave,
    /// No file is touched at all.
    Untouched,
}

impl Destination {
    /// The target itself.
    pub fn directly(url: &str) -> Self {
        Self { url: url.to_owned(), beside: None }
    }

    /// A place in `folder`, with the file name of `url`.
    ///
    /// # Errors
    ///
    /// `NC_EURL` if the name is not possible there.
    pub fn inside(url: &str, folder: &Path) -> Result<Self> {
        let target = nczarr_url_infer::parse(url)?;
        let path = target.path_text();
        let made = target.path.file_name().and_then(|name| Some(folder.join(name).to_str()?.to_owned()));
        let made =
            made.ok_or_else(|| ErrorKind::Url.context(format!("{path}: the path has no file name")))?;
        match with_path(url, &made)? {
            Some(url) => Ok(Self { url, beside: None }),
            None => {
                Err(ErrorKind::Url
                    .context(format!("{path}: the name is not possible in a temporary directory")))
            }
        }
    }

    /// Prepares a place for a dataset at `url`; `half` decides about a resumable copy.
    ///
    /// # Errors
    ///
    /// `NC_EEXIST` or `NC_EOBJECT` if an object is in the way that may not be replaced, or a resumable copy;
    /// `NC_EACCESS` if that copy is still running; errors of the file system. On errors the target is
    /// unchanged.
    pub fn of(url: &str, clobber: bool, registry: &Arc<Registry>, half: LeftoverPolicy) -> Result<Self> {
        let directly = Ok(Self::directly(url));
        let target = nczarr_url_infer::parse(url)?;
        // Check first: later errors would name the temporary path.
        if target.scheme.is_local() {
            nczarr_url_infer::infer_create(&target)?;
        }
        let (path, shown) = (&*target.path, target.path.display());
        let Some(name) = path.file_name().filter(|_| target.scheme.is_local()) else { return directly };
        let io = |error| Error::io_at(path, error);
        let (real, old) = match fs::canonicalize(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => (path.to_owned(), None),
            Err(error) => return Err(io(error)),
            // Creating the dataset decides whether the target is in the way, and reports it.
            Ok(_) if !clobber => return directly,
            Ok(real) => {
                // A partial copy in a formerly empty directory is not a dataset, and the draft handles it.
                // With documents it is a finished one.
                let is_half =
                    || real.join(NAME).is_file() && registry.check_dataset(&Place::path(&real)).is_err();
                if is_empty_directory(&real).map_err(io)? || is_half() {
                    return directly;
                }
                let found = fs::metadata(&real).map_err(io)?;
                if !found.is_file() || found.len() > 0 {
                    registry.check_dataset(&Place::path(&real)).map_err(|error| {
                        let what = format!(
                            "{}: the existing file or directory is not a dataset, and is not replaced",
                            shown
                        );
                        ErrorKind::Exist.context(what).caused_by(error)
                    })?;
                }
                if found.is_dir() {
                    check::alone(&real).map_err(|error| error.at(&shown))?;
                }
                let lock =
                    if found.is_file() { Some(lock(&real).map_err(|error| error.at(&shown))?) } else { None };
                (real, Some((found.permissions(), lock)))
            }
        };
        let parent = real.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let begun = match half {
            LeftoverPolicy::Resume => leftover::begun(parent, name).map_err(|error| error.at(&shown))?,
            _ => None,
        };
        if half == LeftoverPolicy::Refuse
            && let Some(kept) = leftover::kept(parent, name)
        {
            let what = format!(
                "{}: an unfinished copy is in {}; use --resume to continue it, --clobber to start over",
                shown,
                kept.display()
            );
            return Err(ErrorKind::Exist.context(what));
        }
        if half == LeftoverPolicy::Remove
            && let Some((path, process)) = leftover::under_way(parent, name)
        {
            let by = process.map_or_else(|| "another process".to_owned(), |id| format!("process {id}"));
            let what = format!("{}: a copy to this target is running in {}, by {by}", shown, path.display());
            return Err(ErrorKind::Access.context(what));
        }
        let (mut folder, held) = loop {
            let start = format!("{PREFIX}{}", leftover::mark(name));
            let folder =
                tempfile::Builder::new().prefix(&start).suffix(SUFFIX).tempdir_in(parent).map_err(io)?;
            let held = leftover::hold(folder.path());
            // Before the lock, another copy may have removed it as a leftover.
            if folder.path().is_dir() {
                break (folder, held);
            }
        };
        let made = folder.path().join(name);
        let text = made.to_str().ok_or_else(|| ErrorKind::BadName.context(made.display().to_string()))?;
        let Some(url) = with_path(url, text)? else {
            return Err(
                ErrorKind::Url.context(format!("{shown}: the name is not possible in a directory beside it"))
            );
        };
        if let Some((begun, _held)) = &begun {
            fs::rename(begun.join(name), &made).map_err(io)?;
            // From here on only explicit code removes it.
            folder.disable_cleanup(true);
            // The rest of that directory has no further use.
            let _ = fs::remove_dir_all(begun);
        }
        drop(begun);
        if half != LeftoverPolicy::Untouched {
            leftover::clear(parent, name, matches!(half, LeftoverPolicy::Resume | LeftoverPolicy::Remove));
        }
        Ok(Self { url, beside: Some(StagingDir { target: real, made, old, folder, held }) })
    }

    /// Returns the URL where the copy is made.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns a directory on the same storage for temporary files, if there is one. It is removed with the
    /// copy.
    pub fn beside(&self) -> Option<&Path> {
        self.beside.as_ref().map(|beside| beside.folder.path())
    }

    /// Keeps the copy if the final move fails.
    pub fn keep_if_it_fails(&mut self) {
        if let Some(beside) = &mut self.beside {
            beside.folder.disable_cleanup(true);
        }
    }

    /// Moves the finished copy to its target in one step. Then calls `forget` with the new path, if it
    /// changed, and removes the replaced dataset.
    ///
    /// # Errors
    ///
    /// `NC_EEXIST` if another object appeared there meanwhile; errors of the file system. On errors the
    /// target is unchanged.
    pub fn put(self, forget: impl FnOnce(Option<&Path>) -> Result<()>) -> Result<()> {
        let Some(StagingDir { target, made, old, folder, held: _held }) = self.beside else {
            return forget(None);
        };
        let io = |error| Error::io(target.display().to_string(), error);
        match &old {
            Some((rights, was_file)) => {
                keep(rights, was_file.is_some(), &made);
                if let Err(error) = swap::exchange(&made, &target, &folder.path().join(REPLACED)) {
                    if folder.path().join(REPLACED).exists() {
                        // Restoring it failed: it stays beside the target.
                        let kept = folder.keep();
                        let what =
                            format!("{}: the replaced dataset is in {}", target.display(), kept.display());
                        return Err(Error::io(what, error));
                    }
                    return Err(io(error));
                }
            }
            None => swap::move_to_nothing(&made, &target).map_err(io)?,
        }
        // Makes the name survive a power failure; errors do no harm.
        if let Some(parent) = target.parent()
            && let Ok(parent) = File::open(parent)
        {
            let _ = parent.sync_all();
        }
        forget(Some(&target))?;
        // The directory now contains the replaced dataset, which must not look resumable.
        if let Err(error) = fs::remove_file(made.join(NAME))
            && !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        {
            return Err(io(error));
        }
        folder.close().map_err(|error| {
            let what = format!(
                "{}: the copy is complete, but the replaced dataset could not be removed",
                target.display()
            );
            ErrorKind::CantRemove.context(what).caused_by(error)
        })?;
        Ok(())
    }

    /// Leaves a partial copy for a later process; returns its directory, if it is beside the target.
    pub fn keep(self) -> Option<PathBuf> {
        self.beside.map(|beside| beside.folder.keep())
    }

    /// Removes a failed copy. Only its maker may call this.
    pub fn discard(self) {
        // The first failure is the one to report; an incomplete copy that stays is reported by the next
        // process.
        match self.beside {
            Some(beside) => {
                if let Some(name) = beside.made.file_name() {
                    leftover::remove(beside.folder.path(), name);
                }
                drop(beside.folder.close());
            }
            None => drop(nczarr::delete(Place::url(&self.url))),
        }
    }
}
