//! Parses a directory that was read in one piece: [`read`].
//!
//! It supports common records, including zip64. For any other record it returns `None`, and the crate `zip`
//! parses the directory; it never guesses.

use std::str;

use crate::listing::{Flaw, Listing, MemberEntry, MemberStorage};
use crate::records::{CENTRAL, CENTRAL_LEN, EXTRA, FULL_32, LOCAL_LEN, u16_at, u32_at, u64_at};

/// The flag of an encrypted member.
const ENCRYPTED: u16 = 1;
/// The methods of uncompressed members, and of AES-encrypted ones.
const STORED: u16 = 0;
const AES: u16 = 99;
/// The system with Unix modes, and the mode bits of a link.
const UNIX: u8 = 3;
const LINK: u32 = 0o120_000;
/// Extra fields that change the name or the method.
const NAME: u16 = 0x7075;
const AES_EXTRA: u16 = 0x9901;

/// Parses the directory `bytes`, which begins at `start` and consists of `count` records.
pub(crate) fn read(bytes: &[u8], start: u64, count: u64) -> Option<Listing> {
    let count = usize::try_from(count).ok().filter(|&count| count <= bytes.len() / CENTRAL_LEN)?;
    let mut listing = Listing::with_capacity(count, bytes.len() - count * CENTRAL_LEN);
    let mut rest = bytes;
    for _ in 0..count {
        let central = start.checked_add((bytes.len() - rest.len()) as u64)?;
        let (record, after) = rest.split_at_checked(CENTRAL_LEN)?;
        if !record.starts_with(&CENTRAL) || u16_at(record, 10) == AES {
            return None;
        }
        let (name, after) = after.split_at_checked(u16_at(record, 28).into())?;
        let (extra, after) = after.split_at_checked(u16_at(record, 30).into())?;
        let (_, after) = after.split_at_checked(u16_at(record, 32).into())?;
        let [len, stored, at] = wide(extra, [24, 20, 42].map(|at| u32_at(record, at)))?;
        let form = match u16_at(record, 10) {
            _ if u16_at(record, 8) & ENCRYPTED != 0 => MemberStorage::Bad(Flaw::Encrypted),
            _ if (u32_at(record, 38) >> 16) & LINK == LINK => match record.get(5) {
                Some(&UNIX) => MemberStorage::Bad(Flaw::Link),
                _ => return None,
            },
            STORED if stored != len => MemberStorage::Bad(Flaw::Length),
            STORED => MemberStorage::Stored,
            _ => MemberStorage::Packed,
        };
        let entry = MemberEntry::new(at, stored, len, u32_at(record, 16), form, Some(central));
        listing.push(str::from_utf8(name).ok()?, (LOCAL_LEN + name.len()) as u32, entry);
        rest = after;
    }
    rest.is_empty().then_some(listing)
}

/// Returns length, compressed length and position of a member, from its record or the zip64 field.
fn wide(extra: &[u8], short: [u32; 3]) -> Option<[u64; 3]> {
    let mut full = short.map(u64::from);
    let mut missing = short.map(|value| value == FULL_32);
    let mut rest = extra;
    while !rest.is_empty() {
        let (head, after) = rest.split_at_checked(4)?;
        let (field, after) = after.split_at_checked(u16_at(head, 2).into())?;
        match u16_at(head, 0) {
            NAME | AES_EXTRA => return None,
            EXTRA => {
                let mut values = field.chunks_exact(8);
                for (value, missing) in full.iter_mut().zip(&mut missing).filter(|(_, missing)| **missing) {
                    (*value, *missing) = (u64_at(values.next()?, 0), false);
                }
            }
            _ => {}
        }
        rest = after;
    }
    (missing == [false; 3]).then_some(full)
}
