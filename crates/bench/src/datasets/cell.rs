//! [`Cell`]: one combination of target, filters, chunk shape and threads, and one round of its measurements.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use nczarr::dispatch::byte_len;
use nczarr::nc_table::NcDispatch as _;
use nczarr::storage::{Key, ZMap, ZMapExt};
use nczarr::{
    Buffer, CreateOptions, ErrorKind, File, MemMut, NcType, OpenOptions, Place, Registry, Result, Slab,
    Variable,
};

use crate::datasets::cleanup::{Cleanup, TemporaryDataset};
use crate::datasets::joined;
use crate::{AccessPattern, BenchTarget, FilterList, Sample, timed};

/// The variable of the datasets that are written.
const VARIABLE: &str = "v";

/// One combination.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Cell {
    /// The target.
    pub target: BenchTarget,
    /// The filters.
    pub filters: FilterList,
    /// The chunk shape, at most the shape of the data.
    pub chunks: Vec<u64>,
    /// The threads of a transfer; 0: all processors.
    pub threads: usize,
}

impl Cell {
    pub(crate) fn new(target: BenchTarget, filters: FilterList, chunks: Vec<u64>, threads: usize) -> Self {
        Self { target, filters, chunks, threads }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.target.label(), self.filters.label, joined(&self.chunks))
    }
}

/// The settings that all cells of a run share.
pub(crate) struct RoundSettings<'a> {
    /// The plugins.
    pub registry: &'a Arc<Registry>,
    /// The temporary directory.
    pub dir: &'a Path,
    /// The name of temporary datasets.
    pub name: &'a str,
    /// The ways of access to time.
    pub patterns: &'a [AccessPattern],
    /// The datasets that are not deleted yet.
    pub cleanup: &'a Cleanup,
    /// Whether to find out the map and the stored size too, which are the same in each round.
    pub inspects: bool,
}

/// The results of one round of a cell.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// The times of each pattern that the target supports.
    pub times: Vec<PatternTimes>,
    /// The name of the map, if the dataset is in one.
    pub map: Option<String>,
    /// Bytes of all chunks as they are stored, if the map can list them.
    pub stored: Option<u64>,
}

/// The times of the operations of one pattern, in seconds.
#[derive(Debug)]
pub(crate) struct PatternTimes {
    pub pattern: AccessPattern,
    pub seconds: Vec<f64>,
}

impl Cell {
    /// Runs one round: writes, reads in all ways, compares, deletes.
    ///
    /// # Errors
    /// Errors of writing and reading; `NC_EINTERNAL` if values differ after reading back.
    pub(crate) fn measure(&self, sample: &Sample, settings: &RoundSettings<'_>) -> Result<Round> {
        let url = self.target.url(settings.dir, settings.name)?;
        let mut round = Round::default();
        match self.target.existing_variable() {
            Some(_) => self.read(&url, &sample.name, sample, settings, &mut round)?,
            None => {
                let dataset = self.write(&url, sample, settings, &mut round)?;
                self.read(&url, VARIABLE, sample, settings, &mut round)?;
                dataset.delete()?;
            }
        }
        Ok(round)
    }

    fn write(
        &self,
        url: &str,
        sample: &Sample,
        settings: &RoundSettings<'_>,
        round: &mut Round,
    ) -> Result<TemporaryDataset> {
        let options = CreateOptions::new().registry(Arc::clone(settings.registry)).threads(self.threads);
        // First noted, then checked: another thread that stops the run sees the dataset or prevents it.
        let dataset = settings.cleanup.dataset(settings.registry, url);
        settings.cleanup.check()?;
        let write = || {
            let file = options.create(Place::url(url))?;
            self.define(&file, sample)?.put_raw(&sample.bytes, ..)?;
            file.close()
        };
        let seconds = timed(write)?.seconds;
        if settings.patterns.contains(&AccessPattern::Write) {
            round.times.push(PatternTimes { pattern: AccessPattern::Write, seconds: vec![seconds] });
        }
        Ok(dataset)
    }

    fn define(&self, file: &File, sample: &Sample) -> Result<Variable> {
        let names: Vec<String> = (0..sample.shape.len()).map(|dim| format!("d{dim}")).collect();
        for (name, &len) in names.iter().zip(&sample.shape) {
            file.add_dimension(name, len)?;
        }
        let dims: Vec<&str> = names.iter().map(String::as_str).collect();
        let variable = file.add_variable_with_type(VARIABLE, sample.ty, &dims)?;
        for filter in &self.filters.filters {
            file.dataset().def_var_filter_spec(variable.id(), filter)?;
        }
        match variable.set_chunking(&self.chunks) {
            // A classic file has no chunks: the data are one piece.
            Err(error) if error.kind() == ErrorKind::NotNc4 && self.chunks == sample.shape => Ok(variable),
            set => set.map(|()| variable),
        }
    }

