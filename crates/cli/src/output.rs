//! The output of a command: standard output or a file.
//!
//! A file appears when it is complete; until then, and after a failure, the previous file stays. A file is
//! never written into the dataset, nor over its data.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use nczarr::dispatch::Dataset;
use nczarr_model::{Error, Result};
use tempfile::NamedTempFile;

use crate::overlap;
use crate::streams::{STANDARD, StandardOutput};

/// Buffered output that knows its name.
pub struct Output {
    sink: BufWriter<Box<dyn Write>>,
    file: Option<PathBuf>,
    /// The temporary file under way.
    made: Option<Made>,
}

/// A file that gets its name when it is finished.
struct Made {
    file: Unfinished,
    /// The final path, links resolved.
    place: PathBuf,
}

/// A file under way. A file without a name disappears with the process.
enum Unfinished {
    #[cfg(target_os = "linux")]
    Nameless(fs::File),
    /// On systems without unnamed files.
    Named(NamedTempFile),
}

impl Unfinished {
    /// Creates a file in the directory of another one, with its permissions.
    fn beside(place: &Path, rights: Option<fs::Permissions>) -> io::Result<Self> {
        let folder = folder_of(place);
        #[cfg(target_os = "linux")]
        if let Some(file) = nameless(folder) {
            keep(&file, rights);
            return Ok(Self::Nameless(file));
        }
        let mut making = naming();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            // Minus the process's umask.
            making.permissions(fs::Permissions::from_mode(0o666));
        }
        let file = making.tempfile_in(folder)?;
        keep(file.as_file(), rights);
        Ok(Self::Named(file))
    }

    fn as_file(&self) -> &fs::File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(file) => file,
            Self::Named(file) => file.as_file(),
        }
    }

    /// Moves it to its final path, in place of any existing file.
    fn put(self, place: &Path) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(file) => match name(&file, place) {
                // An unnamed file can only get a free name; a rename then replaces the target.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let named = naming().make_in(folder_of(place), |path| name(&file, path))?;
                    named.persist(place).map(drop).map_err(|error| error.error)
                }
                named => named,
            },
            Self::Named(file) => file.persist(place).map(drop).map_err(|error| error.error),
        }
    }
}

fn folder_of(place: &Path) -> &Path {
    place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The prefix of temporary names.
fn naming() -> tempfile::Builder<'static, 'static> {
    let mut naming = tempfile::Builder::new();
    naming.prefix(".ncz-").suffix(".part");
    naming
}

/// Copies the permissions of the replaced file.
fn keep(file: &fs::File, rights: Option<fs::Permissions>) {
    if let Some(rights) = rights {
        // Some file systems have no such permissions.
        let _ = file.set_permissions(rights);
    }
}

/// Creates a file without a name, if it can get one later.
#[cfg(target_os = "linux")]
fn nameless(folder: &Path) -> Option<fs::File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    // Minus the process's umask.
    let file = fs::File::from(openat(CWD, folder, flags, Mode::from_raw_mode(0o666)).ok()?);
    fs::metadata(through(&file)).is_ok().then_some(file)
}

/// Returns the path of an open file in the system's view.
#[cfg(target_os = "linux")]
fn through(file: &fs::File) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Names an unnamed file; the name must be free.
#[cfg(target_os = "linux")]
fn name(file: &fs::File, place: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, through(file), CWD, place, AtFlags::SYMLINK_FOLLOW)?)
}

/// Follows dangling links; returns any other path unchanged.
fn followed(path: &Path) -> PathBuf {
    /// The system's limit for links.
    const MOST: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST {
        match fs::read_link(&path) {
            Ok(to) => path = folder_of(&path).join(to),
            Err(_) => break,
        }
    }
    path
}

impl Output {
    /// Standard output.
    pub fn standard() -> Self {
        Self {
            sink: BufWriter::with_capacity(1 << 16, Box::new(StandardOutput::lock())),
            file: None,
            made: None,
        }
    }

    /// A file, or standard output; `source`: the dataset that is read meanwhile, and its path.
    ///
    /// # Errors
    ///
    /// `NC_EINVAL` if the file is the source, lies in it, or is one of its data files; errors of creating the
    /// file.
    pub fn to(path: Option<&Path>, source: &str, dataset: &dyn Dataset) -> Result<Self> {
        let Some(path) = path else { return Ok(Self::standard()) };
        let fail = |error| Error::io(path.display().to_string(), error);
        let place = overlap::real(&followed(path));
        if let Some(place) = &place {
            overlap::check_local(source, place, &dataset.external_files())?;
        }
        let (made, sink): (_, Box<dyn Write>) = match (place, fs::metadata(path)) {
            // Devices and pipes are written directly; they have no previous contents.
            (_, Ok(about)) if !about.is_file() => (None, Box::new(fs::File::create(path).map_err(fail)?)),
            (_, Err(error)) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
            (None, _) => (None, Box::new(fs::File::create(path).map_err(fail)?)),
            (Some(place), about) => {
                // A file without write permission is not replaced either.
                if about.is_ok() {
                    fs::File::options().write(true).open(&place).map_err(fail)?;
                }
                let rights = about.ok().map(|about| about.permissions());
                let file = Unfinished::beside(&place, rights).map_err(fail)?;
                let sink = file.as_file().try_clone().map_err(fail)?;
                (Some(Made { file, place }), Box::new(sink))
            }
        };
        Ok(Self { sink: BufWriter::with_capacity(1 << 20, sink), file: Some(path.to_owned()), made })
    }

    /// Writes bytes.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    pub fn put(&mut self, bytes: impl AsRef<[u8]>) -> Result<()> {
        let outcome = self.sink.write_all(bytes.as_ref());
        outcome.map_err(|error| self.failed(error))
    }

    /// Flushes the buffer and moves a file to its path; the last call.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    pub fn finish(mut self) -> Result<()> {
        let outcome = self.sink.flush();
        outcome.map_err(|error| self.failed(error))?;
        match self.made.take() {
            Some(Made { file, place }) => file.put(&place).map_err(|error| self.failed(error)),
            None => Ok(()),
        }
    }

    /// Returns the writer itself.
    pub fn writer(&mut self) -> &mut dyn Write {
        &mut self.sink
    }

    fn failed(&self, error: io::Error) -> Error {
        let name = self.file.as_ref().map_or_else(|| STANDARD.to_owned(), |file| file.display().to_string());
        Error::io(name, error)
    }
}
