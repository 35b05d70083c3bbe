//! `ncz bench compare`: the same data through every combination of map, filters and chunk shape.
//!
//! Each combination is a store of its own in a temporary place: written, timed, compared with what was written, and
//! deleted. A round goes over all combinations, so that a busy moment of the machine falls on all of them; what is told
//! are medians over the rounds. Read [`Sample`] (the data), [`Cell`] (one combination) and [`Row`] (what it took) first.

mod cell;
mod place;
mod report;
mod sample;

use std::path::PathBuf;

use clap::Args;
use nczarr::{FilterSpec, Registry};

use crate::copy::spec;
use crate::failure::{Failure, at};
use crate::output::Output;
use cell::{Cell, Map};
use place::Place;
use report::Row;
use sample::Sample;

/// Arguments of `bench compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// Path or URL of a dataset; without it, a field is generated: smooth, with some noise, rounded to 1/128
    pub url: Option<String>,
    /// Its variable, as /group/var; may be left out if there is only one at the root
    pub var: Option<String>,
    /// Shape of the generated field of floats
    #[arg(long, value_name = "NxN…", default_value = "64x256x256", conflicts_with = "url")]
    pub shape: String,
    /// Take at most so many MiB of the variable, from its start
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    pub size: u64,
    /// Where the data is written to: file, mem
    #[arg(long, value_name = "MAP,…", value_delimiter = ',', default_value = "file,mem")]
    pub maps: Vec<String>,
    /// Filters, as `copy --filter` takes them, with `+` for `|` and `:` for `,`: name[:param…], several joined by +; or
    /// none
    #[arg(
        long,
        value_name = "SPEC,…",
        value_delimiter = ',',
        default_value = "none,shuffle+deflate:5,zstd:3,shuffle+zstd:1"
    )]
    pub filters: Vec<String>,
    /// Chunk shapes; if not given: the variable's own, a cube and a slab
    #[arg(long, value_name = "NxN…,…", value_delimiter = ',')]
    pub chunks: Vec<String>,
    /// How often each combination is timed
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: u32,
    /// Threads a transfer may use; 0: as many as the system offers
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Where the temporary stores go; the system's temporary directory if not given. Nothing of them stays
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Draw bars instead of the table
    #[arg(long, conflicts_with = "json")]
    pub plot: bool,
    /// Print JSON instead of the table
    #[arg(long)]
    pub json: bool,
}

/// Times all combinations and prints what they took.
///
/// # Errors
/// Flags that make no sense, what cannot be read or written, and data that comes back other than it was written.
pub fn run(args: &Compare) -> Result<(), Failure> {
    let failed = at("bench compare");
    // Before the first thread of a transfer starts: all of them must leave signals to the one that cleans up.
    let place = Place::new(args.dir.as_deref()).map_err(&failed)?;
    let sample = match &args.url {
        Some(url) => Sample::of(url, args.var.as_deref(), args.size.saturating_mul(1 << 20)).map_err(at(url))?,
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

/// Every combination asked for, each once.
fn cells(args: &Compare, sample: &Sample) -> Result<Vec<Cell>, Failure> {
    let registry = nczarr::registry().map_err(at("bench compare"))?;
    let chunks = match args.chunks.as_slice() {
        [] => sample.usual_chunks(),
        given => given.iter().map(|text| chunk_shape(text, sample)).collect::<Result<_, _>>()?,
    };
    let maps: Vec<Map> = args.maps.iter().map(|name| Map::of(name)).collect::<Result<_, _>>()?;
    let pipelines: Vec<_> = args.filters.iter().map(|text| pipeline(&registry, text)).collect::<Result<_, _>>()?;
    let mut cells: Vec<Cell> = Vec::new();
    for &map in &maps {
        for (label, filters) in &pipelines {
            for chunks in &chunks {
                let cell = Cell { map, label: label.clone(), filters: filters.clone(), chunks: chunks.clone() };
                if !cells.contains(&cell) {
                    cells.push(cell);
                }
            }
        }
    }
    Ok(cells)
}

/// A list of filters, and what it is called in the results.
fn pipeline(registry: &Registry, text: &str) -> Result<(String, Vec<FilterSpec>), Failure> {
    let filters = spec::filters(registry, &text.replace('+', "|").replace(':', ","))
        .map_err(|what| Failure::Usage(format!("--filters {text}: {what}")))?;
    Ok((text.replace('|', "+"), filters))
}

fn chunk_shape(text: &str, sample: &Sample) -> Result<Vec<u64>, Failure> {
    let lengths = shape(text, "chunks")?;
    if lengths.len() != sample.shape.len() {
        let (given, rank) = (lengths.len(), sample.shape.len());
        let what = format!("--chunks {text}: {given} lengths (joined by x), {} has {rank} dimensions", sample.name);
        return Err(Failure::Usage(what));
    }
    Ok(lengths.iter().zip(&sample.shape).map(|(&length, &most)| length.min(most)).collect())
}

fn shape(text: &str, flag: &str) -> Result<Vec<u64>, Failure> {
    let lengths = text.split('x').map(spec::length).collect::<Result<_, _>>();
    lengths.map_err(|what| Failure::Usage(format!("--{flag} {text}: {what}")))
}

/// A shape, as it is typed.
fn joined(shape: &[u64]) -> String {
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}
