//! [`PreparedVars`]: variables that are prepared for data calls, with their chunk caches.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use nczarr::dispatch::Dataset;
use nczarr::model::VarId;
use nczarr::nc_table::VarAccess;
use nczarr::{CacheConfig, Result};

/// Variables that are prepared for data calls.
#[derive(Default)]
pub struct PreparedVars {
    /// The chunk caches that the program set. An edit makes a variable's data anew, without its cache.
    caches: Mutex<HashMap<VarId, CacheConfig>>,
    /// The variables, and the edition of the model when they were prepared.
    accesses: Mutex<HashMap<VarId, (u64, Arc<VarAccess>)>>,
}

impl PreparedVars {
    /// Notes the chunk cache of a variable, for its data after an edit.
    pub fn set_cache(&self, var: VarId, cache: CacheConfig) {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner).insert(var, cache);
    }

    /// Returns the chunk cache that the program set for a variable.
    pub fn cache(&self, var: VarId) -> Option<CacheConfig> {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner).get(&var).copied()
    }

    /// Forgets prepared variables, since the layout of the file may change.
    pub fn forget(&self) {
        self.accesses.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns a variable that is prepared for data calls.
    pub fn access(&self, dataset: &dyn Dataset, var: VarId) -> Result<Arc<VarAccess>> {
        let edition = dataset.model().edition();
        let known = || self.accesses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, access)) = known().get(&var).filter(|(made, _)| *made == edition) {
            return Ok(Arc::clone(access));
        }
        let access = Arc::new(VarAccess::new(dataset, var)?);
        if let Some(cache) = self.cache(var) {
            access.data().set_chunk_cache(cache)?;
        }
        known().insert(var, (edition, Arc::clone(&access)));
        Ok(access)
    }
}
