//! [`AccessPattern`]: the ways of access that are timed.

/// A way of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AccessPattern {
    /// Create the dataset, write all, close.
    Write,
    /// Open the dataset and read all.
    Read,
    /// Read a box of at most 32 elements along each dimension.
    Box,
    /// Read one element.
    Element,
    /// Read all of the first dimension at one place of the others.
    Series,
    /// Open the dataset, look at all its variables, close.
    Open,
    /// List all keys of the map.
    List,
}

impl AccessPattern {
    /// All of them, in the order of the results.
    pub const ALL: [Self; 7] =
        [Self::Write, Self::Read, Self::Box, Self::Element, Self::Series, Self::Open, Self::List];

    /// Returns its name in the results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Box => "box",
            Self::Element => "element",
            Self::Series => "series",
            Self::Open => "open",
            Self::List => "list",
        }
    }

    /// Returns the shape of one read, for patterns that read parts, and their number in a round.
    pub(crate) fn part(self, shape: &[u64]) -> Option<PartReads> {
        let series = || shape.iter().enumerate().map(|(dim, &len)| if dim == 0 { len } else { 1 }).collect();
        match self {
            Self::Box => Some(PartReads { count: boxed(shape), times: 8 }),
            Self::Element => Some(PartReads { count: vec![1; shape.len()], times: 32 }),
            Self::Series => Some(PartReads { count: series(), times: 4 }),
            Self::Write | Self::Read | Self::Open | Self::List => None,
        }
    }
}

/// The reads of parts in one round.
pub(crate) struct PartReads {
    /// The shape of each part.
    pub count: Vec<u64>,
    /// The number of parts.
    pub times: usize,
}

/// The longest side of a box.
const SIDE: u64 = 32;

/// Returns the shape of the boxes that are read from data of this shape.
pub(crate) fn boxed(shape: &[u64]) -> Vec<u64> {
    shape.iter().map(|&len| len.min(SIDE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fit_the_data() {
        let count = |pattern: AccessPattern| pattern.part(&[100, 20, 50]).map(|part| part.count);
        assert_eq!(count(AccessPattern::Box), Some(vec![32, 20, 32]));
        assert_eq!(count(AccessPattern::Element), Some(vec![1, 1, 1]));
        assert_eq!(count(AccessPattern::Series), Some(vec![100, 1, 1]));
        assert_eq!(count(AccessPattern::Write), None);
    }
}
