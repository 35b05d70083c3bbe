//! [`Store`]: where the bytes of a file are: in a file, in memory that grows, or in memory that stays as it is.

use std::fs::{File, Metadata};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use nczarr_chunkio::ByteStore;
use nczarr_dispatch::single_file::{OpenedFile, file_identity};
use nczarr_dispatch::{ByteSource, OutBuf, ReadAhead, file_io};
use nczarr_model::{Error, ErrorKind, Result};

/// The bytes of one file.
#[derive(Debug)]
pub(crate) struct Store {
    place: Place,
    /// Up to here bytes that are not there read as zeros: the rest of a last record that was cut short.
    zeros_until: AtomicU64,
}

#[derive(Debug)]
enum Place {
    File {
        file: File,
        path: PathBuf,
    },
    Memory(RwLock<Vec<u8>>),
    Fixed(Fixed),
    Elsewhere(ReadAhead),
    #[cfg(test)]
    Failing(crate::faults::Failing),
    #[cfg(feature = "mmap")]
    Mapped(crate::mapped::Mapped),
}

/// Bytes that stay as they are.
#[derive(Debug)]
enum Fixed {
    Shared(Arc<[u8]>),
    Own(Vec<u8>),
}

impl Deref for Fixed {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Shared(bytes) => bytes,
            Self::Own(bytes) => bytes,
        }
    }
}

impl Store {
    fn new(place: Place) -> Self {
        Self { place, zeros_until: AtomicU64::new(0) }
    }

    pub(crate) fn file(file: File, path: PathBuf) -> Self {
        Self::new(Place::File { file, path })
    }

    pub(crate) fn memory(bytes: Vec<u8>) -> Self {
        Self::new(Place::Memory(RwLock::new(bytes)))
    }

    pub(crate) fn fixed(bytes: Arc<[u8]>) -> Self {
        Self::new(Place::Fixed(Fixed::Shared(bytes)))
    }

    /// The same for bytes that nobody else has.
    pub(crate) fn own(bytes: Vec<u8>) -> Self {
        Self::new(Place::Fixed(Fixed::Own(bytes)))
    }

    /// A file that is not a local one.
    pub(crate) fn elsewhere(source: Arc<dyn ByteSource>) -> Self {
        Self::new(Place::Elsewhere(ReadAhead::new(source)))
    }

    #[cfg(test)]
    pub(crate) fn failing(store: crate::faults::Failing) -> Self {
        Self::new(Place::Failing(store))
    }

    /// A file that is only read, as memory.
    ///
    /// # Errors
    /// `NC_ENOTBUILT` without the feature `mmap`; what the system says.
    pub(crate) fn mapped(file: File, path: PathBuf) -> Result<Self> {
        #[cfg(feature = "mmap")]
        return Ok(Self::new(Place::Mapped(crate::mapped::Mapped::new(file, path)?)));
        #[cfg(not(feature = "mmap"))]
        {
            drop(file);
            let what = format!("{}: mapping into memory needs the feature \"mmap\"", path.display());
            Err(ErrorKind::NotBuilt.context(what))
        }
    }

    /// The file, if it is one, and where it was when it was opened.
    pub(crate) fn as_file(&self) -> Option<(&File, &Path)> {
        match &self.place {
            Place::File { file, path } => Some((file, path)),
            _ => None,
        }
    }

