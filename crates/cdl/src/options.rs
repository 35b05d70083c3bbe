//! [`Options`] of printing, [`Facts`] of the dataset beside the model, and the [`DataSource`].

use nczarr_model::{ErrorKind, GroupId, Result, Values, VarId};

/// The part of a dataset to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrintedPart {
    /// The header and the data of all variables.
    #[default]
    All,
    /// The header only.
    Header,
    /// The header and the data of coordinate variables.
    Coordinates,
}

/// Comments in the data section that identify elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notes {
    /// A comment before each row of an array with more than one dimension.
    Rows,
    /// A comment behind each element. Each element has its own line.
    Elements,
}

/// The way indices in comments are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Indices {
    /// From 0; the last one varies fastest.
    #[default]
    C,
    /// From 1; the first one varies fastest.
    Fortran,
}

/// Options of printing.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The name after `netcdf`, unescaped.
    pub name: String,
    /// The part to print.
    pub part: PrintedPart,
    /// The variables to print data of; empty: all of `part`.
    pub vars: Vec<VarId>,
    /// The groups to print data of, without inner groups; empty: all.
    pub groups: Vec<GroupId>,
    /// Significant digits of floats, instead of 7 and of `C_format`.
    pub float_digits: Option<usize>,
    /// Significant digits of doubles, instead of 15 and of `C_format`.
    pub double_digits: Option<usize>,
    /// Whether special attributes (`_Storage`, `_ChunkSizes` …) are printed.
    pub special: bool,
    /// Whether they list deflate, shuffle and fletcher32 as ordinary filters.
    pub as_filters: bool,
    /// Whether the type of `_FillValue` attributes is printed.
    pub fill_types: bool,
    /// Prints time variables as dates, with this separator between date and time: a blank, or `T`.
    pub times: Option<char>,
    /// Comments with indices.
    pub notes: Option<Notes>,
    /// The way indices are counted.
    pub indices: Indices,
    /// The width at which data lines are folded, in bytes. Default 80.
    pub width: Option<usize>,
}

/// Facts of the dataset as a whole.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The value of `_Format`, for instance `netCDF-4`.
    pub format: String,
    /// Whether it is a classic format. Those have no special attributes except `_Format`.
    pub classic: bool,
    /// Whether it is an HDF4 file. Those have no `_IsNetcdf4`.
    pub hdf4: bool,
    /// Whether empty text of fixed size prints as `""`, as in plain Zarr. Otherwise it is a null string,
    /// printed as `NIL`.
    pub plain_text: bool,
    /// The value of `_NCProperties`, if present.
    pub properties: Option<String>,
    /// The value of `_SuperblockVersion`, if present.
    pub superblock: Option<i32>,
    /// Whether the file has no sign of netCDF: `_IsNetcdf4` is 0.
    pub foreign: bool,
}

/// The source of data.
pub trait DataSource {
    /// Reads a hyperslab in C order, in the variable's own type. The printer reads in C order, a few MiB at a
    /// time.
    ///
    /// # Errors
    /// An error that names the variable.
    fn read(&mut self, var: VarId, start: &[u64], count: &[u64]) -> Result<Values>;

    /// Returns the shape of the stored chunks if the model leaves it to the format's default; `None`:
    /// contiguous.
    fn chunk_shape(&mut self, _var: VarId) -> Option<Vec<u64>> {
        None
    }

    /// Whether stored empty strings of a chunk, or of a contiguous variable, print as null strings (`NIL`),
    /// because the storage does not distinguish the two.
    ///
    /// # Errors
    /// The reason why it is unknown.
    fn is_nil_where_empty(&mut self, _var: VarId, _start: &[u64], _count: &[u64]) -> Result<bool> {
        Ok(false)
    }
}

/// A source without data, for headers.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoData;

impl DataSource for NoData {
    fn read(&mut self, var: VarId, _start: &[u64], _count: &[u64]) -> Result<Values> {
        Err(ErrorKind::NoData.context(format!("{var:?}: no data was given to print")))
    }
}
