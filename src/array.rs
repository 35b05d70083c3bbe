//! [`Array`]: values with a shape, as a read returns them.

use std::fmt::Debug;
use std::ops::{Deref, DerefMut};

use nczarr_model::NcString;
use nczarr_runtime::{Buffer, DimVec};

/// An element type of [`Array`]: the number types, stored in a [`Buffer`], and strings, stored in a vector.
/// Sealed.
pub trait ArrayItem: sealed::Sealed + Sized {
    /// The container of the values.
    type Data: Deref<Target = [Self]> + DerefMut + Into<Vec<Self>> + Debug + Clone;
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
#[derive(Debug, Clone)]
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
        if index.len() != self.shape.len() {
            return None;
        }
        let mut position = 0u64;
        for (&i, &len) in index.iter().zip(self.shape.iter()) {
            if i >= len {
                return None;
            }
            position = position * len + i;
        }
        self.data.get(usize::try_from(position).ok()?)
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
