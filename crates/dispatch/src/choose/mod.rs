//! Which driver and map a path means: [`Registry::open`], [`Registry::create`], [`Registry::delete`],
//! [`Registry::explain`], and [`Registry::open_map`] / [`Registry::create_map`] for drivers.
//!
//! Rule: content, then `mode=`, then scheme, then a default. Content is the first bytes of a regular file and the
//! markers in the root of a map. It is not looked at when `mode=` names a driver without first bytes of its own: that
//! driver decides itself. Nothing but regular files is ever opened to be recognised, so nothing blocks.
//!
//! It names no format, storage or filter: who answers to what, the plugins say. Read `site` next.

mod asked;
mod explain;
mod in_memory;
mod refused;
mod remove;
mod site;
mod storage;
mod words;

use std::borrow::Cow;
use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};
use nczarr_url_infer::Target;

use crate::forbidden::ForbiddenIsAbsent;
use crate::registry::not_built;
use crate::{
    ByteSource, Clobber, CreateRequest, Dataset, Driver, DriverInfo, ForbiddenKeys, Format, Key, MapFactory,
    MountedMap, Only, OpenRequest, Options, PluginKind, Registry, Survey, ZMap,
};
use crate::{settings, slab, trace};
use refused::Refused;
use site::{Content, Site};

pub use explain::{Explanation, Look};
pub use refused::no_dataset;

/// How many children of a root without markers are looked at.
const MOST_CHILDREN: usize = 100;

/// What was looked at on the way to a choice, if somebody wants to know ([`Registry::explain`]).
struct Looks(Option<Vec<Look>>);

impl Looks {
    /// Nobody asks.
    fn unheard() -> Self {
        Self(None)
    }

    /// They are to be told.
    fn heard() -> Self {
        Self(Some(Vec::new()))
    }

    fn are_heard(&self) -> bool {
        self.0.is_some()
    }

    fn add(&mut self, look: impl FnOnce() -> Look) {
        if let Some(looks) = &mut self.0 {
            looks.push(look());
        }
    }

    /// Why something was chosen; nothing if nobody asks.
    fn why(&self, why: impl FnOnce() -> String) -> String {
        if self.are_heard() { why() } else { String::new() }
    }
}

/// The driver for a dataset, and the map if it had to be opened to find out.
struct Choice<'r> {
    driver: &'r Arc<dyn Driver>,
    /// Only if somebody asks.
    why: String,
    map: Option<MountedMap>,
    /// The file, if it was opened elsewhere to find out.
    source: Option<Arc<dyn ByteSource>>,
}

/// Opens a dataset by the driver that was chosen.
fn open_chosen(
    driver: &Arc<dyn Driver>,
    request: &OpenRequest<'_>,
    source: Option<Arc<dyn ByteSource>>,
) -> Result<Arc<dyn Dataset>> {
    match source {
        Some(source) => driver.open_from(request, source),
        None => driver.open(request),
    }
}

impl Registry {
    /// Opens the dataset that `path`, a path or URL, means.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if nothing is there; `NC_ENOTNC` if it is no dataset anybody here knows, with what was tried;
    /// `NC_ENOTBUILT` naming the feature that would know it; what the driver says.
    pub fn open(self: &Arc<Self>, path: &str, writable: bool, options: &Options) -> Result<Arc<dyn Dataset>> {
        self.open_in(None, path, writable, options)
    }

    /// As [`Registry::open`], in a map somebody opened already (if given): the path then only names the dataset and
    /// says what its fragment says.
    ///
    /// # Errors
    /// As [`Registry::open`].
    pub fn open_in(
        self: &Arc<Self>,
        map: Option<Arc<dyn ZMap>>,
        path: &str,
        writable: bool,
        options: &Options,
    ) -> Result<Arc<dyn Dataset>> {
        let target = target_of(path)?;
        let options = &*asked::options(&target, options, writable)?;
        let map = map.map(|map| settled(map, options).into());
        let request = OpenRequest { target: &target, writable, options, registry: self, map, only: None };
        trace::call("open", &target, || self.open_request(request, &mut Looks::unheard()))
    }

