//! Finds the driver and map of a path: [`Registry::open`], [`Registry::create`], [`Registry::delete`],
//! [`Registry::explain`], and [`Registry::open_map`] / [`Registry::create_map`] for drivers.
//!
//! The order is: content, then `mode=`, then the scheme, then a default. Content means the first bytes of a
//! regular file, or the markers in the root of a map. If `mode=` names a driver without first bytes, that
//! driver decides, and nothing reads the content. Only regular files are opened for recognition, so nothing
//! blocks.
//!
//! This module names no format, storage or filter: plugins describe themselves. Read `locate` next.

mod create;
mod delete;
mod explain;
mod fragment_words;
mod in_memory;
mod locate;
mod markers;
mod probe_log;
mod refused_keys;
mod storage;
mod url_options;

use std::borrow::Cow;
use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};
use nczarr_url_infer::{Place, Scheme, Target};

use crate::forbidden_is_absent::ForbiddenIsAbsent;
use crate::registry::not_built;
use crate::trace;
use crate::{
    Backing, Dataset, Driver, ForbiddenKeys, MountedMap, OpenRequest, OpenScope, Options, PluginKind,
    Registry,
};
use create::CreatePlace;
use locate::{DatasetLocation, FileContent};
use nczarr_storage::source::ByteSource;
use nczarr_storage::{MapFactory, ZMap};
use probe_log::ProbeLog;
use refused_keys::RefusedKeys;

pub use explain::{Explanation, ProbeStep};
pub use refused_keys::no_dataset_error;

/// The driver of a dataset, and the map if it is open already.
struct DriverChoice<'r> {
    driver: &'r Arc<dyn Driver>,
    /// Empty unless probes are recorded.
    why: String,
    map: Option<MountedMap>,
    /// The remote file, if it was opened for recognition.
    source: Option<Arc<dyn ByteSource>>,
}

/// Opens a dataset with the chosen driver.
fn open_chosen(driver: &Arc<dyn Driver>, request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
    driver.info().check_backing(&request.backing, "open")?;
    driver.open(request)
}

impl Registry {
    /// Opens the dataset at `place`.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if the path is empty; `NC_ENOTNC` with the probes if no driver recognises it;
    /// `NC_ENOTBUILT` that names the missing feature; otherwise the driver's error.
    pub fn open(
        self: &Arc<Self>,
        place: &Place,
        writable: bool,
        options: &Options,
    ) -> Result<Arc<dyn Dataset>> {
        self.open_in(None, place, writable, options)
    }

    /// As [`Registry::open`], in an open map if one is given. The path then supplies only the name and the
    /// options of its fragment.
    ///
    /// # Errors
    /// As [`Registry::open`].
    pub fn open_in(
        self: &Arc<Self>,
        map: Option<Arc<dyn ZMap>>,
        place: &Place,
        writable: bool,
        options: &Options,
    ) -> Result<Arc<dyn Dataset>> {
        let target = parse_target(place)?;
        let options = &*url_options::options(&target, options, writable)?;
        let map = map.map(|map| apply_forbidden_option(map, options).into());
        let request = OpenRequest::new(&target, options, self).writable(writable).map(map);
        trace::call("open", &target, || self.open_request(request, &mut ProbeLog::disabled()))
    }

    /// Opens the dataset to read one variable. The driver may skip the rest ([`OpenRequest::scope`]).
    ///
    /// # Errors
    /// As [`Registry::open_in`]. A missing variable is not an error here; the dataset's model lacks it.
    pub fn open_for(
        self: &Arc<Self>,
        map: Option<Arc<dyn ZMap>>,
        place: &Place,
        only: OpenScope<'_>,
        options: &Options,
    ) -> Result<Arc<dyn Dataset>> {
        let target = parse_target(place)?;
        let options = &*url_options::options(&target, options, false)?;
        let (map, only) = (map.map(|map| apply_forbidden_option(map, options).into()), Some(only));
        let request = OpenRequest::new(&target, options, self).map(map).scope(only);
        trace::call("open", &target, || self.open_request(request, &mut ProbeLog::disabled()))
    }

