//! Reads chunk indexes that are B-trees of version 1, with one key for each chunk.
//!
//! The tree is read level by level, so the nodes of a level of a remote file are requested together.

use nczarr_model::Result;

use super::IndexReader;
use super::chunk_box::ChunkBox;
use crate::read::cursor::{MetadataCursor, damaged};
use crate::read::file::WalkBudget;

/// Most nodes prefetched together.
const TOGETHER: usize = 1024;

/// Children of a node, by default of HDF5.
const CHILDREN: u64 = 64;

/// A node to be read. `from` is the first chunk index that may be below it, `to` the first that may not.
struct PendingNode {
    address: u64,
    from: Option<Vec<u64>>,
    to: Option<Vec<u64>>,
}

/// Reads all chunks, or those in the wanted box.
pub(super) fn read(reading: &mut IndexReader<'_>) -> Result<()> {
    let mut budget = WalkBudget::new(reading.file, 24);
    let wanted = reading.wanted.clone();
    let likely = 24 + CHILDREN * (16 + 8 * (reading.grid.len() as u64 + 1));
    let mut nodes = vec![PendingNode { address: reading.address, from: None, to: None }];
    let mut above = None;
    while !nodes.is_empty() {
        let (mut below, mut level) = (Vec::new(), None);
        for nodes in nodes.chunks(TOGETHER) {
            reading.file.prefetch(nodes.iter().map(|node| (node.address, likely)));
            for node in nodes {
                level = Some(read_node(reading, node, above, wanted.as_ref(), &mut budget, &mut below)?);
            }
        }
        (nodes, above) = (below, level);
    }
    Ok(())
}

/// Reads a node: takes its chunks, or adds its children to `below`. Returns its level.
fn read_node(
    reading: &mut IndexReader<'_>,
    node: &PendingNode,
    above: Option<u8>,
    wanted: Option<&ChunkBox>,
    budget: &mut WalkBudget,
    below: &mut Vec<PendingNode>,
) -> Result<u8> {
    budget.spend("nodes of a chunk index")?;
    let (file, rank) = (reading.file, reading.grid.len());
    let o = file.offsets;
    let head = file.read(node.address, 8 + 2 * u64::from(o))?;
    let mut at = MetadataCursor::new(&head, "node of a chunk index");
    at.expect(b"TREE")?;
    let (ty, level, count) = (at.u8()?, at.u8()?, at.u16()?);
    if ty != 1 || above.is_some_and(|above| level.checked_add(1) != Some(above)) {
        return Err(damaged(format!("chunk index: invalid node of type {ty}, level {level}")));
    }
    let key = 8 + 8 * (rank as u64 + 1);
    let bytes = file.read(node.address + head.len() as u64, u64::from(count) * (key + u64::from(o)))?;
    let mut at = MetadataCursor::new(&bytes, "node of a chunk index");
    let mut place = vec![0; rank];
    // The previous child, and its first chunk index.
    let mut before: Option<(u64, Vec<u64>)> = None;
    for _ in 0..count {
        let (len, skipped) = (at.u32()?, at.u32()?);
        for (at_dim, chunk) in place.iter_mut().zip(&reading.shape) {
            let offset = at.u64()?;
            if offset % chunk != 0 {
                return Err(damaged(format!(
                    "chunk index: offset {offset} is not a multiple of the chunk length {chunk}"
                )));
            }
            *at_dim = offset / chunk;
        }
        at.u64()?;
        let child = at.address(o)?;
        if level == 0 {
            budget.spend("chunks")?;
        }
        let Some(wanted) = wanted else {
            match level {
                0 => reading.take(&place, child, len.into(), skipped)?,
                _ => below.push(PendingNode { address: child, from: None, to: None }),
            }
            continue;
        };
        // A partial read relies on the order of keys.
        let last = before.as_ref().map(|(_, place)| place);
        let low =
            last.is_some_and(|last| *last >= place) || node.from.as_ref().is_some_and(|from| *from > place);
        if low || node.to.as_ref().is_some_and(|to| *to <= place) {
            return Err(damaged(format!("chunk index: chunk {place:?} is out of order")));
        }
        if level == 0 {
            reading.take(&place, child, len.into(), skipped)?;
        } else if let Some((address, from)) = before.take() {
            push(below, wanted, address, from, Some(place.clone()));
        }
        before = Some((child, place.clone()));
    }
    if let (Some(wanted), Some((address, from)), true) = (wanted, before, level > 0) {
        push(below, wanted, address, from, node.to.clone());
    }
    Ok(level)
}

/// Adds a child if a wanted chunk may be below it.
fn push(below: &mut Vec<PendingNode>, wanted: &ChunkBox, address: u64, from: Vec<u64>, to: Option<Vec<u64>>) {
    if wanted.between(Some(&from), to.as_deref()) {
        below.push(PendingNode { address, from: Some(from), to });
    }
}
