//! [`Extents`]: the part of a variable that a call reads or writes, in Rust syntax.
//!
//! `..` is everything; a tuple has one entry per dimension: an index, a range, an [`Extent::Strided`]. A
//! [`Selection`] is the result for a given shape. [`Slab::check`] checks the bounds.

#[cfg(feature = "ndarray")]
mod slice_info;
mod starts_and_counts;
mod steps;

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use nczarr_model::{ErrorKind, Result, Slab};
use nczarr_runtime::DimVec;

/// The part of one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extent {
    /// From `start` to the end of the dimension.
    From {
        /// First index.
        start: u64,
    },
    /// From `start` up to `end`, exclusive.
    Range {
        /// First index.
        start: u64,
        /// The index after the last.
        end: u64,
    },
    /// One index; the result lacks this dimension.
    Index(u64),
    /// One index counted from the end, where 1 is the last; the result lacks this dimension.
    IndexFromEnd(u64),
    /// Every `stride`-th element from `start` up to `end`, exclusive. Negative positions count from the end
    /// of the dimension.
    Signed {
        /// First index.
        start: i64,
        /// The index after the last; `None`: up to the end.
        end: Option<i64>,
        /// The step; 0 is an error when the extent is used.
        stride: u64,
    },
    /// Every `stride`-th element from `start` on.
    Strided {
        /// First index.
        start: u64,
        /// The count; `None`: up to the end.
        count: Option<u64>,
        /// The step; 0 is an error when the extent is used.
        stride: u64,
    },
}

impl Default for Extent {
    /// The whole dimension.
    fn default() -> Self {
        Self::ALL
    }
}

impl Extent {
    /// The whole dimension.
    pub const ALL: Self = Self::From { start: 0 };

    /// `count` elements from `start` on.
    pub const fn count(start: u64, count: u64) -> Self {
        Self::Strided { start, count: Some(count), stride: 1 }
    }

    /// Returns the index, if the extent is a single index for any length.
    fn single(self) -> Option<u64> {
        match self {
            Self::Index(index) => Some(index),
            Self::Range { start, end } if end.checked_sub(start) == Some(1) => Some(start),
            _ => None,
        }
    }

    /// Returns start and count, if the extent is contiguous and independent of the length.
    fn plain(self) -> Option<(u64, u64)> {
        match self {
            Self::Index(index) => Some((index, 1)),
            Self::Range { start, end } => Some((start, end.checked_sub(start)?)),
            Self::Strided { start, count: Some(count), stride: 1 } => Some((start, count)),
            _ => None,
        }
    }

    fn open_ended(self) -> bool {
        matches!(self, Self::From { .. } | Self::Strided { count: None, .. })
    }

    /// Returns start, count and stride along a dimension of `len` elements.
    fn along(self, len: u64) -> Result<(u64, u64, u64)> {
        let from_end = |back: u64| {
            let outside = || {
                let text = format!("index -{back} is before the start of a dimension of length {len}");
                ErrorKind::InvalCoords.context(text)
            };
            len.checked_sub(back).ok_or_else(outside)
        };
        let position = |at: i64| match u64::try_from(at) {
            Ok(at) => Ok(at),
            Err(_) => from_end(at.unsigned_abs()),
        };
        let steps = |count: u64, stride: u64| count.div_ceil(stride.max(1));
        Ok(match self {
            Self::From { start } => (start, len.saturating_sub(start), 1),
            Self::Range { start, end } => (start, end.saturating_sub(start), 1),
            Self::Index(index) => (index, 1, 1),
            Self::IndexFromEnd(back) => (from_end(back)?, 1, 1),
            Self::Signed { start, end, stride } => {
                let (start, end) = (position(start)?, end.map_or(Ok(len), position)?);
                (start, steps(end.saturating_sub(start), stride), stride)
            }
            Self::Strided { start, count: Some(count), stride } => (start, count, stride),
            Self::Strided { start, count: None, stride } => {
                (start, steps(len.saturating_sub(start), stride), stride)
            }
        })
    }
}

/// Types that convert to an [`Extent`]: an integer, a range of integers, `..`.
pub trait IntoExtent {
    /// Converts it to an extent.
    ///
    /// # Errors
    /// [`ErrorKind::InvalCoords`] for a negative number.
    fn into_extent(self) -> Result<Extent>;

