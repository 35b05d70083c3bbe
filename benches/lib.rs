//! What the benches share: places to write to, and variables of a known content.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};

use nczarr::{Result, Variable};

/// The storage a dataset lies in.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// Memory of the process.
    Memory,
    /// A directory, removed in the end.
    Directory,
}

/// The side of a cube of data, in elements.
pub const SIDE: u64 = 128;

/// The side of a chunk, in elements.
pub const CHUNK: u64 = 64;

/// Filters by name and parameters.
pub type Chain = &'static [(&'static str, &'static [u32])];

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A new variable of [`SIDE`]³ floats in chunks of [`CHUNK`]³, and what keeps its directory.
///
/// # Errors
/// What the library says.
pub fn variable(place: Place, chain: Chain) -> Result<(Variable, Option<tempfile::TempDir>)> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let (path, folder) = match place {
        Place::Memory => (format!("memory://bench-{number}#mode=nczarr"), None),
        Place::Directory => {
            let folder = tempfile::tempdir().map_err(|error| nczarr::Error::io("a temporary directory", error))?;
            (folder.path().join("x.zarr").display().to_string(), Some(folder))
        }
    };
    let file = nczarr::create(&path)?;
    for name in ["z", "y", "x"] {
        file.add_dimension(name, SIDE)?;
    }
    let variable = file.add_variable::<f32>("v", &["z", "y", "x"])?;
    variable.set_chunking(&[CHUNK; 3])?;
    for (name, params) in chain {
        variable.set_filter(name, params)?;
    }
    Ok((variable, folder))
}

/// Values that compress as measured ones do.
pub fn values() -> Vec<f32> {
    let field = |i: u64| {
        let (z, y, x) = ((i / SIDE / SIDE) as f32, (i / SIDE % SIDE) as f32, (i % SIDE) as f32);
        ((z / 9.0).sin() + (y / 13.0).cos() + (x / 7.0).sin()) * 10.0
    };
    (0..SIDE * SIDE * SIDE).map(|i| (field(i) * 64.0).round() / 64.0).collect()
}