    fn read(
        &self,
        url: &str,
        name: &str,
        sample: &Sample,
        settings: &RoundSettings<'_>,
        round: &mut Round,
    ) -> Result<()> {
        // Without a cache, so that each read goes to the target.
        let options =
            OpenOptions::new().registry(Arc::clone(settings.registry)).threads(self.threads).cache_bytes(0);
        for &pattern in settings.patterns {
            settings.cleanup.check()?;
            let seconds = match pattern {
                AccessPattern::Write => continue,
                AccessPattern::Read => vec![read_all(&options, url, name, sample)?],
                AccessPattern::Open => vec![open(&options, url)?],
                AccessPattern::List => match list(&options, url)? {
                    Some(seconds) => vec![seconds],
                    None => continue,
                },
                AccessPattern::Box | AccessPattern::Element | AccessPattern::Series => {
                    let file = options.open(Place::url(url))?;
                    let seconds = read_parts(&file.variable(name)?, sample, pattern)?;
                    file.close()?;
                    seconds
                }
            };
            round.times.push(PatternTimes { pattern, seconds });
        }
        if settings.inspects {
            let file = options.open(Place::url(url))?;
            round.map = file.info().map;
            file.close()?;
            round.stored = stored(&options, url, name)?;
        }
        Ok(())
    }
}

fn read_all(options: &OpenOptions, url: &str, name: &str, sample: &Sample) -> Result<f64> {
    let start = vec![0; sample.shape.len()];
    let read = || -> Result<Buffer<u8>> {
        let file = options.open(Place::url(url))?;
        let all = fetch(&file.variable(name)?, sample.ty, &start, &sample.shape)?;
        file.close()?;
        Ok(all)
    };
    let all = timed(read)?;
    check(&all.value, &sample.bytes, &start, &sample.shape)?;
    Ok(all.seconds)
}

fn open(options: &OpenOptions, url: &str) -> Result<f64> {
    let look = || {
        let file = options.open(Place::url(url))?;
        for variable in file.variables() {
            variable.complete()?.shape()?;
        }
        file.close()
    };
    Ok(timed(look)?.seconds)
}

/// Opens the map of a dataset. `None` if the dataset is not in a map, or the map cannot list.
fn listing_map(options: &OpenOptions, url: &str) -> Result<Option<Arc<dyn ZMap>>> {
    match options.open_map(Place::url(url)) {
        Err(error) if error.kind() == ErrorKind::NotNc => Ok(None),
        map => map.map(|map| Some(map).filter(|map| map.caps().list)),
    }
}

/// Times a list of all keys. `None` if the map cannot list.
fn list(options: &OpenOptions, url: &str) -> Result<Option<f64>> {
    let Some(map) = listing_map(options, url)? else { return Ok(None) };
    Ok(Some(timed(|| map.keys(&Key::root()))?.seconds))
}

/// Reads parts at pseudo-random places, equal for every cell and round. Returns the time of each.
fn read_parts(variable: &Variable, sample: &Sample, pattern: AccessPattern) -> Result<Vec<f64>> {
    let Some(part) = pattern.part(&sample.shape) else { return Ok(Vec::new()) };
    let mut state = 1u64;
    let mut below = |most: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % most
    };
    // The first read of a handle also prepares it, so its time is no time of a part.
    let rank = sample.shape.len();
    fetch(variable, sample.ty, &vec![0; rank], &vec![1; rank])?;
    let mut times = Vec::with_capacity(part.times);
    for _ in 0..part.times {
        let start: Vec<u64> =
            sample.shape.iter().zip(&part.count).map(|(len, count)| below(len - count + 1)).collect();
        let found = timed(|| fetch(variable, sample.ty, &start, &part.count))?;
        times.push(found.seconds);
        check(&found.value, &sample.part(&start, &part.count)?, &start, &part.count)?;
    }
    Ok(times)
}

fn fetch(variable: &Variable, ty: NcType, start: &[u64], count: &[u64]) -> Result<Buffer<u8>> {
    let slab = Slab::new(start, count);
    let len = byte_len(slab.len(), ty.size().unwrap_or(1))?;
    Buffer::fill(len, |out| variable.read(&slab, MemMut::Fixed { ty, out }))
}

/// Compares bits, so that NaN is equal to itself.
fn check(found: &[u8], written: &[u8], start: &[u64], count: &[u64]) -> Result<()> {
    if found == written {
        Ok(())
    } else {
        Err(ErrorKind::Internal.context(format!("read other data than was written: {count:?} at {start:?}")))
    }
}

/// Returns the bytes of all chunks of a variable. `None` if the map cannot list them.
fn stored(options: &OpenOptions, url: &str, name: &str) -> Result<Option<u64>> {
    let Some(map) = listing_map(options, url)? else { return Ok(None) };
    let keys = map.keys(&Key::new(name.trim_start_matches('/'))?)?;
    let is_document = |key: &&Key| key.name().starts_with('.') || key.name() == "zarr.json";
    let chunks = keys.iter().filter(|key| !is_document(key));
    Ok(Some(chunks.map(|key| Ok(map.len(key)?.unwrap_or(0))).sum::<Result<u64>>()?))
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