    /// Opens the dataset for reading one variable: the rest of it may be left out ([`OpenRequest::only`]).
    ///
    /// # Errors
    /// As [`Registry::open_in`]. Whether there is such a variable, the dataset's model tells.
    pub fn open_for(
        self: &Arc<Self>,
        map: Option<Arc<dyn ZMap>>,
        path: &str,
        only: Only<'_>,
        options: &Options,
    ) -> Result<Arc<dyn Dataset>> {
        let target = target_of(path)?;
        let options = &*asked::options(&target, options, false)?;
        let (map, only) = (map.map(|map| settled(map, options).into()), Some(only));
        let request = OpenRequest { target: &target, writable: false, options, registry: self, map, only };
        trace::call("open", &target, || self.open_request(request, &mut Looks::unheard()))
    }

    /// Creates a dataset where `path`, a path or URL, says; it starts in define mode.
    ///
    /// # Errors
    /// `NC_EINVAL` if nothing says what to create; `NC_ENOTBUILT` naming the feature that could; `NC_EEXIST` or
    /// `NC_EOBJECT` if something is there; what the driver says.
    pub fn create(
        self: &Arc<Self>,
        path: &str,
        clobber: Clobber,
        classic_model: bool,
        options: &Options,
    ) -> Result<Arc<dyn Dataset>> {
        self.create_in(None, path, clobber, classic_model, options)
    }

    /// As [`Registry::create`], in a map somebody made already (if given).
    ///
    /// # Errors
    /// As [`Registry::create`].
    pub fn create_in(
        self: &Arc<Self>,
        map: Option<Arc<dyn ZMap>>,
        path: &str,
        clobber: Clobber,
        classic_model: bool,
        options: &Options,
    ) -> Result<Arc<dyn Dataset>> {
        let (map, markers) = (map.map(MountedMap::from), self.markers());
        self.create_by(path, clobber, classic_model, options, (map, &markers), |driver, request| driver.create(request))
    }

