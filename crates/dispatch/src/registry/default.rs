//! The registry of the process: what `open` without a registry of its own uses.
//!
//! An embedder installs one, once, and it is used as it is. Otherwise it is made on first use of what is linked,
//! and each facade in the process joins its table to it.

use std::sync::{Arc, PoisonError, RwLock};

use nczarr_model::Result;

use super::{Registry, Table};

struct Default {
    registry: Option<Arc<Registry>>,
    /// An embedder's own: no table joins it.
    installed: bool,
    /// The tables that have joined, by address.
    tables: Vec<usize>,
}

static DEFAULT: RwLock<Default> = RwLock::new(Default { registry: None, installed: false, tables: Vec::new() });

fn place(table: &'static Table) -> usize {
    std::ptr::from_ref(table).addr()
}

impl Registry {
    /// Makes this the registry of the process, as it is. It replaces one that was only made on first use; datasets
    /// that are open keep theirs.
    ///
    /// # Errors
    /// Gives the registry back if one was installed before.
    // The registry is the caller's own value; handing it back is the point.
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

    /// The registry of the process: the installed one, or what is linked.
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

    /// The registry of the process, which a facade's table joins unless an embedder installed one.
    ///
    /// Cheap after the first call: a facade calls it wherever it needs a registry.
    ///
    /// # Errors
    /// As [`Registry::linked`].
    pub fn process_default_with(table: &'static Table) -> Result<Arc<Registry>> {
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
            None => Arc::new(Self::linked_beside(&own)?),
        };
        let mut default = DEFAULT.write().unwrap_or_else(PoisonError::into_inner);
        let current = Arc::clone(default.registry.get_or_insert(base));
        if default.installed || default.tables.contains(&place(table)) {
            return Ok(current);
        }
        let joined = Arc::new(Self::clone(&current).joined(own));
        default.registry = Some(Arc::clone(&joined));
        default.tables.push(place(table));
        Ok(joined)
    }

    /// Puts `change` of the process's registry in its place: what a new user-defined format does.
    ///
    /// `change` runs without a lock and may run again if somebody else came between.
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
