//! Documents that the storage refuses without saying whether there are any: [`Refused`].
//!
//! A server that does not allow listing answers 403 for a key that does not exist. A node is known by one document; beside
//! that one, others are optional, or cannot be there. So a refused document is absent where the main one is readable. That
//! could hide attributes. It is a fault, unless the server refuses a key that certainly does not exist.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_dispatch::{Fault, Forbidden, Key, ZMap};
use nczarr_model::Result;

use crate::consolidated::ZMETADATA;
use crate::tree::{ZARRAY, ZATTRS, ZGROUP};
use crate::v3::document::ZARR_JSON;

/// A key of no dataset.
const NONE: &str = ".nczarr-no-such-key";

/// The documents that were taken for absent.
#[derive(Debug, Default)]
pub(crate) struct Refused {
    /// The server refuses what certainly does not exist.
    hides: AtomicBool,
    taken: Mutex<Vec<Key>>,
}

impl Refused {
    /// Takes the refused documents of a node for absent, if its main document is there. `names`: of the documents in
    /// `found`. `needs_attrs`: the node's attributes are a main document too.
    pub(crate) fn settle<T>(&self, place: &Key, names: &[&str], found: &mut [Result<Option<T>>], needs_attrs: bool) {
        if !found.iter().any(is_refused) {
            return;
        }
        let of = |name: &str| names.iter().zip(&*found).find(|(of, _)| **of == name).map(|(_, found)| found);
        let is_there = |name: &str| of(name).is_some_and(|found| matches!(found, Ok(Some(_))));
        let Some(main) = [ZARR_JSON, ZMETADATA, ZARRAY, ZGROUP].into_iter().find(|name| is_there(name)) else { return };
        // A node is an array or a group, so one of the two documents certainly does not exist.
        let is_hidden = |there: &str, absent: &str| is_there(there) && of(absent).is_some_and(is_refused);
        if is_hidden(ZARRAY, ZGROUP) || is_hidden(ZGROUP, ZARRAY) {
            self.hides.store(true, Ordering::Relaxed);
        }
        for (name, found) in names.iter().zip(found).filter(|(_, found)| is_refused(found)) {
            match (main, *name) {
                (_, ZATTRS) if needs_attrs => continue,
                // The main document says all that it would say.
                (ZARR_JSON, _) | (_, ZMETADATA) | (ZARRAY, ZGROUP) | (ZGROUP, ZARRAY) => {}
                (ZMETADATA, name) if name != ZARR_JSON => {}
                (_, name) => {
                    if let Ok(key) = place.join(name) {
                        self.taken.lock().unwrap_or_else(PoisonError::into_inner).push(key);
                    }
                }
            }
            *found = Ok(None);
        }
    }

    /// The faults of it: documents that may be there.
    pub(crate) fn faults(&self, map: &dyn ZMap) -> Vec<Fault> {
        let taken = std::mem::take(&mut *self.taken.lock().unwrap_or_else(PoisonError::into_inner));
        let hides =
            || self.hides.load(Ordering::Relaxed) || is_refused(&Key::new(NONE).and_then(|key| map.exists(&key)));
        if taken.is_empty() || hides() {
            return Vec::new();
        }
        let text = "the server refuses it (403), and tells of other keys that they do not exist";
        taken.into_iter().map(|key| Fault::left_out(format_args!("/{key}"), text)).collect()
    }
}

pub(crate) fn is_refused<T>(found: &Result<T>) -> bool {
    matches!(found, Err(error) if Forbidden::is_cause_of(error))
}
