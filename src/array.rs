//! [`Array`]: values with a shape, as a read returns them.

use std::fmt::Debug;
use std::ops::{
    Deref, DerefMut, Index, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive,
};

use nczarr_model::NcString;
use nczarr_runtime::{Buffer, DimVec};

/// An element type of [`Array`]: the number types, stored in a [`Buffer`], and strings, stored in a vector.
/// Sealed.
pub trait ArrayItem: sealed::Sealed + Sized + PartialEq {
    /// The container of the values.
    type Data: Deref<Target = [Self]> + DerefMut + Into<Vec<Self>> + Debug + Clone + PartialEq;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! items {
    ($data:ident: $($t:ty),*) => {$(
        impl sealed::Sealed for $t {}
        impl ArrayItem for $t {
            type Data = $data<$t>;
        }
    )*};
}

items!(Buffer: i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);
items!(Vec: String, NcString);

/// Values in C order (last dimension fastest) with their shape.
///
/// Dimensions that are selected by an index are not in the shape, so a single element gives an array of rank
/// 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Array<T: ArrayItem> {
    shape: DimVec<u64>,
    data: T::Data,
}

impl<T: ArrayItem> Array<T> {
    pub(crate) fn new(shape: DimVec<u64>, data: T::Data) -> Self {
        debug_assert_eq!(shape.iter().product::<u64>(), data.len() as u64);
        Self { shape, data }
    }

    /// The shape, slowest dimension first.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The values in C order.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// Returns the values in C order for changes.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// Converts the values in C order to a vector. Numbers are copied.
    pub fn into_vec(self) -> Vec<T> {
        self.data.into()
    }

    /// Converts the array to its container.
    pub fn into_data(self) -> T::Data {
        self.data
    }

    /// Returns the value at `index`, which has one entry per dimension of [`Array::shape`]; `None` if it is
    /// outside.
    pub fn at(&self, index: &[u64]) -> Option<&T> {
        self.data.get(self.position(index.iter().copied())?)
    }

    /// Returns the position in C order of an element.
    fn position(&self, index: impl ExactSizeIterator<Item = u64>) -> Option<usize> {
        if index.len() != self.shape.len() {
            return None;
        }
        let mut position = 0u64;
        for (i, &len) in index.zip(self.shape.iter()) {
            if i >= len {
                return None;
            }
            position = position * len + i;
        }
        usize::try_from(position).ok()
    }
}

impl<T: ArrayItem, const N: usize> Index<[usize; N]> for Array<T> {
    type Output = T;

    /// Returns an element.
    ///
    /// # Panics
    /// If the index is outside the array or has another number of dimensions.
    fn index(&self, index: [usize; N]) -> &T {
        match self.position(index.iter().map(|&i| i as u64)) {
            Some(position) => &self.data[position],
            None => panic!("index {index:?} is outside an array of shape {:?}", self.shape()),
        }
    }
}

macro_rules! positions {
    ($($index:ty => $output:ty),* $(,)?) => {$(
        impl<T: ArrayItem> Index<$index> for Array<T> {
            type Output = $output;

            /// Returns the element, or the elements, at positions in C order.
            ///
            /// # Panics
            /// If a position is outside the array.
            fn index(&self, position: $index) -> &$output {
                &self.data[position]
            }
        }
    )*};
}

positions! {
    usize => T, Range<usize> => [T], RangeFrom<usize> => [T], RangeFull => [T], RangeTo<usize> => [T],
    RangeInclusive<usize> => [T], RangeToInclusive<usize> => [T],
}

impl<T: ArrayItem> IntoIterator for Array<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    /// Returns the elements in C order.
    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'a, T: ArrayItem> IntoIterator for &'a Array<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.data.iter()
    }
}

impl<T: ArrayItem> AsRef<[T]> for Array<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: ArrayItem> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_by_index() {
        let array =
            Array::new(DimVec::from(&[2, 3][..]), Buffer::from_slice(&[0, 1, 2, 10, 11, 12]).unwrap());
        assert_eq!(array.at(&[1, 2]), Some(&12));
        assert_eq!(array.at(&[0, 1]), Some(&1));
        for outside in [&[2, 0][..], &[0, 3], &[1], &[0, 0, 0], &[]] {
            assert_eq!(array.at(outside), None, "{outside:?}");
        }
        assert_eq!(Array::new(DimVec::default(), vec!["a".to_owned()]).at(&[]), Some(&"a".to_owned()));
        assert_eq!(array.len(), 6);
    }

    #[test]
    fn elements_follow_the_index_and_the_order() {
        let array = Array::new(DimVec::from(&[2, 2][..]), Buffer::from_slice(&[1i16, 2, 3, 4]).unwrap());
        assert_eq!((array[[1, 0]], array[[0, 1]], array[3]), (3, 2, 4));
        assert_eq!((&array[..2], &array[1..3], &array[2..=3]), (&[1, 2][..], &[2, 3][..], &[3, 4][..]));
        assert_eq!((&array).into_iter().sum::<i16>(), 10);
        assert_eq!(array.clone().into_iter().rev().collect::<Vec<_>>(), [4, 3, 2, 1]);
        let row = Array::new(DimVec::from(&[4][..]), Buffer::from_slice(&[1i16, 2, 3, 4]).unwrap());
        assert!(array == array.clone() && array != row, "arrays of other shapes differ");
        for outside in [[2, 0], [0, 2]] {
            assert!(std::panic::catch_unwind(|| array[outside]).is_err(), "{outside:?}");
        }
        assert!(std::panic::catch_unwind(|| array[[1]]).is_err());
    }

    #[test]
    fn a_clone_is_another_array() {
        let array = Array::new(DimVec::from(&[2][..]), Buffer::from_slice(&[1.5, 2.5]).unwrap());
        let mut copy = array.clone();
        copy.as_mut_slice()[0] = 0.0;
        assert_eq!(
            (array.as_slice(), copy.as_slice(), copy.shape()),
            (&[1.5, 2.5][..], &[0.0, 2.5][..], &[2][..])
        );
    }
}
