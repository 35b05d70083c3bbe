//! Finding and reading the directory of an archive: [`Directory`].
//!
//! A usual directory at the end of the file is parsed by `central` in one read. The crate `zip` reads all
//! others. In both cases this module finds the last complete directory after a crash, detects the folder that
//! contains everything, and marks unreliable members.

use std::io;

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::{Key, Limits};
use zip::{CompressionMethod, ZipArchive};

use crate::central;
use crate::listing::{Flaw, Listing, MemberEntry, MemberStorage};
use crate::records::{
    CENTRAL, END, END_64, END_64_LEN, END_LEN, LOCAL, LOCAL_LEN, LOCATOR_64, LOCATOR_64_LEN,
};
use crate::records::{u16_at, u32_at, u64_at};
use crate::source::{ArchiveSource, SourceCursor};

/// Bytes searched at a time for the end of a directory.
const WINDOW: u64 = 1 << 20;

/// The longest directory that is read at once.
const AT_ONCE: u64 = 1 << 30;

/// A folder that macOS adds to archives.
const MACOS_FOLDER: &str = "__MACOSX/";

/// A directory that was read.
pub(crate) struct Directory {
    /// Members that are objects, by key.
    pub(crate) entries: Listing,
    /// All other members: those outside of the folder of the keys, folders, and names that are not keys.
    pub(crate) others: Vec<MemberEntry>,
    /// Names of objects in the folder that no key can have, relative to the folder.
    pub(crate) unnamable: Vec<Vec<u8>>,
    /// The folder of the keys, with a trailing `/`; empty for the root.
    pub(crate) folder: String,
    /// The start of the directory.
    pub(crate) start: u64,
    /// The end of the archive; bytes behind it belong to no directory.
    pub(crate) end: u64,
    /// Bytes before the archive.
    pub(crate) offset: u64,
    /// The reader of the crate `zip`, if it parsed the directory.
    pub(crate) archive: Option<ZipArchive<SourceCursor>>,
}

/// The choice of the folder of keys.
pub(crate) enum KeyFolder<'f> {
    /// This folder.
    Named(&'f str),
    /// The root, if it has an object of one of these names; else the outermost folder that contains
    /// everything and has one.
    With(&'f [&'f str]),
}

impl Directory {
    /// Reads the directory.
    ///
    /// # Errors
    /// `NC_ENOTNC` if it is not an archive, `NC_EIO` if it exceeds the limit of members.
    pub(crate) fn read(source: &ArchiveSource, folder: &KeyFolder<'_>, limits: &Limits) -> Result<Self> {
        let len = source.len().map_err(|error| Error::io("length", error))?;
        let mut this = match read_at_once(source, len, limits)? {
            Some(directory) => directory,
            None => {
                let (archive, end) = find(source, len)?;
                check_count(archive.len() as u64, limits)?;
                Self::by_library(archive, end)?
            }
        };
        let entries = &mut this.entries;
        entries.sort();
        entries.mark_overlaps(this.start);
        this.folder = match folder {
            KeyFolder::Named("") => String::new(),
            KeyFolder::Named(name) => format!("{name}/"),
            KeyFolder::With(markers) => folder_with(entries, markers),
        };
        let is_key = |key: &str| key.len() <= limits.key && key.split('/').all(Key::is_segment);
        let (others, unnamable) = entries.make_keys(&this.folder, is_key);
        this.others = others;
        let folder = this.folder.as_bytes();
        this.unnamable =
            this.unnamable.iter().filter_map(|name| name.strip_prefix(folder)).map(<[u8]>::to_vec).collect();
        this.unnamable.extend(unnamable);
        this.others.extend(entries.take_folders()?);
        Ok(this)
    }

    fn new(entries: Listing, start: u64, end: u64) -> Self {
        let (others, unnamable) = (Vec::new(), Vec::new());
        Self { entries, others, unnamable, folder: String::new(), start, end, offset: 0, archive: None }
    }

