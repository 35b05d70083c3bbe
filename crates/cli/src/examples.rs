//! The examples and exit codes at the end of help texts.

pub const CLI_EXAMPLES: &str = "\
Examples:
  ncz dump -h x.nc                        print the header
  ncz copy x.nc 'x.zarr#mode=zarr,v3'     convert to Zarr V3
  ncz validate --deep s3://bucket/x.zarr  check every chunk

'ncz COMMAND --help' explains a command.";

pub const DUMP_EXAMPLES: &str = "\
Examples:
  ncz dump -h x.nc            print the header
  ncz dump -s -h x.zarr       with chunks, filters and byte order
  ncz dump -t -v time x.nc    print the data of time as dates
  ncz dump --json x.zarr      print everything as JSON";

pub const GEN_EXAMPLES: &str = "\
Examples:
  ncz gen -o x.nc x.cdl                  make a netCDF-4 file
  ncz gen -o 'x.zarr#mode=zarr,v3' x.cdl  make a Zarr V3 store
  ncz dump x.nc | ncz gen -o y.zarr      read CDL from standard input";

pub const COPY_EXAMPLES: &str = "\
Examples:
  ncz copy x.nc 'x.zarr#mode=zarr,v3'                  for xarray
  ncz copy x.zarr x.nc                                 to a netCDF-4 file
  ncz copy -c time/12,lat/180 -F 'shuffle|zstd,3' x.nc y.zarr
  ncz copy -V sst,time,lat,lon x.nc sst.nc             only these variables
  ncz copy --resume x.nc y.zarr                        continue after an interruption

Exit codes: 0 success, 1 failure. Losses are printed to standard error.";

pub const CAT_EXAMPLES: &str = "\
Examples:
  ncz cat x.nc /t --format text                       all values as text
  ncz cat x.nc /t --start 0,10 --count 1,5 -o t.npy   a slab for NumPy";

pub const DIFF_NOTES: &str = "\
Example:
  ncz diff --tolerance 1e-6 x.nc x.zarr

Exit codes: 0 equal, 1 different, 2 failure. Chunks and filters are not compared.";

pub const VALIDATE_NOTES: &str = "\
Example:
  ncz validate --deep x.zarr

Exit codes: 0 the dataset can be read, 1 it is damaged. Absent chunks are not damage: they read as the
fill value. To find them, read with #missing_chunks=error.";

pub const VIEW_EXAMPLES: &str = "\
Examples:
  ncz view x.nc sst --at time=3      draw one time step
  ncz view x.nc --html x.html        a page of the whole dataset";
