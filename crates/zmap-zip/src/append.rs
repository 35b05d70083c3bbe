//! Writing to an archive: [`Appender`]. The file only grows, and only one process may write it.
//!
//! Each member goes to the current end of the archive; any number of threads write members in parallel. A
//! directory follows all of them. *Invariant:* until its last byte is written, the previous directory is the
//! last complete one, and no byte that it refers to is overwritten.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::{Durability, MapOptions};

use crate::directory::Directory;
use crate::listing::MemberEntry;
use crate::records::{self, CENTRAL_LEN, END_LEN, MemberRecord, u16_at};
use crate::source::{ArchiveSource, write_both, write_file};

/// The writer of an archive. A new archive has no directory between its first member and its first
/// [`Appender::save`].
#[derive(Debug)]
pub(crate) struct Appender {
    file: Arc<File>,
    durability: Durability,
    /// The start of the next member.
    tail: AtomicU64,
    /// Counts changes that the next directory must contain.
    changes: AtomicU64,
    /// The directory at opening, and its position.
    old: (Vec<u8>, u64),
    /// Members in it that are not objects; they are always kept.
    others: Vec<MemberEntry>,
    /// Whether it may still be written. Writers hold it shared, so no bytes follow the last directory.
    open: RwLock<bool>,
    /// Held while a directory is written.
    saved: Mutex<SavedDirectory>,
}

/// The last directory.
#[derive(Debug)]
struct SavedDirectory {
    /// The number of changes that it contains.
    changes: u64,
    /// Its end.
    end: u64,
}

/// A member that is not an object, with its record in the directory at opening.
pub(crate) type ForeignMember<'a> = (&'a MemberEntry, &'a [u8]);

/// A directory under construction.
pub(crate) struct DirectoryBuilder<'o> {
    bytes: Vec<u8>,
    count: u64,
    old: &'o [u8],
    start: u64,
}

impl Appender {
    /// Continues an archive that was read and locked. Cuts off bytes of crashed writers.
    ///
    /// # Errors
    /// `NC_EPERM` if other bytes precede the archive.
    pub(crate) fn new(
        file: Arc<File>,
        source: &ArchiveSource,
        directory: &Directory,
        options: &MapOptions,
    ) -> Result<Self> {
        if directory.offset != 0 {
            return Err(ErrorKind::Perm.context(format!(
                "{} bytes precede the archive, so it cannot be written",
                directory.offset
            )));
        }
        let fail = |error| Error::io("cutting off bytes behind the directory", error);
        if file.metadata().map_err(fail)?.len() > directory.end {
            file.set_len(directory.end).map_err(fail)?;
        }
        let start = directory.start;
        let len = usize::try_from(directory.end.saturating_sub(start)).unwrap_or(usize::MAX);
        let mut old = Vec::new();
        source.append(len, start, &mut old).map_err(|error| Error::io("the directory", error))?;
        Ok(Self {
            file,
            durability: options.durability,
            // The first member starts at byte 0, where some readers look for it. A non-new empty archive is
            // not rewritten, because its directory would remain behind the new one.
            tail: AtomicU64::new(if directory.end == END_LEN as u64 { 0 } else { directory.end }),
            changes: AtomicU64::new(0),
            old: (old, start),
            others: directory.others.iter().map(MemberEntry::copy).collect(),
            open: RwLock::new(true),
            saved: Mutex::new(SavedDirectory { changes: 0, end: directory.end }),
        })
    }

