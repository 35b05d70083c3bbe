//! Lookups by name, id, mode and scheme, and [`Registry::check`].

use std::sync::Arc;

use nczarr_model::{Error, ErrorKind, FilterSpec, Result};

use super::entry::{NamedPlugin, RegistryEntries, conflict};
use super::{KnownPlugin, Origin, PluginKind, Registry};
use crate::{Driver, DriverInfo};
use nczarr_codec::{
    ChunkGridClass, DataTypeClass, ElementClass, FilterClass, FilterInfo, FilterName, FilterText,
};
use nczarr_storage::{MapFactory, MapInfo};

impl Registry {
    /// Returns the driver of this name.
    ///
    /// # Errors
    /// [`ErrorKind::NotBuilt`] with the missing feature or the available names; [`ErrorKind::Plugin`] if two
    /// plugins have the name.
    pub fn driver(&self, name: &str) -> Result<&Arc<dyn Driver>> {
        let what = || format!("driver {name:?}");
        self.drivers
            .called(&what, name)?
            .ok_or_else(|| self.missing_plugin(PluginKind::Driver, ErrorKind::NotBuilt, name))
    }

    /// Returns the map factory of this name.
    ///
    /// # Errors
    /// As [`Registry::driver`].
    pub fn map(&self, name: &str) -> Result<&Arc<dyn MapFactory>> {
        let what = || format!("map {name:?}");
        self.maps
            .called(&what, name)?
            .ok_or_else(|| self.missing_plugin(PluginKind::Map, ErrorKind::NotBuilt, name))
    }

    /// Returns the filter class of this name or alias. Within a level a name comes before an alias.
    ///
    /// # Errors
    /// [`ErrorKind::NotBuilt`] with the missing feature; [`ErrorKind::NoFilter`] with the available names;
    /// [`ErrorKind::Plugin`] if two plugins have the name.
    pub fn filter(&self, name: &str) -> Result<&Arc<dyn FilterClass>> {
        let what = || format!("filter {name:?}");
        let is_alias = |filter: &dyn FilterClass| filter.info().aliases.contains(&name);
        let found = self.filters.by_name_or_alias(&what, name, |_| true, is_alias)?;
        found.ok_or_else(|| self.missing_plugin(PluginKind::Filter, ErrorKind::NoFilter, name))
    }

    /// Returns the filter class of the Zarr V3 codec of this name.
    ///
    /// # Errors
    /// As [`Registry::filter`].
    pub fn v3_codec(&self, name: &str) -> Result<&Arc<dyn FilterClass>> {
        let what = || format!("codec {name:?} of Zarr V3");
        let has_name = |filter: &dyn FilterClass| filter.info().is_v3_name(name);
        match self.filters.by_name_or_alias(&what, name, has_name, has_name)? {
            Some(found) => Ok(found),
            None if self.filter(name).is_ok() => {
                Err(ErrorKind::NoFilter.context(format!("{name:?} is not a known codec of Zarr V3")))
            }
            None => Err(self.missing_plugin(PluginKind::Filter, ErrorKind::NoFilter, name)),
        }
    }

    /// Returns the filter class of this HDF5 id.
    ///
    /// # Errors
    /// As [`Registry::filter`].
    pub fn filter_by_id(&self, id: u32) -> Result<&Arc<dyn FilterClass>> {
        let what = || format!("HDF5 filter id {id}");
        self.filters.by_name(&what, |filter| filter.info().hdf5_id == Some(id))?.ok_or_else(|| {
            match self.known.iter().find(|known| known.hdf5_id == Some(id)) {
                Some(known) => not_built(&format!("filter {id} ({})", known.name), known),
                None => ErrorKind::NoFilter.context(format!(
                    "no filter {id} in this build; there are: {}",
                    self.filters.known_names()
                )),
            }
        })
    }

    /// Returns the specification of a filter, with its normalised parameters.
    ///
    /// # Errors
    /// As [`Registry::filter`], or the filter's error about its parameters.
    pub fn filter_spec(&self, text: &FilterText) -> Result<FilterSpec> {
        let class = match &text.filter {
            FilterName::Id(id) => self.filter_by_id(*id)?,
            FilterName::Name(name) => self.filter(name)?,
        };
        let instance = class.parse_params(&text.params)?;
        Ok(FilterSpec {
            hdf5_id: class.info().hdf5_id,
            name: class.info().name.to_owned(),
            params: instance.params().into_owned(),
            codec: None,
        })
    }

