//! Reads the ranges of a ticket from an open file.
//!
//! A read of a whole object requests one byte more than expected, to detect a longer object. A short read
//! means the end of the file, except at a multiple of [`SECTOR`]: there an error or a limit may have cut it,
//! and the next read decides.

use std::os::fd::BorrowedFd;

use nczarr_model::ErrorKind;
use nczarr_storage::batch::{ObjectSink, Ranges, ReadTicket};
use nczarr_storage::{ByteRange, Key, OutBuf};
use rustix::buffer::spare_capacity;
use rustix::fs::{FileType, Stat, fstat};
use rustix::io::{Errno, pread, retry_on_intr};

use super::memory::ReadBuffer;
use super::read_failure::ReadFailure;

/// Interrupted reads end at a multiple of this.
const SECTOR: u64 = 512;

/// The first read of an object of unknown length. Larger objects are read directly into their destination,
/// which takes one more system call.
const FIRST_READ: usize = 8 << 10;

/// The largest gap between two ranges that are read together: copying it costs as much as another read.
const MAX_GAP: u64 = 2 << 10;

/// The most bytes that are read together because of [`MAX_GAP`].
const MAX_SPAN: u64 = 256 << 10;

/// The size of an object from which `fstat` runs before memory is taken. It costs a call, but no byte is read
/// twice.
const MEASURE_ABOVE: usize = 64 << 10;

/// The size of a range from which the file's length is checked before memory is taken.
const CHECK_ABOVE: usize = 1 << 20;

/// Memory of one thread; only its capacity is used.
#[derive(Default)]
pub(super) struct ReadScratch {
    pub(super) key: Key,
    pub(super) bytes: ReadBuffer,
    span: ReadBuffer,
}

/// The location of the bytes of a ticket.
pub(super) enum ReadOutput<'s> {
    Into,
    ReadScratch(OutBuf<'s>),
    Owned(Vec<u8>),
}

/// Reads the ranges of a ticket from an open object. `stat`: its state, if known.
pub(super) fn fetch<'s>(
    file: BorrowedFd<'_>,
    stat: Option<&Stat>,
    ticket: &mut ReadTicket<'_>,
    scratch: &'s mut ReadScratch,
) -> Result<ReadOutput<'s>, ReadFailure> {
    let (limit, hint) = (ticket.limit, ticket.hint);
    let mut into = ticket.into.as_mut().filter(|into| into.capacity() >= FIRST_READ);
    let got = match &ticket.ranges {
        Ranges::All => match &mut into {
            Some(into) => {
                whole_into(file, into)?;
                ReadOutput::Into
            }
            None => whole(file, hint, limit, &mut scratch.bytes)?,
        },
        Ranges::One(ByteRange { offset, len: None }) => {
            ReadOutput::Owned(tail(file, &regular(file, stat)?, *offset, limit)?)
        }
        Ranges::Suffix(len) => {
            let end = size(&regular(file, stat)?);
            one(file, end.saturating_sub(*len), *len.min(&end), limit, &mut scratch.bytes)?
        }
        Ranges::One(ByteRange { offset, len: Some(len) }) => match &mut into {
            Some(into) if into.capacity() as u64 == *len => {
                one_into(file, *offset, into)?;
                ReadOutput::Into
            }
            _ => one(file, *offset, *len, limit, &mut scratch.bytes)?,
        },
        ranges => {
            let pieces = RangeList::of(ranges).ok_or(ReadFailure::Ranges)?;
            let mut out = scratch.bytes.room(pieces.total(limit)?)?;
            pieces.read(file, &mut out, &mut scratch.span)?;
            ReadOutput::ReadScratch(out)
        }
    };
    Ok(got)
}

/// Reads an object in pieces of the size that `sink` wants, and passes them to it. Returns the sink's result.
pub(super) fn stream_to(
    file: BorrowedFd<'_>,
    sink: &mut dyn ObjectSink,
    scratch: &mut ReadScratch,
) -> Result<nczarr_model::Result<()>, ReadFailure> {
    let mut at = 0;
    loop {
        let want = sink.wants();
        if want == 0 {
            return Ok(Ok(()));
        }
        let mut out = scratch.bytes.room(want)?;
        // The last piece is one byte shorter than requested.
        let ended = fill(file, &mut out, want, at, Some(at.saturating_add(want as u64 - 1)))?;
        if at == 0 && ended {
            want_file(file, &out)?;
        }
        let taken = sink.take(out.filled());
        if ended || taken.is_err() {
            return Ok(taken);
        }
        at += want as u64;
    }
}

/// Reads a whole object into its destination.
fn whole_into(file: BorrowedFd<'_>, into: &mut OutBuf<'_>) -> Result<(), ReadFailure> {
    into.clear();
    let room = into.capacity();
    if fill(file, into, room, 0, None)? {
        return want_file(file, into);
    }
    match retry_on_intr(|| pread(file, &mut [0; 1], room as u64))? {
        0 => Ok(()),
        _ => Err(ReadFailure::TooLong(room)),
    }
}

