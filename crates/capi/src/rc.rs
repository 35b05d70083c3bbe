//! Values that a program sets in place of an rc file (`nc_rc_set`).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

static VALUES: Mutex<BTreeMap<Vec<u8>, Vec<u8>>> = Mutex::new(BTreeMap::new());

/// Sets a value.
pub fn set(key: &[u8], value: &[u8]) {
    VALUES.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_vec(), value.to_vec());
}

/// Returns a value.
pub fn get(key: &[u8]) -> Option<Vec<u8>> {
    VALUES.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
}
