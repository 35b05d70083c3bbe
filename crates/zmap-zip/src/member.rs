//! The data of members: finding their position, and reading them whole or in part.

use std::collections::HashMap;
use std::io::{self, Read};
use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::source::ByteSource;
use nczarr_storage::{ByteRange, OutBuf};
use zip::ZipArchive;

use crate::listing::{MemberEntry, MemberStorage};
use crate::records::{LOCAL, LOCAL_LEN, u16_at};
use crate::scratch::Scratch;
use crate::source::{ArchiveSource, SourceCursor};

/// The largest expansion of a byte by deflate.
const RATIO: usize = 1032;

/// The largest compressed member whose data are cached.
const MAX_CACHED: u64 = 64 << 20;

/// Reads members.
pub(crate) struct MemberReader {
    pub(crate) source: ArchiveSource,
    /// The end of the archive at opening.
    end: u64,
    /// The reader of compressed members, made on demand.
    unpacker: OnceLock<Unpacker>,
    /// The last decompressed member with its position, because callers often read its parts one after
    /// another.
    unpacked: Mutex<Option<(u64, Arc<Vec<u8>>)>>,
}

/// Bytes of a member that are in memory.
pub(crate) enum MemberBytes<'m> {
    /// In the archive.
    Archive(&'m [u8]),
    /// A part of its decompressed bytes.
    Unpacked { bytes: Arc<Vec<u8>>, range: Range<usize> },
}

impl Deref for MemberBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Archive(bytes) => bytes,
            Self::Unpacked { bytes, range } => &bytes[range.clone()],
        }
    }
}

/// The reader of the crate `zip`, and its member numbers.
struct Unpacker {
    /// Clones share the parsed directory.
    archive: ZipArchive<SourceCursor>,
    /// Its member numbers, by position of the directory record.
    numbers: HashMap<u64, usize>,
}

impl Unpacker {
    fn new(archive: ZipArchive<SourceCursor>) -> Self {
        let record = |number| Some((archive.by_index_data(number).ok()?.central_header_start(), number));
        let numbers = (0..archive.len()).filter_map(record).collect();
        Self { archive, numbers }
    }
}

impl MemberReader {
    /// Makes a reader of an archive that ends at `end`; `archive` is the crate's reader, if it exists
    /// already.
    pub(crate) fn new(source: ArchiveSource, end: u64, archive: Option<ZipArchive<SourceCursor>>) -> Self {
        let unpacker = archive.map_or_else(OnceLock::new, |archive| OnceLock::from(Unpacker::new(archive)));
        Self { source, end, unpacker, unpacked: Mutex::default() }
    }

    /// Returns the remote source.
    pub(crate) fn remote(&self) -> Option<&Arc<dyn ByteSource>> {
        match &self.source {
            ArchiveSource::Remote(source) => Some(source),
            _ => None,
        }
    }