    /// Returns the element codec class of this name.
    ///
    /// # Errors
    /// As [`Registry::filter`].
    pub fn element(&self, name: &str) -> Result<&Arc<dyn ElementClass>> {
        let what = || format!("element codec {name:?}");
        self.elements
            .by_name(&what, |element| element.names().contains(&name))?
            .ok_or_else(|| self.missing_plugin(PluginKind::Element, ErrorKind::NoFilter, name))
    }

    /// Returns the class of the data type of this name.
    ///
    /// # Errors
    /// [`ErrorKind::BadType`] with the available names; [`ErrorKind::Plugin`] if two plugins have the name.
    pub fn data_type(&self, name: &str) -> Result<&Arc<dyn DataTypeClass>> {
        let what = || format!("data type {name:?}");
        self.data_types
            .by_name(&what, |class| class.names().contains(&name))?
            .ok_or_else(|| self.missing_plugin(PluginKind::DataType, ErrorKind::BadType, name))
    }

    /// Returns the class of the chunk grid of this name.
    ///
    /// # Errors
    /// [`ErrorKind::NcZarr`] with the available names; [`ErrorKind::Plugin`] if two plugins have the name.
    pub fn chunk_grid(&self, name: &str) -> Result<&Arc<dyn ChunkGridClass>> {
        let what = || format!("chunk grid {name:?}");
        self.chunk_grids
            .by_name(&what, |class| class.names().contains(&name))?
            .ok_or_else(|| self.missing_plugin(PluginKind::ChunkGrid, ErrorKind::NcZarr, name))
    }

    /// Returns the driver that this value of `mode=` selects, if there is one.
    ///
    /// # Errors
    /// [`ErrorKind::Plugin`] if two drivers have the mode.
    pub fn driver_by_mode(&self, mode: &str) -> Result<Option<&Arc<dyn Driver>>> {
        let what = || format!("mode={mode}");
        let is = |driver: &dyn Driver| {
            let info = driver.info();
            info.name == mode || info.modes.contains(&mode)
        };
        Ok(self.drivers.by_path(&what, is)?.map(|entry| &entry.item))
    }

    /// Returns the map factory that this value of `mode=` selects: by its name, else by a scheme.
    ///
    /// # Errors
    /// As [`Registry::driver_by_mode`].
    pub fn map_by_mode(&self, mode: &str) -> Result<Option<&Arc<dyn MapFactory>>> {
        let what = || format!("mode={mode}");
        match self.maps.called(&what, mode)? {
            Some(map) => Ok(Some(map)),
            None => Ok(self
                .maps
                .by_path(&what, |map| map.info().schemes.contains(&mode))?
                .map(|entry| &entry.item)),
        }
    }

    /// Returns the map factory for a URL scheme: by a scheme, or by its name.
    ///
    /// # Errors
    /// [`ErrorKind::NotBuilt`] with the missing feature or the available schemes; [`ErrorKind::Plugin`] if
    /// two maps serve it.
    pub fn map_by_scheme(&self, scheme: &str) -> Result<&Arc<dyn MapFactory>> {
        let what = || format!("scheme {scheme}:");
        let is = |map: &dyn MapFactory| map.info().schemes.contains(&scheme) || map.info().name == scheme;
        if let Some(entry) = self.maps.by_path(&what, is)? {
            return Ok(&entry.item);
        }
        if let Some(known) = self.known_as(PluginKind::Map, scheme) {
            return Err(not_built(&format!("scheme {scheme}: needs map {:?}, which", known.name), known));
        }
        let mut schemes: Vec<_> = self.maps().flat_map(|map| map.info().schemes).copied().collect();
        schemes.extend(self.maps().map(|map| map.info().name));
        schemes.sort_unstable();
        schemes.dedup();
        Err(ErrorKind::NotBuilt
            .context(format!("no map serves scheme {scheme}:; there are: {}", schemes.join(", "))))
    }

