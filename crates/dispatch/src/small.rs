//! [`Small`]: a short list kept on the stack.
//!
//! Every access makes a few lists as long as the variable's rank; up to [`INLINE`] dimensions none of them
//! touches the heap.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// Entries held without the heap.
const INLINE: usize = 5;

/// A list with one entry per dimension: up to five take nothing from the heap, and what more took is kept.
///
/// # Examples
/// ```
/// use nczarr_dispatch::Small;
///
/// let shape: Small<u64> = [3, 4].into_iter().collect();
/// assert_eq!(*shape, [3, 4]);
/// ```
#[derive(Default)]
pub struct Small<T> {
    len: usize,
    inline: [T; INLINE],
    heap: Vec<T>,
}

impl<T: Clone> Clone for Small<T> {
    fn clone(&self) -> Self {
        let heap = if self.len > INLINE { self.heap.clone() } else { Vec::new() };
        Self { len: self.len, inline: self.inline.clone(), heap }
    }
}

impl<T: Copy + Default> Small<T> {
    /// `len` default entries.
    pub fn of(len: usize) -> Self {
        let mut list = Self::default();
        list.reset(len);
        list
    }

    /// Makes it `len` default entries.
    pub fn reset(&mut self, len: usize) {
        self.len = len;
        if len > INLINE {
            self.heap.clear();
            self.heap.resize(len, T::default());
        } else {
            self.inline[..len].fill(T::default());
        }
    }

    /// Forgets all entries.
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

impl<T: Copy + Default> From<&[T]> for Small<T> {
    fn from(values: &[T]) -> Self {
        let mut list = Self::default();
        values.iter().for_each(|&value| list.push(value));
        list
    }
}

impl<T: Copy + Default> FromIterator<T> for Small<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut list = Self::default();
        values.into_iter().for_each(|value| list.push(value));
        list
    }
}

impl<T> Deref for Small<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        if self.len > INLINE { &self.heap } else { &self.inline[..self.len] }
    }
}

impl<T> DerefMut for Small<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        if self.len > INLINE { &mut self.heap } else { &mut self.inline[..self.len] }
    }
}

impl<T: fmt::Debug> fmt::Debug for Small<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: PartialEq> PartialEq for Small<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Small<T> {}

impl<T: PartialOrd> PartialOrd for Small<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: Ord> Ord for Small<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: Hash> Hash for Small<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_list_on_both_sides_of_the_limit() {
        for len in [0, 1, INLINE, INLINE + 1, 40] {
            let mut list = Small::default();
            for i in 0..len {
                list.push(i);
            }
            assert_eq!(&*list, (0..len).collect::<Vec<_>>());
            assert_eq!(list, Small::from(&*list));
            assert_eq!(list, (0..len).collect());
            assert_eq!(list, list.clone());
            assert_eq!(format!("{list:?}"), format!("{:?}", (0..len).collect::<Vec<_>>()));
            list.clear();
            list.push(7);
            assert_eq!(&*list, [7]);
            list.reset(len);
            assert_eq!(&*list, vec![0; len]);
            assert_eq!(list, Small::of(len));
        }
    }
}
