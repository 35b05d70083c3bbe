//! What is read of an open file, and where the bytes go.
//!
//! A read of a whole object asks for one byte more than is expected, so that a longer one shows. A read that
//! returns less than was asked for met the end of the file, except at a multiple of [`SECTOR`]: there it may
//! have been cut short by a failure or a limit of the system, and the next read tells.

use std::os::fd::BorrowedFd;

use nczarr_dispatch::{ByteRange, Key, ObjectSink, OutBuf, Ranges, ReadTicket};
use nczarr_model::ErrorKind;
use rustix::buffer::spare_capacity;
use rustix::fs::{FileType, Stat, fstat};
use rustix::io::{Errno, pread, retry_on_intr};

use super::memory::Memory;

/// Nothing that cuts a read short cuts it between two multiples of this.
const SECTOR: u64 = 512;

/// The first read of an object of unknown length; also the largest object that is not worth a read of its own
/// into its final place, which costs one more system call.
const SMALL: usize = 8 << 10;

/// Two ranges this close are read as one: a read of its own costs as much as copying the gap.
const GAP: u64 = 2 << 10;

/// The most that is read as one for the sake of [`GAP`].
const SPAN: u64 = 256 << 10;

/// An object expected to be larger than this is measured before memory is taken for it: that is a call more, and of an
/// object longer than expected no byte is read twice.
const LARGE: usize = 64 << 10;

/// A part expected to be larger than this is compared with what there is before memory is taken for it.
const TRUSTED: usize = 1 << 20;

/// Memory of one thread: its capacity is used, what is in it means nothing.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) key: Key,
    pub(super) bytes: Memory,
    span: Memory,
}

/// Why an object could not be read.
pub(super) enum Fault {
    /// The system said so.
    System(Errno),
    /// It is a directory.
    Directory,
    /// There is more of it than may be.
    TooLong(usize),
    /// The ranges make no sense.
    Ranges,
    /// One of several ranges is not there as a whole: the file ends here.
    Short { offset: u64, len: u64, end: u64 },
    /// There is not enough memory for this many bytes.
    Memory(u64),
}

impl From<Errno> for Fault {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::ISDIR => Self::Directory,
            errno => Self::System(errno),
        }
    }
}

/// Where the bytes of a ticket ended up.
pub(super) enum Got<'s> {
    Into,
    Scratch(OutBuf<'s>),
    Owned(Vec<u8>),
}

/// Reads what a ticket wants of an open object.
pub(super) fn fetch<'s>(
    file: BorrowedFd<'_>,
    ticket: &mut ReadTicket<'_>,
    scratch: &'s mut Scratch,
) -> Result<Got<'s>, Fault> {
    let (limit, hint) = (ticket.limit, ticket.hint);
    let mut into = ticket.into.as_mut().filter(|into| into.capacity() >= SMALL);
    let got = match &ticket.ranges {
        Ranges::All => match &mut into {
            Some(into) => {
                whole_into(file, into)?;
                Got::Into
            }
            None => whole(file, hint, limit, &mut scratch.bytes)?,
        },
        Ranges::One(ByteRange { offset, len: None }) => Got::Owned(tail(file, *offset, limit)?),
        Ranges::Suffix(len) => {
            let end = size(&want_regular(file)?);
            Got::Owned(tail(file, end.saturating_sub(*len), limit)?)
        }
        Ranges::One(ByteRange { offset, len: Some(len) }) => match &mut into {
            Some(into) if into.capacity() as u64 == *len => {
                one_into(file, *offset, into)?;
                Got::Into
            }
            _ => one(file, *offset, *len, limit, &mut scratch.bytes)?,
        },
        ranges => {
            let pieces = Pieces::of(ranges).ok_or(Fault::Ranges)?;
            let mut out = scratch.bytes.room(pieces.total(limit)?)?;
            pieces.read(file, &mut out, &mut scratch.span)?;
            Got::Scratch(out)
        }
    };
    Ok(got)
}