    /// Lists all members through the crate `zip`.
    fn by_library(archive: ZipArchive<SourceCursor>, end: u64) -> Result<Self> {
        let (mut entries, mut unnamable) = (Listing::default(), Vec::new());
        for number in 0..archive.len() {
            let found = archive.by_index_data(number).map_err(no_archive)?;
            let form = match found.compression() {
                _ if found.encrypted() => MemberStorage::Bad(Flaw::Encrypted),
                _ if found.is_symlink() => MemberStorage::Bad(Flaw::Link),
                CompressionMethod::Stored if found.compressed_size() != found.size() => {
                    MemberStorage::Bad(Flaw::Length)
                }
                CompressionMethod::Stored => MemberStorage::Stored,
                _ => MemberStorage::Packed,
            };
            let (at, central) = (found.header_start(), Some(found.central_header_start()));
            let entry =
                MemberEntry::new(at, found.compressed_size(), found.size(), found.crc32(), form, central);
            // A name that is not UTF-8 is not a key either.
            let name = found.name().unwrap_or_else(|_| {
                unnamable.push(found.name_raw().to_vec());
                Default::default()
            });
            entries.push(&name, (LOCAL_LEN + found.name_raw().len()) as u32, entry);
        }
        let (start, offset) = (archive.central_directory_start(), archive.offset());
        Ok(Self { offset, unnamable, archive: Some(archive), ..Self::new(entries, start, end) })
    }
}

/// Reads the directory if it ends the file and has the usual form.
fn read_at_once(source: &ArchiveSource, len: u64, limits: &Limits) -> Result<Option<Directory>> {
    let fail = |error| Error::io("reading the directory", error);
    let Some(at) = len.checked_sub(END_LEN as u64) else { return Ok(None) };
    let mut record = [0; END_LEN];
    source.read(&mut record, at).map_err(fail)?;
    if !record.starts_with(&END) || u16_at(&record, 20) != 0 {
        return Ok(None);
    }
    let Some(place) = complete(source, at, &record).map_err(fail)?.filter(|place| place.len <= AT_ONCE)
    else {
        return Ok(None);
    };
    check_count(place.count, limits)?;
    let mut bytes = Vec::new();
    // Its length is checked against the file.
    source.append(place.len as usize, place.start, &mut bytes).map_err(fail)?;
    let entries = central::read(&bytes, place.start, place.count);
    Ok(entries.map(|entries| Directory::new(entries, place.start, len)))
}

fn check_count(count: u64, limits: &Limits) -> Result<()> {
    if count > limits.entries {
        let limit = limits.entries;
        return Err(ErrorKind::Io
            .context(format!("the archive has too many members (expected at most {limit}, found {count})")));
    }
    Ok(())
}

/// Returns the folder of the keys, with a trailing `/`.
fn folder_with(members: &Listing, markers: &[&str]) -> String {
    let names = || members.names().filter(|name| !name.starts_with(MACOS_FOLDER));
    let mut folder = String::new();
    loop {
        if markers.iter().any(|marker| members.get(&format!("{folder}{marker}")).is_some()) {
            return folder;
        }
        // The folder of the first member, if all others are in it too.
        let mut rests =
            names().filter_map(|name| name.strip_prefix(&*folder)).filter(|rest| !rest.is_empty());
        let Some(inner) = rests.next().and_then(|rest| rest.split_inclusive('/').next()) else {
            return String::new();
        };
        let deeper = format!("{folder}{inner}");
        let is_around = |name: &str| name.starts_with(&*deeper) || deeper.starts_with(name);
        if !inner.ends_with('/') || !names().all(is_around) {
            return String::new();
        }
        folder = deeper;
    }
}

/// The most apparent directories that are tried.
const MAX_CANDIDATES: usize = 16;

