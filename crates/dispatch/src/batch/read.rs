//! [`read_parallel`]: a batch of reads over a map's single reads.

use nczarr_model::{Error, ErrorKind, Result};

use super::{Scratch, with_scratch};
use crate::zmap::{ByteRange, Found, Ranges, ReadJob, ReadTicket, ZMap};
use crate::{Key, Version, pull_parallel};

/// Runs a batch of reads on the pool (or the calling thread), each object through [`ZMap::read`],
/// [`ZMap::read_into`] or [`ZMap::read_versioned`].
pub fn read_parallel<M: ZMap + ?Sized>(map: &M, job: &dyn ReadJob) {
    pull_parallel(job.threads(), &|| {
        with_scratch(|Scratch { key, bytes, piece }| {
            while let Some(mut ticket) = job.next(key) {
                match read(map, key, &mut ticket, bytes, piece) {
                    Ok(None) => job.done(ticket, Ok(None)),
                    Ok(Some((Place::InPlace, version))) => job.done(ticket, Ok(Some((Found::InPlace, version)))),
                    Ok(Some((Place::Scratch, version))) => job.done(ticket, Ok(Some((Found::Bytes(bytes), version)))),
                    Err(error) => job.done(ticket, Err(error)),
                }
            }
        });
    });
}

/// Where the bytes are.
enum Place {
    InPlace,
    Scratch,
}

fn read<M: ZMap + ?Sized>(
    map: &M,
    key: &Key,
    ticket: &mut ReadTicket<'_>,
    bytes: &mut Vec<u8>,
    piece: &mut Vec<u8>,
) -> Result<Option<(Place, Option<Version>)>> {
    bytes.clear();
    if ticket.versioned {
        return read_versioned(map, key, ticket, bytes, piece);
    }
    if let Some(found) = read_in_place(map, key, ticket, piece)? {
        return Ok(found.then_some((Place::InPlace, None)));
    }
    let found = match &ticket.ranges {
        Ranges::All => map.read(key, ByteRange::first(one_more(ticket.limit)), bytes)?,
        Ranges::One(range) => {
            let wanted = range.len.unwrap_or(u64::MAX).min(one_more(ticket.limit));
            map.read(key, ByteRange::new(range.offset, wanted), bytes)?
        }
        Ranges::Last(count) => {
            ticket.check_len(key, *count)?;
            match map.len(key)? {
                None => false,
                Some(len) => map.read(key, ByteRange::new(len.saturating_sub(*count), len.min(*count)), bytes)?,
            }
        }
        ranges => read_many(map, key, &wanted(key, ranges, ticket)?, bytes, piece)?,
    };
    if !found {
        return Ok(None);
    }
    ticket.check_len(key, bytes.len() as u64)?;
    Ok(Some((Place::Scratch, None)))
}

/// Reads straight into the ticket's memory; `None`: this ticket cannot be read so.
fn read_in_place<M: ZMap + ?Sized>(
    map: &M,
    key: &Key,
    ticket: &mut ReadTicket<'_>,
    piece: &mut Vec<u8>,
) -> Result<Option<bool>> {
    let Some(out) = &mut ticket.into else { return Ok(None) };
    let room = out.capacity() as u64;
    let (offset, open_end) = match ticket.ranges {
        Ranges::All => (0, true),
        Ranges::One(ByteRange { offset, len: None }) => (offset, true),
        Ranges::One(ByteRange { offset, len: Some(len) }) if len == room => (offset, false),
        _ => return Ok(None),
    };
    out.clear();
    if !map.read_into(key, offset, out)? {
        return Ok(Some(false));
    }
    // An object that goes on is not the one that was declared: look one byte further.
    if open_end && out.filled().len() as u64 == room {
        let end = offset.checked_add(room).ok_or_else(|| beyond(key, offset, room))?;
        map.read(key, ByteRange::new(end, 1), piece)?;
        if !piece.is_empty() {
            return Err(too_long(key, room));
        }
    }
    Ok(Some(true))
}

/// With a version the object is read whole, once, and cut afterwards: parts read one by one could be of two states.
fn read_versioned<M: ZMap + ?Sized>(
    map: &M,
    key: &Key,
    ticket: &ReadTicket<'_>,
    bytes: &mut Vec<u8>,
    piece: &mut Vec<u8>,
) -> Result<Option<(Place, Option<Version>)>> {
    let limit = usize::try_from(one_more(ticket.limit)).unwrap_or(usize::MAX);
    let Some(version) = map.read_versioned(key, limit, bytes)? else { return Ok(None) };
    ticket.check_len(key, bytes.len() as u64)?;
    let all = bytes.len() as u64;
    let parts = match &ticket.ranges {
        Ranges::All => return Ok(Some((Place::Scratch, Some(version)))),
        Ranges::One(range) => {
            let start = range.offset.min(all);
            vec![ByteRange::new(start, range.len.unwrap_or(u64::MAX).min(all - start))]
        }
        Ranges::Last(count) => vec![ByteRange::new(all.saturating_sub(*count), all.min(*count))],
        ranges => wanted(key, ranges, ticket)?,
    };
    piece.clear();
    for part in parts {
        piece.extend_from_slice(cut(key, bytes, 0, part)?);
    }
    std::mem::swap(bytes, piece);
    Ok(Some((Place::Scratch, Some(version))))
}

