//! What can be typed: commands, flags and their values.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use crate::copy::kind::Kind;

/// Looks at, copies and deletes netCDF datasets stored as NCZarr and Zarr.
///
/// A dataset is named by a path, or by a URL whose fragment can say more: file:///data/x.zarr#mode=zarr
#[derive(Debug, Parser)]
#[command(name = "ncz", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Log to standard error: 1 failures, 5 (as --trace alone) calls as well, 9 every operation on storage; NCTRACING=N does
    /// the same
    #[arg(long, global = true, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "5")]
    pub trace: Option<i32>,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print a dataset as CDL
    Dump(Dump),
    /// Make a dataset of CDL text
    Gen(Generate),
    /// Copy a dataset to another place or format
    Copy(Copy),
    /// Print the data of a variable
    Cat(Cat),
    /// Say what a dataset is and what is in it
    Info(Info),
    /// Say what a path or URL means and why
    Explain {
        /// Path or URL
        url: String,
    },
    /// Delete a dataset; what is none is left alone
    Rm(Remove),
    /// Write a zip archive anew, without what overwriting and deleting left in it
    Repack {
        /// Path or URL
        url: String,
    },
    /// Say what two datasets of any formats say otherwise; exit code 0: nothing, 1: something, 2: a failure
    Diff(Diff),
    /// Look for what is wrong with a dataset; exit code 0: nothing that keeps it from being read, 1: something
    Validate(Validate),
    /// Draw a slab of a variable in the terminal, or a whole dataset as an HTML page
    View(View),
    /// Look at the objects of a store by their keys, and change them
    #[command(subcommand)]
    Map(MapCommand),
    /// Print what a shell needs to complete command lines
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all of them into a folder
    Man(Man),
    /// List the formats, storage and filters of this build
    Plugins {
        /// As JSON
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
    /// Also what else lies in the directory of the dataset; without it nothing goes then
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `dump`: `-h` means header only here.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct Dump {
    /// The header only, no data
    #[arg(short = 'h', conflicts_with = "coordinates")]
    pub header: bool,
    /// The header and the data of coordinate variables
    #[arg(short = 'c')]
    pub coordinates: bool,
    /// The data of these variables only: paths (/group/var), or names, which mean every variable of that name
    #[arg(short = 'v', value_name = "VAR,…")]
    pub vars: Option<String>,
    /// The name after `netcdf`
    #[arg(short = 'n', value_name = "NAME")]
    pub name: Option<String>,
    /// Significant digits of floats and doubles
    #[arg(short = 'p', value_name = "F[,D]", value_parser = digits)]
    pub precision: Option<(usize, Option<usize>)>,
    /// Special attributes as well: storage, chunks, filters, byte order …
    #[arg(short = 's')]
    pub special: bool,
    /// Nothing but the kind of file: classic, 64-bit offset, cdf5, netCDF-4, netCDF-4 classic model
    #[arg(short = 'k')]
    pub kind: bool,
    /// Print the extended kind only, with the mode flags of netCDF-C: `HDF5 mode=00001000`
    #[arg(short = 'K', conflicts_with = "kind")]
    pub extended_kind: bool,
    /// Data of these groups only, without those inside them: names or paths; the header stays whole
    #[arg(short = 'g', value_name = "GROUP,…")]
    pub groups: Option<String>,
    /// Times as dates: `2000-01-01 06:30`, by the CF attributes units and calendar
    #[arg(short = 't')]
    pub times: bool,
    /// As -t, with a T between date and time
    #[arg(short = 'i')]
    pub iso: bool,
    /// Comments before each row with its indices, counted as in C or in Fortran
    #[arg(short = 'b', value_name = "c|f", value_enum, ignore_case = true, conflicts_with = "elements")]
    pub rows: Option<Language>,
    /// A line for each element, with a comment of its indices, counted as in C or in Fortran
    #[arg(short = 'f', value_name = "c|f", value_enum, ignore_case = true)]
    pub elements: Option<Language>,
    /// How long a line of data gets before it is folded, in bytes; 80 if not given
    #[arg(short = 'l', value_name = "BYTES", value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub line: Option<u32>,
    /// The header as NcML
    #[arg(short = 'x', conflicts_with_all = ["json", "kind", "extended_kind"])]
    pub xml: bool,
    /// Everything as one JSON document; with -t or -i, times are dates
    #[arg(long, conflicts_with_all = ["kind", "extended_kind"])]
    pub json: bool,
    /// In special attributes, filters as one _Filter (they always are where there is more than deflate, shuffle and fletcher32)
    #[arg(short = 'F')]
    pub filters: bool,
    /// For the sake of old command lines; nothing changes
    #[arg(short = 'w')]
    pub cached: bool,
    /// As --trace=N
    #[arg(short = 'L', value_name = "N")]
    pub log: Option<i32>,
    /// p: leave out _NCProperties; F: print the type of _FillValue attributes
    #[arg(short = 'X', value_name = "p|F", value_enum, ignore_case = true)]
    pub extras: Vec<Extra>,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    pub help: Option<bool>,
    /// Path or URL
    pub url: String,
}

/// Small changes to what `dump` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Extra {
    /// Leave out _NCProperties
    #[value(name = "p")]
    NoProperties,
    /// Print the type of _FillValue attributes
    #[value(name = "F")]
    FillTypes,
}

