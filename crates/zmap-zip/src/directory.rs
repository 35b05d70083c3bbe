//! Reading the directory of an archive: [`Directory`].
//!
//! The crate `zip` reads it, with all its forms. What is done here: to find the last complete directory of an archive whose
//! writer was killed, to tell the folder that everything lies in, and to mark members that must not be believed.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use dispatch::{Key, Limits};
use model::{Error, ErrorKind, Result};
use zip::{CompressionMethod, ZipArchive};

use crate::index::{Entry, Form};
use crate::records::{CENTRAL, END, END_64, END_64_LEN, END_LEN, LOCAL, LOCAL_LEN, LOCATOR_64, LOCATOR_64_LEN};
use crate::records::{u16_at, u32_at, u64_at};
use crate::source::{Cursor, Source};

/// Bytes looked through at a time for the end of a directory.
const WINDOW: u64 = 1 << 20;

/// What some archivers add that nobody put there.
const JUNK: &str = "__MACOSX/";

/// A directory that was read.
pub(crate) struct Directory {
    /// Members that are objects, by key.
    pub(crate) entries: BTreeMap<Arc<str>, Arc<Entry>>,
    /// Where the records of all other members are in the directory: folders, and names that are no keys.
    pub(crate) others: Vec<u64>,
    /// The folder in which the keys begin, with a `/` at the end; empty: the root.
    pub(crate) folder: String,
    /// Where the archive ends. What lies behind belongs to no directory.
    pub(crate) end: u64,
    /// Bytes before the archive proper.
    pub(crate) offset: u64,
    pub(crate) archive: ZipArchive<Cursor>,
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
        let (archive, end) = find(source, len)?;
        if archive.len() as u64 > limits.entries {
            return Err(ErrorKind::Io.context(format!(
                "an archive of {} members exceeds the limit of {}",
                archive.len(),
                limits.entries
            )));
        }
        let mut this = Self {
            entries: BTreeMap::new(),
            others: Vec::new(),
            folder: String::new(),
            end,
            offset: archive.offset(),
            archive,
        };
        let mut members = this.members()?;
        mark_overlaps(&mut members, this.archive.central_directory_start());
        this.folder = match folder {
            Folder::Named("") => String::new(),
            Folder::Named(name) => format!("{name}/"),
            Folder::With(markers) => folder_with(&members, markers),
        };
        let mut entries = Vec::with_capacity(members.len());
        for Named { name, entry, .. } in members {
            let central = entry.central;
            let key = name.strip_prefix(&*this.folder).filter(|key| !key.is_empty() && !key.ends_with('/'));
            match key.filter(|key| key.len() <= limits.key && Key::new(key).is_ok()) {
                Some(key) => entries.push((Arc::from(key), Arc::new(entry))),
                None => this.others.extend(central),
            }
        }
        this.entries = entries.into_iter().collect();
        for key in prefixes(&this.entries) {
            // Some archivers write a folder as an empty member.
            match this.entries.remove(&key) {
                Some(entry) if entry.len == 0 => this.others.extend(entry.central),
                _ => {
                    return Err(ErrorKind::Io.context(format!("member {key:?} holds bytes, and others lie below it")));
                }
            }
        }
        Ok(this)
    }

    /// All members as the directory tells of them.
    fn members(&self) -> Result<Vec<Named>> {
        let mut members = Vec::with_capacity(self.archive.len());
        for number in 0..self.archive.len() {
            let found = self.archive.by_index_data(number).map_err(no_archive)?;
            let form = match found.compression() {
                _ if found.encrypted() => Form::Bad("it is encrypted"),
                _ if found.is_symlink() => Form::Bad("it is a symbolic link"),
                CompressionMethod::Stored if found.compressed_size() != found.size() => {
                    Form::Bad("it is stored as it is, but in another length than its own")
                }
                CompressionMethod::Stored => Form::Stored,
                _ => Form::Packed(number),
            };
            let (at, central) = (found.header_start(), Some(found.central_header_start()));
            let entry = Entry::new(at, found.compressed_size(), found.size(), found.crc32(), form, central);
            // A name that is no text is no key either.
            let name = found.name().map(|name| name.into_owned()).unwrap_or_default();
            members.push(Named { name, header: (LOCAL_LEN + found.name_raw().len()) as u64, entry });
        }
        Ok(members)
    }
}

