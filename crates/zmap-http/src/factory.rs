//! [`HttpMaps`]: opens what a web server has.

use std::sync::Arc;

use nczarr_dispatch::{ByteSource, InitialRead, MapFactory, MapInfo, MapPlugin, OpenRequest, ZMap};
use nczarr_model::{ErrorKind, Result};

use crate::{Config, HttpMap, HttpSource, Settings};

/// What the factory is called, and the URLs that it serves.
pub static INFO: MapInfo = MapInfo {
    name: "http",
    schemes: &["http", "https"],
    magic: &[],
    about: "files on a plain web server, for reading, one file per object",
};

/// The factory of [`HttpMap`]s and [`HttpSource`]s, with how requests are made.
#[derive(Debug, Clone, Copy)]
pub struct HttpMaps(pub Config);

impl MapFactory for HttpMaps {
    fn info(&self) -> &MapInfo {
        &INFO
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn ZMap>> {
        check(request)?;
        let settings = Settings::of(request.target)?;
        Ok(Arc::new(HttpMap::with_settings(request.target, &self.0, &settings)?))
    }

    fn open_source(&self, request: &OpenRequest<'_>, part: InitialRead) -> Result<Arc<dyn ByteSource>> {
        check(request)?;
        let settings = Settings::of(request.target)?;
        Ok(Arc::new(HttpSource::with_settings(request.target, part, &self.0, &settings)?))
    }
}

fn check(request: &OpenRequest<'_>) -> Result<()> {
    match request.writable {
        true => Err(ErrorKind::Perm.context(format!("{}: what a web server has is only read", request.target))),
        false => Ok(()),
    }
}

/// The one that is linked.
pub static MAPS: HttpMaps = HttpMaps(Config::DEFAULT);

nczarr_dispatch::inventory::submit! { MapPlugin(&MAPS) }
