//! Datasets that are one file in memory: [`Registry::open_bytes`], [`Registry::open_in_memory`],
//! [`Registry::create_in_memory`].
//!
//! The rule is that of files: first bytes, then `mode=`. The file may be a map as well (an archive): then what lies in that
//! says which driver it is.

use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};

use super::site::Site;
use super::site::TAIL;
use super::{Looks, asked, target_of};
use crate::registry::not_built;
use crate::{Clobber, CreateRequest, Dataset, Magic, MountedMap, OpenRequest, Options, Registry, trace};

impl Registry {
    /// Opens a dataset that is one file, whose bytes are in memory. `name`, a path or URL, only names it and says what
    /// its fragment says.
    ///
    /// # Errors
    /// `NC_ENOTNC` if nobody here knows the bytes; `NC_ENOTBUILT` naming the feature that would; `NC_EINMEMORY` if the
    /// format is no single file; what the driver says.
    pub fn open_bytes(
        self: &Arc<Self>,
        name: &str,
        bytes: Arc<[u8]>,
        writable: bool,
        options: &Options,
    ) -> Result<Arc<dyn Dataset>> {
        let target = nczarr_url_infer::parse(name)?;
        let starts = |magic: &[Magic]| magic.iter().any(|magic| has(&bytes, magic));
        let known = self.driver_by_content("the first bytes in memory", |driver| starts(driver.magic))?;
        let mut archive = None;
        if known.is_none() {
            archive = self.map_by_content("the first bytes in memory", |map| starts(map.magic))?.map(|(map, _)| map);
            let tail = &bytes[bytes.len().saturating_sub(TAIL)..];
            archive = archive.or_else(|| self.maps().find(|map| map.ends(tail)));
        }
        if let Some(factory) = archive {
            let request = OpenRequest { target: &target, writable, options, registry: self, map: None, only: None };
            return trace::call("open", &target, || {
                let map = trace::watch(factory.open_bytes(&request, Arc::clone(&bytes))?);
                let why = "the bytes in memory".into();
                let map = Some(MountedMap::of(map, factory, why));
                self.open_request(OpenRequest { map, ..request.clone() }, &mut Looks::unheard())
            });
        }
        let driver = match known {
            Some((driver, _)) => driver,
            None => match self.driver_of(&target)? {
                Some((driver, _)) => driver,
                None => {
                    return Err(match self.known().iter().find(|known| starts(known.magic)) {
                        Some(known) => not_built(&format!("{target}: driver {:?}", known.name), known),
                        None => ErrorKind::NotNc
                            .context(format!("{target}: {} bytes in memory that no driver knows", bytes.len())),
                    });
                }
            },
        };
        let request = OpenRequest { target: &target, writable, options, registry: self, map: None, only: None };
        trace::call("open", &target, || driver.open_bytes(&request, Arc::clone(&bytes)))
    }

    /// Opens the dataset that `path`, a path or URL, means, and reads the file that it is into memory. `persist`: what is
    /// written there goes back to the file when it is closed.
    ///
    /// # Errors
    /// As [`Registry::open`]; `NC_EDISKLESS` if the format is no single file.
    pub fn open_in_memory(
        self: &Arc<Self>,
        path: &str,
        writable: bool,
        options: &Options,
        persist: bool,
    ) -> Result<Arc<dyn Dataset>> {
        let target = target_of(path)?;
        let options = &*asked::options(&target, options, writable)?;
        let request = OpenRequest { target: &target, writable, options, registry: self, map: None, only: None };
        trace::call("open", &target, || {
            if target.scheme.is_local()
                && let Site::Map(factory, why, _) = self.site(&request, false, &mut Looks::unheard())?
                && !factory.info().magic.is_empty()
            {
                let map = trace::watch(factory.open_in_memory(&request, persist).map_err(|error| error.at(&target))?);
                let map = Some(MountedMap::of(map, factory, why));
                return self.open_request(OpenRequest { map, ..request.clone() }, &mut Looks::unheard());
            }
            let choice = self.choose(&request, &mut Looks::unheard())?;
            choice.driver.open_in_memory(&OpenRequest { map: choice.map, ..request.clone() }, persist)
        })
    }

    /// Creates a dataset that is one file, in memory; it starts in define mode. `persist`: when it is closed the file is
    /// put where `path` says.
    ///
    /// # Errors
    /// As [`Registry::create`]; `NC_EDISKLESS` if the format is no single file.
    pub fn create_in_memory(
        self: &Arc<Self>,
        path: &str,
        clobber: Clobber,
        classic_model: bool,
        options: &Options,
        persist: bool,
    ) -> Result<Arc<dyn Dataset>> {
        let markers = self.markers();
        self.create_by(path, clobber, classic_model, options, (None, &markers), |driver, request| {
            if driver.info().markers.is_empty() {
                return driver.create_in_memory(request, persist);
            }
            let (factory, why) = self.map_to_create(request.target)?;
            let map = factory.create_in_memory(request, persist).map_err(|error| error.at(request.target))?;
            let map = trace::watch(map);
            let map = Some(MountedMap::of(map, factory, why.into()));
            driver.create(&CreateRequest { map, ..request.clone() })
        })
    }
}

/// Whether bytes in memory have a magic number.
fn has(bytes: &[u8], magic: &Magic) -> bool {
    let rest = usize::try_from(magic.offset).ok().and_then(|offset| bytes.get(offset..));
    !magic.bytes.is_empty() && rest.is_some_and(|rest| rest.starts_with(magic.bytes))
}