    /// Creates what `create` makes of a request, in define mode. `place`: the map, if there is one already, and the keys
    /// by which a dataset is recognised there.
    fn create_by(
        self: &Arc<Self>,
        path: &str,
        clobber: Clobber,
        classic_model: bool,
        options: &Options,
        place: (Option<MountedMap>, &[&str]),
        create: impl FnOnce(&dyn Driver, &CreateRequest<'_>) -> Result<Arc<dyn Dataset>>,
    ) -> Result<Arc<dyn Dataset>> {
        let target = nczarr_url_infer::parse(path)?;
        self.check_words(&target, true)?;
        let options = &*asked::options(&target, options, true)?;
        trace::call("create", &target, || {
            let (driver, _) = self.creator(&target)?;
            let request = CreateRequest {
                target: &target,
                clobber,
                classic_model: classic_model || settings::default_format() == Format::NetCdf4Classic,
                options,
                registry: self,
                map: place.0,
                markers: place.1,
            };
            let dataset = create(&**driver, &request)?;
            if !dataset.model().is_defining() {
                dataset.model().begin();
            }
            Ok(dataset)
        })
    }

    /// Opens the map of a dataset: the one in the request, else by mode, scheme, or what is on disk.
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if nothing is there; `NC_ENOTNC` if no map holds what is there; `NC_ENOTBUILT` naming the
    /// feature that would; what the map says.
    pub fn open_map(&self, request: &OpenRequest<'_>) -> Result<MountedMap> {
        if let Some(map) = &request.map {
            return Ok(map.clone());
        }
        let target = request.target;
        match self.site(request, true, &mut Looks::unheard())? {
            Site::Map(factory, why, source) => self.open_with(factory, why, request, source),
            Site::File(Content::Driver(driver, why, _)) => Err(ErrorKind::NotNc.context(format!(
                "{target}: a file in which no map lies; it is one of driver {} ({why})",
                driver.info().name
            ))),
            Site::File(Content::Nothing(error)) => Err(error),
        }
    }

    /// Makes the map of a new dataset: the one in the request, else by mode, scheme, or as what is to be created says.
    ///
    /// # Errors
    /// `NC_EOBJECT` or `NC_EEXIST` if something is there that may not be replaced; `NC_ENOTBUILT` naming the feature
    /// that would bring the map; what the map says.
    pub fn create_map(&self, request: &CreateRequest<'_>) -> Result<MountedMap> {
        if let Some(map) = &request.map {
            return Ok(map.clone());
        }
        let target = request.target;
        let (factory, why) = self.map_to_create(target)?;
        if target.scheme.is_local() && site::is_local(factory) {
            self.clear_for(factory, request)?;
        }
        let markers = self.markers();
        let request = CreateRequest {
            markers: if request.markers.is_empty() { &markers } else { request.markers },
            ..request.clone()
        };
        let map = trace::watch(factory.create(&request)?);
        Ok(MountedMap::of(map, factory, why.into()))
    }

    fn open_request(&self, mut request: OpenRequest<'_>, looks: &mut Looks) -> Result<Arc<dyn Dataset>> {
        slab::ahead::allow(request.options.threads);
        let choice = self.choose(&request, looks)?;
        if let Some(map) = choice.map {
            request.map = Some(map);
        }
        open_chosen(choice.driver, &request, choice.source)
    }

    fn choose(&self, request: &OpenRequest<'_>, looks: &mut Looks) -> Result<Choice<'_>> {
        let target = request.target;
        self.check_words(target, false)?;
        let named = self.driver_of(target)?;
        if let Some((driver, mode)) = named
            && driver.info().magic.is_empty()
        {
            return Ok(Choice {
                driver,
                why: looks.why(|| format!("mode={mode}")),
                map: request.map.clone(),
                source: None,
            });
        }
        let site = match &request.map {
            Some(_) => None,
            None => Some(self.site(request, false, looks)?),
        };
        self.choose_at(site, named, request, looks)
    }

    /// Chooses by what a site holds; `None`: by the map that was handed in.
    fn choose_at<'r>(
        &'r self,
        site: Option<Site<'r>>,
        named: Option<(&'r Arc<dyn Driver>, &str)>,
        request: &OpenRequest<'_>,
        looks: &mut Looks,
    ) -> Result<Choice<'r>> {
        let target = request.target;
        // The object at the URL itself is looked at if nothing below it tells, and its name has not led there already.
        let mut may_be_file = false;
        let mut map = match site {
            None => self.open_map(request)?,
            Some(Site::Map(factory, why, source)) => {
                may_be_file = factory.info().magic.is_empty() && self.may_be_file(request)?;
                self.open_with(factory, why, request, source)?
            }
            Some(Site::File(Content::Driver(driver, why, source))) => {
                return Ok(Choice { driver, why, map: None, source });
            }
            Some(Site::File(Content::Nothing(error))) => {
                return match named {
                    Some((driver, mode)) => {
                        Ok(Choice { driver, why: looks.why(|| format!("mode={mode}")), map: None, source: None })
                    }
                    None if error.kind() == ErrorKind::NotBuilt => Err(error),
                    None => Err(self.missing_driver(target).unwrap_or(error)),
                };
            }
        };
        self.survey(&mut map, request.options);
        let mut refused = Refused::default();
        let found = self.driver_by_markers(map.seen(), looks, &mut refused).map_err(|error| error.at(target))?;
        if let Some((driver, why)) = found {
            return Ok(Choice { driver, why, map: Some(map), source: None });
        }
        if let Some((driver, mode)) = named {
            return Ok(Choice { driver, why: looks.why(|| format!("mode={mode}")), map: Some(map), source: None });
        }
        match self.driver_by_children(&map, request.options, looks) {
            Ok(Some((driver, why))) => return Ok(Choice { driver, why, map: Some(map), source: None }),
            Ok(None) => {}
            // Documents are forbidden, and so is the list.
            Err(error) if !refused.is_empty() && error.kind() == ErrorKind::Auth => {}
            Err(error) => return Err(error.at(target)),
        }
        if may_be_file
            && !nczarr_url_infer::names_a_file(target)
            && let Ok(Some(site)) = self.file_there(request, false, looks)
        {
            return self.choose_at(Some(site), named, request, looks);
        }
        Err(self.missing_driver(target).unwrap_or_else(|| self.nothing_in_map(target, &map, may_be_file, refused)))
    }

    /// Looks for the markers of all drivers at once where each look is a request, and for all keys beside.
    fn survey(&self, map: &mut MountedMap, options: &Options) {
        if map.survey.is_some() || !map.caps().remote {
            return;
        }
        // A marker that is no key is told of where it is looked for.
        let markers: Vec<Key> = self.markers().iter().filter_map(|marker| Key::new(marker).ok()).collect();
        let survey = Survey::new(Arc::clone(&map.map));
        survey.look(&markers, &options.limits, true);
        map.survey = Some(Arc::new(survey));
    }

    /// The first driver that a value of `mode=` names.
    fn driver_of<'t>(&self, target: &'t Target) -> Result<Option<(&Arc<dyn Driver>, &'t str)>> {
        for mode in &target.modes {
            if let Some(driver) = self.driver_by_mode(mode)? {
                return Ok(Some((driver, mode)));
            }
        }
        Ok(None)
    }

