//! [`Audit`]: the result of comparing the objects of a storage with its dataset.

use crate::Fault;

/// The outcome of [`Dataset::audit`](crate::Dataset::audit).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audit {
    /// The number of objects that were compared.
    pub objects: u64,
    /// The defects, in the order of their keys.
    pub faults: Vec<Fault>,
}
