//! [`HeaderCursor`]: reads the numbers, names and values of a header in order.
//!
//! The cursor reads the file in blocks and converts values directly, so no data are in memory twice. It
//! allocates memory only for counts that fit the rest of the file. It counts the memory for names, values,
//! tables and copies before each allocation. The sum may exceed the size of the file by `Limits::metadata`.
//!
//! Source: the grammar of the netCDF classic format specification, and its 64-bit variants.

use nczarr_dispatch::Limits;
use nczarr_model::{Error, ErrorKind, NcType, Result, Values};

use crate::kind::CdfVersion;
use crate::store::FileStore;

/// The size of the first read: most headers are shorter.
const FIRST: u64 = 16 << 10;

/// The size of later reads, a multiple of every element size.
const BLOCK: u64 = 128 << 10;

/// A position in a header.
#[derive(Debug)]
pub(crate) struct HeaderCursor<'s> {
    store: &'s FileStore,
    /// The size of the file.
    size: u64,
    /// The maximum length of a header.
    longest: u64,
    /// The remaining memory in bytes.
    room: u64,
    /// The maximum number of dimensions.
    pub(crate) rank: usize,
    pub(crate) kind: CdfVersion,
    /// Whether a name is not UTF-8.
    pub(crate) odd_names: bool,
    /// Names that zeros fill up: how many names came before, and the stored length.
    pub(crate) padded_names: Vec<(usize, usize)>,
    /// The number of names that were read.
    names: usize,
    block: Vec<u8>,
    /// The position in the block.
    done: usize,
    /// The offset of the next byte.
    at: u64,
}

/// Describes the value that is read, for errors.
pub(crate) type What<'w> = &'w dyn Fn() -> String;

impl<'s> HeaderCursor<'s> {
    /// Creates a cursor at the start of a file of `size` bytes.
    pub(crate) fn new(store: &'s FileStore, size: u64, limits: &Limits) -> Self {
        Self {
            store,
            size,
            longest: limits.document,
            room: limits.metadata.saturating_add(size),
            rank: limits.rank,
            kind: CdfVersion::Cdf1,
            odd_names: false,
            padded_names: Vec::new(),
            names: 0,
            block: Vec::new(),
            done: 0,
            at: 0,
        }
    }

    /// Copies the cursor, to look ahead.
    pub(crate) fn ahead(&self) -> Self {
        let block = self.block.get(self.done..).unwrap_or_default().to_vec();
        Self {
            block,
            padded_names: Vec::new(),
            done: 0,
            longest: self.longest.min(self.at.saturating_add(FIRST)),
            ..*self
        }
    }

    /// Returns the offset of the next byte.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Returns the number of remaining bytes.
    pub(crate) fn rest(&self) -> u64 {
        self.size.saturating_sub(self.at)
    }

    /// Returns the error for `bytes` bytes that exceed the file.
    pub(crate) fn ends(&self, bytes: impl std::fmt::Display, what: What<'_>) -> Error {
        let (at, rest) = (self.at, self.rest());
        ErrorKind::Trunc.context(format!(
            "byte {at}: {}: unexpected end of the file (expected {bytes} bytes, found {rest})",
            what()
        ))
    }

    /// Counts bytes of memory.
    ///
    /// # Errors
    /// `NC_EFILEMETA` if the limit is exceeded.
    pub(crate) fn charge(&mut self, bytes: Option<u64>, what: What<'_>) -> Result<()> {
        match bytes.and_then(|bytes| self.room.checked_sub(bytes)) {
            Some(room) => {
                self.room = room;
                Ok(())
            }
            None => {
                let (at, room) = (self.at, self.room);
                let what = format!(
                    "byte {at}: {}: needs more memory than the remaining limit of {room} bytes",
                    what()
                );
                Err(ErrorKind::FileMeta.context(what))
            }
        }
    }

    /// Checks that `len` more bytes are in the file and within the limit of a header.
    pub(crate) fn need(&self, len: u64, what: What<'_>) -> Result<()> {
        if len > self.rest() {
            return Err(self.ends(len, what));
        }
        if self.at.checked_add(len).is_some_and(|end| end <= self.longest) {
            Ok(())
        } else {
            let (at, most) = (self.at, self.longest);
            let what = format!("byte {at}: {}: {len} bytes exceed the limit of {most} for a header", what());
            Err(ErrorKind::FileMeta.context(what))
        }
    }

    /// Returns the next whole elements of the block: at most `most` bytes, which is not 0 and within the
    /// file.
    fn piece(&mut self, most: u64, item: usize) -> Result<&[u8]> {
        let whole = |bytes: usize| {
            let len = usize::try_from(most).unwrap_or(usize::MAX).min(bytes);
            len - len % item
        };
        let mut len = whole(self.block.len() - self.done);
        if len == 0 {
            let wanted = if self.at == 0 { FIRST } else { BLOCK };
            self.block.clear();
            self.done = 0;
            self.block = self.store.read(self.at, wanted.min(self.rest()))?;
            len = whole(self.block.len());
            if len == 0 {
                // The file was truncated meanwhile.
                return Err(ErrorKind::Trunc.context(format!("byte {}: the file ends", self.at)));
            }
        }
        let start = self.done;
        self.done += len;
        self.at += len as u64;
        Ok(&self.block[start..self.done])
    }