/// How indices are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// From 0, the last one varies fastest
    #[value(name = "c")]
    C,
    /// From 1, the first one varies fastest
    #[value(name = "f")]
    Fortran,
}

/// Arguments of `gen`.
#[derive(Debug, Args)]
pub struct Generate {
    /// The file with the text; standard input if it is `-` or not given
    pub input: Option<String>,
    /// Path or URL of the dataset; if not given, the name in the text with `.nc` behind it, which replaces nothing
    #[arg(short = 'o', value_name = "URL")]
    pub output: Option<String>,
    /// The kind of the dataset: classic (nc3, 1), 64-bit offset (nc6, 2), cdf5 (nc5, 5), nc4 (netCDF-4, 3), nc4-classic (nc7, 4), nczarr,
    /// zarr; if not given, the target's URL or ending says it, or the text's _Format
    #[arg(short = 'k', visible_short_alias = 'v', value_name = "KIND")]
    pub kind: Option<Kind>,
    /// As -k classic
    #[arg(short = '3', conflicts_with_all = ["kind", "offset64", "cdf5"])]
    pub classic: bool,
    /// As -k 64-bit-offset
    #[arg(short = '6', conflicts_with_all = ["kind", "cdf5"])]
    pub offset64: bool,
    /// As -k cdf5
    #[arg(short = '5', conflicts_with = "kind")]
    pub cdf5: bool,
    /// The netCDF-4 model: in the format that the target's URL says, and as -k nc4 for `.nc`
    #[arg(short = '4', conflicts_with_all = ["kind", "classic", "offset64", "cdf5"])]
    pub netcdf4: bool,
    /// As -k nc4-classic
    #[arg(short = '7', conflicts_with_all = ["kind", "classic", "offset64", "cdf5", "netcdf4"])]
    pub netcdf4_classic: bool,
    /// Make the dataset, which is what is done anyway; as ncgen, the text is only checked unless an output is asked for
    #[arg(short = 'b')]
    pub binary: bool,
    /// What to make: b for a dataset; programs are not written
    #[arg(short = 'l', value_name = "b", value_parser = ["b", "binary"])]
    pub language: Option<String>,
    /// Leave what the text gives no data for unwritten, as _NoFill does
    #[arg(short = 'x')]
    pub nofill: bool,
    /// Make the definitions only, and leave the data section unread
    #[arg(short = 'H')]
    pub header: bool,
    /// As -b; without -o, the name of the dataset ends with `.cdf`
    #[arg(short = 'n')]
    pub cdf: bool,
    /// Accepted for old command lines: sizes, levels and names on which nothing here depends
    #[arg(short = 'L', visible_short_aliases = ['B', 'D', 'M', 'W'], value_name = "N")]
    pub ignored: Vec<String>,
    /// Accepted for old command lines: debugging, and files that are built in memory
    #[arg(short = 'd', visible_short_alias = 'P', action = ArgAction::Count)]
    pub ignored_switches: u8,
    /// The name of the dataset in place of the one in the text
    #[arg(short = 'N', value_name = "NAME")]
    pub name: Option<String>,
    /// Replace a dataset that is there already, in one step once the new one is finished; in a bucket the old one goes first
    #[arg(long)]
    pub clobber: bool,
    /// Promise that no other process writes the target. Needed where the server has no conditional writes
    #[arg(long)]
    pub exclusive: bool,
    /// Cut strings that are longer than the text lets them be stored (_nczarr_maxstrlen), as ncgen does; else they are mistakes
    #[arg(long)]
    pub truncate: bool,
    /// Read the definitions only, and make nothing
    #[arg(long)]
    pub check: bool,
    /// As the tool of that name: what is made is a netCDF file where nothing says otherwise, called after that of the text
    #[arg(long, hide = true)]
    pub as_ncgen: bool,
}

