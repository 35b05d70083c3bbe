//! What lies at a target: which map factory serves it, or which driver's first bytes a plain file has.

use std::borrow::Cow;
use std::fs::{self, File, FileType};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_url_infer::{Scheme, Target};

use super::{Look, Looks};
use crate::registry::not_built;
use crate::{ByteRange, ByteSource, Driver, Forbidden, Magic, MapFactory, OpenRequest, Part, PluginKind, Registry};

/// Where a dataset lies.
pub(super) enum Site<'r> {
    /// In the map that this factory opens; and why it is that one; and the file, if it was opened elsewhere to find out.
    Map(&'r Arc<dyn MapFactory>, Cow<'static, str>, Option<Arc<dyn ByteSource>>),
    /// In a regular file without a map.
    File(Content<'r>),
}

/// What the first bytes of a regular file say.
pub(super) enum Content<'r> {
    /// They are this driver's; and which ones; and the file, if it was opened elsewhere to find out.
    Driver(&'r Arc<dyn Driver>, String, Option<Arc<dyn ByteSource>>),
    /// They are nobody's; the error says what was tried.
    Nothing(Error),
}

/// What the file system says of a path.
pub(super) enum Place {
    Missing,
    File,
    Directory,
    /// A pipe, socket or device: never opened.
    Special(&'static str),
}

impl Place {
    pub fn of(path: &str) -> Result<Self> {
        use std::io::ErrorKind as Io;
        match fs::metadata(path) {
            Ok(found) if found.is_file() => Ok(Self::File),
            Ok(found) if found.is_dir() => Ok(Self::Directory),
            Ok(found) => Ok(Self::Special(special(found.file_type()))),
            Err(error) if matches!(error.kind(), Io::NotFound | Io::NotADirectory) => Ok(Self::Missing),
            Err(error) => Err(Error::io(path, error)),
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

/// Whether a map of this factory lies in the local file system.
pub(super) fn is_local(factory: &Arc<dyn MapFactory>) -> bool {
    let info = factory.info();
    info.schemes.contains(&"file") || !info.magic.is_empty()
}

/// Whether the maps of this factory are directories and nothing else: `file` is the scheme of those.
fn is_of_directories(factory: &Arc<dyn MapFactory>) -> bool {
    let info = factory.info();
    info.schemes.contains(&"file") && info.magic.is_empty()
}

impl Registry {
    /// Finds out where the dataset lies. With `maps_only` a map's first bytes come before a driver's.
    pub(super) fn site(&self, request: &OpenRequest<'_>, maps_only: bool, looks: &mut Looks) -> Result<Site<'_>> {
        let target = request.target;
        if !target.scheme.is_local() && target.has_mode("bytes") && self.archive_of(target)?.is_none() {
            return self.by_first_bytes_there(request, maps_only, looks);
        }
        if nczarr_url_infer::names_a_file(target)
            && self.may_be_file(request)?
            && let Some(site) = self.file_there(request, maps_only, looks)?
        {
            return Ok(site);
        }
        if let Some((factory, why)) = self.map_of(target)? {
            // Who opens plain files is kept from pipes; a directory is looked at by opening it.
            if target.scheme.is_local() && is_local(factory) && (looks.are_heard() || !is_of_directories(factory)) {
                self.look(target, looks)?;
            }
            return Ok(Site::Map(factory, why.into(), None));
        }
        if !target.scheme.is_local() {
            let scheme = target.scheme.name().unwrap_or_default();
            let factory = self.map_by_scheme(scheme).map_err(|error| error.at(target))?;
            return Ok(Site::Map(factory, format!("scheme {scheme}:").into(), None));
        }
        match self.look(target, looks)? {
            Place::Directory => {
                let factory = self.map_by_scheme("file").map_err(|error| error.at(target))?;
                Ok(Site::Map(factory, "it is a directory".into(), None))
            }
            _ => self.by_first_bytes(target, maps_only, looks),
        }
    }

    /// Whether a URL may be that of one object that is a dataset: nothing says that it is a store.
    pub(super) fn may_be_file(&self, request: &OpenRequest<'_>) -> Result<bool> {
        let target = request.target;
        if request.writable || !matches!(target.scheme, Scheme::Http | Scheme::Https | Scheme::S3 | Scheme::Gs3) {
            return Ok(false);
        }
        let is_store = self.driver_of(target)?.is_some_and(|(driver, _)| driver.info().magic.is_empty());
        Ok(!is_store && !target.path.ends_with('/') && self.archive_of(target)?.is_none())
    }

    /// The site of the object at a URL, if there is one whose first bytes are known.
    pub(super) fn file_there(
        &self,
        request: &OpenRequest<'_>,
        maps_only: bool,
        looks: &mut Looks,
    ) -> Result<Option<Site<'_>>> {
        match self.by_first_bytes_there(request, maps_only, looks) {
            Ok(Site::File(Content::Nothing(error))) if error.kind() != ErrorKind::NotBuilt => Ok(None),
            Ok(site) => Ok(Some(site)),
            // A store may have such a name.
            Err(error) if error.kind() == ErrorKind::NotFound || Forbidden::caused(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What is at a local target; nothing and special files are errors.
    pub(super) fn look(&self, target: &Target, looks: &mut Looks) -> Result<Place> {
        let place = Place::of(&target.path)?;
        looks.add(|| Look::new(format!("path {}", target.path), place.name()));
        match place {
            Place::Missing => Err(ErrorKind::NotFound.context(format!("{}: nothing is there", target.path))),
            Place::Special(name) => {
                Err(ErrorKind::NotNc.context(format!("{}: {name}, not a regular file or a directory", target.path)))
            }
            place => Ok(place),
        }
    }

    fn by_first_bytes(&self, target: &Target, maps_only: bool, looks: &mut Looks) -> Result<Site<'_>> {
        self.by_head(&mut Head::open(&target.path)?, maps_only, looks)
    }

    /// The same for a file that is not a local one.
    fn by_first_bytes_there(&self, request: &OpenRequest<'_>, maps_only: bool, looks: &mut Looks) -> Result<Site<'_>> {
        let source = self.open_source(request, Part::Head(FIRST))?;
        let mut head = Head { bytes: Where::Source(source), path: request.target.to_string() };
        self.by_head(&mut head, maps_only, looks)
    }

    /// Opens the one object that a target names as a file for reading, whose storage its modes or its scheme tell. What
    /// `part` names is probably wanted first.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if nothing is there; `NC_ENOTNC` for a local path, which is a file already, and for storage without
    /// such files; `NC_ENOTBUILT` naming the feature that would bring the storage.
    pub fn open_source(&self, request: &OpenRequest<'_>, part: Part) -> Result<Arc<dyn ByteSource>> {
        let target = request.target;
        if target.scheme.is_local() {
            return Err(ErrorKind::NotNc.context(format!("{target}: a file, which is opened as one")));
        }
        for mode in &target.modes {
            let archive = |factory: &Arc<dyn MapFactory>| !factory.info().magic.is_empty();
            match self.map_by_mode(mode)? {
                Some(factory) if !archive(factory) => return factory.open_source(request, part),
                Some(_) => {}
                None => {
                    if let Some(known) = self.known_as(PluginKind::Map, mode) {
                        return Err(not_built(&format!("{target}: map {:?}", known.name), known));
                    }
                }
            }
        }
        let scheme = target.scheme.name().unwrap_or_default();
        self.map_by_scheme(scheme).map_err(|error| error.at(target))?.open_source(request, part)
    }

    fn by_head(&self, file: &mut Head, maps_only: bool, looks: &mut Looks) -> Result<Site<'_>> {
        let mut failure = None;
        // Places further on are looked at only where nothing nearer tells: each may be a request.
        let all = self.drivers().map(|driver| driver.info().magic).chain(self.maps().map(|map| map.info().magic));
        let mut most = FIRST;
        if !all.into_iter().any(|magic| file.first_of(magic, FIRST).unwrap_or(false)) {
            most = u64::MAX;
        }
        let mut has = |magic: &[Magic], who: &dyn Fn() -> String| match file.first_of(magic, most) {
            Ok(found) => {
                if !magic.is_empty() {
                    looks
                        .add(|| Look::new(format!("first bytes of {}", who()), if found { "found" } else { "absent" }));
                }
                found
            }
            Err(error) => {
                failure.get_or_insert(error);
                false
            }
        };
        const BYTES: &str = "the first bytes of the file";
        let driver = self.driver_by_content(BYTES, |info| has(info.magic, &|| format!("driver {}", info.name)));
        let map = self.map_by_content(BYTES, |info| has(info.magic, &|| format!("map {}", info.name)));
        if let Some(error) = failure {
            return Err(error);
        }
        match (driver?, map?) {
            (None, None) => {}
            (Some((driver, origin)), map) if !maps_only && map.is_none_or(|(_, other)| !other.is_before(origin)) => {
                return Ok(Site::File(Content::Driver(
                    driver,
                    format!("first bytes of driver {}", driver.info().name),
                    file.source(),
                )));
            }
            (_, Some((factory, _))) => {
                let what = format!("first bytes of map {}", factory.info().name);
                return Ok(Site::Map(factory, what.into(), file.source()));
            }
            (Some((driver, _)), None) => {
                return Ok(Site::File(Content::Driver(
                    driver,
                    format!("first bytes of driver {}", driver.info().name),
                    file.source(),
                )));
            }
        }
        // A remote file is not asked for its end: that is one more request for whatever is no dataset.
        if let Some(tail) = file.tail()?
            && let Some(factory) = self.maps().find(|map| map.ends(&tail))
        {
            let what = format!("last bytes of map {}", factory.info().name);
            looks.add(|| Look::new(what.clone(), "found"));
            return Ok(Site::Map(factory, what.into(), None));
        }
        for known in self.known() {
            if !known.magic.is_empty() && file.first_of(known.magic, u64::MAX)? {
                let what = format!(
                    "{}: by its first bytes this needs {} {:?}, which",
                    file.path,
                    known.kind.name(),
                    known.name
                );
                return Ok(Site::File(Content::Nothing(not_built(&what, known))));
            }
        }
        Ok(Site::File(Content::Nothing(self.unrecognised(file)?)))
    }

    fn unrecognised(&self, file: &mut Head) -> Result<Error> {
        let head = file.bytes(0, 8)?;
        let path = &file.path;
        let head = if head.is_empty() {
            "it is empty".to_owned()
        } else {
            format!("it starts with {}", head.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "))
        };
        let mut tried: Vec<_> = self
            .drivers()
            .filter(|driver| !driver.info().magic.is_empty())
            .map(|driver| format!("driver {}", driver.info().name))
            .collect();
        tried.extend(
            self.maps().filter(|map| !map.info().magic.is_empty()).map(|map| format!("map {}", map.info().name)),
        );
        let tried = if tried.is_empty() {
            "nobody here recognises single files".to_owned()
        } else {
            format!("looked for the first bytes of {}", tried.join(", "))
        };
        Ok(ErrorKind::NotNc.context(format!("{path}: a regular file, but not a dataset: {head}; {tried}")))
    }

    /// The driver whose first bytes a regular file has, if there is one.
    pub(super) fn driver_of_file(&self, path: &str) -> Result<Option<&Arc<dyn Driver>>> {
        let mut file = Head::open(path)?;
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

/// Bytes of a file elsewhere that are read at once to recognise it. They take little longer than fewer would, and most
/// formats begin with their metadata.
const FIRST: u64 = 64 << 10;

/// The length of the end of a file, in bytes ([`MapFactory::ends`]).
pub(super) const TAIL: usize = 66_000;

/// A file, of which a few bytes are looked at.
struct Head {
    bytes: Where,
    path: String,
}

enum Where {
    File(File),
    Source(Arc<dyn ByteSource>),
}

impl Head {
    /// The caller has seen that it is a regular file; that is checked again once it is open.
    fn open(path: &str) -> Result<Self> {
        let file = open_without_waiting(Path::new(path)).map_err(|error| Error::io(path, error))?;
        let found = file.metadata().map_err(|error| Error::io(path, error))?;
        if !found.is_file() {
            return Err(ErrorKind::NotNc.context(format!("{path}: no longer a regular file")));
        }
        Ok(Self { bytes: Where::File(file), path: path.to_owned() })
    }

    /// Whether one of them is there that ends before `most`.
    fn first_of(&mut self, magic: &[Magic], most: u64) -> Result<bool> {
        for magic in magic.iter().filter(|magic| magic.offset.saturating_add(magic.bytes.len() as u64) <= most) {
            if !magic.bytes.is_empty() && self.bytes(magic.offset, magic.bytes.len())? == magic.bytes {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The file, if it lies elsewhere.
    fn source(&self) -> Option<Arc<dyn ByteSource>> {
        match &self.bytes {
            Where::File(_) => None,
            Where::Source(source) => Some(Arc::clone(source)),
        }
    }

    /// The last bytes of a local file.
    fn tail(&mut self) -> Result<Option<Vec<u8>>> {
        let len = match &self.bytes {
            Where::File(file) => file.metadata().map_err(|error| Error::io(&self.path, error))?.len(),
            Where::Source(_) => return Ok(None),
        };
        self.bytes(len.saturating_sub(TAIL as u64), TAIL).map(Some)
    }

    /// Up to `len` bytes at `offset`; fewer at the end of the file.
    fn bytes(&mut self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let file = match &mut self.bytes {
            Where::File(file) => file,
            Where::Source(source) => return source.read(ByteRange::new(offset, len as u64)),
        };
        let mut bytes = Vec::with_capacity(len);
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| (&mut *file).take(len as u64).read_to_end(&mut bytes))
            .map_err(|error| Error::io(format!("{}: byte {offset}", self.path), error))?;
        Ok(bytes)
    }
}

/// Opens for reading; what became a pipe since it was looked at does not block.
#[cfg(unix)]
fn open_without_waiting(path: &Path) -> std::io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    Ok(open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open_without_waiting(path: &Path) -> std::io::Result<File> {
    File::open(path)
}
