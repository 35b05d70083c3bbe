//! Whole archives: [`repack`] drops unreferenced bytes, [`archive`] makes one from objects in memory.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::{Key, MapOptions};

use crate::ZipMap;
use crate::archive_file;
use crate::copy_members;
use crate::records::{self, MAX_NAME, MemberRecord};

/// The result of [`repack`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repacked {
    /// Bytes of the archive before.
    pub before: u64,
    /// Bytes of the archive after.
    pub after: u64,
}

/// Shrinks an archive: each object is stored once and uncompressed, in its folder.
///
/// Members that are not objects (folders, names that are not keys, links) are copied. The archive is replaced
/// in one step; open readers keep the old one.
///
/// # Errors
/// `NC_EPERM` if another process writes it; errors of reading. Then the archive is unchanged.
pub fn repack(path: &Path, markers: &[&str], options: &MapOptions) -> Result<Repacked> {
    let fail = |error| Error::io(path.display().to_string(), error);
    // The lock is held until the new archive is in place.
    let old = ZipMap::open(path, None, markers, true, options)?;
    let path = path.canonicalize().map_err(fail)?;
    let file = File::open(&path).map_err(fail)?;
    let before = file.metadata().map_err(fail)?.len();
    let mut made = archive_file::beside(&path, Some(&file)).map_err(fail)?;
    drop(file);
    let after = write(&old, made.as_file_mut())?;
    let made = archive_file::put(made, &path, &mut Some(old), options).map_err(fail)?;
    let _ = made.unlock();
    Ok(Repacked { before, after })
}

/// Returns the bytes of an archive of these objects.
///
/// # Errors
/// `NC_EINVAL` for a key that is too long.
pub fn archive<V: AsRef<[u8]>>(objects: impl IntoIterator<Item = (Key, V)>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut writer = ArchiveWriter::new(&mut bytes, "");
    for (key, value) in objects {
        writer.add(key.as_str(), value.as_ref())?;
    }
    writer.finish(&[])?;
    Ok(bytes)
}

/// Returns the bytes of an archive of all objects and other members of a map.
pub(crate) fn image(map: &ZipMap) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut writer = ArchiveWriter::new(&mut bytes, map.folder());
    writer.carry(map)?;
    map.each(|key, value| writer.add(key, &value))?;
    writer.finish(map.comment())?;
    Ok(bytes)
}

/// Writes an archive of all objects and other members of a map to a new file; returns its length. The data
/// are synced, because the file will replace another one.
pub(crate) fn write(map: &ZipMap, file: &mut File) -> Result<u64> {
    let mut writer = ArchiveWriter::new(std::io::BufWriter::with_capacity(1 << 20, &mut *file), map.folder());
    writer.carry(map)?;
    map.each(|key, bytes| writer.add(key, &bytes))?;
    let len = writer.finish(map.comment())?;
    file.sync_data().map_err(|error| Error::io("writing", error))?;
    Ok(len)
}

/// Writes an archive sequentially.
struct ArchiveWriter<W> {
    to: W,
    folder: String,
    at: u64,
    directory: Vec<u8>,
    count: u64,
}

impl<W: Write> ArchiveWriter<W> {
    fn new(to: W, folder: &str) -> Self {
        let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        Self { to, folder, at: 0, directory: Vec::new(), count: 0 }
    }

    fn add(&mut self, key: &str, value: &[u8]) -> Result<()> {
        let name = format!("{}{key}", self.folder);
        if name.len() > MAX_NAME {
            return Err(ErrorKind::Inval.context(format!(
                "the name is too long (expected at most {MAX_NAME} bytes, found {})",
                name.len()
            )));
        }
        let member =
            MemberRecord { name: &name, at: self.at, len: value.len() as u64, crc: crc32fast::hash(value) };
        let mut head = Vec::new();
        records::local(&member, &mut head);
        records::central(&member, &mut self.directory);
        self.to
            .write_all(&head)
            .and_then(|()| self.to.write_all(value))
            .map_err(|error| Error::io("writing", error))?;
        self.at += (head.len() + value.len()) as u64;
        self.count += 1;
        Ok(())
    }

    /// Copies the members that are not objects. Call it before adding others.
    fn carry(&mut self, map: &ZipMap) -> Result<()> {
        let (members, others) = map.others()?;
        for (entry, record) in others {
            let at = self.at;
            copy_members::copy(members, entry, record, |bytes| {
                self.at += bytes.len() as u64;
                self.to.write_all(bytes).map_err(|error| Error::io("writing", error))
            })?;
            copy_members::central(record, at, &mut self.directory)?;
            self.count += 1;
        }
        Ok(())
    }

    /// Writes the directory and the comment; returns the length of the archive.
    fn finish(mut self, comment: &[u8]) -> Result<u64> {
        let len = self.directory.len() as u64;
        records::end(self.count, self.at, len, &mut self.directory);
        records::comment(comment, &mut self.directory);
        let written = self.to.write_all(&self.directory).and_then(|()| self.to.flush());
        written.map_err(|error| Error::io("writing the directory", error))?;
        Ok(self.at + self.directory.len() as u64)
    }
}
