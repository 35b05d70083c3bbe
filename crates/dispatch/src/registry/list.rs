//! [`Registry::plugins`]: who is there, as a list for people and programs.

use std::fmt;

use super::entry::{Entries, Entry, Named};
use super::{Origin, PluginKind, Registry};

/// One entry of a registry, described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    /// What it is.
    pub kind: PluginKind,
    /// Its name.
    pub name: &'static str,
    /// Where it came from.
    pub origin: Origin,
    /// Whether an entry of a higher level has its name.
    pub hidden: bool,
    /// One line for people.
    pub about: &'static str,
    /// The other words that choose it: modes of a driver, schemes of a map, aliases of a filter, other names of an
    /// element codec.
    pub words: Vec<&'static str>,
    /// The HDF5 id of a filter.
    pub hdf5_id: Option<u32>,
}

impl Registry {
    /// Every entry, sorted by kind and name; hidden ones after the one that hides them.
    pub fn plugins(&self) -> Vec<Plugin> {
        let mut list = Vec::new();
        describe(&mut list, &self.drivers, |driver| (driver.info().modes.to_vec(), None));
        describe(&mut list, &self.maps, |map| (map.info().schemes.to_vec(), None));
        describe(&mut list, &self.filters, |filter| (filter.info().aliases.to_vec(), filter.info().hdf5_id));
        describe(&mut list, &self.elements, |element| (element.names().iter().skip(1).copied().collect(), None));
        list
    }
}

impl fmt::Debug for Registry {
    /// The names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.plugins().iter().map(|plugin| (plugin.kind.name(), plugin.name))).finish()
    }
}

fn describe<T: ?Sized + Named>(
    list: &mut Vec<Plugin>,
    entries: &Entries<T>,
    more: impl Fn(&T) -> (Vec<&'static str>, Option<u32>),
) {
    list.extend(entries.all().iter().map(|entry: &Entry<T>| {
        let (words, hdf5_id) = more(&entry.item);
        Plugin {
            kind: T::KIND,
            name: entry.item.names().first().copied().unwrap_or_default(),
            origin: entry.origin,
            hidden: !entry.is_visible(),
            about: entry.item.about(),
            words,
            hdf5_id,
        }
    }));
}
