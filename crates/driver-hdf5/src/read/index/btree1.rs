//! B-trees of the first version: one chunk for each key.

use model::Result;

use super::Reading;
use crate::read::cursor::{Cursor, bad};
use crate::read::file::Budget;

/// Reads them all.
pub(super) fn read(reading: &mut Reading<'_>) -> Result<()> {
    let mut budget = Budget::new(reading.file, 24);
    node(reading, reading.address, None, &mut budget)
}

fn node(reading: &mut Reading<'_>, address: u64, above: Option<u8>, budget: &mut Budget) -> Result<()> {
    budget.spend("nodes of a chunk index")?;
    let (file, rank) = (reading.file, reading.grid.len());
    let o = file.offsets;
    let head = file.read(address, 8 + 2 * u64::from(o))?;
    let mut at = Cursor::new(&head, "node of a chunk index");
    at.expect(b"TREE")?;
    let (ty, level, count) = (at.u8()?, at.u8()?, at.u16()?);
    if ty != 1 || above.is_some_and(|above| level.checked_add(1) != Some(above)) {
        return Err(bad(format!("chunk index: a tree of type {ty}, level {level}")));
    }
    let key = 8 + 8 * (rank as u64 + 1);
    let bytes = file.read(address + head.len() as u64, u64::from(count) * (key + u64::from(o)))?;
    let mut at = Cursor::new(&bytes, "node of a chunk index");
    let mut place = vec![0; rank];
    for _ in 0..count {
        let (len, skipped) = (at.u32()?, at.u32()?);
        for (at_dim, chunk) in place.iter_mut().zip(&reading.shape) {
            let offset = at.u64()?;
            if offset % chunk != 0 {
                return Err(bad(format!("chunk index: a chunk from element {offset} on, of {chunk}")));
            }
            *at_dim = offset / chunk;
        }
        at.u64()?;
        let child = at.address(o)?;
        match level {
            0 => {
                budget.spend("chunks")?;
                reading.take(&place, child, len.into(), skipped)?;
            }
            _ => node(reading, child, Some(level), budget)?,
        }
    }
    Ok(())
}
