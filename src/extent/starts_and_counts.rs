//! Starts and counts, or starts, counts and strides, as netCDF's functions take them: `([0, 2], [1, 3])`.

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::DimVec;

use super::{Extent, Extents};

/// Returns one extent per dimension.
fn extents<T: Copy + TryInto<u64>>(
    starts: &[T],
    counts: &[T],
    strides: Option<&[T]>,
) -> Result<Option<DimVec<Extent>>> {
    let rank = starts.len();
    if counts.len() != rank || strides.is_some_and(|strides| strides.len() != rank) {
        let (counts, strides) = (counts.len(), strides.map_or(rank, <[T]>::len));
        return Err(ErrorKind::Inval.context(format!(
            "starts, counts and strides differ in length ({rank}, {counts} and {strides})"
        )));
    }
    let wide = |number: T| {
        number.try_into().map_err(|_| {
            ErrorKind::InvalCoords.context("a start, count or stride is negative or exceeds 64 bits")
        })
    };
    let extent = |dim: usize| {
        Ok(Extent::Strided {
            start: wide(starts[dim])?,
            count: Some(wide(counts[dim])?),
            stride: strides.map_or(Ok(1), |strides| wide(strides[dim]))?,
        })
    };
    (0..rank).map(extent).collect::<Result<_>>().map(Some)
}

macro_rules! lists {
    ($([$($generics:tt)*] $t:ty),* $(,)?) => {$(
        impl<$($generics)*> Extents for ($t, $t) {
            fn extents(self) -> Result<Option<DimVec<Extent>>> {
                extents(&self.0[..], &self.1[..], None)
            }
        }

        impl<$($generics)*> Extents for ($t, $t, $t) {
            fn extents(self) -> Result<Option<DimVec<Extent>>> {
                extents(&self.0[..], &self.1[..], Some(&self.2[..]))
            }
        }
    )*};
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        lists!([const N: usize] [$t; N], [const N: usize] &[$t; N], [] &[$t], [] Vec<$t>);
    )*};
}

// Literals without a type are `i32`.
numbers!(usize, u64, u32, isize, i64, i32);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Selection;

    #[test]
    fn starts_and_counts_are_a_slab() {
        let parts = |extents: Result<Selection>| {
            let selection = extents.unwrap();
            let slab = selection.slab();
            (slab.start.to_vec(), slab.count.to_vec(), (0..2).map(|dim| slab.step(dim)).collect::<Vec<_>>())
        };
        let plain = (vec![0, 2], vec![1, 3], vec![1, 1]);
        assert_eq!(parts(Selection::new(([0usize, 2], [1, 3]), &[4, 6])), plain);
        assert_eq!(parts(Selection::new((&[0u64, 2][..], &[1, 3][..]), &[4, 6])), plain);
        assert_eq!(parts(Selection::new((vec![0usize, 2], vec![1, 3]), &[4, 6])), plain);
        assert_eq!(parts(Selection::new(([0, 2], [1, 3]), &[4, 6])), plain);
        assert_eq!(parts(Selection::new((&[0, 2], &[1u32, 3]), &[4, 6])), plain);
        let strided = (vec![0, 2], vec![2, 2], vec![3, 2]);
        assert_eq!(parts(Selection::new(([0usize, 2], [2, 2], [3, 2]), &[4, 6])), strided);
        assert_eq!(parts(Selection::new(([0, 2], [2, 2], [3, 2]), &[4, 6])), strided);
        let negative = Selection::new(([0, -2], [1, 3]), &[4, 6]);
        assert_eq!(negative.unwrap_err().kind(), ErrorKind::InvalCoords);
        let uneven = Selection::new((vec![0usize, 2], vec![1]), &[4, 6]);
        assert_eq!(uneven.unwrap_err().kind(), ErrorKind::Inval);
    }
}
