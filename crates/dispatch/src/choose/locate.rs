//! Determines the kind of content at a target: which map factory serves it, or which driver recognises the
//! file.

use std::borrow::Cow;
use std::fs::{self, File, FileType};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_url_infer::{Scheme, Target};

use super::{ProbeLog, ProbeStep};
use crate::registry::not_built;
use crate::{Driver, Magic, OpenRequest, PluginKind, Registry};
use nczarr_storage::source::{ByteSource, InitialRead};
use nczarr_storage::{ByteRange, Forbidden, MapFactory};

/// The location of a dataset.
pub(super) enum DatasetLocation<'r> {
    /// In the map of this factory, with the reason, and the remote file if it was opened for recognition.
    Map(&'r Arc<dyn MapFactory>, Cow<'static, str>, Option<Arc<dyn ByteSource>>),
    /// In a regular file that is not a map.
    File(FileContent<'r>),
}

/// The result of reading the first bytes of a regular file.
pub(super) enum FileContent<'r> {
    /// They belong to this driver. With the reason, and the remote file if it was opened for recognition.
    Driver(&'r Arc<dyn Driver>, String, Option<Arc<dyn ByteSource>>),
    /// No driver recognises them; the error lists the attempts.
    Nothing(Error),
}

/// The kind of file at a path.
pub(super) enum PathKind {
    Missing,
    File,
    Directory,
    /// A pipe, socket or device. It is never opened.
    Special(&'static str),
}

impl PathKind {
    pub fn of(path: &Path) -> Result<Self> {
        use std::io::ErrorKind as Io;
        match fs::metadata(path) {
            Ok(found) if found.is_file() => Ok(Self::File),
            Ok(found) if found.is_dir() => Ok(Self::Directory),
            Ok(found) => Ok(Self::Special(special(found.file_type()))),
            Err(error) if matches!(error.kind(), Io::NotFound | Io::NotADirectory) => Ok(Self::Missing),
            Err(error) => Err(Error::io_at(path, error)),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Missing => "nothing",
            Self::File => "a regular file",
            Self::Directory => "a directory",
            Self::Special(name) => name,
        }
    }
}

#[cfg(unix)]
fn special(ty: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    if ty.is_fifo() {
        "a named pipe"
    } else if ty.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn special(_: FileType) -> &'static str {
    "a special file"
}

/// Whether maps of this factory are in the local file system.
pub(super) fn is_local(factory: &Arc<dyn MapFactory>) -> bool {
    let info = factory.info();
    info.schemes.contains(&"file") || !info.magic.is_empty()
}

/// Whether maps of this factory are always directories, which have the scheme `file`.
fn is_of_directories(factory: &Arc<dyn MapFactory>) -> bool {
    let info = factory.info();
    info.schemes.contains(&"file") && info.magic.is_empty()
}

impl Registry {
    /// Locates a dataset. With `maps_only` the first bytes of maps come before those of drivers.
    pub(super) fn locate(
        &self,
        request: &OpenRequest<'_>,
        maps_only: bool,
        looks: &mut ProbeLog,
    ) -> Result<DatasetLocation<'_>> {
        let target = request.target;
        if !target.scheme.is_local() && target.has_mode("bytes") && self.archive_of(target)?.is_none() {
            return self.probe_remote_file(request, maps_only, looks);
        }
        if nczarr_url_infer::names_a_file(target)
            && self.may_be_file(request)?
            && let Some(site) = self.locate_remote_file(request, maps_only, looks)?
        {
            return Ok(site);
        }
        if let Some((factory, why)) = self.map_of(target)? {
            // This keeps factories of plain files away from pipes. A directory is checked by opening it.
            if target.scheme.is_local()
                && is_local(factory)
                && (looks.is_enabled() || !is_of_directories(factory))
            {
                self.check_path(target, looks)?;
            }
            return Ok(DatasetLocation::Map(factory, why.into(), None));
        }
        if !target.scheme.is_local() {
            let scheme = target.scheme.name().unwrap_or_default();
            let factory = self.map_by_scheme(scheme).map_err(|error| error.at(target))?;
            return Ok(DatasetLocation::Map(factory, format!("scheme {scheme}:").into(), None));
        }
        match self.check_path(target, looks)? {
            PathKind::Directory => {
                let factory = self.map_by_scheme("file").map_err(|error| error.at(target))?;
                Ok(DatasetLocation::Map(factory, "it is a directory".into(), None))
            }
            _ => self.locate_local_file(target, maps_only, looks),
        }
    }

