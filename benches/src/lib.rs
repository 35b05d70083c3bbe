//! The sizes, data and arrays that all benches share.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use nczarr::{CreateOptions, File, Place};
use nczarr_chunkio::{ArrayDim, ArraySpec, ChunkStore, ChunkedArray, DimOrder, ElementLayout};
use nczarr_codec::Filter;
use nczarr_dispatch::Options;
use nczarr_model::{NcType, Result};
use nczarr_storage::{Key, ZMap};
use nczarr_zmap_mem::MemMap;
use tempfile::TempDir;

/// Whether this is a measurement. Tests run every bench once with small arrays.
pub fn measuring() -> bool {
    std::env::args().any(|arg| arg == "--bench")
}

/// Returns the large number in a measurement and the small one in a test.
pub fn sized<T>(large: T, small: T) -> T {
    if measuring() { large } else { small }
}

/// Returns a field of waves and noise, rounded to 1/128. It compresses like measured fields.
pub fn field(elements: u64) -> Vec<f32> {
    let mut noise = 1u64;
    (0..elements)
        .map(|i| {
            noise = noise.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (row, column) = (i / 256, i % 256);
            let value = 273.0 + 20.0 * (row as f32 / 300.0).cos() + 4.0 * (column as f32 / 40.0).sin();
            ((value + (noise >> 40) as f32 / (1u32 << 27) as f32) * 128.0).round() / 128.0
        })
        .collect()
}

/// Filters by name and parameters.
pub type Chain = &'static [(&'static str, &'static [u32])];

/// A kind of storage to measure.
#[derive(Debug, Clone, Copy)]
pub enum StoreKind {
    /// A directory below the system's temporary directory (`TMPDIR`).
    File,
    /// The memory of this process.
    Mem,
}

impl StoreKind {
    /// Its name in the results.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Mem => "mem",
        }
    }

    /// The URL of a new dataset, and a directory to keep while it is used. `name` separates datasets in
    /// memory.
    ///
    /// # Errors
    /// Fails if the temporary directory cannot be made.
    pub fn url(self, name: &str, modes: &str) -> Result<(String, Option<TempDir>)> {
        match self {
            Self::Mem => Ok((format!("memory:{name}#mode=zarr,mem{modes}"), None)),
            Self::File => {
                let dir = tempfile::tempdir()
                    .map_err(|error| nczarr_model::Error::io("a temporary directory", error))?;
                Ok((format!("{}#mode=zarr,file{modes}", dir.path().join("store").display()), Some(dir)))
            }
        }
    }
}

/// Creates a dataset and replaces an existing one.
///
/// # Errors
/// Returns the library's error.
pub fn create(url: &str) -> Result<File> {
    CreateOptions::new().clobber(true).create(Place::url(url))
}

/// Converts filters to the form that the engine takes.
///
/// # Errors
/// Fails if this build lacks a filter or if its parameters are invalid.
pub fn filters(chain: Chain) -> Result<Vec<Box<dyn Filter>>> {
    let registry = nczarr::registry()?;
    chain.iter().map(|(name, params)| registry.filter(name)?.parse_params(params)).collect()
}

#[derive(Debug)]
struct Cells(MemMap);

impl ChunkStore for Cells {
    fn map(&self) -> &dyn ZMap {
        &self.0
    }

    fn locate(&self, index: &[u64], key: &mut Key) {
        key.set(&Key::root());
        key.push_index(index, '.');
    }
}

/// Creates an array in memory through the engine, without a driver. `change` can set byte order, filters,
/// cache and other options.
///
/// # Errors
/// Returns the engine's error.
pub fn array(
    shape: &[u64],
    chunk: &[u64],
    ty: NcType,
    change: impl FnOnce(&mut ArraySpec),
) -> Result<ChunkedArray> {
    let mut spec = ArraySpec {
        name: "/v".to_owned(),
        dims: shape
            .iter()
            .map(|&len| ArrayDim { len: Arc::new(AtomicU64::new(len)), unlimited: false })
            .collect(),
        chunk_shape: chunk.to_vec(),
        element: ElementLayout::Number { ty, big_endian: false },
        order: DimOrder::C,
        filters: Vec::new(),
        fill: None,
        shards: Vec::new(),
        store: Arc::new(Cells(MemMap::new())),
        options: Options::default(),
        writable: true,
    };
    change(&mut spec);
    ChunkedArray::new(spec)
}
