//! [`Dimension`]: a shared, possibly unlimited dimension.

use std::fmt;
use std::sync::Arc;

use nczarr_model::{DimId, Edit, Result};

use crate::file::OpenDataset;

/// A dimension of an open dataset.
#[derive(Clone)]
pub struct Dimension {
    open: Arc<OpenDataset>,
    id: DimId,
}

impl Dimension {
    pub(crate) fn new(open: Arc<OpenDataset>, id: DimId) -> Self {
        Self { open, id }
    }

    /// Its identifier in the [`Model`](nczarr_model::Model).
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-dimension-id")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(x.id(), file.dimension("x")?.id());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn id(&self) -> DimId {
        self.id
    }

    /// The name.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-dimension-name")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(x.name(), "x");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn name(&self) -> String {
        self.dim(|dim| dim.name.clone())
    }

    /// The current length.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-dimension-len")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(x.len(), 3);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn len(&self) -> u64 {
        self.dim(nczarr_model::Dim::len)
    }

    /// Whether the current length is 0.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-dimension-is-empty")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert!(file.add_unlimited_dimension("time")?.is_empty());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether writes may extend it.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-dimension-is-unlimited")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert!(!x.is_unlimited());
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn is_unlimited(&self) -> bool {
        self.dim(|dim| dim.unlimited)
    }

    /// Reserves `count` new indices at the end of an unlimited dimension, and returns the first one.
    ///
    /// The indices belong to this caller alone. No other call returns one of them, from any thread, handle,
    /// process or machine. So any number of writers can append to one dataset:
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-dimension-reserve")?;
    /// let time = file.add_unlimited_dimension("time")?;
    /// let level = file.add_variable::<f32>("level", &["time"])?;
    /// std::thread::scope(|scope| {
    ///     for writer in 0..4 {
    ///         let (time, level) = (&time, &level);
    ///         scope.spawn(move || -> nczarr::Result<()> {
    ///             let start = time.reserve(2)?;
    ///             level.put(&[writer as f32; 2], start..start + 2)
    ///         });
    ///     }
    /// });
    /// assert_eq!(time.len(), 8);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// The call ends define mode and stores the new length. Readers may see this length before the data. A
    /// record reads as the fill value until the program writes it. If the program stops before that, the
    /// record keeps the fill value. Other handles see the new length after [`File::sync`](crate::File::sync),
    /// or when they reserve.
    ///
    /// To separate processes, `reserve` needs a directory or a storage with conditional writes. Classic
    /// files, netCDF-4 files and archives have one writer at a time. There `reserve` separates the threads of
    /// that writer. In plain Zarr, all writers must know the same variables along the dimension.
    ///
    /// # Errors
    /// `NC_EPERM` if the dataset is read-only, or its storage cannot separate writers; `NC_EINVAL` for a
    /// fixed dimension; `NC_EDIMSIZE` for a length beyond the limit of the format; the storage's error, after
    /// which some reserved records may remain unwritten.
    pub fn reserve(&self, count: u64) -> Result<u64> {
        self.open.leave_define_mode_if_defining()?;
        let reserved = self.open.dataset()?.editor().and_then(|editor| editor.reserve(self.id, count));
        reserved.map_err(|error| self.open.located(error))
    }

    /// Renames it.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-dimension-rename")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// x.rename("lon")?;
    /// assert_eq!(v.dimensions()[0].name(), "lon");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_EPERM` if the dataset is read-only, `NC_ENAMEINUSE`, `NC_EBADNAME`.
    pub fn rename(&self, name: &str) -> Result<()> {
        self.open.edit(&Edit::RenameDim { dim: self.id, name }).map(drop)
    }

    /// Whether it belongs to this open dataset.
    pub(crate) fn is_of(&self, open: &Arc<OpenDataset>) -> bool {
        Arc::ptr_eq(&self.open, open)
    }

    /// A dimension whose definition was rolled back behaves as an empty one.
    fn dim<T: Default>(&self, ask: impl FnOnce(&nczarr_model::Dim) -> T) -> T {
        self.open.model().dim(self.id).map(ask).unwrap_or_default()
    }
}

impl fmt::Debug for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dimension")
            .field("name", &self.name())
            .field("len", &self.len())
            .field("unlimited", &self.is_unlimited())
            .finish()
    }
}