    /// Whether a URL may name a single object with a dataset: nothing marks it as a store.
    pub(super) fn may_be_file(&self, request: &OpenRequest<'_>) -> Result<bool> {
        let target = request.target;
        if request.writable
            || !matches!(target.scheme, Scheme::Http | Scheme::Https | Scheme::S3 | Scheme::Gs3)
        {
            return Ok(false);
        }
        let is_store = self.driver_of(target)?.is_some_and(|(driver, _)| driver.info().magic.is_empty());
        Ok(!is_store && !target.path_text().ends_with('/') && self.archive_of(target)?.is_none())
    }

    /// Returns the location of the object at a URL, if its first bytes are recognised.
    pub(super) fn locate_remote_file(
        &self,
        request: &OpenRequest<'_>,
        maps_only: bool,
        looks: &mut ProbeLog,
    ) -> Result<Option<DatasetLocation<'_>>> {
        match self.probe_remote_file(request, maps_only, looks) {
            Ok(DatasetLocation::File(FileContent::Nothing(error))) if error.kind() != ErrorKind::NotBuilt => {
                Ok(None)
            }
            Ok(site) => Ok(Some(site)),
            // A store may have this name.
            Err(error) if error.kind() == ErrorKind::NotFound || Forbidden::is_cause_of(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the kind of a local path. A missing path and special files are errors.
    pub(super) fn check_path(&self, target: &Target, looks: &mut ProbeLog) -> Result<PathKind> {
        let place = PathKind::of(&target.path)?;
        looks.add(|| ProbeStep::new(format!("path {}", target.path.display()), place.name()));
        match place {
            PathKind::Missing => {
                Err(ErrorKind::NotFound
                    .context(format!("{}: no such file or directory", target.path.display())))
            }
            PathKind::Special(name) => Err(ErrorKind::NotNc
                .context(format!("{}: {name}, not a regular file or a directory", target.path.display()))),
            place => Ok(place),
        }
    }

    fn locate_local_file(
        &self,
        target: &Target,
        maps_only: bool,
        looks: &mut ProbeLog,
    ) -> Result<DatasetLocation<'_>> {
        self.locate_by_probe(&mut FileProbe::open(&target.path)?, maps_only, looks)
    }

    /// As `locate_local_file`, for a remote file.
    fn probe_remote_file(
        &self,
        request: &OpenRequest<'_>,
        maps_only: bool,
        looks: &mut ProbeLog,
    ) -> Result<DatasetLocation<'_>> {
        let source = self.open_source(request, InitialRead::Head(FIRST))?;
        let mut head = FileProbe { bytes: ProbeSource::Source(source), path: request.target.to_string() };
        self.locate_by_probe(&mut head, maps_only, looks)
    }

    /// Opens the single object of a target for reading. The modes or the scheme name its storage. `part` is
    /// probably read first.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if there is no object; `NC_ENOTNC` for a local path and for storage without single
    /// files; `NC_ENOTBUILT` that names the missing feature.
    pub fn open_source(&self, request: &OpenRequest<'_>, part: InitialRead) -> Result<Arc<dyn ByteSource>> {
        let target = request.target;
        if target.scheme.is_local() {
            return Err(ErrorKind::NotNc.context(format!("{target}: a local file is not a remote source")));
        }
        for mode in &target.modes {
            let archive = |factory: &Arc<dyn MapFactory>| !factory.info().magic.is_empty();
            match self.map_by_mode(mode)? {
                Some(factory) if !archive(factory) => {
                    return request.with_map_request(|request| factory.open_source(request, part));
                }
                Some(_) => {}
                None => {
                    if let Some(known) = self.known_as(PluginKind::Map, mode) {
                        return Err(not_built(&format!("{target}: map {:?}", known.name), known));
                    }
                }
            }
        }
        let scheme = target.scheme.name().unwrap_or_default();
        let factory = self.map_by_scheme(scheme).map_err(|error| error.at(target))?;
        request.with_map_request(|request| factory.open_source(request, part))
    }

