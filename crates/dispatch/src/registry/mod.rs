//! [`Registry`]: the drivers, maps, filters and element codecs that are there, by name.
//!
//! Entries come from three levels: those an embedder adds with `with_*`, the facade's [`Table`], and those linked
//! through `inventory`. For a *name* (or HDF5 id) the higher level hides the lower one. For what a *path* means
//! (first bytes, markers, modes, schemes) the table comes first, so that adding a plugin never changes what an
//! already-working path means. Two different entries of one name at one level are an error that names both, when
//! that name is asked for and in [`Registry::check`]. Order of registration decides nothing.
//!
//! It knows no format, storage or filter by itself. Read [`Registry::open`] in `choose` next.

mod default;
mod entry;
mod forward;
mod list;
mod lookup;

use std::sync::Arc;

use nczarr_model::Result;

use crate::{Driver, ElementClass, FilterClass, Magic, MapFactory};
use entry::{Entries, Entry};

pub use forward::Static;
pub use list::Plugin;
pub(crate) use lookup::not_built;

/// A driver linked through `inventory`.
pub struct DriverPlugin(pub &'static dyn Driver);
/// A map factory linked through `inventory`.
pub struct MapPlugin(pub &'static dyn MapFactory);
/// A filter class linked through `inventory`.
pub struct FilterPlugin(pub &'static dyn FilterClass);
/// An element codec class linked through `inventory`.
pub struct ElementPlugin(pub &'static dyn ElementClass);

inventory::collect!(DriverPlugin);
inventory::collect!(MapPlugin);
inventory::collect!(FilterPlugin);
inventory::collect!(ElementPlugin);

/// Where an entry came from; a later one hides an earlier one of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Linked through `inventory`.
    Linked,
    /// Named in the facade's table.
    Table,
    /// Added at run time.
    Added,
}

/// The four kinds of plugins.
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
}

impl PluginKind {
    /// The word for it in lists and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Driver => "driver",
            Self::Map => "map",
            Self::Filter => "filter",
            Self::Element => "element codec",
        }
    }
}

/// Something the project has or plans, but perhaps not this build.
///
/// Asking for it is `NC_ENOTBUILT` with the feature that would bring it, instead of "unknown".
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// What it is.
    pub kind: PluginKind,
    /// Its name, as it would be registered.
    pub name: &'static str,
    /// Other words that mean it: modes of a driver, schemes of a map, aliases of a filter.
    pub aliases: &'static [&'static str],
    /// Its HDF5 id, for a filter.
    pub hdf5_id: Option<u32>,
    /// First bytes of its files, so that a file can be told to need it.
    pub magic: &'static [Magic],
    /// What to switch on: usually a cargo feature. Empty for what is known by name alone.
    pub feature: &'static str,
    /// That a later release has it: this one has not even the feature.
    pub later: bool,
}

impl Known {
    /// An entry with a name and a feature alone; fill in the rest with struct update syntax.
    pub const fn new(kind: PluginKind, name: &'static str, feature: &'static str) -> Self {
        Self { kind, name, aliases: &[], hdf5_id: None, magic: &[], feature, later: false }
    }

    /// As [`Known::new`], for what a later release will have.
    pub const fn later(kind: PluginKind, name: &'static str, feature: &'static str) -> Self {
        Self { later: true, ..Self::new(kind, name, feature) }
    }

    /// A filter that is no part of the project: asking for it is `NC_ENOFILTER` with its name.
    pub const fn other_filter(id: u32, name: &'static str) -> Self {
        Self { hdf5_id: Some(id), ..Self::new(PluginKind::Filter, name, "") }
    }
}

/// What a facade ships: its plugins by name, which no linker can drop, and what it knows but may not have.
#[derive(Clone, Copy, Default)]
pub struct Table {
    /// Drivers.
    pub drivers: &'static [&'static dyn Driver],
    /// Map factories.
    pub maps: &'static [&'static dyn MapFactory],
    /// Filter classes.
    pub filters: &'static [&'static dyn FilterClass],
    /// Element codec classes.
    pub elements: &'static [&'static dyn ElementClass],
    /// Everything the project knows, built or not; entries that are there need not be left out.
    pub known: &'static [Known],
}

