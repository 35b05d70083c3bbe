//! [`ShardIndex`]: the offsets and lengths of the chunks of a shard. They are untrusted: every lookup checks
//! them.

use nczarr_model::{ErrorKind, Result};

/// The size of an entry in bytes: an offset and a length.
pub(crate) const ENTRY: usize = 16;

/// The value of both fields for an absent chunk.
const MISSING: u64 = u64::MAX;

/// Offset and length of a chunk in its shard, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShardEntry {
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

impl ShardEntry {
    pub(crate) const MISSING: Self = Self { offset: MISSING, len: MISSING };
}

/// The positions of the chunks of a shard.
#[derive(Debug, Clone)]
pub(crate) struct ShardIndex(Box<[ShardEntry]>);

impl ShardIndex {
    pub(crate) fn new(entries: Box<[ShardEntry]>) -> Self {
        Self(entries)
    }

    /// Creates the index of an empty shard.
    pub(crate) fn empty(total: usize) -> Self {
        Self(vec![ShardEntry::MISSING; total].into())
    }

    pub(crate) fn entries(&self) -> &[ShardEntry] {
        &self.0
    }

    pub(crate) fn set(&mut self, number: usize, entry: ShardEntry) {
        if let Some(place) = self.0.get_mut(number) {
            *place = entry;
        }
    }

    /// Returns its size in memory, in bytes.
    pub(crate) fn cost(&self) -> usize {
        self.0.len() * ENTRY
    }

    /// Returns the position of a chunk; `None` if it is absent.
    pub(crate) fn find(&self, number: usize) -> Result<Option<ShardEntry>> {
        let Some(&entry) = self.0.get(number) else {
            return Err(ErrorKind::Internal.context(format!("chunk {number} of a shard of {}", self.0.len())));
        };
        if entry == ShardEntry::MISSING {
            return Ok(None);
        }
        let ShardEntry { offset, len } = entry;
        match offset.checked_add(len) {
            Some(_) => Ok(Some(entry)),
            None => {
                Err(ErrorKind::Io
                    .context(format!("the shard's index: chunk {number} at {offset} + {len} bytes")))
            }
        }
    }

    /// Returns the bytes of a chunk in a whole shard; `None` if it is absent.
    pub(crate) fn cut<'s>(&self, number: usize, shard: &'s [u8]) -> Result<Option<&'s [u8]>> {
        let Some(ShardEntry { offset, len }) = self.find(number)? else { return Ok(None) };
        let range = usize::try_from(offset).ok().zip(usize::try_from(offset + len).ok());
        let bytes = range.and_then(|(start, end)| shard.get(start..end));
        bytes.map(Some).ok_or_else(|| beyond(number, ShardEntry { offset, len }, shard.len() as u64))
    }
}

/// Returns the error for a chunk outside its shard.
pub(crate) fn beyond(number: usize, entry: ShardEntry, end: u64) -> nczarr_model::Error {
    let ShardEntry { offset, len } = entry;
    ErrorKind::Io.context(format!(
        "the shard's index: chunk {number} at {offset} + {len} bytes exceeds the shard of {end} bytes"
    ))
}
