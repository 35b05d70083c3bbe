//! `ncz bench`: writes and reads the same data through every combination of storage, filters, chunk shape and
//! threads.
//!
//! The library `nczarr_bench` measures. This module reads the flags, and prints and saves the results. Read
//! [`Benchmark`] first.

mod flags;
mod scratch_dir;

use std::path::{Path, PathBuf};

use clap::Args;
use nczarr::Place;
use nczarr::model::{Error, Result};
use nczarr_bench::{Baseline, BenchReport, Benchmark, Sample};

use crate::cat;
use crate::failure::{Failure, at};
use crate::output::Output;
use scratch_dir::ScratchDir;

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub struct Bench {
    /// Path or URL of a dataset. The default is a generated field: smooth, with some noise
    pub url: Option<String>,
    /// Variable, as /group/var. Optional if the root group has only one
    pub var: Option<String>,
    /// Shape of the generated field of floats
    #[arg(long, value_name = "NxN…", default_value = "64x256x256", conflicts_with = "url")]
    pub shape: String,
    /// Use at most this many MiB of the variable, from its start
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    pub size: u64,
    /// Storage maps to compare, by name; `ncz plugins` lists them. The default is file,mem without --targets
    #[arg(long, value_name = "MAP,…", value_delimiter = ',')]
    pub maps: Vec<String>,
    /// Places to compare: s3://bucket/prefix, a directory, x.zip, or for reading https://host/x.zarr
    ///
    /// The command writes temporary datasets below or beside the place, and deletes them afterwards. From a
    /// web server it only reads: the variable VAR, or the only variable. A URL with # needs its own flag
    /// --targets.
    #[arg(long, value_name = "URL,…")]
    pub targets: Vec<String>,
    /// Filters to compare, as `ncz copy -F` takes them: `name[,param…]`, several joined by `|`, or `none`
    ///
    /// Each use of the flag adds one row to the comparison: -F none -F 'shuffle|zstd,3'.
    #[arg(
        short = 'F',
        long = "filter",
        value_name = "SPEC",
        default_values = ["none", "shuffle|deflate,5", "zstd,3", "shuffle|zstd,1"]
    )]
    pub filters: Vec<String>,
    /// Chunk shapes to compare. The default is the variable's own shape, a cube and a slab
    #[arg(long, value_name = "NxN…,…", value_delimiter = ',')]
    pub chunks: Vec<String>,
    /// Number of rounds. A comparison with a baseline needs 5
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: u32,
    /// Threads of a transfer, to compare; 0 uses all processors
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "0")]
    pub threads: Vec<usize>,
    /// Directory for the temporary stores of --maps. The command deletes them afterwards
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Save the results as JSON, for --baseline
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Compare with saved results: faster, slower, or cannot tell
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write a page with plots and all figures
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Draw bars instead of a table
    #[arg(long, conflicts_with_all = ["json", "percentiles"])]
    pub plot: bool,
    /// Print p50, p95, p99, minimum and spread of each access instead of a table of medians
    #[arg(long, conflicts_with = "json")]
    pub percentiles: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Times all combinations, prints the table, and saves the results.
///
/// # Errors
/// Invalid flags, failed reads or writes, and values that differ after reading back.
pub fn run(args: &Bench) -> Result<(), Failure> {
    let failed = at("bench");
    let baseline = args.baseline.as_deref().map(saved).transpose()?;
    // Before the first thread of a transfer starts: all of them must leave signals to the one that cleans up.
    let place = ScratchDir::new(args.dir.as_deref()).map_err(&failed)?;
    let sample = sample(args)?;
    baseline.iter().try_for_each(|baseline| baseline.check(&sample)).map_err(&failed)?;
    let benchmark = benchmark(args, sample)?.dir(place.path());
    place.clean_on_signal(benchmark.cleanup());
    let mut report = benchmark.run().map_err(&failed)?;
    place.close().map_err(&failed)?;
    if let Some(baseline) = baseline {
        report.compare(&baseline);
    }
    for (path, text) in [(&args.save, BenchReport::json as fn(&_) -> _), (&args.html, BenchReport::html)] {
        if let Some(path) = path {
            let name = path.display().to_string();
            std::fs::write(path, text(&report)).map_err(|error| at(&name)(Error::io(&name, error)))?;
        }
    }
    let mut out = Output::standard();
    out.put(printed(args, &report)).and_then(|()| out.finish()).map_err(failed)
}

fn printed(args: &Bench, report: &BenchReport) -> String {
    if args.json {
        report.json()
    } else if args.plot {
        report.plot()
    } else if args.percentiles {
        report.details()
    } else {
        report.table()
    }
}

/// Reads saved results.
fn saved(path: &Path) -> Result<Baseline, Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| Error::io(&name, error));
    text.and_then(|text| Baseline::parse(&text)).map_err(at(&name))
}

fn sample(args: &Bench) -> Result<Sample, Failure> {
    let Some(url) = &args.url else {
        return Sample::generated(&flags::shape(&args.shape, "shape")?).map_err(at("bench"));
    };
    let read = || {
        let file = nczarr::open(Place::url(url))?;
        let id = cat::find(&file.model(), args.var.as_deref())?;
        Sample::of(&file.variable_by_id(id)?, args.size.saturating_mul(1 << 20))
    };
    read().map_err(at(url))
}

/// Returns the requested combinations.
fn benchmark(args: &Bench, sample: Sample) -> Result<Benchmark, Failure> {
    let registry = nczarr::registry().map_err(at("bench"))?;
    let chunks =
        args.chunks.iter().map(|text| flags::chunk_shape(text, &sample)).collect::<Result<Vec<_>, _>>()?;
    let mut benchmark = Benchmark::new(sample).registry(registry.clone()).rounds(args.repeats as usize);
    for target in flags::targets(args, &registry)? {
        benchmark = benchmark.target(target);
    }
    for text in &args.filters {
        benchmark = benchmark.filter_list(flags::filter_list(&registry, text)?);
    }
    for shape in &chunks {
        benchmark = benchmark.chunks(shape);
    }
    for &threads in &args.threads {
        benchmark = benchmark.threads(threads);
    }
    Ok(benchmark)
}
