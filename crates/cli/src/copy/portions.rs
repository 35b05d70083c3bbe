//! [`Portions`]: the parts of a variable that a copy moves, block by block.
//!
//! They cover all of a variable, or only its stored chunks. Blocks keep their numbers either way, since a
//! resumed copy counts by them.

use std::collections::BTreeMap;

use crate::stored::{Stored, VarBox};

use super::tiles::Tiles;

/// The parts of each block.
pub enum Portions {
    /// Each block as a whole: the variable's shape and the block's.
    Whole { shape: Vec<u64>, block: Vec<u64> },
    /// By block number, its place and its parts.
    Stored(BTreeMap<u64, (VarBox, Vec<VarBox>)>),
}

impl Portions {
    /// All of a variable.
    pub fn whole(shape: &[u64], block: &[u64]) -> Self {
        Self::Whole { shape: shape.to_vec(), block: block.to_vec() }
    }

    /// The stored parts of a variable.
    pub fn stored(shape: &[u64], block: &[u64], stored: &Stored) -> Self {
        let mut blocks: BTreeMap<u64, (VarBox, Vec<VarBox>)> = BTreeMap::new();
        for (start, count) in stored.boxes() {
            let end: Vec<u64> = start.iter().zip(&count).map(|(start, count)| start + count).collect();
            let first: Vec<u64> = start.iter().zip(block).map(|(start, block)| start / block).collect();
            let last: Vec<u64> = end.iter().zip(block).map(|(end, block)| (end - 1) / block).collect();
            let mut at = first.clone();
            loop {
                let (number, (from, len)) = place(shape, block, &at);
                let begin: Vec<u64> = from.iter().zip(&start).map(|(from, start)| *from.max(start)).collect();
                let inside = from.iter().zip(&len).zip(&end).zip(&begin);
                let inside =
                    inside.map(|(((from, len), end), begin)| (from + len).min(*end) - begin).collect();
                blocks.entry(number).or_insert(((from, len), Vec::new())).1.push((begin, inside));
                let Some(dim) = (0..at.len()).rev().find(|&dim| at[dim] < last[dim]) else { break };
                at[dim] += 1;
                at[dim + 1..].copy_from_slice(&first[dim + 1..]);
            }
        }
        Self::Stored(blocks)
    }

    /// Returns number, place and parts of each block, in the order of their numbers.
    pub fn iter(&self) -> Box<dyn Iterator<Item = (u64, VarBox, Vec<VarBox>)> + '_> {
        match self {
            Self::Whole { shape, block } => {
                let tiles = (0..).zip(Tiles::new(shape, block));
                Box::new(tiles.map(|(number, block)| (number, block.clone(), vec![block])))
            }
            Self::Stored(blocks) => Box::new(
                blocks.iter().map(|(number, (block, parts))| (*number, block.clone(), parts.clone())),
            ),
        }
    }
}

/// The number of a block in C order, and its start and count.
fn place(shape: &[u64], block: &[u64], at: &[u64]) -> (u64, VarBox) {
    let number = at.iter().zip(shape).zip(block);
    let number = number.fold(0u64, |number, ((at, len), block)| {
        number.saturating_mul(len.div_ceil(*block)).saturating_add(*at)
    });
    let start: Vec<u64> = at.iter().zip(block).map(|(at, block)| at * block).collect();
    let count =
        start.iter().zip(shape).zip(block).map(|((start, len), block)| *block.min(&(len - start))).collect();
    (number, (start, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_the_numbers_of_tiles() {
        let (shape, block) = ([5, 7], [2, 3]);
        for (number, tile, _) in Portions::whole(&shape, &block).iter() {
            let at: Vec<u64> = tile.0.iter().zip(&block).map(|(start, block)| start / block).collect();
            assert_eq!(place(&shape, &block, &at), (number, tile));
        }
    }
}
