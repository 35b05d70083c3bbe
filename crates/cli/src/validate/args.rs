//! The arguments of `ncz validate`.

const NOTES: &str = "\
Example:
  ncz validate --deep x.zarr

Exit codes: 0 the dataset can be read, 1 it is damaged. Absent chunks are not damage: they read as the
fill value. To find them, read with #missing_chunks=error.";

/// Arguments of `validate`.
#[derive(Debug, clap::Args)]
#[command(after_help = NOTES)]
pub struct ValidateArgs {
    /// Path or URL
    pub url: String,
    /// Read and decode every chunk
    #[arg(long)]
    pub deep: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
