//! [`Blocks`]: divides an array into blocks to read.

/// The blocks of an array in C order, as start and count. A block has as many whole trailing dimensions as
/// fit, and a range of the dimension before.
///
/// # Examples
/// ```
/// // Rows of 4, at most 8 elements at a time.
/// let blocks: Vec<_> = nczarr_cdl::Blocks::new(&[3, 4], None, 8).collect();
/// assert_eq!(blocks, [(vec![0, 0], vec![2, 4]), (vec![2, 0], vec![1, 4])]);
/// ```
#[derive(Debug, Clone)]
pub struct Blocks {
    shape: Vec<u64>,
    /// The dimension along which a block is a range; trailing ones are whole, leading ones are single.
    split: usize,
    step: u64,
    /// The chunks along that dimension.
    line: Option<ChunkAxis>,
    next: Option<Vec<u64>>,
}

/// The position of chunks in a part of an array.
#[derive(Debug, Clone, Copy)]
pub struct ChunkGrid<'a> {
    /// The shape of the chunks.
    pub chunks: &'a [u64],
    /// Start of the part.
    pub start: &'a [u64],
    /// Stride of the part.
    pub stride: &'a [u64],
}

/// As [`ChunkGrid`], along one dimension.
#[derive(Debug, Clone, Copy)]
struct ChunkAxis {
    chunk: u64,
    start: u64,
    stride: u64,
}

impl ChunkGrid<'_> {
    /// Returns the axis; `None` without chunks.
    fn line(&self, dim: usize) -> Option<ChunkAxis> {
        let (chunk, start, stride) = (*self.chunks.get(dim)?, *self.start.get(dim)?, *self.stride.get(dim)?);
        (chunk > 0 && stride > 0).then_some(ChunkAxis { chunk, start, stride })
    }
}

impl ChunkAxis {
    /// Returns the most elements of the part in a chunk.
    fn count(self) -> u64 {
        self.chunk.div_ceil(self.stride)
    }

    /// Returns the last index from `from` to `to` at which no chunk is cut, or `to`.
    fn cut(self, from: u64, to: u64) -> u64 {
        let Some(place) = to.checked_mul(self.stride).and_then(|skip| skip.checked_add(self.start)) else {
            return to;
        };
        let begins = place - place % self.chunk;
        let whole = begins.saturating_sub(self.start).div_ceil(self.stride);
        if whole > from { whole } else { to }
    }
}

impl Blocks {
    /// Divides `shape` into blocks of at most `limit` elements, which start at whole chunks if possible.
    pub fn new(shape: &[u64], chunks: Option<&[u64]>, limit: u64) -> Self {
        let (start, stride) = (vec![0; shape.len()], vec![1; shape.len()]);
        Self::of_part(
            shape,
            chunks.map(|chunks| ChunkGrid { chunks, start: &start, stride: &stride }),
            limit,
            limit,
        )
    }

    /// As [`Blocks::new`], for a caller that reads each block once. A block may have up to `most` elements if
    /// that avoids reading a chunk twice.
    pub fn by_chunks(shape: &[u64], chunks: Option<&[u64]>, limit: u64, most: u64) -> Self {
        let (start, stride) = (vec![0; shape.len()], vec![1; shape.len()]);
        Self::of_part(
            shape,
            chunks.map(|chunks| ChunkGrid { chunks, start: &start, stride: &stride }),
            limit,
            most,
        )
    }

    /// As [`Blocks::by_chunks`], for a part of an array with shape `shape`.
    pub fn of_part(shape: &[u64], grid: Option<ChunkGrid<'_>>, limit: u64, most: u64) -> Self {
        let mut inner = 1u64;
        let mut split = shape.len();
        while split > 0 && inner.saturating_mul(shape[split - 1]) <= limit {
            split -= 1;
            inner = inner.saturating_mul(shape[split]);
        }
        let next = Some(vec![0; shape.len()]);
        if split == 0 {
            let step = shape.first().copied().unwrap_or(1);
            return Self { shape: shape.to_vec(), split, step, line: None, next };
        }
        split -= 1;
        let mut step = (limit / inner.max(1)).max(1);
        let line = |dim: usize| grid.as_ref().and_then(|grid| grid.line(dim));
        // A chunk cut by several blocks is read for each of them. Find the outermost dimension where this is
        // avoidable.
        let within = |dim: usize| shape[dim + 1..].iter().try_fold(1u64, |len, &side| len.checked_mul(side));
        let row = |dim: usize| line(dim).map_or(1, ChunkAxis::count).min(shape[dim]);
        let fits =
            |dim: usize| within(dim).and_then(|len| len.checked_mul(row(dim))).is_some_and(|len| len <= most);
        if let Some(dim) = (0..=split).find(|&dim| row(dim) > 1 && fits(dim))
            && (dim < split || step < row(dim))
        {
            (split, step) = (dim, row(dim));
        }
        Self { shape: shape.to_vec(), split, step, line: line(split), next }
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
        let (from, len) = (start[split], self.shape[split]);
        let mut to = from.saturating_add(self.step).min(len);
        if let Some(line) = self.line.filter(|_| to < len) {
            to = line.cut(from, to);
        }
        count[split] = to - from;
        count[split + 1..].copy_from_slice(&self.shape[split + 1..]);
        let mut next = start.clone();
        next[split] = to;
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
        /// For any shape, chunks and limits, the blocks cover all elements in C order and stay within the
        /// limits. If a row of chunks fits, no chunk is read twice.
        #[test]
        fn blocks_are_all_elements_in_order(
            dims in prop::collection::vec((1u64..6, 1u64..4, 0u64..5, 1u64..4), 0..5),
            limit in 1u64..40,
            more in 0u64..400,
        ) {
            let column = |of: fn(&(u64, u64, u64, u64)) -> u64| dims.iter().map(of).collect::<Vec<u64>>();
            let (shape, chunks) = (column(|dim| dim.0), column(|dim| dim.1));
            let (origin, stride, most) = (column(|dim| dim.2), column(|dim| dim.3), limit + more);
            let grid = ChunkGrid { chunks: &chunks, start: &origin, stride: &stride };
            let (mut seen, mut reads) = (Vec::new(), std::collections::BTreeMap::<Vec<u64>, usize>::new());
            for (start, count) in Blocks::of_part(&shape, Some(grid), limit, most) {
                let len: u64 = count.iter().product();
                prop_assert!(len <= most);
                let chunk = |dim: usize, at: u64| (origin[dim] + at * stride[dim]) / chunks[dim];
                let ranges: Vec<Vec<u64>> = (0..shape.len()).map(|dim| {
                    let mut all: Vec<u64> = (start[dim]..start[dim] + count[dim]).map(|at| chunk(dim, at)).collect();
                    all.dedup();
                    all
                }).collect();
                let mut touched = vec![Vec::new()];
                for range in &ranges {
                    let longer = |key: &Vec<u64>| range.iter().map(|&at| [&key[..], &[at]].concat()).collect::<Vec<_>>();
                    touched = touched.iter().flat_map(longer).collect();
                }
                touched.into_iter().for_each(|key| *reads.entry(key).or_default() += 1);
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
            let outermost = (0..shape.len()).find(|&dim| chunks[dim].div_ceil(stride[dim]).min(shape[dim]) > 1);
            let band = outermost.map_or(1, |dim| {
                chunks[dim].div_ceil(stride[dim]).min(shape[dim]) * shape[dim + 1..].iter().product::<u64>()
            });
            if band <= most {
                prop_assert!(reads.values().all(|&reads| reads == 1), "{reads:?}");
            }
        }
    }
}
