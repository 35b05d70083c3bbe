//! Reads and writes files at offsets, on every system.

use std::fs::File;
use std::io::Result;

use crate::OutBuf;

#[cfg(not(any(unix, windows)))]
use one_place as system;
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// Fills `out` with bytes from `offset` on, up to the end of the file.
///
/// # Errors
/// The system's error; bytes read before it stay in `out`.
pub fn read_at(file: &File, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
    system::read_at(file, offset, out)
}

/// Writes all of `bytes` at `offset`; the file grows if needed.
///
/// # Errors
/// The system's error; some bytes may be written then.
pub fn write_at(file: &File, offset: u64, bytes: &[u8]) -> Result<()> {
    system::write_at(file, offset, bytes)
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::Result;
    use std::os::unix::fs::FileExt as _;

    use crate::OutBuf;
    use nczarr_model::ErrorKind;
    use rustix::io::{Errno, pread};

    pub fn read_at(file: &File, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let mut at = offset;
        while out.remaining() > 0 {
            let before = out.filled().len();
            let mut failure = None;
            // The closure's error is a placeholder for `failure`.
            let _ = out.fill_with(|room| match pread(file, room, at) {
                Ok((read, _)) => Ok(read),
                Err(errno) => {
                    failure = Some(errno);
                    Err(ErrorKind::Io.into())
                }
            });
            match failure {
                Some(Errno::INTR) => continue,
                Some(errno) => return Err(errno.into()),
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

    pub fn write_at(file: &File, offset: u64, bytes: &[u8]) -> Result<()> {
        file.write_all_at(bytes, offset)
    }
}

#[cfg(windows)]
mod windows {
    use std::fs::File;
    use std::io::{Error, ErrorKind, Result};
    use std::os::windows::fs::FileExt as _;

    use crate::OutBuf;

    pub fn read_at(file: &File, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let mut block = vec![0; out.room().min(BLOCK)];
        let mut at = offset;
        while out.room() > 0 {
            let len = out.room().min(BLOCK);
            match file.seek_read(&mut block[..len], at) {
                Ok(0) => break,
                Ok(read) => {
                    out.put(&block[..read]).map_err(Error::other)?;
                    at = at.saturating_add(read as u64);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub fn write_at(file: &File, mut offset: u64, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            match file.seek_write(bytes, offset) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = &bytes[written..];
                    offset += written as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    const BLOCK: usize = 1 << 20;
}

/// For systems whose files have a single position: accesses run one after another.
#[cfg(not(any(unix, windows)))]
mod one_place {
    use std::fs::File;
    use std::io::{Error, ErrorKind, Read as _, Result, Seek as _, SeekFrom, Write as _};
    use std::sync::{Mutex, PoisonError};

    use crate::OutBuf;

    /// Held while a thread moves the position of a file and uses it.
    static TURN: Mutex<()> = Mutex::new(());

    pub fn read_at(mut file: &File, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut block = vec![0; out.room().min(BLOCK)];
        file.seek(SeekFrom::Start(offset))?;
        while out.room() > 0 {
            let len = out.room().min(BLOCK);
            match file.read(&mut block[..len]) {
                Ok(0) => break,
                Ok(read) => out.put(&block[..read]).map_err(Error::other)?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub fn write_at(mut file: &File, offset: u64, bytes: &[u8]) -> Result<()> {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)
    }

    const BLOCK: usize = 1 << 20;
}