/// Reads one range into its destination.
pub(super) fn one_into(file: BorrowedFd<'_>, offset: u64, into: &mut OutBuf<'_>) -> Result<(), ReadFailure> {
    into.clear();
    if offset <= i64::MAX as u64 && into.remaining() > 0 {
        // A few bytes usually arrive with the first call; the next calls handle errors and the rest.
        let _ = into.fill_with(|room| match pread(file, room, offset) {
            Ok((read, _)) => Ok(read),
            Err(_) => Err(ErrorKind::Io.into()),
        });
        if into.remaining() == 0 {
            return Ok(());
        }
    }
    let (room, next) = (into.remaining(), offset.saturating_add(into.filled().len() as u64));
    if fill(file, into, room, next, None)? { want_file(file, into) } else { Ok(()) }
}

/// Reads one range.
fn one<'s>(
    file: BorrowedFd<'_>,
    offset: u64,
    len: u64,
    limit: usize,
    scratch: &'s mut ReadBuffer,
) -> Result<ReadOutput<'s>, ReadFailure> {
    let mut len = len;
    if len > CHECK_ABOVE as u64 {
        len = len.min(size(&want_regular(file)?).saturating_sub(offset));
    }
    let asked = usize::try_from(len).unwrap_or(usize::MAX).min(limit.saturating_add(1));
    let mut out = scratch.room(asked)?;
    if fill(file, &mut out, asked, offset, None)? {
        want_file(file, &out)?;
    }
    if out.filled().len() > limit {
        Err(ReadFailure::TooLong(limit))
    } else {
        Ok(ReadOutput::ReadScratch(out))
    }
}

/// Reads a whole object of about `hint` bytes.
fn whole<'s>(
    file: BorrowedFd<'_>,
    hint: usize,
    limit: usize,
    scratch: &'s mut ReadBuffer,
) -> Result<ReadOutput<'s>, ReadFailure> {
    let mut asked = hint.max(FIRST_READ);
    let mut end = hint as u64;
    if asked > MEASURE_ABOVE {
        end = size(&want_regular(file)?);
        asked = usize::try_from(end).unwrap_or(usize::MAX);
    }
    // One more byte shows whether the object is longer.
    let asked = asked.min(limit).saturating_add(1).max(scratch.capacity().min(limit.saturating_add(1)));
    let mut out = scratch.room(asked)?;
    if fill(file, &mut out, asked, 0, Some(end))? {
        want_file(file, &out)?;
        return Ok(ReadOutput::ReadScratch(out));
    }
    Ok(ReadOutput::Owned(tail(file, &want_regular(file)?, 0, limit)?))
}

/// Reads a file with a known state from `offset` to the end into a new vector.
fn tail(file: BorrowedFd<'_>, stat: &Stat, offset: u64, limit: usize) -> Result<Vec<u8>, ReadFailure> {
    let len = size(stat).saturating_sub(offset);
    if len > limit as u64 {
        return Err(ReadFailure::TooLong(limit));
    }
    let mut bytes = Vec::new();
    vec_from(file, stat, ByteRange { offset, len: None }, &mut bytes)?;
    Ok(bytes)
}

/// Appends up to `want` bytes from `offset` on to `out`; returns whether the file ended before that.
fn fill(
    file: BorrowedFd<'_>,
    out: &mut OutBuf<'_>,
    want: usize,
    offset: u64,
    expected_end: Option<u64>,
) -> Result<bool, Errno> {
    let (from, goal) = (out.filled().len(), out.filled().len() + want.min(out.remaining()));
    loop {
        let filled = out.filled().len();
        let at = offset.saturating_add((filled - from) as u64);
        if want == 0 || at > i64::MAX as u64 {
            return Ok(true);
        }
        if filled == goal {
            return Ok(false);
        }
        let mut fault = None;
        let _ = out.fill_with(|room| {
            pread(file, &mut room[..goal - filled], at).map(|(read, _)| read).map_err(|errno| {
                fault = Some(errno);
                ErrorKind::Io.into()
            })
        });
        match fault {
            None => {}
            Some(Errno::INTR) => continue,
            Some(errno) => return Err(errno),
        }
        let read = out.filled().len() - filled;
        let end = at + read as u64;
        if read == 0 || (read < goal - filled && (!end.is_multiple_of(SECTOR) || Some(end) == expected_end)) {
            return Ok(true);
        }
    }
}

/// Checks that a file without bytes is a regular file.
pub(super) fn want_file(file: BorrowedFd<'_>, out: &OutBuf<'_>) -> Result<(), ReadFailure> {
    if out.filled().is_empty() { want_regular(file).map(|_| ()) } else { Ok(()) }
}

/// Returns the state of a regular file.
pub(super) fn want_regular(file: BorrowedFd<'_>) -> Result<Stat, ReadFailure> {
    regular(file, None)
}

/// As [`want_regular`]; does not ask for a state that is known.
fn regular(file: BorrowedFd<'_>, known: Option<&Stat>) -> Result<Stat, ReadFailure> {
    let stat = match known {
        Some(stat) => *stat,
        None => fstat(file)?,
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(stat),
        FileType::Directory => Err(ReadFailure::Directory),
        _ => Err(ReadFailure::System(Errno::SPIPE)),
    }
}

