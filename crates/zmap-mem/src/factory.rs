//! [`MemMaps`]: the factory of this process's named datasets.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::{Clobber, CreateMap, MapFactory, MapInfo, MapPlugin, OpenMap, ZMap};

use crate::MemMap;
use crate::store::ObjectTable;

/// The factory's name and scheme.
pub static INFO: MapInfo = MapInfo::new("mem", "memory of this process, by name").schemes(&["memory"]);

/// The factory of named [`MemMap`]s: `memory://name`, or any path with `mode=mem`.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemMaps;

static STORES: Mutex<BTreeMap<String, Arc<ObjectTable>>> = Mutex::new(BTreeMap::new());

fn stores() -> MutexGuard<'static, BTreeMap<String, Arc<ObjectTable>>> {
    STORES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn name_of(target: &nczarr_storage::Target) -> Result<String> {
    let name = match &target.host {
        Some(host) => format!("{host}{}", target.path_text()),
        None => target.utf8_path()?.to_owned(),
    };
    if name.is_empty() {
        return Err(ErrorKind::Inval.context("a dataset in memory needs a name"));
    }
    Ok(name)
}

impl MapFactory for MemMaps {
    fn info(&self) -> &MapInfo {
        &INFO
    }

    fn open(&self, request: &OpenMap<'_>) -> Result<Arc<dyn ZMap>> {
        let name = name_of(request.target)?;
        match stores().get(&name) {
            Some(store) => Ok(Arc::new(MemMap::over(Arc::clone(store), name, request.writable))),
            None => {
                Err(ErrorKind::NotFound.context(format!("memory://{name}: no such dataset in this process")))
            }
        }
    }

    fn create(&self, request: &CreateMap<'_>) -> Result<Arc<dyn ZMap>> {
        let name = name_of(request.target)?;
        let mut stores = stores();
        let store = stores.entry(name.clone()).or_default();
        if !store.is_empty() {
            if request.clobber == Clobber::Refuse {
                return Err(ErrorKind::Object.context(format!("memory://{name} exists and is not empty")));
            }
            if !request.markers.iter().any(|marker| store.get(marker).is_some()) {
                return Err(ErrorKind::Object.context(format!(
                    "memory://{name} is not empty and not a recognised dataset (expected one of {})",
                    request.markers.join(", ")
                )));
            }
            store.clear();
        }
        Ok(Arc::new(MemMap::over(Arc::clone(store), name, true)))
    }

    fn delete(&self, request: &OpenMap<'_>) -> Result<()> {
        let name = name_of(request.target)?;
        match stores().remove(&name) {
            Some(store) => {
                store.clear();
                Ok(())
            }
            None => {
                Err(ErrorKind::NotFound.context(format!("memory://{name}: no such dataset in this process")))
            }
        }
    }
}

nczarr_storage::inventory::submit! { MapPlugin(&MemMaps) }
