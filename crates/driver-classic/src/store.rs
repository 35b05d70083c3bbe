//! [`FileStore`]: the storage of a file's bytes: a file, growing memory, or fixed memory.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use nczarr_chunkio::ByteStore;
use nczarr_dispatch::single_file::{OpenedFile, file_identity};
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::{OutBuf, file_io};
use nczarr_storage::source::{ByteSource, ReadAhead, SharedBytes};

/// The bytes of one file.
#[derive(Debug)]
pub(crate) struct FileStore {
    place: StorePlace,
    /// Missing bytes up to here read as zeros: the rest of a truncated record.
    zeros_until: AtomicU64,
}

#[derive(Debug)]
enum StorePlace {
    File {
        file: File,
        path: PathBuf,
    },
    Memory(RwLock<Vec<u8>>),
    /// Bytes that do not change.
    Fixed(SharedBytes),
    Elsewhere(ReadAhead),
    #[cfg(test)]
    Failing(crate::faults::Failing),
    #[cfg(feature = "mmap")]
    Mapped(crate::mapped::MappedFile),
}

impl FileStore {
    fn new(place: StorePlace) -> Self {
        Self { place, zeros_until: AtomicU64::new(0) }
    }

    pub(crate) fn file(file: File, path: PathBuf) -> Self {
        Self::new(StorePlace::File { file, path })
    }

    pub(crate) fn memory(bytes: Vec<u8>) -> Self {
        Self::new(StorePlace::Memory(RwLock::new(bytes)))
    }

    pub(crate) fn fixed(bytes: impl Into<SharedBytes>) -> Self {
        Self::new(StorePlace::Fixed(bytes.into()))
    }

    /// Creates a store over a remote file.
    pub(crate) fn remote(source: Arc<dyn ByteSource>) -> Self {
        Self::new(StorePlace::Elsewhere(ReadAhead::new(source)))
    }

    #[cfg(test)]
    pub(crate) fn failing(store: crate::faults::Failing) -> Self {
        Self::new(StorePlace::Failing(store))
    }

    /// Creates a store over a memory-mapped read-only file.
    ///
    /// # Errors
    /// `NC_ENOTBUILT` without the feature `mmap`; otherwise the system's error.
    pub(crate) fn mapped(file: File, path: PathBuf) -> Result<Self> {
        #[cfg(feature = "mmap")]
        return Ok(Self::new(StorePlace::Mapped(crate::mapped::MappedFile::new(file, path)?)));
        #[cfg(not(feature = "mmap"))]
        {
            drop(file);
            let what = format!("{}: mapping into memory needs the feature \"mmap\"", path.display());
            Err(ErrorKind::NotBuilt.context(what))
        }
    }

    /// Returns the file, if there is one, and its path at opening.
    pub(crate) fn as_file(&self) -> Option<(&File, &Path)> {
        match &self.place {
            StorePlace::File { file, path } => Some((file, path)),
            _ => None,
        }
    }