    /// Returns the bytes of a range, up to the end of the member, if they are in memory: in an archive in
    /// memory, or of a compressed member.
    pub(crate) fn lend(&self, entry: &MemberEntry, range: ByteRange) -> Result<Option<MemberBytes<'_>>> {
        let (from, len) = cut(entry, range);
        match entry.form {
            MemberStorage::Bad(flaw) => Err(ErrorKind::Io.context(flaw.text())),
            MemberStorage::Packed => {
                let bytes = self.unpack(entry, from + len)?;
                // `unpack` guarantees these bytes.
                Ok(Some(MemberBytes::Unpacked { bytes, range: from as usize..(from + len) as usize }))
            }
            MemberStorage::Stored if !matches!(self.source, ArchiveSource::Memory(_)) => Ok(None),
            MemberStorage::Stored => {
                let at = if len > 0 { self.begin(entry)? + from } else { 0 };
                let lent = self.source.lend(usize::try_from(len).map_err(|_| memory(len))?, at);
                let Some(bytes) = lent.map_err(|error| failed(at, error))? else { return Ok(None) };
                check(entry, bytes)?;
                Ok(Some(MemberBytes::Archive(bytes)))
            }
        }
    }

    /// Appends the bytes of a range, up to the end of the member.
    pub(crate) fn append(&self, entry: &MemberEntry, range: ByteRange, out: &mut Vec<u8>) -> Result<()> {
        if let Some(bytes) = self.lend(entry, range)? {
            out.try_reserve_exact(bytes.len()).map_err(|_| memory(bytes.len() as u64))?;
            out.extend_from_slice(&bytes);
            return Ok(());
        }
        let before = out.len();
        let (from, len) = cut(entry, range);
        let room = usize::try_from(len).map_err(|_| memory(len))?;
        if room > 0 {
            let at = self.begin(entry)? + from;
            self.source.append(room, at, out).map_err(|error| failed(at, error))?;
        }
        check(entry, &out[before..])
    }

    /// Appends the bytes of a range, up to the end of the member, to memory that is used again.
    pub(crate) fn append_to_scratch(
        &self,
        entry: &MemberEntry,
        range: ByteRange,
        scratch: &mut Scratch,
    ) -> Result<()> {
        if let Some(bytes) = self.lend(entry, range)? {
            return scratch.append(bytes.len(), |room| {
                room.copy_from_slice(&bytes);
                Ok(())
            });
        }
        let (from, len) = cut(entry, range);
        scratch.append(usize::try_from(len).map_err(|_| memory(len))?, |room| {
            if !room.is_empty() {
                let at = self.begin(entry)? + from;
                self.source.read(room, at).map_err(|error| failed(at, error))?;
            }
            check(entry, room)
        })
    }

    /// Fills `out` from `offset` on, up to the end of the member.
    pub(crate) fn read_into(&self, entry: &MemberEntry, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        out.clear();
        let range = ByteRange::new(offset, out.capacity() as u64);
        if let Some(bytes) = self.lend(entry, range)? {
            return out.put(&bytes);
        }
        let (from, len) = cut(entry, range);
        if len > 0 {
            // Bounded by the capacity.
            self.source.fill(len as usize, self.begin(entry)? + from, out)?;
        }
        check(entry, out.filled())
    }

    /// Returns the position of a member's data.
    pub(crate) fn begin(&self, entry: &MemberEntry) -> Result<u64> {
        if let Some(data) = entry.data() {
            return Ok(data);
        }
        let mut record = [0; LOCAL_LEN];
        let at = entry.at;
        self.source
            .read(&mut record, at)
            .map_err(|error| Error::io(format!("a member's head at {at}"), error))?;
        data_of(entry, &record)
    }

    fn unpacker(&self) -> zip::result::ZipResult<&Unpacker> {
        if let Some(unpacker) = self.unpacker.get() {
            return Ok(unpacker);
        }
        // Failures are not cached.
        let made = Unpacker::new(ZipArchive::new(SourceCursor::new(self.source.clone(), self.end))?);
        Ok(self.unpacker.get_or_init(|| made))
    }

    /// Returns at least the first `until` bytes of a compressed member.
    fn unpack(&self, entry: &MemberEntry, until: u64) -> Result<Arc<Vec<u8>>> {
        let kept = || self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, bytes)) = &*kept()
            && *at == entry.at
        {
            return Ok(Arc::clone(bytes));
        }
        let fail =
            |error: zip::result::ZipError| ErrorKind::Io.context("it cannot be unpacked").caused_by(error);
        let unpacker = self.unpacker().map_err(fail)?;
        let number = entry.central.and_then(|at| unpacker.numbers.get(&at)).copied();
        let number =
            number.ok_or_else(|| ErrorKind::Io.context("it cannot be unpacked; it is in no directory"))?;
        let mut archive = unpacker.archive.clone();
        let (member, verifies) = unpacked_member(&mut archive, number).map_err(fail)?;
        // For a part of a large member, only that part is decompressed.
        let whole = until == entry.len || entry.len <= MAX_CACHED;
        let want = if whole { entry.len } else { until };
        let mut bytes = Vec::new();
        let most = usize::try_from(want).map_err(|_| memory(want))?;
        // The length is only declared: memory beyond the possible expansion is taken as bytes arrive.
        let possible = usize::try_from(entry.stored).unwrap_or(usize::MAX).saturating_mul(RATIO).max(1 << 20);
        bytes.try_reserve_exact(most.min(possible)).map_err(|_| memory(want))?;
        // One more byte detects a longer member.
        let end = if whole { want.saturating_add(1) } else { want };
        let read = member.take(end).read_to_end(&mut bytes);
        read.map_err(|error| Error::io("unpacking it", error))?;
        if bytes.len() as u64 != want {
            let found = bytes.len();
            return Err(ErrorKind::Io.context(format!(
                "the member has the wrong length (expected {} bytes, found {found})",
                entry.len
            )));
        }
        if !verifies {
            check(entry, &bytes)?;
        }
        let bytes = Arc::new(bytes);
        if whole && want <= MAX_CACHED {
            *kept() = Some((entry.at, Arc::clone(&bytes)));
        }
        Ok(bytes)
    }
}

