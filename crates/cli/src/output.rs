//! Where results go: standard output, or a file, which is there once it is whole; until then, and if something fails, what was
//! there stays. Never to where the dataset lies, or any of its data.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use nczarr::dispatch::Dataset;
use nczarr_model::{Error, Result};
use tempfile::NamedTempFile;

use crate::copy::overlap;

/// Buffered output that knows its name.
pub struct Output {
    sink: BufWriter<Box<dyn Write>>,
    file: Option<PathBuf>,
    /// The file beside it that is being written.
    made: Option<Made>,
}

/// A file that takes its place when it is finished.
struct Made {
    file: Unfinished,
    /// Where it belongs, links followed.
    place: PathBuf,
}

/// A file that is being written. What has no name goes with the process, however that ends.
enum Unfinished {
    #[cfg(target_os = "linux")]
    Nameless(fs::File),
    /// Where the system has no other.
    Named(NamedTempFile),
}

impl Unfinished {
    /// A new file in the directory of another one, with the rights of that.
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
            // Less what the process does not give anybody.
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

    /// Puts it where it belongs, in place of what is there.
    fn put(self, place: &Path) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(file) => match name(&file, place) {
                // A name can only be given where there is none; another one takes its place.
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

/// How files are called for a while.
fn naming() -> tempfile::Builder<'static, 'static> {
    let mut naming = tempfile::Builder::new();
    naming.prefix(".ncz-").suffix(".part");
    naming
}

/// Gives a file the rights of the one it replaces.
fn keep(file: &fs::File, rights: Option<fs::Permissions>) {
    if let Some(rights) = rights {
        // A file system without such rights has nothing to keep.
        let _ = file.set_permissions(rights);
    }
}

/// A file without a name, if it can be given one later.
#[cfg(target_os = "linux")]
fn nameless(folder: &Path) -> Option<fs::File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    // Less what the process does not give anybody.
    let file = fs::File::from(openat(CWD, folder, flags, Mode::from_raw_mode(0o666)).ok()?);
    fs::metadata(through(&file)).is_ok().then_some(file)
}

/// Where the system shows an open file.
#[cfg(target_os = "linux")]
fn through(file: &fs::File) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Gives a file without a name one, where there is nothing.
#[cfg(target_os = "linux")]
fn name(file: &fs::File, place: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, through(file), CWD, place, AtFlags::SYMLINK_FOLLOW)?)
}

/// Where links lead that lead to nothing yet; any other path as it is.
fn followed(path: &Path) -> PathBuf {
    /// So many links the system follows.
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
            sink: BufWriter::with_capacity(1 << 16, Box::new(Standard(io::stdout().lock()))),
            file: None,
            made: None,
        }
    }

    /// A file, or standard output; `source`: what is read meanwhile, and the dataset that it is.
    ///
    /// # Errors
    /// `NC_EINVAL` if the file is the source, or in it, or one that it is read from; if the file cannot be made.
    pub fn to(path: Option<&Path>, (source, dataset): (&str, &dyn Dataset)) -> Result<Self> {
        let Some(path) = path else { return Ok(Self::standard()) };
        let fail = |error| Error::io(path.display().to_string(), error);
        let place = overlap::real(&followed(path));
        if let Some(place) = &place {
            overlap::check_local(source, place, &dataset.external_files())?;
        }
        let (made, sink): (_, Box<dyn Write>) = match (place, fs::metadata(path)) {
            // Devices and pipes take what comes; nothing is kept there.
            (_, Ok(about)) if !about.is_file() => (None, Box::new(fs::File::create(path).map_err(fail)?)),
            (_, Err(error)) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
            (None, _) => (None, Box::new(fs::File::create(path).map_err(fail)?)),
            (Some(place), about) => {
                // What may not be written is not replaced either.
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
    /// What the system says.
    pub fn put(&mut self, bytes: impl AsRef<[u8]>) -> Result<()> {
        let outcome = self.sink.write_all(bytes.as_ref());
        outcome.map_err(|error| self.failed(error))
    }

    /// Writes out what is buffered, and puts a file in its place; the last call.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(mut self) -> Result<()> {
        let outcome = self.sink.flush();
        outcome.map_err(|error| self.failed(error))?;
        match self.made.take() {
            Some(Made { file, place }) => file.put(&place).map_err(|error| self.failed(error)),
            None => Ok(()),
        }
    }

    /// The writer itself.
    pub fn writer(&mut self) -> &mut dyn Write {
        &mut self.sink
    }

    fn failed(&self, error: io::Error) -> Error {
        let name = self.file.as_ref().map_or_else(|| STANDARD.to_owned(), |file| file.display().to_string());
        Error::io(name, error)
    }
}

/// How standard output is called in errors.
const STANDARD: &str = "standard output";
/// Whether nobody reads standard output any more.
static UNHEARD: AtomicBool = AtomicBool::new(false);

/// Whether nobody reads standard output any more: who wanted the first lines only has them, and that is no failure.
pub fn is_unheard() -> bool {
    UNHEARD.load(Ordering::Relaxed)
}

/// Standard output that notes when nobody reads it any more.
struct Standard(io::StdoutLock<'static>);

impl Standard {
    fn noted<T>(outcome: io::Result<T>) -> io::Result<T> {
        outcome.inspect_err(|error| {
            if error.kind() == io::ErrorKind::BrokenPipe {
                UNHEARD.store(true, Ordering::Relaxed);
            }
        })
    }
}

impl Write for Standard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::noted(self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Self::noted(self.0.flush())
    }
}