    /// Returns the driver that recognises the content of a path; `what` names the evidence, for a conflict.
    pub(crate) fn driver_by_content(
        &self,
        what: &str,
        mut is: impl FnMut(&DriverInfo) -> bool,
    ) -> Result<Option<(&Arc<dyn Driver>, Origin)>> {
        let found = self.drivers.by_path(&|| what.to_owned(), |driver| is(driver.info()))?;
        Ok(found.map(|entry| (&entry.item, entry.origin)))
    }

    /// As [`Registry::driver_by_content`], for maps.
    pub(crate) fn map_by_content(
        &self,
        what: &str,
        mut is: impl FnMut(&MapInfo) -> bool,
    ) -> Result<Option<(&Arc<dyn MapFactory>, Origin)>> {
        let found = self.maps.by_path(&|| what.to_owned(), |map| is(map.info()))?;
        Ok(found.map(|entry| (&entry.item, entry.origin)))
    }

    /// Returns the visible drivers, sorted by name.
    pub fn drivers(&self) -> impl Iterator<Item = &Arc<dyn Driver>> {
        self.drivers.visible().map(|entry| &entry.item)
    }

    /// Returns the visible map factories, sorted by name.
    pub fn maps(&self) -> impl Iterator<Item = &Arc<dyn MapFactory>> {
        self.maps.visible().map(|entry| &entry.item)
    }

    /// Returns the visible filter classes, sorted by name.
    pub fn filters(&self) -> impl Iterator<Item = &Arc<dyn FilterClass>> {
        self.filters.visible().map(|entry| &entry.item)
    }

    /// Returns the visible element codec classes, sorted by name.
    pub fn elements(&self) -> impl Iterator<Item = &Arc<dyn ElementClass>> {
        self.elements.visible().map(|entry| &entry.item)
    }

    /// Returns the visible classes of data types, sorted by name.
    pub fn data_types(&self) -> impl Iterator<Item = &Arc<dyn DataTypeClass>> {
        self.data_types.visible().map(|entry| &entry.item)
    }

    /// Returns the visible classes of chunk grids, sorted by name.
    pub fn chunk_grids(&self) -> impl Iterator<Item = &Arc<dyn ChunkGridClass>> {
        self.chunk_grids.visible().map(|entry| &entry.item)
    }

    /// Returns the markers of all drivers, sorted, each once.
    pub fn markers(&self) -> &[&'static str] {
        &self.markers
    }

    /// Returns all plugins that the project knows, built or not.
    pub fn known(&self) -> &[KnownPlugin] {
        &self.known
    }

    /// Returns the known plugin of this kind with this name or alias.
    pub(crate) fn known_as(&self, kind: PluginKind, word: &str) -> Option<&KnownPlugin> {
        self.known
            .iter()
            .find(|known| known.kind == kind && (known.name == word || known.aliases.contains(&word)))
    }

    /// Checks that no two entries of one level share a name, HDF5 id, mode or scheme.
    ///
    /// # Errors
    /// [`ErrorKind::Plugin`] that names both.
    pub fn check(&self) -> Result<()> {
        unique(&self.drivers)?;
        unique(&self.maps)?;
        unique(&self.filters)?;
        unique(&self.elements)?;
        unique(&self.data_types)?;
        unique(&self.chunk_grids)?;
        let modes = self.drivers().map(|driver| driver.info());
        for mode in duplicates(modes.flat_map(|info| info.modes.iter().copied().chain([info.name]))) {
            self.driver_by_mode(mode)?;
        }
        let schemes = self.maps().map(|map| map.info());
        for scheme in duplicates(schemes.flat_map(|info| info.schemes.iter().copied().chain([info.name]))) {
            self.map_by_scheme(scheme)?;
        }
        let filters = self.filters().map(|filter| filter.info());
        for name in duplicates(filters.flat_map(|info| info.aliases.iter().copied().chain([info.name]))) {
            self.filter(name)?;
        }
        let filters = self.filters().map(|filter| filter.info());
        for name in duplicates(filters.flat_map(|info| info.v3_names.unwrap_or(info.aliases)).copied()) {
            self.v3_codec(name)?;
        }
        for id in duplicates(self.filters().filter_map(|filter| filter.info().hdf5_id)) {
            self.filter_by_id(id)?;
        }
        for name in duplicates(self.elements().flat_map(|element| element.names().iter().copied())) {
            self.element(name)?;
        }
        for name in duplicates(self.data_types().flat_map(|class| class.names().iter().copied())) {
            self.data_type(name)?;
        }
        for name in duplicates(self.chunk_grids().flat_map(|class| class.names().iter().copied())) {
            self.chunk_grid(name)?;
        }
        Ok(())
    }

