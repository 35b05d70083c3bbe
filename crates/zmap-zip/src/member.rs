//! The bytes of a member: where they begin, and reading them, whole or in part.

use std::collections::HashMap;
use std::io::Read;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use nczarr_dispatch::{ByteRange, ByteSource, OutBuf};
use nczarr_model::{Error, ErrorKind, Result};
use zip::ZipArchive;

use crate::listing::{Entry, Form};
use crate::records::{LOCAL, LOCAL_LEN, u16_at};
use crate::source::{Cursor, Source};

/// What a byte of deflate becomes at most.
const RATIO: usize = 1032;

/// The largest compressed member that is kept unpacked.
const KEPT: u64 = 64 << 20;

/// What reads members.
pub(crate) struct Members {
    pub(crate) source: Source,
    /// Where the archive ended when it was opened.
    end: u64,
    /// For members that are compressed, once there was one.
    unpacker: OnceLock<Unpacker>,
    /// The member unpacked last, by its place: parts of it are asked for one after another.
    unpacked: Mutex<Option<(u64, Arc<Vec<u8>>)>>,
}

/// The library, and which member is which to it.
struct Unpacker {
    /// Its clones share what was read of the directory.
    archive: ZipArchive<Cursor>,
    /// The numbers of its members, by where their records in the directory are.
    numbers: HashMap<u64, usize>,
}

impl Unpacker {
    fn new(archive: ZipArchive<Cursor>) -> Self {
        let record = |number| Some((archive.by_index_data(number).ok()?.central_header_start(), number));
        let numbers = (0..archive.len()).filter_map(record).collect();
        Self { archive, numbers }
    }
}

impl Members {
    /// Reads from an archive that ends at `end`; `archive` is the library's view of it, if there is one already.
    pub(crate) fn new(source: Source, end: u64, archive: Option<ZipArchive<Cursor>>) -> Self {
        let unpacker = archive.map_or_else(OnceLock::new, |archive| OnceLock::from(Unpacker::new(archive)));
        Self { source, end, unpacker, unpacked: Mutex::default() }
    }

    /// What lies elsewhere.
    pub(crate) fn elsewhere(&self) -> Option<&Arc<dyn ByteSource>> {
        match &self.source {
            Source::Elsewhere(source) => Some(source),
            _ => None,
        }
    }

    /// Appends the bytes of a range; what is beyond the end is left out.
    pub(crate) fn append(&self, entry: &Entry, range: ByteRange, out: &mut Vec<u8>) -> Result<()> {
        let before = out.len();
        let (from, len) = cut(entry, range);
        match entry.form {
            Form::Bad(flaw) => Err(ErrorKind::Io.context(flaw.text())),
            Form::Stored => {
                let room = usize::try_from(len).map_err(|_| memory(len))?;
                if room > 0 {
                    let at = self.begin(entry)? + from;
                    let read = self.source.append(room, at, out);
                    read.map_err(|error| Error::io(format!("bytes from {at}"), error))?;
                }
                check(entry, &out[before..])
            }
            Form::Packed => {
                let bytes = self.unpack(entry, from + len)?;
                // What was asked for is there: `unpack` has seen to it.
                out.extend_from_slice(&bytes[from as usize..(from + len) as usize]);
                Ok(())
            }
        }
    }

    /// Fills `out` from `offset` on, as far as there is anything.
    pub(crate) fn read_into(&self, entry: &Entry, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        out.clear();
        let (from, len) = cut(entry, ByteRange::new(offset, out.capacity() as u64));
        match entry.form {
            Form::Bad(flaw) => Err(ErrorKind::Io.context(flaw.text())),
            Form::Stored => {
                if len > 0 {
                    // It is not more than the capacity.
                    self.source.fill(len as usize, self.begin(entry)? + from, out)?;
                }
                check(entry, out.filled())
            }
            Form::Packed => {
                let bytes = self.unpack(entry, from + len)?;
                out.put(&bytes[from as usize..(from + len) as usize])
            }
        }
    }

    /// Where the bytes of a member begin.
    pub(crate) fn begin(&self, entry: &Entry) -> Result<u64> {
        if let Some(data) = entry.data() {
            return Ok(data);
        }
        let mut record = [0; LOCAL_LEN];
        let at = entry.at;
        self.source.read(&mut record, at).map_err(|error| Error::io(format!("a member's head at {at}"), error))?;
        data_of(entry, &record)
    }

    fn unpacker(&self) -> zip::result::ZipResult<&Unpacker> {
        if let Some(unpacker) = self.unpacker.get() {
            return Ok(unpacker);
        }
        // Nothing is kept of a failure.
        let made = Unpacker::new(ZipArchive::new(Cursor::new(self.source.clone(), self.end))?);
        Ok(self.unpacker.get_or_init(|| made))
    }

