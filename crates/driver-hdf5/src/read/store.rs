//! [`Store`]: where the bytes of a file are: in a file, in memory, or somewhere else. They are only read.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use chunkio::ByteStore;
use dispatch::{ByteSource, OutBuf, ReadAhead};
use model::{ErrorKind, Result};

/// The bytes of one file.
#[derive(Debug)]
pub(crate) enum Store {
    /// A local file, and where it is.
    File(File, PathBuf),
    /// Memory.
    Memory(Arc<[u8]>),
    /// A file somewhere else, and its small reads.
    Elsewhere(Arc<dyn ByteSource>, ReadAhead),
}

impl Store {
    /// A file that is not a local one.
    pub(crate) fn elsewhere(source: Arc<dyn ByteSource>) -> Self {
        Self::Elsewhere(Arc::clone(&source), ReadAhead::new(source))
    }
}

impl ByteStore for Store {
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        match self {
            Self::File(file, path) => file_io::read_at(file, offset, out).map_err(|error| error.at(path.display())),
            Self::Memory(bytes) => {
                let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or(&[]);
                out.put(&rest[..rest.len().min(out.room())])
            }
            Self::Elsewhere(_, ahead) => ahead.read_at(offset, out),
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
                .map_err(|error| model::Error::io(path.display().to_string(), error)),
            Self::Memory(bytes) => Ok(bytes.len() as u64),
            Self::Elsewhere(source, _) => Ok(source.len()),
        }
    }

    fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(bytes) => Some(bytes),
            _ => None,
        }
    }
}

#[cfg(unix)]
mod file_io {
    use std::fs::File;

    use dispatch::OutBuf;
    use model::{ErrorKind, Result};
    use rustix::io::{Errno, pread};

    /// Fills the room, as far as the file reaches.
    pub(super) fn read_at(file: &File, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let mut at = offset;
        while out.room() > 0 {
            let before = out.filled().len();
            let mut failure = None;
            // The closure's own error only says that there is one.
            let _ = out.fill_with(|room| match pread(file, room, at) {
                Ok((read, _)) => Ok(read),
                Err(errno) => {
                    failure = Some(errno);
                    Err(ErrorKind::Io.into())
                }
            });
            match failure {
                Some(Errno::INTR) => continue,
                Some(errno) => return Err(model::Error::io("read", errno.into())),
                None => {}
            }
            let read = out.filled().len() - before;
            if read == 0 {
                break;
            }
            at = at.saturating_add(read as u64);
        }
        Ok(())
    }
}

/// Where files have one place only at which they are read: one after another.
#[cfg(not(unix))]
mod file_io {
    use std::fs::File;
    use std::io::{Read as _, Seek as _, SeekFrom};
    use std::sync::{Mutex, PoisonError};

    use dispatch::OutBuf;
    use model::{Error, Result};

    /// Who holds it moves the place of some file and uses it.
    static TURN: Mutex<()> = Mutex::new(());

    /// Fills the room, as far as the file reaches.
    pub(super) fn read_at(mut file: &File, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut block = vec![0; out.room().min(BLOCK)];
        file.seek(SeekFrom::Start(offset)).map_err(|error| Error::io("seek", error))?;
        while out.room() > 0 {
            let len = out.room().min(BLOCK);
            match file.read(&mut block[..len]) {
                Ok(0) => break,
                Ok(read) => out.put(&block[..read])?,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("read", error)),
            }
        }
        Ok(())
    }

    const BLOCK: usize = 1 << 20;
}
