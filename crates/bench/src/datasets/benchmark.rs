//! [`Benchmark`]: the combinations to measure, and the loop over rounds and combinations.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use nczarr::{Error, ErrorKind, OpenOptions, Place, Registry, Result, Variable};

use crate::datasets::cell::RoundSettings;
use crate::datasets::joined;
use crate::datasets::reference::Reference;
use crate::datasets::target::ExistingVariable;
use crate::{AccessPattern, BenchReport, BenchTarget, Cell, Cleanup, FilterList, MachineTimes, Row, Sample};

/// The combinations to measure. Each method adds to an axis or replaces a setting.
///
/// The defaults: no filter; the usual chunk shapes of the sample ([`Sample::usual_chunks`]); all processors;
/// all access patterns; five rounds. At least one target is needed.
#[derive(Debug, Clone)]
pub struct Benchmark {
    sample: Sample,
    registry: Option<Arc<Registry>>,
    dir: Option<PathBuf>,
    targets: Vec<BenchTarget>,
    target_texts: Vec<String>,
    filters: Vec<FilterList>,
    filter_texts: Vec<String>,
    chunks: Vec<Vec<u64>>,
    threads: Vec<usize>,
    patterns: Vec<AccessPattern>,
    rounds: usize,
    cleanup: Cleanup,
}

/// A cell, its data, and the name of its datasets.
struct Job {
    cell: Cell,
    sample: Arc<Sample>,
    name: String,
}

impl Benchmark {
    /// Creates a benchmark of this data.
    pub fn new(sample: Sample) -> Self {
        Self {
            sample,
            registry: None,
            dir: None,
            targets: Vec::new(),
            target_texts: Vec::new(),
            filters: Vec::new(),
            filter_texts: Vec::new(),
            chunks: Vec::new(),
            threads: Vec::new(),
            patterns: AccessPattern::ALL.to_vec(),
            rounds: 5,
            cleanup: Cleanup::default(),
        }
    }

    /// Sets the plugins. The default is [`nczarr::registry`].
    #[must_use]
    pub fn registry(mut self, registry: impl Into<Arc<Registry>>) -> Self {
        self.registry = Some(registry.into());
        self
    }

    /// Sets the directory for the temporary datasets of targets that are names of maps. The default is the
    /// system's.
    #[must_use]
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// Adds a target.
    #[must_use]
    pub fn target(mut self, target: BenchTarget) -> Self {
        self.targets.push(target);
        self
    }

