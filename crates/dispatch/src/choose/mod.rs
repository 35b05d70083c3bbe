//! Finds the driver and map of a path: [`Registry::open`], [`Registry::create`], [`Registry::delete`],
//! [`Registry::explain`], and [`Registry::open_map`] / [`Registry::create_map`] for drivers.
//!
//! The order is: content, then `mode=`, then the scheme, then a default. Content means the first bytes of a
//! regular file, or the markers in the root of a map. It is skipped if `mode=` names a driver without first
//! bytes; that driver decides itself. Only regular files are opened for recognition, so nothing blocks.
//!
//! This module names no format, storage or filter: plugins describe themselves. Read `locate` next.

mod delete;
mod explain;
mod fragment_words;
mod in_memory;
mod locate;
mod refused_keys;
mod storage;
mod url_options;

use std::borrow::Cow;
use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};
use nczarr_url_infer::{Place, Scheme, Target};

use crate::forbidden_is_absent::ForbiddenIsAbsent;
use crate::registry::not_built;
use crate::{
    Backing, Clobber, CreateRequest, Dataset, Driver, DriverInfo, ForbiddenKeys, Format, MountedMap,
    OpenRequest, OpenScope, Options, PluginKind, Registry,
};
use crate::{settings, trace};
use locate::{DatasetLocation, FileContent};
use nczarr_storage::source::ByteSource;
use nczarr_storage::{Key, MapFactory, PrefetchedMap, ZMap, ZMapExt};
use refused_keys::RefusedKeys;

pub use explain::{Explanation, ProbeStep};
pub use refused_keys::no_dataset_error;

/// The number of children that are searched if the root has no markers.
const MOST_CHILDREN: usize = 100;

/// The probes made while resolving a path, if a caller records them ([`Registry::explain`]).
struct ProbeLog(Option<Vec<ProbeStep>>);

impl ProbeLog {
    /// Records nothing.
    fn disabled() -> Self {
        Self(None)
    }

    /// Records each probe.
    fn enabled() -> Self {
        Self(Some(Vec::new()))
    }

    fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    fn add(&mut self, look: impl FnOnce() -> ProbeStep) {
        if let Some(looks) = &mut self.0 {
            looks.push(look());
        }
    }

    /// Returns the reason if it is recorded, else an empty string.
    fn why(&self, why: impl FnOnce() -> String) -> String {
        if self.is_enabled() { why() } else { String::new() }
    }
}

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