    fn locate_by_probe(
        &self,
        file: &mut FileProbe,
        maps_only: bool,
        looks: &mut ProbeLog,
    ) -> Result<DatasetLocation<'_>> {
        let mut failure = None;
        // Later offsets are read only if the first bytes do not decide: each read may be a request.
        let all =
            self.drivers().map(|driver| driver.info().magic).chain(self.maps().map(|map| map.info().magic));
        let mut most = FIRST;
        if !all.into_iter().any(|magic| file.first_of(magic, FIRST).unwrap_or(false)) {
            most = u64::MAX;
        }
        let mut has = |magic: &[Magic], plugin: &dyn Fn() -> String| match file.first_of(magic, most) {
            Ok(found) => {
                if !magic.is_empty() {
                    looks.add(|| {
                        ProbeStep::new(
                            format!("first bytes of {}", plugin()),
                            if found { "found" } else { "absent" },
                        )
                    });
                }
                found
            }
            Err(error) => {
                failure.get_or_insert(error);
                false
            }
        };
        const BYTES: &str = "the first bytes of the file";
        let driver =
            self.driver_by_content(BYTES, |info| has(info.magic, &|| format!("driver {}", info.name)));
        let map = self.map_by_content(BYTES, |info| has(info.magic, &|| format!("map {}", info.name)));
        if let Some(error) = failure {
            return Err(error);
        }
        match (driver?, map?) {
            (None, None) => {}
            (Some((driver, origin)), map)
                if !maps_only && map.is_none_or(|(_, other)| !other.is_before(origin)) =>
            {
                return Ok(DatasetLocation::File(FileContent::Driver(
                    driver,
                    format!("first bytes of driver {}", driver.info().name),
                    file.source(),
                )));
            }
            (_, Some((factory, _))) => {
                let what = format!("first bytes of map {}", factory.info().name);
                return Ok(DatasetLocation::Map(factory, what.into(), file.source()));
            }
            (Some((driver, _)), None) => {
                return Ok(DatasetLocation::File(FileContent::Driver(
                    driver,
                    format!("first bytes of driver {}", driver.info().name),
                    file.source(),
                )));
            }
        }
        // The end of a remote file is not read: it would cost one more request for each unknown file.
        if let Some(tail) = file.tail()?
            && let Some(factory) = self.maps().find(|map| map.recognises_tail(&tail))
        {
            let what = format!("last bytes of map {}", factory.info().name);
            looks.add(|| ProbeStep::new(what.clone(), "found"));
            return Ok(DatasetLocation::Map(factory, what.into(), None));
        }
        for known in self.known() {
            if !known.magic.is_empty() && file.first_of(known.magic, u64::MAX)? {
                let what = format!(
                    "{}: the first bytes need {} {:?}, which",
                    file.path,
                    known.kind.name(),
                    known.name
                );
                return Ok(DatasetLocation::File(FileContent::Nothing(not_built(&what, known))));
            }
        }
        Ok(DatasetLocation::File(FileContent::Nothing(self.unrecognised(file)?)))
    }

    fn unrecognised(&self, file: &mut FileProbe) -> Result<Error> {
        let head = file.bytes(0, 8)?;
        let path = &file.path;
        let head = if head.is_empty() {
            "it is empty".to_owned()
        } else {
            format!(
                "it starts with {}",
                head.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
            )
        };
        let mut tried: Vec<_> = self
            .drivers()
            .filter(|driver| !driver.info().magic.is_empty())
            .map(|driver| format!("driver {}", driver.info().name))
            .collect();
        tried.extend(
            self.maps()
                .filter(|map| !map.info().magic.is_empty())
                .map(|map| format!("map {}", map.info().name)),
        );
        let tried = if tried.is_empty() {
            "no driver recognises single files".to_owned()
        } else {
            format!("tried the first bytes of {}", tried.join(", "))
        };
        Ok(ErrorKind::NotNc.context(format!("{path}: not a dataset: {head}; {tried}")))
    }

    /// Returns the driver that recognises the first bytes of a regular file, if there is one.
    pub(super) fn driver_of_file(&self, path: &Path) -> Result<Option<&Arc<dyn Driver>>> {
        let mut file = FileProbe::open(path)?;
        let mut failure = None;
        let driver = self.driver_by_content("the first bytes of the file", |info| {
            file.first_of(info.magic, u64::MAX).unwrap_or_else(|error| {
                failure.get_or_insert(error);
                false
            })
        });
        match failure {
            Some(error) => Err(error),
            None => Ok(driver?.map(|(driver, _)| driver)),
        }
    }
}