    /// Returns the path of the file that it is, or maps.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.place {
            StorePlace::File { path, .. } => Some(path),
            #[cfg(feature = "mmap")]
            StorePlace::Mapped(mapped) => Some(mapped.path()),
            _ => None,
        }
    }

    /// Whether the file must be opened again to see its current content; `found`: the metadata of the path.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn is_outdated(&self, found: &Metadata) -> Result<bool> {
        let differs = |known: &Metadata| file_identity(known) != file_identity(found);
        match &self.place {
            StorePlace::File { file, path } => {
                file.metadata().map(|known| differs(&known)).map_err(|error| failed("look at", path, error))
            }
            // Later data are not in the map.
            #[cfg(feature = "mmap")]
            StorePlace::Mapped(mapped) => {
                Ok(differs(&mapped.metadata()?) || mapped.len() as u64 != found.len())
            }
            _ => Ok(false),
        }
    }

    /// Creates a read-only store of the same kind over another file.
    ///
    /// # Errors
    /// As [`FileStore::mapped`].
    pub(crate) fn of_same_kind(&self, opened: OpenedFile) -> Result<Self> {
        match &self.place {
            #[cfg(feature = "mmap")]
            StorePlace::Mapped(_) => Self::mapped(opened.file, opened.path),
            _ => Ok(Self::file(opened.file, opened.path)),
        }
    }

    /// Makes missing bytes before `end` read as zeros.
    pub(crate) fn zeros_until(&self, end: u64) {
        self.zeros_until.store(end, Ordering::Release);
    }

    /// Reads up to `len` bytes; fewer at the end.
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

    /// Makes all bytes durable.
    pub(crate) fn persist(&self) -> Result<()> {
        match &self.place {
            StorePlace::File { file, path } => file.sync_data().map_err(|error| failed("sync", path, error)),
            _ => Ok(()),
        }
    }

    /// Copies all bytes.
    pub(crate) fn image(&self) -> Result<Vec<u8>> {
        match &self.place {
            StorePlace::File { .. } | StorePlace::Elsewhere(_) => self.read(0, u64::MAX),
            #[cfg(test)]
            StorePlace::Failing(_) => self.read(0, u64::MAX),
            _ => self.with_bytes(|bytes| Ok(bytes.to_vec())),
        }
    }

    /// Calls `work` with all bytes in memory. They are not written meanwhile.
    ///
    /// # Errors
    /// `NC_EINMEMORY` if they are in a file; the error of `work`.
    pub(crate) fn with_bytes<T>(&self, work: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        match &self.place {
            StorePlace::File { path, .. } => {
                Err(ErrorKind::InMemory.context(format!("{}: the bytes are not in memory", path.display())))
            }
            StorePlace::Elsewhere(_) => Err(ErrorKind::InMemory.context("the bytes are not in memory")),
            StorePlace::Memory(bytes) => work(&bytes.read().unwrap_or_else(PoisonError::into_inner)),
            StorePlace::Fixed(bytes) => work(bytes),
            #[cfg(test)]
            StorePlace::Failing(_) => work(&self.read(0, u64::MAX)?),
            #[cfg(feature = "mmap")]
            StorePlace::Mapped(mapped) => work(mapped.bytes()?),
        }
    }

    fn read_there(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let copy = |bytes: &[u8], out: &mut OutBuf<'_>| {
            let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or(&[]);
            out.put(&rest[..rest.len().min(out.remaining())])
        };
        match &self.place {
            StorePlace::File { file, path } => {
                file_io::read_at(file, offset, out).map_err(|error| failed("read", path, error))
            }
            StorePlace::Memory(bytes) => copy(&bytes.read().unwrap_or_else(PoisonError::into_inner), out),
            StorePlace::Fixed(bytes) => copy(bytes, out),
            StorePlace::Elsewhere(source) => source.read_at(offset, out),
            #[cfg(test)]
            StorePlace::Failing(store) => store.read_at(offset, out),
            #[cfg(feature = "mmap")]
            StorePlace::Mapped(mapped) => copy(mapped.bytes()?, out),
        }
    }
}

fn failed(what: &str, path: &Path, error: std::io::Error) -> Error {
    Error::io(format!("{}: {what}", path.display()), error)
}

impl ByteStore for FileStore {
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
            StorePlace::File { file, path } => {
                file_io::write_at(file, offset, bytes).map_err(|error| failed("write", path, error))
            }
            StorePlace::Memory(memory) => {
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
            StorePlace::Failing(store) => store.write_at(offset, bytes),
            _ => Err(ErrorKind::Perm.context("the memory is read-only")),
        }
    }

    fn size(&self) -> Result<u64> {
        match &self.place {
            StorePlace::File { file, path } => {
                file.metadata().map(|found| found.len()).map_err(|error| failed("look at", path, error))
            }
            StorePlace::Memory(bytes) => {
                Ok(bytes.read().unwrap_or_else(PoisonError::into_inner).len() as u64)
            }
            StorePlace::Fixed(bytes) => Ok(bytes.len() as u64),
            StorePlace::Elsewhere(source) => Ok(source.len()),
            #[cfg(test)]
            StorePlace::Failing(store) => store.size(),
            #[cfg(feature = "mmap")]
            StorePlace::Mapped(mapped) => Ok(mapped.len() as u64),
        }
    }

    fn readable_len(&self) -> Result<u64> {
        Ok(self.size()?.max(self.zeros_until.load(Ordering::Acquire)))
    }

    fn read_ahead(&self) -> Option<&ReadAhead> {
        match &self.place {
            StorePlace::Elsewhere(ahead) => Some(ahead),
            _ => None,
        }
    }

    fn as_bytes(&self) -> Option<&[u8]> {
        if self.zeros_until.load(Ordering::Acquire) > 0 {
            return None;
        }
        match &self.place {
            StorePlace::Fixed(bytes) => Some(bytes),
            #[cfg(feature = "mmap")]
            StorePlace::Mapped(mapped) => mapped.bytes().ok(),
            _ => None,
        }
    }
}
