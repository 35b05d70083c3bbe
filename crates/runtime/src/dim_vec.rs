//! [`DimVec`]: a short list with one entry per dimension, kept on the stack.
//!
//! Each access creates a few such lists. Up to [`INLINE`] dimensions they need no heap.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// The number of entries without heap memory.
const INLINE: usize = 5;

/// A list with one entry per dimension. Up to five entries need no heap; heap memory is kept for reuse.
///
/// # Examples
/// ```
/// use nczarr_runtime::DimVec;
///
/// let shape: DimVec<u64> = [3, 4].into_iter().collect();
/// assert_eq!(*shape, [3, 4]);
/// ```
#[derive(Default)]
pub struct DimVec<T> {
    len: usize,
    inline: [T; INLINE],
    heap: Vec<T>,
}

impl<T: Clone> Clone for DimVec<T> {
    fn clone(&self) -> Self {
        let heap = if self.len > INLINE { self.heap.clone() } else { Vec::new() };
        Self { len: self.len, inline: self.inline.clone(), heap }
    }
}

impl<T: Copy + Default> DimVec<T> {
    /// `len` default entries.
    pub fn with_len(len: usize) -> Self {
        let mut list = Self::default();
        list.reset(len);
        list
    }

    /// Sets the list to `len` default entries.
    pub fn reset(&mut self, len: usize) {
        self.len = len;
        if len > INLINE {
            self.heap.clear();
            self.heap.resize(len, T::default());
        } else {
            self.inline[..len].fill(T::default());
        }
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends an entry.
    pub fn push(&mut self, value: T) {
        if self.len < INLINE {
            self.inline[self.len] = value;
        } else {
            if self.len == INLINE {
                self.heap.clear();
                self.heap.extend_from_slice(&self.inline);
            }
            self.heap.push(value);
        }
        self.len += 1;
    }
}

impl<T: Copy + Default> From<&[T]> for DimVec<T> {
    fn from(values: &[T]) -> Self {
        let mut list = Self::default();
        values.iter().for_each(|&value| list.push(value));
        list
    }
}

impl<T: Copy + Default> FromIterator<T> for DimVec<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut list = Self::default();
        values.into_iter().for_each(|value| list.push(value));
        list
    }
}

impl<T> Deref for DimVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        if self.len > INLINE { &self.heap } else { &self.inline[..self.len] }
    }
}

impl<T> DerefMut for DimVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        if self.len > INLINE { &mut self.heap } else { &mut self.inline[..self.len] }
    }
}

impl<T: fmt::Debug> fmt::Debug for DimVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: PartialEq> PartialEq for DimVec<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for DimVec<T> {}

impl<T: PartialOrd> PartialOrd for DimVec<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: Ord> Ord for DimVec<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: Hash> Hash for DimVec<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_vectors_are_lists() {
        for len in [0, 1, INLINE, INLINE + 1, 40] {
            let mut list = DimVec::default();
            for i in 0..len {
                list.push(i);
            }
            assert_eq!(&*list, (0..len).collect::<Vec<_>>());
            assert_eq!(list, DimVec::from(&*list));
            assert_eq!(list, (0..len).collect());
            assert_eq!(list, list.clone());
            assert_eq!(format!("{list:?}"), format!("{:?}", (0..len).collect::<Vec<_>>()));
            list.clear();
            list.push(7);
            assert_eq!(&*list, [7]);
            list.reset(len);
            assert_eq!(&*list, vec![0; len]);
            assert_eq!(list, DimVec::with_len(len));
        }
    }
}