    /// Reads a number of `width` bytes.
    ///
    /// # Errors
    /// `NC_ETRUNC` if the file ends early; otherwise the system's error.
    pub(crate) fn number(&mut self, width: usize, what: What<'_>) -> Result<u64> {
        self.need(width as u64, what)?;
        let bytes = self.piece(width as u64, width)?;
        Ok(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// Reads a count in the width of the format.
    ///
    /// # Errors
    /// As [`HeaderCursor::number`].
    pub(crate) fn count(&mut self, what: What<'_>) -> Result<u64> {
        self.number(self.kind.count_width(), what)
    }

    /// Reads a number of four bytes.
    ///
    /// # Errors
    /// As [`HeaderCursor::number`].
    pub(crate) fn word(&mut self, what: What<'_>) -> Result<u32> {
        Ok(self.number(4, what)? as u32)
    }

    /// Reads `entries` elements of `item` bytes, each converted by `of`.
    fn elements<T>(
        &mut self,
        entries: u64,
        item: usize,
        what: What<'_>,
        of: impl Fn(&[u8]) -> T,
    ) -> Result<Vec<T>> {
        let len = entries.checked_mul(item as u64);
        let len = len.ok_or_else(|| self.ends(format_args!("{entries} times {item}"), what))?;
        self.need(len, what)?;
        self.charge(Some(len), what)?;
        let mut all = Vec::new();
        let most =
            usize::try_from(entries).map_err(|_| ErrorKind::NoMem.context(format!("{entries} elements")))?;
        all.try_reserve_exact(most)
            .map_err(|error| ErrorKind::NoMem.context(format!("{}: {len} bytes", what())).caused_by(error))?;
        let mut left = len;
        while left > 0 {
            let bytes = self.piece(left, item)?;
            all.extend(bytes.chunks_exact(item).map(&of));
            left -= bytes.len() as u64;
        }
        self.pad(what)?;
        Ok(all)
    }

    /// Skips padding to a multiple of four.
    fn pad(&mut self, what: What<'_>) -> Result<()> {
        match self.at.next_multiple_of(4) - self.at {
            0 => Ok(()),
            rest => {
                self.need(rest, what)?;
                // Byte by byte, since a block may end between them.
                (0..rest).try_for_each(|_| self.piece(1, 1).map(drop))
            }
        }
    }

    /// Reads a name that is not empty. `more`: the number of further copies of the name in memory.
    ///
    /// # Errors
    /// `NC_EBADNAME` for an empty one; as [`HeaderCursor::number`] and [`HeaderCursor::charge`].
    pub(crate) fn name(&mut self, more: u64, what: What<'_>) -> Result<String> {
        let at = self.at;
        let what = || format!("{}: its name", what());
        let len = self.count(&what)?;
        if len == 0 {
            return Err(ErrorKind::BadName.context(format!("byte {at}: {}: empty name", what())));
        }
        self.need(len, &what)?;
        self.charge(len.checked_mul(more), &what)?;
        let mut bytes = self.elements(len, 1, &what, |byte| byte[0])?;
        // netCDF-C fills up a name that became shorter with zeros, so that the header keeps its length.
        let stored = bytes.len();
        bytes.truncate(bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1));
        if bytes.len() < stored {
            self.padded_names.push((self.names, stored));
        }
        self.names += 1;
        if bytes.is_empty() {
            return Err(ErrorKind::BadName.context(format!("byte {at}: {}: empty name", what())));
        }
        match String::from_utf8(bytes) {
            Ok(name) => Ok(name),
            Err(error) => {
                self.odd_names = true;
                // Replacement characters are longer than invalid bytes.
                self.charge(len.checked_mul(3), &what)?;
                Ok(String::from_utf8_lossy(error.as_bytes()).into_owned())
            }
        }
    }

    /// Reads `entries` values of a type of fixed size.
    ///
    /// # Errors
    /// As [`HeaderCursor::number`]; `NC_ENOMEM`.
    pub(crate) fn values(&mut self, ty: NcType, entries: u64, what: What<'_>) -> Result<Values> {
        macro_rules! numbers {
            ($variant:ident, $type:ty) => {{
                let of = |bytes: &[u8]| <$type>::from_be_bytes(bytes.try_into().unwrap_or_default());
                Values::$variant(self.elements(entries, size_of::<$type>(), what, of)?)
            }};
        }
        Ok(match ty {
            NcType::Byte => numbers!(Byte, i8),
            NcType::Char => numbers!(Char, u8),
            NcType::Short => numbers!(Short, i16),
            NcType::Int => numbers!(Int, i32),
            NcType::Float => numbers!(Float, f32),
            NcType::Double => numbers!(Double, f64),
            NcType::UByte => numbers!(UByte, u8),
            NcType::UShort => numbers!(UShort, u16),
            NcType::UInt => numbers!(UInt, u32),
            NcType::Int64 => numbers!(Int64, i64),
            NcType::UInt64 => numbers!(UInt64, u64),
            _ => return Err(ErrorKind::BadType.context(format!("{}: type {}", what(), ty.name()))),
        })
    }
}
