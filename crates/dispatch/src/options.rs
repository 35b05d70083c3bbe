//! What a caller may ask of an open dataset: limits, concurrency, cache, durability, absence, progress.

use std::fmt;
use std::sync::Arc;

/// Sizes that come from outside are checked against these before anything is allocated.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Nesting of a JSON document. Default 128.
    pub json_depth: usize,
    /// Bytes of a metadata document. Default 64 MiB.
    pub document: u64,
    /// Bytes that the metadata of a dataset that is one file may take in memory, beside the size of the file. Default 28 MiB.
    pub metadata: u64,
    /// Dimensions of a variable. Default 1024.
    pub rank: usize,
    /// Bytes of a key. Default 64 KiB (a map may allow less).
    pub key: usize,
    /// Bytes of a decoded chunk. Default 2 GiB.
    pub chunk: u64,
    /// Entries of an archive. Default 10^7.
    pub entries: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            json_depth: 128,
            document: 64 << 20,
            metadata: 28 << 20,
            rank: 1024,
            key: 64 << 10,
            chunk: 2 << 30,
            entries: 10_000_000,
        }
    }
}

/// What an absent chunk of a readable dataset means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingChunks {
    /// It was never written: fill values.
    #[default]
    Fill,
    /// Fill values, and a warning in the log.
    Warn,
    /// An error that names the chunk's key.
    Error,
}

/// The meaning of an object that the storage refuses without saying whether there is one ([`Forbidden`](crate::Forbidden)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ForbiddenKeys {
    /// An error that names the key. Only where another document shows that there is none, it is absent.
    #[default]
    Error,
    /// Every such object is absent. The dataset is only read.
    Absent,
}

/// When a write counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Objects appear whole; the system writes them back in its own time.
    #[default]
    Rename,
    /// Objects and their directories are synced as well, at the latest by [`ZMap::sync`](crate::ZMap::sync).
    Fsync,
}

/// Told how far a transfer has come; can stop it.
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
    /// Threads a transfer may use; 0: as many as the system offers.
    pub threads: usize,
    /// Bytes of decoded chunks kept per variable. An array that fits into what was asked for is kept from the first
    /// touch of each chunk on. Default: the process's setting; `None` where nobody set it: 64 MiB, and of chunks
    /// that can be read in pieces only those that are read again and again.
    pub cache_bytes: Option<usize>,
    /// When a write counts as done.
    pub durability: Durability,
    /// What an absent chunk means.
    pub missing_chunks: MissingChunks,
    /// The meaning of an object that the storage refuses (403) and that may not exist. The fragment says the same
    /// with `forbidden=absent`, and an rc file with `ZARR.FORBIDDEN=absent`.
    pub forbidden: ForbiddenKeys,
    /// Nobody else writes this dataset: partial chunk writes need no conditional writes.
    /// The fragment says the same with `exclusive=true`, and an rc file with `ZARR.EXCLUSIVE=true`.
    pub exclusive: bool,
    /// A string longer than a fixed-length variable holds is cut at a character boundary instead of refused.
    pub truncate_strings: bool,
    /// A new dataset may say in attributes of the format's own what the format has no other word for.
    pub annotate: bool,
    /// A dataset that is one file and only read is mapped into memory. Should somebody cut the file short in the
    /// middle of a read, the system ends the process where it looks at what is gone.
    pub memory_map: bool,
    /// Told of every transfer.
    pub progress: Option<Arc<dyn Progress>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            threads: 0,
            cache_bytes: crate::settings::asked_chunk_cache().map(|cache| cache.bytes),
            durability: Durability::default(),
            missing_chunks: MissingChunks::default(),
            forbidden: ForbiddenKeys::default(),
            exclusive: false,
            truncate_strings: false,
            annotate: false,
            memory_map: false,
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
            .field("truncate_strings", &self.truncate_strings)
            .field("annotate", &self.annotate)
            .field("memory_map", &self.memory_map)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}