    /// Returns the index for a plain index, as a fast path. [`IntoExtent::into_extent`] must then mean that
    /// index. `None` is always valid.
    fn single(&self) -> Option<u64> {
        None
    }

    /// Returns start and count for a plain range, as a fast path. [`IntoExtent::into_extent`] must then mean
    /// the same for any length. `None` is always valid.
    fn plain(&self) -> Option<(u64, u64)> {
        Some((self.single()?, 1))
    }
}

impl IntoExtent for Extent {
    fn single(&self) -> Option<u64> {
        Self::single(*self)
    }

    fn plain(&self) -> Option<(u64, u64)> {
        Self::plain(*self)
    }

    fn into_extent(self) -> Result<Extent> {
        Ok(self)
    }
}

impl IntoExtent for RangeFull {
    fn into_extent(self) -> Result<Extent> {
        Ok(Extent::ALL)
    }
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl IntoExtent for $t {
            fn single(&self) -> Option<u64> {
                (*self).try_into().ok()
            }

            fn into_extent(self) -> Result<Extent> {
                Ok(Extent::Index(index(self)?))
            }
        }

        impl IntoExtent for Range<$t> {
            fn plain(&self) -> Option<(u64, u64)> {
                let (start, end) = (u64::try_from(self.start).ok()?, u64::try_from(self.end).ok()?);
                Some((start, end.checked_sub(start)?))
            }

            fn into_extent(self) -> Result<Extent> {
                Ok(Extent::Range { start: index(self.start)?, end: index(self.end)? })
            }
        }

        impl IntoExtent for RangeInclusive<$t> {
            fn into_extent(self) -> Result<Extent> {
                Ok(Extent::Range { start: index(*self.start())?, end: index(*self.end())?.saturating_add(1) })
            }
        }

        impl IntoExtent for RangeFrom<$t> {
            fn into_extent(self) -> Result<Extent> {
                Ok(Extent::From { start: index(self.start)? })
            }
        }

        impl IntoExtent for RangeTo<$t> {
            fn into_extent(self) -> Result<Extent> {
                Ok(Extent::Range { start: 0, end: index(self.end)? })
            }
        }

        impl IntoExtent for RangeToInclusive<$t> {
            fn into_extent(self) -> Result<Extent> {
                Ok(Extent::Range { start: 0, end: index(self.end)?.saturating_add(1) })
            }
        }
    )*};
}

integers!(usize, u64, u32, u16, u8, isize, i64, i32, i16, i8);

fn index<T: TryInto<u64> + Copy + std::fmt::Display>(number: T) -> Result<u64> {
    number.try_into().map_err(|_| ErrorKind::InvalCoords.context(format!("index {number} is negative")))
}

/// Types that select a part of a variable: `..`; one extent per dimension in a tuple, array, slice or vector;
/// a single extent for one dimension; `()` for a scalar.
pub trait Extents {
    /// Returns one extent per dimension; `None`: the whole variable.
    ///
    /// # Errors
    /// As [`IntoExtent::into_extent`].
    fn extents(self) -> Result<Option<DimVec<Extent>>>;

    /// Puts the indices of a single element into `at`, as a fast path ([`IntoExtent::single`]). `None` is
    /// always valid.
    fn single<'a>(&self, _at: &'a mut [u64]) -> Option<&'a [u64]> {
        None
    }

    /// Puts start and count of each dimension into `start` and `count`, as a fast path
    /// ([`IntoExtent::plain`]). Returns the number of dimensions. `None` is always valid.
    fn plain(&self, _start: &mut [u64], _count: &mut [u64]) -> Option<usize> {
        None
    }
}

fn plains<E: IntoExtent>(extents: &[E], start: &mut [u64], count: &mut [u64]) -> Option<usize> {
    let (start, count) = (start.get_mut(..extents.len())?, count.get_mut(..extents.len())?);
    for ((start, count), extent) in start.iter_mut().zip(count).zip(extents) {
        (*start, *count) = extent.plain()?;
    }
    Some(extents.len())
}

fn singles<'a, E: IntoExtent>(extents: &[E], at: &'a mut [u64]) -> Option<&'a [u64]> {
    let at = at.get_mut(..extents.len())?;
    for (at, extent) in at.iter_mut().zip(extents) {
        *at = extent.single()?;
    }
    Some(at)
}