    /// The error for a target whose `mode=` names a driver that the project knows and this build lacks.
    fn missing_driver(&self, target: &Target) -> Option<nczarr_model::Error> {
        let known = target.modes.iter().find_map(|mode| self.known_as(PluginKind::Driver, mode))?;
        Some(not_built(&format!("{target}: driver {:?}", known.name), known))
    }

    /// The driver one of whose markers the root of the map holds, the table's drivers before all others.
    fn driver_by_markers(
        &self,
        map: &dyn ZMap,
        looks: &mut Looks,
        refused: &mut Refused,
    ) -> Result<Option<(&Arc<dyn Driver>, String)>> {
        self.driver_by_markers_in(&Key::root(), map, looks, refused)
    }

    /// The driver one of whose markers a child of the root holds: a store whose root has no document of its own.
    ///
    /// Enough for opening. Deleting and replacing go by the root alone: a folder with datasets in it is none itself.
    fn driver_by_children(
        &self,
        mounted: &MountedMap,
        options: &Options,
        looks: &mut Looks,
    ) -> Result<Option<(&Arc<dyn Driver>, String)>> {
        let map = mounted.seen();
        if !map.caps().list {
            return Ok(None);
        }
        let names = map.search(&Key::root())?;
        // A name that is no key is no child of a dataset.
        let children: Vec<Key> = names.iter().take(MOST_CHILDREN).filter_map(|name| Key::new(name).ok()).collect();
        if let Some(survey) = &mounted.survey {
            let markers = self.markers();
            let keys = children.iter().flat_map(|child| markers.iter().filter_map(|marker| child.join(marker).ok()));
            survey.look(&keys.collect::<Vec<_>>(), &options.limits, false);
        }
        for child in children {
            match self.driver_by_markers_in(&child, map, looks, &mut Refused::default()) {
                Ok(None) => {}
                // A link that leads elsewhere says nothing about what is here.
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
        looks: &mut Looks,
        refused: &mut Refused,
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

    /// The driver of a new dataset, and why.
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

    /// The map factory of a new dataset, and why.
    fn map_to_create(&self, target: &Target) -> Result<(&Arc<dyn MapFactory>, String)> {
        if let Some(found) = self.map_of(target)? {
            return Ok(found);
        }
        if !target.scheme.is_local() {
            let scheme = target.scheme.name().unwrap_or_default();
            return Ok((self.map_by_scheme(scheme).map_err(|error| error.at(target))?, format!("scheme {scheme}:")));
        }
        match nczarr_url_infer::infer_create(target) {
            Ok(nczarr_url_infer::CreatePlan { map: Some(name), reason, .. }) => match self.map_by_mode(&name)? {
                Some(factory) => Ok((factory, reason)),
                None => Ok((self.map(&name).map_err(|error| error.at(target))?, reason)),
            },
            _ => Ok((self.map_by_scheme("file")?, "a plain path".to_owned())),
        }
    }

    /// The first map that a value of `mode=` names. One that the project knows and this build lacks is an error:
    /// another map would look in the wrong place.
    fn map_of(&self, target: &Target) -> Result<Option<(&Arc<dyn MapFactory>, String)>> {
        // Of an archive somewhere else the other mode says where that is.
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

    /// The first map of archives that a value of `mode=` names.
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

    /// Opens the map that [`Registry::site`] found.
    fn open_with(
        &self,
        factory: &Arc<dyn MapFactory>,
        why: Cow<'static, str>,
        request: &OpenRequest<'_>,
        source: Option<Arc<dyn ByteSource>>,
    ) -> Result<MountedMap> {
        let opened = match source {
            Some(source) => factory.open_from(request, source),
            None => factory.open(request),
        };
        match opened {
            // An archive is one object: what is refused of it is no member that may be absent.
            Ok(map) if factory.info().magic.is_empty() => {
                Ok(MountedMap::of(trace::watch(settled(map, request.options)), factory, why))
            }
            Ok(map) => Ok(MountedMap::of(trace::watch(map), factory, why)),
            Err(error) => {
                if request.target.scheme.is_local() && site::is_local(factory) {
                    // What is there says more, if it was not looked at before.
                    self.look(request.target, &mut Looks::unheard())?;
                }
                Err(error.at(format_args!("map {}", factory.info().name)))
            }
        }
    }

    /// The markers of all drivers, each once.
    pub fn markers(&self) -> Vec<&'static str> {
        let mut markers: Vec<_> = self.drivers().flat_map(|driver| driver.info().markers).copied().collect();
        markers.sort_unstable();
        markers.dedup();
        markers
    }

    /// The error for a map without a marker. `itself`: the URL was looked at too; `refused`: the keys that the storage did
    /// not let anybody look at.
    fn nothing_in_map(&self, target: &Target, map: &MountedMap, itself: bool, refused: Refused) -> nczarr_model::Error {
        let markers = self.markers();
        // Storage that lists tells whether it is empty. Of other storage all that is known is what was asked for.
        let caps = map.caps();
        let is_bare = match caps.list {
            true => map.survey.as_ref().and_then(|survey| survey.keys()).is_some_and(|keys| keys.is_empty()),
            false => true,
        };
        if caps.remote && !target.scheme.is_local() && (is_bare || !refused.is_empty()) {
            let below = markers.iter().filter_map(|marker| Key::new(marker).ok());
            let tried: Vec<Key> = itself.then(Key::root).into_iter().chain(below).collect();
            return no_dataset(target, &tried, &refused.into_keys());
        }
        let tried = if markers.is_empty() { "nothing: no driver here has any".to_owned() } else { markers.join(", ") };
        ErrorKind::NotNc.context(format!(
            "{target}: no dataset: the root of map {} ({}) holds none of the markers looked for ({tried}); \
             if it is one all the same, name its driver with #mode=",
            map.name().unwrap_or("without a name"),
            map.why,
        ))
    }
}

/// Refuses a name that promises a file, where many objects would be written and no mode says that they may be.
fn check_name(target: &Target) -> Result<()> {
    let is_far = ["s3", "gs3"].iter().any(|mode| target.has_mode(mode));
    if !is_far || !nczarr_url_infer::names_a_file(target) {
        return Ok(());
    }
    let ending = target.path.rsplit('.').next().unwrap_or_default();
    Err(ErrorKind::Inval.context(format!(
        "{target}: the ending .{ending} is that of a single file, and what is written here is a Zarr store of many objects; \
         #mode=nczarr or #mode=zarr makes a store of that name; a file is made locally and uploaded"
    )))
}

/// The map, in which what is refused is absent if the options say so.
fn settled(map: Arc<dyn ZMap>, options: &Options) -> Arc<dyn ZMap> {
    match options.forbidden {
        ForbiddenKeys::Error => map,
        ForbiddenKeys::Absent => Arc::new(ForbiddenIsAbsent(map)),
    }
}

/// The first of a driver's markers, as a key, that `place` in the map holds. One that is refused tells nothing.
fn first_marker(
    driver: &DriverInfo,
    place: &Key,
    map: &dyn ZMap,
    looks: &mut Looks,
    refused: &mut Refused,
) -> Result<Option<Key>> {
    for marker in driver.markers {
        let key = place.join(marker).map_err(|error| {
            ErrorKind::Plugin.context(format!("driver {}: marker {marker:?}", driver.name)).caused_by(error)
        })?;
        let there = match map.exists(&key) {
            Ok(there) => there,
            Err(error) => {
                refused.take(&key, error)?;
                looks.add(|| Look::new(format!("key {key} (driver {})", driver.name), "forbidden"));
                continue;
            }
        };
        looks.add(|| Look::new(format!("key {key} (driver {})", driver.name), if there { "there" } else { "absent" }));
        if there {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

/// What a path or URL says; a plain path with a `#` that exists as it is written is just that.
fn target_of(path: &str) -> Result<Target> {
    let target = nczarr_url_infer::parse(path);
    if matches!(&target, Ok(target) if target.scheme != nczarr_url_infer::Scheme::Path) || !path.contains('#') {
        return target;
    }
    if std::fs::symlink_metadata(path).is_ok() {
        return Ok(Target {
            scheme: nczarr_url_infer::Scheme::Path,
            path: path.to_owned(),
            host: None,
            user_info: None,
            query: None,
            fragment: Vec::new(),
            modes: Vec::new(),
            steps: vec![format!("{path:?} exists as it is written, so # starts no fragment")],
        });
    }
    target
}
