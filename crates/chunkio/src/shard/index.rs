//! [`Index`]: where the chunks of one shard are. What it says is somebody else's word: every look checks it.

use nczarr_model::{ErrorKind, Result};

/// Bytes of an entry: an offset and a length.
pub(crate) const ENTRY: usize = 16;

/// What stands for both in the entry of a chunk that is not there.
const MISSING: u64 = u64::MAX;

/// Where a chunk is, in bytes from the start of its shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

impl Entry {
    pub(crate) const MISSING: Self = Self { offset: MISSING, len: MISSING };
}

/// Where the chunks of one shard are.
#[derive(Debug, Clone)]
pub(crate) struct Index(Box<[Entry]>);

impl Index {
    pub(crate) fn new(entries: Box<[Entry]>) -> Self {
        Self(entries)
    }

    /// Of a shard without chunks.
    pub(crate) fn empty(total: usize) -> Self {
        Self(vec![Entry::MISSING; total].into())
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.0
    }

    pub(crate) fn set(&mut self, number: usize, entry: Entry) {
        if let Some(place) = self.0.get_mut(number) {
            *place = entry;
        }
    }

    /// Bytes of memory it takes.
    pub(crate) fn cost(&self) -> usize {
        self.0.len() * ENTRY
    }

    /// Where a chunk is; `None` if it is missing.
    pub(crate) fn find(&self, number: usize) -> Result<Option<Entry>> {
        let Some(&entry) = self.0.get(number) else {
            return Err(ErrorKind::Internal.context(format!("chunk {number} of a shard of {}", self.0.len())));
        };
        if entry == Entry::MISSING {
            return Ok(None);
        }
        let Entry { offset, len } = entry;
        match offset.checked_add(len) {
            Some(_) => Ok(Some(entry)),
            None => Err(ErrorKind::Io.context(format!("the shard's index: chunk {number} at {offset} + {len} bytes"))),
        }
    }

    /// The bytes of a chunk, from those of the whole shard; `None` if it is missing.
    pub(crate) fn cut<'s>(&self, number: usize, shard: &'s [u8]) -> Result<Option<&'s [u8]>> {
        let Some(Entry { offset, len }) = self.find(number)? else { return Ok(None) };
        let range = usize::try_from(offset).ok().zip(usize::try_from(offset + len).ok());
        let bytes = range.and_then(|(start, end)| shard.get(start..end));
        bytes.map(Some).ok_or_else(|| beyond(number, Entry { offset, len }, shard.len() as u64))
    }
}

/// The error of a chunk that does not lie inside its shard.
pub(crate) fn beyond(number: usize, entry: Entry, end: u64) -> nczarr_model::Error {
    let Entry { offset, len } = entry;
    ErrorKind::Io
        .context(format!("the shard's index: chunk {number} at {offset} + {len} bytes, but the shard ends at {end}"))
}
