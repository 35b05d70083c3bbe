//! Recognises datasets in a map by the keys that drivers name: their markers.

use std::sync::Arc;

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::{Key, PrefetchedMap, ZMap, ZMapExt};
use nczarr_url_infer::Target;

use super::ProbeStep;
use super::probe_log::ProbeLog;
use super::refused_keys::{RefusedKeys, no_dataset_error};
use crate::{Driver, DriverInfo, MountedMap, Options, Registry};

/// The number of children that are searched if the root has no markers.
const MOST_CHILDREN: usize = 100;

impl Registry {
    /// Reads the markers of all drivers and the listing in one batch, if the map is remote.
    pub(super) fn survey(&self, map: &mut MountedMap, options: &Options) {
        if map.prefetched.is_some() || !map.caps().remote {
            return;
        }
        // An invalid marker is reported by `first_marker`.
        let markers: Vec<Key> = self.markers().iter().filter_map(|marker| Key::new(marker).ok()).collect();
        let survey = PrefetchedMap::new(Arc::clone(&map.map));
        survey.prefetch(&markers, &options.limits, true);
        map.prefetched = Some(Arc::new(survey));
    }

    /// Returns the driver that has a marker in the map's root. Drivers of the table come first.
    pub(super) fn driver_by_markers(
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
    pub(super) fn driver_by_children(
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

    pub(super) fn driver_by_markers_in(
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

    /// Returns the error for a map without a marker. `itself`: the URL itself was probed too. `refused`: the
    /// forbidden keys.
    pub(super) fn nothing_in_map(
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