    /// Opens the map of a dataset: the map of the request, else by mode, scheme or content.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if the path is empty; `NC_ENOTNC` if no map recognises the content; `NC_ENOTBUILT` that
    /// names the missing feature; otherwise the map's error.
    pub fn open_map(&self, request: &OpenRequest<'_>) -> Result<MountedMap> {
        if let Some(map) = &request.map {
            return Ok(map.clone());
        }
        let target = request.target;
        match self.locate(request, true, &mut ProbeLog::disabled())? {
            DatasetLocation::Map(factory, why, source) => self.open_with(factory, why, request, source),
            DatasetLocation::File(FileContent::Driver(driver, why, _)) => Err(ErrorKind::NotNc.context(
                format!("{target}: not a map: the file belongs to driver {} ({why})", driver.info().name),
            )),
            DatasetLocation::File(FileContent::Nothing(error)) => Err(error),
        }
    }

    fn open_request(&self, mut request: OpenRequest<'_>, looks: &mut ProbeLog) -> Result<Arc<dyn Dataset>> {
        nczarr_runtime::allow_page_maker(request.options.threads);
        let choice = self.choose(&request, looks)?;
        if let Some(map) = choice.map {
            request.map = Some(map);
        }
        if let Some(source) = choice.source {
            request.backing = Backing::Source(source);
        }
        open_chosen(choice.driver, &request)
    }

    fn choose(&self, request: &OpenRequest<'_>, looks: &mut ProbeLog) -> Result<DriverChoice<'_>> {
        let target = request.target;
        self.check_words(target, false)?;
        let named = self.driver_of(target)?;
        if let Some((driver, mode)) = named
            && driver.info().magic.is_empty()
        {
            return Ok(DriverChoice {
                driver,
                why: looks.why(|| format!("mode={mode}")),
                map: request.map.clone(),
                source: None,
            });
        }
        let site = match &request.map {
            Some(_) => None,
            None => Some(self.locate(request, false, looks)?),
        };
        self.choose_at(site, named, request, looks)
    }

    /// Chooses by the content of a location. `None`: by the content of the request's map.
    fn choose_at<'r>(
        &'r self,
        site: Option<DatasetLocation<'r>>,
        named: Option<(&'r Arc<dyn Driver>, &str)>,
        request: &OpenRequest<'_>,
        looks: &mut ProbeLog,
    ) -> Result<DriverChoice<'r>> {
        let target = request.target;
        // The object at the URL itself is probed if no key below it decides, unless its name led to it
        // before.
        let mut may_be_file = false;
        let mut map = match site {
            None => self.open_map(request)?,
            Some(DatasetLocation::Map(factory, why, source)) => {
                may_be_file = factory.info().magic.is_empty() && self.may_be_file(request)?;
                self.open_with(factory, why, request, source)?
            }
            Some(DatasetLocation::File(FileContent::Driver(driver, why, source))) => {
                return Ok(DriverChoice { driver, why, map: None, source });
            }
            Some(DatasetLocation::File(FileContent::Nothing(error))) => {
                return match named {
                    Some((driver, mode)) => Ok(DriverChoice {
                        driver,
                        why: looks.why(|| format!("mode={mode}")),
                        map: None,
                        source: None,
                    }),
                    None if error.kind() == ErrorKind::NotBuilt => Err(error),
                    None => Err(self.missing_driver(target).unwrap_or(error)),
                };
            }
        };
        self.survey(&mut map, request.options);
        let mut refused = RefusedKeys::default();
        let found = self
            .driver_by_markers(map.for_opening(), looks, &mut refused)
            .map_err(|error| error.at(target))?;
        if let Some((driver, why)) = found {
            return Ok(DriverChoice { driver, why, map: Some(map), source: None });
        }
        if let Some((driver, mode)) = named {
            return Ok(DriverChoice {
                driver,
                why: looks.why(|| format!("mode={mode}")),
                map: Some(map),
                source: None,
            });
        }
        match self.driver_by_children(&map, request.options, looks) {
            Ok(Some((driver, why))) => return Ok(DriverChoice { driver, why, map: Some(map), source: None }),
            Ok(None) => {}
            // Documents and the listing are both forbidden.
            Err(error) if !refused.is_empty() && error.kind() == ErrorKind::Auth => {}
            Err(error) => return Err(error.at(target)),
        }
        if may_be_file
            && !nczarr_url_infer::names_a_file(target)
            && let Ok(Some(site)) = self.locate_remote_file(request, false, looks)
        {
            return self.choose_at(Some(site), named, request, looks);
        }
        Err(self
            .missing_driver(target)
            .unwrap_or_else(|| self.nothing_in_map(target, &map, may_be_file, refused)))
    }

