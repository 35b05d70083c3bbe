//! Documents that the storage refuses without telling whether they exist: [`RefusedDocuments`].
//!
//! A server without permission to list answers 403 for a missing key. Each node has one main document; the
//! others are optional or impossible. So a refused document counts as absent if the main one is readable.
//! Refused attributes may exist all the same, so they are a fault, unless the server also refuses a key that
//! certainly does not exist.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_dispatch::Fault;
use nczarr_model::Result;
use nczarr_storage::{Forbidden, Key, ZMap, ZMapExt};

use crate::metadata::v2::consolidated::ZMETADATA;
use crate::metadata::v2::{ZARRAY, ZATTRS, ZGROUP};
use crate::metadata::v3::document::ZARR_JSON;

/// A key that no dataset has.
const MISSING_KEY: &str = ".nczarr-no-such-key";

/// Refused documents that were treated as absent.
#[derive(Debug, Default)]
pub(crate) struct RefusedDocuments {
    /// The server refuses keys that certainly do not exist.
    refuses_missing: AtomicBool,
    treated_absent: Mutex<Vec<Key>>,
}

impl RefusedDocuments {
    /// Treats the refused documents of a node as absent, if its main document exists. `names` are the names
    /// of `found`. `needs_attrs`: the node's attributes count as a main document too.
    pub(crate) fn treat_as_absent<T>(
        &self,
        place: &Key,
        names: &[&str],
        found: &mut [Result<Option<T>>],
        needs_attrs: bool,
    ) {
        if !found.iter().any(is_refused) {
            return;
        }
        let of = |name: &str| names.iter().zip(&*found).find(|(of, _)| **of == name).map(|(_, found)| found);
        let is_there = |name: &str| of(name).is_some_and(|found| matches!(found, Ok(Some(_))));
        let Some(main) = [ZARR_JSON, ZMETADATA, ZARRAY, ZGROUP].into_iter().find(|name| is_there(name))
        else {
            return;
        };
        // A node is an array or a group, so one of the two documents certainly does not exist.
        let is_hidden = |there: &str, absent: &str| is_there(there) && of(absent).is_some_and(is_refused);
        if is_hidden(ZARRAY, ZGROUP) || is_hidden(ZGROUP, ZARRAY) {
            self.refuses_missing.store(true, Ordering::Relaxed);
        }
        for (name, found) in names.iter().zip(found).filter(|(_, found)| is_refused(found)) {
            match (main, *name) {
                (_, ZATTRS) if needs_attrs => continue,
                // The main document makes this one redundant.
                (ZARR_JSON, _) | (_, ZMETADATA) | (ZARRAY, ZGROUP) | (ZGROUP, ZARRAY) => {}
                (ZMETADATA, name) if name != ZARR_JSON => {}
                (_, name) => {
                    if let Ok(key) = place.join(name) {
                        self.treated_absent.lock().unwrap_or_else(PoisonError::into_inner).push(key);
                    }
                }
            }
            *found = Ok(None);
        }
    }

    /// Returns a fault for each document that may exist.
    pub(crate) fn faults(&self, map: &dyn ZMap) -> Vec<Fault> {
        let taken = std::mem::take(&mut *self.treated_absent.lock().unwrap_or_else(PoisonError::into_inner));
        let hides = || {
            self.refuses_missing.load(Ordering::Relaxed)
                || is_refused(&Key::new(MISSING_KEY).and_then(|key| map.exists(&key)))
        };
        if taken.is_empty() || hides() {
            return Vec::new();
        }
        let text = "the server refuses it (403), but reports other missing keys as missing";
        taken.into_iter().map(|key| Fault::left_out(format_args!("/{key}"), text)).collect()
    }
}

pub(crate) fn is_refused<T>(found: &Result<T>) -> bool {
    matches!(found, Err(error) if Forbidden::is_cause_of(error))
}
