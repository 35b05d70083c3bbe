//! [`Registry`]: the available drivers, maps, filters, element codecs, data types and chunk grids, by name.
//!
//! Entries have three levels: those that a program adds with `with_*`, the facade's [`PluginTable`], and
//! those linked through `inventory`. For a *name* (or HDF5 id) a higher level hides a lower one. For the
//! meaning of a *path* (first bytes, markers, modes, schemes) the table comes first. So a plugin never
//! changes the meaning of a working path. Two different entries of one name and level are an error that names
//! both, when the name is used and in [`Registry::check`]. The order of registration has no effect.
//!
//! This module knows no format, storage or filter. Read [`Registry::open`] in `choose` next.

mod default;
mod entry;
mod forward;
mod list;
mod lookup;

use std::sync::Arc;

use nczarr_model::Result;

use crate::{Driver, Magic};
use entry::{RegistryEntries, RegistryEntry};
use nczarr_codec::{
    ChunkGridClass, ChunkGridPlugin, DataTypeClass, DataTypePlugin, ElementClass, ElementPlugin, FilterClass,
    FilterPlugin,
};
use nczarr_storage::{MapFactory, MapPlugin};

pub use list::PluginDescription;
pub(crate) use lookup::not_built;

/// A driver linked through `inventory`.
pub struct DriverPlugin(pub &'static dyn Driver);

inventory::collect!(DriverPlugin);

/// The origin of an entry. A later one hides an earlier one of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Linked through `inventory`.
    Linked,
    /// Named in the facade's table.
    Table,
    /// Added at run time.
    Added,
}

/// The kinds of plugins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PluginKind {
    /// A [`Driver`].
    Driver,
    /// A [`MapFactory`].
    Map,
    /// A [`FilterClass`].
    Filter,
    /// An [`ElementClass`].
    Element,
    /// A [`DataTypeClass`].
    DataType,
    /// A [`ChunkGridClass`].
    ChunkGrid,
}

impl PluginKind {
    /// Returns the word for it in lists and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Driver => "driver",
            Self::Map => "map",
            Self::Filter => "filter",
            Self::Element => "element codec",
            Self::DataType => "data type",
            Self::ChunkGrid => "chunk grid",
        }
    }
}

/// A plugin that the project has or plans, perhaps not in this build.
///
/// Requests for it fail with `NC_ENOTBUILT` and the missing feature, instead of "unknown".
#[derive(Debug, Clone, Copy)]
pub struct KnownPlugin {
    /// The kind of plugin.
    pub kind: PluginKind,
    /// The name that it registers.
    pub name: &'static str,
    /// Other words for it: modes of a driver, schemes of a map, aliases of a filter.
    pub aliases: &'static [&'static str],
    /// Its HDF5 id, for a filter.
    pub hdf5_id: Option<u32>,
    /// First bytes of its files, so that a file can be attributed to it.
    pub magic: &'static [Magic],
    /// The cargo feature that enables it. Empty for filters that are not part of the project.
    pub feature: &'static str,
    /// Whether only a later release has it.
    pub later: bool,
}

impl KnownPlugin {
    /// Creates an entry with a name and a feature. Set the rest with struct update syntax.
    pub const fn new(kind: PluginKind, name: &'static str, feature: &'static str) -> Self {
        Self { kind, name, aliases: &[], hdf5_id: None, magic: &[], feature, later: false }
    }

    /// As [`KnownPlugin::new`], for a later release.
    pub const fn later(kind: PluginKind, name: &'static str, feature: &'static str) -> Self {
        Self { later: true, ..Self::new(kind, name, feature) }
    }

    /// Describes a filter outside the project: requests for it fail with `NC_ENOFILTER` and its name.
    pub const fn foreign_filter(id: u32, name: &'static str) -> Self {
        Self { hdf5_id: Some(id), ..Self::new(PluginKind::Filter, name, "") }
    }
}

/// The plugins of a facade, referenced by name so that no linker drops them, and the plugins that it knows.
///
/// [`PluginTable::EMPTY`] has no plugins. Set single fields with struct update syntax, since later versions
/// may add kinds.
#[derive(Clone, Copy, Default)]
pub struct PluginTable {
    /// Drivers.
    pub drivers: &'static [&'static dyn Driver],
    /// Map factories.
    pub maps: &'static [&'static dyn MapFactory],
    /// Filter classes.
    pub filters: &'static [&'static dyn FilterClass],
    /// Element codec classes.
    pub elements: &'static [&'static dyn ElementClass],
    /// Classes of data types.
    pub data_types: &'static [&'static dyn DataTypeClass],
    /// Classes of chunk grids.
    pub chunk_grids: &'static [&'static dyn ChunkGridClass],
    /// All plugins that the project knows, built or not.
    pub known: &'static [KnownPlugin],
}

impl PluginTable {
    /// No plugins.
    pub const EMPTY: Self = Self {
        drivers: &[],
        maps: &[],
        filters: &[],
        elements: &[],
        data_types: &[],
        chunk_grids: &[],
        known: &[],
    };
}

/// The available plugins. A registry is a value, and an open dataset keeps its own copy.
#[derive(Clone, Default)]
pub struct Registry {
    drivers: RegistryEntries<dyn Driver>,
    maps: RegistryEntries<dyn MapFactory>,
    filters: RegistryEntries<dyn FilterClass>,
    elements: RegistryEntries<dyn ElementClass>,
    data_types: RegistryEntries<dyn DataTypeClass>,
    chunk_grids: RegistryEntries<dyn ChunkGridClass>,
    known: Vec<KnownPlugin>,
    /// The markers of the visible drivers, sorted, each once.
    markers: Vec<&'static str>,
}

