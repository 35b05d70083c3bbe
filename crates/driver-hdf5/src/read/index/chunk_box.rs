//! [`ChunkBox`]: a box of chunks in the grid.

/// All chunks between two grid indexes, both included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChunkBox {
    first: Vec<u64>,
    last: Vec<u64>,
}

impl ChunkBox {
    /// Makes the box between two grid indexes; `None` if it is empty.
    pub(crate) fn new(first: Vec<u64>, last: Vec<u64>) -> Option<Self> {
        let is_box = first.len() == last.len() && first.iter().zip(&last).all(|(first, last)| first <= last);
        is_box.then_some(Self { first, last })
    }

    /// Makes the box of a whole grid; `None` if it is empty.
    pub(crate) fn all(grid: &[u64]) -> Option<Self> {
        let last = grid.iter().map(|&count| count.checked_sub(1)).collect::<Option<Vec<_>>>()?;
        Self::new(vec![0; grid.len()], last)
    }

    /// Whether all of another box is in this one.
    pub(crate) fn holds(&self, other: &Self) -> bool {
        let within =
            |axis: usize| self.first[axis] <= other.first[axis] && other.last[axis] <= self.last[axis];
        self.first.len() == other.first.len() && (0..self.first.len()).all(within)
    }

    /// Whether a grid index is in the box.
    pub(crate) fn has(&self, place: &[u64]) -> bool {
        place
            .iter()
            .zip(self.first.iter().zip(&self.last))
            .all(|(at, (first, last))| first <= at && at <= last)
    }

    /// Returns the number of chunks in the box.
    pub(crate) fn count(&self) -> u64 {
        self.first
            .iter()
            .zip(&self.last)
            .fold(1, |all: u64, (first, last)| all.saturating_mul(last - first + 1))
    }

    /// Returns all grid indexes in the box; the last axis varies fastest.
    pub(crate) fn places(&self) -> impl Iterator<Item = Vec<u64>> {
        let mut next = Some(self.first.clone());
        std::iter::from_fn(move || {
            let place = next.take()?;
            next = self.after(&place);
            Some(place)
        })
    }

    /// Returns the box with its axes in another order.
    pub(crate) fn in_order(&self, axes: &[usize]) -> Self {
        let order = |place: &[u64]| axes.iter().map(|&axis| place[axis]).collect();
        Self { first: order(&self.first), last: order(&self.last) }
    }

    /// Whether the box has a grid index at or after `from` and before `to`, in lexical order. `None` is no
    /// bound.
    pub(crate) fn between(&self, from: Option<&[u64]>, to: Option<&[u64]>) -> bool {
        let lowest = match from {
            Some(from) => self.from(from),
            None => Some(self.first.clone()),
        };
        lowest.is_some_and(|lowest| to.is_none_or(|to| lowest.as_slice() < to))
    }

    /// Returns the first grid index in the box at or after `from`.
    fn from(&self, from: &[u64]) -> Option<Vec<u64>> {
        let mut place = self.first.clone();
        for axis in 0..place.len() {
            if from[axis] < self.first[axis] {
                return Some(place);
            }
            if from[axis] > self.last[axis] {
                return self.step(place, axis);
            }
            place[axis] = from[axis];
        }
        Some(place)
    }

    /// Returns the grid index in the box that follows `place`.
    fn after(&self, place: &[u64]) -> Option<Vec<u64>> {
        self.step(place.to_vec(), place.len())
    }

    /// Returns the first grid index that differs from `place` before `axis` and follows it.
    fn step(&self, mut place: Vec<u64>, axis: usize) -> Option<Vec<u64>> {
        let at = (0..axis).rev().find(|&at| place[at] < self.last[at])?;
        place[at] += 1;
        place[at + 1..].copy_from_slice(&self.first[at + 1..]);
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_meet_stretches_of_the_order() {
        let grid = ChunkBox::all(&[3, 4, 5]).unwrap();
        let all: Vec<Vec<u64>> = grid.places().collect();
        assert_eq!((all.len() as u64, grid.count()), (60, 60));
        assert!(all.is_sorted());
        for first in &all {
            for last in all.iter().step_by(3) {
                let Some(wanted) = ChunkBox::new(first.clone(), last.clone()) else { continue };
                let inside: Vec<_> = wanted.places().collect();
                assert_eq!(inside.len() as u64, wanted.count());
                assert!(grid.holds(&wanted) && (wanted == grid || !wanted.holds(&grid)));
                for from in all.iter().step_by(4) {
                    for to in all.iter().step_by(5) {
                        let meets = inside.iter().any(|place| place >= from && place < to);
                        assert_eq!(wanted.between(Some(from), Some(to)), meets, "{wanted:?} {from:?} {to:?}");
                    }
                    assert_eq!(wanted.between(Some(from), None), inside.iter().any(|place| place >= from));
                    assert_eq!(wanted.between(None, Some(from)), inside.iter().any(|place| place < from));
                }
            }
        }
        assert_eq!(ChunkBox::all(&[3, 0]), None);
    }
}
