//! The fractal heap: links and attributes of objects that have many.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use nczarr_model::Result;

use super::btree2;
use super::cursor::{Cursor, UNDEFINED, bad};
use super::file::Hdf;

/// A heap, and the blocks that were read.
#[derive(Debug)]
pub(crate) struct FractalHeap {
    address: u64,
    id_len: usize,
    checked: bool,
    most_managed: u64,
    huge: u64,
    /// Blocks in a row.
    width: u64,
    /// Bytes of a block in the first row.
    first: u64,
    /// Bytes of the largest direct block.
    largest: u64,
    /// Bits of an offset.
    bits: u16,
    root: u64,
    /// Rows of the root; 0: it is a direct block.
    rows: u16,
    blocks: HashMap<u64, Vec<u8>>,
    /// Where each huge object is, and how long, by number: once the list was read.
    listed: Option<HashMap<u64, (u64, u64)>>,
}

impl FractalHeap {
    pub(crate) fn read(file: &Hdf, address: u64) -> Result<Self> {
        let (o, l) = (u64::from(file.offsets), u64::from(file.lengths));
        let len = 26 + 12 * l + 3 * o;
        let head = file.read(address, len)?;
        let mut at = Cursor::new(&head, "fractal heap");
        at.expect(b"FRHP")?;
        at.version(0)?;
        let (id_len, filtered, flags) = (at.u16()?, at.u16()?, at.u8()?);
        if filtered > 0 {
            return Err(bad("a fractal heap with filters, which is not read"));
        }
        file.checked(address, len, "fractal heap")?;
        let most_managed = at.u32()?.into();
        at.uint(file.lengths)?;
        let huge = at.address(file.offsets)?;
        at.uint(file.lengths)?;
        at.address(file.offsets)?;
        at.skip(8 * usize::from(file.lengths))?;
        let width = at.u16()?.into();
        let (first, largest, bits) = (at.uint(file.lengths)?, at.uint(file.lengths)?, at.u16()?);
        at.u16()?;
        let (root, rows) = (at.address(file.offsets)?, at.u16()?);
        if !first.is_power_of_two() || !largest.is_power_of_two() || width == 0 || bits > 64 || largest < first {
            return Err(bad(format!("fractal heap: {width} blocks of {first} to {largest} bytes in a row")));
        }
        // Of blocks in blocks more is read than the first row, if there are more.
        file.expect(
            [(root, if rows == 0 { first } else { 64 + first })].into_iter().filter(|&(root, _)| root != UNDEFINED),
        );
        Ok(Self {
            address,
            id_len: id_len.into(),
            checked: flags & 2 != 0,
            most_managed,
            huge,
            width,
            first,
            largest,
            bits,
            root,
            rows,
            blocks: HashMap::new(),
            listed: None,
        })
    }

    /// The object of an id, which may be followed by other bytes.
    pub(crate) fn object(&mut self, file: &Hdf, id: &[u8]) -> Result<Vec<u8>> {
        let object = self.find(file, id)?;
        file.spend(object.len() as u64)?;
        Ok(object)
    }

    fn find(&mut self, file: &Hdf, id: &[u8]) -> Result<Vec<u8>> {
        let id = id.get(..self.id_len).ok_or_else(|| bad("fractal heap: an id that is cut short"))?;
        let mut at = Cursor::new(id, "fractal heap");
        let flags = at.u8()?;
        match (flags >> 6, flags >> 4 & 3) {
            (0, 0) => {
                let offset = at.uint(self.bits.div_ceil(8) as u8)?;
                let by_block = self.largest.ilog2().div_ceil(8) as u8;
                let len = at.uint(by_block.min(Hdf::bytes_for(self.most_managed)))?;
                self.managed(file, offset, len)
            }
            (0, 1) => self.huge(file, &id[1..]),
            (0, 2) => {
                let len = match self.id_len <= 18 {
                    true => usize::from(flags & 15) + 1,
                    false => (usize::from(flags & 15) << 8 | usize::from(at.u8()?)) + 1,
                };
                Ok(at.bytes(len)?.to_vec())
            }
            _ => Err(bad(format!("fractal heap: an id that begins with {flags:02x}"))),
        }
    }

