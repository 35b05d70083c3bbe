//! The bytes of an archive: [`ArchiveSource`]; and [`SourceCursor`], a `Read` over them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use nczarr_model::Error;
use nczarr_storage::source::{ByteSource, SharedBytes};
use nczarr_storage::{ByteRange, OutBuf};

/// The bytes of an archive.
#[derive(Debug, Clone)]
pub(crate) enum ArchiveSource {
    File(Arc<File>),
    Memory(SharedBytes),
    Remote(Arc<dyn ByteSource>),
}

impl ArchiveSource {
    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Memory(bytes) => Ok(bytes.len() as u64),
            Self::Remote(source) => Ok(source.len()),
        }
    }

    /// Returns `len` bytes from `at` on, if the archive is in memory.
    ///
    /// # Errors
    /// `UnexpectedEof` if the archive ends before.
    pub(crate) fn lend(&self, len: usize, at: u64) -> io::Result<Option<&[u8]>> {
        let Self::Memory(bytes) = self else { return Ok(None) };
        let from = usize::try_from(at).ok().and_then(|at| bytes.get(at..));
        let lent = from.and_then(|rest| rest.get(..len));
        lent.map(Some).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Reads from `at` on, up to the length of `out` or the end.
    pub(crate) fn read_some(&self, out: &mut [u8], at: u64) -> io::Result<usize> {
        match self {
            Self::File(file) => read_file(file, out, at),
            Self::Memory(bytes) => {
                let from = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                let read = out.len().min(bytes.len() - from);
                out[..read].copy_from_slice(&bytes[from..from + read]);
                Ok(read)
            }
            Self::Remote(source) => {
                let bytes = source.read(ByteRange::new(at, out.len() as u64)).map_err(io::Error::other)?;
                out.get_mut(..bytes.len()).ok_or(io::ErrorKind::InvalidData)?.copy_from_slice(&bytes);
                Ok(bytes.len())
            }
        }
    }

    /// Fills `out` from `at` on.
    ///
    /// # Errors
    /// `UnexpectedEof` if the archive ends before.
    pub(crate) fn read(&self, mut out: &mut [u8], mut at: u64) -> io::Result<()> {
        while !out.is_empty() {
            match self.read_some(out, at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    out = &mut out[read..];
                    at += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Appends `len` bytes from `at` on.
    ///
    /// # Errors
    /// As [`ArchiveSource::read`]; `OutOfMemory`.
    pub(crate) fn append(&self, len: usize, at: u64, out: &mut Vec<u8>) -> io::Result<()> {
        out.try_reserve_exact(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
        #[cfg(unix)]
        if let Self::File(file) = self
            && out.is_empty()
            && out.capacity() / 2 <= len
        {
            // Reads into the whole capacity, which is not much larger.
            while out.len() < len {
                let from = at + out.len() as u64;
                let read = rustix::io::retry_on_intr(|| {
                    rustix::io::pread(file, rustix::buffer::spare_capacity(out), from)
                })?;
                if read == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            out.truncate(len);
            return Ok(());
        }
        let from = out.len();
        out.resize(from + len, 0);
        self.read(&mut out[from..], at)
    }

    /// Appends `len` bytes from `at` on to an output with room for them.
    ///
    /// # Errors
    /// As [`ArchiveSource::read`].
    pub(crate) fn fill(&self, len: usize, at: u64, out: &mut OutBuf<'_>) -> nczarr_model::Result<()> {
        let fail = |error: io::Error| Error::io(format!("bytes from {at}"), error);
        #[cfg(unix)]
        if let Self::File(file) = self {
            let goal = out.filled().len() + len;
            while out.filled().len() < goal {
                let before = out.filled().len();
                let at = at + (before + len - goal) as u64;
                out.fill_with(|room| {
                    let room = room
                        .get_mut(..goal - before)
                        .ok_or_else(|| nczarr_model::ErrorKind::Internal.context("the output has no room"))?;
                    match rustix::io::pread(file, room, at) {
                        Ok((read, _)) => Ok(read),
                        Err(error) => Err(fail(error.into())),
                    }
                })?;
                if out.filled().len() == before {
                    return Err(fail(io::ErrorKind::UnexpectedEof.into()));
                }
            }
            return Ok(());
        }
        self.read(out.put_zeros(len)?, at).map_err(fail)
    }
}

/// Makes an unnamed file with these bytes: in memory if the system supports that, else a temporary file.
pub(crate) fn file_in_memory(bytes: &[u8]) -> io::Result<File> {
    let file = nameless()?;
    write_file(&file, bytes, 0)?;
    Ok(file)
}

/// Makes an unnamed copy of a file that is at its start.
pub(crate) fn copy_in_memory(mut file: &File) -> io::Result<File> {
    let mut copy = nameless()?;
    io::copy(&mut file, &mut copy)?;
    Ok(copy)
}

#[cfg(target_os = "linux")]
fn nameless() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(memfd_create("nczarr", MemfdFlags::CLOEXEC)?.into())
}

#[cfg(not(target_os = "linux"))]
fn nameless() -> io::Result<File> {
    tempfile::tempfile()
}

#[cfg(unix)]
fn read_file(file: &File, out: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, out, at)
}

#[cfg(windows)]
fn read_file(file: &File, out: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, out, at)
}

#[cfg(not(any(unix, windows)))]
fn read_file(file: &File, out: &mut [u8], at: u64) -> io::Result<usize> {
    let (_turn, mut file) = (turn(), file);
    file.seek(SeekFrom::Start(at))?;
    file.read(out)
}

/// Writes all of `bytes` at `at`.
#[cfg(unix)]
pub(crate) fn write_file(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

/// Writes all of `bytes` at `at`.
#[cfg(windows)]
pub(crate) fn write_file(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, bytes, at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                at += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes all of `bytes` at `at`.
#[cfg(not(any(unix, windows)))]
pub(crate) fn write_file(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    let (_turn, mut file) = (turn(), file);
    file.seek(SeekFrom::Start(at))?;
    io::Write::write_all(&mut file, bytes)
}

/// Writes `head` at `at` and `body` behind it, in one call if the system can.
pub(crate) fn write_both(file: &File, head: &[u8], body: &[u8], at: u64) -> io::Result<()> {
    let written = gather(file, head, body, at)?;
    write_rest(file, head, body, at, written)
}

/// Writes the rest of both after `written` bytes.
fn write_rest(file: &File, head: &[u8], body: &[u8], at: u64, written: usize) -> io::Result<()> {
    let (head, from) = (head.get(written..).unwrap_or_default(), written.saturating_sub(head.len()));
    if !head.is_empty() {
        write_file(file, head, at + written as u64)?;
    }
    match body.get(from..) {
        Some(rest) if !rest.is_empty() => write_file(file, rest, at + (written + head.len()) as u64),
        _ => Ok(()),
    }
}

/// Writes as much of both as the system takes in one call.
#[cfg(target_os = "linux")]
fn gather(file: &File, head: &[u8], body: &[u8], at: u64) -> io::Result<usize> {
    let both = [io::IoSlice::new(head), io::IoSlice::new(body)];
    Ok(rustix::io::retry_on_intr(|| rustix::io::pwritev(file, &both, at))?)
}

#[cfg(not(target_os = "linux"))]
fn gather(_: &File, _: &[u8], _: &[u8], _: u64) -> io::Result<usize> {
    Ok(0)
}

/// Without positioned calls, one thread at a time seeks and reads.
#[cfg(not(any(unix, windows)))]
fn turn() -> std::sync::MutexGuard<'static, ()> {
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Bytes that a [`SourceCursor`] reads ahead; more if each read is a request.
const AHEAD: usize = 64 << 10;
const AHEAD_REMOTE: usize = 1 << 20;

/// A reader over the first bytes of a source, with a buffer for small reads.
#[derive(Debug)]
pub(crate) struct SourceCursor {
    source: ArchiveSource,
    /// The number of bytes.
    len: u64,
    at: u64,
    ahead: Vec<u8>,
    /// The position of `ahead`.
    from: u64,
}

impl SourceCursor {
    pub(crate) fn new(source: ArchiveSource, len: u64) -> Self {
        Self { source, len, at: 0, ahead: Vec::new(), from: 0 }
    }
}

impl Clone for SourceCursor {
    /// The buffer is not copied, because clones read elsewhere.
    fn clone(&self) -> Self {
        Self { source: self.source.clone(), len: self.len, at: self.at, ahead: Vec::new(), from: 0 }
    }
}

impl Read for SourceCursor {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.len.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let want = out.len().min(left);
        if want == 0 {
            return Ok(0);
        }
        let most = if matches!(self.source, ArchiveSource::Remote(_)) { AHEAD_REMOTE } else { AHEAD };
        let skip = self.at.checked_sub(self.from).and_then(|skip| usize::try_from(skip).ok());
        let ready = skip.and_then(|skip| self.ahead.get(skip..)).unwrap_or_default();
        let read = if !ready.is_empty() {
            let read = want.min(ready.len());
            out[..read].copy_from_slice(&ready[..read]);
            read
        } else if want >= most {
            self.source.read_some(&mut out[..want], self.at)?
        } else {
            self.ahead.resize(most.min(left), 0);
            self.from = self.at;
            let filled = self.source.read_some(&mut self.ahead, self.at);
            self.ahead.truncate(*filled.as_ref().unwrap_or(&0));
            filled?;
            let read = want.min(self.ahead.len());
            out[..read].copy_from_slice(&self.ahead[..read]);
            read
        };
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for SourceCursor {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// After a partial write, the next call writes the rest.
    #[test]
    fn the_rest_of_a_partial_write_is_written() {
        let (head, body) = (b"head".as_slice(), b"and body".as_slice());
        let whole = [head, body].concat();
        for written in 0..=whole.len() {
            let file = tempfile::tempfile().unwrap();
            write_file(&file, &whole[..written], 5).unwrap();
            write_rest(&file, head, body, 5, written).unwrap();
            let mut found = vec![0; whole.len() + 1];
            assert_eq!(read_file(&file, &mut found, 5).unwrap(), whole.len());
            assert_eq!(found[..whole.len()], whole);
        }
        for (head, body) in [(head, body), (head, b"".as_slice()), (b"", b""), (b"", body)] {
            let file = tempfile::tempfile().unwrap();
            write_both(&file, head, body, 0).unwrap();
            assert_eq!(file.metadata().unwrap().len(), (head.len() + body.len()) as u64);
        }
    }

    proptest! {
        /// Any sequence of reads and skips gives the same bytes as a reader over the bytes.
        #[test]
        fn a_cursor_reads_like_a_cursor_over_bytes(
            len in 0usize..200_000,
            cut in 0u64..300_000,
            steps in prop::collection::vec((0u64..250_000, 0usize..100_000), 1..12),
        ) {
            let bytes: Vec<u8> = (0..len).map(|i| (i * 7 + (i >> 8)) as u8).collect();
            let bytes = SharedBytes::from(bytes);
            let mut ours = SourceCursor::new(ArchiveSource::Memory(bytes.clone()), cut.min(len as u64));
            let mut theirs = io::Cursor::new(&bytes[..len.min(cut as usize)]);
            for (to, want) in steps {
                prop_assert_eq!(ours.seek(SeekFrom::Start(to)).unwrap(), theirs.seek(SeekFrom::Start(to)).unwrap());
                let (mut a, mut b) = (Vec::new(), Vec::new());
                (&mut ours).take(want as u64).read_to_end(&mut a).unwrap();
                (&mut theirs).take(want as u64).read_to_end(&mut b).unwrap();
                prop_assert_eq!(a, b);
            }
        }
    }
}
