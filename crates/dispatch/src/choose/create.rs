//! Creates datasets: the driver and the map of a new dataset.

use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::{MapFactory, ZMap};
use nczarr_url_infer::{Place, Target};

use super::{locate, url_options};
use crate::{Clobber, CreateRequest, Dataset, Driver, Format, MountedMap, Options, Registry};
use crate::{settings, trace};

/// The place where a dataset is created.
pub(super) struct CreatePlace<'a> {
    /// The map, if there is one already.
    pub(super) map: Option<MountedMap>,
    /// The keys by which a dataset is recognised in a map.
    pub(super) markers: &'a [&'a str],
}

impl Registry {
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
    pub(super) fn create_by(
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

    /// Returns the driver of a new dataset, and the reason.
    pub(super) fn creator(&self, target: &Target) -> Result<(&Arc<dyn Driver>, String)> {
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
    pub(super) fn map_to_create(&self, target: &Target) -> Result<(&Arc<dyn MapFactory>, String)> {
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
}

/// Rejects a name with the ending of a single file, if a store of many objects would be created and no mode
/// confirms that.
pub(super) fn check_name(target: &Target) -> Result<()> {
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
