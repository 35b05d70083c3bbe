//! The arguments of `ncz dump`.

use clap::{ArgAction, ValueEnum};

use crate::help::OLD_TOOLS;

const EXAMPLES: &str = "\
Examples:
  ncz dump -h x.nc            print the header
  ncz dump -s -h x.zarr       with chunks, filters and byte order
  ncz dump -t -v time x.nc    print the data of time as dates
  ncz dump --json x.zarr      print everything as JSON";

/// The largest number of significant digits.
const MAX_DIGITS: usize = 20;

/// Arguments of `dump`. `-h` prints the header, like ncdump.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, after_help = EXAMPLES)]
pub struct DumpArgs {
    /// Print the header only
    #[arg(short = 'h', conflicts_with = "coordinates")]
    pub header: bool,
    /// Print the header and the data of coordinate variables
    #[arg(short = 'c')]
    pub coordinates: bool,
    /// Print the data of these variables only: paths (/group/var), or names in any group
    #[arg(short = 'v', value_name = "VAR,…")]
    pub vars: Option<String>,
    /// Dataset name to print after `netcdf`
    #[arg(short = 'n', value_name = "NAME")]
    pub name: Option<String>,
    /// Significant digits of floats and doubles
    #[arg(short = 'p', value_name = "F[,D]", value_parser = digits)]
    pub precision: Option<(usize, Option<usize>)>,
    /// Print special attributes too: storage, chunks, filters, byte order
    #[arg(short = 's')]
    pub special: bool,
    /// Print only the kind of file: classic, 64-bit offset, cdf5, netCDF-4, netCDF-4 classic model
    #[arg(short = 'k')]
    pub kind: bool,
    /// Print only the extended kind, with the mode flags of netCDF-C: `HDF5 mode=00001000`
    #[arg(short = 'K', conflicts_with = "kind")]
    pub extended_kind: bool,
    /// Print the data of these groups only, without their subgroups: names or paths
    #[arg(short = 'g', value_name = "GROUP,…")]
    pub groups: Option<String>,
    /// Print times as dates, by the CF attributes units and calendar: `2000-01-01 06:30`
    #[arg(short = 't')]
    pub times: bool,
    /// Like -t, with a T between date and time
    #[arg(short = 'i')]
    pub iso: bool,
    /// Print a comment with the indices before each row, in C or Fortran order
    #[arg(short = 'b', value_name = "c|f", value_enum, ignore_case = true, conflicts_with = "elements")]
    pub rows: Option<Language>,
    /// Print one line for each element, with a comment of its indices
    #[arg(short = 'f', value_name = "c|f", value_enum, ignore_case = true)]
    pub elements: Option<Language>,
    /// Length of data lines in bytes [default: 80]
    #[arg(short = 'l', value_name = "BYTES", value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub line: Option<u32>,
    /// Print the header as NcML
    #[arg(short = 'x', conflicts_with_all = ["json", "kind", "extended_kind"])]
    pub xml: bool,
    /// Print one JSON document. With -t or -i, times are dates
    #[arg(long, conflicts_with_all = ["kind", "extended_kind"])]
    pub json: bool,
    /// Print filters as the special attribute _Filter, also deflate, shuffle and fletcher32
    #[arg(short = 'F')]
    pub filters: bool,
    /// No effect
    #[arg(short = 'w', help_heading = OLD_TOOLS)]
    pub cached: bool,
    /// Like --trace=N
    #[arg(short = 'L', value_name = "N", help_heading = OLD_TOOLS)]
    pub log: Option<i32>,
    /// Omit _NCProperties (p), or print the type of _FillValue attributes (F)
    #[arg(short = 'X', value_name = "p|F", value_enum, ignore_case = true)]
    pub extras: Vec<Extra>,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    pub help: Option<bool>,
    /// Path or URL
    pub url: String,
}

/// Small changes to the output of `dump`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Extra {
    /// Omit _NCProperties
    #[value(name = "p")]
    NoProperties,
    /// Print the type of _FillValue attributes
    #[value(name = "F")]
    FillTypes,
}

/// The language whose index order comments use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// From 0, the last index varies fastest
    #[value(name = "c")]
    C,
    /// From 1, the first index varies fastest
    #[value(name = "f")]
    Fortran,
}

fn digits(text: &str) -> Result<(usize, Option<usize>), String> {
    let one = |text: &str| match text.trim().parse() {
        Ok(digits @ 1..=MAX_DIGITS) => Ok(digits),
        _ => Err(format!("expected a number of digits from 1 to {MAX_DIGITS}, found {text:?}")),
    };
    match text.split_once(',') {
        Some((float, double)) => Ok((one(float)?, Some(one(double)?))),
        None => Ok((one(text)?, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_one_or_two_small_numbers() {
        assert_eq!(digits("9"), Ok((9, None)));
        assert_eq!(digits("9,17"), Ok((9, Some(17))));
        for bad in ["", "0", "21", "9,", ",9", "9,17,3", "x", "-1"] {
            assert!(digits(bad).is_err(), "{bad:?}");
        }
    }
}