/// The bytes of a remote file that are read for recognition. A smaller read is hardly faster, and most
/// formats begin with their metadata.
const FIRST: u64 = 64 << 10;

/// The number of bytes at the end of a file that [`MapFactory::recognises_tail`] sees.
pub(super) const TAIL: usize = 66_000;

/// A file that is read for recognition.
struct FileProbe {
    bytes: ProbeSource,
    path: String,
}

enum ProbeSource {
    File(File),
    Source(Arc<dyn ByteSource>),
}

impl FileProbe {
    /// Opens a file that the caller found regular. This is checked again after opening.
    fn open(path: &Path) -> Result<Self> {
        let file = open_without_waiting(path).map_err(|error| Error::io_at(path, error))?;
        let found = file.metadata().map_err(|error| Error::io_at(path, error))?;
        if !found.is_file() {
            return Err(ErrorKind::NotNc.context(format!("{}: no longer a regular file", path.display())));
        }
        Ok(Self { bytes: ProbeSource::File(file), path: path.display().to_string() })
    }

    /// Whether one of the magic numbers that end before `most` matches.
    fn first_of(&mut self, magic: &[Magic], most: u64) -> Result<bool> {
        for magic in
            magic.iter().filter(|magic| magic.offset.saturating_add(magic.bytes.len() as u64) <= most)
        {
            if !magic.bytes.is_empty() && self.bytes(magic.offset, magic.bytes.len())? == magic.bytes {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The remote file, if it is one.
    fn source(&self) -> Option<Arc<dyn ByteSource>> {
        match &self.bytes {
            ProbeSource::File(_) => None,
            ProbeSource::Source(source) => Some(Arc::clone(source)),
        }
    }

    /// Returns the last bytes of a local file.
    fn tail(&mut self) -> Result<Option<Vec<u8>>> {
        let len = match &self.bytes {
            ProbeSource::File(file) => file.metadata().map_err(|error| Error::io(&self.path, error))?.len(),
            ProbeSource::Source(_) => return Ok(None),
        };
        self.bytes(len.saturating_sub(TAIL as u64), TAIL).map(Some)
    }

    /// Reads up to `len` bytes at `offset`; fewer at the end of the file.
    fn bytes(&mut self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let file = match &mut self.bytes {
            ProbeSource::File(file) => file,
            ProbeSource::Source(source) => return source.read(ByteRange::new(offset, len as u64)),
        };
        let mut bytes = Vec::with_capacity(len);
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| (&mut *file).take(len as u64).read_to_end(&mut bytes))
            .map_err(|error| Error::io(format!("{}: byte {offset}", self.path), error))?;
        Ok(bytes)
    }
}

/// Opens for reading without blocking, also if the path became a pipe meanwhile.
#[cfg(unix)]
fn open_without_waiting(path: &Path) -> std::io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    Ok(open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open_without_waiting(path: &Path) -> std::io::Result<File> {
    File::open(path)
}
