//! Decodes skipping Huffman coding. A tree codes each byte and is then rearranged by a semi-splay. Several
//! trees take turns, one for each byte of an element.
//!
//! Nodes 0 to 255 are inner nodes. Node 0 is the root, and initially its own left child. Node 256 + b is the
//! leaf of byte b.
//!
//! Source: HDF Specification, "Skipping Huffman"; D. W. Jones, "Application of splay trees to data
//! compression", 1988.

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;

use super::bits::BitReader;

/// Number of inner nodes, which is the number of the first leaf.
const LEAVES: usize = 256;
const ROOT: usize = 0;

/// Most trees accepted. There is one for each byte of an element, and elements are small.
const MOST: u32 = 1024;

/// Checks the number of trees.
///
/// # Errors
/// `NC_EHDFERR` if it is zero or too large.
pub(super) fn trees(count: u32) -> Result<u32> {
    if (1..=MOST).contains(&count) {
        Ok(count)
    } else {
        Err(ErrorKind::HdfErr.context(format!(
            "skipping Huffman: invalid number of trees (expected 1 to {MOST}, found {count})"
        )))
    }
}

#[derive(Clone)]
struct SplayTree {
    children: [[u16; 2]; LEAVES],
    parents: [u16; 2 * LEAVES],
}

impl SplayTree {
    fn new() -> Self {
        Self {
            children: std::array::from_fn(|node| [2 * node as u16, 2 * node as u16 + 1]),
            parents: std::array::from_fn(|node| (node / 2) as u16),
        }
    }

    /// Decodes the next byte. `None` at the end of the input.
    fn next(&mut self, bits: &mut BitReader<'_>) -> Option<u8> {
        let mut node = ROOT;
        while node < LEAVES {
            node = usize::from(self.children[node][bits.take(1)? as usize]);
        }
        self.splay(node);
        Some((node - LEAVES) as u8)
    }

    /// Halves the path from the root to a leaf: every second node on it swaps places with its uncle.
    fn splay(&mut self, leaf: usize) {
        let mut node = leaf;
        loop {
            let parent = usize::from(self.parents[node]);
            if parent == ROOT {
                return;
            }
            let above = usize::from(self.parents[parent]);
            let side = usize::from(usize::from(self.children[above][0]) == parent);
            let uncle = std::mem::replace(&mut self.children[above][side], node as u16);
            let own = usize::from(usize::from(self.children[parent][0]) != node);
            self.children[parent][own] = uncle;
            self.parents[node] = above as u16;
            self.parents[usize::from(uncle)] = parent as u16;
            node = above;
            if node == ROOT {
                return;
            }
        }
    }
}

/// Decodes until the output is full.
///
/// # Errors
/// `NC_EFILTER` if the input ends early.
pub(super) fn decode(trees: usize, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
    let mut trees = vec![SplayTree::new(); trees];
    let mut bits = BitReader::new(src);
    let room = dst.remaining();
    let mut turn = 0;
    for (at, byte) in dst.put_zeros(room)?.iter_mut().enumerate() {
        *byte = trees[turn].next(&mut bits).ok_or_else(|| {
            ErrorKind::Filter.context(format!(
                "skipping Huffman: the input ends early (expected {room} bytes, found {at})"
            ))
        })?;
        turn = if turn + 1 == trees.len() { 0 } else { turn + 1 };
    }
    Ok(())
}
