//! [`File`]: the bytes of a file that is written, and which of them are free.
//!
//! Nothing that the superblock leads to is ever overwritten, but the elements of arrays in one piece: what is written goes
//! where nothing is, and what it replaces is free once metadata without it are in force.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use nczarr_dispatch::place::Opened;
use nczarr_dispatch::{OutBuf, file_io};
use nczarr_model::{Error, ErrorKind, Result};

use super::superblock;

/// Where the bytes are.
#[derive(Debug)]
enum Place {
    File(std::fs::File, PathBuf),
    Memory(RwLock<Vec<u8>>),
}

/// A file that is written.
#[derive(Debug)]
pub(super) struct File {
    place: Place,
    space: Mutex<Space>,
    /// Another number after every look at what metadata say, from 1 on.
    epoch: AtomicU64,
    /// Shared by those who change what metadata say of data; held alone by who writes metadata, for a look.
    changing: RwLock<()>,
    /// Another number after every change of what metadata say of data.
    changes: AtomicU64,
    /// All that was written, in order: from where on, and what; `None`: the file was cut there.
    #[cfg(test)]
    pub(super) log: Mutex<Vec<(u64, Option<Vec<u8>>)>>,
}

/// Bytes of the file: address and length.
pub(super) type Stretch = (u64, u64);

/// Which bytes are free.
#[derive(Debug, Default)]
struct Space {
    end: u64,
    by_place: BTreeMap<u64, u64>,
    by_len: BTreeSet<(u64, u64)>,
    /// What is free once metadata are written that do not lead there.
    later: Vec<Stretch>,
}

impl Space {
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

/// Everything begins at a multiple of this.
const ALIGN: u64 = 8;

impl File {
    pub(super) fn of(opened: Opened) -> Self {
        Self::new(Place::File(opened.file, opened.path))
    }

    pub(super) fn memory(bytes: Vec<u8>) -> Self {
        Self::new(Place::Memory(RwLock::new(bytes)))
    }

    fn new(place: Place) -> Self {
        Self {
            place,
            space: Mutex::new(Space { end: superblock::LEN, ..Space::default() }),
            epoch: AtomicU64::new(1),
            changing: RwLock::new(()),
            changes: AtomicU64::new(0),
            #[cfg(test)]
            log: Mutex::default(),
        }
    }

    /// The file and its place, if it is one.
    pub(super) fn as_file(&self) -> Option<(&std::fs::File, &Path)> {
        match &self.place {
            Place::File(file, path) => Some((file, path)),
            Place::Memory(_) => None,
        }
    }

    /// A copy of all bytes, if they are in memory.
    pub(super) fn image(&self) -> Result<Vec<u8>> {
        match &self.place {
            Place::Memory(bytes) => Ok(bytes.read().unwrap_or_else(PoisonError::into_inner).clone()),
            Place::File(_, path) => {
                Err(ErrorKind::InMemory.context(format!("{}: the dataset is not in memory", path.display())))
            }
        }
    }

    fn space(&self) -> MutexGuard<'_, Space> {
        self.space.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for so many bytes, that is nobody's.
    ///
    /// # Errors
    /// `NC_EVARSIZE` if no file is so long.
    pub(super) fn allocate(&self, len: u64) -> Result<u64> {
        let too_long = || ErrorKind::VarSize.context(format!("{len} bytes more: no file is so long"));
        let len = len.checked_next_multiple_of(ALIGN).ok_or_else(too_long)?;
        self.space().take(len).ok_or_else(too_long)
    }

    /// Gives back what was allocated `epoch` and never led to by metadata of an earlier one; what was, is free later
    /// (so is all of epoch 0).
    pub(super) fn free(&self, address: u64, len: u64, epoch: u64) {
        let len = len.next_multiple_of(ALIGN);
        let mut space = self.space();
        match epoch == self.epoch() {
            true => space.insert(address, len),
            false => space.later.push((address, len)),
        }
    }

    /// The file was there: none of its first bytes is free.
    pub(super) fn begin(&self, len: u64) {
        self.space().end = len.max(superblock::LEN).next_multiple_of(ALIGN);
    }

    /// These will be free, as far as they are whole units, once metadata are in force that do not lead there.
    pub(super) fn free_later(&self, stretches: impl IntoIterator<Item = Stretch>) {
        let mut space = self.space();
        for (address, len) in stretches {
            let (start, end) = (address.next_multiple_of(ALIGN), (address + len) / ALIGN * ALIGN);
            if start < end {
                space.later.push((start, end - start));
            }
        }
    }

    /// What is free once the metadata that are being made are in force.
    pub(super) fn take_later(&self) -> Vec<Stretch> {
        std::mem::take(&mut self.space().later)
    }

