//! B-trees of the first version: one chunk for each key.
//!
//! They are read level by level, so that of a file elsewhere the nodes of a level are asked for together.

use nczarr_model::Result;

use super::Reading;
use super::wanted::Wanted;
use crate::read::cursor::{Cursor, bad};
use crate::read::file::Budget;

/// Nodes that are asked for together.
const TOGETHER: usize = 1024;

/// Children of a node, HDF5's default.
const CHILDREN: u64 = 64;

/// A node to be read, with the first place that may be below it and the first that may not, where that matters.
struct Node {
    address: u64,
    from: Option<Vec<u64>>,
    to: Option<Vec<u64>>,
}

/// Reads them all, or those that are wanted.
pub(super) fn read(reading: &mut Reading<'_>) -> Result<()> {
    let mut budget = Budget::new(reading.file, 24);
    let wanted = reading.wanted.clone();
    let likely = 24 + CHILDREN * (16 + 8 * (reading.grid.len() as u64 + 1));
    let mut nodes = vec![Node { address: reading.address, from: None, to: None }];
    let mut above = None;
    while !nodes.is_empty() {
        let (mut below, mut level) = (Vec::new(), None);
        for nodes in nodes.chunks(TOGETHER) {
            reading.file.expect(nodes.iter().map(|node| (node.address, likely)));
            for node in nodes {
                level = Some(read_node(reading, node, above, wanted.as_ref(), &mut budget, &mut below)?);
            }
        }
        (nodes, above) = (below, level);
    }
    Ok(())
}

/// Reads a node: takes its chunks, or adds its children to those below. Answers its level.
fn read_node(
    reading: &mut Reading<'_>,
    node: &Node,
    above: Option<u8>,
    wanted: Option<&Wanted>,
    budget: &mut Budget,
    below: &mut Vec<Node>,
) -> Result<u8> {
    budget.spend("nodes of a chunk index")?;
    let (file, rank) = (reading.file, reading.grid.len());
    let o = file.offsets;
    let head = file.read(node.address, 8 + 2 * u64::from(o))?;
    let mut at = Cursor::new(&head, "node of a chunk index");
    at.expect(b"TREE")?;
    let (ty, level, count) = (at.u8()?, at.u8()?, at.u16()?);
    if ty != 1 || above.is_some_and(|above| level.checked_add(1) != Some(above)) {
        return Err(bad(format!("chunk index: a tree of type {ty}, level {level}")));
    }
    let key = 8 + 8 * (rank as u64 + 1);
    let bytes = file.read(node.address + head.len() as u64, u64::from(count) * (key + u64::from(o)))?;
    let mut at = Cursor::new(&bytes, "node of a chunk index");
    let mut place = vec![0; rank];
    // The one before, and where it begins.
    let mut before: Option<(u64, Vec<u64>)> = None;
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
        if level == 0 {
            budget.spend("chunks")?;
        }
        let Some(wanted) = wanted else {
            match level {
                0 => reading.take(&place, child, len.into(), skipped)?,
                _ => below.push(Node { address: child, from: None, to: None }),
            }
            continue;
        };
        // Only what is in order can be found without reading everything.
        let last = before.as_ref().map(|(_, place)| place);
        let low = last.is_some_and(|last| *last >= place) || node.from.as_ref().is_some_and(|from| *from > place);
        if low || node.to.as_ref().is_some_and(|to| *to <= place) {
            return Err(bad(format!("chunk index: the place {place:?} in a node is out of order")));
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

/// Adds a child if something below it is wanted.
fn push(below: &mut Vec<Node>, wanted: &Wanted, address: u64, from: Vec<u64>, to: Option<Vec<u64>>) {
    if wanted.between(Some(&from), to.as_deref()) {
        below.push(Node { address, from: Some(from), to });
    }
}
