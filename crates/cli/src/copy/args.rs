//! The arguments of `ncz copy`.

use clap::ArgAction;

use super::kind::Kind;
use crate::help::OLD_TOOLS;

const EXAMPLES: &str = "\
Examples:
  ncz copy x.nc 'x.zarr#mode=zarr,v3'                  for xarray
  ncz copy x.zarr x.nc                                 to a netCDF-4 file
  ncz copy -c time/12,lat/180 -F 'shuffle|zstd,3' x.nc y.zarr
  ncz copy -V sst,time,lat,lon x.nc sst.nc             only these variables
  ncz copy --resume x.nc y.zarr                        continue after an interruption

Exit codes: 0 success, 1 failure. Losses are printed to standard error.";

/// The largest number of threads.
const MAX_JOBS: usize = 1024;

/// Arguments of `copy`. `-h` is a cache size, like nccopy.
#[derive(Debug, Clone, clap::Args)]
#[command(disable_help_flag = true, after_help = EXAMPLES)]
pub struct CopyArgs {
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
    /// A shard is one object with several chunks. 64M makes shards of about 64 MiB. The copy rounds lengths
    /// up to whole chunks. You can repeat this flag.
    #[arg(long, value_name = "SPEC")]
    pub shards: Vec<String>,
    /// Filters: `name[,param…]`, several joined by `|`; `var,name…` for one variable; `none` for no filters
    ///
    /// The given filters replace all filters of the source: 'shuffle|zstd,3'. You can repeat this flag.
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
    /// Paths (/group/var), or names in any group. With empty text, the copy defines all variables without
    /// data.
    #[arg(short = 'v', value_name = "VAR,…")]
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
    #[arg(short = 'm', help_heading = OLD_TOOLS, visible_short_aliases = ['h', 'e', 'M', 'L'], value_name = "N")]
    pub sizes: Vec<String>,
    /// No effect: files held in memory
    #[arg(short = 'w', help_heading = OLD_TOOLS, visible_short_alias = 'r', action = ArgAction::Count)]
    pub in_memory: u8,
    /// Replace an existing dataset
    ///
    /// The old dataset stays until the copy is complete, and after a failure. In S3, the command deletes it
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
    /// Memory limit for the data in transit, such as 256M [default: 64M, and two chunks for each thread]
    ///
    /// With less memory, a rechunking copy reads source chunks more often and uses fewer threads.
    #[arg(long, value_name = "BYTES", value_parser = super::byte_size::size)]
    pub memory: Option<u64>,
    /// Number of threads [default: the number of processors]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
    /// Continue an interrupted copy, or begin a new copy
    ///
    /// The target is a Zarr store in a directory or in S3. The source and the flags must be the same as
    /// before. These may differ: --memory, --jobs, --strict, --no-verify, --checkpoint, --progress,
    /// --clobber, --exclusive, --trace.
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
    /// Fail if the copy loses anything
    ///
    /// The command removes a failed copy. With --resume, it keeps the state before this run.
    #[arg(long)]
    pub strict: bool,
    /// Do not decode chunks that the copy moves as stored bytes
    ///
    /// The copy is faster, but does not notice a damaged chunk. The target then has the same damaged bytes.
    #[arg(long)]
    pub no_verify: bool,
    /// Omit variables and chunks that cannot be read, and report each
    #[arg(long, conflicts_with = "resume")]
    pub skip_unreadable: bool,
    /// Do not write the attribute _netcdf in plain Zarr
    ///
    /// The attribute keeps unlimited dimensions, the order of variables and the types of attributes. Zarr has
    /// no other place for them.
    #[arg(long)]
    pub plain: bool,
    /// Use the defaults of nccopy: a netCDF file of the source's kind
    #[arg(long, hide = true)]
    pub as_nccopy: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    pub help: Option<bool>,
}

fn jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(jobs @ 1..=MAX_JOBS) => Ok(jobs),
        _ => Err(format!("expected a number of threads from 1 to {MAX_JOBS}, found {text:?}")),
    }
}

#[cfg(test)]
impl CopyArgs {
    /// A copy without any flags.
    pub fn plain(source: &str, target: &str) -> Self {
        use clap::{Args as _, FromArgMatches as _};
        let command = Self::augment_args(clap::Command::new("copy").disable_help_flag(true));
        Self::from_arg_matches(&command.get_matches_from(["copy", source, target])).unwrap()
    }
}