/// Finds the directory, and its end.
fn find(source: &ArchiveSource, len: u64) -> Result<(ZipArchive<SourceCursor>, u64)> {
    let fail = |error| Error::io("looking for a directory", error);
    let read = |end| ZipArchive::new(SourceCursor::new(source.clone(), end));
    let found = read(len);
    let proper = found.as_ref().is_ok_and(|archive| archive.offset() == 0);
    if !(proper && is_end(source, len).map_err(fail)?) {
        // Either a writer crashed, or the archive has a comment or follows other bytes, or it is not an
        // archive. An archive inside an incomplete member looks like one that follows other bytes.
        let mut until = len;
        for _ in 0..MAX_CANDIDATES {
            let Some((at, end)) = last_complete(source, len, until).map_err(fail)? else { break };
            if let Ok(archive) = read(end)
                && archive.offset() == 0
            {
                return Ok((archive, end));
            }
            until = at;
        }
        let mut first = [0; LOCAL.len()];
        if found.is_ok() && !proper && source.read(&mut first, 0).is_ok() && first == LOCAL {
            let what = "its writer crashed before it wrote a directory; only a member contains one";
            return Err(ErrorKind::NotNc.context(what));
        }
    }
    Ok((found.map_err(no_archive)?, len))
}

/// Whether the file ends with an end record without comment.
fn is_end(source: &ArchiveSource, len: u64) -> io::Result<bool> {
    let Some(at) = len.checked_sub(END_LEN as u64) else { return Ok(false) };
    let mut record = [0; END_LEN];
    source.read(&mut record, at)?;
    Ok(record.starts_with(&END) && u16_at(&record, 20) == 0)
}

/// Returns start and end of the end record of the last complete directory before `until`, after a crash.
///
/// Only a directory at its recorded position counts, so archives inside members do not.
fn last_complete(source: &ArchiveSource, len: u64, mut until: u64) -> io::Result<Option<(u64, u64)>> {
    let mut window = Vec::new();
    while until > 0 {
        let from = until.saturating_sub(WINDOW);
        // A record that begins in this window may end in the next one.
        let take = (until - from).saturating_add(END_LEN as u64).min(len - from);
        window.resize(take as usize, 0);
        source.read(&mut window, from)?;
        for at in (0..(until - from) as usize).rev() {
            if window[at..].starts_with(&END)
                && let Some(record) = window.get(at..at + END_LEN)
                && let at = from + at as u64
                && let end = at + END_LEN as u64 + u64::from(u16_at(record, 20))
                && end <= len
                && complete(source, at, record)?.is_some()
            {
                return Ok(Some((at, end)));
            }
        }
        until = from;
    }
    Ok(None)
}

/// The position of a directory.
struct DirectoryRange {
    start: u64,
    len: u64,
    count: u64,
}

/// Returns the directory that ends with the record at `at`, if it directly precedes that record.
fn complete(source: &ArchiveSource, at: u64, record: &[u8]) -> io::Result<Option<DirectoryRange>> {
    // It must be on one disk.
    if u32_at(record, 4) != 0 || u16_at(record, 8) != u16_at(record, 10) {
        return Ok(None);
    }
    let (mut len, mut start, mut end) = (u64::from(u32_at(record, 12)), u64::from(u32_at(record, 16)), at);
    let mut count = u64::from(u16_at(record, 10));
    let mut tail = [0; END_64_LEN + LOCATOR_64_LEN];
    if let Some(from) = at.checked_sub(tail.len() as u64) {
        source.read(&mut tail, from)?;
        let locator = &tail[END_64_LEN..];
        if locator.starts_with(&LOCATOR_64) && tail.starts_with(&END_64) && u64_at(locator, 8) == from {
            if u64_at(&tail, 16) != 0 || u64_at(&tail, 24) != u64_at(&tail, 32) {
                return Ok(None);
            }
            (count, len, start, end) = (u64_at(&tail, 32), u64_at(&tail, 40), u64_at(&tail, 48), from);
        }
    }
    if start.checked_add(len) != Some(end) {
        return Ok(None);
    }
    let place = DirectoryRange { start, len, count };
    if count == 0 {
        return Ok((len == 0).then_some(place));
    }
    let mut first = [0; CENTRAL.len()];
    source.read(&mut first, start)?;
    Ok((first == CENTRAL).then_some(place))
}