    fn huge(&mut self, file: &Hdf, id: &[u8]) -> Result<Vec<u8>> {
        let (o, l) = (file.offsets, file.lengths);
        let mut at = Cursor::new(id, "huge object");
        if id.len() >= usize::from(o) + usize::from(l) {
            return file.read(at.address(o)?, at.uint(l)?);
        }
        let wanted = at.uint(id.len().min(8) as u8)?;
        let listed = match self.listed.take() {
            Some(listed) => listed,
            None => {
                let mut listed = HashMap::new();
                btree2::each(file, self.huge, &[1], &mut |record| {
                    let mut at = Cursor::new(record, "huge object");
                    let place = (at.address(o)?, at.uint(l)?);
                    listed.insert(at.uint(l)?, place);
                    Ok(())
                })?;
                listed
            }
        };
        let found = self.listed.insert(listed).get(&wanted).copied();
        let (address, len) = found.ok_or_else(|| bad(format!("fractal heap: no huge object {wanted}")))?;
        file.read(address, len)
    }

    /// Bytes of each block of a row.
    fn row_size(&self, row: u32) -> Result<u64> {
        let size =
            self.first.checked_shl(row.saturating_sub(1)).filter(|size| size >> row.saturating_sub(1) == self.first);
        size.ok_or_else(|| bad(format!("fractal heap: row {row}")))
    }

    fn managed(&mut self, file: &Hdf, offset: u64, len: u64) -> Result<Vec<u8>> {
        if self.rows == 0 {
            return self.direct(file, self.root, (0, self.first), offset, len);
        }
        let head = 5 + u64::from(file.offsets) + u64::from(self.bits.div_ceil(8));
        let direct_rows = self.largest.ilog2() - self.first.ilog2() + 2;
        let (mut block, mut start, mut rows) = (self.root, 0u64, u32::from(self.rows));
        for _ in 0..64 {
            // The row, and the block in it.
            let (mut from, mut row) = (start, 0);
            let size = loop {
                if row >= rows {
                    return Err(bad(format!("fractal heap: offset {offset} is in no block")));
                }
                let size = self.row_size(row)?;
                let all = size.checked_mul(self.width).ok_or_else(|| bad("fractal heap: a row without end"))?;
                if offset - from < all {
                    break size;
                }
                from = from.checked_add(all).ok_or_else(|| bad("fractal heap: rows without end"))?;
                row += 1;
            };
            let column = (offset - from) / size;
            let entry = u64::from(row) * self.width + column;
            let entries = u64::from(rows).checked_mul(self.width);
            let bytes = entries.and_then(|entries| entries.checked_mul(file.offsets.into())?.checked_add(head + 4));
            let bytes = bytes.ok_or_else(|| bad("fractal heap: a block without end"))?;
            let read = match self.blocks.entry(block) {
                Entry::Occupied(read) => read.into_mut(),
                Entry::Vacant(place) => {
                    let read = file.checked(block, bytes, "indirect block of a fractal heap")?;
                    Cursor::new(&read, "indirect block of a fractal heap").expect(b"FHIB")?;
                    place.insert(read)
                }
            };
            let at = usize::try_from(head + entry * u64::from(file.offsets)).ok().and_then(|at| read.get(at..));
            let mut at = Cursor::new(at.unwrap_or_default(), "indirect block of a fractal heap");
            let child = at.address(file.offsets)?;
            let child_start = from + column * size;
            if child == UNDEFINED {
                return Err(bad(format!("fractal heap: nothing is at offset {offset}")));
            }
            if row < direct_rows {
                return self.direct(file, child, (child_start, size), offset, len);
            }
            rows = (size.ilog2()).saturating_sub((self.first * self.width).ilog2()) + 1;
            (block, start) = (child, child_start);
        }
        Err(bad("fractal heap: blocks in blocks without end"))
    }

    fn direct(
        &mut self,
        file: &Hdf,
        address: u64,
        (start, size): (u64, u64),
        offset: u64,
        len: u64,
    ) -> Result<Vec<u8>> {
        if !self.blocks.contains_key(&address) {
            let mut read = file.read(address, size)?;
            let mut at = Cursor::new(&read, "direct block of a fractal heap");
            at.expect(b"FHDB")?;
            at.version(0)?;
            if at.address(file.offsets)? != self.address || at.uint(self.bits.div_ceil(8) as u8)? != start {
                return Err(bad("fractal heap: a block of another heap, or another block"));
            }
            if self.checked {
                let place = at.at();
                let stored = at.u32()?;
                read[place..place + 4].fill(0);
                if crate::lookup3::lookup3(&read) != stored {
                    return Err(bad(format!("direct block of a fractal heap at address {address}: wrong checksum")));
                }
            }
            self.blocks.insert(address, read);
        }
        let block = &self.blocks[&address];
        let from = usize::try_from(offset - start).ok();
        let range = from.and_then(|from| Some(from..from.checked_add(usize::try_from(len).ok()?)?));
        let bytes = range.and_then(|range| block.get(range));
        bytes
            .map(<[u8]>::to_vec)
            .ok_or_else(|| bad(format!("fractal heap: {len} bytes at {offset} are not in a block")))
    }
}