/// A member under its full name.
struct Named {
    name: String,
    /// The fewest bytes there can be before its data.
    header: u64,
    entry: Entry,
}

/// The keys that other keys lie below.
fn prefixes(entries: &BTreeMap<Arc<str>, Arc<Entry>>) -> BTreeSet<Arc<str>> {
    let mut found = BTreeSet::new();
    let mut last = "";
    for key in entries.keys() {
        let Some((folder, _)) = key.rsplit_once('/') else { continue };
        if folder != last {
            last = folder;
            let ends = folder.match_indices('/').map(|(at, _)| at).chain([folder.len()]);
            found.extend(
                ends.filter_map(|end| entries.get_key_value(folder.get(..end)?)).map(|(key, _)| Arc::clone(key)),
            );
        }
    }
    found
}

/// Marks members that reach into the next one or into the directory: their sizes cannot be right.
fn mark_overlaps(members: &mut [Named], directory: u64) {
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_unstable_by_key(|&member| members[member].entry.at);
    for (place, &member) in order.iter().enumerate() {
        let next = order.get(place + 1).map_or(directory, |&next| members[next].entry.at);
        let Named { header, entry, .. } = &mut members[member];
        let end = entry.at.checked_add(*header).and_then(|end| end.checked_add(entry.stored));
        if end.is_none_or(|end| end > next) {
            entry.form = Form::Bad("it overlaps what comes after it");
        }
    }
}

/// The folder in which the keys begin, with a `/` at its end.
fn folder_with(members: &[Named], markers: &[&str]) -> String {
    let names: Vec<&str> = members.iter().map(|member| &*member.name).filter(|name| !name.starts_with(JUNK)).collect();
    let mut folder = String::new();
    loop {
        let holds = |marker: &&str| names.iter().any(|name| name.strip_prefix(&*folder) == Some(marker));
        if markers.iter().any(holds) {
            return folder;
        }
        // The folder of whatever comes first, if everything else is in it too.
        let mut rests = names.iter().filter_map(|name| name.strip_prefix(&*folder)).filter(|rest| !rest.is_empty());
        let Some(inner) = rests.next().and_then(|rest| rest.split_inclusive('/').next()) else { return String::new() };
        let deeper = format!("{folder}{inner}");
        let is_around = |name: &&str| name.starts_with(&*deeper) || deeper.starts_with(*name);
        if !inner.ends_with('/') || !names.iter().all(is_around) {
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
                && is_complete(source, at, record)?
            {
                return Ok(Some((at, end)));
            }
        }
        until = from;
    }
    Ok(None)
}

/// Whether the record at `at` ends a directory that stands right before it.
fn is_complete(source: &Source, at: u64, record: &[u8]) -> io::Result<bool> {
    if u32_at(record, 4) != 0 {
        return Ok(false);
    }
    let (mut len, mut start, mut end) = (u64::from(u32_at(record, 12)), u64::from(u32_at(record, 16)), at);
    let mut count = u64::from(u16_at(record, 10));
    let mut tail = [0; END_64_LEN + LOCATOR_64_LEN];
    if let Some(from) = at.checked_sub(tail.len() as u64) {
        source.read(&mut tail, from)?;
        let locator = &tail[END_64_LEN..];
        if locator.starts_with(&LOCATOR_64) && tail.starts_with(&END_64) && u64_at(locator, 8) == from {
            (count, len, start, end) = (u64_at(&tail, 32), u64_at(&tail, 40), u64_at(&tail, 48), from);
        }
    }
    if start.checked_add(len) != Some(end) {
        return Ok(false);
    }
    let mut first = [0; CENTRAL.len()];
    if count == 0 {
        return Ok(len == 0);
    }
    source.read(&mut first, start)?;
    Ok(first == CENTRAL)
}

fn no_archive(error: zip::result::ZipError) -> Error {
    ErrorKind::NotNc.context("no zip archive that can be read").caused_by(error)
}
