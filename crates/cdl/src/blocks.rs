//! [`Blocks`]: how much of an array is asked for at a time.

/// The blocks of an array, in C order, as start and count: as many whole trailing dimensions as fit, and a range of the
/// one before.
///
/// # Examples
/// ```
/// // Rows of 4, at most 8 elements at a time.
/// let blocks: Vec<_> = cdl::Blocks::new(&[3, 4], None, 8).collect();
/// assert_eq!(blocks, [(vec![0, 0], vec![2, 4]), (vec![2, 0], vec![1, 4])]);
/// ```
#[derive(Debug, Clone)]
pub struct Blocks {
    shape: Vec<u64>,
    /// The dimension along which a block is a range; trailing ones are whole, leading ones are single.
    split: usize,
    step: u64,
    next: Option<Vec<u64>>,
}

impl Blocks {
    /// The blocks of `shape` with at most `limit` elements each; where that allows it, they begin at whole chunks.
    pub fn new(shape: &[u64], chunks: Option<&[u64]>, limit: u64) -> Self {
        let mut inner = 1u64;
        let mut split = shape.len();
        while split > 0 && inner.saturating_mul(shape[split - 1]) <= limit {
            split -= 1;
            inner = inner.saturating_mul(shape[split]);
        }
        if split == 0 {
            let step = shape.first().copied().unwrap_or(1);
            return Self { shape: shape.to_vec(), split, step, next: Some(vec![0; shape.len()]) };
        }
        split -= 1;
        let mut step = (limit / inner.max(1)).max(1);
        if let Some(&chunk) = chunks.and_then(|chunks| chunks.get(split))
            && chunk > 0
            && step > chunk
        {
            step -= step % chunk;
        }
        Self { shape: shape.to_vec(), split, step, next: Some(vec![0; shape.len()]) }
    }
}

impl Iterator for Blocks {
    type Item = (Vec<u64>, Vec<u64>);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.next.take()?;
        let mut count = vec![1; start.len()];
        if start.is_empty() {
            return Some((start, count));
        }
        let split = self.split;
        count[split] = self.step.min(self.shape[split] - start[split]);
        count[split + 1..].copy_from_slice(&self.shape[split + 1..]);
        let mut next = start.clone();
        next[split] += count[split];
        for dim in (0..=split).rev() {
            if next[dim] < self.shape[dim] {
                self.next = Some(next);
                break;
            }
            if dim > 0 {
                next[dim] = 0;
                next[dim - 1] += 1;
            }
        }
        Some((start, count))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the shape, chunks and limit: the blocks, one after another, are all elements in C order, and none is
        /// larger than the limit allows.
        #[test]
        fn blocks_are_all_elements_in_order(
            dims in prop::collection::vec((1u64..6, 1u64..4), 0..5),
            limit in 1u64..40,
        ) {
            let shape: Vec<u64> = dims.iter().map(|dim| dim.0).collect();
            let chunks: Vec<u64> = dims.iter().map(|dim| dim.1).collect();
            let mut seen = Vec::new();
            for (start, count) in Blocks::new(&shape, Some(&chunks), limit) {
                let len: u64 = count.iter().product();
                prop_assert!(len <= limit);
                prop_assert!(shape.iter().product::<u64>() > limit || seen.is_empty(), "all fits in one block");
                for at in 0..len {
                    let mut rest = at;
                    let mut flat = 0;
                    let mut scale = 1;
                    for dim in (0..shape.len()).rev() {
                        flat += (start[dim] + rest % count[dim]) * scale;
                        rest /= count[dim];
                        scale *= shape[dim];
                    }
                    seen.push(flat);
                }
            }
            prop_assert_eq!(seen, (0..shape.iter().product()).collect::<Vec<u64>>());
        }
    }
}
