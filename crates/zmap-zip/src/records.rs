//! The records of an archive as bytes: local headers, directory records and end records.
//!
//! Members are uncompressed, their names are UTF-8, and all have one fixed date, so that equal objects make
//! equal archives. Only values that do not fit 32 bits (counts: 16) use zip64 records.

/// A local header.
pub(crate) const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// A directory record.
pub(crate) const CENTRAL: [u8; 4] = *b"PK\x01\x02";
/// The end record.
pub(crate) const END: [u8; 4] = *b"PK\x05\x06";
/// The zip64 end record and its locator.
pub(crate) const END_64: [u8; 4] = *b"PK\x06\x06";
pub(crate) const LOCATOR_64: [u8; 4] = *b"PK\x06\x07";

/// Bytes of the records, without names and other variable fields.
pub(crate) const LOCAL_LEN: usize = 30;
pub(crate) const CENTRAL_LEN: usize = 46;
pub(crate) const END_LEN: usize = 22;
pub(crate) const END_64_LEN: usize = 56;
pub(crate) const LOCATOR_64_LEN: usize = 20;

/// The longest name.
pub(crate) const MAX_NAME: usize = u16::MAX as usize;

/// Version needed to extract: 2.0, and 4.5 with zip64.
const PLAIN: u16 = 20;
const ZIP64: u16 = 45;
/// Made by a system with Unix modes.
const UNIX: u16 = 3 << 8;
/// A regular file that its owner may write and everyone may read.
const MODE: u32 = 0o100_644 << 16;
/// The flag of a UTF-8 name.
const UTF8: u16 = 1 << 11;
/// The first of January 1980, the earliest date of the format.
const DATE: u16 = 1 << 5 | 1;
/// The extra field of zip64.
pub(crate) const EXTRA: u16 = 1;

/// A 32-bit field whose value is in the extra field.
pub(crate) const FULL_32: u32 = u32::MAX;

/// The data of a member's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemberRecord<'n> {
    pub(crate) name: &'n str,
    /// The position of its local header in the archive.
    pub(crate) at: u64,
    pub(crate) len: u64,
    pub(crate) crc: u32,
}

/// Returns the bytes before the data of a member of this name and length.
pub(crate) fn local_len(name: &str, len: u64) -> u64 {
    (LOCAL_LEN + name.len() + if fits(len) { 0 } else { 20 }) as u64
}

/// Appends a local header. The name has at most [`MAX_NAME`] bytes.
pub(crate) fn local(member: &MemberRecord<'_>, out: &mut Vec<u8>) {
    let big = !fits(member.len);
    out.extend_from_slice(&LOCAL);
    common(member, big, out);
    half(out, if big { 20 } else { 0 });
    out.extend_from_slice(member.name.as_bytes());
    if big {
        half(out, EXTRA);
        half(out, 16);
        long(out, member.len);
        long(out, member.len);
    }
}

/// Appends a directory record.
pub(crate) fn central(member: &MemberRecord<'_>, out: &mut Vec<u8>) {
    let (big, far) = (!fits(member.len), !fits(member.at));
    let extra = 16 * u16::from(big) + 8 * u16::from(far);
    out.extend_from_slice(&CENTRAL);
    half(out, UNIX | ZIP64);
    common(member, big || far, out);
    half(out, if extra > 0 { extra + 4 } else { 0 });
    half(out, 0); // no comment
    half(out, 0); // the first disk
    half(out, 0); // internal attributes: none
    word(out, MODE);
    word(out, short(member.at));
    out.extend_from_slice(member.name.as_bytes());
    if extra > 0 {
        half(out, EXTRA);
        half(out, extra);
        if big {
            long(out, member.len);
            long(out, member.len);
        }
        if far {
            long(out, member.at);
        }
    }
}

/// Appends the common fields of both records, up to the length of the name.
fn common(member: &MemberRecord<'_>, zip64: bool, out: &mut Vec<u8>) {
    half(out, if zip64 { ZIP64 } else { PLAIN });
    half(out, UTF8);
    half(out, 0); // stored
    half(out, 0); // midnight
    half(out, DATE);
    word(out, member.crc);
    word(out, short(member.len));
    word(out, short(member.len));
    half(out, member.name.len() as u16);
}

/// Adds a comment to an end record without one.
pub(crate) fn comment(comment: &[u8], out: &mut Vec<u8>) {
    let Ok(len) = u16::try_from(comment.len()) else { return };
    out.truncate(out.len().saturating_sub(2));
    half(out, len);
    out.extend_from_slice(comment);
}

/// Returns the comment of the end record in `bytes`.
pub(crate) fn comment_of(bytes: &[u8]) -> &[u8] {
    let ends = |at: &usize| {
        bytes[*at..].starts_with(&END) && usize::from(u16_at(bytes, at + 20)) == bytes.len() - at - END_LEN
    };
    let at = bytes.len().checked_sub(END_LEN).and_then(|last| (0..=last).rev().find(ends));
    at.map_or(&[], |at| &bytes[at + END_LEN..])
}

/// Appends the end record of a directory of `count` members, `len` bytes from `at` on.
pub(crate) fn end(count: u64, at: u64, len: u64, out: &mut Vec<u8>) {
    let counted = u16::try_from(count).ok().filter(|&count| count < u16::MAX);
    if counted.is_none() || !fits(at) || !fits(len) {
        out.extend_from_slice(&END_64);
        long(out, (END_64_LEN - 12) as u64);
        half(out, UNIX | ZIP64);
        half(out, ZIP64);
        word(out, 0);
        word(out, 0);
        long(out, count);
        long(out, count);
        long(out, len);
        long(out, at);
        out.extend_from_slice(&LOCATOR_64);
        word(out, 0);
        long(out, at.saturating_add(len));
        word(out, 1);
    }
    out.extend_from_slice(&END);
    half(out, 0);
    half(out, 0);
    half(out, counted.unwrap_or(u16::MAX));
    half(out, counted.unwrap_or(u16::MAX));
    word(out, short(len));
    word(out, short(at));
    half(out, 0);
}

/// Whether a field of 32 bits holds it; all bits set says that it stands elsewhere.
fn fits(value: u64) -> bool {
    value < u64::from(FULL_32)
}

fn short(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(FULL_32)
}

fn half(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn word(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn long(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Reads a number of two bytes in a record; 0 beyond its end.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u16::from_le_bytes(*bytes))
}

/// As [`u16_at`], for four bytes.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// As [`u16_at`], for eight bytes.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
