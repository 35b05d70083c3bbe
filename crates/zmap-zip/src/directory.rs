//! Finding the directory of an archive and reading it: [`Directory`].
//!
//! One that ends the file and has nothing unusual in it is read here, at once (`central`). All others are read by the crate
//! `zip`, with all their forms. What is done in both cases: to find the last complete directory of an archive whose writer
//! was killed, to tell the folder that everything lies in, and to mark members that must not be believed.

use std::io;

use nczarr_dispatch::{Key, Limits};
use nczarr_model::{Error, ErrorKind, Result};
use zip::{CompressionMethod, ZipArchive};

use crate::central;
use crate::listing::{Entry, Flaw, Form, Listing};
use crate::records::{CENTRAL, END, END_64, END_64_LEN, END_LEN, LOCAL, LOCAL_LEN, LOCATOR_64, LOCATOR_64_LEN};
use crate::records::{u16_at, u32_at, u64_at};
use crate::source::{Cursor, Source};

/// Bytes looked through at a time for the end of a directory.
const WINDOW: u64 = 1 << 20;

/// The longest directory that is read at once.
const AT_ONCE: u64 = 1 << 30;

/// What some archivers add that nobody put there.
const JUNK: &str = "__MACOSX/";

/// A directory that was read.
pub(crate) struct Directory {
    /// Members that are objects, by key.
    pub(crate) entries: Listing,
    /// All other members: what lies outside the folder that the keys begin in, folders, and names that are no keys.
    pub(crate) others: Vec<Entry>,
    /// The names of objects in the folder that no key can have, from the folder on.
    pub(crate) unnamable: Vec<Vec<u8>>,
    /// The folder in which the keys begin, with a `/` at the end; empty: the root.
    pub(crate) folder: String,
    /// Where it begins.
    pub(crate) start: u64,
    /// Where the archive ends. What lies behind belongs to no directory.
    pub(crate) end: u64,
    /// Bytes before the archive proper.
    pub(crate) offset: u64,
    /// What read it, if it was not read here.
    pub(crate) archive: Option<ZipArchive<Cursor>>,
}

/// The folder that keys begin in.
pub(crate) enum Folder<'f> {
    /// This one.
    Named(&'f str),
    /// The root, if an object of one of these names is there, else the outermost folder that everything lies in
    /// and that holds one.
    With(&'f [&'f str]),
}

