//! [`read_parallel`]: runs a batch of reads with a map's single reads.

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::{StopSignal, run_on_pool};

use super::job::{Ranges, ReadJob, ReadOutcome, ReadTicket};
use super::{BatchScratch, with_scratch};
use crate::{ByteRange, ZMap, ZMapExt};
use crate::{Key, Version};

/// Runs a batch of reads on the pool or the calling thread. Each object is read by
/// [`ZMap::read_with`] or [`ZMap::read_into`].
pub fn read_parallel<M: ZMap + ?Sized>(map: &M, job: &dyn ReadJob) {
    run_on_pool(job.threads(), &|| {
        with_scratch(|BatchScratch { key, bytes, piece }| {
            while let Some(mut ticket) = job.next(key) {
                let found =
                    StopSignal::check_current().and_then(|()| read(map, key, &mut ticket, bytes, piece));
                match found {
                    Ok(None) => job.done(ticket, Ok(None)),
                    Ok(Some((BytesLocation::InPlace, version))) => {
                        job.done(ticket, Ok(Some((ReadOutcome::InPlace, version))))
                    }
                    Ok(Some((BytesLocation::Scratch, version))) => {
                        job.done(ticket, Ok(Some((ReadOutcome::Bytes(bytes), version))))
                    }
                    Err(error) => job.done(ticket, Err(error)),
                }
            }
        });
    });
}

/// The memory that holds the bytes read.
enum BytesLocation {
    InPlace,
    Scratch,
}

fn read<M: ZMap + ?Sized>(
    map: &M,
    key: &Key,
    ticket: &mut ReadTicket<'_>,
    bytes: &mut Vec<u8>,
    piece: &mut Vec<u8>,
) -> Result<Option<(BytesLocation, Option<Version>)>> {
    bytes.clear();
    if ticket.versioned {
        return read_versioned(map, key, ticket, bytes, piece);
    }
    if let Some(found) = read_in_place(map, key, ticket, piece)? {
        return Ok(found.then_some((BytesLocation::InPlace, None)));
    }
    let found = match &ticket.ranges {
        Ranges::All => map.read(key, ByteRange::first(one_more(ticket.limit)), bytes)?,
        Ranges::One(range) => {
            let wanted = range.len.unwrap_or(u64::MAX).min(one_more(ticket.limit));
            map.read(key, ByteRange::new(range.offset, wanted), bytes)?
        }
        Ranges::Suffix(count) => {
            ticket.check_len(key, *count)?;
            match map.len(key)? {
                None => false,
                Some(len) => {
                    map.read(key, ByteRange::new(len.saturating_sub(*count), len.min(*count)), bytes)?
                }
            }
        }
        ranges => read_many(map, key, &checked_ranges(key, ranges, ticket)?, bytes, piece)?,
    };
    if !found {
        return Ok(None);
    }
    ticket.check_len(key, bytes.len() as u64)?;
    Ok(Some((BytesLocation::Scratch, None)))
}

/// Reads directly into the ticket's memory. `None`: this ticket needs a copy.
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
    // A longer object is not the declared one, so this reads one more byte.
    if open_end && out.filled().len() as u64 == room {
        let end = offset.checked_add(room).ok_or_else(|| beyond(key, offset, room))?;
        map.read(key, ByteRange::new(end, 1), piece)?;
        if !piece.is_empty() {
            return Err(too_long(key, room));
        }
    }
    Ok(Some(true))
}

/// Reads the whole object once and cuts it: ranges read one by one could belong to two versions.
fn read_versioned<M: ZMap + ?Sized>(
    map: &M,
    key: &Key,
    ticket: &ReadTicket<'_>,
    bytes: &mut Vec<u8>,
    piece: &mut Vec<u8>,
) -> Result<Option<(BytesLocation, Option<Version>)>> {
    let limit = usize::try_from(one_more(ticket.limit)).unwrap_or(usize::MAX);
    let Some(version) = map.read_versioned(key, limit, bytes)? else { return Ok(None) };
    ticket.check_len(key, bytes.len() as u64)?;
    let all = bytes.len() as u64;
    let parts = match &ticket.ranges {
        Ranges::All => return Ok(Some((BytesLocation::Scratch, Some(version)))),
        Ranges::One(range) => {
            let start = range.offset.min(all);
            vec![ByteRange::new(start, range.len.unwrap_or(u64::MAX).min(all - start))]
        }
        Ranges::Suffix(count) => vec![ByteRange::new(all.saturating_sub(*count), all.min(*count))],
        ranges => checked_ranges(key, ranges, ticket)?,
    };
    piece.clear();
    for part in parts {
        piece.extend_from_slice(cut(key, bytes, 0, part)?);
    }
    std::mem::swap(bytes, piece);
    Ok(Some((BytesLocation::Scratch, Some(version))))
}

/// Reads several ranges one by one if range reads are cheap, else the span around them.
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

/// Returns the ranges of a ticket that wants several, checked against its limit. Empty ranges are left out.
fn checked_ranges(key: &Key, ranges: &Ranges, ticket: &ReadTicket<'_>) -> Result<Vec<ByteRange>> {
    let mut parts = all_ranges(key, ranges, ticket.limit)?;
    parts.retain(|part| part.len != Some(0));
    Ok(parts)
}

pub(super) fn all_ranges(key: &Key, ranges: &Ranges, limit: usize) -> Result<Vec<ByteRange>> {
    let no_len = || ErrorKind::Internal.context(format!("{key}: one of several ranges without a length"));
    match ranges {
        Ranges::Strided { first, step, count } => {
            let len = first.len.ok_or_else(no_len)?;
            if len == 0 {
                // Empty ranges need no read, whatever their count.
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
        Ranges::All | Ranges::One(_) | Ranges::Suffix(_) => {
            Err(ErrorKind::Internal.context(format!("{key}: {ranges:?} is not several ranges")))
        }
    }
}

/// Returns the bytes of `part` from `bytes`, which start at offset `from`. An incomplete part is an error:
/// the bytes after it would be misplaced.
pub(super) fn cut<'b>(key: &Key, bytes: &'b [u8], from: u64, part: ByteRange) -> Result<&'b [u8]> {
    let len = part.len.unwrap_or(0);
    let start = part.offset.checked_sub(from).and_then(|start| usize::try_from(start).ok());
    start
        .and_then(|start| Some((start, start.checked_add(usize::try_from(len).ok()?)?)))
        .and_then(|(start, end)| bytes.get(start..end))
        .ok_or_else(|| {
            let there = from.saturating_add(bytes.len() as u64);
            ErrorKind::Io
                .context(format!("{key}: bytes {} + {len} wanted, the object ends at {there}", part.offset))
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
    /// Returns the ranges of a ticket that wants several, in order and checked against its limit. Empty
    /// ranges are left out. `None` for [`Ranges::All`], [`Ranges::One`] and [`Ranges::Suffix`].
    ///
    /// # Errors
    /// `NC_EIO` if the total length exceeds the limit; `NC_EINVAL` for ranges beyond 64 bits. Both name the
    /// key.
    pub fn parts(&self, key: &Key) -> Result<Option<Vec<ByteRange>>> {
        match &self.ranges {
            Ranges::All | Ranges::One(_) | Ranges::Suffix(_) => Ok(None),
            ranges => checked_ranges(key, ranges, self).map(Some),
        }
    }

    /// Checks that `len` bytes of the object at `key` are within the ticket's limit.
    ///
    /// # Errors
    /// `NC_EIO` that names the key and the limit.
    pub fn check_len(&self, key: &Key, len: u64) -> Result<()> {
        within(key, len, self.limit)
    }
}
