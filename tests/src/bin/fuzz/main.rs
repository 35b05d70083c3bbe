//! `fuzz TARGET|all`: runs fuzz targets in processes of their own, and says how many cases each has seen.
//!
//! A worker runs cases one after another and keeps the number of the one it is at in a file, so that a case
//! that ends the process, or does not end itself, is known. A case is made again from target, seed and
//! number: its input is saved by this process, which runs none. Memory that Rust code takes is counted; what
//! C code takes is seen in `resident`.
#![deny(unsafe_code)]

#[path = "../../../hostile/alloc.rs"]
#[allow(unsafe_code)]
mod alloc;
mod supervise;
mod worker;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

/// Runs fuzz targets.
#[derive(Parser, Clone)]
struct Args {
    /// The target, `all`, or `list`; a name that ends in `/` means all that begin with it.
    target: String,
    /// Cases per target.
    #[arg(long, default_value_t = 10_000)]
    runs: u64,
    /// What the cases are made of, with their numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of the first case.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Seconds after which a target is left as it is.
    #[arg(long)]
    seconds: Option<u64>,
    /// Processes at once.
    #[arg(long, default_value_t = 1)]
    jobs: u64,
    /// Where inputs of failures are saved, one folder each.
    #[arg(long, default_value = "target/fuzz-failures")]
    save: PathBuf,
    /// Works for another of these; keeps its place in this file.
    #[arg(long, hide = true)]
    place: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.place {
        Some(place) => worker::work(&args, place),
        None => supervise::all(&args),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}