pub(super) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// Appends a range of a file with a known state to `out`.
pub(super) fn vec_from(
    file: BorrowedFd<'_>,
    stat: &Stat,
    range: ByteRange,
    out: &mut Vec<u8>,
) -> Result<(), ReadFailure> {
    let len = size(stat).saturating_sub(range.offset).min(range.len.unwrap_or(u64::MAX));
    let want = usize::try_from(len).map_err(|_| ReadFailure::Memory(len))?;
    out.try_reserve_exact(want).map_err(|_| ReadFailure::Memory(len))?;
    // Reads into the whole capacity, unless that is far more than needed.
    let spare = out.capacity() <= want.saturating_mul(2).max(FIRST_READ);
    if !spare {
        out.resize(want, 0);
    }
    let mut read = 0;
    while read < want {
        let at = range.offset + read as u64;
        let more = if spare {
            retry_on_intr(|| pread(file, spare_capacity(out), at))?
        } else {
            retry_on_intr(|| pread(file, &mut out[read..], at))?
        };
        if more == 0 {
            break;
        }
        read += more;
    }
    out.truncate(read.min(want));
    Ok(())
}

/// Several ranges of one object.
#[derive(Clone, Copy)]
enum RangeList<'r> {
    Every { offset: u64, len: u64, step: u64, count: usize },
    List(&'r [ByteRange]),
}

impl<'r> RangeList<'r> {
    /// Converts ranges; `None` if a length is missing or an end does not fit 64 bits.
    fn of(ranges: &'r Ranges) -> Option<Self> {
        match ranges {
            Ranges::One(range) => {
                Some(Self::Every { offset: range.offset, len: range.len?, step: 0, count: 1 })
            }
            Ranges::Strided { first, step, count } => {
                let len = first.len?;
                let last = u64::from(count.saturating_sub(1)).checked_mul(*step)?;
                first.offset.checked_add(last)?.checked_add(len)?;
                let count = if len == 0 { 0 } else { usize::try_from(*count).ok()? };
                Some(Self::Every { offset: first.offset, len, step: *step, count })
            }
            Ranges::List(list) => {
                let fits =
                    |range: &ByteRange| range.len.and_then(|len| range.offset.checked_add(len)).is_some();
                list.iter().all(fits).then_some(Self::List(list))
            }
            _ => None,
        }
    }

    fn count(self) -> usize {
        match self {
            Self::Every { count, .. } => count,
            Self::List(list) => list.len(),
        }
    }

    fn piece(self, index: usize) -> (u64, u64) {
        match self {
            Self::Every { offset, len, step, .. } => (offset + index as u64 * step, len),
            Self::List(list) => (list[index].offset, list[index].len.unwrap_or(0)),
        }
    }

    fn total(self, limit: usize) -> Result<usize, ReadFailure> {
        let mut total = 0_u64;
        match self {
            Self::Every { len, count, .. } => total = len.saturating_mul(count as u64),
            Self::List(list) => {
                for range in list {
                    total = total.saturating_add(range.len.unwrap_or(0));
                }
            }
        }
        usize::try_from(total).ok().filter(|&total| total <= limit).ok_or(ReadFailure::TooLong(limit))
    }

    /// Appends all ranges to `out`, each complete.
    fn read(
        self,
        file: BorrowedFd<'_>,
        out: &mut OutBuf<'_>,
        span: &mut ReadBuffer,
    ) -> Result<(), ReadFailure> {
        let mut index = 0;
        while index < self.count() {
            let (offset, len) = self.piece(index);
            let (mut end, mut next) = (offset + len, index + 1);
            while next < self.count() {
                let (start, len) = self.piece(next);
                if start < end || start - end > MAX_GAP || start + len - offset > MAX_SPAN {
                    break;
                }
                (end, next) = (start + len, next + 1);
            }
            let (from, together) = (out.filled().len(), (end - offset) as usize);
            if next == index + 1 {
                fill(file, out, together, offset, None)?;
                let read = out.filled().len() - from;
                if read < together {
                    return Err(self.short(file, index, offset + read as u64));
                }
            } else {
                let mut read = span.room(together)?;
                fill(file, &mut read, together, offset, None)?;
                for piece in index..next {
                    let (start, len) = self.piece(piece);
                    let start = (start - offset) as usize;
                    let part = read.filled().get(start..start + len as usize);
                    let Some(part) = part else {
                        return Err(self.short(file, piece, offset + read.filled().len() as u64));
                    };
                    // The output has room for the total.
                    out.put(part).map_err(|_| ReadFailure::Ranges)?;
                }
            }
            index = next;
        }
        if out.filled().is_empty() { want_regular(file).map(|_| ()) } else { Ok(()) }
    }

    fn short(self, file: BorrowedFd<'_>, index: usize, end: u64) -> ReadFailure {
        let (offset, len) = self.piece(index);
        want_regular(file).err().unwrap_or(ReadFailure::Short { offset, len, end })
    }
}