    /// Returns the first driver that a value of `mode=` names.
    fn driver_of<'t>(&self, target: &'t Target) -> Result<Option<(&Arc<dyn Driver>, &'t str)>> {
        for mode in &target.modes {
            if let Some(driver) = self.driver_by_mode(mode)? {
                return Ok(Some((driver, mode)));
            }
        }
        Ok(None)
    }

    /// Returns the error for a `mode=` that names a known driver which this build lacks.
    fn missing_driver(&self, target: &Target) -> Option<nczarr_model::Error> {
        let known = target.modes.iter().find_map(|mode| self.known_as(PluginKind::Driver, mode))?;
        Some(not_built(&format!("{target}: driver {:?}", known.name), known))
    }

    /// Returns the first map that a value of `mode=` names. A known map that this build lacks is an error,
    /// since another map would read the wrong location.
    fn map_of(&self, target: &Target) -> Result<Option<(&Arc<dyn MapFactory>, String)>> {
        // The other mode names the storage of a remote archive.
        if !target.scheme.is_local()
            && let Some(archive) = self.archive_of(target)?
        {
            return Ok(Some(archive));
        }
        for mode in &target.modes {
            if let Some(factory) = self.map_by_mode(mode)? {
                return Ok(Some((factory, ["mode=", mode].concat())));
            }
            if let Some(known) = self.known_as(PluginKind::Map, mode) {
                return Err(not_built(&format!("{target}: map {:?}", known.name), known));
            }
        }
        Ok(None)
    }

    /// Returns the first archive map that a value of `mode=` names.
    fn archive_of(&self, target: &Target) -> Result<Option<(&Arc<dyn MapFactory>, String)>> {
        for mode in &target.modes {
            match self.map_by_mode(mode)? {
                Some(factory) if !factory.info().magic.is_empty() => {
                    return Ok(Some((factory, ["mode=", mode].concat())));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Opens the map that [`Registry::locate`] found.
    fn open_with(
        &self,
        factory: &Arc<dyn MapFactory>,
        why: Cow<'static, str>,
        request: &OpenRequest<'_>,
        source: Option<Arc<dyn ByteSource>>,
    ) -> Result<MountedMap> {
        let backing = source.map_or(Backing::Place, Backing::Source);
        let opened = request.with_map_request(|request| factory.open(&request.backing(&backing)));
        match opened {
            // An archive is one object: its members cannot be forbidden one by one.
            Ok(map) if factory.info().magic.is_empty() => {
                Ok(MountedMap::of(trace::traced(apply_forbidden_option(map, request.options)), factory, why))
            }
            Ok(map) => Ok(MountedMap::of(trace::traced(map), factory, why)),
            Err(error) => {
                if request.target.scheme.is_local() && locate::is_local(factory) {
                    // The state of the path explains the error better, if it was not checked before.
                    self.check_path(request.target, &mut ProbeLog::disabled())?;
                }
                Err(error.at(format_args!("map {}", factory.info().name)))
            }
        }
    }
}

/// Returns the map; forbidden keys are absent if the options ask for that.
fn apply_forbidden_option(map: Arc<dyn ZMap>, options: &Options) -> Arc<dyn ZMap> {
    match options.forbidden {
        ForbiddenKeys::Error => map,
        ForbiddenKeys::Absent => Arc::new(ForbiddenIsAbsent(map)),
    }
}

/// Parses a place. An existing path that contains `#` has no fragment, also if [`Place::url`] made it.
fn parse_target(place: &Place) -> Result<Target> {
    let target = place.target();
    let text = place.as_text();
    if place.as_path().is_some()
        || matches!(&target, Ok(target) if target.scheme != Scheme::Path)
        || !text.contains('#')
        || std::fs::symlink_metadata(&*text).is_err()
    {
        return target;
    }
    let path = place.modes().iter().fold(Place::path(&*text), Place::mode);
    let mut target = path.target()?;
    target.steps.push(format!("{text:?} exists, so its # starts no fragment").into());
    Ok(target)
}
