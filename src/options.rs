//! Opens and creates datasets: the short functions ([`open`], [`create`] …) and the builders behind them.
//!
//! `url-infer` parses paths and URLs; the registry finds the driver.

mod create;
mod open;
mod shared;

use std::sync::Arc;

use nczarr_dispatch::{Explanation, Place, Registry};
use nczarr_model::Result;
use nczarr_storage::source::SharedBytes;

pub use create::CreateOptions;
pub use open::OpenOptions;

use crate::{File, Variable, builtin};

/// Opens a dataset for reading.
///
/// A path is never parsed: the content of the dataset shows its format. A URL and its fragment
/// (`file:///data/x.zarr#mode=zarr`) can name format and storage. [`Place`] has the rules that distinguish
/// paths and URLs.
///
/// ```
/// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
/// # let path = "memory://doc-options-open";
/// # let file = nczarr::create(path)?;
/// # file.add_dimension("x", 3)?;
/// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
/// # file.close()?;
/// let file = nczarr::open(path)?;
/// assert_eq!(file.variables().len(), 1);
/// # }
/// # Ok::<(), nczarr::Error>(())
/// ```
///
/// # Errors
/// `NC_ENOTFOUND` if the path does not exist; `NC_ENOTNC` if no driver recognises it; `NC_ENOTBUILT` that
/// names the missing feature; otherwise the driver's error.
pub fn open(place: impl Into<Place>) -> Result<File> {
    OpenOptions::new().open(place)
}

/// Opens one variable of a dataset for reading, by its path from the root: see
/// [`OpenOptions::open_variable`].
///
/// # Errors
/// As [`open`]; `NC_ENOTVAR` if there is no such variable.
pub fn open_variable(place: impl Into<Place>, variable: &str) -> Result<Variable> {
    OpenOptions::new().open_variable(place, variable)
}

/// Opens a dataset of one file from its bytes, for reading: a classic, netCDF-4 or HDF4 file, or an archive
/// of a Zarr store.
///
/// ```
/// # #[cfg(not(all(feature = "nczarr", feature = "zip")))]
/// # fn main() {}
/// # #[cfg(all(feature = "nczarr", feature = "zip"))]
/// # fn main() -> nczarr::Result<()> {
/// let file = nczarr::CreateOptions::new().create_in_memory("made.zip", false)?;
/// file.add_dimension("x", 3)?;
/// file.add_variable::<f32>("t", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
/// let bytes: Vec<u8> = file.close_to_bytes()?;
///
/// let file = nczarr::open_bytes(bytes)?;
/// assert_eq!(file.variable("t")?.get_values::<f32>(..)?, [1.0, 2.0, 3.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`OpenOptions::open_bytes`].
pub fn open_bytes(bytes: impl Into<SharedBytes>) -> Result<File> {
    OpenOptions::new().open_bytes("memory", bytes)
}

/// Opens a dataset for reading and writing. Existing data stay.
///
/// ```
/// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
/// # let path = "memory://doc-options-append";
/// # let file = nczarr::create(path)?;
/// # file.add_dimension("x", 3)?;
/// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
/// # file.close()?;
/// let file = nczarr::append(path)?;            // an existing dataset, for reading and writing
/// file.variable("v")?.put_value(7.0f32, 0)?;
/// file.close()?;
/// # }
/// # Ok::<(), nczarr::Error>(())
/// ```
///
/// # Errors
/// As [`open`]; `NC_EPERM` if the dataset cannot be written.
pub fn append(place: impl Into<Place>) -> Result<File> {
    OpenOptions::new().writable(true).open(place)
}

/// Creates a dataset.
///
/// ```
/// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
/// let file = nczarr::create("memory://doc-create-new")?;
/// file.add_dimension("x", 3)?;
/// file.close()?;
/// # }
/// # Ok::<(), nczarr::Error>(())
/// ```
///
/// # Errors
/// `NC_EEXIST` or `NC_EOBJECT` if the path is in use; `NC_EINVAL` if the path implies no writable format.
pub fn create(place: impl Into<Place>) -> Result<File> {
    CreateOptions::new().create(place)
}

/// Deletes a dataset; refuses anything else.
///
/// ```
/// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
/// # let path = "memory://doc-options-delete";
/// # let file = nczarr::create(path)?;
/// # file.add_dimension("x", 3)?;
/// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
/// # file.close()?;
/// nczarr::delete(path)?;
/// assert!(nczarr::open(path).is_err());
/// # }
/// # Ok::<(), nczarr::Error>(())
/// ```
///
/// # Errors
/// `NC_ENOTFOUND` if the path does not exist; `NC_ENOTNC` if it is not a dataset; `NC_EPERM` if the storage
/// cannot delete.
pub fn delete(place: impl Into<Place>) -> Result<()> {
    builtin::registry()?.delete(&place.into())
}

/// Explains how a path or URL is resolved: driver, map and flavour, with all probes.
///
/// ```
/// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
/// # let path = "memory://doc-options-explain";
/// # let file = nczarr::create(path)?;
/// # file.add_dimension("x", 3)?;
/// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
/// # file.close()?;
/// let explanation = nczarr::explain(path)?;
/// assert!(explanation.problem.is_none());
/// # }
/// # Ok::<(), nczarr::Error>(())
/// ```
///
/// # Errors
/// `NC_EURL` if it is malformed. An error of opening is part of the result.
pub fn explain(place: impl Into<Place>) -> Result<Explanation> {
    builtin::registry()?.explain(&place.into())
}

fn default_or(registry: &Option<Arc<Registry>>) -> Result<Arc<Registry>> {
    registry.clone().map_or_else(builtin::registry, Ok)
}