/// The place where a dataset is created.
struct CreatePlace<'a> {
    /// The map, if there is one already.
    map: Option<MountedMap>,
    /// The keys by which a dataset is recognised in a map.
    markers: &'a [&'a str],
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

    /// Creates a dataset at `place`. It starts in define mode.
    ///
    /// # Errors
    /// `NC_EINVAL` if the format is undetermined; `NC_ENOTBUILT` that names the missing feature; `NC_EEXIST`
    /// or `NC_EOBJECT` if the path is in use; otherwise the driver's error.
    pub fn create(
        self: &Arc<Self>,
        place: &Place,
        clobber: Clobber,
        classic_model: bool,
        options: &Options,
    ) -> Result<Arc<dyn Dataset>> {
        self.create_in(None, place, clobber, classic_model, options)
    }

    /// As [`Registry::create`], in an open map if one is given.
    ///
    /// # Errors
    /// As [`Registry::create`].
    pub fn create_in(
        self: &Arc<Self>,
        map: Option<Arc<dyn ZMap>>,
        place: &Place,
        clobber: Clobber,
        classic_model: bool,
        options: &Options,
    ) -> Result<Arc<dyn Dataset>> {
        let storage = CreatePlace { map: map.map(MountedMap::from), markers: self.markers() };
        self.create_by(place, clobber, classic_model, options, storage, |driver, request| {
            driver.create(&request)
        })
    }

    /// Creates what `create` makes of a request, in define mode.
    fn create_by(
        self: &Arc<Self>,
        place: &Place,
        clobber: Clobber,
        classic_model: bool,
        options: &Options,
        storage: CreatePlace<'_>,
        create: impl FnOnce(&dyn Driver, CreateRequest<'_>) -> Result<Arc<dyn Dataset>>,
    ) -> Result<Arc<dyn Dataset>> {
        let target = place.target()?;
        self.check_words(&target, true)?;
        let options = &*url_options::options(&target, options, true)?;
        trace::call("create", &target, || {
            let (driver, _) = self.creator(&target)?;
            let request = CreateRequest::new(&target, options, self)
                .clobber(clobber)
                .classic_model(classic_model || settings::default_format() == Format::NetCdf4Classic)
                .map(storage.map)
                .markers(storage.markers);
            let dataset = create(&**driver, request)?;
            if !dataset.model().is_defining() {
                dataset.model().begin();
            }
            Ok(dataset)
        })
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

    /// Creates the map of a new dataset: the map of the request, else by mode, scheme, or the default of the
    /// format.
    ///
    /// # Errors
    /// `NC_EOBJECT` or `NC_EEXIST` if the path is in use and may not be replaced; `NC_ENOTBUILT` that names
    /// the missing feature; otherwise the map's error.
    pub fn create_map(&self, request: &CreateRequest<'_>) -> Result<MountedMap> {
        if let Some(map) = &request.map {
            return Ok(map.clone());
        }
        let target = request.target;
        let (factory, why) = self.map_to_create(target)?;
        if target.scheme.is_local() && locate::is_local(factory) {
            self.clear_for(factory, request)?;
        }
        let markers = if request.markers.is_empty() { self.markers() } else { request.markers };
        let request = request.clone().markers(markers);
        let map = trace::traced(request.with_map_request(|request| factory.create(request))?);
        Ok(MountedMap::of(map, factory, why.into()))
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

    /// Reads the markers of all drivers and the listing in one batch, if the map is remote.
    fn survey(&self, map: &mut MountedMap, options: &Options) {
        if map.prefetched.is_some() || !map.caps().remote {
            return;
        }
        // An invalid marker is reported by `first_marker`.
        let markers: Vec<Key> = self.markers().iter().filter_map(|marker| Key::new(marker).ok()).collect();
        let survey = PrefetchedMap::new(Arc::clone(&map.map));
        survey.prefetch(&markers, &options.limits, true);
        map.prefetched = Some(Arc::new(survey));
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

    /// Returns the driver that has a marker in the map's root. Drivers of the table come first.
    fn driver_by_markers(
        &self,
        map: &dyn ZMap,
        looks: &mut ProbeLog,
        refused: &mut RefusedKeys,
    ) -> Result<Option<(&Arc<dyn Driver>, String)>> {
        self.driver_by_markers_in(&Key::root(), map, looks, refused)
    }

    /// Returns the driver that has a marker in a child of the root: the root of such a store has no document.
    ///
    /// This suffices for opening. Deletion and replacement require a marker in the root: a folder of datasets
    /// is not a dataset.
    fn driver_by_children(
        &self,
        mounted: &MountedMap,
        options: &Options,
        looks: &mut ProbeLog,
    ) -> Result<Option<(&Arc<dyn Driver>, String)>> {
        let map = mounted.for_opening();
        if !map.caps().list {
            return Ok(None);
        }
        let names = map.children(&Key::root())?;
        // An invalid key is not a child of a dataset.
        let children: Vec<Key> =
            names.iter().take(MOST_CHILDREN).filter_map(|name| Key::new(name).ok()).collect();
        if let Some(survey) = &mounted.prefetched {
            let markers = self.markers();
            let keys =
                children.iter().flat_map(|child| markers.iter().filter_map(|marker| child.join(marker).ok()));
            survey.prefetch(&keys.collect::<Vec<_>>(), &options.limits, false);
        }
        for child in children {
            match self.driver_by_markers_in(&child, map, looks, &mut RefusedKeys::default()) {
                Ok(None) => {}
                // A link out of the store does not identify the store.
                Err(error) if error.kind() == ErrorKind::Access => {}
                found => return found,
            }
        }
        Ok(None)
    }

    fn driver_by_markers_in(
        &self,
        place: &Key,
        map: &dyn ZMap,
        looks: &mut ProbeLog,
        refused: &mut RefusedKeys,
    ) -> Result<Option<(&Arc<dyn Driver>, String)>> {
        let mut error = None;
        let mut found_by = String::new();
        let driver = self.driver_by_content("the markers in the map's root", |driver| {
            if error.is_some() {
                return false;
            }
            match first_marker(driver, place, map, looks, refused) {
                Ok(None) => false,
                Ok(Some(marker)) => {
                    found_by = format!("the map holds {marker}");
                    true
                }
                Err(failure) => {
                    error = Some(failure);
                    false
                }
            }
        })?;
        match error {
            Some(error) => Err(error),
            None => Ok(driver.map(|(driver, _)| (driver, found_by))),
        }
    }

    /// Returns the driver of a new dataset, and the reason.
    fn creator(&self, target: &Target) -> Result<(&Arc<dyn Driver>, String)> {
        if let Some((driver, mode)) = self.driver_of(target)? {
            return Ok((driver, format!("mode={mode}")));
        }
        check_name(target)?;
        let plan = nczarr_url_infer::infer_create(target)?;
        let driver = match (self.driver(plan.driver), plan.fallback.map(|name| self.driver(name))) {
            (Err(_), Some(Ok(fallback))) => Ok(fallback),
            (driver, _) => driver,
        };
        let driver = driver.map_err(|error| error.at(format_args!("{target}: {}", plan.reason)))?;
        Ok((driver, plan.reason))
    }

    /// Returns the map factory of a new dataset, and the reason.
    fn map_to_create(&self, target: &Target) -> Result<(&Arc<dyn MapFactory>, String)> {
        if let Some(found) = self.map_of(target)? {
            return Ok(found);
        }
        if !target.scheme.is_local() {
            let scheme = target.scheme.name().unwrap_or_default();
            return Ok((
                self.map_by_scheme(scheme).map_err(|error| error.at(target))?,
                format!("scheme {scheme}:"),
            ));
        }
        match nczarr_url_infer::infer_create(target) {
            Ok(nczarr_url_infer::CreatePlan { map: Some(name), reason, .. }) => {
                match self.map_by_mode(&name)? {
                    Some(factory) => Ok((factory, reason)),
                    None => Ok((self.map(&name).map_err(|error| error.at(target))?, reason)),
                }
            }
            _ => Ok((self.map_by_scheme("file")?, "a plain path".to_owned())),
        }
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

    /// Returns the error for a map without a marker. `itself`: the URL itself was probed too. `refused`: the
    /// forbidden keys.
    fn nothing_in_map(
        &self,
        target: &Target,
        map: &MountedMap,
        itself: bool,
        refused: RefusedKeys,
    ) -> nczarr_model::Error {
        let markers = self.markers();
        // A listing shows whether the storage is empty. Without one, only the probed keys are known.
        let caps = map.caps();
        let is_bare = if caps.list {
            map.prefetched
                .as_ref()
                .and_then(|survey| survey.cached_keys())
                .is_some_and(|keys| keys.is_empty())
        } else {
            true
        };
        if caps.remote && !target.scheme.is_local() && (is_bare || !refused.is_empty()) {
            let below = markers.iter().filter_map(|marker| Key::new(marker).ok());
            let tried: Vec<Key> = itself.then(Key::root).into_iter().chain(below).collect();
            return no_dataset_error(target, &tried, &refused.into_keys());
        }
        let tried = if markers.is_empty() { "no driver has markers".to_owned() } else { markers.join(", ") };
        ErrorKind::NotNc.context(format!(
            "{target}: no dataset: the root of map {} ({}) has no marker of a driver (tried {tried}); \
             if it is a dataset, name its driver with #mode=",
            map.name().unwrap_or("without a name"),
            map.why,
        ))
    }
}

/// Rejects a name with the ending of a single file, if a store of many objects would be created and no mode
/// confirms that.
fn check_name(target: &Target) -> Result<()> {
    let is_far = ["s3", "gs3"].iter().any(|mode| target.has_mode(mode));
    if !is_far || !nczarr_url_infer::names_a_file(target) {
        return Ok(());
    }
    let path = target.path_text();
    let ending = path.rsplit('.').next().unwrap_or_default();
    Err(ErrorKind::Inval.context(format!(
        "{target}: the ending .{ending} means a single file, but remote datasets are Zarr stores of many objects; \
         add #mode=nczarr or #mode=zarr to create a store of that name, or create the file locally and upload it"
    )))
}

/// Returns the map; forbidden keys are absent if the options ask for that.
fn apply_forbidden_option(map: Arc<dyn ZMap>, options: &Options) -> Arc<dyn ZMap> {
    match options.forbidden {
        ForbiddenKeys::Error => map,
        ForbiddenKeys::Absent => Arc::new(ForbiddenIsAbsent(map)),
    }
}

/// Returns the key of the first marker of a driver below `place`. A forbidden key counts as unknown.
fn first_marker(
    driver: &DriverInfo,
    place: &Key,
    map: &dyn ZMap,
    looks: &mut ProbeLog,
    refused: &mut RefusedKeys,
) -> Result<Option<Key>> {
    for marker in driver.markers {
        let key = place.join(marker).map_err(|error| {
            ErrorKind::Plugin.context(format!("driver {}: marker {marker:?}", driver.name)).caused_by(error)
        })?;
        let there = match map.exists(&key) {
            Ok(there) => there,
            Err(error) => {
                refused.record(&key, error)?;
                looks.add(|| ProbeStep::new(format!("key {key} (driver {})", driver.name), "forbidden"));
                continue;
            }
        };
        looks.add(|| {
            ProbeStep::new(
                format!("key {key} (driver {})", driver.name),
                if there { "there" } else { "absent" },
            )
        });
        if there {
            return Ok(Some(key));
        }
    }
    Ok(None)
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
