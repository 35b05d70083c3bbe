//! The arguments of `ncz gen`.

use clap::ArgAction;

use crate::copy::kind::Kind;
use crate::help::OLD_TOOLS;

const EXAMPLES: &str = "\
Examples:
  ncz gen -o x.nc x.cdl                  make a netCDF-4 file
  ncz gen -o 'x.zarr#mode=zarr,v3' x.cdl  make a Zarr V3 store
  ncz dump x.nc | ncz gen -o y.zarr      read CDL from standard input";

/// Arguments of `gen`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct GenArgs {
    /// File with CDL text [default: standard input]
    pub input: Option<String>,
    /// Path or URL of the dataset [default: the name in the text with `.nc`]
    ///
    /// With the default name, the command replaces no dataset.
    #[arg(short = 'o', value_name = "URL")]
    pub output: Option<String>,
    /// Kind of the dataset [default: by the URL, its ending, or _Format in the text]
    ///
    /// classic (nc3, 1), 64-bit-offset (nc6, 2), cdf5 (nc5, 5), nc4 (netCDF-4, 3), nc4-classic (nc7, 4),
    /// nczarr or zarr.
    #[arg(short = 'k', visible_short_alias = 'v', value_name = "KIND")]
    pub kind: Option<Kind>,
    /// Like -k classic
    #[arg(short = '3', conflicts_with_all = ["kind", "offset64", "cdf5"])]
    pub classic: bool,
    /// Like -k 64-bit-offset
    #[arg(short = '6', conflicts_with_all = ["kind", "cdf5"])]
    pub offset64: bool,
    /// Like -k cdf5
    #[arg(short = '5', conflicts_with = "kind")]
    pub cdf5: bool,
    /// Use the netCDF-4 model: like -k nc4 for `.nc`, otherwise in the format of the URL
    #[arg(short = '4', conflicts_with_all = ["kind", "classic", "offset64", "cdf5"])]
    pub netcdf4: bool,
    /// Like -k nc4-classic
    #[arg(short = '7', conflicts_with_all = ["kind", "classic", "offset64", "cdf5", "netcdf4"])]
    pub netcdf4_classic: bool,
    /// Make the dataset. This is the default, except when called as ncgen
    #[arg(short = 'b', help_heading = OLD_TOOLS)]
    pub binary: bool,
    /// Make a dataset (b). Programs are not supported
    #[arg(short = 'l', help_heading = OLD_TOOLS, value_name = "b", value_parser = ["b", "binary"])]
    pub language: Option<String>,
    /// Do not write fill values where the text has no data, like _NoFill
    #[arg(short = 'x')]
    pub nofill: bool,
    /// Make the definitions only, without data
    #[arg(short = 'H')]
    pub header: bool,
    /// Like -b, with the ending `.cdf` for the default name
    #[arg(short = 'n', help_heading = OLD_TOOLS)]
    pub cdf: bool,
    /// No effect: sizes, levels and names
    #[arg(short = 'L', help_heading = OLD_TOOLS, visible_short_aliases = ['B', 'D', 'M', 'W'], value_name = "N")]
    pub ignored: Vec<String>,
    /// No effect: debugging, files built in memory
    #[arg(short = 'd', help_heading = OLD_TOOLS, visible_short_alias = 'P', action = ArgAction::Count)]
    pub ignored_switches: u8,
    /// Dataset name [default: the name in the text]
    #[arg(short = 'N', value_name = "NAME")]
    pub name: Option<String>,
    /// Replace an existing dataset
    ///
    /// The old dataset stays until the new dataset is complete, and after a failure. In S3, the command
    /// deletes it first.
    #[arg(long)]
    pub clobber: bool,
    /// Assume that no other process writes the target
    ///
    /// Needed for servers without conditional writes.
    #[arg(long)]
    pub exclusive: bool,
    /// Cut strings that are longer than _nczarr_maxstrlen. Without this flag they are errors
    #[arg(long)]
    pub truncate: bool,
    /// Check the definitions, and make nothing
    #[arg(long)]
    pub check: bool,
    /// Use the defaults of ncgen: a netCDF file with the name in the text
    #[arg(long, hide = true)]
    pub as_ncgen: bool,
}
