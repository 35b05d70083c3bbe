//! The blocks in which data are moved, and the memory for them.

/// The default size of a block, in bytes.
pub const BUDGET: u64 = 64 << 20;
/// The assumed size of a string, in bytes.
pub const STRING: u64 = 64;

/// Returns the block shape: whole chunks of the target, extended to whole chunks of the source as far as the
/// budget allows.
pub fn block(
    shape: &[u64],
    target: Option<&[u64]>,
    source: Option<&[u64]>,
    item: u64,
    budget: u64,
) -> Vec<u64> {
    let fits =
        |chunks: Option<&[u64]>| chunks.filter(|chunks| chunks.len() == shape.len()).map(<[u64]>::to_vec);
    let bytes = |block: &[u64]| block.iter().fold(item, |product, &len| product.saturating_mul(len));
    let mut block = fits(target).unwrap_or_else(|| vec![1; shape.len()]);
    for (len, &most) in block.iter_mut().zip(shape) {
        *len = (*len).clamp(1, most.max(1));
    }
    // Grow first along the dimensions where the source's chunks are longer, so that each is decoded once;
    // then along the fastest dimension.
    let goals = [fits(source).unwrap_or_else(|| block.clone()), shape.to_vec()];
    for goal in goals {
        for dim in (0..block.len()).rev() {
            let times = (budget / bytes(&block).max(1)).min(goal[dim].div_ceil(block[dim])).max(1);
            block[dim] = block[dim].saturating_mul(times).min(shape[dim]);
        }
    }
    // A single chunk beyond the budget is moved in parts.
    for dim in 0..block.len() {
        while bytes(&block) > budget && block[dim] > 1 {
            block[dim] = block[dim].div_ceil(2);
        }
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_whole_chunks_of_the_target() {
        for (shape, target, source, item, want) in [
            (vec![10, 10], Some(vec![3, 4]), None, 8, vec![10, 10]),
            (
                vec![1 << 20, 1 << 12],
                Some(vec![16, 1 << 12]),
                Some(vec![16, 1 << 12]),
                8,
                vec![2048, 1 << 12],
            ),
            (vec![1 << 12, 1 << 20], Some(vec![16, 1 << 10]), Some(vec![64, 1 << 8]), 4, vec![64, 1 << 18]),
            (vec![1 << 20, 1 << 20], Some(vec![1 << 20, 1 << 20]), None, 8, vec![8, 1 << 20]),
            (vec![], None, None, 8, vec![]),
            (vec![5], Some(vec![100]), None, 8, vec![5]),
        ] {
            assert_eq!(
                block(&shape, target.as_deref(), source.as_deref(), item, BUDGET),
                want,
                "{shape:?} {target:?} {source:?}"
            );
        }
    }
}