    /// They are in force (`true`), or nothing came of them.
    pub(super) fn settle(&self, stretches: Vec<Stretch>, in_force: bool) {
        let mut space = self.space();
        match in_force {
            true => stretches.into_iter().for_each(|(address, len)| space.insert(address, len)),
            false => space.later.extend(stretches),
        }
    }

    /// Where the file ends.
    pub(super) fn end(&self) -> u64 {
        self.space().end
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Held while data become part of what metadata say.
    pub(super) fn change(&self) -> RwLockReadGuard<'_, ()> {
        let guard = self.changing.read().unwrap_or_else(PoisonError::into_inner);
        self.changes.fetch_add(1, Ordering::AcqRel);
        guard
    }

    /// Held for a look at all that metadata say of data; a new epoch.
    pub(super) fn look(&self) -> RwLockWriteGuard<'_, ()> {
        let guard = self.changing.write().unwrap_or_else(PoisonError::into_inner);
        self.epoch.fetch_add(1, Ordering::AcqRel);
        guard
    }

    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Appends bytes from `offset` on to `out`, as far as the file and the room reach.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        match &self.place {
            Place::File(file, path) => {
                file_io::read_at(file, offset, out).map_err(|error| Error::io(path.display().to_string(), error))
            }
            Place::Memory(bytes) => {
                let bytes = bytes.read().unwrap_or_else(PoisonError::into_inner);
                let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or(&[]);
                out.put(&rest[..rest.len().min(out.room())])
            }
        }
    }

    /// Replaces `out` by `len` bytes from `offset` on.
    ///
    /// # Errors
    /// `NC_ETRUNC` if they are not there; what the system says.
    pub(super) fn read(&self, offset: u64, len: usize, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        out.resize(len, 0);
        let mut into = OutBuf::over(out);
        self.read_at(offset, &mut into)?;
        match into.filled().len() == len {
            true => Ok(()),
            false => Err(ErrorKind::Trunc.context(format!("{len} bytes at {offset}: the file was cut short"))),
        }
    }

    /// Writes all of `bytes`; the file grows as far as they reach.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        #[cfg(test)]
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push((offset, Some(bytes.to_vec())));
        match &self.place {
            Place::File(file, path) => {
                file_io::write_at(file, offset, bytes).map_err(|error| Error::io(path.display().to_string(), error))
            }
            Place::Memory(memory) => {
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

    /// Makes the file so long; `shorter`: also if it is longer.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn set_len(&self, len: u64, shorter: bool) -> Result<()> {
        #[cfg(test)]
        if shorter {
            self.log.lock().unwrap_or_else(PoisonError::into_inner).push((len, None));
        }
        match &self.place {
            Place::File(file, path) => {
                let set = || match file.metadata()?.len() {
                    found if found < len || shorter && found > len => file.set_len(len),
                    _ => Ok(()),
                };
                set().map_err(|error| Error::io(path.display().to_string(), error))
            }
            Place::Memory(memory) => {
                let mut memory = memory.write().unwrap_or_else(PoisonError::into_inner);
                let len = usize::try_from(len).map_err(|_| ErrorKind::NoMem.context(format!("{len} bytes")))?;
                if memory.len() < len || shorter {
                    memory.resize(len, 0);
                }
                Ok(())
            }
        }
    }

    /// Sees to it that what was written survives a failure of power.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn persist(&self) -> Result<()> {
        match &self.place {
            Place::File(file, path) => file.sync_data().map_err(|error| Error::io(path.display().to_string(), error)),
            Place::Memory(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_is_used_again_and_never_twice() {
        let file = File::memory(Vec::new());
        let first = file.allocate(20).unwrap();
        let second = file.allocate(100).unwrap();
        assert_eq!((first, second), (48, 72));
        file.free(first, 20, file.epoch());
        assert_eq!(file.allocate(17).unwrap(), first, "rounded up, it is as long");
        let third = file.allocate(8).unwrap();
        drop(file.look());
        // Metadata lead to it: it stays until others are in force.
        file.free(second, 100, 1);
        assert_eq!(file.allocate(8).unwrap(), third + 8);
        let later = file.take_later();
        assert_eq!(later, [(second, 104)]);
        file.settle(later, true);
        assert_eq!(file.allocate(8).unwrap(), second);
        assert_eq!(file.allocate(96).unwrap(), second + 8);
        // What is free at the end is not part of the file.
        file.free(third + 8, 8, file.epoch());
        assert_eq!(file.end(), third + 8);
        file.free(third, 8, file.epoch());
        assert_eq!(file.end(), third);
    }
}