/// Who is there. A value; an open dataset keeps its own.
#[derive(Clone, Default)]
pub struct Registry {
    drivers: Entries<dyn Driver>,
    maps: Entries<dyn MapFactory>,
    filters: Entries<dyn FilterClass>,
    elements: Entries<dyn ElementClass>,
    known: Vec<Known>,
}

impl Registry {
    /// Nobody.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything linked through `inventory`.
    ///
    /// # Errors
    /// [`ErrorKind::Plugin`](nczarr_model::ErrorKind::Plugin) if two different entries have one name, naming both.
    pub fn linked() -> Result<Self> {
        let registry = Self::gathered(&Self::new());
        registry.check()?;
        Ok(registry)
    }

    /// As [`Registry::linked`], without what a table names as well, as it does all of a facade's own: it would be hidden.
    fn linked_beside(table: &Self) -> Result<Self> {
        let others = Self::gathered(table);
        // Two of one name that are linked are an error, also where the table has one of them.
        if others.has_words_of(table) {
            return Self::linked();
        }
        others.check()?;
        Ok(others)
    }

    /// What is linked and not in `table`.
    fn gathered(table: &Self) -> Self {
        let (drivers, maps) = (inventory::iter::<DriverPlugin>, inventory::iter::<MapPlugin>);
        let (filters, elements) = (inventory::iter::<FilterPlugin>, inventory::iter::<ElementPlugin>);
        Self {
            drivers: Entries::linked(drivers.into_iter().map(|plugin| plugin.0), &table.drivers),
            maps: Entries::linked(maps.into_iter().map(|plugin| plugin.0), &table.maps),
            filters: Entries::linked(filters.into_iter().map(|plugin| plugin.0), &table.filters),
            elements: Entries::linked(elements.into_iter().map(|plugin| plugin.0), &table.elements),
            known: Vec::new(),
        }
    }

    /// With what another one has, at the levels it has it.
    fn joined(mut self, other: Self) -> Self {
        self.drivers.join(other.drivers);
        self.maps.join(other.maps);
        self.filters.join(other.filters);
        self.elements.join(other.elements);
        self.known.extend(other.known);
        self
    }

    /// With one more driver: a unit struct, a [`Static`] one or an `Arc`.
    #[must_use]
    pub fn with_driver(mut self, driver: impl Driver) -> Self {
        self.drivers.push(Entry::<dyn Driver>::added(driver, |driver| Arc::new(driver)));
        self
    }

    /// With one more map factory.
    #[must_use]
    pub fn with_map(mut self, map: impl MapFactory) -> Self {
        self.maps.push(Entry::<dyn MapFactory>::added(map, |map| Arc::new(map)));
        self
    }

    /// With one more filter class.
    #[must_use]
    pub fn with_filter(mut self, filter: impl FilterClass) -> Self {
        self.filters.push(Entry::<dyn FilterClass>::added(filter, |filter| Arc::new(filter)));
        self
    }

    /// With one more element codec class.
    #[must_use]
    pub fn with_element(mut self, element: impl ElementClass) -> Self {
        self.elements.push(Entry::<dyn ElementClass>::added(element, |element| Arc::new(element)));
        self
    }

    /// With what a facade ships.
    #[must_use]
    pub fn with_table(mut self, table: &Table) -> Self {
        self.drivers.extend(table.drivers.iter().map(|driver| Entry::fixed(Origin::Table, *driver)));
        self.maps.extend(table.maps.iter().map(|map| Entry::fixed(Origin::Table, *map)));
        self.filters.extend(table.filters.iter().map(|filter| Entry::fixed(Origin::Table, *filter)));
        self.elements.extend(table.elements.iter().map(|element| Entry::fixed(Origin::Table, *element)));
        self.known.extend_from_slice(table.known);
        self
    }
}
