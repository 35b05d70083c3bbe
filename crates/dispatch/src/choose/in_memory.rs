//! Datasets that are one file in memory: [`Registry::open_bytes`], [`Registry::open_in_memory`] and
//! [`Registry::create_in_memory`].
//!
//! The driver is found as for files: by first bytes, then by `mode=`. If the file is an archive, the content
//! of the archive determines the driver.

use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::{MapFactory, ZMap};
use nczarr_url_infer::Place;

use super::locate::DatasetLocation;
use super::locate::TAIL;
use super::{CreatePlace, ProbeLog, open_chosen, parse_target, url_options};
use crate::registry::not_built;
use crate::{
    Backing, Clobber, Dataset, Magic, MountedMap, OpenRequest, Options, Registry, SharedBytes, trace,
};

impl Registry {
    /// Opens a dataset that is one file, from its bytes. `name`, a path or URL, supplies the name and the
    /// options of its fragment.
    ///
    /// # Errors
    /// `NC_ENOTNC` if no driver recognises the bytes; `NC_ENOTBUILT` that names the missing feature;
    /// `NC_EINMEMORY` if the format is not a single file; otherwise the driver's error.
    pub fn open_bytes(
        self: &Arc<Self>,
        place: &Place,
        bytes: SharedBytes,
        writable: bool,
        options: &Options,
    ) -> Result<Arc<dyn Dataset>> {
        let target = place.target()?;
        let starts = |magic: &[Magic]| magic.iter().any(|magic| has(&bytes, magic));
        let known = self.driver_by_content("the first bytes in memory", |driver| starts(driver.magic))?;
        let mut archive = None;
        if known.is_none() {
            archive = self
                .map_by_content("the first bytes in memory", |map| starts(map.magic))?
                .map(|(map, _)| map);
            let tail = &bytes[bytes.len().saturating_sub(TAIL)..];
            archive = archive.or_else(|| self.maps().find(|map| map.recognises_tail(tail)));
        }
        if let Some(factory) = archive {
            let request = OpenRequest::new(&target, options, self).writable(writable);
            return trace::call("open", &target, || {
                let backing = Backing::Bytes(bytes.clone());
                let map = trace::traced(open_map(&request, factory, &backing)?);
                let why = "the bytes in memory".into();
                let map = Some(MountedMap::of(map, factory, why));
                self.open_request(request.clone().map(map), &mut ProbeLog::disabled())
            });
        }
        let driver = match known {
            Some((driver, _)) => driver,
            None => match self.driver_of(&target)? {
                Some((driver, _)) => driver,
                None => {
                    return Err(match self.known().iter().find(|known| starts(known.magic)) {
                        Some(known) => not_built(&format!("{target}: driver {:?}", known.name), known),
                        None => ErrorKind::NotNc.context(format!(
                            "{target}: {} bytes in memory that no driver knows",
                            bytes.len()
                        )),
                    });
                }
            },
        };
        let request = OpenRequest::new(&target, options, self).writable(writable);
        let request = request.backing(Backing::Bytes(bytes));
        trace::call("open", &target, || open_chosen(driver, &request))
    }

    /// Opens the dataset at `path`, a path or URL, and reads its file into memory. `persist`: closing writes
    /// changes back to the file.
    ///
    /// # Errors
    /// As [`Registry::open`]; `NC_EDISKLESS` if the format is no single file.
    pub fn open_in_memory(
        self: &Arc<Self>,
        place: &Place,
        writable: bool,
        options: &Options,
        persist: bool,
    ) -> Result<Arc<dyn Dataset>> {
        let target = parse_target(place)?;
        let options = &*url_options::options(&target, options, writable)?;
        let request = OpenRequest::new(&target, options, self).writable(writable);
        trace::call("open", &target, || {
            if target.scheme.is_local()
                && let DatasetLocation::Map(factory, why, _) =
                    self.locate(&request, false, &mut ProbeLog::disabled())?
                && !factory.info().magic.is_empty()
            {
                let map = open_map(&request, factory, &Backing::Memory { persist });
                let map = trace::traced(map.map_err(|error| error.at(&target))?);
                let map = Some(MountedMap::of(map, factory, why));
                return self.open_request(request.clone().map(map), &mut ProbeLog::disabled());
            }
            let choice = self.choose(&request, &mut ProbeLog::disabled())?;
            let request = request.clone().map(choice.map).backing(Backing::Memory { persist });
            open_chosen(choice.driver, &request)
        })
    }

    /// Creates a dataset that is one file, in memory. It starts in define mode. `persist`: closing writes the
    /// file to `path`.
    ///
    /// # Errors
    /// As [`Registry::create`]; `NC_EDISKLESS` if the format is no single file.
    pub fn create_in_memory(
        self: &Arc<Self>,
        place: &Place,
        clobber: Clobber,
        classic_model: bool,
        options: &Options,
        persist: bool,
    ) -> Result<Arc<dyn Dataset>> {
        let markers = self.markers();
        let storage = CreatePlace { map: None, markers };
        self.create_by(place, clobber, classic_model, options, storage, |driver, request| {
            let backing = Backing::Memory { persist };
            if driver.info().markers.is_empty() {
                driver.info().check_backing(&backing, "create")?;
                return driver.create(&request.backing(backing));
            }
            let (factory, why) = self.map_to_create(request.target)?;
            let map = check_backing(factory, &backing).and_then(|()| {
                request.with_map_request(|request| factory.create(&request.backing(&backing)))
            });
            let map = trace::traced(map.map_err(|error| error.at(request.target))?);
            let map = Some(MountedMap::of(map, factory, why.into()));
            driver.create(&request.map(map))
        })
    }
}

/// Opens a map of one file in memory.
fn open_map(
    request: &OpenRequest<'_>,
    factory: &Arc<dyn MapFactory>,
    backing: &Backing,
) -> Result<Arc<dyn ZMap>> {
    check_backing(factory, backing)?;
    request.with_map_request(|request| factory.open(&request.backing(backing)))
}

/// Refuses a backing that a map factory does not know.
fn check_backing(factory: &Arc<dyn MapFactory>, backing: &Backing) -> Result<()> {
    let (name, in_memory) = (factory.info().name, factory.info().in_memory);
    match backing {
        Backing::Bytes(_) if !in_memory => {
            Err(ErrorKind::InMemory.context(format!("map {name} cannot open archives in memory")))
        }
        Backing::Memory { .. } if !in_memory => Err(ErrorKind::Diskless
            .context(format!("map {name} is not a single file, so it cannot be in memory"))),
        _ => Ok(()),
    }
}

/// Whether these bytes contain a magic number.
fn has(bytes: &[u8], magic: &Magic) -> bool {
    let rest = usize::try_from(magic.offset).ok().and_then(|offset| bytes.get(offset..));
    !magic.bytes.is_empty() && rest.is_some_and(|rest| rest.starts_with(magic.bytes))
}
