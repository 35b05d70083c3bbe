//! [`ElementExtents`]: the place of an element's bytes: one extent, or the extents of linked blocks.
//!
//! Source: HDF Specification, "Linked Block Elements".

use std::collections::HashSet;
use std::sync::Arc;

use nczarr_chunkio::ByteStore;
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;

use crate::cursor::ElementCursor;
use crate::directory::{Directory, tag};
use crate::source::FileSource;

/// The place of an element's bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ElementExtents {
    list: Vec<ElementExtent>,
    len: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ElementExtent {
    /// Offset of the extent in the element.
    start: u64,
    /// Offset in the file; `None`: a block that was never written, which reads as zeros.
    offset: Option<u64>,
    len: u64,
}

impl ElementExtents {
    pub(crate) fn one(offset: u64, len: u64) -> Self {
        let mut pieces = Self::default();
        pieces.push(Some(offset), len);
        pieces
    }

    fn push(&mut self, offset: Option<u64>, len: u64) {
        if len > 0 {
            self.list.push(ElementExtent { start: self.len, offset, len });
            self.len += len;
        }
    }

    /// Returns the length in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the offset in the file, if there is only one extent.
    pub(crate) fn whole(&self) -> Option<u64> {
        match &*self.list {
            [piece] => piece.offset,
            _ => None,
        }
    }

    /// Returns the extents of a range, up to the end of the element.
    fn parts(&self, from: u64, len: u64) -> impl Iterator<Item = (Option<u64>, u64)> {
        let end = from.saturating_add(len).min(self.len);
        let first = self.list.partition_point(|piece| piece.start + piece.len <= from);
        self.list.iter().skip(first).take_while(move |piece| piece.start < end).map(move |piece| {
            let start = from.max(piece.start);
            let stop = end.min(piece.start + piece.len);
            (piece.offset.map(|offset| offset + (start - piece.start)), stop - start)
        })
    }

    /// Announces the read of a range, if it has more than one extent.
    fn prefetch(&self, store: &FileSource, from: u64, len: u64) {
        if self.list.len() > 1 {
            store.prefetch(
                self.parts(from, len).filter_map(|(offset, len)| offset.map(|offset| (offset, len))),
            );
        }
    }

    /// Appends the bytes of a range, up to the end of the element.
    ///
    /// # Errors
    /// As [`FileSource::append`].
    pub(crate) fn append(&self, store: &FileSource, from: u64, len: u64, out: &mut Vec<u8>) -> Result<()> {
        self.prefetch(store, from, len);
        for (offset, len) in self.parts(from, len) {
            match offset {
                Some(offset) => store.append(offset, len, out)?,
                None => {
                    let len =
                        usize::try_from(len).map_err(|_| ErrorKind::NoMem.context(format!("{len} bytes")))?;
                    out.try_reserve(len)
                        .map_err(|error| ErrorKind::NoMem.context("zeros").caused_by(error))?;
                    out.resize(out.len() + len, 0);
                }
            }
        }
        Ok(())
    }

    /// As [`ElementExtents::append`], up to the room of `out`.
    ///
    /// # Errors
    /// `NC_ETRUNC` if the file ends early; I/O errors.
    pub(crate) fn read_at(&self, store: &FileSource, from: u64, out: &mut OutBuf<'_>) -> Result<()> {
        self.prefetch(store, from, out.remaining() as u64);
        for (offset, len) in self.parts(from, out.remaining() as u64) {
            // `len` is at most the remaining.
            let len = len as usize;
            let Some(offset) = offset else {
                out.put_zeros(len)?;
                continue;
            };
            let read = out.fill_limited(len, |out| store.read_at(offset, out))?;
            if read < len {
                let size = store.len();
                return Err(ErrorKind::Trunc.context(format!(
                    "{len} bytes at offset {offset}: beyond the end of the file at {size}"
                )));
            }
        }
        Ok(())
    }
}

/// The bytes of an element as a byte store.
#[derive(Debug)]
pub(crate) struct ElementStore {
    pub(crate) store: Arc<FileSource>,
    pub(crate) pieces: ElementExtents,
}

impl ByteStore for ElementStore {
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        self.pieces.read_at(&self.store, offset, out)
    }

    fn write_at(&self, _offset: u64, _bytes: &[u8]) -> Result<()> {
        Err(ErrorKind::Perm.context("HDF4 files are read-only"))
    }

    fn size(&self) -> Result<u64> {
        Ok(self.pieces.len())
    }
}

/// Code of an element in linked blocks.
pub(crate) const LINKED: u16 = 1;

/// Reads the linked blocks of an element; `None` if its description is of another kind.
///
/// # Errors
/// `NC_EHDFERR` if blocks are missing or too short, or if their tables form a circle.
pub(crate) fn linked(
    directory: &Directory,
    store: &FileSource,
    description: &[u8],
    what: &str,
) -> Result<Option<ElementExtents>> {
    let mut cursor = ElementCursor::new(description, what);
    if cursor.u16()? != LINKED {
        return Ok(None);
    }
    let (len, block, count) = (u64::from(cursor.count()?), u64::from(cursor.count()?), cursor.count()?);
    let mut table = cursor.u16()?;
    let damaged = |why: String| ErrorKind::HdfErr.context(format!("{what}: {why}"));
    let mut pieces = ElementExtents::default();
    let mut seen = HashSet::new();
    while pieces.len() < len {
        if !seen.insert(table) {
            return Err(damaged(format!(
                "its block table is too short (expected {len} bytes, found {})",
                pieces.len()
            )));
        }
        let entry = directory.get(tag::LINKED, table).filter(|entry| !entry.special && !entry.overlapping);
        let entry = entry.ok_or_else(|| damaged(format!("its block table {table} is missing")))?;
        let mut bytes = Vec::new();
        let table_len = u64::from(count) * 2 + 2;
        store.append(entry.offset.into(), table_len.min(entry.len.into()), &mut bytes)?;
        let mut cursor = ElementCursor::new(&bytes, what);
        table = cursor.u16()?;
        for _ in 0..count {
            let number = cursor.u16()?;
            let left = len - pieces.len();
            if left == 0 {
                break;
            }
            push_block(directory, number, &mut pieces, block, left).map_err(damaged)?;
        }
        if count == 0 {
            return Err(damaged("its block tables are empty".to_owned()));
        }
    }
    Ok(Some(pieces))
}

/// Adds a block; at most `left` bytes count. The first block has its own length; the others have one
/// length.
fn push_block(
    directory: &Directory,
    number: u16,
    pieces: &mut ElementExtents,
    block: u64,
    left: u64,
) -> std::result::Result<(), String> {
    let entry = directory.get(tag::LINKED, number).filter(|_| number != 0);
    let Some(entry) = entry else {
        if number != 0 {
            return Err(format!("its block {number} is missing"));
        }
        if block == 0 {
            return Err("its blocks are empty".to_owned());
        }
        pieces.push(None, block.min(left));
        return Ok(());
    };
    let len = if pieces.len() == 0 { u64::from(entry.len) } else { block }.min(left);
    if entry.special || entry.overlapping || u64::from(entry.len) < len || len == 0 {
        return Err(format!(
            "its block {number} has a wrong length (expected {len} bytes, found {})",
            entry.len
        ));
    }
    pieces.push(Some(entry.offset.into()), len);
    Ok(())
}