/// Arguments of `copy`: `-h` is the size of a cache here, as for nccopy.
#[derive(Debug, Clone, Args)]
#[command(disable_help_flag = true)]
pub struct Copy {
    /// Path or URL of the dataset
    pub source: String,
    /// Path or URL of the copy
    pub target: String,
    /// Chunk lengths: `dim/len,…` along dimensions, or `var:len,…` for one variable; may be given several times
    #[arg(short = 'c', long, value_name = "SPEC")]
    pub chunks: Vec<String>,
    /// Shards, which hold several chunks in one object (Zarr V3): lengths as of --chunks, or for all variables the bytes of one
    /// (64M), or `none`; rounded up to whole chunks; may be given several times
    #[arg(long, value_name = "SPEC")]
    pub shards: Vec<String>,
    /// Filters: `name[,param…]` for all variables or `var,name[,param…]` for one, several joined by `|`; `none` takes all away;
    /// may be given several times
    #[arg(short = 'F', long, value_name = "SPEC")]
    pub filter: Vec<String>,
    /// Deflate all variables at this level, in place of other filters; 0: no filters
    #[arg(short = 'd', value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=9))]
    pub deflate: Option<u8>,
    /// Shuffle before deflating; nothing without -d
    #[arg(short = 's')]
    pub shuffle: bool,
    /// Unlimited dimensions become fixed ones
    #[arg(short = 'u')]
    pub fixed: bool,
    /// Data of these variables only: paths, or names, which mean every variable of that name; all are defined
    #[arg(short = 'v', value_name = "VAR,…", conflicts_with = "only_vars")]
    pub data_of: Option<String>,
    /// These variables only, definitions too
    #[arg(short = 'V', value_name = "VAR,…")]
    pub only_vars: Option<String>,
    /// Data of variables in these groups only, without those inside them; all are defined
    #[arg(short = 'g', value_name = "GROUP,…", conflicts_with = "only_groups")]
    pub data_in: Option<String>,
    /// These groups only, and what they lie in without its variables
    #[arg(short = 'G', value_name = "GROUP,…")]
    pub only_groups: Option<String>,
    /// As -k classic
    #[arg(short = '3', conflicts_with_all = ["kind", "offset64", "cdf5", "netcdf4"])]
    pub classic: bool,
    /// As -k 64-bit-offset
    #[arg(short = '6', conflicts_with_all = ["kind", "cdf5", "netcdf4"])]
    pub offset64: bool,
    /// As -k cdf5
    #[arg(short = '5', conflicts_with_all = ["kind", "netcdf4"])]
    pub cdf5: bool,
    /// The netCDF-4 model: in the format that the target's URL says, and as -k nc4 for `.nc`
    #[arg(short = '4', conflicts_with = "kind")]
    pub netcdf4: bool,
    /// As -k nc4-classic
    #[arg(short = '7', conflicts_with_all = ["kind", "classic", "offset64", "cdf5", "netcdf4"])]
    pub netcdf4_classic: bool,
    /// For the sake of old command lines: sizes of caches and buffers that nothing here depends on
    #[arg(short = 'm', visible_short_aliases = ['h', 'e', 'M', 'L'], value_name = "N")]
    pub sizes: Vec<String>,
    /// For the sake of old command lines: whether files are held in memory
    #[arg(short = 'w', visible_short_alias = 'r', action = ArgAction::Count)]
    pub in_memory: u8,
    /// Replace a dataset that is there already, in one step once the copy is finished; until then, and if it fails, the old
    /// one stays. In a bucket nothing can be put in its place in one step: there the old one goes when the copy begins
    #[arg(long)]
    pub clobber: bool,
    /// Promise that no other process writes the target. Needed where the server has no conditional writes
    #[arg(long)]
    pub exclusive: bool,
    /// The kind of the copy: classic (nc3, 1), 64-bit offset (nc6, 2), cdf5 (nc5, 5), nc4 (netCDF-4, 3), nc4-classic (nc7, 4), nczarr,
    /// zarr; if not given, the target's URL or ending says it. What it lacks is held otherwise where nothing of a value is lost (wider numbers, text
    /// for strings, group_name for what is in groups, fixed dimensions), else left out; either is told
    #[arg(short = 'k', long, value_name = "KIND")]
    pub kind: Option<Kind>,
    /// About so many bytes of memory for what is moved, as 256M; if not given, 128M and what the threads need. Less of it means
    /// that chunks of the source are read more often, where the copy has others, and that fewer threads work
    #[arg(long, value_name = "BYTES", value_parser = crate::copy::spec::size)]
    pub memory: Option<u64>,
    /// How many threads work at a time; 1: one after the other; if not given, as many as there are processors
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
    /// Go on with a copy that was stopped, to a Zarr store in a directory or in storage of objects; if there is none, begin one. The
    /// source and all flags but --memory, --jobs and --strict must be as they were
    #[arg(long, conflicts_with = "dry_run")]
    pub resume: bool,
    /// How many seconds pass before what is complete is written down for --resume, each time; 10 if not given; 0: after each block
    #[arg(long, value_name = "SECONDS")]
    pub checkpoint: Option<u64>,
    /// Tell how far the copy is, also where standard error is no terminal: a line each time that is written down
    #[arg(long)]
    pub progress: bool,
    /// Only say in which blocks each variable would be moved, and how often chunks of the source would be read; nothing is
    /// copied
    #[arg(long)]
    pub dry_run: bool,
    /// Fail if the target cannot keep everything; nothing of the copy stays then, but, with --resume, what was there before
    #[arg(long)]
    pub strict: bool,
    /// Leave out variables and chunks that cannot be read, and name each, instead of failing
    #[arg(long, conflicts_with = "resume")]
    pub skip_unreadable: bool,
    /// In a plain Zarr store, leave out the attribute that keeps what netCDF knows and Zarr has no word for
    #[arg(long)]
    pub plain: bool,
    /// As the tool of that name: a netCDF file is of the kind of the source where nothing says otherwise
    #[arg(long, hide = true)]
    pub as_nccopy: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    pub help: Option<bool>,
}

