//! Reads chunk indexes that are extensible arrays. They serve datasets with one unlimited dimension.
//!
//! The first elements are in the index block. The others are in data blocks of growing size. Their addresses
//! are in the index block, or in secondary blocks. Large data blocks have pages.

use std::ops::Range;

use nczarr_model::Result;

use super::IndexReader;
use super::arrays::elements;
use crate::read::cursor::{MetadataCursor, UNDEFINED, damaged};

/// The fields of the array's header.
struct ArrayHeader {
    address: u64,
    size: u64,
    length_bytes: u8,
    /// Number of bits of an element number.
    bits: u8,
    /// Elements in the index block.
    in_index: u64,
    /// Elements in the smallest data block.
    least: u64,
    /// Elements of a page.
    page: u64,
    /// One more than the largest element number ever set.
    count: u64,
    axes: Vec<usize>,
}

/// Reads all elements, or those of wanted chunks.
pub(super) fn read(reading: &mut IndexReader<'_>) -> Result<()> {
    let file = reading.file;
    let (o, l) = (u64::from(file.offsets), u64::from(file.lengths));
    let head = file.checked(reading.address, 16 + 6 * l + o, "extensible array")?;
    let mut at = MetadataCursor::new(&head, "extensible array");
    at.expect(b"EAHD")?;
    at.version(0)?;
    let (client, size, bits) = (at.u8()?, at.u8()?, at.u8()?);
    let (in_index, least, pointers, page_bits) =
        (u64::from(at.u8()?), u64::from(at.u8()?), u64::from(at.u8()?), at.u8()?);
    at.skip(4 * usize::from(file.lengths))?;
    let count = at.uint(file.lengths)?;
    at.uint(file.lengths)?;
    let index = at.address(file.offsets)?;
    let plain = file.offsets;
    let length_bytes = match client {
        0 if size == plain && !reading.filtered => 0,
        1 if reading.filtered && (plain + 5..=plain + 12).contains(&size) => size - plain - 4,
        _ => return Err(damaged(format!("extensible array: unknown element type {client} of {size} bytes"))),
    };
    if index == UNDEFINED {
        return Ok(());
    }
    if !least.is_power_of_two() || !pointers.is_power_of_two() || bits > 64 || page_bits > 32 {
        return Err(damaged("extensible array: invalid sizes"));
    }
    // The unlimited dimension varies slowest.
    let rank = reading.grid.len();
    let unlimited = reading.most.iter().position(|&most| most == UNDEFINED);
    let unlimited =
        unlimited.ok_or_else(|| damaged("extensible array: the dataset has no unlimited dimension"))?;
    let axes = std::iter::once(unlimited).chain((0..rank).filter(|&axis| axis != unlimited)).collect();
    let header = ArrayHeader {
        address: reading.address,
        size: size.into(),
        length_bytes,
        bits,
        in_index,
        least,
        page: 1 << page_bits,
        count,
        axes,
    };
    let blocks = 1 + u32::from(bits).saturating_sub(least.ilog2());
    let direct = 2 * (pointers - 1);
    let first = 2 * pointers.ilog2();
    let secondary = blocks.saturating_sub(first);
    let bytes = 6 + o + in_index * header.size + (direct + u64::from(secondary)) * o + 4;
    let read = file.checked(index, bytes, "index block")?;
    let mut at = MetadataCursor::new(&read, "index block");
    at.expect(b"EAIB")?;
    at.skip(2 + usize::from(file.offsets))?;
    elements(reading, &mut at, 0..in_index, length_bytes, &header.axes)?;
    let mut next = in_index;
    let (mut data, mut secondary) = (Vec::new(), Vec::new());
    for level in 0..first.min(blocks) {
        let (count, each) = header.level(level);
        for _ in 0..count {
            let block = at.address(file.offsets)?;
            if header.is_read(reading, block, next, each) {
                data.push((block, next, each));
            }
            next = next.saturating_add(each);
        }
    }
    for level in first..blocks {
        let (count, each) = header.level(level);
        let block = at.address(file.offsets)?;
        let all = count.saturating_mul(each);
        if header.is_read(reading, block, next, all) {
            secondary.push((block, next, count, each));
        }
        next = next.saturating_add(all);
    }
    let data_ranges = data.iter().map(|&(block, _, each)| (block, header.block_bytes(reading, each)));
    let secondary_ranges = secondary
        .iter()
        .map(|&(block, _, count, each)| (block, header.secondary_bytes(reading, count, each)));
    file.prefetch(data_ranges.chain(secondary_ranges));
    data.into_iter()
        .try_for_each(|(block, first, each)| header.data_block(reading, block, first, each, None))?;
    secondary
        .into_iter()
        .try_for_each(|(block, first, count, each)| header.secondary(reading, block, first, count, each))
}

