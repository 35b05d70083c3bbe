//! The command line: commands, flags and their values.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use crate::copy::kind::Kind;
use crate::examples::{
    CAT_EXAMPLES, CLI_EXAMPLES, COPY_EXAMPLES, DIFF_NOTES, DUMP_EXAMPLES, GEN_EXAMPLES, VALIDATE_NOTES,
    VIEW_EXAMPLES,
};

/// The heading of flags that exist so that command lines of netCDF-C's tools work.
const OLD: &str = "Compatibility with netCDF-C";

/// Reads, converts and checks netCDF datasets: NCZarr, Zarr, classic and netCDF-4 files.
///
/// A dataset has a path or URL. The part of a URL behind `#` chooses the format and the storage:
/// x.zarr#mode=zarr,v3
#[derive(Debug, Parser)]
#[command(name = "ncz", version, after_help = CLI_EXAMPLES)]
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
    Dump(Dump),
    /// Make a dataset from CDL text
    Gen(Generate),
    /// Convert, rechunk or recompress a dataset
    Copy(Copy),
    /// Print the stored values of a variable
    Cat(Cat),
    /// Describe a dataset
    Info(Info),
    /// Explain how the format of a path or URL is recognised
    Explain {
        /// Path or URL
        url: String,
    },
    /// Delete a dataset
    Rm(Remove),
    /// Rewrite a zip archive without the gaps that changes left
    Repack {
        /// Path or URL
        url: String,
    },
    /// Compare two datasets of any formats
    Diff(Diff),
    /// Find damage in a dataset
    Validate(Validate),
    /// Draw a variable in the terminal, or a dataset as an HTML page
    View(View),
    /// List, print, write or delete the objects of a store
    #[command(subcommand)]
    Map(MapCommand),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual, or write all its pages to a folder
    Man(Man),
    /// List the formats, storage and filters of this build
    Plugins {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Compare the speed of storage, filters and chunk shapes on your data
    Bench(Box<crate::bench::Bench>),
}

