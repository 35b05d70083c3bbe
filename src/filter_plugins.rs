//! Filter plugins in shared libraries. The environment enables some, and [`load_filter_plugins`] adds others.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use nczarr_codec::FilterClass;
use nczarr_dispatch::{PluginTable, Registry};
use nczarr_filter_plugins as plugins;
use nczarr_model::Result;

/// Returns the table of this build with the plugins of the environment. The first call looks for them.
///
/// A plugin never replaces a filter of the build.
pub(crate) fn extended(table: &'static PluginTable) -> &'static PluginTable {
    static EXTENDED: OnceLock<PluginTable> = OnceLock::new();
    EXTENDED.get_or_init(|| {
        if !plugins::is_enabled() {
            return *table;
        }
        let loaded = plugins::load(&plugins::environment_directories()).unwrap_or_else(|error| {
            tracing::warn!(%error, "filter plugins are enabled, and could not be loaded");
            Vec::new()
        });
        let own = Registry::new().with_table(table);
        let new = loaded.into_iter().filter(|class| is_new(&own, class));
        let new = new.map(|class| &*Box::leak(Box::new(class)) as &'static dyn FilterClass);
        PluginTable { filters: Vec::leak(table.filters.iter().copied().chain(new).collect()), ..*table }
    })
}

/// Adds the filter plugins in these directories to the registry of the process, if the environment enables
/// plugins (`NCZARR_FILTER_PLUGINS=1`). Returns the number of added plugins.
///
/// Each plugin is a shared library of HDF5 or netCDF-C, and runs in a process of its own. The plugins in
/// `HDF5_PLUGIN_PATH` need no call. A plugin never replaces a filter that the registry has. Open datasets
/// keep their filters.
///
/// # Errors
/// `NC_EPLUGIN` if the program `nczarr-plugin-host` is missing; errors of [`registry`](crate::registry).
///
/// ```
/// // Nothing is loaded, because the environment does not enable plugins.
/// # if std::env::var_os("NCZARR_FILTER_PLUGINS").is_none() {
/// assert_eq!(nczarr::load_filter_plugins(&["/usr/local/hdf5/lib/plugin".into()])?, 0);
/// # }
/// # Ok::<(), nczarr::Error>(())
/// ```
pub fn load_filter_plugins(directories: &[PathBuf]) -> Result<usize> {
    if !plugins::is_enabled() {
        return Ok(0);
    }
    let registry = crate::registry()?;
    let loaded = plugins::load(directories)?;
    let new: Vec<_> = loaded.into_iter().filter(|class| is_new(&registry, class)).map(Arc::new).collect();
    if !new.is_empty() {
        Registry::extend_default(|registry| {
            new.iter().fold(registry, |registry, class| registry.with_filter(Arc::clone(class)))
        })?;
    }
    Ok(new.len())
}

/// Whether a registry lacks the filter, by its id and by its name.
fn is_new(registry: &Registry, class: &plugins::PluginClass) -> bool {
    let name = class.info().name;
    let is_new = registry.filter_by_id(class.hdf5_id()).is_err() && registry.filter(name).is_err();
    if !is_new {
        tracing::debug!(id = class.hdf5_id(), name, "this build has a filter of a plugin's id or name");
    }
    is_new
}
