//! Options of maps: upper limits for sizes that a file declares, and durability.

/// Upper limits for sizes that a file declares. The library checks a size before it allocates memory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Nesting of a JSON document. Default 128.
    pub json_depth: usize,
    /// Bytes of a metadata document, or of the header of a classic file. Default 64 MiB.
    pub document: u64,
    /// The memory for the metadata of a classic or HDF4 file, beyond the size of the file. Default 28 MiB.
    pub metadata: u64,
    /// Dimensions of a variable. Default 1024.
    pub rank: usize,
    /// Bytes of a key. Default 64 KiB (a map may allow less).
    pub key: usize,
    /// Bytes of a decoded chunk, or of the index of a shard. Default 2 GiB.
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

/// When a write counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Objects appear whole. The operating system writes them to the device at some later time.
    #[default]
    Rename,
    /// Objects and their directories are synced as well, at the latest by [`ZMap::sync`](crate::ZMap::sync).
    Fsync,
}

/// Options of a map.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MapOptions {
    /// Limits for sizes from outside.
    pub limits: Limits,
    /// When a write counts as done.
    pub durability: Durability,
    /// No other process writes this dataset, so writes of partial objects need no conditional writes.
    pub exclusive: bool,
}
