//! [`Version`]: which state of an object was read or written, as its map tells it, and [`Stamp`], a version to remember.
//!
//! What a version is made of only its map knows: a tag of a server, an open file, a number.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};

/// An opaque mark of one state of one object, made by a map and understood by that map alone.
#[derive(Clone)]
pub struct Version {
    mark: Arc<dyn Any + Send + Sync>,
    compare: Option<fn(&Version, &Version) -> bool>,
    scarce: bool,
}

impl Version {
    /// Wraps a map's own mark; it is the same as its copies only.
    pub fn new(mark: impl Any + Send + Sync) -> Self {
        Self { mark: Arc::new(mark), compare: None, scarce: false }
    }

    /// Wraps a mark that is equal to others if and only if they are of the same state of the same object.
    pub fn comparable<T: Any + PartialEq + Send + Sync>(mark: T) -> Self {
        let compare = |one: &Version, other: &Version| match (one.get::<T>(), other.get::<T>()) {
            (Some(one), Some(other)) => one == other,
            _ => false,
        };
        Self { mark: Arc::new(mark), compare: Some(compare), scarce: false }
    }

    /// As [`Version::comparable`], of a mark that holds something scarce as long as it lives (an open file): a [`Stamp`]
    /// of it does not keep it alive.
    pub fn scarce<T: Any + PartialEq + Send + Sync>(mark: T) -> Self {
        Self { scarce: true, ..Self::comparable(mark) }
    }

    /// The mark, if it is of type `T`.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.mark.downcast_ref()
    }

    /// Whether both are known to be of the same state of the same object. `false` proves nothing.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.mark, &other.mark) || self.compare.is_some_and(|compare| compare(self, other))
    }

    /// What to remember of it.
    pub fn stamp(&self) -> Stamp {
        Stamp(match self.scarce {
            true => Kept::Weak(Arc::downgrade(&self.mark), self.compare),
            false => Kept::Strong(self.clone()),
        })
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Version(..)")
    }
}

/// A version that is remembered for long; it may be forgotten by its map.
#[derive(Clone)]
pub struct Stamp(Kept);

#[derive(Clone)]
enum Kept {
    Strong(Version),
    Weak(Weak<dyn Any + Send + Sync>, Option<fn(&Version, &Version) -> bool>),
}

impl Stamp {
    /// Whether it is known to be of the same state as `version`, as [`Version::same`].
    pub fn is(&self, version: &Version) -> bool {
        match &self.0 {
            Kept::Strong(own) => own.same(version),
            Kept::Weak(mark, compare) => {
                mark.upgrade().is_some_and(|mark| Version { mark, compare: *compare, scarce: true }.same(version))
            }
        }
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stamp(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_compared_as_their_map_says() {
        let (one, other) = (Version::new(1), Version::new(1));
        assert!(one.same(&one.clone()) && !one.same(&other));
        for make in [Version::comparable::<u8>, Version::scarce::<u8>] {
            assert!(make(1).same(&make(1)) && !make(1).same(&make(2)));
            assert!(!make(1).same(&Version::comparable("1")), "of another map");
            assert_eq!(make(3).get::<u8>(), Some(&3));
        }
    }

    #[test]
    fn a_stamp_of_something_scarce_does_not_hold_it() {
        let (plain, scarce) = (Version::comparable(7), Version::scarce(7));
        let (kept, weak) = (plain.stamp(), scarce.stamp());
        assert!(kept.is(&plain) && weak.is(&scarce) && weak.is(&Version::scarce(7)));
        drop((plain, scarce));
        assert!(kept.is(&Version::comparable(7)));
        assert!(!weak.is(&Version::scarce(7)), "the map has let go of it");
    }
}