    /// Prevents closing while the guard is held; `None` if it is closed.
    pub(crate) fn enter(&self) -> Option<RwLockReadGuard<'_, bool>> {
        Some(self.open.read().unwrap_or_else(PoisonError::into_inner)).filter(|open| **open)
    }

    /// Writes a member at the end; returns its position.
    pub(crate) fn append(&self, name: &str, value: &[u8], crc: u32) -> Result<u64> {
        let len = value.len() as u64;
        let head_len = records::local_len(name, len);
        let at = self.reserve(head_len.saturating_add(len))?;
        if at == 0 {
            // The member overwrites the empty directory, so a new one is needed in any case.
            self.changed();
        }
        let mut head = Vec::with_capacity(head_len as usize);
        records::local(&MemberRecord { name, at, len, crc }, &mut head);
        write_both(&self.file, &head, value, at)
            .map_err(|error| Error::io(format!("writing at byte {at}"), error))?;
        Ok(at)
    }

    fn reserve(&self, len: u64) -> Result<u64> {
        let room = |tail: u64| tail.checked_add(len).filter(|&end| end <= i64::MAX as u64);
        self.tail
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, room)
            .map_err(|_| ErrorKind::Io.context("the archive is too large (expected less than 2^63 bytes)"))
    }

    /// Returns the comment behind the directory at opening.
    pub(crate) fn comment(&self) -> &[u8] {
        records::comment_of(&self.old.0)
    }

    /// Returns the members that are not objects, in archive order, each with its record in the directory at
    /// opening.
    pub(crate) fn others(&self) -> Result<Vec<ForeignMember<'_>>> {
        let (old, start) = (self.old.0.as_slice(), self.old.1);
        let others = self.others.iter().filter_map(|other| Some((other, record(old, start, other.central?))));
        let mut others = others.map(|(other, record)| Ok((other, record?))).collect::<Result<Vec<_>>>()?;
        others.sort_by_key(|(other, _)| other.at);
        Ok(others)
    }

    /// Records that the next directory differs from the last one.
    pub(crate) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Writes a directory with the members that `each` adds, unless the last one is current.
    pub(crate) fn save(&self, each: impl FnOnce(&mut DirectoryBuilder<'_>) -> Result<()>) -> Result<()> {
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        // Counted first: a change during the write needs another directory.
        let changes = self.changes.load(Ordering::Acquire);
        if changes == saved.changes {
            return Ok(());
        }
        let fail = |error| Error::io("writing the directory", error);
        let mut records =
            DirectoryBuilder { bytes: Vec::new(), count: 0, old: &self.old.0, start: self.old.1 };
        for other in self.others.iter().filter_map(|other| other.central) {
            records.keep(other)?;
        }
        each(&mut records)?;
        let DirectoryBuilder { mut bytes, count, .. } = records;
        let len = bytes.len() as u64;
        // The end record contains the directory's position, and its own length depends on that.
        const MAX_END_RECORDS: u64 =
            (records::END_LEN + records::END_64_LEN + records::LOCATOR_64_LEN) as u64;
        let at = self.reserve(len.saturating_add(MAX_END_RECORDS))?;
        records::end(count, at, len, &mut bytes);
        // The members must be durable before the directory is.
        self.sync_data().map_err(fail)?;
        write_file(&self.file, &bytes, at).map_err(fail)?;
        let end = at + bytes.len() as u64;
        // Returns unused reserved space, if no member follows it.
        let _ =
            self.tail.compare_exchange(at + len + MAX_END_RECORDS, end, Ordering::Relaxed, Ordering::Relaxed);
        self.sync_data().map_err(fail)?;
        *saved = SavedDirectory { changes, end };
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.durability == Durability::Fsync { self.file.sync_data() } else { Ok(()) }
    }

    /// Waits for all writers, calls `save` and unlocks the archive.
    ///
    /// # Errors
    /// Errors of `save`; the archive then stays open and can be closed again.
    pub(crate) fn close(&self, save: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        if !*open {
            return Ok(());
        }
        save()?;
        self.release()?;
        *open = false;
        Ok(())
    }

    /// Cuts the file off behind the last directory: many readers look for a directory only at the end of the
    /// file.
    pub(crate) fn release(&self) -> Result<()> {
        let end = self.saved.lock().unwrap_or_else(PoisonError::into_inner).end;
        let fail = |error| Error::io("closing", error);
        if end == END_LEN as u64 && self.changes.load(Ordering::Acquire) > 0 {
            // A member has overwritten the empty directory.
            let mut empty = Vec::new();
            records::end(0, 0, 0, &mut empty);
            write_file(&self.file, &empty, 0).map_err(fail)?;
        }
        if self.file.metadata().map_err(fail)?.len() > end {
            self.file.set_len(end).map_err(fail)?;
        }
        match self.file.unlock() {
            Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(fail(error)),
            _ => Ok(()),
        }
    }
}

