//! [`Array`]: values with a shape, as a read returns them.

use std::ops::Deref;

/// Values in C order (last dimension fastest) with their shape.
///
/// Dimensions picked by a single index are not in the shape, so reading one element gives an array of rank 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Array<T> {
    shape: Vec<u64>,
    data: Vec<T>,
}

impl<T> Array<T> {
    pub(crate) fn new(shape: Vec<u64>, data: Vec<T>) -> Self {
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

    /// The values in C order, given away.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }

    /// The value at `index`, which has one entry per dimension of [`Array::shape`]; `None` outside of it.
    pub fn at(&self, index: &[u64]) -> Option<&T> {
        if index.len() != self.shape.len() {
            return None;
        }
        let mut position = 0u64;
        for (&i, &len) in index.iter().zip(&self.shape) {
            if i >= len {
                return None;
            }
            position = position * len + i;
        }
        self.data.get(usize::try_from(position).ok()?)
    }
}

impl<T> Deref for Array<T> {
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
        let array = Array::new(vec![2, 3], vec![0, 1, 2, 10, 11, 12]);
        assert_eq!(array.at(&[1, 2]), Some(&12));
        assert_eq!(array.at(&[0, 1]), Some(&1));
        for outside in [&[2, 0][..], &[0, 3], &[1], &[0, 0, 0], &[]] {
            assert_eq!(array.at(outside), None, "{outside:?}");
        }
        assert_eq!(Array::new(vec![], vec![7]).at(&[]), Some(&7));
        assert_eq!(array.len(), 6);
    }
}
