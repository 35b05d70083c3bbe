//! [`Wanted`]: the chunks that somebody asks for: a box of the grid.

/// From one place of the grid to another one, both included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    first: Vec<u64>,
    last: Vec<u64>,
}

impl Wanted {
    /// The box between two places; `None` if there is no place in it.
    pub(crate) fn new(first: Vec<u64>, last: Vec<u64>) -> Option<Self> {
        let is_box = first.len() == last.len() && first.iter().zip(&last).all(|(first, last)| first <= last);
        is_box.then_some(Self { first, last })
    }

    /// All of a grid.
    pub(crate) fn all(grid: &[u64]) -> Option<Self> {
        let last = grid.iter().map(|&count| count.checked_sub(1)).collect::<Option<Vec<_>>>()?;
        Self::new(vec![0; grid.len()], last)
    }

    /// Whether all of another box is in this one.
    pub(crate) fn holds(&self, other: &Self) -> bool {
        let within = |axis: usize| self.first[axis] <= other.first[axis] && other.last[axis] <= self.last[axis];
        self.first.len() == other.first.len() && (0..self.first.len()).all(within)
    }

    /// Whether a place is in it.
    pub(crate) fn has(&self, place: &[u64]) -> bool {
        place.iter().zip(self.first.iter().zip(&self.last)).all(|(at, (first, last))| first <= at && at <= last)
    }

    /// How many places there are in it.
    pub(crate) fn count(&self) -> u64 {
        self.first.iter().zip(&self.last).fold(1, |all: u64, (first, last)| all.saturating_mul(last - first + 1))
    }

    /// All places in it, the last axis fastest.
    pub(crate) fn places(&self) -> impl Iterator<Item = Vec<u64>> {
        let mut next = Some(self.first.clone());
        std::iter::from_fn(move || {
            let place = next.take()?;
            next = self.after(&place);
            Some(place)
        })
    }

    /// The same box, its axes in another order.
    pub(crate) fn in_order(&self, axes: &[usize]) -> Self {
        let order = |place: &[u64]| axes.iter().map(|&axis| place[axis]).collect();
        Self { first: order(&self.first), last: order(&self.last) }
    }

    /// Whether a place in it is not before `from` and before `to`, as lists are ordered. `None`: there is no such end.
    pub(crate) fn between(&self, from: Option<&[u64]>, to: Option<&[u64]>) -> bool {
        let lowest = match from {
            Some(from) => self.from(from),
            None => Some(self.first.clone()),
        };
        lowest.is_some_and(|lowest| to.is_none_or(|to| lowest.as_slice() < to))
    }

    /// The first place in it that is not before `from`.
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

    /// The place that follows one in it.
    fn after(&self, place: &[u64]) -> Option<Vec<u64>> {
        self.step(place.to_vec(), place.len())
    }

    /// The first place that follows all those with the same indices along the axes before `axis`.
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
        let grid = Wanted::all(&[3, 4, 5]).unwrap();
        let all: Vec<Vec<u64>> = grid.places().collect();
        assert_eq!((all.len() as u64, grid.count()), (60, 60));
        assert!(all.is_sorted());
        for first in &all {
            for last in all.iter().step_by(3) {
                let Some(wanted) = Wanted::new(first.clone(), last.clone()) else { continue };
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
        assert_eq!(Wanted::all(&[3, 0]), None);
    }
}