impl DirectoryBuilder<'_> {
    /// Adds a member: its record in the directory at opening, or a new one.
    pub(crate) fn add(&mut self, central: Option<u64>, member: &MemberRecord<'_>) -> Result<()> {
        match central {
            Some(at) => self.keep(at),
            None => {
                records::central(member, &mut self.bytes);
                self.count += 1;
                Ok(())
            }
        }
    }

    /// Adds a record from the directory at opening.
    fn keep(&mut self, at: u64) -> Result<()> {
        self.bytes.extend_from_slice(record(self.old, self.start, at)?);
        self.count += 1;
        Ok(())
    }
}

/// Returns the record at `at` in a directory that begins at `start`.
fn record(directory: &[u8], start: u64, at: u64) -> Result<&[u8]> {
    let record = at.checked_sub(start).and_then(|from| directory.get(usize::try_from(from).ok()?..));
    let record = record.filter(|record| record.starts_with(&records::CENTRAL)).and_then(|record| {
        let rest: usize = [28, 30, 32].iter().map(|&at| usize::from(u16_at(record, at))).sum();
        record.get(..CENTRAL_LEN + rest)
    });
    record.ok_or_else(|| ErrorKind::Io.context(format!("the directory has no record at byte {at}")))
}

#[cfg(test)]
mod tests {
    use nczarr_storage::{ByteRange, Key, ZMap, ZMapExt};

    use super::*;
    use crate::ZipMap;

    fn key(text: &str) -> Key {
        Key::new(text).unwrap()
    }

    /// Members and directories at offsets above 32 bits, in a file with a hole.
    #[test]
    fn far_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.zip");
        let map = ZipMap::create(&path, "", false, &MapOptions::default()).unwrap();
        map.write(&key("near"), b"1").unwrap();
        map.sync().unwrap();
        for (round, tail) in [u64::from(u32::MAX) - 40, u64::from(u32::MAX), 5 << 30].into_iter().enumerate()
        {
            map.appender().tail.store(tail, Ordering::Relaxed);
            map.write(&key(&format!("far/{round}")), b"2").unwrap();
            map.sync().unwrap();
            let other = ZipMap::open(&path, None, &[], false, &MapOptions::default()).unwrap();
            let mut out = Vec::new();
            for key in map.keys(&Key::root()).unwrap() {
                assert!(
                    other.read(&key, ByteRange::ALL, &mut out).unwrap() && out.len() == 1,
                    "{key} in {round}"
                );
            }
            assert_eq!(other.keys(&Key::root()).unwrap().len(), round + 2);
        }
        // The writer stops here.
        map.write(&key("lost"), b"PK\x05\x06").unwrap();
        let other = ZipMap::open(&path, None, &[], false, &MapOptions::default()).unwrap();
        assert_eq!(other.keys(&Key::root()).unwrap().len(), 4);
    }

    /// After a failed close and a drop, all readers see the archive of the last sync.
    #[test]
    fn a_failed_directory_write_can_be_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.zip");
        for synced in [0, 1] {
            let map = ZipMap::create(&path, "", true, &MapOptions::default()).unwrap();
            if synced > 0 {
                map.write(&key("v/0"), b"1").unwrap();
                map.sync().unwrap();
            }
            map.write(&key("v/1"), &[7; 100]).unwrap();
            let full = map.appender().tail.swap(i64::MAX as u64, Ordering::Relaxed);
            assert!(map.sync().is_err() && map.close().is_err());
            // When the disk has room again, a sync writes everything.
            map.appender().tail.store(full, Ordering::Relaxed);
            map.sync().unwrap();
            assert_eq!(
                ZipMap::open(&path, None, &[], false, &MapOptions::default())
                    .unwrap()
                    .keys(&Key::root())
                    .unwrap()
                    .len(),
                synced + 1
            );
            map.write(&key("v/2"), &[7; 100]).unwrap();
            map.appender().tail.store(i64::MAX as u64, Ordering::Relaxed);
            drop(map);
            let found = zip::ZipArchive::new(File::open(&path).unwrap()).unwrap();
            assert_eq!((found.len(), found.offset()), (synced + 1, 0));
        }
        let map = ZipMap::create(&path, "", true, &MapOptions::default()).unwrap();
        map.write(&key("v/0"), &[7; 100]).unwrap();
        map.appender().tail.store(i64::MAX as u64, Ordering::Relaxed);
        drop(map);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), END_LEN as u64);
        assert!(zip::ZipArchive::new(File::open(&path).unwrap()).unwrap().is_empty());
    }
}