    /// Where the file is that it is a part of, or a view.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File { path, .. } => Some(path),
            #[cfg(feature = "mmap")]
            Place::Mapped(mapped) => Some(mapped.path()),
            _ => None,
        }
    }

    /// Whether a file has to be opened anew for what it holds now, `found` being what is in its place.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn is_outdated(&self, found: &Metadata) -> Result<bool> {
        let differs = |known: &Metadata| file_identity(known) != file_identity(found);
        match &self.place {
            Place::File { file, path } => {
                file.metadata().map(|known| differs(&known)).map_err(|error| failed("look at", path, error))
            }
            // What came after it was mapped is not in the map.
            #[cfg(feature = "mmap")]
            Place::Mapped(mapped) => Ok(differs(&mapped.metadata()?) || mapped.len() as u64 != found.len()),
            _ => Ok(false),
        }
    }

    /// A file that is only read, looked at as this one is.
    ///
    /// # Errors
    /// As [`Store::mapped`].
    pub(crate) fn anew(&self, opened: OpenedFile) -> Result<Self> {
        match &self.place {
            #[cfg(feature = "mmap")]
            Place::Mapped(_) => Self::mapped(opened.file, opened.path),
            _ => Ok(Self::file(opened.file, opened.path)),
        }
    }

    /// Lets missing bytes before `end` read as zeros.
    pub(crate) fn zeros_until(&self, end: u64) {
        self.zeros_until.store(end, Ordering::Release);
    }

    /// Up to `len` bytes, fewer where it ends before.
    pub(crate) fn read(&self, offset: u64, len: u64) -> Result<Vec<u8>> {
        let end = self.readable_len()?;
        let len = len.min(end.saturating_sub(offset));
        let len = usize::try_from(len).map_err(|_| ErrorKind::NoMem.context(format!("{len} bytes")))?;
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(len)
            .map_err(|error| ErrorKind::NoMem.context(format!("{len} bytes")).caused_by(error))?;
        bytes.resize(len, 0);
        let mut out = OutBuf::from_slice(&mut bytes);
        self.read_at(offset, &mut out)?;
        let read = out.filled().len();
        bytes.truncate(read);
        Ok(bytes)
    }

    /// Sees to it that the bytes are where they survive a failure of power.
    pub(crate) fn persist(&self) -> Result<()> {
        match &self.place {
            Place::File { file, path } => file.sync_data().map_err(|error| failed("sync", path, error)),
            _ => Ok(()),
        }
    }

    /// All bytes, copied.
    pub(crate) fn image(&self) -> Result<Vec<u8>> {
        match &self.place {
            Place::File { .. } | Place::Elsewhere(_) => self.read(0, u64::MAX),
            #[cfg(test)]
            Place::Failing(_) => self.read(0, u64::MAX),
            _ => self.with_bytes(|bytes| Ok(bytes.to_vec())),
        }
    }

    /// Lets `work` see all bytes, where they are in memory. Nobody can write them meanwhile.
    ///
    /// # Errors
    /// `NC_EINMEMORY` if they are in a file; what `work` says.
    pub(crate) fn with_bytes<T>(&self, work: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        match &self.place {
            Place::File { path, .. } => {
                Err(ErrorKind::InMemory.context(format!("{}: the bytes are not in memory", path.display())))
            }
            Place::Elsewhere(_) => Err(ErrorKind::InMemory.context("the bytes are not in memory")),
            Place::Memory(bytes) => work(&bytes.read().unwrap_or_else(PoisonError::into_inner)),
            Place::Fixed(bytes) => work(bytes),
            #[cfg(test)]
            Place::Failing(_) => work(&self.read(0, u64::MAX)?),
            #[cfg(feature = "mmap")]
            Place::Mapped(mapped) => work(mapped.bytes()?),
        }
    }

    fn read_there(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let copy = |bytes: &[u8], out: &mut OutBuf<'_>| {
            let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or(&[]);
            out.put(&rest[..rest.len().min(out.remaining())])
        };
        match &self.place {
            Place::File { file, path } => {
                file_io::read_at(file, offset, out).map_err(|error| failed("read", path, error))
            }
            Place::Memory(bytes) => copy(&bytes.read().unwrap_or_else(PoisonError::into_inner), out),
            Place::Fixed(bytes) => copy(bytes, out),
            Place::Elsewhere(source) => source.read_at(offset, out),
            #[cfg(test)]
            Place::Failing(store) => store.read_at(offset, out),
            #[cfg(feature = "mmap")]
            Place::Mapped(mapped) => copy(mapped.bytes()?, out),
        }
    }
}

fn failed(what: &str, path: &Path, error: std::io::Error) -> Error {
    Error::io(format!("{}: {what}", path.display()), error)
}

impl ByteStore for Store {
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let before = out.filled().len();
        self.read_there(offset, out)?;
        let read = (out.filled().len() - before) as u64;
        let missing = self.zeros_until.load(Ordering::Acquire).saturating_sub(offset.saturating_add(read));
        if out.remaining() > 0 && missing > 0 {
            let missing = usize::try_from(missing).unwrap_or(usize::MAX).min(out.remaining());
            out.put_zeros(missing)?;
        }
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        match &self.place {
            Place::File { file, path } => {
                file_io::write_at(file, offset, bytes).map_err(|error| failed("write", path, error))
            }
            Place::Memory(memory) => {
                let mut memory = memory.write().unwrap_or_else(PoisonError::into_inner);
                let end = offset.checked_add(bytes.len() as u64).and_then(|end| usize::try_from(end).ok());
                let no_mem = || ErrorKind::NoMem.context(format!("{} bytes at {offset}", bytes.len()));
                let end = end.ok_or_else(no_mem)?;
                if end > memory.len() {
                    let more = end - memory.len();
                    memory.try_reserve(more).map_err(|error| no_mem().caused_by(error))?;
                    memory.resize(end, 0);
                }
                memory[end - bytes.len()..end].copy_from_slice(bytes);
                Ok(())
            }
            #[cfg(test)]
            Place::Failing(store) => store.write_at(offset, bytes),
            _ => Err(ErrorKind::Perm.context("the memory is read-only")),
        }
    }

    fn size(&self) -> Result<u64> {
        match &self.place {
            Place::File { file, path } => {
                file.metadata().map(|found| found.len()).map_err(|error| failed("look at", path, error))
            }
            Place::Memory(bytes) => Ok(bytes.read().unwrap_or_else(PoisonError::into_inner).len() as u64),
            Place::Fixed(bytes) => Ok(bytes.len() as u64),
            Place::Elsewhere(source) => Ok(source.len()),
            #[cfg(test)]
            Place::Failing(store) => store.size(),
            #[cfg(feature = "mmap")]
            Place::Mapped(mapped) => Ok(mapped.len() as u64),
        }
    }

    fn readable_len(&self) -> Result<u64> {
        Ok(self.size()?.max(self.zeros_until.load(Ordering::Acquire)))
    }

    fn read_ahead(&self) -> Option<&ReadAhead> {
        match &self.place {
            Place::Elsewhere(ahead) => Some(ahead),
            _ => None,
        }
    }

    fn as_bytes(&self) -> Option<&[u8]> {
        if self.zeros_until.load(Ordering::Acquire) > 0 {
            return None;
        }
        match &self.place {
            Place::Fixed(bytes) => Some(bytes),
            #[cfg(feature = "mmap")]
            Place::Mapped(mapped) => mapped.bytes().ok(),
            _ => None,
        }
    }
}
