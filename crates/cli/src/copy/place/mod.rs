//! Where a copy is made, and how it gets to where it belongs.
//!
//! A copy to a local path is made in a hidden directory beside it, and moved to its place in one step once it is finished,
//! read again and found good enough. Until then what is there already stays as it is, and readers of it see nothing; a copy
//! that fails goes away with the directory. Storage without a place beside (memory, a bucket), and an empty directory, are
//! written to where they are. What copies left that were killed is gone on with by the next one, if that is asked for, else cleared
//! away (`leftover`).

mod check;
mod leftover;
mod swap;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nczarr::Registry;
use nczarr_model::{Error, ErrorKind, Result};
use tempfile::TempDir;

use super::draft::NAME;
use check::{is_empty_directory, lock};

pub use check::{check, has_beside};

/// What a dataset is called once another one has its place, until it is removed.
pub const REPLACED: &str = "replaced";
/// How the name of the directory begins.
pub const PREFIX: &str = ".ncz-";
/// How it ends.
pub const SUFFIX: &str = ".copy";

/// Gives what was made the rights of what it replaces. Who may read a file may enter a directory, and nobody runs a file.
fn keep(rights: &fs::Permissions, was_file: bool, made: &Path) {
    let is_file = made.is_file();
    #[cfg(unix)]
    let rights = {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = rights.mode() & 0o7777;
        &fs::Permissions::from_mode(match (was_file, is_file) {
            // Bits beyond these mean something else in a directory, which its owner must be able to remove.
            (true, false) => mode & 0o777 | (mode & 0o444) >> 2 | 0o700,
            (false, true) => mode & 0o666,
            _ => mode,
        })
    };
    if cfg!(unix) || was_file == is_file {
        // A file system without such rights has nothing to keep.
        let _ = fs::set_permissions(made, rights.clone());
    }
}

/// Whether something by this name in a dataset is what a copy leaves there.
pub fn is_ours(name: &str) -> bool {
    name == NAME
}

/// Where a copy is made.
#[derive(Debug)]
pub struct Place {
    url: String,
    beside: Option<Beside>,
}

/// A directory beside the target.
#[derive(Debug)]
struct Beside {
    /// Where the copy belongs, links followed.
    target: PathBuf,
    /// Where it is made.
    made: PathBuf,
    /// What is there already and will go: its rights, and the lock on it if it is a file.
    old: Option<(fs::Permissions, Option<File>)>,
    folder: TempDir,
    /// Says that the directory is in use, as long as there is the directory.
    held: Option<File>,
}

/// What becomes of half of a copy beside the target, which can be gone on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// It is gone on with.
    Resume,
    /// It is in the way.
    Refuse,
    /// It goes.
    Remove,
    /// It is nobody's business here.
    Leave,
    /// Neither it nor anything else is touched.
    Untouched,
}

impl Place {
    /// The place where it belongs.
    pub fn directly(url: &str) -> Self {
        Self { url: url.to_owned(), beside: None }
    }

    /// A place in `folder`, by the same name as at `url`.
    ///
    /// # Errors
    /// `NC_EURL` if there is no such name there.
    pub fn inside(url: &str, folder: &Path) -> Result<Self> {
        let path = nczarr_url_infer::parse(url)?.path;
        let made = Path::new(&path).file_name().and_then(|name| Some(folder.join(name).to_str()?.to_owned()));
        let made = made.ok_or_else(|| ErrorKind::Url.context(format!("{path}: it has no name")))?;
        let url = url.replacen(&path, &made, 1);
        if nczarr_url_infer::parse(&url)?.path == made {
            Ok(Self { url, beside: None })
        } else {
            Err(ErrorKind::Url.context(format!("{path}: no other place has its name")))
        }
    }

