//! [`Pieces`]: bytes that lie in pieces, one after another: in one, or in an element's linked blocks.
//!
//! Source: HDF Specification, "Linked Block Elements".

use std::collections::HashSet;
use std::sync::Arc;

use nczarr_chunkio::ByteStore;
use nczarr_dispatch::OutBuf;
use nczarr_model::{ErrorKind, Result};

use crate::cursor::Cursor;
use crate::directory::tag;
use crate::file::HdfFile;
use crate::store::Store;

/// Where the bytes of an element lie.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pieces {
    list: Vec<Piece>,
    len: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    /// The element's first byte that is here.
    start: u64,
    /// Where in the file; `None`: a block that was never written, which reads as zeros.
    offset: Option<u64>,
    len: u64,
}

impl Pieces {
    pub(crate) fn one(offset: u64, len: u64) -> Self {
        let mut pieces = Self::default();
        pieces.push(Some(offset), len);
        pieces
    }

    fn push(&mut self, offset: Option<u64>, len: u64) {
        if len > 0 {
            self.list.push(Piece { start: self.len, offset, len });
            self.len += len;
        }
    }

    /// How many bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Where it begins, if it lies in one piece.
    pub(crate) fn whole(&self) -> Option<u64> {
        match &*self.list {
            [piece] => piece.offset,
            _ => None,
        }
    }

    /// The parts of the file that a range of it is, as far as it reaches.
    fn parts(&self, from: u64, len: u64) -> impl Iterator<Item = (Option<u64>, u64)> {
        let end = from.saturating_add(len).min(self.len);
        let first = self.list.partition_point(|piece| piece.start + piece.len <= from);
        self.list.iter().skip(first).take_while(move |piece| piece.start < end).map(move |piece| {
            let start = from.max(piece.start);
            let stop = end.min(piece.start + piece.len);
            (piece.offset.map(|offset| offset + (start - piece.start)), stop - start)
        })
    }

    /// Says that a range of it is read, where that is more than one part of the file.
    fn expect(&self, store: &Store, from: u64, len: u64) {
        if self.list.len() > 1 {
            store.expect(self.parts(from, len).filter_map(|(offset, len)| offset.map(|offset| (offset, len))));
        }
    }

    /// Appends a range of it, as far as it reaches.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub(crate) fn append(&self, store: &Store, from: u64, len: u64, out: &mut Vec<u8>) -> Result<()> {
        self.expect(store, from, len);
        for (offset, len) in self.parts(from, len) {
            match offset {
                Some(offset) => store.append(offset, len, out)?,
                None => {
                    let len = usize::try_from(len).map_err(|_| ErrorKind::NoMem.context(format!("{len} bytes")))?;
                    out.try_reserve(len).map_err(|error| ErrorKind::NoMem.context("zeros").caused_by(error))?;
                    out.resize(out.len() + len, 0);
                }
            }
        }
        Ok(())
    }

    /// As [`Pieces::append`], as far as there is room.
    ///
    /// # Errors
    /// `NC_ETRUNC` if the file ends before; what the storage says.
    pub(crate) fn read_at(&self, store: &Store, from: u64, out: &mut OutBuf<'_>) -> Result<()> {
        self.expect(store, from, out.room() as u64);
        for (offset, len) in self.parts(from, out.room() as u64) {
            // No more than there is room.
            let len = len as usize;
            let Some(offset) = offset else {
                out.zeroed(len)?;
                continue;
            };
            let read = out.limited(len, |out| store.read_at(offset, out))?;
            if read < len {
                let size = store.len();
                return Err(ErrorKind::Trunc.context(format!("{len} bytes at {offset}: the file ends at {size}")));
            }
        }
        Ok(())
    }
}

/// An element in pieces, as if its bytes were a file.
#[derive(Debug)]
pub(crate) struct Laid {
    pub(crate) store: Arc<Store>,
    pub(crate) pieces: Pieces,
}

impl ByteStore for Laid {
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        self.pieces.read_at(&self.store, offset, out)
    }

    fn write_at(&self, _offset: u64, _bytes: &[u8]) -> Result<()> {
        Err(ErrorKind::Perm.context("HDF4 files are only read"))
    }

    fn size(&self) -> Result<u64> {
        Ok(self.pieces.len())
    }
}

/// What says that an element is in linked blocks.
pub(crate) const LINKED: u16 = 1;

/// The blocks of an element that is described so; `None`: it is something else.
///
/// # Errors
/// `NC_EHDFERR` for blocks that are missing, too short or in tables that never end.
pub(crate) fn linked(file: &HdfFile, description: &[u8], what: &str) -> Result<Option<Pieces>> {
    let mut cursor = Cursor::new(description, what);
    if cursor.u16()? != LINKED {
        return Ok(None);
    }
    let (len, block, count) = (u64::from(cursor.count()?), u64::from(cursor.count()?), cursor.count()?);
    let mut table = cursor.u16()?;
    let damaged = |why: String| ErrorKind::HdfErr.context(format!("{what}: {why}"));
    let mut pieces = Pieces::default();
    let mut seen = HashSet::new();
    while pieces.len() < len {
        if !seen.insert(table) {
            return Err(damaged(format!("its list of blocks ends after {} of {len} bytes", pieces.len())));
        }
        let entry = file.directory.get(tag::LINKED, table).filter(|entry| !entry.special && !entry.doubtful);
        let entry = entry.ok_or_else(|| damaged(format!("its list of blocks, number {table}, is not there")))?;
        let mut bytes = Vec::new();
        let table_len = u64::from(count) * 2 + 2;
        file.store.append(entry.offset.into(), table_len.min(entry.len.into()), &mut bytes)?;
        let mut cursor = Cursor::new(&bytes, what);
        table = cursor.u16()?;
        for _ in 0..count {
            let number = cursor.u16()?;
            let left = len - pieces.len();
            if left == 0 {
                break;
            }
            push_block(file, number, &mut pieces, block, left).map_err(damaged)?;
        }
        if count == 0 {
            return Err(damaged("its lists of blocks have none".to_owned()));
        }
    }
    Ok(Some(pieces))
}

/// Adds a block, of which no more than `left` bytes count. The first is as long as it says, the others are alike.
fn push_block(
    file: &HdfFile,
    number: u16,
    pieces: &mut Pieces,
    block: u64,
    left: u64,
) -> std::result::Result<(), String> {
    let entry = file.directory.get(tag::LINKED, number).filter(|_| number != 0);
    let Some(entry) = entry else {
        if number != 0 {
            return Err(format!("its block {number} is not there"));
        }
        if block == 0 {
            return Err("its blocks have no bytes".to_owned());
        }
        pieces.push(None, block.min(left));
        return Ok(());
    };
    let len = if pieces.len() == 0 { u64::from(entry.len) } else { block }.min(left);
    if entry.special || entry.doubtful || u64::from(entry.len) < len || len == 0 {
        return Err(format!("its block {number} has {} bytes, {len} are expected", entry.len));
    }
    pieces.push(Some(entry.offset.into()), len);
    Ok(())
}