    /// Whether a name, mode, scheme, alias or HDF5 id occurs in both registries.
    pub(super) fn shares_names_with(&self, others: &Self) -> bool {
        let of_driver = |info: &DriverInfo, word| info.name == word || info.modes.contains(&word);
        let of_map = |info: &MapInfo, word| info.name == word || info.schemes.contains(&word);
        let of_filter = |info: &FilterInfo, word| {
            info.name == word || info.aliases.contains(&word) || info.is_v3_name(word)
        };
        let drivers = self.drivers().map(|driver| driver.info());
        let maps = self.maps().map(|map| map.info());
        let filters = self.filters().map(|filter| filter.info());
        let id = |filter: &FilterInfo| filter.hdf5_id;
        drivers
            .flat_map(|info| info.modes.iter().copied().chain([info.name]))
            .any(|word| others.drivers().any(|other| of_driver(other.info(), word)))
            || maps
                .flat_map(|info| info.schemes.iter().copied().chain([info.name]))
                .any(|word| others.maps().any(|other| of_map(other.info(), word)))
            || filters.into_iter().any(|info| {
                let v3_names = info.v3_names.unwrap_or_default();
                let mut words = info.aliases.iter().chain(v3_names).copied().chain([info.name]);
                words.any(|word| others.filters().any(|other| of_filter(other.info(), word)))
                    || id(info).is_some() && others.filters().any(|other| id(other.info()) == id(info))
            })
            || (self.elements().flat_map(|element| element.names()))
                .any(|word| others.elements().any(|other| other.names().contains(word)))
            || (self.data_types().flat_map(|class| class.names()))
                .any(|word| others.data_types().any(|other| other.names().contains(word)))
            || (self.chunk_grids().flat_map(|class| class.names()))
                .any(|word| others.chunk_grids().any(|other| other.names().contains(word)))
    }

    fn missing_plugin(&self, kind: PluginKind, unknown: ErrorKind, name: &str) -> Error {
        let what = format!("{} {name:?}", kind.name());
        if let Some(known) = self.known_as(kind, name) {
            return not_built(&what, known);
        }
        let known = match kind {
            PluginKind::Driver => self.drivers.known_names(),
            PluginKind::Map => self.maps.known_names(),
            PluginKind::Filter => self.filters.known_names(),
            PluginKind::Element => self.elements.known_names(),
            PluginKind::DataType => self.data_types.known_names(),
            PluginKind::ChunkGrid => self.chunk_grids.known_names(),
        };
        unknown.context(format!("no {what} in this build; there are: {known}"))
    }
}

/// Returns the error for a plugin that the project has and this build lacks.
pub(crate) fn not_built(what: &str, known: &KnownPlugin) -> Error {
    let release = if known.later { " of a later release" } else { "" };
    let feature = known.feature;
    if feature.is_empty() {
        return ErrorKind::NoFilter.context(format!("{what} is not part of this project"));
    }
    ErrorKind::NotBuilt
        .context(format!("{what} is not in this build; enable the feature {feature:?}{release}"))
}

/// Returns the words that occur more than once. Only these can conflict.
fn duplicates<W: Ord + Copy>(words: impl Iterator<Item = W>) -> Vec<W> {
    let mut words: Vec<W> = words.collect();
    words.sort_unstable();
    words.array_windows().filter(|[one, other]| one == other).map(|[one, _]| *one).collect()
}

/// Checks that every name of every level belongs to one entry, including hidden levels.
fn unique<T: ?Sized + NamedPlugin>(entries: &RegistryEntries<T>) -> Result<()> {
    let all = entries.all();
    let mut names = Vec::with_capacity(all.len());
    for (at, entry) in all.iter().enumerate() {
        names.extend(entry.item.names().iter().map(|name| (*name, entry.origin, at)));
    }
    names.sort_unstable();
    for [(name, origin, one), (other_name, other_origin, other)] in names.array_windows() {
        if (name, origin) == (other_name, other_origin) && one != other {
            return Err(conflict(&format!("{} {name:?}", T::KIND.name()), &all[*one], &all[*other]));
        }
    }
    Ok(())
}