/// Arguments of `cat`.
#[derive(Debug, Args)]
pub struct Cat {
    /// Path or URL
    pub url: String,
    /// The variable, as /group/var; may be left out if there is only one at the root
    pub var: Option<String>,
    /// First index per dimension; 0 if not given
    #[arg(long, value_name = "I,…", value_delimiter = ',')]
    pub start: Option<Vec<u64>>,
    /// Elements per dimension; all there are if not given
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub count: Option<Vec<u64>>,
    /// Step per dimension; 1 if not given
    #[arg(long, value_name = "S,…", value_delimiter = ',')]
    pub stride: Option<Vec<u64>>,
    /// How to write it; npy if not given, json for elements of varying length
    #[arg(long, value_enum)]
    pub format: Option<CatFormat>,
    /// Write to this file
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Forms in which `cat` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CatFormat {
    /// NumPy's file format, in C order, little-endian
    Npy,
    /// One row of values per line
    Text,
    /// {"shape": […], "values": […]}, flat, in C order
    Json,
    /// The elements alone, in C order, little-endian
    Raw,
}

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub struct Diff {
    /// Path or URL
    pub left: String,
    /// Path or URL of the other one
    pub right: String,
    /// How far apart numbers may be that count as equal
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    pub tolerance: f64,
    /// The same as a part of the larger one; both are added
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    pub relative: f64,
    /// These variables only: names or paths
    #[arg(short = 'v', long, value_name = "VAR,…")]
    pub vars: Option<String>,
    /// The definitions only, no values
    #[arg(long)]
    pub header: bool,
    /// Show at most so many values of a variable
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub limit: u64,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `view`.
#[derive(Debug, Args)]
pub struct View {
    /// Path or URL
    pub url: String,
    /// The variable; if not given, the one with the most dimensions
    pub var: Option<String>,
    /// The index along a dimension before the last two, which are shown: `time=3`; 0 if not given
    #[arg(long, value_name = "DIM=I,…", value_delimiter = ',', value_parser = dim_index)]
    pub at: Vec<(String, u64)>,
    /// Columns of characters
    #[arg(long, value_name = "N", default_value_t = 72, value_parser = cells)]
    pub width: usize,
    /// Lines of characters
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = cells)]
    pub height: usize,
    /// Whether in colours; if not given, in a terminal unless NO_COLOR is set
    #[arg(long, value_name = "BOOL")]
    pub color: Option<bool>,
    /// Write a page with the tree and small pictures of everything to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Arguments of `validate`.
#[derive(Debug, Args)]
pub struct Validate {
    /// Path or URL
    pub url: String,
    /// Read every chunk
    #[arg(long)]
    pub deep: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// What can be done with objects.
#[derive(Debug, Subcommand)]
pub enum MapCommand {
    /// List names
    Ls {
        /// Path or URL
        url: String,
        /// Below this key
        prefix: Option<String>,
        /// All keys, not only the next names
        #[arg(short = 'r', long)]
        recursive: bool,
        /// With the length of each object in bytes
        #[arg(short = 'l', long)]
        long: bool,
    },
    /// Print an object
    Cat {
        /// Path or URL
        url: String,
        /// Its key
        key: String,
    },
    /// Write an object
    Put {
        /// Path or URL
        url: String,
        /// Its key
        key: String,
        /// A file with its bytes; standard input if not given
        file: Option<PathBuf>,
        /// Promise that no other process writes the store. Needed where the server has no conditional writes
        #[arg(long)]
        exclusive: bool,
    },
    /// Delete an object
    Rm {
        /// Path or URL
        url: String,
        /// Its key
        key: String,
        /// All objects at and below it
        #[arg(short = 'r', long)]
        recursive: bool,
    },
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct Man {
    /// Where to write a page for each command
    pub folder: Option<PathBuf>,
}

/// Arguments of `info`.
#[derive(Debug, Args)]
pub struct Info {
    /// Path or URL
    pub url: String,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// More threads than this help nobody.
const MAX_JOBS: usize = 1024;

/// No terminal is larger.
const MAX_CELLS: usize = 1000;

/// More digits than this do not make a double any clearer.
const MAX_DIGITS: usize = 20;

fn digits(text: &str) -> Result<(usize, Option<usize>), String> {
    let one = |text: &str| match text.trim().parse() {
        Ok(digits @ 1..=MAX_DIGITS) => Ok(digits),
        _ => Err(format!("{text:?} is no number of digits from 1 to {MAX_DIGITS}")),
    };
    match text.split_once(',') {
        Some((float, double)) => Ok((one(float)?, Some(one(double)?))),
        None => Ok((one(text)?, None)),
    }
}

fn jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(jobs @ 1..=MAX_JOBS) => Ok(jobs),
        _ => Err(format!("{text:?} is no number of threads from 1 to {MAX_JOBS}")),
    }
}

fn cells(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(cells @ 1..=MAX_CELLS) => Ok(cells),
        _ => Err(format!("{text:?} is no number of characters from 1 to {MAX_CELLS}")),
    }
}

fn dim_index(text: &str) -> Result<(String, u64), String> {
    let (dim, index) = text.rsplit_once('=').ok_or_else(|| format!("{text:?} is not dimension=index"))?;
    Ok((dim.to_owned(), index.parse().map_err(|_| format!("{index:?} is no index"))?))
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
                // Other escapes belong to whoever reads the item.
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
