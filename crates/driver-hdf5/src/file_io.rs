//! Files at offsets, whatever the system has for that.

#[cfg(unix)]
pub(crate) use unix::{read_at, write_at};

#[cfg(not(unix))]
pub(crate) use one_place::{read_at, write_at};

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::Result;
    use std::os::unix::fs::FileExt as _;

    use dispatch::OutBuf;
    use model::ErrorKind;
    use rustix::io::{Errno, pread};

    /// Fills the room, as far as the file reaches.
    pub(crate) fn read_at(file: &File, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
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

    /// Writes all of `bytes`; the file grows as far as they reach.
    pub(crate) fn write_at(file: &File, offset: u64, bytes: &[u8]) -> Result<()> {
        file.write_all_at(bytes, offset)
    }
}

/// Where files have one place only at which they are read and written: one after another.
#[cfg(not(unix))]
mod one_place {
    use std::fs::File;
    use std::io::{Error, ErrorKind, Read as _, Result, Seek as _, SeekFrom, Write as _};
    use std::sync::{Mutex, PoisonError};

    use dispatch::OutBuf;

    /// Who holds it moves the place of some file and uses it.
    static TURN: Mutex<()> = Mutex::new(());

    const BLOCK: usize = 1 << 20;

    /// Fills the room, as far as the file reaches.
    pub(crate) fn read_at(mut file: &File, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
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

    /// Writes all of `bytes`; the file grows as far as they reach.
    pub(crate) fn write_at(mut file: &File, offset: u64, bytes: &[u8]) -> Result<()> {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)
    }
}
