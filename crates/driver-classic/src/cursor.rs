//! [`Cursor`]: a header's numbers, names and values one after another, as a file has them.
//!
//! The file is read a block at a time, and values go from there to where they stay, so that nothing is in memory twice.
//! Nothing is allocated for a number that the rest of the file cannot back; what will be in memory (names, values, tables,
//! second copies) is counted first: together it may be some limit more than the whole file.
//!
//! Source: the grammar of the netCDF classic format specification, and its 64-bit variants.

use nczarr_dispatch::Limits;
use nczarr_model::{Error, ErrorKind, NcType, Result, Values};

use crate::kind::Kind;
use crate::store::Store;

/// So much is read at first: all of most headers.
const FIRST: u64 = 16 << 10;

/// So much is read at once later. A multiple of the size of every element.
const BLOCK: u64 = 128 << 10;

/// A place in a header.
#[derive(Debug)]
pub(crate) struct Cursor<'s> {
    store: &'s Store,
    /// Bytes of the file.
    size: u64,
    /// No header is longer.
    longest: u64,
    /// Bytes that may still be in memory.
    room: u64,
    /// The most dimensions of a variable.
    pub(crate) rank: usize,
    pub(crate) kind: Kind,
    /// A name was not UTF-8.
    pub(crate) odd_names: bool,
    block: Vec<u8>,
    /// How much of the block is done.
    done: usize,
    /// The offset of the next byte.
    at: u64,
}

/// What is being read, for errors.
pub(crate) type What<'w> = &'w dyn Fn() -> String;

impl<'s> Cursor<'s> {
    /// The start of a file of `size` bytes.
    pub(crate) fn new(store: &'s Store, size: u64, limits: &Limits) -> Self {
        Self {
            store,
            size,
            longest: limits.document,
            room: limits.metadata.saturating_add(size),
            rank: limits.rank,
            kind: Kind::Cdf1,
            odd_names: false,
            block: Vec::new(),
            done: 0,
            at: 0,
        }
    }

    /// The same place again, to look what the next few bytes would mean.
    pub(crate) fn ahead(&self) -> Self {
        let block = self.block.get(self.done..).unwrap_or_default().to_vec();
        Self { block, done: 0, longest: self.longest.min(self.at.saturating_add(FIRST)), ..*self }
    }

    /// The offset of what comes next.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Bytes that the file still has.
    pub(crate) fn rest(&self) -> u64 {
        self.size.saturating_sub(self.at)
    }

    /// The error for something of `bytes` bytes that the rest of the file cannot hold.
    pub(crate) fn ends(&self, bytes: impl std::fmt::Display, what: What<'_>) -> Error {
        let (at, rest) = (self.at, self.rest());
        ErrorKind::Trunc.context(format!("byte {at}: {}: {bytes} bytes expected, the file has {rest} more", what()))
    }

    /// Counts bytes that are to be in memory.
    ///
    /// # Errors
    /// `NC_EFILEMETA` if there would be more than may be.
    pub(crate) fn charge(&mut self, bytes: Option<u64>, what: What<'_>) -> Result<()> {
        match bytes.and_then(|bytes| self.room.checked_sub(bytes)) {
            Some(room) => {
                self.room = room;
                Ok(())
            }
            None => {
                let (at, room) = (self.at, self.room);
                let what =
                    format!("byte {at}: {}: it takes more memory than the {room} bytes left of the limit", what());
                Err(ErrorKind::FileMeta.context(what))
            }
        }
    }

    /// Sees to it that `len` more bytes are in the file and may be in a header.
    pub(crate) fn need(&self, len: u64, what: What<'_>) -> Result<()> {
        if len > self.rest() {
            return Err(self.ends(len, what));
        }
        match self.at.checked_add(len).is_some_and(|end| end <= self.longest) {
            true => Ok(()),
            false => {
                let (at, most) = (self.at, self.longest);
                let what = format!("byte {at}: {}: {len} bytes; a header has at most {most}", what());
                Err(ErrorKind::FileMeta.context(what))
            }
        }
    }

    /// The next bytes that are at hand: at most `most`, which is not 0 and which the file has; whole elements.
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
                // It was longer when its size was asked for.
                return Err(ErrorKind::Trunc.context(format!("byte {}: the file ends", self.at)));
            }
        }
        let start = self.done;
        self.done += len;
        self.at += len as u64;
        Ok(&self.block[start..self.done])
    }

    /// A number of `width` bytes.
    ///
    /// # Errors
    /// `NC_ETRUNC` if the file ends before; what the system says.
    pub(crate) fn number(&mut self, width: usize, what: What<'_>) -> Result<u64> {
        self.need(width as u64, what)?;
        let bytes = self.piece(width as u64, width)?;
        Ok(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// A count, as wide as the format has them.
    ///
    /// # Errors
    /// As [`Cursor::number`].
    pub(crate) fn count(&mut self, what: What<'_>) -> Result<u64> {
        self.number(self.kind.count_width(), what)
    }

    /// A number of four bytes.
    ///
    /// # Errors
    /// As [`Cursor::number`].
    pub(crate) fn word(&mut self, what: What<'_>) -> Result<u32> {
        Ok(self.number(4, what)? as u32)
    }

    /// `entries` elements of `item` bytes, each made of its bytes by `of`.
    fn elements<T>(&mut self, entries: u64, item: usize, what: What<'_>, of: impl Fn(&[u8]) -> T) -> Result<Vec<T>> {
        let len = entries.checked_mul(item as u64);
        let len = len.ok_or_else(|| self.ends(format_args!("{entries} times {item}"), what))?;
        self.need(len, what)?;
        self.charge(Some(len), what)?;
        let mut all = Vec::new();
        let most = usize::try_from(entries).map_err(|_| ErrorKind::NoMem.context(format!("{entries} elements")))?;
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

    /// Skips to a multiple of four; what stands there means nothing.
    fn pad(&mut self, what: What<'_>) -> Result<()> {
        match self.at.next_multiple_of(4) - self.at {
            0 => Ok(()),
            rest => {
                self.need(rest, what)?;
                // A byte at a time: a block may end between them.
                (0..rest).try_for_each(|_| self.piece(1, 1).map(drop))
            }
        }
    }

    /// A name, which is never empty and will be in memory `more` times beside.
    ///
    /// # Errors
    /// `NC_EBADNAME` for an empty one; as [`Cursor::number`] and [`Cursor::charge`].
    pub(crate) fn name(&mut self, more: u64, what: What<'_>) -> Result<String> {
        let at = self.at;
        let what = || format!("{}: its name", what());
        let len = self.count(&what)?;
        if len == 0 {
            return Err(ErrorKind::BadName.context(format!("byte {at}: {}: it is empty", what())));
        }
        self.need(len, &what)?;
        self.charge(len.checked_mul(more), &what)?;
        let bytes = self.elements(len, 1, &what, |byte| byte[0])?;
        match String::from_utf8(bytes) {
            Ok(name) => Ok(name),
            Err(error) => {
                self.odd_names = true;
                // What stands for bytes that are no text is longer than they are.
                self.charge(len.checked_mul(3), &what)?;
                Ok(String::from_utf8_lossy(error.as_bytes()).into_owned())
            }
        }
    }

    /// `entries` values of a type, which has a size.
    ///
    /// # Errors
    /// As [`Cursor::number`]; `NC_ENOMEM`.
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
