//! Hidden names of nodes that wait for their key, or move.

/// The prefix of hidden names for children that swap names.
pub(crate) const MOVING_PREFIX: &str = ".moving-";

/// The prefix of keys for new children that wait for their key. Nothing is ever stored there.
const WAITING_PREFIX: &str = ".waiting-";

/// Whether a name has that prefix.
pub(crate) fn is_waiting(name: &str) -> bool {
    name.starts_with(WAITING_PREFIX)
}

/// Returns such a name.
pub(crate) fn waiting(number: usize) -> String {
    format!("{WAITING_PREFIX}{number}")
}
