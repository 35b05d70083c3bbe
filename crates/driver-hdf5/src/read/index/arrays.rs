//! Reads chunk indexes of datasets of fixed size: implicit indexes and fixed arrays.

use nczarr_model::Result;

use super::IndexReader;
use crate::read::cursor::{MetadataCursor, UNDEFINED, damaged};

/// Reads an implicit index: the chunks are stored one after another.
pub(super) fn implicit(reading: &mut IndexReader<'_>, places: u64) -> Result<()> {
    let all = reading.most.iter().try_fold(reading.chunk_bytes, |all, &count| all.checked_mul(count));
    reading.file.place(
        reading.address,
        all.ok_or_else(|| damaged(format!("implicit index: {places} chunks are too many")))?,
    )?;
    if let Some(wanted) = reading.wanted.clone() {
        for place in wanted.places() {
            let number = place.iter().zip(&reading.most).fold(0, |number, (at, count)| number * count + at);
            let address = reading.address + number * reading.chunk_bytes;
            reading.take(&place, address, reading.chunk_bytes, 0)?;
        }
        return Ok(());
    }
    let axes: Vec<usize> = (0..reading.grid.len()).collect();
    let count = reading.most.iter().product::<u64>();
    for number in 0..count {
        let address = reading.address + number * reading.chunk_bytes;
        reading.take_numbered(number, &axes, address, reading.chunk_bytes, 0)?;
    }
    Ok(())
}

/// Most pages prefetched together.
const TOGETHER: usize = 256;

/// Reads a fixed array: one element for each chunk, in pages if there are many.
pub(super) fn fixed(reading: &mut IndexReader<'_>) -> Result<()> {
    let file = reading.file;
    let (o, l) = (u64::from(file.offsets), u64::from(file.lengths));
    let head = file.checked(reading.address, 12 + l + o, "fixed array")?;
    let mut at = MetadataCursor::new(&head, "fixed array");
    at.expect(b"FAHD")?;
    at.version(0)?;
    let (client, size, page_bits) = (at.u8()?, at.u8()?, at.u8()?);
    let (count, block) = (at.uint(file.lengths)?, at.address(file.offsets)?);
    let plain = file.offsets;
    let length_bytes = match client {
        0 if size == plain && !reading.filtered => 0,
        1 if reading.filtered && (plain + 5..=plain + 12).contains(&size) => size - plain - 4,
        _ => return Err(damaged(format!("fixed array: unknown element type {client} of {size} bytes"))),
    };
    if block == UNDEFINED {
        return Ok(());
    }
    let axes: Vec<usize> = (0..reading.grid.len()).collect();
    let size = u64::from(size);
    let too_many = || damaged(format!("fixed array: {count} elements are too many"));
    let page = 1u64.checked_shl(page_bits.into()).ok_or_else(too_many)?;
    let bytes = count.checked_mul(size).ok_or_else(too_many)?;
    let prefix = 6 + o;
    if count <= page {
        let read = file.checked(block, bytes.checked_add(prefix + 4).ok_or_else(too_many)?, "fixed array")?;
        let mut at = MetadataCursor::new(&read, "fixed array");
        at.expect(b"FADB")?;
        at.skip(prefix as usize - 4)?;
        return elements(reading, &mut at, 0..count, length_bytes, &axes);
    }
    let pages = count.div_ceil(page);
    let bitmap = pages.div_ceil(8);
    let read = file.checked(block, prefix + bitmap + 4, "fixed array")?;
    let mut at = MetadataCursor::new(&read, "fixed array");
    at.expect(b"FADB")?;
    at.skip(prefix as usize - 4)?;
    let used = at.bytes(bitmap as usize)?;
    let first = block + prefix + bitmap + 4;
    let mut read = Vec::new();
    for number in 0..pages {
        let from = number * page;
        let range = from..count.min(from + page);
        let is_used = used[(number / 8) as usize] & (0x80 >> (number % 8)) != 0;
        if !is_used || !reading.wants(&range, &axes) {
            continue;
        }
        // All pages but the last have one length.
        let start = number
            .checked_mul(page * size + 4)
            .and_then(|skip| first.checked_add(skip))
            .ok_or_else(too_many)?;
        read.push((start, (range.end - from) * size + 4, range));
    }
    for pages in read.chunks(TOGETHER) {
        file.prefetch(pages.iter().map(|&(start, len, _)| (start, len)));
        for (start, len, range) in pages {
            let read = file.checked(*start, *len, "page of a fixed array")?;
            let mut at = MetadataCursor::new(&read, "page of a fixed array");
            elements(reading, &mut at, range.clone(), length_bytes, &axes)?;
        }
    }
    Ok(())
}

/// Reads the elements of an index that numbers the chunks.
pub(super) fn elements(
    reading: &mut IndexReader<'_>,
    at: &mut MetadataCursor<'_>,
    numbers: std::ops::Range<u64>,
    length_bytes: u8,
    axes: &[usize],
) -> Result<()> {
    for number in numbers {
        let (address, len, skipped) = reading.element(at, length_bytes)?;
        reading.take_numbered(number, axes, address, len, skipped)?;
    }
    Ok(())
}
