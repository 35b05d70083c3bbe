//! [`NodeId`]: a group or a variable.

use nczarr_model::{GroupId, VarId};

/// A group or a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeId {
    Group(GroupId),
    Var(VarId),
}
