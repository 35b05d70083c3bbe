//! [`Version`]: a map's mark of one state of an object. [`Stamp`]: a version for long-term storage.
//!
//! Only the map knows the content of a version: a server's tag, an open file, a number.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};

/// An opaque mark of one state of one object. Only the map that made it interprets it.
#[derive(Clone)]
pub struct Version {
    mark: Arc<dyn Any + Send + Sync>,
    compare: Option<fn(&Version, &Version) -> bool>,
    scarce: bool,
}

impl Version {
    /// Wraps a map's mark. The version equals only its copies.
    pub fn new(mark: impl Any + Send + Sync) -> Self {
        Self { mark: Arc::new(mark), compare: None, scarce: false }
    }

    /// Wraps a mark that is equal to another one if and only if both are of the same state of the same
    /// object.
    pub fn comparable<T: Any + PartialEq + Send + Sync>(mark: T) -> Self {
        let compare = |one: &Version, other: &Version| match (one.get::<T>(), other.get::<T>()) {
            (Some(one), Some(other)) => one == other,
            _ => false,
        };
        Self { mark: Arc::new(mark), compare: Some(compare), scarce: false }
    }

    /// As [`Version::comparable`], for a mark that owns a scarce resource such as an open file. A [`Stamp`]
    /// does not keep it alive.
    pub fn scarce<T: Any + PartialEq + Send + Sync>(mark: T) -> Self {
        Self { scarce: true, ..Self::comparable(mark) }
    }

    /// Returns the mark, if it is of type `T`.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.mark.downcast_ref()
    }

    /// Whether both are certainly of the same state of the same object. `false` proves nothing.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.mark, &other.mark) || self.compare.is_some_and(|compare| compare(self, other))
    }

    /// Returns a stamp for long-term storage.
    pub fn stamp(&self) -> Stamp {
        Stamp(if self.scarce {
            StampMark::Weak(Arc::downgrade(&self.mark), self.compare)
        } else {
            StampMark::Strong(self.clone())
        })
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Version(..)")
    }
}

/// A version for long-term storage. Its mark may no longer exist.
#[derive(Clone)]
pub struct Stamp(StampMark);

#[derive(Clone)]
enum StampMark {
    Strong(Version),
    Weak(Weak<dyn Any + Send + Sync>, Option<fn(&Version, &Version) -> bool>),
}

impl Stamp {
    /// Whether it is certainly of the same state as `version`, as [`Version::same`].
    pub fn is(&self, version: &Version) -> bool {
        match &self.0 {
            StampMark::Strong(own) => own.same(version),
            StampMark::Weak(mark, compare) => mark
                .upgrade()
                .is_some_and(|mark| Version { mark, compare: *compare, scarce: true }.same(version)),
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
    fn a_stamp_does_not_keep_a_scarce_version_alive() {
        let (plain, scarce) = (Version::comparable(7), Version::scarce(7));
        let (kept, weak) = (plain.stamp(), scarce.stamp());
        assert!(kept.is(&plain) && weak.is(&scarce) && weak.is(&Version::scarce(7)));
        drop((plain, scarce));
        assert!(kept.is(&Version::comparable(7)));
        assert!(!weak.is(&Version::scarce(7)), "the map has let go of it");
    }
}
