//! [`BlockPlan`]: the blocks in which a variable is moved, and their cost.

use nczarr_model::{Model, VarId};

use super::block::{STRING, block};

/// The blocks of a variable.
#[derive(Debug, PartialEq)]
pub struct BlockPlan {
    /// Elements of a block along each dimension.
    pub block: Vec<u64>,
    /// The number of blocks.
    pub blocks: u64,
    /// Chunks of the source.
    pub chunks: u64,
    /// The number of chunk reads, one for each block that needs a chunk.
    pub reads: u64,
}

impl BlockPlan {
    /// Plans an array with these chunks in target and source, with elements of `item` bytes, in `budget`
    /// bytes of memory.
    pub fn of(
        shape: &[u64],
        target: Option<Vec<u64>>,
        source: Option<Vec<u64>>,
        item: u64,
        budget: u64,
    ) -> Self {
        let source = source.filter(|chunks| chunks.len() == shape.len() && !chunks.contains(&0));
        let block = block(shape, target.as_deref(), source.as_deref(), item, budget);
        let product = |all: &mut dyn Iterator<Item = u64>| all.fold(1, u64::saturating_mul);
        let along =
            |step: &[u64]| product(&mut shape.iter().zip(step).map(|(len, step)| len.div_ceil(*step)));
        let Some(source) = source else {
            return Self { blocks: along(&block), block, chunks: 1, reads: 1 };
        };
        // Blocks start at multiples of their length, so dimensions are independent.
        let reads = product(&mut (0..shape.len()).map(|dim| touched(shape[dim], block[dim], source[dim])));
        Self { blocks: along(&block), chunks: along(&source), reads, block }
    }
}

/// Counts chunk reads along a dimension: one per chunk, and one more for each block border inside a chunk.
fn touched(len: u64, step: u64, chunk: u64) -> u64 {
    let (mut common, mut rest) = (step, chunk);
    while rest > 0 {
        (common, rest) = (rest, common % rest);
    }
    let ends = len.div_ceil(step) - 1;
    len.div_ceil(chunk).saturating_add(ends - ends / (chunk / common))
}

/// Returns the bytes of a variable's elements in memory.
pub fn bytes_of(model: &Model, id: VarId) -> u64 {
    let item = model
        .var(id)
        .ok()
        .and_then(|var| model.type_size(var.xtype).ok().flatten())
        .map_or(STRING, |size| size as u64);
    model.shape(id).unwrap_or_default().iter().fold(item, |product, &len| product.saturating_mul(len))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies columns of all times into whole maps.
    #[test]
    fn more_memory_means_fewer_reads() {
        let shape = [1024, 1024, 1024];
        let (target, source) = (Some(vec![1, 1024, 1024]), Some(vec![1024, 32, 32]));
        let of = |budget| BlockPlan::of(&shape, target.clone(), source.clone(), 4, budget);
        assert_eq!(
            of(64 << 20),
            BlockPlan { block: vec![16, 1024, 1024], blocks: 64, chunks: 1024, reads: 64 * 1024 }
        );
        assert_eq!(
            of(256 << 20),
            BlockPlan { block: vec![64, 1024, 1024], blocks: 16, chunks: 1024, reads: 16 * 1024 }
        );
        assert_eq!(of(4 << 30).reads, 1024);
    }

    #[test]
    fn the_formula_counts_reads() {
        for (len, step, chunk) in
            (1..30).flat_map(|len| (1..9).flat_map(move |step| (1..9).map(move |chunk| (len, step, chunk))))
        {
            let counted: u64 = (0..len)
                .step_by(step as usize)
                .map(|start: u64| (start + step).min(len).div_ceil(chunk) - start / chunk)
                .sum();
            assert_eq!(touched(len, step, chunk), counted, "{len} {step} {chunk}");
        }
        let moves =
            BlockPlan::of(&[4_000_000_000_000_000_000; 2], Some(vec![1, 1]), Some(vec![1, 1]), 8, 4000);
        assert_eq!(moves.reads, u64::MAX);
    }

    #[test]
    fn the_same_chunks_are_read_once() {
        let chunks = Some(vec![10, 10]);
        let moves = BlockPlan::of(&[95, 33], chunks.clone(), chunks, 8, 4000);
        assert_eq!((moves.chunks, moves.reads), (40, 40));
    }
}
