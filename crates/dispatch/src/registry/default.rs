//! The registry of the process, for callers without a registry of their own.
//!
//! A program may install a registry once, and the process uses it unchanged. Otherwise the first use creates
//! a registry from the linked plugins, and each facade in the process adds its table.

use std::sync::{Arc, PoisonError, RwLock};

use nczarr_model::Result;

use super::{PluginTable, Registry};

struct ProcessRegistry {
    registry: Option<Arc<Registry>>,
    /// Whether a program installed it: then no table is added.
    installed: bool,
    /// The addresses of the added tables.
    tables: Vec<usize>,
}

static DEFAULT: RwLock<ProcessRegistry> =
    RwLock::new(ProcessRegistry { registry: None, installed: false, tables: Vec::new() });

fn place(table: &'static PluginTable) -> usize {
    std::ptr::from_ref(table).addr()
}

impl Registry {
    /// Installs this registry for the process, unchanged. It replaces a registry that the first use created.
    /// Open datasets keep their registry.
    ///
    /// # Errors
    /// Returns this registry if one was installed before.
    // The caller gets its own value back.
    #[allow(clippy::result_large_err)]
    pub fn install(self) -> Result<(), Registry> {
        let mut default = DEFAULT.write().unwrap_or_else(PoisonError::into_inner);
        if default.installed {
            return Err(self);
        }
        default.registry = Some(Arc::new(self));
        default.installed = true;
        Ok(())
    }

    /// Returns the registry of the process: the installed one, or the linked plugins.
    ///
    /// # Errors
    /// As [`Registry::linked`].
    pub fn process_default() -> Result<Arc<Registry>> {
        if let Some(registry) = &DEFAULT.read().unwrap_or_else(PoisonError::into_inner).registry {
            return Ok(Arc::clone(registry));
        }
        let made = Arc::new(Self::linked()?);
        let mut default = DEFAULT.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(default.registry.get_or_insert(made)))
    }

    /// Returns the registry of the process, with a facade's table added unless a program installed one.
    ///
    /// Cheap after the first call, so a facade may call it whenever it needs a registry.
    ///
    /// # Errors
    /// As [`Registry::linked`].
    pub fn process_default_with(table: &'static PluginTable) -> Result<Arc<Registry>> {
        let before = {
            let default = DEFAULT.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(registry) = &default.registry
                && (default.installed || default.tables.contains(&place(table)))
            {
                return Ok(Arc::clone(registry));
            }
            default.registry.clone()
        };
        let own = Self::new().with_table(table);
        let base = match before {
            Some(before) => before,
            None => Arc::new(Self::linked_without(&own)?),
        };
        let mut default = DEFAULT.write().unwrap_or_else(PoisonError::into_inner);
        let current = Arc::clone(default.registry.get_or_insert(base));
        if default.installed || default.tables.contains(&place(table)) {
            return Ok(current);
        }
        let joined = Arc::new(Self::clone(&current).merged_with(own));
        default.registry = Some(Arc::clone(&joined));
        default.tables.push(place(table));
        Ok(joined)
    }

    /// Replaces the registry of the process by `change` of it, for example to add a user-defined format.
    ///
    /// `change` runs without a lock. It runs again if another thread replaced the registry meanwhile.
    ///
    /// # Errors
    /// As [`Registry::linked`].
    pub fn extend_default(change: impl Fn(Registry) -> Registry) -> Result<()> {
        loop {
            let before = Self::process_default()?;
            let after = Arc::new(change(Self::clone(&before)));
            let mut default = DEFAULT.write().unwrap_or_else(PoisonError::into_inner);
            if default.registry.as_ref().is_some_and(|current| Arc::ptr_eq(current, &before)) {
                default.registry = Some(after);
                return Ok(());
            }
        }
    }
}
