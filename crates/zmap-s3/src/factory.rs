//! [`S3Maps`]: opens, creates and deletes datasets in S3, and opens single objects.

use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::source::{ByteSource, InitialRead};
use nczarr_storage::{
    Clobber, CreateMap, Key, MapFactory, MapInfo, MapOptions, MapPlugin, OpenMap, Target, ZMap, ZMapExt,
};

use crate::{Access, S3Map, S3Source};

/// The name and schemes of the factory.
pub static INFO: MapInfo = MapInfo::new("s3", "objects in S3 and compatible servers").schemes(&["s3", "gs3"]);

/// The factory of [`S3Map`]s and [`S3Source`]s: `s3:` and `gs3:`, hosts of Amazon and Google, and any other
/// with `mode=s3`.
#[derive(Debug, Clone, Copy, Default)]
pub struct S3Maps;

fn open(target: &Target, writable: bool, options: &MapOptions) -> Result<S3Map> {
    Ok(S3Map::open(Access::of(target)?, writable)?.exclusive(options.exclusive))
}

impl MapFactory for S3Maps {
    fn info(&self) -> &MapInfo {
        &INFO
    }

    /// Opens a map without a request. The driver finds out by its first read whether a dataset exists.
    fn open(&self, request: &OpenMap<'_>) -> Result<Arc<dyn ZMap>> {
        Ok(Arc::new(open(request.target, request.writable, request.options)?))
    }

    fn open_source(&self, request: &OpenMap<'_>, part: InitialRead) -> Result<Arc<dyn ByteSource>> {
        if request.writable {
            let what = format!("{}: a dataset that is a single object in S3 is read-only", request.target);
            return Err(ErrorKind::Perm.context(what));
        }
        Ok(Arc::new(S3Source::open(Access::of(request.target)?, part)?))
    }

    fn create(&self, request: &CreateMap<'_>) -> Result<Arc<dyn ZMap>> {
        let (target, map) = (request.target, open(request.target, true, request.options)?);
        if !map.is_empty()? {
            if request.clobber == Clobber::Refuse {
                return Err(
                    ErrorKind::Object.context(format!("{target}: the dataset exists and is not empty"))
                );
            }
            let mut is_dataset = false;
            for marker in request.markers {
                is_dataset = is_dataset || map.exists(&Key::new(marker)?)?;
            }
            if !is_dataset {
                return Err(ErrorKind::Object.context(format!(
                    "{target}: not a dataset, so it is not replaced (expected one of {})",
                    request.markers.join(", ")
                )));
            }
            map.check_shared(&Key::root(), map.deadline())?;
            // The markers go last. After a failure the remaining objects are still recognized.
            map.clear(request.markers)?;
        }
        // Check before anything is replaced or written.
        map.check_shared(&Key::root(), map.deadline())?;
        Ok(Arc::new(map))
    }

    fn delete(&self, request: &OpenMap<'_>) -> Result<()> {
        let map = open(request.target, true, request.options)?;
        if map.is_empty()? {
            return Err(ErrorKind::NotFound.context(format!("{}: no dataset found", request.target)));
        }
        map.clear(request.markers)
    }
}

nczarr_storage::inventory::submit! { MapPlugin(&S3Maps) }
