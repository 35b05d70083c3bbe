//! [`Registry::plugins`]: lists the plugins.

use std::fmt;

use super::entry::{NamedPlugin, RegistryEntries, RegistryEntry};
use super::{Origin, PluginKind, Registry};

/// The description of a plugin in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginDescription {
    /// The kind of plugin.
    pub kind: PluginKind,
    /// Its name.
    pub name: &'static str,
    /// Its origin.
    pub origin: Origin,
    /// Whether an entry of a higher level has its name.
    pub hidden: bool,
    /// A description in one line.
    pub about: &'static str,
    /// Other words that select it: modes of a driver, schemes of a map, aliases of a filter, other names of
    /// an element codec, a data type or a chunk grid.
    pub aliases: Vec<&'static str>,
    /// The HDF5 id of a filter.
    pub hdf5_id: Option<u32>,
}

impl Registry {
    /// Returns all entries, sorted by kind and name; hidden ones follow the one that hides them.
    pub fn plugins(&self) -> Vec<PluginDescription> {
        let mut list = Vec::new();
        describe(&mut list, &self.drivers, |driver| (driver.info().modes.to_vec(), None));
        describe(&mut list, &self.maps, |map| (map.info().schemes.to_vec(), None));
        describe(&mut list, &self.filters, |filter| (filter.info().aliases.to_vec(), filter.info().hdf5_id));
        let others = |names: &[&'static str]| (names.iter().skip(1).copied().collect(), None);
        describe(&mut list, &self.elements, |element| others(element.names()));
        describe(&mut list, &self.data_types, |data_type| others(data_type.names()));
        describe(&mut list, &self.chunk_grids, |grid| others(grid.names()));
        list
    }
}

impl fmt::Debug for Registry {
    /// Prints the names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.plugins().iter().map(|plugin| (plugin.kind.name(), plugin.name))).finish()
    }
}

fn describe<T: ?Sized + NamedPlugin>(
    list: &mut Vec<PluginDescription>,
    entries: &RegistryEntries<T>,
    more: impl Fn(&T) -> (Vec<&'static str>, Option<u32>),
) {
    list.extend(entries.all().iter().map(|entry: &RegistryEntry<T>| {
        let (words, hdf5_id) = more(&entry.item);
        PluginDescription {
            kind: T::KIND,
            name: entry.item.names().first().copied().unwrap_or_default(),
            origin: entry.origin,
            hidden: !entry.is_visible(),
            about: entry.item.about(),
            aliases: words,
            hdf5_id,
        }
    }));
}
