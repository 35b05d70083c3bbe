//! [`ElementRun`]: elements at equal distances, in which selections are visited.

use nczarr_model::Result;

/// Elements at equal distances along the last dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ElementRun {
    pub(crate) count: u64,
    pub(crate) step: u64,
}

/// Visits a run: the number of its first element, its index, and the run.
pub(super) type RunVisitor<'a> = dyn FnMut(u64, &[u64], ElementRun) -> Result<()> + 'a;
