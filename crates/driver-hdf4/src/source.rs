//! [`FileSource`]: the bytes of a file that is only read: local, in memory, or remote.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nczarr_chunkio::ByteStore;
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::{OutBuf, file_io};
use nczarr_storage::source::{ByteSource, ReadAhead, SharedBytes};

/// Most bytes prefetched together.
const TOGETHER: u64 = 8 << 20;

/// Most bytes read between requested ranges to save requests.
const SPARE: u64 = 256 << 10;

/// The bytes of a file.
#[derive(Debug)]
pub(crate) struct FileSource {
    place: SourceKind,
    size: u64,
}

#[derive(Debug)]
enum SourceKind {
    File { file: File, path: PathBuf },
    Memory(SharedBytes),
    Elsewhere(ReadAhead),
}

impl FileSource {
    /// Opens a local file.
    ///
    /// # Errors
    /// `NC_ENOTNC` if it is not a regular file; I/O errors.
    pub(crate) fn file(path: &Path) -> Result<Self> {
        let io = |error| Error::io_at(path, error);
        let file = File::open(path).map_err(io)?;
        let found = file.metadata().map_err(io)?;
        if found.is_file() {
            Ok(Self { place: SourceKind::File { file, path: path.into() }, size: found.len() })
        } else {
            Err(ErrorKind::NotNc.context(format!("{}: not a regular file", path.display())))
        }
    }

    pub(crate) fn memory(bytes: SharedBytes) -> Self {
        Self { size: bytes.len() as u64, place: SourceKind::Memory(bytes) }
    }

    /// Makes a remote file.
    pub(crate) fn remote(source: Arc<dyn ByteSource>) -> Self {
        Self { size: source.len(), place: SourceKind::Elsewhere(ReadAhead::new(source)) }
    }

    /// Announces reads, as offsets and lengths. In a remote file they are requested at once.
    pub(crate) fn prefetch(&self, ranges: impl IntoIterator<Item = (u64, u64)>) {
        if let SourceKind::Elsewhere(ahead) = &self.place {
            let mut left = TOGETHER;
            let ranges = ranges.into_iter().take_while(|&(_, len)| {
                left = left.saturating_sub(len);
                left > 0
            });
            ahead.prefetch(ranges.map(|(offset, len)| offset..offset.saturating_add(len)), SPARE);
        }
    }

    /// Returns the length in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.size
    }

    /// Appends the `len` bytes at `offset` to `out`.
    ///
    /// # Errors
    /// `NC_ETRUNC` if the file ends early; `NC_ENOMEM`; I/O errors.
    pub(crate) fn append(&self, offset: u64, len: u64, out: &mut Vec<u8>) -> Result<()> {
        let size = self.size;
        if offset.checked_add(len).is_none_or(|end| end > size) {
            return Err(ErrorKind::Trunc
                .context(format!("{len} bytes at offset {offset}: beyond the end of the file at {size}")));
        }
        let from = out.len();
        let no_mem = || ErrorKind::NoMem.context(format!("{len} bytes"));
        let len = usize::try_from(len).map_err(|_| no_mem())?;
        out.try_reserve_exact(len).map_err(|error| no_mem().caused_by(error))?;
        out.resize(from + len, 0);
        let mut buf = OutBuf::from_slice(&mut out[from..]);
        self.read_at(offset, &mut buf)?;
        let read = buf.filled().len();
        if read == len {
            Ok(())
        } else {
            Err(ErrorKind::Trunc.context(format!("{len} bytes at offset {offset}: the file became shorter")))
        }
    }

    /// Returns all bytes of a file in memory.
    ///
    /// # Errors
    /// `NC_EINMEMORY` if it is not in memory.
    pub(crate) fn image(&self) -> Result<Vec<u8>> {
        match &self.place {
            SourceKind::Memory(bytes) => Ok(bytes.to_vec()),
            _ => Err(ErrorKind::InMemory.context("the dataset is not in memory")),
        }
    }
}

impl ByteStore for FileSource {
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        match &self.place {
            SourceKind::File { file, path } => file_io::read_at(file, offset, out)
                .map_err(|error| Error::io(format!("{}: read", path.display()), error)),
            SourceKind::Memory(bytes) => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                let len = out.remaining().min(bytes.len() - from);
                out.put(&bytes[from..from + len])
            }
            SourceKind::Elsewhere(source) => source.read_at(offset, out),
        }
    }

    fn write_at(&self, _offset: u64, _bytes: &[u8]) -> Result<()> {
        Err(ErrorKind::Perm.context("HDF4 files are read-only"))
    }

    fn size(&self) -> Result<u64> {
        Ok(self.size)
    }

    fn read_ahead(&self) -> Option<&ReadAhead> {
        match &self.place {
            SourceKind::Elsewhere(ahead) => Some(ahead),
            _ => None,
        }
    }

    fn as_bytes(&self) -> Option<&[u8]> {
        match &self.place {
            SourceKind::Memory(bytes) => Some(bytes),
            _ => None,
        }
    }
}