/// Returns a reader of a compressed member, and whether it verifies the checksum at the end.
fn unpacked_member(
    archive: &mut ZipArchive<SourceCursor>,
    number: usize,
) -> zip::result::ZipResult<(Box<dyn Read + '_>, bool)> {
    #[cfg(any(feature = "lzma", feature = "zstd"))]
    {
        let data = archive.by_index_data(number)?;
        let (method, is_encrypted) = (data.compression(), data.encrypted());
        #[cfg(feature = "lzma")]
        let len = data.size();
        #[cfg(feature = "lzma")]
        if crate::lzma::unpacks(method) && !is_encrypted {
            return Ok((crate::lzma::unpacked(method, archive.by_index_raw(number)?, len)?, false));
        }
        #[cfg(feature = "zstd")]
        if method == zip::CompressionMethod::ZSTD && !is_encrypted {
            return Ok((crate::zstd::unpacked(archive.by_index_raw(number)?)?, false));
        }
    }
    Ok((Box::new(archive.by_index(number)?), true))
}

/// Returns the position of a member's data from its local header, and records it.
fn data_of(entry: &MemberEntry, record: &[u8; LOCAL_LEN]) -> Result<u64> {
    let at = entry.at;
    if !record.starts_with(&LOCAL) {
        return Err(ErrorKind::Io
            .context(format!("no member begins at byte {at}, although the directory has one there")));
    }
    let head = LOCAL_LEN as u64 + u64::from(u16_at(record, 26)) + u64::from(u16_at(record, 28));
    let data = at.checked_add(head).filter(|data| data.checked_add(entry.stored).is_some());
    let data = data.ok_or_else(|| {
        ErrorKind::Io.context(format!("the end of the member at byte {at} exceeds 64 bits"))
    })?;
    entry.set_data(data);
    Ok(data)
}

/// Reserve for extra fields between a member's name and its data.
const EXTRA: u64 = 64;

/// Returns the position of an uncompressed member or its local header, and the range that probably contains
/// all of it.
pub(crate) fn around(entry: &MemberEntry, name: usize) -> (u64, ByteRange) {
    match entry.data() {
        Some(data) => (data, ByteRange::new(data, entry.len)),
        None => {
            let head = (LOCAL_LEN + name) as u64 + EXTRA;
            (entry.at, ByteRange::new(entry.at, head.saturating_add(entry.len)))
        }
    }
}

/// The state of an uncompressed member after a read.
pub(crate) enum RemoteMember {
    Whole(Vec<u8>),
    /// Its data begin further behind.
    There(ByteRange),
}

/// Extracts an uncompressed member from the bytes at `at` (see [`around`]).
pub(crate) fn within(entry: &MemberEntry, at: u64, mut bytes: Vec<u8>) -> Result<RemoteMember> {
    let data = match entry.data() {
        Some(data) => data,
        None => {
            let record = bytes.first_chunk().filter(|_| at == entry.at);
            data_of(
                entry,
                record.ok_or_else(|| {
                    ErrorKind::Io.context(format!("the header of the member at byte {at} is incomplete"))
                })?,
            )?
        }
    };
    let len = usize::try_from(entry.len).map_err(|_| memory(entry.len))?;
    let from = data.checked_sub(at).and_then(|from| usize::try_from(from).ok());
    match from.filter(|&from| bytes.get(from..).is_some_and(|rest| rest.len() >= len)) {
        Some(from) => {
            bytes.truncate(from + len);
            bytes.drain(..from);
            check(entry, &bytes)?;
            Ok(RemoteMember::Whole(bytes))
        }
        None if at == data => {
            let found = bytes.len();
            Err(ErrorKind::Io.context(format!(
                "the member at byte {data} is incomplete (expected {len} bytes, found {found})"
            )))
        }
        None => Ok(RemoteMember::There(ByteRange::new(data, entry.len))),
    }
}

/// Returns first byte and length of a range within the member.
fn cut(entry: &MemberEntry, range: ByteRange) -> (u64, u64) {
    let from = range.offset.min(entry.len);
    (from, range.len.unwrap_or(u64::MAX).min(entry.len - from))
}

/// Verifies the checksum, if these are all bytes of a member.
fn check(entry: &MemberEntry, bytes: &[u8]) -> Result<()> {
    if bytes.len() as u64 != entry.len {
        return Ok(());
    }
    let found = crc32fast::hash(bytes);
    if found != entry.crc {
        return Err(ErrorKind::Io.context(format!(
            "the data are damaged (expected checksum {:08x}, found {found:08x})",
            entry.crc
        )));
    }
    Ok(())
}

fn failed(at: u64, error: io::Error) -> Error {
    Error::io(format!("bytes from {at}"), error)
}

fn memory(len: u64) -> Error {
    ErrorKind::NoMem.context(format!("not enough memory for {len} bytes"))
}
