//! [`Registry`]: the drivers, maps and filters that are there, by name.
//!
//! Entries come from three levels: those an embedder adds with `with_*`, the facade's table, and those linked
//! through `inventory`. A higher level hides a lower one; two different entries of one name at one level are an
//! error that names both. Order of registration decides nothing.

use std::sync::Arc;

use model::{Error, ErrorKind, Result};

use crate::{Driver, ElementClass, FilterClass, MapFactory};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Linked through `inventory`.
    Linked,
    /// Named in the facade's table.
    Table,
    /// Added at run time.
    Added,
}

/// Who is there. An open dataset keeps its own.
#[derive(Clone, Default)]
pub struct Registry {
    drivers: Vec<(Origin, Arc<dyn Driver>)>,
    maps: Vec<(Origin, Arc<dyn MapFactory>)>,
    filters: Vec<(Origin, Arc<dyn FilterClass>)>,
    elements: Vec<(Origin, Arc<dyn ElementClass>)>,
}

impl Registry {
    /// The driver of this name.
    ///
    /// # Errors
    /// [`ErrorKind::NotBuilt`] listing the known ones.
    pub fn driver(&self, name: &str) -> Result<&Arc<dyn Driver>> {
        let names = || self.drivers.iter().map(|(_, d)| d.info().name).collect();
        best(&self.drivers, |d| d.info().name == name).ok_or_else(|| unknown("driver", name, names()))
    }

    /// The map factory of this name.
    ///
    /// # Errors
    /// [`ErrorKind::NotBuilt`] listing the known ones.
    pub fn map(&self, name: &str) -> Result<&Arc<dyn MapFactory>> {
        let names = || self.maps.iter().map(|(_, m)| m.info().name).collect();
        best(&self.maps, |m| m.info().name == name).ok_or_else(|| unknown("map", name, names()))
    }

    /// The filter class of this name or alias.
    ///
    /// # Errors
    /// [`ErrorKind::NoFilter`] listing the known ones.
    pub fn filter(&self, name: &str) -> Result<&Arc<dyn FilterClass>> {
        let names = || self.filters.iter().map(|(_, f)| f.info().name).collect();
        best(&self.filters, |f| f.info().name == name || f.info().aliases.contains(&name))
            .ok_or_else(|| no_filter(&format!("filter {name:?}"), names()))
    }

    /// The filter class of this HDF5 id.
    ///
    /// # Errors
    /// [`ErrorKind::NoFilter`] listing the known ones.
    pub fn filter_by_id(&self, id: u32) -> Result<&Arc<dyn FilterClass>> {
        let names = || self.filters.iter().map(|(_, f)| f.info().name).collect();
        best(&self.filters, |f| f.info().hdf5_id == Some(id))
            .ok_or_else(|| no_filter(&format!("filter {id}"), names()))
    }

    /// The element codec class of this name.
    ///
    /// # Errors
    /// [`ErrorKind::NoFilter`] listing the known ones.
    pub fn element(&self, name: &str) -> Result<&Arc<dyn ElementClass>> {
        let names = || self.elements.iter().flat_map(|(_, e)| e.names()).copied().collect();
        best(&self.elements, |e| e.names().contains(&name))
            .ok_or_else(|| no_filter(&format!("element codec {name:?}"), names()))
    }
}

fn best<T: ?Sized>(entries: &[(Origin, Arc<T>)], is: impl Fn(&T) -> bool) -> Option<&Arc<T>> {
    entries.iter().filter(|(_, entry)| is(entry)).max_by_key(|(origin, _)| *origin).map(|(_, entry)| entry)
}

fn unknown(what: &str, name: &str, known: Vec<&str>) -> Error {
    ErrorKind::NotBuilt.context(format!("no {what} {name:?} in this build; there are: {}", listed(known)))
}

fn no_filter(what: &str, known: Vec<&str>) -> Error {
    ErrorKind::NoFilter.context(format!("{what} is not in this build; there are: {}", listed(known)))
}

fn listed(mut names: Vec<&str>) -> String {
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}
