//! [`FileBytes`]: the bytes of a file that is only read: local, in memory, or remote.

use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use nczarr_chunkio::ByteStore;
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::{OutBuf, file_io};
use nczarr_storage::source::{ByteSource, ReadAhead, SharedBytes};

/// Most bytes read between requested ranges of a remote file to save requests.
const SPARE: u64 = 256 << 10;

/// The bytes of a file.
#[derive(Debug)]
pub(crate) enum FileBytes {
    /// A local file and its absolute path.
    File(File, PathBuf),
    /// Memory.
    Memory(SharedBytes),
    /// A remote file, and a cache for its small reads.
    Remote(Arc<dyn ByteSource>, ReadAhead),
}

impl FileBytes {
    /// Makes a remote file.
    pub(crate) fn remote(source: Arc<dyn ByteSource>) -> Self {
        Self::Remote(Arc::clone(&source), ReadAhead::new(source))
    }

    /// Announces reads ([`ReadAhead::prefetch`]).
    pub(crate) fn expect(&self, ranges: impl IntoIterator<Item = Range<u64>>) {
        if let Self::Remote(_, ahead) = self {
            ahead.prefetch(ranges, SPARE);
        }
    }

    /// Runs `work`; for a remote file in rounds ([`ReadAhead::run_in_rounds`]).
    pub(crate) fn in_rounds<T>(&self, work: impl Fn() -> Result<T>) -> Result<T> {
        match self {
            Self::Remote(_, ahead) => ahead.run_in_rounds(work)?,
            _ => work(),
        }
    }
}

impl ByteStore for FileBytes {
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        match self {
            Self::File(file, path) => file_io::read_at(file, offset, out)
                .map_err(|error| Error::io(path.display().to_string(), error)),
            Self::Memory(bytes) => {
                let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or(&[]);
                out.put(&rest[..rest.len().min(out.remaining())])
            }
            Self::Remote(_, ahead) => ahead.read_at(offset, out),
        }
    }

    fn write_at(&self, _: u64, _: &[u8]) -> Result<()> {
        Err(ErrorKind::Perm.context("the file is only read"))
    }

    fn size(&self) -> Result<u64> {
        match self {
            Self::File(file, path) => file
                .metadata()
                .map(|found| found.len())
                .map_err(|error| Error::io(path.display().to_string(), error)),
            Self::Memory(bytes) => Ok(bytes.len() as u64),
            Self::Remote(source, _) => Ok(source.len()),
        }
    }

    fn read_ahead(&self) -> Option<&ReadAhead> {
        match self {
            Self::Remote(_, ahead) => Some(ahead),
            _ => None,
        }
    }

    fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(bytes) => Some(bytes),
            _ => None,
        }
    }
}
