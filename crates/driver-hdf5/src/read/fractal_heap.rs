//! Reads fractal heaps, which hold the links and attributes of large objects.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use nczarr_model::Result;

use super::btree2;
use super::cursor::{MetadataCursor, UNDEFINED, damaged};
use super::file::HdfFile;

/// A heap, and the blocks read so far.
#[derive(Debug)]
pub(crate) struct FractalHeap {
    address: u64,
    id_len: usize,
    checked: bool,
    most_managed: u64,
    huge: u64,
    /// Blocks in a row.
    width: u64,
    /// Size of a block of the first row in bytes.
    first: u64,
    /// Size of the largest direct block in bytes.
    largest: u64,
    /// Number of bits of a heap offset.
    bits: u16,
    root: u64,
    /// Rows of the root block; 0 if the root is a direct block.
    rows: u16,
    blocks: HashMap<u64, Vec<u8>>,
    /// Address and length of each huge object by number, once their index was read.
    listed: Option<HashMap<u64, (u64, u64)>>,
}

impl FractalHeap {
    pub(crate) fn read(file: &HdfFile, address: u64) -> Result<Self> {
        let (o, l) = (u64::from(file.offsets), u64::from(file.lengths));
        let len = 26 + 12 * l + 3 * o;
        let head = file.read(address, len)?;
        let mut at = MetadataCursor::new(&head, "fractal heap");
        at.expect(b"FRHP")?;
        at.version(0)?;
        let (id_len, filtered, flags) = (at.u16()?, at.u16()?, at.u8()?);
        if filtered > 0 {
            return Err(damaged("fractal heap: filters are not supported"));
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
        if !first.is_power_of_two()
            || !largest.is_power_of_two()
            || width == 0
            || bits > 64
            || largest < first
        {
            return Err(damaged(format!(
                "fractal heap: invalid sizes (rows of {width} blocks of {first} to {largest} bytes)"
            )));
        }
        // An indirect root is prefetched with more than the blocks of its first row.
        file.prefetch(
            [(root, if rows == 0 { first } else { 64 + first })]
                .into_iter()
                .filter(|&(root, _)| root != UNDEFINED),
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

    /// Reads the object of an id. Bytes behind the id are ignored.
    pub(crate) fn object(&mut self, file: &HdfFile, id: &[u8]) -> Result<Vec<u8>> {
        let object = self.find(file, id)?;
        file.spend(object.len() as u64)?;
        Ok(object)
    }

    fn find(&mut self, file: &HdfFile, id: &[u8]) -> Result<Vec<u8>> {
        let id = id.get(..self.id_len).ok_or_else(|| damaged("fractal heap: the id is too short"))?;
        let mut at = MetadataCursor::new(id, "fractal heap");
        let flags = at.u8()?;
        match (flags >> 6, flags >> 4 & 3) {
            (0, 0) => {
                let offset = at.uint(self.bits.div_ceil(8) as u8)?;
                let by_block = self.largest.ilog2().div_ceil(8) as u8;
                let len = at.uint(by_block.min(HdfFile::bytes_for(self.most_managed)))?;
                self.managed(file, offset, len)
            }
            (0, 1) => self.huge(file, &id[1..]),
            (0, 2) => {
                let len = if self.id_len <= 18 {
                    usize::from(flags & 15) + 1
                } else {
                    (usize::from(flags & 15) << 8 | usize::from(at.u8()?)) + 1
                };
                Ok(at.bytes(len)?.to_vec())
            }
            _ => Err(damaged(format!("fractal heap: unknown id type {flags:02x}"))),
        }
    }

    fn huge(&mut self, file: &HdfFile, id: &[u8]) -> Result<Vec<u8>> {
        let (o, l) = (file.offsets, file.lengths);
        let mut at = MetadataCursor::new(id, "huge object");
        if id.len() >= usize::from(o) + usize::from(l) {
            return file.read(at.address(o)?, at.uint(l)?);
        }
        let wanted = at.uint(id.len().min(8) as u8)?;
        let listed = match self.listed.take() {
            Some(listed) => listed,
            None => {
                let mut listed = HashMap::new();
                btree2::each(file, self.huge, &[1], &mut |record| {
                    let mut at = MetadataCursor::new(record, "huge object");
                    let place = (at.address(o)?, at.uint(l)?);
                    listed.insert(at.uint(l)?, place);
                    Ok(())
                })?;
                listed
            }
        };
        let found = self.listed.insert(listed).get(&wanted).copied();
        let (address, len) =
            found.ok_or_else(|| damaged(format!("fractal heap: huge object {wanted} is missing")))?;
        file.read(address, len)
    }

    /// Returns the size of the blocks of a row in bytes.
    fn row_size(&self, row: u32) -> Result<u64> {
        let size = self
            .first
            .checked_shl(row.saturating_sub(1))
            .filter(|size| size >> row.saturating_sub(1) == self.first);
        size.ok_or_else(|| damaged(format!("fractal heap: invalid row {row}")))
    }

    fn managed(&mut self, file: &HdfFile, offset: u64, len: u64) -> Result<Vec<u8>> {
        if self.rows == 0 {
            return self.direct(file, self.root, 0, self.first, offset, len);
        }
        let head = 5 + u64::from(file.offsets) + u64::from(self.bits.div_ceil(8));
        let direct_rows = self.largest.ilog2() - self.first.ilog2() + 2;
        let (mut block, mut start, mut rows) = (self.root, 0u64, u32::from(self.rows));
        for _ in 0..64 {
            // Find the row, and the block in it.
            let (mut from, mut row) = (start, 0);
            let size = loop {
                if row >= rows {
                    return Err(damaged(format!("fractal heap: offset {offset} is outside all blocks")));
                }
                let size = self.row_size(row)?;
                let all = size
                    .checked_mul(self.width)
                    .ok_or_else(|| damaged("fractal heap: a row is too large"))?;
                if offset - from < all {
                    break size;
                }
                from =
                    from.checked_add(all).ok_or_else(|| damaged("fractal heap: the rows are too large"))?;
                row += 1;
            };
            let column = (offset - from) / size;
            let entry = u64::from(row) * self.width + column;
            let entries = u64::from(rows).checked_mul(self.width);
            let bytes =
                entries.and_then(|entries| entries.checked_mul(file.offsets.into())?.checked_add(head + 4));
            let bytes = bytes.ok_or_else(|| damaged("fractal heap: a block is too large"))?;
            let read = match self.blocks.entry(block) {
                Entry::Occupied(read) => read.into_mut(),
                Entry::Vacant(place) => {
                    let read = file.checked(block, bytes, "indirect block of a fractal heap")?;
                    MetadataCursor::new(&read, "indirect block of a fractal heap").expect(b"FHIB")?;
                    place.insert(read)
                }
            };
            let at =
                usize::try_from(head + entry * u64::from(file.offsets)).ok().and_then(|at| read.get(at..));
            let mut at = MetadataCursor::new(at.unwrap_or_default(), "indirect block of a fractal heap");
            let child = at.address(file.offsets)?;
            let child_start = from + column * size;
            if child == UNDEFINED {
                return Err(damaged(format!("fractal heap: no block is allocated at offset {offset}")));
            }
            if row < direct_rows {
                return self.direct(file, child, child_start, size, offset, len);
            }
            rows = (size.ilog2()).saturating_sub((self.first * self.width).ilog2()) + 1;
            (block, start) = (child, child_start);
        }
        Err(damaged("fractal heap: blocks are nested too deeply"))
    }

    fn direct(
        &mut self,
        file: &HdfFile,
        address: u64,
        start: u64,
        size: u64,
        offset: u64,
        len: u64,
    ) -> Result<Vec<u8>> {
        if !self.blocks.contains_key(&address) {
            let mut read = file.read(address, size)?;
            let mut at = MetadataCursor::new(&read, "direct block of a fractal heap");
            at.expect(b"FHDB")?;
            at.version(0)?;
            if at.address(file.offsets)? != self.address || at.uint(self.bits.div_ceil(8) as u8)? != start {
                return Err(damaged("fractal heap: a block belongs to another heap or offset"));
            }
            if self.checked {
                let place = at.at();
                let stored = at.u32()?;
                read[place..place + 4].fill(0);
                if crate::lookup3::lookup3(&read) != stored {
                    return Err(damaged(format!(
                        "direct block of a fractal heap at address {address}: wrong checksum"
                    )));
                }
            }
            self.blocks.insert(address, read);
        }
        let block = &self.blocks[&address];
        let from = usize::try_from(offset - start).ok();
        let range = from.and_then(|from| Some(from..from.checked_add(usize::try_from(len).ok()?)?));
        let bytes = range.and_then(|range| block.get(range));
        bytes.map(<[u8]>::to_vec).ok_or_else(|| {
            damaged(format!("fractal heap: {len} bytes at offset {offset} exceed their block"))
        })
    }
}