impl Directory {
    /// Reads the directory.
    ///
    /// # Errors
    /// `NC_ENOTNC` if it is no archive, `NC_EIO` if it has more than the limit of members.
    pub(crate) fn read(source: &Source, folder: &Folder<'_>, limits: &Limits) -> Result<Self> {
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
            Folder::Named("") => String::new(),
            Folder::Named(name) => format!("{name}/"),
            Folder::With(markers) => folder_with(entries, markers),
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

    /// All members as the library tells of them.
    fn by_library(archive: ZipArchive<Cursor>, end: u64) -> Result<Self> {
        let (mut entries, mut unnamable) = (Listing::default(), Vec::new());
        for number in 0..archive.len() {
            let found = archive.by_index_data(number).map_err(no_archive)?;
            let form = match found.compression() {
                _ if found.encrypted() => Form::Bad(Flaw::Encrypted),
                _ if found.is_symlink() => Form::Bad(Flaw::Link),
                CompressionMethod::Stored if found.compressed_size() != found.size() => Form::Bad(Flaw::Length),
                CompressionMethod::Stored => Form::Stored,
                _ => Form::Packed,
            };
            let (at, central) = (found.header_start(), Some(found.central_header_start()));
            let entry = Entry::new(at, found.compressed_size(), found.size(), found.crc32(), form, central);
            // A name that is no text is no key either.
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

/// Reads the directory if it ends the file and there is nothing unusual about it.
fn read_at_once(source: &Source, len: u64, limits: &Limits) -> Result<Option<Directory>> {
    let fail = |error| Error::io("reading the directory", error);
    let Some(at) = len.checked_sub(END_LEN as u64) else { return Ok(None) };
    let mut record = [0; END_LEN];
    source.read(&mut record, at).map_err(fail)?;
    if !record.starts_with(&END) || u16_at(&record, 20) != 0 {
        return Ok(None);
    }
    let Some(place) = complete(source, at, &record).map_err(fail)?.filter(|place| place.len <= AT_ONCE) else {
        return Ok(None);
    };
    check_count(place.count, limits)?;
    let mut bytes = Vec::new();
    // It is at most the bytes of the file.
    source.append(place.len as usize, place.start, &mut bytes).map_err(fail)?;
    let entries = central::read(&bytes, place.start, place.count);
    Ok(entries.map(|entries| Directory::new(entries, place.start, len)))
}

fn check_count(count: u64, limits: &Limits) -> Result<()> {
    if count > limits.entries {
        let limit = limits.entries;
        return Err(ErrorKind::Io.context(format!("an archive of {count} members exceeds the limit of {limit}")));
    }
    Ok(())
}

/// The folder in which the keys begin, with a `/` at its end.
fn folder_with(members: &Listing, markers: &[&str]) -> String {
    let names = || members.names().filter(|name| !name.starts_with(JUNK));
    let mut folder = String::new();
    loop {
        if markers.iter().any(|marker| members.get(&format!("{folder}{marker}")).is_some()) {
            return folder;
        }
        // The folder of whatever comes first, if everything else is in it too.
        let mut rests = names().filter_map(|name| name.strip_prefix(&*folder)).filter(|rest| !rest.is_empty());
        let Some(inner) = rests.next().and_then(|rest| rest.split_inclusive('/').next()) else { return String::new() };
        let deeper = format!("{folder}{inner}");
        let is_around = |name: &str| name.starts_with(&*deeper) || deeper.starts_with(name);
        if !inner.ends_with('/') || !names().all(is_around) {
            return String::new();
        }
        folder = deeper;
    }
}

/// Directories that look complete and cannot be read, before it is given up.
const TRIES: usize = 16;

/// Finds the directory, and where it ends.
fn find(source: &Source, len: u64) -> Result<(ZipArchive<Cursor>, u64)> {
    let fail = |error| Error::io("looking for a directory", error);
    let read = |end| ZipArchive::new(Cursor::new(source.clone(), end));
    let found = read(len);
    let proper = found.as_ref().is_ok_and(|archive| archive.offset() == 0);
    if !(proper && is_end(source, len).map_err(fail)?) {
        // A writer was stopped, or the archive has a comment, or it stands behind other bytes, or is none. An archive inside
        // a member that was being written looks like one that stands behind other bytes.
        let mut until = len;
        for _ in 0..TRIES {
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
            let what = "its writer was stopped before there was a directory; there is one in a member";
            return Err(ErrorKind::NotNc.context(what));
        }
    }
    Ok((found.map_err(no_archive)?, len))
}

/// Whether the end of a directory without a comment is the last there is.
fn is_end(source: &Source, len: u64) -> io::Result<bool> {
    let Some(at) = len.checked_sub(END_LEN as u64) else { return Ok(false) };
    let mut record = [0; END_LEN];
    source.read(&mut record, at)?;
    Ok(record.starts_with(&END) && u16_at(&record, 20) == 0)
}

/// Where the record at the end of the last complete directory before `until` begins, and where it ends, in an archive whose
/// writer was stopped in the middle.
///
/// Only a directory that lies where it says it does counts: an archive inside a member does not.
fn last_complete(source: &Source, len: u64, mut until: u64) -> io::Result<Option<(u64, u64)>> {
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

/// Where a directory lies.
struct Place {
    start: u64,
    len: u64,
    count: u64,
}

/// The directory that the record at `at` ends, if it stands right before it.
fn complete(source: &Source, at: u64, record: &[u8]) -> io::Result<Option<Place>> {
    // All of it is on one disk.
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
    let place = Place { start, len, count };
    if count == 0 {
        return Ok((len == 0).then_some(place));
    }
    let mut first = [0; CENTRAL.len()];
    source.read(&mut first, start)?;
    Ok((first == CENTRAL).then_some(place))
}

fn no_archive(error: zip::result::ZipError) -> Error {
    ErrorKind::NotNc.context("no zip archive that can be read").caused_by(error)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::records::{self, Member};

    /// What is read here must be what the library reads; whether it was read here.
    fn agree(bytes: &[u8]) -> std::result::Result<bool, TestCaseError> {
        let (source, len) = (Source::Memory(bytes.into()), bytes.len() as u64);
        let Ok(Some(mut ours)) = read_at_once(&source, len, &Limits::default()) else { return Ok(false) };
        let archive =
            ZipArchive::new(Cursor::new(source, len)).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let mut theirs = Directory::by_library(archive, len).unwrap();
        for directory in [&mut ours, &mut theirs] {
            directory.entries.sort();
        }
        // The library knows no place twice, so that only names and members are told, not where names lie in the buffer.
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
            let mut options = SimpleFileOptions::default().compression_method(method).large_file(how & 2 != 0);
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
        fn what_is_read_at_once_is_what_the_library_reads(
            members in prop::collection::vec(("[a-cü/.0-9]{1,12}", 0usize..300, 0u8..32), 0..12),
            changes in prop::collection::vec((0usize..10_000, any::<u8>()), 0..3),
        ) {
            let mut bytes = packed(&members);
            prop_assert!(agree(&bytes)?, "nothing is unusual about it");
            // In the directory, where all that is read lies.
            let start = bytes.windows(4).position(|four| four == CENTRAL).unwrap_or(0);
            for (at, value) in changes {
                let at = start + at % (bytes.len() - start);
                bytes[at] = value;
            }
            agree(&bytes)?;
        }

        /// Lengths and places beyond 32 bits, as far as a directory tells of them.
        #[test]
        fn far_members_are_read_at_once_too(
            members in prop::collection::vec((1u64 << 30..1 << 34, 1u64 << 30..1 << 34), 1..6),
        ) {
            let mut bytes = Vec::new();
            for (number, (at, len)) in members.iter().enumerate() {
                records::central(&Member { name: &format!("v/{number}"), at: *at, len: *len, crc: 7 }, &mut bytes);
            }
            let len = bytes.len() as u64;
            records::end(members.len() as u64, 0, len, &mut bytes);
            prop_assert!(agree(&bytes)?);
        }
    }
}
