//! What the benches share: how large they are, the data, and arrays to put it in.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use nczarr::{CreateOptions, File};
use nczarr_chunkio::{ArrayDim, ArraySpec, ChunkStore, ChunkedArray, DimOrder, ElementLayout};
use nczarr_dispatch::{Filter, Key, Options, ZMap};
use nczarr_model::{NcType, Result};
use nczarr_zmap_mem::MemMap;
use tempfile::TempDir;

/// Whether this is a measurement. Tests run every bench once, in small.
pub fn measuring() -> bool {
    std::env::args().any(|arg| arg == "--bench")
}

/// The large number when measuring, else the small one.
pub fn sized<T>(large: T, small: T) -> T {
    if measuring() { large } else { small }
}

/// A field that compresses as measured ones do: waves, and noise, rounded to 1/128.
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

/// A storage to measure: its name, and a new empty place of its own.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// A directory below the system's temporary one (`TMPDIR`).
    File,
    /// Memory of this process.
    Mem,
}

impl Place {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Mem => "mem",
        }
    }

    /// The URL of a dataset, and what must live as long as it is used. `name` keeps datasets in memory apart.
    ///
    /// # Errors
    /// If there is no temporary directory.
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

/// Creates a dataset, in place of what was there.
///
/// # Errors
/// What the library says.
pub fn create(url: &str) -> Result<File> {
    CreateOptions::new().clobber(true).create(url)
}

/// Filters as the engine takes them.
///
/// # Errors
/// If one is not in this build or its parameters make no sense.
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

/// The engine's door without a driver: an array in memory. `change` may set byte order, filters, cache and
/// the like.
///
/// # Errors
/// What the engine says.
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
