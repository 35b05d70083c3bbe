//! [`Store`]: the bytes of one file, wherever they are, which are only read.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use nczarr_chunkio::ByteStore;
use nczarr_dispatch::{ByteSource, OutBuf, ReadAhead, file_io};
use nczarr_model::{Error, ErrorKind, Result};

/// Bytes that are asked for at once, at most.
const TOGETHER: u64 = 8 << 20;

/// Bytes between them that are rather read than asked for apart, all together.
const SPARE: u64 = 256 << 10;

/// The bytes of one file.
#[derive(Debug)]
pub(crate) struct Store {
    place: Place,
    size: u64,
}

#[derive(Debug)]
enum Place {
    File { file: File, path: PathBuf },
    Memory(Arc<[u8]>),
    Elsewhere(ReadAhead),
}

impl Store {
    /// # Errors
    /// `NC_ENOTNC` if it is not a regular file; what the system says.
    pub(crate) fn file(path: &str) -> Result<Self> {
        let io = |error| Error::io(path, error);
        let file = File::open(path).map_err(io)?;
        let found = file.metadata().map_err(io)?;
        match found.is_file() {
            true => Ok(Self { place: Place::File { file, path: path.into() }, size: found.len() }),
            false => Err(ErrorKind::NotNc.context(format!("{path}: not a regular file"))),
        }
    }

    pub(crate) fn memory(bytes: Arc<[u8]>) -> Self {
        Self { size: bytes.len() as u64, place: Place::Memory(bytes) }
    }

    /// A file that is not a local one.
    pub(crate) fn elsewhere(source: Arc<dyn ByteSource>) -> Self {
        Self { size: source.len(), place: Place::Elsewhere(ReadAhead::new(source)) }
    }

    /// Says which bytes will be read soon, as offsets and lengths: of a file elsewhere they are asked for at once.
    pub(crate) fn expect(&self, ranges: impl IntoIterator<Item = (u64, u64)>) {
        if let Place::Elsewhere(ahead) = &self.place {
            let mut left = TOGETHER;
            let ranges = ranges.into_iter().take_while(|&(_, len)| {
                left = left.saturating_sub(len);
                left > 0
            });
            ahead.expect(ranges.map(|(offset, len)| offset..offset.saturating_add(len)), SPARE);
        }
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> u64 {
        self.size
    }

    /// Appends the `len` bytes at `offset` to `out`.
    ///
    /// # Errors
    /// `NC_ETRUNC` if the file ends before; `NC_ENOMEM`; what the storage says.
    pub(crate) fn append(&self, offset: u64, len: u64, out: &mut Vec<u8>) -> Result<()> {
        let size = self.size;
        if offset.checked_add(len).is_none_or(|end| end > size) {
            return Err(ErrorKind::Trunc.context(format!("{len} bytes at {offset}: the file ends at {size}")));
        }
        let from = out.len();
        let no_mem = || ErrorKind::NoMem.context(format!("{len} bytes"));
        let len = usize::try_from(len).map_err(|_| no_mem())?;
        out.try_reserve_exact(len).map_err(|error| no_mem().caused_by(error))?;
        out.resize(from + len, 0);
        let mut buf = OutBuf::over(&mut out[from..]);
        self.read_at(offset, &mut buf)?;
        let read = buf.filled().len();
        match read == len {
            true => Ok(()),
            false => Err(ErrorKind::Trunc.context(format!("{len} bytes at {offset}: it was cut short meanwhile"))),
        }
    }

    /// All bytes, if they lie in memory.
    ///
    /// # Errors
    /// `NC_EINMEMORY` if they do not.
    pub(crate) fn image(&self) -> Result<Vec<u8>> {
        match &self.place {
            Place::Memory(bytes) => Ok(bytes.to_vec()),
            _ => Err(ErrorKind::InMemory.context("the dataset is not in memory")),
        }
    }
}

impl ByteStore for Store {
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        match &self.place {
            Place::File { file, path } => file_io::read_at(file, offset, out)
                .map_err(|error| Error::io(format!("{}: read", path.display()), error)),
            Place::Memory(bytes) => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                let len = out.room().min(bytes.len() - from);
                out.put(&bytes[from..from + len])
            }
            Place::Elsewhere(source) => source.read_at(offset, out),
        }
    }

    fn write_at(&self, _offset: u64, _bytes: &[u8]) -> Result<()> {
        Err(ErrorKind::Perm.context("HDF4 files are only read"))
    }

    fn size(&self) -> Result<u64> {
        Ok(self.size)
    }

    fn ahead(&self) -> Option<&ReadAhead> {
        match &self.place {
            Place::Elsewhere(ahead) => Some(ahead),
            _ => None,
        }
    }

    fn as_bytes(&self) -> Option<&[u8]> {
        match &self.place {
            Place::Memory(bytes) => Some(bytes),
            _ => None,
        }
    }
}
