//! Process-wide settings of netCDF's interface: defaults for datasets that are opened later.
//!
//! [`trace`](crate::trace) has the log level, [`Registry`](crate::Registry) the plugins.

use std::sync::{PoisonError, RwLock};

use nczarr_model::Result;

use crate::{CacheConfig, Format};

/// `None`: not set.
static CHUNK_CACHE: RwLock<Option<CacheConfig>> = RwLock::new(None);
static DEFAULT_FORMAT: RwLock<Format> = RwLock::new(Format::NetCdf4);

/// Returns the version of this library (`nc_inq_libvers`).
pub const fn library_version() -> &'static str {
    concat!("nczarr ", env!("CARGO_PKG_VERSION"))
}

/// Returns the default chunk cache, for options and variables that set none (`nc_get_chunk_cache`).
pub fn chunk_cache() -> CacheConfig {
    explicit_chunk_cache().unwrap_or(CacheConfig::BUILT_IN)
}

/// As [`chunk_cache`], if it was set.
pub(crate) fn explicit_chunk_cache() -> Option<CacheConfig> {
    *CHUNK_CACHE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the result of [`chunk_cache`] (`nc_set_chunk_cache`). Existing options keep their value.
///
/// # Errors
/// [`ErrorKind::Inval`](nczarr_model::ErrorKind::Inval) if the preemption is not in 0 to 1.
pub fn set_chunk_cache(cache: CacheConfig) -> Result<()> {
    cache.check()?;
    *CHUNK_CACHE.write().unwrap_or_else(PoisonError::into_inner) = Some(cache);
    Ok(())
}

/// Returns the default format of new datasets. [`Format::NetCdf4Classic`] gives them the classic model.
pub fn default_format() -> Format {
    *DEFAULT_FORMAT.read().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the result of [`default_format`] and returns the old value (`nc_set_default_format`).
pub fn set_default_format(format: Format) -> Format {
    std::mem::replace(&mut *DEFAULT_FORMAT.write().unwrap_or_else(PoisonError::into_inner), format)
}
