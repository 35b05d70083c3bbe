//! The arguments of `ncz view`.

use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ncz view x.nc sst --at time=3      draw one time step
  ncz view x.nc --html x.html        a page of the whole dataset";

/// The largest number of columns or lines.
const MAX_CELLS: usize = 1000;

/// Arguments of `view`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ViewArgs {
    /// Path or URL
    pub url: String,
    /// Variable, as /group/var [default: the one with the most dimensions]
    pub var: Option<String>,
    /// Index along a dimension that is not drawn: time=3 [default: 0]
    #[arg(long, value_name = "DIM=I,…", value_delimiter = ',', value_parser = dim_index)]
    pub at: Vec<(String, u64)>,
    /// Width in characters
    #[arg(long, value_name = "N", default_value_t = 72, value_parser = cells)]
    pub width: usize,
    /// Height in lines
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = cells)]
    pub height: usize,
    /// Use colours [default: in a terminal, unless NO_COLOR is set]
    #[arg(long, value_name = "BOOL")]
    pub color: Option<bool>,
    /// Write an HTML page with the tree and small pictures to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

fn cells(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(cells @ 1..=MAX_CELLS) => Ok(cells),
        _ => Err(format!("expected a number of characters from 1 to {MAX_CELLS}, found {text:?}")),
    }
}

fn dim_index(text: &str) -> Result<(String, u64), String> {
    let (dim, index) =
        text.rsplit_once('=').ok_or_else(|| format!("expected dimension=index, found {text:?}"))?;
    Ok((dim.to_owned(), index.parse().map_err(|_| format!("expected an index, found {index:?}"))?))
}
