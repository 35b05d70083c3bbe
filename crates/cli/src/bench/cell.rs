//! [`Cell`]: one combination of map, filters and chunk shape, and the times of writing and reading with it.

use std::fmt;
use std::time::Instant;

use nczarr::dispatch::{Key, NcDispatch as _, OpenRequest, Options};
use nczarr::{Buffer, CreateOptions, FilterSpec, MemMut, OpenOptions, Variable};
use nczarr_model::{ErrorKind, Result, Slab};

use super::joined;
use super::sample::Sample;
use super::scratch_dir::ScratchDir;
use crate::failure::Failure;

/// Boxes and elements read per round.
const BOXES: usize = 8;
const ELEMENTS: usize = 32;

/// A map the data can be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Map {
    /// A directory.
    File,
    /// Memory of this process.
    Mem,
}

/// One combination.
#[derive(Debug, PartialEq)]
pub struct Cell {
    /// The storage map.
    pub map: Map,
    /// The name of the filters in the results.
    pub label: String,
    /// The filters.
    pub filters: Vec<FilterSpec>,
    /// The chunk shape, at most the shape of the data.
    pub chunks: Vec<u64>,
}

/// The times of one round, in seconds; for parts, of each part.
#[derive(Debug, Clone, Copy)]
pub struct Taken {
    /// Creating the dataset, writing all, closing it.
    pub write: f64,
    /// Opening the dataset and reading all.
    pub read: f64,
    /// Reading a box of the open dataset, without a cache.
    pub part: f64,
    /// Reading one element, without a cache.
    pub element: f64,
    /// Bytes of all chunks as they are stored.
    pub stored: u64,
}

impl Map {
    /// Returns the map of this name.
    ///
    /// # Errors
    /// An error if the map does not exist, or needs more than a name.
    pub fn of(name: &str) -> Result<Self, Failure> {
        match name {
            "file" => Ok(Self::File),
            "mem" => Ok(Self::Mem),
            _ => Err(Failure::Usage(format!("--maps {name}: there are file and mem"))),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Mem => "mem",
        }
    }

    fn url(self, place: &ScratchDir) -> Result<String> {
        match self {
            Self::File => Ok(format!("{}#mode=nczarr,file", place.store()?)),
            Self::Mem => Ok("memory:ncz-bench-compare#mode=nczarr,mem".to_owned()),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.map.name(), self.label, joined(&self.chunks))
    }
}

impl Cell {
    /// Runs one round: writes, reads in all ways, compares, deletes.
    ///
    /// # Errors
    /// Errors of writing and reading; `NC_EINTERNAL` if values differ after reading back.
    pub fn measure(&self, sample: &Sample, place: &ScratchDir, threads: usize) -> Result<Taken> {
        let url = self.map.url(place)?;
        let clock = Instant::now();
        let file = CreateOptions::new().clobber(true).threads(threads).create(&url)?;
        self.define(&file, sample)?.put_raw(&sample.bytes, ..)?;
        file.close()?;
        let write = clock.elapsed().as_secs_f64();

        let clock = Instant::now();
        let file = OpenOptions::new().threads(threads).cache_bytes(0).open(&url)?;
        let var = file.variable("v")?;
        let start = vec![0; sample.shape.len()];
        let all = fetch(&var, sample, &start, &sample.shape)?;
        let read = clock.elapsed().as_secs_f64();
        check(&all, &sample.bytes, &start, &sample.shape)?;
        drop(all);

        let part = parts(&var, sample, &sample.boxed(), BOXES)?;
        let element = parts(&var, sample, &vec![1; sample.shape.len()], ELEMENTS)?;
        file.close()?;
        let taken = Taken { write, read, part, element, stored: stored(&url)? };
        nczarr::delete(&url)?;
        Ok(taken)
    }

    fn define(&self, file: &nczarr::File, sample: &Sample) -> Result<Variable> {
        let names: Vec<String> = (0..sample.shape.len()).map(|dim| format!("d{dim}")).collect();
        let mut dims = Vec::new();
        for (name, &len) in names.iter().zip(&sample.shape) {
            dims.push(file.add_dimension(name, len)?.id());
        }
        let dataset = file.dataset();
        let id = dataset.def_var(nczarr_model::GroupId::ROOT, "v", sample.ty, &dims)?;
        for filter in &self.filters {
            dataset.def_var_filter_spec(id, filter)?;
        }
        let var = file.variable("v")?;
        var.set_chunking(&self.chunks)?;
        Ok(var)
    }
}

/// Reads parts of one shape at pseudo-random places, equal for every cell. Returns the seconds for each part.
fn parts(var: &Variable, sample: &Sample, count: &[u64], times: usize) -> Result<f64> {
    let mut state = 1u64;
    let mut below = |most: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % most
    };
    let starts: Vec<Vec<u64>> = (0..times)
        .map(|_| sample.shape.iter().zip(count).map(|(len, count)| below(len - count + 1)).collect())
        .collect();
    let mut found = Vec::with_capacity(times);
    let clock = Instant::now();
    for start in &starts {
        found.push(fetch(var, sample, start, count)?);
    }
    let seconds = clock.elapsed().as_secs_f64();
    for (start, found) in starts.iter().zip(&found) {
        check(found, &sample.part(start, count)?, start, count)?;
    }
    Ok(seconds / times as f64)
}

fn fetch(var: &Variable, sample: &Sample, start: &[u64], count: &[u64]) -> Result<Buffer<u8>> {
    let slab = Slab::new(start, count);
    let len = nczarr::dispatch::byte_len(slab.len(), sample.item())?;
    Buffer::fill(len, |out| var.read(&slab, MemMut::Fixed { ty: sample.ty, out }))
}

/// Compares bits, so that NaN is equal to itself.
fn check(found: &[u8], written: &[u8], start: &[u64], count: &[u64]) -> Result<()> {
    if found == written {
        Ok(())
    } else {
        Err(ErrorKind::Internal.context(format!("read other data than was written: {count:?} at {start:?}")))
    }
}

/// The bytes of all chunks.
fn stored(url: &str) -> Result<u64> {
    let registry = nczarr::registry()?;
    let target = nczarr_url_infer::parse(url)?;
    let options = Options::default();
    let request = OpenRequest {
        target: &target,
        writable: false,
        options: &options,
        registry: &registry,
        map: None,
        scope: None,
    };
    let map = registry.open_map(&request)?;
    let keys = map.list(&Key::new("v")?)?;
    let chunks = keys.iter().filter(|key| !key.name().starts_with('.'));
    chunks.map(|key| Ok(map.len(key)?.unwrap_or(0))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_its_place() {
        assert!(check(&[1, 2], &[1, 2], &[0], &[2]).is_ok());
        let error = check(&[1, 2], &[1, 3], &[4], &[2]).unwrap_err().to_string();
        assert!(error.contains("[2] at [4]"), "{error}");
    }
}