impl Extents for RangeFull {
    fn extents(self) -> Result<Option<DimVec<Extent>>> {
        Ok(None)
    }
}

impl Extents for () {
    fn extents(self) -> Result<Option<DimVec<Extent>>> {
        Ok(Some(DimVec::default()))
    }

    fn single<'a>(&self, at: &'a mut [u64]) -> Option<&'a [u64]> {
        at.get(..0)
    }
}

impl<E: IntoExtent> Extents for Vec<E> {
    fn extents(self) -> Result<Option<DimVec<Extent>>> {
        self.into_iter().map(E::into_extent).collect::<Result<_>>().map(Some)
    }

    fn single<'a>(&self, at: &'a mut [u64]) -> Option<&'a [u64]> {
        singles(self, at)
    }

    fn plain(&self, start: &mut [u64], count: &mut [u64]) -> Option<usize> {
        plains(self, start, count)
    }
}

impl<E: IntoExtent, const N: usize> Extents for [E; N] {
    fn extents(self) -> Result<Option<DimVec<Extent>>> {
        self.into_iter().map(E::into_extent).collect::<Result<_>>().map(Some)
    }

    fn single<'a>(&self, at: &'a mut [u64]) -> Option<&'a [u64]> {
        singles(self, at)
    }

    fn plain(&self, start: &mut [u64], count: &mut [u64]) -> Option<usize> {
        plains(self, start, count)
    }
}

impl<E: IntoExtent + Clone> Extents for &[E] {
    fn extents(self) -> Result<Option<DimVec<Extent>>> {
        self.iter().cloned().map(E::into_extent).collect::<Result<_>>().map(Some)
    }

    fn single<'a>(&self, at: &'a mut [u64]) -> Option<&'a [u64]> {
        singles(self, at)
    }

    fn plain(&self, start: &mut [u64], count: &mut [u64]) -> Option<usize> {
        plains(self, start, count)
    }
}

impl<E: IntoExtent + Clone> Extents for &Vec<E> {
    fn extents(self) -> Result<Option<DimVec<Extent>>> {
        self.as_slice().extents()
    }

    fn single<'a>(&self, at: &'a mut [u64]) -> Option<&'a [u64]> {
        singles(self, at)
    }

    fn plain(&self, start: &mut [u64], count: &mut [u64]) -> Option<usize> {
        plains(self, start, count)
    }
}

impl<E: IntoExtent + Clone, const N: usize> Extents for &[E; N] {
    fn extents(self) -> Result<Option<DimVec<Extent>>> {
        self.as_slice().extents()
    }

    fn single<'a>(&self, at: &'a mut [u64]) -> Option<&'a [u64]> {
        singles(*self, at)
    }

    fn plain(&self, start: &mut [u64], count: &mut [u64]) -> Option<usize> {
        plains(*self, start, count)
    }
}

macro_rules! single {
    ($($t:ty),* $(,)?) => {$(
        impl Extents for $t {
            fn extents(self) -> Result<Option<DimVec<Extent>>> {
                Ok(Some(DimVec::from(&[self.into_extent()?][..])))
            }

            fn single<'a>(&self, at: &'a mut [u64]) -> Option<&'a [u64]> {
                *at.first_mut()? = IntoExtent::single(self)?;
                at.get(..1)
            }

            fn plain(&self, start: &mut [u64], count: &mut [u64]) -> Option<usize> {
                (*start.first_mut()?, *count.first_mut()?) = IntoExtent::plain(self)?;
                Some(1)
            }
        }
    )*};
}

macro_rules! single_ranges {
    ($($t:ty),*) => {
        single!($($t, Range<$t>, RangeInclusive<$t>, RangeFrom<$t>, RangeTo<$t>, RangeToInclusive<$t>),*);
    };
}

single!(Extent);
single_ranges!(usize, u64, u32, u16, u8, isize, i64, i32, i16, i8);

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: IntoExtent),*> Extents for ($($name,)*) {
            #[allow(non_snake_case)]
            fn extents(self) -> Result<Option<DimVec<Extent>>> {
                let ($($name,)*) = self;
                Ok(Some(DimVec::from(&[$($name.into_extent()?),*][..])))
            }

            #[allow(non_snake_case)]
            fn single<'a>(&self, at: &'a mut [u64]) -> Option<&'a [u64]> {
                let ($($name,)*) = self;
                let mut rest = at.iter_mut();
                let mut rank = 0;
                $(
                    *rest.next()? = IntoExtent::single($name)?;
                    rank += 1;
                )*
                at.get(..rank)
            }

            #[allow(non_snake_case)]
            fn plain(&self, start: &mut [u64], count: &mut [u64]) -> Option<usize> {
                let ($($name,)*) = self;
                let mut rest = start.iter_mut().zip(count);
                let mut rank = 0;
                $(
                    let (start, count) = rest.next()?;
                    (*start, *count) = IntoExtent::plain($name)?;
                    rank += 1;
                )*
                Some(rank)
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);

