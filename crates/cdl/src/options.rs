//! What to print ([`Options`]), what the model does not say of the dataset ([`Facts`]), and where the data comes from
//! ([`DataSource`]).

use nczarr_model::{ErrorKind, GroupId, Result, Values, VarId};

/// How much is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// The header and the data of all variables.
    #[default]
    All,
    /// The header only.
    Header,
    /// The header and the data of coordinate variables.
    Coordinates,
}

/// How the data section says which element is which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notes {
    /// A comment before each row of an array with more than one dimension.
    Rows,
    /// A comment behind each element, which has a line of its own.
    Elements,
}

/// How the indices in comments are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Indices {
    /// From 0, the last one varies fastest.
    #[default]
    C,
    /// From 1, the first one varies fastest.
    Fortran,
}

/// What to print, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The name after `netcdf`, as it is; it is escaped on the way.
    pub name: String,
    /// How much.
    pub part: Part,
    /// The variables whose data is printed; empty: all that `part` says.
    pub vars: Vec<VarId>,
    /// The groups whose data is printed, without those inside them; empty: all.
    pub groups: Vec<GroupId>,
    /// Significant digits of floats, in place of 7 and of any `C_format`.
    pub float_digits: Option<usize>,
    /// Significant digits of doubles, in place of 15 and of any `C_format`.
    pub double_digits: Option<usize>,
    /// Whether the special attributes (`_Storage`, `_ChunkSizes` …) are printed.
    pub special: bool,
    /// Whether these tell deflate, shuffle and fletcher32 as filters like any other.
    pub as_filters: bool,
    /// Whether the type of `_FillValue` attributes is printed before them.
    pub fill_types: bool,
    /// Numbers of time variables are printed as dates, with this between date and time: a blank, or `T`.
    pub times: Option<char>,
    /// Comments that tell indices.
    pub notes: Option<Notes>,
    /// How these are counted.
    pub indices: Indices,
    /// How long a line of data gets before it is folded, in bytes; 80 if not given.
    pub width: Option<usize>,
}

/// What is printed of the dataset as a whole.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The value of `_Format`, for instance `netCDF-4`.
    pub format: String,
    /// Whether it is one of the classic formats: they have no special attributes but `_Format`.
    pub classic: bool,
    /// Whether it is an HDF4 file: these have no `_IsNetcdf4`.
    pub hdf4: bool,
    /// Whether empty text of a fixed size is text, as in plain Zarr, and prints as `""`. Elsewhere it stands for no string at
    /// all, and prints as `NIL`.
    pub plain_text: bool,
    /// The value of `_NCProperties`, if there is one.
    pub properties: Option<String>,
    /// The value of `_SuperblockVersion`, if there is one.
    pub superblock: Option<i32>,
    /// Whether nothing tells that netCDF made it: `_IsNetcdf4` is 0.
    pub foreign: bool,
}

/// Where the data comes from.
pub trait DataSource {
    /// The elements of a hyperslab in C order, in the variable's own type. The printer asks in C order and for a few MiB at a time.
    ///
    /// # Errors
    /// Whatever keeps the data from being read; it names the variable.
    fn read(&mut self, var: VarId, start: &[u64], count: &[u64]) -> Result<Values>;

    /// The shape of the stored chunks, where the model leaves it to the format's default; `None`: stored in one piece.
    fn chunk_shape(&mut self, _var: VarId) -> Option<Vec<u64>> {
        None
    }

    /// Whether empty strings of a chunk, or of what is stored in one piece, print as none at all (`NIL`): the storage does not
    /// tell the one from the other, and they were stored.
    ///
    /// # Errors
    /// Why that cannot be said.
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