    /// A place for a dataset that is to be at `url`; `half`: what becomes of the one of a copy that was stopped, if there is one.
    ///
    /// # Errors
    /// `NC_EEXIST` or `NC_EOBJECT` if something is there that may not be replaced, or could be gone on with; `NC_EACCESS` if the copy that would be gone on
    /// with, or taken away, is under way; what the system says. What is there is there still.
    pub fn of(url: &str, clobber: bool, registry: &Arc<Registry>, half: Half) -> Result<Self> {
        let directly = Ok(Self::directly(url));
        let target = nczarr_url_infer::parse(url)?;
        // Before it is called by the name of the place beside.
        if target.scheme.is_local() {
            nczarr_url_infer::infer_create(&target)?;
        }
        let path = Path::new(&target.path);
        let Some(name) = path.file_name().filter(|_| target.scheme.is_local()) else { return directly };
        let io = |error| Error::io(target.path.clone(), error);
        let (real, old) = match fs::canonicalize(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => (path.to_owned(), None),
            Err(error) => return Err(io(error)),
            // Why it may not be replaced, and whether it is in the way at all, is known to who would create something there.
            Ok(_) if !clobber => return directly,
            Ok(real) => {
                // Half of a copy that was begun in an empty directory is no dataset, and what becomes of it is not decided here.
                // With documents it is one that was finished.
                let is_half =
                    || real.join(NAME).is_file() && registry.check_dataset(&real.display().to_string()).is_err();
                if is_empty_directory(&real).map_err(io)? || is_half() {
                    return directly;
                }
                let found = fs::metadata(&real).map_err(io)?;
                if !found.is_file() || found.len() > 0 {
                    registry.check_dataset(&real.display().to_string()).map_err(|error| {
                        let what = format!("{}: what is there is no dataset, and is not replaced", target.path);
                        ErrorKind::Exist.context(what).caused_by(error)
                    })?;
                }
                if found.is_dir() {
                    check::alone(&real).map_err(|error| error.at(&target.path))?;
                }
                let lock =
                    if found.is_file() { Some(lock(&real).map_err(|error| error.at(&target.path))?) } else { None };
                (real, Some((found.permissions(), lock)))
            }
        };
        let parent = real.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let begun = match half {
            Half::Resume => leftover::begun(parent, name).map_err(|error| error.at(&target.path))?,
            _ => None,
        };
        if half == Half::Refuse
            && let Some(kept) = leftover::kept(parent, name)
        {
            let what = format!(
                "{}: half of a copy is in {}; --resume goes on with it, --clobber begins anew",
                target.path,
                kept.display()
            );
            return Err(ErrorKind::Exist.context(what));
        }
        if half == Half::Remove
            && let Some((path, process)) = leftover::under_way(parent, name)
        {
            let by = process.map_or_else(|| "another process".to_owned(), |id| format!("process {id}"));
            let what = format!("{}: a copy to here is under way in {}, by {by}", target.path, path.display());
            return Err(ErrorKind::Access.context(what));
        }
        let (mut folder, held) = loop {
            let start = format!("{PREFIX}{}", leftover::mark(name));
            let folder = tempfile::Builder::new().prefix(&start).suffix(SUFFIX).tempdir_in(parent).map_err(io)?;
            let held = leftover::hold(folder.path());
            // Before it was held, another copy may have taken it for a leftover.
            if folder.path().is_dir() {
                break (folder, held);
            }
        };
        let made = folder.path().join(name);
        let text = made.to_str().ok_or_else(|| ErrorKind::BadName.context(made.display().to_string()))?;
        let url = url.replacen(&target.path, text, 1);
        if nczarr_url_infer::parse(&url)?.path != text {
            return Err(ErrorKind::Url.context(format!("{}: no place beside it has a name", target.path)));
        }
        if let Some((begun, _held)) = &begun {
            fs::rename(begun.join(name), &made).map_err(io)?;
            // From here on it goes only where that is decided.
            folder.disable_cleanup(true);
            // What else was made there has no use any more.
            let _ = fs::remove_dir_all(begun);
        }
        drop(begun);
        if half != Half::Untouched {
            leftover::clear(parent, name, matches!(half, Half::Resume | Half::Remove));
        }
        Ok(Self { url, beside: Some(Beside { target: real, made, old, folder, held }) })
    }

    /// Where the copy is made.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A directory on the same storage for what is needed while the copy is made, if there is one; it goes with the copy.
    pub fn beside(&self) -> Option<&Path> {
        self.beside.as_ref().map(|beside| beside.folder.path())
    }

    /// From here on what is made stays, if it cannot be put where it belongs.
    pub fn keep_if_it_fails(&mut self) {
        if let Some(beside) = &mut self.beside {
            beside.folder.disable_cleanup(true);
        }
    }

    /// Puts the finished copy where it belongs, in one step; then `forget` is told that place, if it was made beside it, before what was
    /// there goes.
    ///
    /// # Errors
    /// `NC_EEXIST` if something came there meanwhile; what the system says. What is there is there still.
    pub fn put(self, forget: impl FnOnce(Option<&Path>) -> Result<()>) -> Result<()> {
        let Some(Beside { target, made, old, folder, held: _held }) = self.beside else { return forget(None) };
        let io = |error| Error::io(target.display().to_string(), error);
        match &old {
            Some((rights, was_file)) => {
                keep(rights, was_file.is_some(), &made);
                if let Err(error) = swap::exchange(&made, &target, &folder.path().join(REPLACED)) {
                    if folder.path().join(REPLACED).exists() {
                        // It could not go back to where it was: it stays beside.
                        let kept = folder.keep();
                        let what = format!("{}: what was there is in {}", target.display(), kept.display());
                        return Err(Error::io(what, error));
                    }
                    return Err(io(error));
                }
            }
            None => swap::move_to_nothing(&made, &target).map_err(io)?,
        }
        // That the name survives a failure of power; nothing is wrong if it does not.
        if let Some(parent) = target.parent()
            && let Ok(parent) = File::open(parent)
        {
            let _ = parent.sync_all();
        }
        forget(Some(&target))?;
        // What was there before is in the directory now; it is nothing to go on with.
        if let Err(error) = fs::remove_file(made.join(NAME))
            && !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        {
            return Err(io(error));
        }
        folder.close().map_err(|error| {
            let what = format!("{}: the copy is there; what it replaced could not be removed", target.display());
            ErrorKind::CantRemove.context(what).caused_by(error)
        })?;
        Ok(())
    }

    /// Leaves what there is of a copy that stopped to the next one; answers where, if that is beside the target.
    pub fn keep(self) -> Option<PathBuf> {
        self.beside.map(|beside| beside.folder.keep())
    }

    /// Takes away what there is of a copy that failed. Only for who made it.
    pub fn discard(self) {
        // The failure is the news; an incomplete copy that cannot be taken away is told by whoever finds it.
        match self.beside {
            Some(beside) => {
                if let Some(name) = beside.made.file_name() {
                    leftover::remove(beside.folder.path(), name);
                }
                drop(beside.folder.close());
            }
            None => drop(nczarr::delete(&self.url)),
        }
    }
}
