//! `fuzz TARGET|all` runs fuzz targets in separate processes and prints the number of cases of each.
//!
//! A worker runs cases one after another and keeps the number of the present case in a file. So the
//! supervisor knows a case that ends the process or does not end. Target, seed and number determine a case.
//! The supervisor runs no cases; it makes a failed case again and saves its input. The allocator counts the
//! memory of Rust code. The column `resident` also shows the memory of C code.
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
    /// The target, `all`, or `list`; a name that ends in `/` selects all targets that begin with it
    target: String,
    /// Cases per target.
    #[arg(long, default_value_t = 10_000)]
    runs: u64,
    /// Seed of the cases; seed and number determine a case
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of the first case.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Seconds after which a target stops
    #[arg(long)]
    seconds: Option<u64>,
    /// Processes at once.
    #[arg(long, default_value_t = 1)]
    jobs: u64,
    /// Folder for the inputs of failures, with one folder for each
    #[arg(long, default_value = "target/fuzz-failures")]
    save: PathBuf,
    /// Runs as a worker and keeps the number of the present case in this file
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
