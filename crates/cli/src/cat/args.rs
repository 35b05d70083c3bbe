//! The arguments of `ncz cat`.

use std::path::PathBuf;

use clap::ValueEnum;

const EXAMPLES: &str = "\
Examples:
  ncz cat x.nc /t --format text                       all values as text
  ncz cat x.nc /t --start 0,10 --count 1,5 -o t.npy   a slab for NumPy";

/// Arguments of `cat`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CatArgs {
    /// Path or URL
    pub url: String,
    /// Variable, as /group/var. Optional if the root group has only one
    pub var: Option<String>,
    /// First index of each dimension [default: 0]
    #[arg(long, value_name = "I,…", value_delimiter = ',')]
    pub start: Option<Vec<u64>>,
    /// Number of elements along each dimension [default: all]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub count: Option<Vec<u64>>,
    /// Step along each dimension [default: 1]
    #[arg(long, value_name = "S,…", value_delimiter = ',')]
    pub stride: Option<Vec<u64>>,
    /// Output format [default: npy; json for elements of variable length]
    #[arg(long, value_enum)]
    pub format: Option<CatFormat>,
    /// Output file [default: standard output]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Output formats of `cat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CatFormat {
    /// NumPy's file format, in C order, little-endian
    Npy,
    /// One row of values per line
    Text,
    /// {"shape": […], "values": […]}, flat, in C order
    Json,
    /// The elements only, in C order, little-endian
    Raw,
}
