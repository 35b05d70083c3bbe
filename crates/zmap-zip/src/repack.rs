//! Whole archives: [`repack`] drops what no directory refers to, [`archive`] makes one of objects in memory.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use nczarr_dispatch::{Key, Options};
use nczarr_model::{Error, ErrorKind, Result};

use crate::ZipMap;
use crate::carried;
use crate::place;
use crate::records::{self, MAX_NAME, Member};

/// What [`repack`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repacked {
    /// Bytes of the archive before.
    pub before: u64,
    /// Bytes of it now.
    pub after: u64,
}

/// Makes an archive as small as it can be: every object once, stored as it is, in the folder it lies in.
///
/// What is no object (folders, names that are no keys, links) stays as it is. The archive is replaced in one step; who reads it goes
/// on reading the old one.
///
/// # Errors
/// `NC_EPERM` if somebody else is writing it; what cannot be read; then nothing has changed.
pub fn repack(path: &Path, markers: &[&str], options: &Options) -> Result<Repacked> {
    let fail = |error| Error::io(path.display().to_string(), error);
    // The lock is held until the new archive is in its place.
    let old = ZipMap::open(path, None, markers, true, options)?;
    let path = path.canonicalize().map_err(fail)?;
    let file = File::open(&path).map_err(fail)?;
    let before = file.metadata().map_err(fail)?.len();
    let mut made = place::beside(&path, Some(&file)).map_err(fail)?;
    drop(file);
    let after = write(&old, made.as_file_mut())?;
    let made = place::put(made, &path, &mut Some(old), options).map_err(fail)?;
    let _ = made.unlock();
    Ok(Repacked { before, after })
}

/// The bytes of an archive of these objects.
///
/// # Errors
/// `NC_EINVAL` for a key that is too long.
pub fn archive<V: AsRef<[u8]>>(objects: impl IntoIterator<Item = (Key, V)>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, "");
    for (key, value) in objects {
        writer.add(key.as_str(), value.as_ref())?;
    }
    writer.finish(&[])?;
    Ok(bytes)
}

/// The bytes of an archive of all objects of a map, and what else is in its archive.
pub(crate) fn image(map: &ZipMap) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, map.folder());
    writer.carry(map)?;
    map.each(|key, value| writer.add(key, &value))?;
    writer.finish(map.comment())?;
    Ok(bytes)
}

/// Makes an archive of all objects of a map in a new file, with what else is in its archive; answers how long it is. All of it is
/// on the device then: it is to take the place of another one, which must not depend on what storage has not written yet.
pub(crate) fn write(map: &ZipMap, file: &mut File) -> Result<u64> {
    let mut writer = Writer::new(std::io::BufWriter::with_capacity(1 << 20, &mut *file), map.folder());
    writer.carry(map)?;
    map.each(|key, bytes| writer.add(key, &bytes))?;
    let len = writer.finish(map.comment())?;
    file.sync_data().map_err(|error| Error::io("writing", error))?;
    Ok(len)
}

/// Writes an archive from one end to the other.
struct Writer<W> {
    to: W,
    folder: String,
    at: u64,
    directory: Vec<u8>,
    count: u64,
}

impl<W: Write> Writer<W> {
    fn new(to: W, folder: &str) -> Self {
        let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        Self { to, folder, at: 0, directory: Vec::new(), count: 0 }
    }

    fn add(&mut self, key: &str, value: &[u8]) -> Result<()> {
        let name = format!("{}{key}", self.folder);
        if name.len() > MAX_NAME {
            return Err(
                ErrorKind::Inval.context(format!("a name of {} bytes, an archive holds {MAX_NAME}", name.len()))
            );
        }
        let member = Member { name: &name, at: self.at, len: value.len() as u64, crc: crc32fast::hash(value) };
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

    /// Adds what is no object, as it is. It comes before all that is added.
    fn carry(&mut self, map: &ZipMap) -> Result<()> {
        let (members, others) = map.others()?;
        for (entry, record) in others {
            let at = self.at;
            carried::copy(members, entry, record, |bytes| {
                self.at += bytes.len() as u64;
                self.to.write_all(bytes).map_err(|error| Error::io("writing", error))
            })?;
            carried::central(record, at, &mut self.directory)?;
            self.count += 1;
        }
        Ok(())
    }

    /// Ends it with its comment; answers how long it is.
    fn finish(mut self, comment: &[u8]) -> Result<u64> {
        let len = self.directory.len() as u64;
        records::end(self.count, self.at, len, &mut self.directory);
        records::comment(comment, &mut self.directory);
        let written = self.to.write_all(&self.directory).and_then(|()| self.to.flush());
        written.map_err(|error| Error::io("writing the directory", error))?;
        Ok(self.at + self.directory.len() as u64)
    }
}