/// Most bytes of an index block prefetched together.
const TOGETHER: u64 = 4 << 20;

impl ArrayHeader {
    /// Returns the number of data blocks of a level, and the elements of each.
    fn level(&self, level: u32) -> (u64, u64) {
        (1 << (level / 2), (1u64 << level.div_ceil(2)).saturating_mul(self.least))
    }

    /// Whether a block exists and has a wanted element.
    fn is_read(&self, reading: &IndexReader<'_>, block: u64, first: u64, elements: u64) -> bool {
        let numbers = first..first.saturating_add(elements);
        block != UNDEFINED && first < self.count && reading.wants(&numbers, &self.axes)
    }

    /// Returns the size in bytes of a data block of `each` elements with its pages, at most [`TOGETHER`].
    fn block_bytes(&self, reading: &IndexReader<'_>, each: u64) -> u64 {
        let pages = if each > self.page { 4 * (each / self.page) } else { 4 };
        each.saturating_mul(self.size).saturating_add(self.prefix(reading) + pages).min(TOGETHER)
    }

    /// Returns the number of pages of a data block; 0 if it has no pages.
    fn pages(&self, each: u64) -> u64 {
        if each > self.page { each / self.page } else { 0 }
    }

    /// Returns the size of a secondary block in bytes.
    fn secondary_bytes(&self, reading: &IndexReader<'_>, count: u64, each: u64) -> u64 {
        let address = u64::from(reading.file.offsets);
        count.saturating_mul(self.pages(each).div_ceil(8) + address).saturating_add(self.prefix(reading) + 4)
    }

    fn prefix(&self, reading: &IndexReader<'_>) -> u64 {
        6 + u64::from(reading.file.offsets) + u64::from(self.bits.div_ceil(8))
    }

    /// Reads and checks the owner of a block and the number of its first element. Elements of the index block
    /// are not counted.
    fn owner(
        &self,
        reading: &IndexReader<'_>,
        at: &mut MetadataCursor<'_>,
        first: Option<u64>,
    ) -> Result<()> {
        at.skip(2)?;
        let (array, start) = (at.address(reading.file.offsets)?, at.uint(self.bits.div_ceil(8))?);
        if array == self.address && first.is_none_or(|first| start == first - self.in_index) {
            Ok(())
        } else {
            Err(damaged("extensible array: a block belongs to another array or offset"))
        }
    }

