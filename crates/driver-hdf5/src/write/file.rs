//! [`WritableFile`]: the bytes of a file that is written, and its free space.
//!
//! Nothing that the superblock leads to is overwritten, except elements of contiguous arrays. New content
//! goes to free space. Replaced content becomes free once the metadata without it are in force.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use nczarr_dispatch::single_file::OpenedFile;
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::{OutBuf, file_io};

use super::superblock;

/// Where the bytes are.
#[derive(Debug)]
enum FileBacking {
    File(std::fs::File, PathBuf),
    Memory(RwLock<Vec<u8>>),
}

/// A file that is written.
#[derive(Debug)]
pub(super) struct WritableFile {
    place: FileBacking,
    space: Mutex<FreeSpace>,
    /// Number of commits begun, plus one.
    epoch: AtomicU64,
    /// Metadata state some facts of the data. Threads that change them share this lock, and a commit locks it
    /// alone to read them.
    changing: RwLock<()>,
    /// Counter of changes of such facts.
    changes: AtomicU64,
    /// All writes in order: offset and bytes; `None`: the file was truncated there.
    #[cfg(test)]
    pub(super) log: Mutex<Vec<(u64, Option<Vec<u8>>)>>,
}

/// A range of the file: address and length in bytes.
pub(super) type FileRange = (u64, u64);

/// The free space of a file.
#[derive(Debug, Default)]
struct FreeSpace {
    end: u64,
    by_place: BTreeMap<u64, u64>,
    by_len: BTreeSet<(u64, u64)>,
    /// Space that becomes free once the metadata being written are in force.
    later: Vec<FileRange>,
}

impl FreeSpace {
    fn insert(&mut self, mut address: u64, mut len: u64) {
        if let Some((&before, &size)) = self.by_place.range(..address).next_back()
            && before + size == address
        {
            self.remove(before, size);
            (address, len) = (before, len + size);
        }
        if let Some(&size) = self.by_place.get(&(address + len)) {
            self.remove(address + len, size);
            len += size;
        }
        if address + len == self.end {
            self.end = address;
            return;
        }
        self.by_place.insert(address, len);
        self.by_len.insert((len, address));
    }

    fn remove(&mut self, address: u64, len: u64) {
        self.by_place.remove(&address);
        self.by_len.remove(&(len, address));
    }

    fn take(&mut self, len: u64) -> Option<u64> {
        if let Some(&(size, address)) = self.by_len.range((len, 0)..).next() {
            self.remove(address, size);
            if size > len {
                self.by_place.insert(address + len, size - len);
                self.by_len.insert((size - len, address + len));
            }
            return Some(address);
        }
        let address = self.end;
        self.end = address.checked_add(len).filter(|&end| i64::try_from(end).is_ok())?;
        Some(address)
    }
}

/// Alignment of everything in the file, in bytes.
const ALIGN: u64 = 8;

impl WritableFile {
    pub(super) fn of(opened: OpenedFile) -> Self {
        Self::new(FileBacking::File(opened.file, opened.path))
    }

    pub(super) fn memory(bytes: Vec<u8>) -> Self {
        Self::new(FileBacking::Memory(RwLock::new(bytes)))
    }

    fn new(place: FileBacking) -> Self {
        Self {
            place,
            space: Mutex::new(FreeSpace { end: superblock::LEN, ..FreeSpace::default() }),
            epoch: AtomicU64::new(1),
            changing: RwLock::new(()),
            changes: AtomicU64::new(0),
            #[cfg(test)]
            log: Mutex::default(),
        }
    }

    /// Returns the file and its path, unless it is in memory.
    pub(super) fn as_file(&self) -> Option<(&std::fs::File, &Path)> {
        match &self.place {
            FileBacking::File(file, path) => Some((file, path)),
            FileBacking::Memory(_) => None,
        }
    }

