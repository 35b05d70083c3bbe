//! Where results go: standard output, or a file, which is there once it is whole; until then, and if something fails, what was
//! there stays. Never to where the dataset lies, or any of its data.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use model::{Error, Result};
use nczarr::dispatch::Dataset;
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
    file: NamedTempFile,
    /// Where it belongs, links followed.
    place: PathBuf,
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
        let place = overlap::real(path);
        if let Some(place) = &place {
            overlap::check_local(source, place, &dataset.further_files())?;
        }
        let (made, sink): (_, Box<dyn Write>) = match (place, fs::metadata(path)) {
            // Devices and pipes take what comes; nothing is kept there.
            (_, Ok(about)) if !about.is_file() => (None, Box::new(fs::File::create(path).map_err(fail)?)),
            (None, _) => (None, Box::new(fs::File::create(path).map_err(fail)?)),
            (Some(place), about) => {
                // What may not be written is not replaced either.
                if about.is_ok() {
                    fs::File::options().write(true).open(&place).map_err(fail)?;
                }
                let file = beside(&place, about.ok().map(|about| about.permissions())).map_err(fail)?;
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
            Some(Made { file, place }) => file.persist(place).map(drop).map_err(|error| self.failed(error.error)),
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

/// A new file in the directory of another one, with the rights of that.
fn beside(place: &Path, rights: Option<fs::Permissions>) -> io::Result<NamedTempFile> {
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut making = tempfile::Builder::new();
    making.prefix(".ncz-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // Less what the process does not give anybody.
        making.permissions(fs::Permissions::from_mode(0o666));
    }
    let file = making.tempfile_in(folder)?;
    if let Some(rights) = rights {
        // A file system without such rights has nothing to keep.
        let _ = file.as_file().set_permissions(rights);
    }
    Ok(file)
}
