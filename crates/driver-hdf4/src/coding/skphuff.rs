//! Skipping Huffman: each byte is coded by a tree that is rearranged around it (a semi-splay); several trees take turns, one
//! for each byte of an element.
//!
//! Nodes 0 to 255 are inner ones, 0 is the root, which begins as its own left child; node 256 + b is the leaf of byte b.
//!
//! Source: HDF Specification, "Skipping Huffman"; D. W. Jones, "Application of splay trees to data compression", 1988.

use nczarr_dispatch::OutBuf;
use nczarr_model::{ErrorKind, Result};

use super::bits::Bits;

/// Inner nodes, and the first leaf.
const LEAVES: usize = 256;
const ROOT: usize = 0;

/// The most trees that are believed: one for each byte of an element, and elements are small.
const MOST: u32 = 1024;

/// Checks how many trees there are.
///
/// # Errors
/// `NC_EHDFERR` for none, or more than make sense.
pub(super) fn trees(count: u32) -> Result<u32> {
    match (1..=MOST).contains(&count) {
        true => Ok(count),
        false => Err(ErrorKind::HdfErr.context(format!("skipping Huffman with {count} trees; 1 to {MOST} make sense"))),
    }
}

#[derive(Clone)]
struct Tree {
    children: [[u16; 2]; LEAVES],
    parents: [u16; 2 * LEAVES],
}

impl Tree {
    fn new() -> Self {
        Self {
            children: std::array::from_fn(|node| [2 * node as u16, 2 * node as u16 + 1]),
            parents: std::array::from_fn(|node| (node / 2) as u16),
        }
    }

    /// The byte whose code comes next. `None` where bits end.
    fn next(&mut self, bits: &mut Bits<'_>) -> Option<u8> {
        let mut node = ROOT;
        while node < LEAVES {
            node = usize::from(self.children[node][bits.take(1)? as usize]);
        }
        self.splay(node);
        Some((node - LEAVES) as u8)
    }

    /// Halves the way from the root to a leaf: each second node on it changes place with its uncle.
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
/// `NC_EFILTER` if bits end before.
pub(super) fn decode(trees: usize, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
    let mut trees = vec![Tree::new(); trees];
    let mut bits = Bits::new(src);
    let room = dst.room();
    let mut turn = 0;
    for (at, byte) in dst.zeroed(room)?.iter_mut().enumerate() {
        *byte = trees[turn].next(&mut bits).ok_or_else(|| {
            ErrorKind::Filter.context(format!("skipping Huffman: the code ends after {at} of {room} bytes"))
        })?;
        turn = if turn + 1 == trees.len() { 0 } else { turn + 1 };
    }
    Ok(())
}
