//! A directory that was read in one piece, taken apart: [`read`].
//!
//! It knows the records as nearly everybody writes them, zip64 among them. For anything else it answers `None`, and another
//! reader has to look: it never guesses.

use std::str;

use crate::listing::{Entry, Flaw, Form, Listing};
use crate::records::{CENTRAL, CENTRAL_LEN, EXTRA, FULL_32, LOCAL_LEN, u16_at, u32_at, u64_at};

/// Set in the flags of a member that is encrypted.
const ENCRYPTED: u16 = 1;
/// The method of members that are stored as they are, and that of those encrypted in a newer way.
const STORED: u16 = 0;
const AES: u16 = 99;
/// Who has Unix modes; and the bits of one that only links have all of.
const UNIX: u8 = 3;
const LINK: u32 = 0o120_000;
/// Extra fields that change the name or the method.
const NAME: u16 = 0x7075;
const AES_EXTRA: u16 = 0x9901;

/// The members of the directory `bytes`, which begins at `start` and has `count` records and nothing else.
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
            _ if u16_at(record, 8) & ENCRYPTED != 0 => Form::Bad(Flaw::Encrypted),
            _ if (u32_at(record, 38) >> 16) & LINK == LINK => match record.get(5) {
                Some(&UNIX) => Form::Bad(Flaw::Link),
                _ => return None,
            },
            STORED if stored != len => Form::Bad(Flaw::Length),
            STORED => Form::Stored,
            _ => Form::Packed,
        };
        let entry = Entry::new(at, stored, len, u32_at(record, 16), form, Some(central));
        listing.push(str::from_utf8(name).ok()?, (LOCAL_LEN + name.len()) as u32, entry);
        rest = after;
    }
    rest.is_empty().then_some(listing)
}

/// Length, length in the archive and place of a member: what stands in its record, or in the extra field of zip64.
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
