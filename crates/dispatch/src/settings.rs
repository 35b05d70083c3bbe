//! Settings of the process that netCDF's interface has: what datasets opened from now on start with.
//!
//! The log level is with [`trace`](crate::trace), the registry with [`Registry`](crate::Registry).

use std::sync::{PoisonError, RwLock};

use nczarr_model::{ErrorKind, Result};

use crate::{CacheConfig, Format};

/// `None`: nobody said anything.
static CHUNK_CACHE: RwLock<Option<CacheConfig>> = RwLock::new(None);
static DEFAULT_FORMAT: RwLock<Format> = RwLock::new(Format::NetCdf4);

/// The version of this library, for people (`nc_inq_libvers`).
pub const fn library_version() -> &'static str {
    concat!("nczarr ", env!("CARGO_PKG_VERSION"))
}

/// How much of a variable's decoded data is kept unless the options or the variable say otherwise
/// (`nc_get_chunk_cache`).
pub fn chunk_cache() -> CacheConfig {
    asked_chunk_cache().unwrap_or(CacheConfig::BUILT_IN)
}

/// As [`chunk_cache`], if the process was told so.
pub(crate) fn asked_chunk_cache() -> Option<CacheConfig> {
    *CHUNK_CACHE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Sets what [`chunk_cache`] answers (`nc_set_chunk_cache`). Options made before keep what they have.
///
/// # Errors
/// [`ErrorKind::Inval`] if the preemption is not in 0 to 1.
pub fn set_chunk_cache(cache: CacheConfig) -> Result<()> {
    check_cache(&cache)?;
    *CHUNK_CACHE.write().unwrap_or_else(PoisonError::into_inner) = Some(cache);
    Ok(())
}

pub(crate) fn check_cache(cache: &CacheConfig) -> Result<()> {
    if !(0.0..=1.0).contains(&cache.preemption) {
        return Err(ErrorKind::Inval.context(format!("chunk cache: preemption {} is not in 0 to 1", cache.preemption)));
    }
    Ok(())
}

/// The format of new datasets for which nothing says another. With [`Format::NetCdf4Classic`] they have the classic
/// model.
pub fn default_format() -> Format {
    *DEFAULT_FORMAT.read().unwrap_or_else(PoisonError::into_inner)
}

/// Sets what [`default_format`] answers, and answers what it was (`nc_set_default_format`).
pub fn set_default_format(format: Format) -> Format {
    std::mem::replace(&mut *DEFAULT_FORMAT.write().unwrap_or_else(PoisonError::into_inner), format)
}
