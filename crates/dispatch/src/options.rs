//! Options of an open dataset: limits, threads, cache, durability, missing chunks and progress.

use std::fmt;
use std::sync::Arc;

use nczarr_storage::{Durability, Limits, MapOptions};

/// The treatment of absent chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingChunks {
    /// An absent chunk reads as fill values.
    #[default]
    Fill,
    /// Fill values, and a warning in the log.
    Warn,
    /// An error that names the chunk's key.
    Error,
}

/// The treatment of forbidden keys, which may not exist ([`Forbidden`](nczarr_storage::Forbidden)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ForbiddenKeys {
    /// An error that names the key, unless another document shows that the key is absent.
    #[default]
    Error,
    /// Forbidden keys are absent. The dataset is read-only.
    Absent,
}

/// Observes a transfer, and may cancel it.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// use nczarr_dispatch::Progress;
///
/// /// Cancels transfers once its flag is set.
/// struct Cancel(AtomicBool);
///
/// impl Progress for Cancel {
///     fn advance(&self, done: u64, total: u64) -> bool {
///         println!("{done} of {total} bytes");
///         !self.0.load(Ordering::Relaxed)
///     }
/// }
///
/// assert!(Cancel(AtomicBool::new(false)).advance(1, 2));
/// ```
pub trait Progress: Send + Sync {
    /// `done` of `total` bytes have been moved. `false` stops the transfer.
    fn advance(&self, done: u64, total: u64) -> bool;
}

/// Options of an open or created dataset.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Limits for sizes from outside.
    pub limits: Limits,
    /// The number of threads of a transfer; 0: the number of processors.
    pub threads: usize,
    /// The size of the chunk cache of each variable, in bytes. With a given size, an array that fits stays in
    /// the cache from the first access of each chunk. The default is the setting of the process. Without a
    /// setting it is `None`: 64 MiB, and the cache keeps chunks that can be read in parts only after repeated
    /// reads.
    pub cache_bytes: Option<usize>,
    /// When a write counts as done.
    pub durability: Durability,
    /// The treatment of absent chunks.
    pub missing_chunks: MissingChunks,
    /// The treatment of forbidden keys (403). The fragment option is `forbidden=absent`, the rc file setting
    /// `ZARR.FORBIDDEN=absent`.
    pub forbidden: ForbiddenKeys,
    /// No other process writes this dataset, so writes of partial chunks need no conditional writes. The
    /// fragment option is `exclusive=true`, the rc file setting `ZARR.EXCLUSIVE=true`.
    pub exclusive: bool,
    /// Several processes make the same definitions at the same time. If another process has already stored a
    /// document, this process joins it. If that document describes another object, storing is an error
    /// (`NC_ENAMEINUSE`).
    pub collective: bool,
    /// Whether a string that exceeds a fixed-length variable is truncated at a character boundary instead of
    /// rejected.
    pub truncate_strings: bool,
    /// Whether a new dataset may add attributes for properties that its format cannot express.
    pub annotate: bool,
    /// Names of dimensions of plain Zarr that are unlimited, although the dataset does not record that.
    pub growing: Vec<String>,
    /// Whether a dataset of one file that is only read is mapped into memory. If another process truncates
    /// the file during a read, the system ends this process.
    pub memory_map: bool,
    /// Whether the rules of netCDF-C apply where this library allows more. The C library sets it.
    ///
    /// An HDF5 file with a link that leads nowhere is refused (`NC_EHDFERR`). So is writing to an HDF5 file
    /// without an order of creation (`NC_ECANTWRITE`). Variables of types that netCDF lacks are left out.
    pub netcdf_c_rules: bool,
    /// The observer of transfers.
    pub progress: Option<Arc<dyn Progress>>,
}

impl Options {
    /// Returns the options of the dataset's map.
    pub fn for_map(&self) -> MapOptions {
        let mut options = MapOptions::default();
        options.limits = self.limits.clone();
        options.durability = self.durability;
        options.exclusive = self.exclusive;
        options
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            threads: 0,
            cache_bytes: crate::settings::explicit_chunk_cache().map(|cache| cache.bytes),
            durability: Durability::default(),
            missing_chunks: MissingChunks::default(),
            forbidden: ForbiddenKeys::default(),
            exclusive: false,
            collective: false,
            truncate_strings: false,
            annotate: false,
            growing: Vec::new(),
            memory_map: false,
            netcdf_c_rules: false,
            progress: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("limits", &self.limits)
            .field("threads", &self.threads)
            .field("cache_bytes", &self.cache_bytes)
            .field("durability", &self.durability)
            .field("missing_chunks", &self.missing_chunks)
            .field("forbidden", &self.forbidden)
            .field("exclusive", &self.exclusive)
            .field("collective", &self.collective)
            .field("truncate_strings", &self.truncate_strings)
            .field("annotate", &self.annotate)
            .field("growing", &self.growing)
            .field("memory_map", &self.memory_map)
            .field("netcdf_c_rules", &self.netcdf_c_rules)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}
