//! `ncz bench`: writes and reads the same data through every combination of storage map, filters and chunk
//! shape.
//!
//! Each combination has a temporary store. The command writes it, times it, compares the values and deletes
//! it. One round visits all combinations, so that a busy moment of the machine affects all of them. The table
//! shows medians over the rounds. Read [`Sample`] (the data), [`Cell`] (one combination) and [`Row`] (its
//! figures) first.

mod cell;
mod report;
mod sample;
mod scratch_dir;

use std::path::PathBuf;

use clap::Args;
use nczarr::{FilterSpec, Registry};

use crate::copy::spec;
use crate::failure::{Failure, at};
use crate::output::Output;
use cell::{Cell, Map};
use report::Row;
use sample::Sample;
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
    /// Storage maps to compare: file, mem
    #[arg(long, value_name = "MAP,…", value_delimiter = ',', default_value = "file,mem")]
    pub maps: Vec<String>,
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
    /// Chunk shapes to compare. The default is the variable's own, a cube and a slab
    #[arg(long, value_name = "NxN…,…", value_delimiter = ',')]
    pub chunks: Vec<String>,
    /// Number of rounds
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: u32,
    /// Threads of a transfer; 0 uses all processors
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Directory of the temporary stores, which are deleted afterwards
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Draw bars instead of a table
    #[arg(long, conflicts_with = "json")]
    pub plot: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Times all combinations and prints the table.
///
/// # Errors
/// Invalid flags, failed reads or writes, and values that differ after reading back.
pub fn run(args: &Bench) -> Result<(), Failure> {
    let failed = at("bench");
    // Before the first thread of a transfer starts: all of them must leave signals to the one that cleans up.
    let place = ScratchDir::new(args.dir.as_deref()).map_err(&failed)?;
    let sample = match &args.url {
        Some(url) => {
            Sample::of(url, args.var.as_deref(), args.size.saturating_mul(1 << 20)).map_err(at(url))?
        }
        None => Sample::generated(&shape(&args.shape, "shape")?).map_err(&failed)?,
    };
    let cells = cells(args, &sample)?;
    let mut taken = vec![Vec::new(); cells.len()];
    for _ in 0..args.repeats {
        for (cell, taken) in cells.iter().zip(&mut taken) {
            let one = cell.measure(&sample, &place, args.threads);
            taken.push(one.map_err(|error| failed(error.at(cell)))?);
        }
    }
    let rows: Vec<Row> = cells.iter().zip(&taken).map(|(cell, taken)| Row::new(cell, taken)).collect();
    place.close().map_err(&failed)?;
    let text = match (args.json, args.plot) {
        (true, _) => report::json(args, &sample, &rows),
        (false, true) => report::plot(args, &sample, &rows),
        (false, false) => report::table(args, &sample, &rows),
    };
    let mut out = Output::standard();
    out.put(text).and_then(|()| out.finish()).map_err(failed)
}

/// Returns each requested combination once.
fn cells(args: &Bench, sample: &Sample) -> Result<Vec<Cell>, Failure> {
    let registry = nczarr::registry().map_err(at("bench"))?;
    let chunks = match args.chunks.as_slice() {
        [] => sample.usual_chunks(),
        given => given.iter().map(|text| chunk_shape(text, sample)).collect::<Result<_, _>>()?,
    };
    let maps: Vec<Map> = args.maps.iter().map(|name| Map::of(name)).collect::<Result<_, _>>()?;
    let pipelines: Vec<_> =
        args.filters.iter().map(|text| pipeline(&registry, text)).collect::<Result<_, _>>()?;
    let mut cells: Vec<Cell> = Vec::new();
    for &map in &maps {
        for (label, filters) in &pipelines {
            for chunks in &chunks {
                let cell =
                    Cell { map, label: label.clone(), filters: filters.clone(), chunks: chunks.clone() };
                if !cells.contains(&cell) {
                    cells.push(cell);
                }
            }
        }
    }
    Ok(cells)
}

/// Parses a list of filters. Returns it with its name in the results.
fn pipeline(registry: &Registry, text: &str) -> Result<(String, Vec<FilterSpec>), Failure> {
    let filters =
        spec::filters(registry, text).map_err(|what| Failure::Usage(format!("--filter {text}: {what}")))?;
    Ok((text.to_owned(), filters))
}

fn chunk_shape(text: &str, sample: &Sample) -> Result<Vec<u64>, Failure> {
    let lengths = shape(text, "chunks")?;
    if lengths.len() != sample.shape.len() {
        let (given, rank) = (lengths.len(), sample.shape.len());
        let what =
            format!("--chunks {text}: {given} lengths (joined by x), {} has {rank} dimensions", sample.name);
        return Err(Failure::Usage(what));
    }
    Ok(lengths.iter().zip(&sample.shape).map(|(&length, &most)| length.min(most)).collect())
}

fn shape(text: &str, flag: &str) -> Result<Vec<u64>, Failure> {
    let lengths = text.split('x').map(spec::length).collect::<Result<_, _>>();
    lengths.map_err(|what| Failure::Usage(format!("--{flag} {text}: {what}")))
}

/// Parses a shape such as 4x5x6.
fn joined(shape: &[u64]) -> String {
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}
