//! Batches of reads: one lookup per ticket.
//!
//! The bytes of a member go from the archive to the job without a copy. An archive in memory lends them, and
//! those of a file are read once: into the ticket's memory, or into memory that the thread uses again.

use std::cell::Cell;

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::run_on_pool;
use nczarr_storage::batch::{Ranges, ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::{ByteRange, Key, Version};

use crate::ZipMap;
use crate::listing::MemberEntry;
use crate::member::MemberBytes;
use crate::scratch::Scratch;

/// The largest scratch memory that a thread keeps.
const MAX_KEPT_SCRATCH: usize = 64 << 20;

thread_local! {
    /// Memory that a thread reuses between batches.
    static SCRATCH: Cell<(Key, Scratch)> = Cell::default();
}

/// The location of a ticket's bytes.
enum ByteLocation<'m> {
    InPlace,
    Scratch,
    Lent(MemberBytes<'m>),
}

/// Runs a batch of reads on the pool or the calling thread.
pub(crate) fn read(map: &ZipMap, job: &dyn ReadJob) {
    run_on_pool(job.threads(), &|| {
        // Taken while in use, because a waiting worker may run another batch.
        let (mut key, mut scratch) = SCRATCH.take();
        while let Some(mut ticket) = job.next(&mut key) {
            match serve(map, &key, &mut ticket, &mut scratch) {
                Ok(Some((location, version))) => {
                    let found = match &location {
                        ByteLocation::InPlace => ReadOutcome::InPlace,
                        ByteLocation::Scratch => ReadOutcome::Bytes(&scratch),
                        ByteLocation::Lent(bytes) => ReadOutcome::Bytes(bytes),
                    };
                    job.done(ticket, Ok(Some((found, version))));
                }
                Ok(None) => job.done(ticket, Ok(None)),
                Err(error) => job.done(ticket, Err(error)),
            }
        }
        if scratch.capacity() > MAX_KEPT_SCRATCH {
            scratch = Scratch::default();
        }
        SCRATCH.set((key, scratch));
    });
}

fn serve<'m>(
    map: &'m ZipMap,
    key: &Key,
    ticket: &mut ReadTicket<'_>,
    scratch: &mut Scratch,
) -> Result<Option<(ByteLocation<'m>, Option<Version>)>> {
    let _open = if ticket.versioned { map.stay_open("read versions", key)? } else { None };
    let Some(entry) = map.find(key)? else { return Ok(None) };
    let version = ticket.versioned.then(|| map.version(&entry));
    if version.is_none()
        && let Some(out) = &mut ticket.into
        && let Some(offset) = in_place(key, &ticket.ranges, &entry, out.capacity())?
    {
        map.fill(key, &entry, offset, out)?;
        return Ok(Some((ByteLocation::InPlace, None)));
    }
    let location = match &ticket.ranges {
        Ranges::All => one(map, key, ticket, &entry, ByteRange::ALL, scratch)?,
        Ranges::One(range) => one(map, key, ticket, &entry, *range, scratch)?,
        Ranges::Suffix(count) => {
            ticket.check_len(key, *count)?;
            let range = ByteRange::new(entry.len.saturating_sub(*count), *count);
            one(map, key, ticket, &entry, range, scratch)?
        }
        ranges => {
            many(map, key, ticket, &entry, ranges, scratch)?;
            ByteLocation::Scratch
        }
    };
    Ok(Some((location, version)))
}

/// Returns the offset from which the caller's buffer is filled; `None` if it cannot be used.
fn in_place(key: &Key, ranges: &Ranges, entry: &MemberEntry, room: usize) -> Result<Option<u64>> {
    let (offset, open_end) = match *ranges {
        Ranges::All => (0, true),
        Ranges::One(ByteRange { offset, len: None }) => (offset, true),
        Ranges::One(ByteRange { offset, len: Some(len) }) if len == room as u64 => (offset, false),
        _ => return Ok(None),
    };
    // The object is longer than the caller declared.
    if open_end && entry.len.saturating_sub(offset) > room as u64 {
        return Err(
            ErrorKind::Io.context(format!("{key}: the object is too long (expected at most {room} bytes)"))
        );
    }
    Ok(Some(offset))
}

fn one<'m>(
    map: &'m ZipMap,
    key: &Key,
    ticket: &ReadTicket<'_>,
    entry: &MemberEntry,
    range: ByteRange,
    scratch: &mut Scratch,
) -> Result<ByteLocation<'m>> {
    let left = entry.len.saturating_sub(range.offset);
    ticket.check_len(key, range.len.unwrap_or(u64::MAX).min(left))?;
    if let Some(bytes) = map.lend(key, entry, range)? {
        return Ok(ByteLocation::Lent(bytes));
    }
    scratch.clear();
    map.append_to_scratch(key, entry, range, scratch)?;
    Ok(ByteLocation::Scratch)
}

fn many(
    map: &ZipMap,
    key: &Key,
    ticket: &ReadTicket<'_>,
    entry: &MemberEntry,
    ranges: &Ranges,
    scratch: &mut Scratch,
) -> Result<()> {
    scratch.clear();
    let mut take = |offset: u64, len: Option<u64>| {
        let len = len.ok_or_else(|| {
            ErrorKind::Internal.context(format!("{key}: one of several ranges has no length"))
        })?;
        if len == 0 {
            return Ok(());
        }
        if offset.checked_add(len).is_none_or(|end| end > entry.len) {
            let what = format!(
                "{key}: the range of {len} bytes at offset {offset} exceeds the object of {} bytes",
                entry.len
            );
            return Err(ErrorKind::Io.context(what));
        }
        ticket.check_len(key, len.saturating_add(scratch.len() as u64))?;
        map.append_to_scratch(key, entry, ByteRange::new(offset, len), scratch)
    };
    match ranges {
        Ranges::Strided { first, .. } if first.len == Some(0) => Ok(()),
        Ranges::Strided { first, step, count } => (0..u64::from(*count)).try_for_each(|i| {
            let offset = i.checked_mul(*step).and_then(|skip| first.offset.checked_add(skip));
            let beyond = || ErrorKind::Inval.context(format!("{key}: the range exceeds 64 bits"));
            take(offset.ok_or_else(beyond)?, first.len)
        }),
        Ranges::List(list) => list.iter().try_for_each(|range| take(range.offset, range.len)),
        _ => Err(ErrorKind::Internal.context(format!("{key}: {ranges:?} is not a list of ranges"))),
    }
}
