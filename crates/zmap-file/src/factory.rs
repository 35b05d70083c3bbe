//! [`FileMaps`]: the factory that opens, creates and deletes datasets in directories.

use std::path::Path;
use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::{Clobber, CreateMap, MapFactory, MapInfo, MapPlugin, OpenMap, ZMap};

use crate::FileMap;

/// The factory's name and scheme.
pub static INFO: MapInfo = MapInfo::new("file", "a directory tree, one file per object").schemes(&["file"]);

/// The factory of [`FileMap`]s.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileMaps;

impl MapFactory for FileMaps {
    fn info(&self) -> &MapInfo {
        &INFO
    }

    fn open(&self, request: &OpenMap<'_>) -> Result<Arc<dyn ZMap>> {
        let path = path_of(&request.target.path)?;
        Ok(Arc::new(FileMap::open(path, request.writable, request.options)?))
    }

    fn create(&self, request: &CreateMap<'_>) -> Result<Arc<dyn ZMap>> {
        let path = path_of(&request.target.path)?;
        let markers = match request.clobber {
            Clobber::Refuse => None,
            Clobber::Replace => Some(request.markers),
        };
        Ok(Arc::new(FileMap::create(path, markers, request.options)?))
    }

    fn delete(&self, request: &OpenMap<'_>) -> Result<()> {
        FileMap::remove_last(path_of(&request.target.path)?, request.markers)
    }
}

nczarr_storage::inventory::submit! { MapPlugin(&FileMaps) }

fn path_of(path: &Path) -> Result<&Path> {
    if path.as_os_str().is_empty() {
        return Err(ErrorKind::Inval.context("the path is empty; name a directory"));
    }
    Ok(path)
}
