//! [`Tiles`]: an array cut into blocks.

/// All blocks of an array, in C order, as start and count.
pub struct Tiles {
    shape: Vec<u64>,
    block: Vec<u64>,
    next: Option<Vec<u64>>,
}

impl Tiles {
    pub fn new(shape: &[u64], block: &[u64]) -> Self {
        Self { shape: shape.to_vec(), block: block.to_vec(), next: Some(vec![0; shape.len()]) }
    }
}

impl Iterator for Tiles {
    type Item = (Vec<u64>, Vec<u64>);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.next.take()?;
        let rest = self.shape.iter().zip(&start).map(|(len, start)| len - start);
        let count = self.block.iter().zip(rest).map(|(&block, rest)| block.min(rest)).collect();
        let mut next = start.clone();
        for dim in (0..next.len()).rev() {
            next[dim] = next[dim].saturating_add(self.block[dim]);
            if next[dim] < self.shape[dim] {
                self.next = Some(next);
                break;
            }
            next[dim] = 0;
        }
        Some((start, count))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn tiles_cover_every_element_once(dims in prop::collection::vec((1u64..6, 1u64..4), 0..5)) {
            let (shape, block): (Vec<u64>, Vec<u64>) = dims.into_iter().unzip();
            let mut seen = vec![0u32; shape.iter().product::<u64>() as usize];
            for (start, count) in Tiles::new(&shape, &block) {
                for at in 0..count.iter().product::<u64>() {
                    let (mut rest, mut flat, mut scale) = (at, 0, 1);
                    for dim in (0..shape.len()).rev() {
                        flat += (start[dim] + rest % count[dim]) * scale;
                        rest /= count[dim];
                        scale *= shape[dim];
                    }
                    seen[flat as usize] += 1;
                }
            }
            prop_assert!(seen.iter().all(|&times| times == 1));
        }
    }
}
