//! [`CompletedBlocks`]: the progress of a copy, in blocks of one variable after another.

/// The progress of the data: complete variables, in the order of the source, then blocks of the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompletedBlocks {
    /// The number of complete variables.
    pub variables: u64,
    /// Lengths of the blocks of the next one.
    pub block: Vec<u64>,
    /// The number of its complete blocks.
    pub blocks: u64,
}

impl CompletedBlocks {
    /// Returns whether any data are complete.
    pub fn is_something(&self) -> bool {
        self.variables > 0 || self.blocks > 0
    }

    /// Returns whether all of a part of variable number `variable` is complete.
    pub fn covers(&self, variable: u64, shape: &[u64], start: &[u64], count: &[u64]) -> bool {
        if variable != self.variables {
            return variable < self.variables;
        }
        if self.blocks == 0 || self.block.len() != shape.len() || self.block.contains(&0) {
            return false;
        }
        // Blocks count in C order, so the block of a part's last element is the last one that the part needs.
        let last = start.iter().zip(count).map(|(start, count)| start + count - 1);
        let place = last.zip(shape).zip(&self.block).fold(0u64, |place, ((at, len), block)| {
            place.saturating_mul(len.div_ceil(*block)).saturating_add(at / block)
        });
        place < self.blocks
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::tiles::Tiles;
    use super::*;

    proptest! {
        /// After some blocks of one shape, blocks of another shape count as complete only if these blocks
        /// cover them.
        #[test]
        fn covered_blocks_were_copied(
            dims in prop::collection::vec((1u64..7, 1u64..5, 1u64..5), 0..4), done in 0u64..40,
        ) {
            let shape: Vec<u64> = dims.iter().map(|dim| dim.0).collect();
            let (old, new): (Vec<u64>, Vec<u64>) = dims.iter().map(|dim| (dim.1, dim.2)).unzip();
            let elements = |start: &[u64], count: &[u64]| -> Vec<u64> {
                Tiles::new(count, &vec![1; count.len()]).map(|(at, _)| {
                    at.iter().zip(start).zip(&shape).fold(0, |flat, ((at, start), len)| flat * len + at + start)
                }).collect()
            };
            let moved: std::collections::HashSet<u64> = Tiles::new(&shape, &old)
                .take(done as usize).flat_map(|(start, count)| elements(&start, &count)).collect();
            let completed = CompletedBlocks { variables: 3, block: old.clone(), blocks: done };
            for (start, count) in Tiles::new(&shape, &new) {
                let covered = completed.covers(3, &shape, &start, &count);
                prop_assert!(!covered || elements(&start, &count).iter().all(|at| moved.contains(at)));
                prop_assert!(completed.covers(2, &shape, &start, &count) && !completed.covers(4, &shape, &start, &count));
                // With equal block shapes, no block is copied twice.
                prop_assert!(old != new || covered == elements(&start, &count).iter().all(|at| moved.contains(at)));
            }
        }
    }
}
