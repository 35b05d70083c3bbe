//! The command line: the list of commands. Each command has its arguments in its own module.

use clap::{Parser, Subcommand};

use crate::bench::Bench;
use crate::cat::CatArgs;
use crate::completions::CompletionsArgs;
use crate::copy::CopyArgs;
use crate::diff::DiffArgs;
use crate::dump::DumpArgs;
use crate::explain::ExplainArgs;
use crate::generate::GenArgs;
use crate::info::InfoArgs;
use crate::man::ManArgs;
use crate::map::MapCommand;
use crate::plugins::PluginsArgs;
use crate::remove::RmArgs;
use crate::repack::RepackArgs;
use crate::validate::ValidateArgs;
use crate::view::ViewArgs;

const EXAMPLES: &str = "\
Examples:
  ncz dump -h x.nc                        print the header
  ncz copy x.nc 'x.zarr#mode=zarr,v3'     convert to Zarr V3
  ncz validate --deep s3://bucket/x.zarr  check every chunk

'ncz COMMAND --help' explains a command.";

/// Reads, converts and checks netCDF datasets: NCZarr, Zarr, classic and netCDF-4 files.
///
/// A dataset has a path or URL. The part of a URL behind `#` chooses the format and the storage:
/// x.zarr#mode=zarr,v3
#[derive(Debug, Parser)]
#[command(name = "ncz", version, after_help = EXAMPLES)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// Log to standard error: 1 errors, 5 also calls, 9 also operations on storage [env: NCTRACING]
    #[arg(long, global = true, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "5")]
    pub trace: Option<i32>,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print a dataset as CDL, NcML or JSON
    Dump(DumpArgs),
    /// Make a dataset from CDL text
    Gen(GenArgs),
    /// Convert, rechunk or recompress a dataset
    Copy(CopyArgs),
    /// Print the stored values of a variable
    Cat(CatArgs),
    /// Describe a dataset
    Info(InfoArgs),
    /// Explain how ncz recognises the format of a path or URL
    Explain(ExplainArgs),
    /// Delete a dataset
    Rm(RmArgs),
    /// Rewrite a zip archive without the gaps that changes left
    Repack(RepackArgs),
    /// Compare two datasets of any formats
    Diff(DiffArgs),
    /// Find damage in a dataset
    Validate(ValidateArgs),
    /// Draw a variable in the terminal, or a dataset as an HTML page
    View(ViewArgs),
    /// List, print, write or delete the objects of a store
    #[command(subcommand)]
    Map(MapCommand),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Print the manual, or write all its pages to a folder
    Man(ManArgs),
    /// List the formats, storage and filters of this build
    Plugins(PluginsArgs),
    /// Compare the speed of storage, filters and chunk shapes on your data
    Bench(Box<Bench>),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_flags_are_consistent() {
        Cli::command().debug_assert();
    }
}