/// Reads an object piece by piece, as `sink` wants them, and hands them over; what it says of them.
pub(super) fn pour(
    file: BorrowedFd<'_>,
    sink: &mut dyn ObjectSink,
    scratch: &mut Scratch,
) -> Result<nczarr_model::Result<()>, Fault> {
    let mut at = 0;
    loop {
        let want = sink.wants();
        if want == 0 {
            return Ok(Ok(()));
        }
        let mut out = scratch.bytes.room(want)?;
        // The last piece is one byte less than is asked for.
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

/// Reads a whole object straight into its place.
fn whole_into(file: BorrowedFd<'_>, into: &mut OutBuf<'_>) -> Result<(), Fault> {
    into.clear();
    let room = into.capacity();
    if fill(file, into, room, 0, None)? {
        return want_file(file, into);
    }
    match retry_on_intr(|| pread(file, &mut [0; 1], room as u64))? {
        0 => Ok(()),
        _ => Err(Fault::TooLong(room)),
    }
}

/// Reads one range straight into its place.
pub(super) fn one_into(file: BorrowedFd<'_>, offset: u64, into: &mut OutBuf<'_>) -> Result<(), Fault> {
    into.clear();
    if offset <= i64::MAX as u64 && into.remaining() > 0 {
        // A few bytes mostly come by the first call; why not, and what is left, the next ones tell.
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
    scratch: &'s mut Memory,
) -> Result<Got<'s>, Fault> {
    let mut len = len;
    if len > TRUSTED as u64 {
        len = len.min(size(&want_regular(file)?).saturating_sub(offset));
    }
    let asked = usize::try_from(len).unwrap_or(usize::MAX).min(limit.saturating_add(1));
    let mut out = scratch.room(asked)?;
    if fill(file, &mut out, asked, offset, None)? {
        want_file(file, &out)?;
    }
    if out.filled().len() > limit { Err(Fault::TooLong(limit)) } else { Ok(Got::Scratch(out)) }
}

/// Reads a whole object of about `hint` bytes.
fn whole<'s>(file: BorrowedFd<'_>, hint: usize, limit: usize, scratch: &'s mut Memory) -> Result<Got<'s>, Fault> {
    let mut asked = hint.max(SMALL);
    let mut end = hint as u64;
    if asked > LARGE {
        end = size(&want_regular(file)?);
        asked = usize::try_from(end).unwrap_or(usize::MAX);
    }
    // One byte more shows whether there is more.
    let asked = asked.min(limit).saturating_add(1).max(scratch.capacity().min(limit.saturating_add(1)));
    let mut out = scratch.room(asked)?;
    if fill(file, &mut out, asked, 0, Some(end))? {
        want_file(file, &out)?;
        return Ok(Got::Scratch(out));
    }
    Ok(Got::Owned(tail(file, 0, limit)?))
}

/// Reads from `offset` to the end, in memory of its own.
fn tail(file: BorrowedFd<'_>, offset: u64, limit: usize) -> Result<Vec<u8>, Fault> {
    let stat = want_regular(file)?;
    let len = size(&stat).saturating_sub(offset);
    if len > limit as u64 {
        return Err(Fault::TooLong(limit));
    }
    let mut bytes = Vec::new();
    vec_from(file, &stat, ByteRange { offset, len: None }, &mut bytes)?;
    Ok(bytes)
}

/// Appends up to `want` bytes from `offset` on to `out`; whether the file ended before.
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

/// Nothing was read: is this an empty file, or none?
pub(super) fn want_file(file: BorrowedFd<'_>, out: &OutBuf<'_>) -> Result<(), Fault> {
    if out.filled().is_empty() { want_regular(file).map(|_| ()) } else { Ok(()) }
}

pub(super) fn want_regular(file: BorrowedFd<'_>) -> Result<Stat, Fault> {
    let stat = fstat(file)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(stat),
        FileType::Directory => Err(Fault::Directory),
        _ => Err(Fault::System(Errno::SPIPE)),
    }
}

pub(super) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// Appends a range of a file of known state to `out`.
pub(super) fn vec_from(file: BorrowedFd<'_>, stat: &Stat, range: ByteRange, out: &mut Vec<u8>) -> Result<(), Fault> {
    let len = size(stat).saturating_sub(range.offset).min(range.len.unwrap_or(u64::MAX));
    let want = usize::try_from(len).map_err(|_| Fault::Memory(len))?;
    out.try_reserve_exact(want).map_err(|_| Fault::Memory(len))?;
    // The whole capacity is read into, unless that would read far more than is wanted.
    let spare = out.capacity() <= want.saturating_mul(2).max(SMALL);
    if !spare {
        out.resize(want, 0);
    }
    let mut read = 0;
    while read < want {
        let at = range.offset + read as u64;
        let more = match spare {
            true => retry_on_intr(|| pread(file, spare_capacity(out), at))?,
            false => retry_on_intr(|| pread(file, &mut out[read..], at))?,
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
enum Pieces<'r> {
    Every { offset: u64, len: u64, step: u64, count: usize },
    List(&'r [ByteRange]),
}

impl<'r> Pieces<'r> {
    /// `None` if a length is missing, an end does not fit 64 bits, or there is nothing to read piecewise.
    fn of(ranges: &'r Ranges) -> Option<Self> {
        match ranges {
            Ranges::One(range) => Some(Self::Every { offset: range.offset, len: range.len?, step: 0, count: 1 }),
            Ranges::Strided { first, step, count } => {
                let len = first.len?;
                let last = u64::from(count.saturating_sub(1)).checked_mul(*step)?;
                first.offset.checked_add(last)?.checked_add(len)?;
                let count = if len == 0 { 0 } else { usize::try_from(*count).ok()? };
                Some(Self::Every { offset: first.offset, len, step: *step, count })
            }
            Ranges::List(list) => {
                let fits = |range: &ByteRange| range.len.and_then(|len| range.offset.checked_add(len)).is_some();
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

    fn total(self, limit: usize) -> Result<usize, Fault> {
        let mut total = 0_u64;
        match self {
            Self::Every { len, count, .. } => total = len.saturating_mul(count as u64),
            Self::List(list) => {
                for range in list {
                    total = total.saturating_add(range.len.unwrap_or(0));
                }
            }
        }
        usize::try_from(total).ok().filter(|&total| total <= limit).ok_or(Fault::TooLong(limit))
    }

    /// Appends all pieces to `out`, each as a whole.
    fn read(self, file: BorrowedFd<'_>, out: &mut OutBuf<'_>, span: &mut Memory) -> Result<(), Fault> {
        let mut index = 0;
        while index < self.count() {
            let (offset, len) = self.piece(index);
            let (mut end, mut next) = (offset + len, index + 1);
            while next < self.count() {
                let (start, len) = self.piece(next);
                if start < end || start - end > GAP || start + len - offset > SPAN {
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
                    // There is room for the total of all pieces.
                    out.put(part).map_err(|_| Fault::Ranges)?;
                }
            }
            index = next;
        }
        if out.filled().is_empty() { want_regular(file).map(|_| ()) } else { Ok(()) }
    }

    fn short(self, file: BorrowedFd<'_>, index: usize, end: u64) -> Fault {
        let (offset, len) = self.piece(index);
        want_regular(file).err().unwrap_or(Fault::Short { offset, len, end })
    }
}
