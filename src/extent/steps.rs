//! Ranges with a step: `(0..).step_by(2)`.

use std::iter::StepBy;
use std::ops::{Range, RangeFrom, RangeInclusive};

use nczarr_model::Result;
use nczarr_runtime::DimVec;

use super::{Extent, Extents, IntoExtent, index};

/// Returns the strided extent of a range that yields `first`, then perhaps `second`; `count` numbers in all.
fn strided(first: Option<u64>, second: Option<u64>, count: Option<u64>) -> Extent {
    let start = first.unwrap_or(0);
    let stride = second.map_or(1, |second| second.saturating_sub(start));
    Extent::Strided { start, count, stride }
}

macro_rules! stepped {
    ($($t:ty),*) => {$(
        impl IntoExtent for StepBy<Range<$t>> {
            fn into_extent(mut self) -> Result<Extent> {
                let count = self.size_hint().0 as u64;
                let mut next = || self.next().map(index).transpose();
                Ok(strided(next()?, next()?, Some(count)))
            }
        }

        impl IntoExtent for StepBy<RangeInclusive<$t>> {
            fn into_extent(mut self) -> Result<Extent> {
                let count = self.size_hint().0 as u64;
                let mut next = || self.next().map(index).transpose();
                Ok(strided(next()?, next()?, Some(count)))
            }
        }

        impl IntoExtent for StepBy<RangeFrom<$t>> {
            fn into_extent(mut self) -> Result<Extent> {
                let mut next = || self.next().map(index).transpose();
                Ok(strided(next()?, next()?, None))
            }
        }

        stepped!(alone: StepBy<Range<$t>>, StepBy<RangeInclusive<$t>>, StepBy<RangeFrom<$t>>);
    )*};
    (alone: $($t:ty),*) => {$(
        impl Extents for $t {
            fn extents(self) -> Result<Option<DimVec<Extent>>> {
                Ok(Some(DimVec::from(&[self.into_extent()?][..])))
            }
        }
    )*};
}

stepped!(usize, u64, u32, i32, i64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Selection;

    /// The indices that a range selects along a dimension.
    fn selected(extent: impl IntoExtent, len: u64) -> Vec<u64> {
        let selection = Selection::new([extent.into_extent().unwrap()], &[len]).unwrap();
        let slab = selection.slab();
        (0..slab.count[0]).map(|i| slab.start[0] + i * slab.step(0)).collect()
    }

    #[test]
    fn a_stepped_range_selects_its_numbers() {
        for (start, end, step) in [(0, 10, 1), (0, 10, 3), (1, 10, 3), (2, 3, 5), (0, 9, 3), (4, 4, 2)] {
            let expected: Vec<u64> = (start..end).step_by(step).collect();
            assert_eq!(selected((start..end).step_by(step), 10), expected, "{start}..{end} by {step}");
            if start < end {
                assert_eq!(selected((start..=end - 1).step_by(step), 10), expected);
            }
            let open: Vec<u64> = (start..10).step_by(step).collect();
            assert_eq!(selected((start..).step_by(step), 10), open, "{start}.. by {step}");
        }
        assert!((-3i32..3).step_by(2).into_extent().is_err());
        // The count is computed, not counted.
        let most = Extent::Strided { start: 0, count: Some(u64::MAX), stride: 1 };
        assert_eq!((0..u64::MAX).step_by(1).into_extent().unwrap(), most);
    }
}
