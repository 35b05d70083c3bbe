//! Keys as paths, for messages and faults.

use nczarr_storage::Key;

/// Returns the path of a key, without a trailing `/`.
pub(crate) fn slashed(key: &Key) -> String {
    if key.is_root() { String::new() } else { format!("/{key}") }
}

/// Returns a key for error messages; `/` for the root.
pub(crate) fn display_key(key: &Key) -> String {
    if key.is_root() { "/".to_owned() } else { key.to_string() }
}
