//! The arguments of `ncz diff`.

const NOTES: &str = "\
Example:
  ncz diff --tolerance 1e-6 x.nc x.zarr

Exit codes: 0 equal, 1 different, 2 failure. Chunks and filters are not compared.";

/// Arguments of `diff`.
#[derive(Debug, clap::Args)]
#[command(after_help = NOTES)]
pub struct DiffArgs {
    /// Path or URL
    pub left: String,
    /// Path or URL of the other dataset
    pub right: String,
    /// Numbers are equal up to this difference
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    pub tolerance: f64,
    /// Adds this part of the larger number to --tolerance
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    pub relative: f64,
    /// Compare these variables only: names or paths
    #[arg(short = 'v', long, value_name = "VAR,…")]
    pub vars: Option<String>,
    /// Compare definitions only, no values
    #[arg(long)]
    pub header: bool,
    /// Number of differing values to print for each variable
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub limit: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