    /// Returns a copy of all bytes, if they are in memory.
    pub(super) fn image(&self) -> Result<Vec<u8>> {
        match &self.place {
            FileBacking::Memory(bytes) => Ok(bytes.read().unwrap_or_else(PoisonError::into_inner).clone()),
            FileBacking::File(_, path) => {
                Err(ErrorKind::InMemory.context(format!("{}: not a dataset in memory", path.display())))
            }
        }
    }

    fn space(&self) -> MutexGuard<'_, FreeSpace> {
        self.space.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates `len` bytes.
    ///
    /// # Errors
    /// `NC_EVARSIZE` if the file would become too long.
    pub(super) fn allocate(&self, len: u64) -> Result<u64> {
        let too_long =
            || ErrorKind::VarSize.context(format!("the file would become too long with {len} more bytes"));
        let len = len.checked_next_multiple_of(ALIGN).ok_or_else(too_long)?;
        self.space().take(len).ok_or_else(too_long)
    }

    /// Frees space that was allocated in `epoch`. If that is the current epoch, no metadata lead to it and it
    /// is free at once. Otherwise, and in epoch 0, it is free after the next commit.
    pub(super) fn free(&self, address: u64, len: u64, epoch: u64) {
        let len = len.next_multiple_of(ALIGN);
        let mut space = self.space();
        if epoch == self.epoch() { space.insert(address, len) } else { space.later.push((address, len)) }
    }

    /// Marks the first `len` bytes of an opened file as used.
    pub(super) fn begin(&self, len: u64) {
        self.space().end = len.max(superblock::LEN).next_multiple_of(ALIGN);
    }

    /// Frees these ranges after the next commit, as far as they are whole units.
    pub(super) fn free_later(&self, stretches: impl IntoIterator<Item = FileRange>) {
        let mut space = self.space();
        for (address, len) in stretches {
            let (start, end) = (address.next_multiple_of(ALIGN), (address + len) / ALIGN * ALIGN);
            if start < end {
                space.later.push((start, end - start));
            }
        }
    }

    /// Takes the space that becomes free once the metadata being written are in force.
    pub(super) fn take_later(&self) -> Vec<FileRange> {
        std::mem::take(&mut self.space().later)
    }

    /// Frees the space if the metadata are in force, or keeps it for the next commit.
    pub(super) fn settle(&self, stretches: Vec<FileRange>, in_force: bool) {
        let mut space = self.space();
        if in_force {
            stretches.into_iter().for_each(|(address, len)| space.insert(address, len))
        } else {
            space.later.extend(stretches)
        }
    }

    /// Returns the end of the used space.
    pub(super) fn end(&self) -> u64 {
        self.space().end
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Locks out commits while facts of the data change.
    pub(super) fn change(&self) -> RwLockReadGuard<'_, ()> {
        let guard = self.changing.read().unwrap_or_else(PoisonError::into_inner);
        self.changes.fetch_add(1, Ordering::AcqRel);
        guard
    }