    /// The first `until` bytes of a compressed member, or more.
    fn unpack(&self, entry: &Entry, until: u64) -> Result<Arc<Vec<u8>>> {
        let kept = || self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, bytes)) = &*kept()
            && *at == entry.at
        {
            return Ok(Arc::clone(bytes));
        }
        let fail = |error: zip::result::ZipError| ErrorKind::Io.context("it cannot be unpacked").caused_by(error);
        let unpacker = self.unpacker().map_err(fail)?;
        let number = entry.central.and_then(|at| unpacker.numbers.get(&at)).copied();
        let number = number.ok_or_else(|| ErrorKind::Io.context("it cannot be unpacked: it is in no directory"))?;
        let mut archive = unpacker.archive.clone();
        let member = archive.by_index(number).map_err(fail)?;
        // A part of a large one is not worth all of it.
        let whole = until == entry.len || entry.len <= KEPT;
        let want = if whole { entry.len } else { until };
        let mut bytes = Vec::new();
        let most = usize::try_from(want).map_err(|_| memory(want))?;
        // The length is what the directory says: beyond what so few bytes can become, memory is taken as bytes come.
        let possible = usize::try_from(entry.stored).unwrap_or(usize::MAX).saturating_mul(RATIO).max(1 << 20);
        bytes.try_reserve_exact(most.min(possible)).map_err(|_| memory(want))?;
        // One more shows that there is more, and at the end the checksum is compared.
        let end = if whole { want.saturating_add(1) } else { want };
        let read = member.take(end).read_to_end(&mut bytes);
        read.map_err(|error| Error::io("unpacking it", error))?;
        if bytes.len() as u64 != want {
            let found = bytes.len();
            return Err(ErrorKind::Io.context(format!("{} bytes expected, unpacking it gave {found}", entry.len)));
        }
        let bytes = Arc::new(bytes);
        if whole && want <= KEPT {
            *kept() = Some((entry.at, Arc::clone(&bytes)));
        }
        Ok(bytes)
    }
}

/// Where the bytes of a member begin, by the record before it; it is kept.
fn data_of(entry: &Entry, record: &[u8; LOCAL_LEN]) -> Result<u64> {
    let at = entry.at;
    if !record.starts_with(&LOCAL) {
        return Err(ErrorKind::Io.context(format!("no member begins at byte {at}, where the directory says one does")));
    }
    let head = LOCAL_LEN as u64 + u64::from(u16_at(record, 26)) + u64::from(u16_at(record, 28));
    let data = at.checked_add(head).filter(|data| data.checked_add(entry.stored).is_some());
    let data = data.ok_or_else(|| ErrorKind::Io.context(format!("the member at byte {at} has no end")))?;
    entry.begins(data);
    Ok(data)
}

/// Bytes for what may stand between a member's name and its data.
const EXTRA: u64 = 64;

/// Where a stored member of that name, or its record, begins, and the range that probably holds all of it.
pub(crate) fn around(entry: &Entry, name: usize) -> (u64, ByteRange) {
    match entry.data() {
        Some(data) => (data, ByteRange::new(data, entry.len)),
        None => {
            let head = (LOCAL_LEN + name) as u64 + EXTRA;
            (entry.at, ByteRange::new(entry.at, head.saturating_add(entry.len)))
        }
    }
}

/// A stored member, as far as it was read.
pub(crate) enum Came {
    Whole(Vec<u8>),
    /// It stands further behind than was thought.
    There(ByteRange),
}

/// A stored member, out of the bytes that were read from `at` on ([`around`]).
pub(crate) fn within(entry: &Entry, at: u64, mut bytes: Vec<u8>) -> Result<Came> {
    let data = match entry.data() {
        Some(data) => data,
        None => {
            let record = bytes.first_chunk().filter(|_| at == entry.at);
            data_of(entry, record.ok_or_else(|| ErrorKind::Io.context(format!("a member's head at {at} is cut")))?)?
        }
    };
    let len = usize::try_from(entry.len).map_err(|_| memory(entry.len))?;
    let from = data.checked_sub(at).and_then(|from| usize::try_from(from).ok());
    match from.filter(|&from| bytes.get(from..).is_some_and(|rest| rest.len() >= len)) {
        Some(from) => {
            bytes.truncate(from + len);
            bytes.drain(..from);
            check(entry, &bytes)?;
            Ok(Came::Whole(bytes))
        }
        None if at == data => {
            let found = bytes.len();
            Err(ErrorKind::Io.context(format!("bytes {data} + {len} wanted, {found} are there")))
        }
        None => Ok(Came::There(ByteRange::new(data, entry.len))),
    }
}

/// First byte and length of a range, as far as there is one.
fn cut(entry: &Entry, range: ByteRange) -> (u64, u64) {
    let from = range.offset.min(entry.len);
    (from, range.len.unwrap_or(u64::MAX).min(entry.len - from))
}

/// Compares the checksum, if these are all bytes of a member.
fn check(entry: &Entry, bytes: &[u8]) -> Result<()> {
    if bytes.len() as u64 != entry.len {
        return Ok(());
    }
    let found = crc32fast::hash(bytes);
    if found != entry.crc {
        return Err(
            ErrorKind::Io.context(format!("damaged: its checksum is {:08x}, that of its bytes {found:08x}", entry.crc))
        );
    }
    Ok(())
}

fn memory(len: u64) -> Error {
    ErrorKind::NoMem.context(format!("no memory for {len} bytes"))
}