impl Registry {
    /// Creates an empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a registry of all plugins linked through `inventory`.
    ///
    /// # Errors
    /// [`ErrorKind::Plugin`](nczarr_model::ErrorKind::Plugin) that names both, if two different entries have
    /// one name.
    pub fn linked() -> Result<Self> {
        let registry = Self::linked_except(&Self::new());
        registry.check()?;
        Ok(registry)
    }

    /// As [`Registry::linked`], without the plugins of a table, which would be hidden.
    fn linked_without(table: &Self) -> Result<Self> {
        let others = Self::linked_except(table);
        // Two linked entries of one name are an error, even if the table has one of them.
        if others.shares_names_with(table) {
            return Self::linked();
        }
        others.check()?;
        Ok(others)
    }

    /// Returns the linked plugins that are not in `table`.
    fn linked_except(table: &Self) -> Self {
        let (drivers, maps) = (inventory::iter::<DriverPlugin>, inventory::iter::<MapPlugin>);
        let (filters, elements) = (inventory::iter::<FilterPlugin>, inventory::iter::<ElementPlugin>);
        let (data_types, grids) = (inventory::iter::<DataTypePlugin>, inventory::iter::<ChunkGridPlugin>);
        Self {
            drivers: RegistryEntries::linked(drivers.into_iter().map(|plugin| plugin.0), &table.drivers),
            maps: RegistryEntries::linked(maps.into_iter().map(|plugin| plugin.0), &table.maps),
            filters: RegistryEntries::linked(filters.into_iter().map(|plugin| plugin.0), &table.filters),
            elements: RegistryEntries::linked(elements.into_iter().map(|plugin| plugin.0), &table.elements),
            data_types: RegistryEntries::linked(
                data_types.into_iter().map(|plugin| plugin.0),
                &table.data_types,
            ),
            chunk_grids: RegistryEntries::linked(
                grids.into_iter().map(|plugin| plugin.0),
                &table.chunk_grids,
            ),
            known: Vec::new(),
            markers: Vec::new(),
        }
        .index_markers()
    }

    /// Lists the markers again, after drivers were added.
    fn index_markers(mut self) -> Self {
        self.markers = self.drivers().flat_map(|driver| driver.info().markers).copied().collect();
        self.markers.sort_unstable();
        self.markers.dedup();
        self
    }

    /// Adds the entries of another registry, at their levels.
    fn merged_with(mut self, other: Self) -> Self {
        self.drivers.join(other.drivers);
        self.maps.join(other.maps);
        self.filters.join(other.filters);
        self.elements.join(other.elements);
        self.data_types.join(other.data_types);
        self.chunk_grids.join(other.chunk_grids);
        self.known.extend(other.known);
        self.index_markers()
    }

    /// Adds a driver: a unit struct, a [`StaticPlugin`](crate::StaticPlugin) or an `Arc`.
    #[must_use]
    pub fn with_driver(mut self, driver: impl Driver) -> Self {
        self.drivers.push(RegistryEntry::<dyn Driver>::added(driver, |driver| Arc::new(driver)));
        self.index_markers()
    }

    /// Adds a map factory.
    #[must_use]
    pub fn with_map(mut self, map: impl MapFactory) -> Self {
        self.maps.push(RegistryEntry::<dyn MapFactory>::added(map, |map| Arc::new(map)));
        self
    }

    /// Adds a filter class.
    #[must_use]
    pub fn with_filter(mut self, filter: impl FilterClass) -> Self {
        self.filters.push(RegistryEntry::<dyn FilterClass>::added(filter, |filter| Arc::new(filter)));
        self
    }

    /// Adds an element codec class.
    #[must_use]
    pub fn with_element(mut self, element: impl ElementClass) -> Self {
        self.elements.push(RegistryEntry::<dyn ElementClass>::added(element, |element| Arc::new(element)));
        self
    }

    /// Adds a class of data types.
    #[must_use]
    pub fn with_data_type(mut self, class: impl DataTypeClass) -> Self {
        self.data_types.push(RegistryEntry::<dyn DataTypeClass>::added(class, |class| Arc::new(class)));
        self
    }

    /// Adds a class of chunk grids.
    #[must_use]
    pub fn with_chunk_grid(mut self, class: impl ChunkGridClass) -> Self {
        self.chunk_grids.push(RegistryEntry::<dyn ChunkGridClass>::added(class, |class| Arc::new(class)));
        self
    }

    /// Adds the plugins of a facade.
    #[must_use]
    pub fn with_table(mut self, table: &PluginTable) -> Self {
        self.drivers.extend(table.drivers.iter().map(|driver| RegistryEntry::fixed(Origin::Table, *driver)));
        self.maps.extend(table.maps.iter().map(|map| RegistryEntry::fixed(Origin::Table, *map)));
        self.filters.extend(table.filters.iter().map(|filter| RegistryEntry::fixed(Origin::Table, *filter)));
        self.elements
            .extend(table.elements.iter().map(|element| RegistryEntry::fixed(Origin::Table, *element)));
        self.data_types
            .extend(table.data_types.iter().map(|class| RegistryEntry::fixed(Origin::Table, *class)));
        self.chunk_grids
            .extend(table.chunk_grids.iter().map(|class| RegistryEntry::fixed(Origin::Table, *class)));
        self.known.extend_from_slice(table.known);
        self.index_markers()
    }
}