    fn secondary(
        &self,
        reading: &mut IndexReader<'_>,
        block: u64,
        first: u64,
        count: u64,
        each: u64,
    ) -> Result<()> {
        let file = reading.file;
        let pages = self.pages(each);
        let bitmap = pages.div_ceil(8);
        let prefix = self.prefix(reading);
        let bytes =
            count.checked_mul(bitmap + u64::from(file.offsets)).and_then(|all| all.checked_add(prefix + 4));
        let bytes = bytes.ok_or_else(|| damaged("extensible array: a secondary block is too large"))?;
        let read = file.checked(block, bytes, "secondary block")?;
        let mut at = MetadataCursor::new(&read, "secondary block");
        at.expect(b"EASB")?;
        self.owner(reading, &mut at, Some(first))?;
        let used = at.bytes((count * bitmap) as usize)?;
        let mut blocks = Vec::new();
        for number in 0..count {
            let block = at.address(file.offsets)?;
            let first = first.saturating_add(number.saturating_mul(each));
            if self.is_read(reading, block, first, each) {
                blocks.push((block, first, number));
            }
        }
        let together = (TOGETHER / self.block_bytes(reading, each)).max(1) as usize;
        for blocks in blocks.chunks(together) {
            let mut ranges = Vec::new();
            for &(block, first, number) in blocks {
                match pages {
                    0 => ranges.push((block, self.block_bytes(reading, each))),
                    _ => {
                        ranges.push((block, prefix + 4));
                        let pages =
                            self.wanted_pages(reading, block, first, each, Some((used, number * pages)))?;
                        ranges.extend(pages.iter().map(|&(start, _)| (start, self.page_bytes())));
                    }
                }
            }
            file.prefetch(ranges);
            for &(block, first, number) in blocks {
                // The bits of all blocks are consecutive.
                self.data_block(reading, block, first, each, Some((used, number * pages)))?;
            }
        }
        Ok(())
    }

    /// Reads a data block. `used` has the bits of initialized pages, and the first bit of this block.
    fn data_block(
        &self,
        reading: &mut IndexReader<'_>,
        block: u64,
        first: u64,
        each: u64,
        used: Option<(&[u8], u64)>,
    ) -> Result<()> {
        let file = reading.file;
        let prefix = self.prefix(reading);
        let too_many = || damaged(format!("extensible array: {each} elements are too many"));
        let paged = each > self.page;
        let bytes = if paged { 0 } else { each.checked_mul(self.size).ok_or_else(too_many)? };
        let read = file.checked(block, bytes.checked_add(prefix + 4).ok_or_else(too_many)?, "data block")?;
        let mut at = MetadataCursor::new(&read, "data block");
        at.expect(b"EADB")?;
        // In blocks of the index block the HDF5 library stores another number there.
        self.owner(reading, &mut at, used.map(|_| first))?;
        if !paged {
            return elements(
                reading,
                &mut at,
                first..first.saturating_add(each),
                self.length_bytes,
                &self.axes,
            );
        }
        let page_bytes = self.page_bytes();
        let pages = self.wanted_pages(reading, block, first, each, used)?;
        for pages in pages.chunks((TOGETHER / page_bytes).max(1) as usize) {
            file.prefetch(pages.iter().map(|&(start, _)| (start, page_bytes)));
            for (start, numbers) in pages {
                let read = file.checked(*start, page_bytes, "page of a data block")?;
                let mut at = MetadataCursor::new(&read, "page of a data block");
                elements(reading, &mut at, numbers.clone(), self.length_bytes, &self.axes)?;
            }
        }
        Ok(())
    }

    fn page_bytes(&self) -> u64 {
        self.page * self.size + 4
    }

    /// Returns the pages that are initialized and wanted: offset and elements of each.
    fn wanted_pages(
        &self,
        reading: &IndexReader<'_>,
        block: u64,
        first: u64,
        each: u64,
        used: Option<(&[u8], u64)>,
    ) -> Result<Vec<(u64, Range<u64>)>> {
        let mut pages = Vec::new();
        for number in 0..self.pages(each) {
            let is_used = used.is_none_or(|(bits, first)| {
                let bit = first + number;
                bits.get((bit / 8) as usize).is_none_or(|byte| byte & (0x80 >> (bit % 8)) != 0)
            });
            let from = first.saturating_add(number * self.page);
            let numbers = from..from.saturating_add(self.page);
            if is_used && reading.wants(&numbers, &self.axes) {
                let start = number.checked_mul(self.page_bytes());
                let start = start.and_then(|skip| (block + self.prefix(reading) + 4).checked_add(skip));
                pages.push((
                    start
                        .ok_or_else(|| damaged(format!("extensible array: {each} elements are too many")))?,
                    numbers,
                ));
            }
        }
        Ok(pages)
    }
}