    /// Locks out such changes and begins a new epoch.
    pub(super) fn freeze(&self) -> RwLockWriteGuard<'_, ()> {
        let guard = self.changing.write().unwrap_or_else(PoisonError::into_inner);
        self.epoch.fetch_add(1, Ordering::AcqRel);
        guard
    }

    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Appends bytes from `offset` on to `out`, as far as both reach.
    ///
    /// # Errors
    /// I/O errors.
    pub(super) fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        match &self.place {
            FileBacking::File(file, path) => file_io::read_at(file, offset, out)
                .map_err(|error| Error::io(path.display().to_string(), error)),
            FileBacking::Memory(bytes) => {
                let bytes = bytes.read().unwrap_or_else(PoisonError::into_inner);
                let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or(&[]);
                out.put(&rest[..rest.len().min(out.remaining())])
            }
        }
    }

    /// Replaces `out` by `len` bytes from `offset` on.
    ///
    /// # Errors
    /// `NC_ETRUNC` if the file has fewer; I/O errors.
    pub(super) fn read(&self, offset: u64, len: usize, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        out.resize(len, 0);
        let mut into = OutBuf::from_slice(out);
        self.read_at(offset, &mut into)?;
        if into.filled().len() == len {
            Ok(())
        } else {
            Err(ErrorKind::Trunc.context(format!("{len} bytes at offset {offset}: the file became shorter")))
        }
    }

    /// Writes all of `bytes`. The file grows if necessary.
    ///
    /// # Errors
    /// I/O errors.
    pub(super) fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        #[cfg(test)]
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push((offset, Some(bytes.to_vec())));
        match &self.place {
            FileBacking::File(file, path) => file_io::write_at(file, offset, bytes)
                .map_err(|error| Error::io(path.display().to_string(), error)),
            FileBacking::Memory(memory) => {
                let no_mem = || ErrorKind::NoMem.context(format!("{} bytes at {offset}", bytes.len()));
                let end = usize::try_from(offset).ok().and_then(|offset| offset.checked_add(bytes.len()));
                let end = end.ok_or_else(no_mem)?;
                let mut memory = memory.write().unwrap_or_else(PoisonError::into_inner);
                if end > memory.len() {
                    let more = end - memory.len();
                    memory.try_reserve(more).map_err(|error| no_mem().caused_by(error))?;
                    memory.resize(end, 0);
                }
                memory[end - bytes.len()..end].copy_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Extends the file to `len` bytes. `shorter`: truncates it if it is longer.
    ///
    /// # Errors
    /// I/O errors.
    pub(super) fn set_len(&self, len: u64, shorter: bool) -> Result<()> {
        #[cfg(test)]
        if shorter {
            self.log.lock().unwrap_or_else(PoisonError::into_inner).push((len, None));
        }
        match &self.place {
            FileBacking::File(file, path) => {
                let set = || match file.metadata()?.len() {
                    found if found < len || shorter && found > len => file.set_len(len),
                    _ => Ok(()),
                };
                set().map_err(|error| Error::io(path.display().to_string(), error))
            }
            FileBacking::Memory(memory) => {
                let mut memory = memory.write().unwrap_or_else(PoisonError::into_inner);
                let len =
                    usize::try_from(len).map_err(|_| ErrorKind::NoMem.context(format!("{len} bytes")))?;
                if memory.len() < len || shorter {
                    memory.resize(len, 0);
                }
                Ok(())
            }
        }
    }

    /// Makes all writes durable.
    ///
    /// # Errors
    /// I/O errors.
    pub(super) fn persist(&self) -> Result<()> {
        match &self.place {
            FileBacking::File(file, path) => {
                file.sync_data().map_err(|error| Error::io(path.display().to_string(), error))
            }
            FileBacking::Memory(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_is_reused_once() {
        let file = WritableFile::memory(Vec::new());
        let first = file.allocate(20).unwrap();
        let second = file.allocate(100).unwrap();
        assert_eq!((first, second), (48, 72));
        file.free(first, 20, file.epoch());
        assert_eq!(file.allocate(17).unwrap(), first, "rounded up, it is as long");
        let third = file.allocate(8).unwrap();
        drop(file.freeze());
        // Metadata lead to it, so it stays until the next ones are in force.
        file.free(second, 100, 1);
        assert_eq!(file.allocate(8).unwrap(), third + 8);
        let later = file.take_later();
        assert_eq!(later, [(second, 104)]);
        file.settle(later, true);
        assert_eq!(file.allocate(8).unwrap(), second);
        assert_eq!(file.allocate(96).unwrap(), second + 8);
        // Free space at the end is not part of the file.
        file.free(third + 8, 8, file.epoch());
        assert_eq!(file.end(), third + 8);
        file.free(third, 8, file.epoch());
        assert_eq!(file.end(), third);
    }
}