    /// Adds targets in the form of [`BenchTarget::parse`].
    #[must_use]
    pub fn targets<'t>(mut self, texts: impl IntoIterator<Item = &'t str>) -> Self {
        self.target_texts.extend(texts.into_iter().map(str::to_owned));
        self
    }

    /// Adds a list of filters.
    #[must_use]
    pub fn filter_list(mut self, filters: FilterList) -> Self {
        self.filters.push(filters);
        self
    }

    /// Adds lists of filters in the form of [`FilterList::parse`].
    #[must_use]
    pub fn filters<'t>(mut self, texts: impl IntoIterator<Item = &'t str>) -> Self {
        self.filter_texts.extend(texts.into_iter().map(str::to_owned));
        self
    }

    /// Adds a chunk shape. Lengths beyond the data are cut.
    #[must_use]
    pub fn chunks(mut self, shape: &[u64]) -> Self {
        self.chunks.push(shape.to_vec());
        self
    }

    /// Adds a number of threads of a transfer; 0: all processors.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads.push(threads);
        self
    }

    /// Sets the access patterns to time. The data are always written, except to targets that are only read.
    #[must_use]
    pub fn patterns(mut self, patterns: impl Into<Vec<AccessPattern>>) -> Self {
        self.patterns = patterns.into();
        self
    }

    /// Sets the number of rounds. A comparison with a baseline needs five.
    #[must_use]
    pub fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }

    /// Returns a handle that ends the run from another thread and deletes its datasets.
    pub fn cleanup(&self) -> Cleanup {
        self.cleanup.clone()
    }

    /// Measures all combinations and deletes their datasets.
    ///
    /// # Errors
    /// `NC_EINVAL` if there is no target or a chunk shape does not fit; errors of targets and filters; failed
    /// reads and writes, with the combination; `NC_EINTERNAL` if values differ after reading back.
    pub fn run(&self) -> Result<BenchReport> {
        let registry = self.registry.clone().map_or_else(nczarr::registry, Ok)?;
        let jobs = self.jobs(&registry)?;
        let parent = self.dir.clone().unwrap_or_else(std::env::temp_dir);
        let failed = |error| Error::io(parent.display().to_string(), error);
        let scratch = tempfile::Builder::new().prefix("ncz-bench-").tempdir_in(&parent).map_err(failed)?;
        let dir = scratch.path();
        let mut rounds = jobs.iter().map(|_| Vec::new()).collect::<Vec<_>>();
        let mut machine = MachineTimes::default();
        for round in 0..self.rounds {
            let mut references = Vec::new();
            for (job, rounds) in jobs.iter().zip(&mut rounds) {
                let settings = RoundSettings {
                    registry: &registry,
                    dir,
                    name: &job.name,
                    patterns: &self.patterns,
                    cleanup: &self.cleanup,
                    inspects: round == 0,
                };
                let results = job.cell.measure(&job.sample, &settings);
                rounds.push(results.map_err(|error| error.at(&job.cell))?);
                references.push(Reference::measure(dir).map_err(failed)?);
            }
            machine.add_round(&references);
        }
        let rows = jobs.iter().zip(rounds).map(|(job, rounds)| Row::new(&job.cell, &job.sample, &rounds));
        let report = BenchReport::new(&self.sample, self.rounds, machine, rows.collect());
        scratch.close().map_err(failed)?;
        Ok(report)
    }

    /// Returns each combination once.
    fn jobs(&self, registry: &Arc<Registry>) -> Result<Vec<Job>> {
        let parsed = self.target_texts.iter().map(|text| BenchTarget::parse(text, registry));
        let targets = self.targets.iter().cloned().map(Ok).chain(parsed).collect::<Result<Vec<_>>>()?;
        let parsed = self.filter_texts.iter().map(|text| FilterList::parse(registry, text));
        let mut filters = self.filters.iter().cloned().map(Ok).chain(parsed).collect::<Result<Vec<_>>>()?;
        if filters.is_empty() {
            filters.push(FilterList::new("none", Vec::new()));
        }
        let chunks = self.chunk_shapes()?;
        let threads: &[usize] = if self.threads.is_empty() { &[0] } else { &self.threads };
        if targets.is_empty() {
            return Err(ErrorKind::Inval.context("benchmark: no target; name a map, a path or a URL"));
        }
        let name = temporary_name();
        let all = Arc::new(self.sample.clone());
        let mut jobs: Vec<Job> = Vec::new();
        for (index, target) in targets.iter().enumerate() {
            let mut add = |filters: FilterList, chunks: Vec<u64>, sample: &Arc<Sample>| {
                for &threads in threads {
                    let cell = Cell::new(target.clone(), filters.clone(), chunks.clone(), threads);
                    if jobs.iter().all(|job| job.cell != cell) {
                        jobs.push(Job { cell, sample: Arc::clone(sample), name: format!("{name}-{index}") });
                    }
                }
            };
            match target.existing_variable() {
                Some(existing) => {
                    let variable = find(registry, existing).map_err(|error| error.at(target.label()))?;
                    let sample = Arc::new(Sample::of(&variable, self.sample.bytes.len() as u64)?);
                    let chunks = variable.chunk_shape()?.unwrap_or_else(|| sample.shape.clone());
                    add(FilterList::of_variable(variable.filters()), chunks, &sample);
                }
                None => {
                    for filters in &filters {
                        chunks.iter().for_each(|chunks| add(filters.clone(), chunks.clone(), &all));
                    }
                }
            }
        }
        Ok(jobs)
    }

    fn chunk_shapes(&self) -> Result<Vec<Vec<u64>>> {
        if self.chunks.is_empty() {
            return Ok(self.sample.usual_chunks());
        }
        let rank = self.sample.shape.len();
        if let Some(shape) = self.chunks.iter().find(|shape| shape.len() != rank || shape.contains(&0)) {
            return Err(ErrorKind::Inval.context(format!(
                "chunk shape {}: does not fit the data (expected {rank} lengths above 0); give another shape",
                joined(shape)
            )));
        }
        let cut = |shape: &Vec<u64>| shape.iter().zip(&self.sample.shape).map(|(&a, &b)| a.min(b)).collect();
        Ok(self.chunks.iter().map(cut).collect())
    }
}

/// Returns the variable of an existing dataset.
fn find(registry: &Arc<Registry>, existing: &ExistingVariable) -> Result<Variable> {
    let file = OpenOptions::new().registry(Arc::clone(registry)).open(Place::url(&existing.url))?;
    match &existing.variable {
        Some(path) => file.variable(path),
        None => match file.variables().as_slice() {
            [only] => Ok(only.clone()),
            all => {
                let names: Vec<String> = all.iter().map(Variable::full_name).collect();
                Err(ErrorKind::NotVar.context(format!("which variable? There are: {}", names.join(", "))))
            }
        },
    }
}

/// Returns a name that no other run uses.
fn temporary_name() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("ncz-bench-{}-{:x}", std::process::id(), since.as_nanos())
}