/// Reads several ranges one after another: each by itself where that is cheap, else out of the stretch around them.
fn read_many<M: ZMap + ?Sized>(
    map: &M,
    key: &Key,
    parts: &[ByteRange],
    bytes: &mut Vec<u8>,
    piece: &mut Vec<u8>,
) -> Result<bool> {
    let first = parts.iter().map(|part| part.offset).min().unwrap_or(0);
    let mut last = first;
    for part in parts {
        let len = part.len.unwrap_or(0);
        last = last.max(part.offset.checked_add(len).ok_or_else(|| beyond(key, part.offset, len))?);
    }
    if parts.is_empty() {
        return map.exists(key);
    }
    if !map.caps().range_read {
        if !map.read(key, ByteRange::new(first, last - first), piece)? {
            return Ok(false);
        }
        for part in parts {
            bytes.extend_from_slice(cut(key, piece, first, *part)?);
        }
        return Ok(true);
    }
    for (i, part) in parts.iter().enumerate() {
        if !map.read(key, *part, piece)? {
            return match i {
                0 => Ok(false),
                _ => Err(ErrorKind::Io.context(format!("{key}: vanished while it was read"))),
            };
        }
        bytes.extend_from_slice(cut(key, piece, part.offset, *part)?);
    }
    Ok(true)
}

/// The ranges of a ticket that wants several, checked against its limit; those without bytes are left out.
fn wanted(key: &Key, ranges: &Ranges, ticket: &ReadTicket<'_>) -> Result<Vec<ByteRange>> {
    let mut parts = each_wanted(key, ranges, ticket.limit)?;
    parts.retain(|part| part.len != Some(0));
    Ok(parts)
}

pub(super) fn each_wanted(key: &Key, ranges: &Ranges, limit: usize) -> Result<Vec<ByteRange>> {
    let no_len = || ErrorKind::Internal.context(format!("{key}: one of several ranges without a length"));
    match ranges {
        Ranges::Every { first, step, count } => {
            let len = first.len.ok_or_else(no_len)?;
            if len == 0 {
                // However many there are, nothing is wanted.
                return Ok(Vec::new());
            }
            within(key, len.saturating_mul((*count).into()), limit)?;
            (0..u64::from(*count))
                .map(|i| {
                    let offset = i.checked_mul(*step).and_then(|skip| first.offset.checked_add(skip));
                    Ok(ByteRange::new(offset.ok_or_else(|| beyond(key, first.offset, *step))?, len))
                })
                .collect()
        }
        Ranges::List(parts) => {
            let mut sum = 0u64;
            for part in parts.iter() {
                sum = sum.saturating_add(part.len.ok_or_else(no_len)?);
            }
            within(key, sum, limit)?;
            Ok(parts.to_vec())
        }
        Ranges::All | Ranges::One(_) | Ranges::Last(_) => {
            Err(ErrorKind::Internal.context(format!("{key}: {ranges:?} is not several ranges")))
        }
    }
}

/// The bytes of `part` out of those from `from` on. A part that is not wholly there is an error: what follows it
/// would stand in the wrong place.
pub(super) fn cut<'b>(key: &Key, bytes: &'b [u8], from: u64, part: ByteRange) -> Result<&'b [u8]> {
    let len = part.len.unwrap_or(0);
    let start = part.offset.checked_sub(from).and_then(|start| usize::try_from(start).ok());
    start
        .and_then(|start| Some((start, start.checked_add(usize::try_from(len).ok()?)?)))
        .and_then(|(start, end)| bytes.get(start..end))
        .ok_or_else(|| {
            let there = from.saturating_add(bytes.len() as u64);
            ErrorKind::Io.context(format!("{key}: bytes {} + {len} wanted, the object ends at {there}", part.offset))
        })
}

fn one_more(limit: usize) -> u64 {
    (limit as u64).saturating_add(1)
}

fn beyond(key: &Key, offset: u64, len: u64) -> Error {
    ErrorKind::Inval.context(format!("{key}: range at {offset}, {len} bytes: beyond 64 bits"))
}

pub(super) fn too_long(key: &Key, limit: u64) -> Error {
    ErrorKind::Io.context(format!("{key}: longer than the {limit} bytes it may have"))
}

fn within(key: &Key, len: u64, limit: usize) -> Result<()> {
    if len > limit as u64 { Err(too_long(key, limit as u64)) } else { Ok(()) }
}

impl ReadTicket<'_> {
    /// The ranges of a ticket that wants several, in order and checked against its limit; those without bytes are left
    /// out. `None` for [`Ranges::All`], [`Ranges::One`] and [`Ranges::Last`].
    ///
    /// # Errors
    /// [`ErrorKind::Io`] naming key and limit for more bytes than that, `NC_EINVAL` for ranges beyond 64 bits.
    pub fn parts(&self, key: &Key) -> Result<Option<Vec<ByteRange>>> {
        match &self.ranges {
            Ranges::All | Ranges::One(_) | Ranges::Last(_) => Ok(None),
            ranges => wanted(key, ranges, self).map(Some),
        }
    }

    /// Checks that `len` bytes of the object at `key` are within the ticket's limit.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] naming key and limit.
    pub fn check_len(&self, key: &Key, len: u64) -> Result<()> {
        within(key, len, self.limit)
    }
}
