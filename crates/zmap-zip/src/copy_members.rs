//! Copies members that are not objects into another archive byte by byte: other datasets in the same archive,
//! compressed and encrypted members, links.
//!
//! They go to its beginning in their order. So each moves towards the start or stays, and its directory
//! record keeps its length.

use nczarr_model::{Error, ErrorKind, Result};

use crate::listing::{Flaw, MemberEntry, MemberStorage};
use crate::member::MemberReader;
use crate::records::{CENTRAL_LEN, EXTRA, FULL_32, u16_at, u32_at};

/// Bytes copied at a time.
const PIECE: u64 = 1 << 20;

/// The flag of a member whose lengths and checksum follow its bytes.
const FOLLOWED: u16 = 1 << 3;
/// The optional mark before them.
const DESCRIPTOR: [u8; 4] = *b"PK\x07\x08";

/// Passes all bytes of a member to `write`, including the records before and behind its data. `record` is its
/// directory record.
///
/// # Errors
/// `NC_EIO` if its end is unknown; errors of reading.
pub(crate) fn copy(
    members: &MemberReader,
    entry: &MemberEntry,
    record: &[u8],
    mut write: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    if entry.form == MemberStorage::Bad(Flaw::Overlap) {
        return Err(ErrorKind::Io.context(Flaw::Overlap.text()));
    }
    let end = members.begin(entry)?.saturating_add(entry.stored);
    let behind = if u16_at(record, 8) & FOLLOWED == 0 { 0 } else { descriptor(members, entry, end)? };
    let (mut at, end, mut bytes) = (entry.at, end.saturating_add(behind), Vec::new());
    while at < end {
        let len = PIECE.min(end - at);
        bytes.clear();
        let read = members.source.append(len as usize, at, &mut bytes);
        read.map_err(|error| Error::io(format!("bytes from {at}"), error))?;
        write(&bytes)?;
        at += len;
    }
    Ok(())
}

/// Returns the length of the descriptor behind the data, which ends at `end`: with or without mark, with
/// lengths of four or eight bytes. 0 if there is none.
fn descriptor(members: &MemberReader, entry: &MemberEntry, end: u64) -> Result<u64> {
    let mut found = [0; 24];
    let read = members.source.read_some(&mut found, end);
    let found = &found[..read.map_err(|error| Error::io(format!("bytes from {end}"), error))?];
    for mark in [&DESCRIPTOR[..], &[]] {
        let short = [entry.stored, entry.len].map(|len| u32::try_from(len).unwrap_or(FULL_32).to_le_bytes());
        let long = [entry.stored, entry.len].map(u64::to_le_bytes);
        for lengths in [long.concat(), short.concat()] {
            let expected = [mark, &entry.crc.to_le_bytes(), &lengths].concat();
            if found.starts_with(&expected) {
                return Ok(expected.len() as u64);
            }
        }
    }
    Ok(0)
}

/// Appends the directory record of a member that now is at `at`.
///
/// # Errors
/// `NC_EIO` if the record cannot hold the position.
pub(crate) fn central(record: &[u8], at: u64, out: &mut Vec<u8>) -> Result<()> {
    let (from, len) =
        place(record).ok_or_else(|| ErrorKind::Io.context("the directory record has no position"))?;
    let bytes = at.to_le_bytes();
    if bytes[len..].iter().any(|&byte| byte != 0) || len == 4 && at == u64::from(FULL_32) {
        return Err(ErrorKind::Io.context(format!("the directory record cannot hold position {at}")));
    }
    let begin = out.len();
    out.extend_from_slice(record);
    out[begin + from..][..len].copy_from_slice(&bytes[..len]);
    Ok(())
}

/// Returns offset and size of the position field in a record.
fn place(record: &[u8]) -> Option<(usize, usize)> {
    if u32_at(record, 42) != FULL_32 {
        return Some((42, 4));
    }
    let before = 8 * [24, 20].iter().filter(|&&at| u32_at(record, at) == FULL_32).count();
    let mut from = CENTRAL_LEN + usize::from(u16_at(record, 28));
    let end = from + usize::from(u16_at(record, 30));
    while from + 4 <= end {
        let (what, len) = (u16_at(record, from), usize::from(u16_at(record, from + 2)));
        if what == EXTRA {
            return (before + 8 <= len && from + 4 + before + 8 <= end).then_some((from + 4 + before, 8));
        }
        from += 4 + len;
    }
    None
}
