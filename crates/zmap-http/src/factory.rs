//! [`HttpMaps`]: opens files and stores on web servers.

use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::source::{ByteSource, InitialRead};
use nczarr_storage::{MapFactory, MapInfo, MapPlugin, OpenMap, ZMap};

use crate::{Config, HttpMap, HttpSource, Settings};

/// The name and URLs of the factory.
pub static INFO: MapInfo =
    MapInfo::new("http", "files on a web server, read-only, one file per object").schemes(&["http", "https"]);

/// The factory of [`HttpMap`]s and [`HttpSource`]s, with the settings for requests.
#[derive(Debug, Clone, Copy)]
pub struct HttpMaps(pub Config);

impl MapFactory for HttpMaps {
    fn info(&self) -> &MapInfo {
        &INFO
    }

    fn open(&self, request: &OpenMap<'_>) -> Result<Arc<dyn ZMap>> {
        check(request)?;
        let settings = Settings::of(request.target)?;
        Ok(Arc::new(HttpMap::with_settings(request.target, &self.0, &settings)?))
    }

    fn open_source(&self, request: &OpenMap<'_>, part: InitialRead) -> Result<Arc<dyn ByteSource>> {
        check(request)?;
        let settings = Settings::of(request.target)?;
        Ok(Arc::new(HttpSource::with_settings(request.target, part, &self.0, &settings)?))
    }
}

fn check(request: &OpenMap<'_>) -> Result<()> {
    if request.writable {
        Err(ErrorKind::Perm.context(format!("{}: datasets on a web server are read-only", request.target)))
    } else {
        Ok(())
    }
}

/// The registered factory.
pub static MAPS: HttpMaps = HttpMaps(Config::DEFAULT);

nczarr_storage::inventory::submit! { MapPlugin(&MAPS) }