fn no_archive(error: zip::result::ZipError) -> Error {
    ErrorKind::NotNc.context("not a readable zip archive").caused_by(error)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::records::{self, MemberRecord};

    /// Checks that our reader and the zip library find the same. Returns whether our reader accepts the
    /// archive.
    fn agree(bytes: &[u8]) -> std::result::Result<bool, TestCaseError> {
        let (source, len) = (ArchiveSource::Memory(bytes.to_vec().into()), bytes.len() as u64);
        let Ok(Some(mut ours)) = read_at_once(&source, len, &Limits::default()) else { return Ok(false) };
        let archive = ZipArchive::new(SourceCursor::new(source, len))
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        let mut theirs = Directory::by_library(archive, len).unwrap();
        for directory in [&mut ours, &mut theirs] {
            directory.entries.sort();
        }
        // The test compares names and members only. Positions of names in the buffer may differ.
        let members = |directory: &Directory| -> Vec<String> {
            directory.entries.from("").map(|(name, entry)| format!("{name:?} {entry:?}")).collect()
        };
        prop_assert_eq!(members(&ours), members(&theirs));
        prop_assert_eq!((ours.start, ours.end), (theirs.start, theirs.end));
        Ok(true)
    }

    fn packed(members: &[(String, usize, u8)]) -> Vec<u8> {
        let mut writer = ZipWriter::new(io::Cursor::new(Vec::new()));
        for (name, len, how) in members {
            let method = if how & 1 == 0 { CompressionMethod::Stored } else { CompressionMethod::Deflated };
            let mut options =
                SimpleFileOptions::default().compression_method(method).large_file(how & 2 != 0);
            if how & 4 != 0 {
                options = options.with_alignment(64);
            }
            let begun = match how & 24 {
                24 => writer.add_symlink(name.as_str(), "elsewhere", options).is_ok(),
                16 => {
                    let _ = writer.add_directory(name.as_str(), options);
                    false
                }
                _ => writer.start_file(name.as_str(), options).is_ok(),
            };
            if begun && how & 24 != 24 {
                writer.write_all(&vec![*how; *len]).unwrap();
            }
        }
        writer.finish().unwrap().into_inner()
    }

    proptest! {
        #[test]
        fn the_fast_directory_reader_agrees_with_the_library(
            members in prop::collection::vec(("[a-cü/.0-9]{1,12}", 0usize..300, 0u8..32), 0..12),
            changes in prop::collection::vec((0usize..10_000, any::<u8>()), 0..3),
        ) {
            let mut bytes = packed(&members);
            prop_assert!(agree(&bytes)?, "nothing is unusual about it");
            // The changes are in the directory, because the reader reads only that.
            let start = bytes.windows(4).position(|four| four == CENTRAL).unwrap_or(0);
            for (at, value) in changes {
                let at = start + at % (bytes.len() - start);
                bytes[at] = value;
            }
            agree(&bytes)?;
        }

        /// Reads lengths and positions above 32 bits from a directory.
        #[test]
        fn far_members_are_read_at_once_too(
            members in prop::collection::vec((1u64 << 30..1 << 34, 1u64 << 30..1 << 34), 1..6),
        ) {
            let mut bytes = Vec::new();
            for (number, (at, len)) in members.iter().enumerate() {
                records::central(&MemberRecord { name: &format!("v/{number}"), at: *at, len: *len, crc: 7 }, &mut bytes);
            }
            let len = bytes.len() as u64;
            records::end(members.len() as u64, 0, len, &mut bytes);
            prop_assert!(agree(&bytes)?);
        }
    }
}