/// Extents applied to a shape: start, count and stride per dimension, and the dimensions that remain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    start: DimVec<u64>,
    count: DimVec<u64>,
    /// Empty: all strides are 1.
    stride: DimVec<u64>,
    kept: DimVec<bool>,
}

impl Selection {
    /// Applies `extents` to a variable of `shape`.
    ///
    /// # Errors
    /// [`ErrorKind::Inval`] if their number differs from the rank; as [`IntoExtent::into_extent`].
    pub fn new(extents: impl Extents, shape: &[u64]) -> Result<Self> {
        Self::of(&per_dimension(extents, shape.len())?, shape)
    }

    /// As [`Selection::new`] for a write of `elements` elements. An open end (`..`, `3..`) along one
    /// unlimited dimension covers all records behind its start, and extends as far as the elements.
    ///
    /// # Errors
    /// [`ErrorKind::Inval`] if the elements do not fill whole records, or fewer records than exist; as
    /// [`Selection::new`].
    pub fn for_write(
        extents: impl Extents,
        shape: &[u64],
        unlimited: &[bool],
        elements: u64,
    ) -> Result<Self> {
        let extents = per_dimension(extents, shape.len())?;
        let mut selection = Self::of(&extents, shape)?;
        let mut open = (0..shape.len()).filter(|&dim| unlimited[dim] && extents[dim].open_ended());
        if let (Some(dim), None) = (open.next(), open.next()) {
            let others = selection.count.iter().enumerate().filter(|(other, _)| *other != dim);
            let record = others.fold(1u64, |product, (_, &count)| product.saturating_mul(count));
            if record == 0 && elements == 0 {
                selection.count[dim] = 0;
            } else if record == 0 || !elements.is_multiple_of(record) {
                return Err(ErrorKind::Inval.context(format!("{elements} elements for records of {record}")));
            } else {
                let (found, there) = (elements / record, selection.count[dim]);
                if (1..there).contains(&found) {
                    let what = format!("{found} records for an open end over {there} records; give a range");
                    return Err(ErrorKind::Inval.context(what));
                }
                selection.count[dim] = found;
            }
        }
        Ok(selection)
    }

    fn of(extents: &[Extent], shape: &[u64]) -> Result<Self> {
        let mut selection = Self::default();
        for (extent, &len) in extents.iter().zip(shape) {
            let (first, number, step) = extent.along(len)?;
            selection.start.push(first);
            selection.count.push(number);
            selection.stride.push(step);
            selection.kept.push(!matches!(extent, Extent::Index(_) | Extent::IndexFromEnd(_)));
        }
        if selection.stride.iter().all(|&step| step == 1) {
            selection.stride.clear();
        }
        Ok(selection)
    }

    /// Returns start, count and stride.
    pub fn slab(&self) -> Slab<'_> {
        let stride = (!self.stride.is_empty()).then_some(&*self.stride);
        Slab { start: &self.start, count: &self.count, stride }
    }

    /// Returns the shape of the result: the counts of dimensions without an index.
    pub fn shape(&self) -> DimVec<u64> {
        self.count.iter().zip(self.kept.iter()).filter(|(_, kept)| **kept).map(|(&count, _)| count).collect()
    }
}