/// Arguments of `rm`.
#[derive(Debug, Args)]
pub struct Remove {
    /// Path or URL
    pub url: String,
    /// Delete the directory even if it holds other files. Without this flag, nothing is deleted then
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `dump`. `-h` prints the header, like ncdump.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, after_help = DUMP_EXAMPLES)]
pub struct Dump {
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
    #[arg(short = 'w', help_heading = OLD)]
    pub cached: bool,
    /// Like --trace=N
    #[arg(short = 'L', value_name = "N", help_heading = OLD)]
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

/// Arguments of `gen`.
#[derive(Debug, Args)]
#[command(after_help = GEN_EXAMPLES)]
pub struct Generate {
    /// File with CDL text [default: standard input]
    pub input: Option<String>,
    /// Path or URL of the dataset [default: the name in the text with `.nc`]
    ///
    /// A dataset with the default name replaces no other one.
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
    #[arg(short = 'b', help_heading = OLD)]
    pub binary: bool,
    /// Make a dataset (b). Programs are not supported
    #[arg(short = 'l', help_heading = OLD, value_name = "b", value_parser = ["b", "binary"])]
    pub language: Option<String>,
    /// Do not write fill values where the text has no data, like _NoFill
    #[arg(short = 'x')]
    pub nofill: bool,
    /// Make the definitions only, without data
    #[arg(short = 'H')]
    pub header: bool,
    /// Like -b, with the ending `.cdf` for the default name
    #[arg(short = 'n', help_heading = OLD)]
    pub cdf: bool,
    /// No effect: sizes, levels and names
    #[arg(short = 'L', help_heading = OLD, visible_short_aliases = ['B', 'D', 'M', 'W'], value_name = "N")]
    pub ignored: Vec<String>,
    /// No effect: debugging, files built in memory
    #[arg(short = 'd', help_heading = OLD, visible_short_alias = 'P', action = ArgAction::Count)]
    pub ignored_switches: u8,
    /// Dataset name [default: the name in the text]
    #[arg(short = 'N', value_name = "NAME")]
    pub name: Option<String>,
    /// Replace an existing dataset
    ///
    /// The old dataset stays until the new one is complete, and after a failure. In a bucket it is deleted
    /// first.
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

/// Arguments of `copy`. `-h` is a cache size, like nccopy.
#[derive(Debug, Clone, Args)]
#[command(disable_help_flag = true, after_help = COPY_EXAMPLES)]
pub struct Copy {
    /// Path or URL of the dataset
    pub source: String,
    /// Path or URL of the copy
    pub target: String,
    /// Chunk lengths: `dim/len,…` for dimensions, or `var:len,…` for one variable
    ///
    /// time/1,lat/180,lon/360 applies to all variables. sst:1,180,360 applies to one. You can repeat this
    /// flag.
    #[arg(short = 'c', long, value_name = "SPEC")]
    pub chunks: Vec<String>,
    /// Shard size in bytes, lengths like --chunks, or `none` (Zarr V3)
    ///
    /// A shard is one object with several chunks. 64M makes shards of about 64 MiB. Lengths are rounded up to
    /// whole chunks. You can repeat this flag.
    #[arg(long, value_name = "SPEC")]
    pub shards: Vec<String>,
    /// Filters: `name[,param…]`, several joined by `|`; `var,name…` for one variable; `none` for no filters
    ///
    /// They replace all filters of the source: 'shuffle|zstd,3'. You can repeat this flag.
    #[arg(short = 'F', long, value_name = "SPEC")]
    pub filter: Vec<String>,
    /// Deflate all variables at this level in place of other filters; 0 removes all filters
    #[arg(short = 'd', value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=9))]
    pub deflate: Option<u8>,
    /// Shuffle before deflate (with -d)
    #[arg(short = 's')]
    pub shuffle: bool,
    /// Make unlimited dimensions fixed
    #[arg(short = 'u')]
    pub fixed: bool,
    /// Copy the data of these variables only; define all others without data
    ///
    /// Paths (/group/var), or names in any group.
    #[arg(short = 'v', value_name = "VAR,…", conflicts_with = "only_vars")]
    pub data_of: Option<String>,
    /// Copy these variables only; do not define others
    #[arg(short = 'V', value_name = "VAR,…")]
    pub only_vars: Option<String>,
    /// Copy the data of these groups only, without their subgroups; define all others without data
    #[arg(short = 'g', value_name = "GROUP,…", conflicts_with = "only_groups")]
    pub data_in: Option<String>,
    /// Copy these groups only; do not define others
    #[arg(short = 'G', value_name = "GROUP,…")]
    pub only_groups: Option<String>,
    /// Like -k classic
    #[arg(short = '3', conflicts_with_all = ["kind", "offset64", "cdf5", "netcdf4"])]
    pub classic: bool,
    /// Like -k 64-bit-offset
    #[arg(short = '6', conflicts_with_all = ["kind", "cdf5", "netcdf4"])]
    pub offset64: bool,
    /// Like -k cdf5
    #[arg(short = '5', conflicts_with_all = ["kind", "netcdf4"])]
    pub cdf5: bool,
    /// Use the netCDF-4 model: like -k nc4 for `.nc`, otherwise in the format of the URL
    #[arg(short = '4', conflicts_with = "kind")]
    pub netcdf4: bool,
    /// Like -k nc4-classic
    #[arg(short = '7', conflicts_with_all = ["kind", "classic", "offset64", "cdf5", "netcdf4"])]
    pub netcdf4_classic: bool,
    /// No effect: sizes of caches and buffers
    #[arg(short = 'm', help_heading = OLD, visible_short_aliases = ['h', 'e', 'M', 'L'], value_name = "N")]
    pub sizes: Vec<String>,
    /// No effect: files held in memory
    #[arg(short = 'w', help_heading = OLD, visible_short_alias = 'r', action = ArgAction::Count)]
    pub in_memory: u8,
    /// Replace an existing dataset
    ///
    /// The old dataset stays until the copy is complete, and after a failure. In a bucket it is deleted
    /// first.
    #[arg(long)]
    pub clobber: bool,
    /// Assume that no other process writes the target
    ///
    /// Needed for servers without conditional writes.
    #[arg(long)]
    pub exclusive: bool,
    /// Kind of the copy [default: by the target's URL or ending]
    ///
    /// classic (nc3, 1), 64-bit-offset (nc6, 2), cdf5 (nc5, 5), nc4 (netCDF-4, 3), nc4-classic (nc7, 4),
    /// nczarr or zarr. If the kind lacks a type or a group, the copy stores wider numbers, text for strings,
    /// and names such as group_var. It omits everything else that the kind lacks. It reports each case.
    #[arg(short = 'k', long, value_name = "KIND")]
    pub kind: Option<Kind>,
    /// Memory limit for the data in transit, such as 256M [default: 128M and the needs of the threads]
    ///
    /// With less memory, a rechunking copy reads source chunks more often and uses fewer threads.
    #[arg(long, value_name = "BYTES", value_parser = crate::copy::spec::size)]
    pub memory: Option<u64>,
    /// Number of threads [default: the number of processors]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
    /// Continue an interrupted copy, or begin one that can be continued
    ///
    /// The target is a Zarr store in a directory or in S3. The source and all flags except --memory, --jobs
    /// and --strict must be the same as before.
    #[arg(long, conflicts_with = "dry_run")]
    pub resume: bool,
    /// Seconds between checkpoints for --resume; 0 makes one after each block [default: 10]
    #[arg(long, value_name = "SECONDS")]
    pub checkpoint: Option<u64>,
    /// Print progress, also if standard error is not a terminal
    #[arg(long)]
    pub progress: bool,
    /// Print the plan, and copy nothing
    ///
    /// The plan lists the blocks of each variable and the number of reads of source chunks.
    #[arg(long)]
    pub dry_run: bool,
    /// Fail if the target cannot keep everything
    ///
    /// A failed copy is removed. With --resume, the state before this run stays.
    #[arg(long)]
    pub strict: bool,
    /// Omit variables and chunks that cannot be read, and report each
    #[arg(long, conflicts_with = "resume")]
    pub skip_unreadable: bool,
    /// Do not write the attribute _netcdf in plain Zarr
    ///
    /// The attribute keeps unlimited dimensions, orders and types, for which Zarr has no place.
    #[arg(long)]
    pub plain: bool,
    /// Use the defaults of nccopy: a netCDF file of the source's kind
    #[arg(long, hide = true)]
    pub as_nccopy: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    pub help: Option<bool>,
}

/// Arguments of `cat`.
#[derive(Debug, Args)]
#[command(after_help = CAT_EXAMPLES)]
pub struct Cat {
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

/// Arguments of `diff`.
#[derive(Debug, Args)]
#[command(after_help = DIFF_NOTES)]
pub struct Diff {
    /// Path or URL
    pub left: String,
    /// Path or URL of the other dataset
    pub right: String,
    /// Largest difference of numbers that count as equal
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    pub tolerance: f64,
    /// The same, relative to the larger number; both are added
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

/// Arguments of `view`.
#[derive(Debug, Args)]
#[command(after_help = VIEW_EXAMPLES)]
pub struct View {
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

/// Arguments of `validate`.
#[derive(Debug, Args)]
#[command(after_help = VALIDATE_NOTES)]
pub struct Validate {
    /// Path or URL
    pub url: String,
    /// Read and decode every chunk
    #[arg(long)]
    pub deep: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Commands on the objects of a store.
#[derive(Debug, Subcommand)]
pub enum MapCommand {
    /// List names
    Ls {
        /// Path or URL
        url: String,
        /// Key whose children are listed [default: the root]
        prefix: Option<String>,
        /// List all keys below, not only children
        #[arg(short = 'r', long)]
        recursive: bool,
        /// Print the length of each object in bytes
        #[arg(short = 'l', long)]
        long: bool,
    },
    /// Print an object
    Cat {
        /// Path or URL
        url: String,
        /// Key of the object
        key: String,
    },
    /// Write an object
    Put {
        /// Path or URL
        url: String,
        /// Key of the object
        key: String,
        /// File with the bytes [default: standard input]
        file: Option<PathBuf>,
        /// Assume that no other process writes the store
        #[arg(long)]
        exclusive: bool,
    },
    /// Delete an object
    Rm {
        /// Path or URL
        url: String,
        /// Key of the object
        key: String,
        /// Delete all objects at and below the key
        #[arg(short = 'r', long)]
        recursive: bool,
    },
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct Man {
    /// Folder for a page of each command [default: print the manual of ncz]
    pub folder: Option<PathBuf>,
}

/// Arguments of `info`.
#[derive(Debug, Args)]
pub struct Info {
    /// Path or URL
    pub url: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The largest number of threads.
const MAX_JOBS: usize = 1024;

/// The largest number of columns or lines.
const MAX_CELLS: usize = 1000;

/// The largest number of significant digits.
const MAX_DIGITS: usize = 20;

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

fn jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(jobs @ 1..=MAX_JOBS) => Ok(jobs),
        _ => Err(format!("expected a number of threads from 1 to {MAX_JOBS}, found {text:?}")),
    }
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

/// The items of a comma-separated list; `\,` is a comma of an item.
pub fn split_list(text: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let last = items.last_mut().expect("never empty");
        match c {
            ',' => items.push(String::new()),
            '\\' => match chars.next() {
                Some(',') => last.push(','),
                // The reader of the item interprets other escapes.
                Some(other) => last.extend(['\\', other]),
                None => last.push('\\'),
            },
            c => last.push(c),
        }
    }
    items.retain(|item| !item.is_empty());
    items
}

#[cfg(test)]
impl Copy {
    /// A copy without any flags.
    pub fn plain(source: &str, target: &str) -> Self {
        match Cli::parse_from(["ncz", "copy", source, target]).command {
            Command::Copy(copy) => copy,
            other => panic!("{other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_flags_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn digits_are_one_or_two_small_numbers() {
        assert_eq!(digits("9"), Ok((9, None)));
        assert_eq!(digits("9,17"), Ok((9, Some(17))));
        for bad in ["", "0", "21", "9,", ",9", "9,17,3", "x", "-1"] {
            assert!(digits(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn lists_are_cut_at_plain_commas() {
        assert_eq!(split_list("a,b"), ["a", "b"]);
        assert_eq!(split_list("a\\,b,,c\\/d\\"), ["a,b", "c\\/d\\"]);
    }
}