fn per_dimension(extents: impl Extents, rank: usize) -> Result<DimVec<Extent>> {
    let extents = extents.extents()?.unwrap_or_else(|| DimVec::with_len(rank));
    if extents.len() != rank {
        return Err(
            ErrorKind::Inval.context(format!("{} extents, the variable's rank is {rank}", extents.len()))
        );
    }
    Ok(extents)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(extents: impl Extents, shape: &[u64]) -> (Vec<u64>, Vec<u64>, Vec<u64>, Vec<u64>) {
        let selection = Selection::new(extents, shape).unwrap();
        let slab = selection.slab();
        let stride = (0..slab.rank()).map(|dim| slab.step(dim)).collect();
        (slab.start.to_vec(), slab.count.to_vec(), stride, selection.shape().to_vec())
    }

    #[test]
    fn every_form_selects_its_slab() {
        let all = (vec![0, 0], vec![4, 6], vec![1, 1], vec![4, 6]);
        assert_eq!(parts(.., &[4, 6]), all);
        assert_eq!(parts((.., ..), &[4, 6]), all);
        assert_eq!(parts([0..4, 0..6], &[4, 6]), all);
        assert_eq!(parts(vec![Extent::ALL; 2], &[4, 6]), all);
        assert_eq!(parts((1, 2..), &[4, 6]), (vec![1, 2], vec![1, 4], vec![1, 1], vec![4]));
        assert_eq!(parts((1u64, ..=2usize), &[4, 6]), (vec![1, 0], vec![1, 3], vec![1, 1], vec![3]));
        assert_eq!(parts([3, 5], &[4, 6]), (vec![3, 5], vec![1, 1], vec![1, 1], vec![]));
        assert_eq!(parts(2..3, &[4]), (vec![2], vec![1], vec![1], vec![1]));
        assert_eq!(parts(.., &[]), (vec![], vec![], vec![], vec![]));
        assert_eq!(parts((), &[]), (vec![], vec![], vec![], vec![]));
        let every = |start, stride| Extent::Strided { start, count: None, stride };
        assert_eq!(parts(every(1, 2), &[6]), (vec![1], vec![3], vec![2], vec![3]));
        assert_eq!(parts(every(1, 2), &[7]), (vec![1], vec![3], vec![2], vec![3]));
        assert_eq!(parts(every(9, 2), &[7]), (vec![9], vec![0], vec![2], vec![0]));
        assert_eq!(parts(Extent::count(2, 3), &[7]), (vec![2], vec![3], vec![1], vec![3]));
        // A reversed range is empty, as in Rust. A range beyond the end stays there and is refused.
        let (from, to) = (3, 1);
        assert_eq!(parts(from..to, &[7]), (vec![3], vec![0], vec![1], vec![0]));
        assert_eq!(parts(5..9, &[7]), (vec![5], vec![4], vec![1], vec![4]));
    }

    #[test]
    fn single_elements_agree_with_general_selections() {
        fn single(extents: impl Extents + Clone) -> Option<Vec<u64>> {
            let mut at = [7; 4];
            let at = extents.single(&mut at)?.to_vec();
            let (start, count, stride, shape) = parts(extents, &vec![9; at.len()]);
            assert!(start == at && count.iter().all(|&n| n == 1) && stride.iter().all(|&n| n == 1));
            assert!(shape.len() <= at.len());
            Some(at)
        }
        assert_eq!(single(()), Some(vec![]));
        assert_eq!(single(3), Some(vec![3]));
        assert_eq!(single((3, 4u64, 5usize)), Some(vec![3, 4, 5]));
        assert_eq!(single([3u32, 4]), Some(vec![3, 4]));
        assert_eq!(single(vec![3i64, 4]), Some(vec![3, 4]));
        assert_eq!(single(&vec![3i64, 4]), Some(vec![3, 4]));
        assert_eq!(single(&[3, 4]), Some(vec![3, 4]));
        assert_eq!(single(&[Extent::Index(3), Extent::Range { start: 4, end: 5 }][..]), Some(vec![3, 4]));
        assert_eq!(single((1, 2, 3, 4, 5)), None, "no room");
        for extent in [Extent::ALL, Extent::Range { start: 4, end: 4 }, Extent::Range { start: 4, end: 3 }] {
            assert_eq!(single((1, extent)), None);
        }
        assert!(Extents::single(&.., &mut [0; 4]).is_none());
        assert!(Extents::single(&-1, &mut [0; 4]).is_none());
        assert!(Extents::single(&(1, ..), &mut [0; 4]).is_none());
    }

    #[test]
    fn plain_extents_agree_with_general_selections() {
        fn plain(extents: impl Extents + Clone) -> Option<(Vec<u64>, Vec<u64>)> {
            let (mut start, mut count) = ([7; 4], [7; 4]);
            let rank = extents.plain(&mut start, &mut count)?;
            let found = (start[..rank].to_vec(), count[..rank].to_vec());
            for len in [0, 5, u64::MAX] {
                let (start, count, stride, _) = parts(extents.clone(), &vec![len; rank]);
                assert!((start, count) == found && stride.iter().all(|&n| n == 1));
            }
            Some(found)
        }
        let found = |start: &[u64], count: &[u64]| Some((start.to_vec(), count.to_vec()));
        assert_eq!(plain(3), found(&[3], &[1]));
        assert_eq!(plain((3, 4u64..9, Extent::count(1, 2))), found(&[3, 4, 1], &[1, 5, 2]));
        assert_eq!(plain([0..4, 6..6]), found(&[0, 6], &[4, 0]));
        assert_eq!(plain(vec![3i64, 4]), found(&[3, 4], &[1, 1]));
        assert_eq!(plain(&vec![2..3, 0..4]), found(&[2, 0], &[1, 4]));
        assert_eq!(
            plain(&[Extent::Index(3), Extent::Range { start: 4, end: 8 }][..]),
            found(&[3, 4], &[1, 4])
        );
        assert_eq!(plain(&[2..3, 0..4]), found(&[2, 0], &[1, 4]));
        assert_eq!(plain((1, 2, 3, 4, 5)), None, "no room");
        let (from, to) = (3, 1);
        assert_eq!(plain((1, from..to)), None);
        let every = Extent::Strided { start: 0, count: Some(2), stride: 3 };
        for extent in [Extent::ALL, Extent::Range { start: 4, end: 3 }, every] {
            assert_eq!(plain((1, extent)), None);
        }
        let (start, count) = (&mut [0; 4][..], &mut [0; 4][..]);
        assert!(Extents::plain(&.., start, count).is_none());
        assert!(Extents::plain(&-1, start, count).is_none());
        assert!(Extents::plain(&(-1..3), start, count).is_none());
        assert!(Extents::plain(&(1, ..), start, count).is_none());
    }

    #[test]
    fn invalid_extents_are_refused() {
        let kind = |result: Result<Selection>| result.unwrap_err().kind();
        assert_eq!(kind(Selection::new((.., ..), &[4])), ErrorKind::Inval);
        assert_eq!(kind(Selection::new((), &[4])), ErrorKind::Inval);
        assert_eq!(kind(Selection::new(-1, &[4])), ErrorKind::InvalCoords);
        assert_eq!(kind(Selection::new((-3..2,), &[4])), ErrorKind::InvalCoords);
        // A stride of 0 reaches the check of the slab.
        let zero = Selection::new(Extent::Strided { start: 0, count: None, stride: 0 }, &[4]).unwrap();
        assert_eq!(zero.slab().check(&[4], |_| false).unwrap_err().kind(), ErrorKind::Stride);
    }

    #[test]
    fn an_open_end_of_a_write_follows_the_data() {
        let count = |extents: (Extent, Extent), elements| {
            Selection::for_write(extents, &[2, 3], &[true, false], elements).map(|s| s.slab().count.to_vec())
        };
        assert_eq!(count((Extent::ALL, Extent::ALL), 12).unwrap(), [4, 3]);
        assert_eq!(count((Extent::From { start: 2 }, Extent::ALL), 3).unwrap(), [1, 3]);
        assert_eq!(count((Extent::Range { start: 0, end: 2 }, Extent::ALL), 12).unwrap(), [2, 3]);
        assert_eq!(count((Extent::ALL, Extent::ALL), 0).unwrap(), [0, 3]);
        assert_eq!(count((Extent::ALL, Extent::ALL), 4).unwrap_err().kind(), ErrorKind::Inval);
        // Fewer records than exist: their place is unknown.
        assert_eq!(count((Extent::ALL, Extent::ALL), 3).unwrap_err().kind(), ErrorKind::Inval);
        assert_eq!(count((Extent::From { start: 1 }, Extent::ALL), 3).unwrap(), [1, 3]);
        let every_second = Extent::Strided { start: 0, count: None, stride: 2 };
        assert_eq!(count((every_second, Extent::ALL), 3).unwrap(), [1, 3]);
        // With two open ends the growing dimension is ambiguous, so the current lengths count.
        let both = Selection::for_write((.., ..), &[2, 3], &[true, true], 100).unwrap();
        assert_eq!(both.slab().count, [2, 3]);
    }
}
