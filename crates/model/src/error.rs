//! Error kinds (one per `NC_E…` constant of `netcdf.h`) and the one error type of the project.
//!
//! An [`Error`] names the object, the expected and the found value, and keeps a foreign error as its
//! `source`. `Display` shows its own message, `source()` returns the cause, and `{:#}` shows both. Start with
//! [`ErrorKind::context`].

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::error_places::ErrorPlaces;

/// The result of every fallible function of the project.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kinds of errors: one for each `NC_E…` constant of `netcdf.h`, and the kinds of this project with names
/// that begin with `NCZ_E`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(i32)]
pub enum ErrorKind {
    /// `NC_EBADID`: unknown dataset id.
    BadId = -33,
    /// `NC_ENFILE`: too many open datasets.
    NFile = -34,
    /// `NC_EEXIST`: the dataset exists and may not be replaced.
    Exist = -35,
    /// `NC_EINVAL`: bad argument.
    Inval = -36,
    /// `NC_EPERM`: write to a read-only dataset.
    Perm = -37,
    /// `NC_ENOTINDEFINE`: not allowed in data mode (classic).
    NotInDefine = -38,
    /// `NC_EINDEFINE`: not allowed in define mode (classic).
    InDefine = -39,
    /// `NC_EINVALCOORDS`: index beyond the dimension.
    InvalCoords = -40,
    /// `NC_EMAXDIMS`: too many dimensions.
    MaxDims = -41,
    /// `NC_ENAMEINUSE`: name already taken.
    NameInUse = -42,
    /// `NC_ENOTATT`: no such attribute.
    NotAtt = -43,
    /// `NC_EMAXATTS`: too many attributes.
    MaxAtts = -44,
    /// `NC_EBADTYPE`: no such type.
    BadType = -45,
    /// `NC_EBADDIM`: no such dimension.
    BadDim = -46,
    /// `NC_EUNLIMPOS`: unlimited dimension not first (classic).
    UnlimPos = -47,
    /// `NC_EMAXVARS`: too many variables.
    MaxVars = -48,
    /// `NC_ENOTVAR`: no such variable.
    NotVar = -49,
    /// `NC_EGLOBAL`: not allowed for global attributes.
    Global = -50,
    /// `NC_ENOTNC`: not a netCDF dataset.
    NotNc = -51,
    /// `NC_ESTS`: string too short (Fortran).
    Sts = -52,
    /// `NC_EMAXNAME`: name too long.
    MaxName = -53,
    /// `NC_EUNLIMIT`: second unlimited dimension (classic).
    Unlimit = -54,
    /// `NC_ENORECVARS`: no record variables.
    NoRecVars = -55,
    /// `NC_ECHAR`: text does not convert to numbers.
    Char = -56,
    /// `NC_EEDGE`: start + count exceeds the dimension.
    Edge = -57,
    /// `NC_ESTRIDE`: stride < 1.
    Stride = -58,
    /// `NC_EBADNAME`: illegal character in a name.
    BadName = -59,
    /// `NC_ERANGE`: value not representable (reported after the whole transfer).
    Range = -60,
    /// `NC_ENOMEM`: out of memory.
    NoMem = -61,
    /// `NC_EVARSIZE`: variable too large for the format.
    VarSize = -62,
    /// `NC_EDIMSIZE`: invalid or inconsistent dimension length.
    DimSize = -63,
    /// `NC_ETRUNC`: file truncated.
    Trunc = -64,
    /// `NC_EAXISTYPE`: OPeNDAP.
    AxisType = -65,
    /// `NC_EDAP`: OPeNDAP.
    Dap = -66,
    /// `NC_ECURL`: network transfer failed.
    Curl = -67,
    /// `NC_EIO`: input or output failed.
    Io = -68,
    /// `NC_ENODATA`: variable without data.
    NoData = -69,
    /// `NC_EDAPSVC`: OPeNDAP.
    DapSvc = -70,
    /// `NC_EDAS`: OPeNDAP.
    Das = -71,
    /// `NC_EDDS`: OPeNDAP.
    Dds = -72,
    /// `NC_EDATADDS`: OPeNDAP.
    DataDds = -73,
    /// `NC_EURL`: malformed URL (same number as NC_EDAPURL).
    Url = -74,
    /// `NC_ECONSTRAINT`: malformed constraint (same number as NC_EDAPCONSTRAINT).
    Constraint = -75,
    /// `NC_ETRANSLATION`: construct has no equivalent.
    Translation = -76,
    /// `NC_EACCESS`: access failed.
    Access = -77,
    /// `NC_EAUTH`: not authorised.
    Auth = -78,
    /// `NC_ENOTFOUND`: no such file.
    NotFound = -90,
    /// `NC_ECANTREMOVE`: cannot delete.
    CantRemove = -91,
    /// `NC_EINTERNAL`: bug in the library.
    Internal = -92,
    /// `NC_EPNETCDF`: PnetCDF.
    PNetcdf = -93,
    /// `NC_EHDFERR`: error in an HDF5 file.
    HdfErr = -101,
    /// `NC_ECANTREAD`: cannot read.
    CantRead = -102,
    /// `NC_ECANTWRITE`: cannot write.
    CantWrite = -103,
    /// `NC_ECANTCREATE`: cannot create.
    CantCreate = -104,
    /// `NC_EFILEMETA`: invalid metadata of the dataset.
    FileMeta = -105,
    /// `NC_EDIMMETA`: invalid metadata of a dimension.
    DimMeta = -106,
    /// `NC_EATTMETA`: invalid metadata of an attribute.
    AttMeta = -107,
    /// `NC_EVARMETA`: invalid metadata of a variable.
    VarMeta = -108,
    /// `NC_ENOCOMPOUND`: not a compound type.
    NoCompound = -109,
    /// `NC_EATTEXISTS`: attribute exists.
    AttExists = -110,
    /// `NC_ENOTNC4`: the format does not support the enhanced model.
    NotNc4 = -111,
    /// `NC_ESTRICTNC3`: enhanced-model operation on a classic-model file.
    StrictNc3 = -112,
    /// `NC_ENOTNC3`: classic-only operation.
    NotNc3 = -113,
    /// `NC_ENOPAR`: parallel operation on a serial dataset.
    NoPar = -114,
    /// `NC_EPARINIT`: parallel initialisation failed.
    ParInit = -115,
    /// `NC_EBADGRPID`: no such group.
    BadGrpId = -116,
    /// `NC_EBADTYPID`: no such type id.
    BadTypId = -117,
    /// `NC_ETYPDEFINED`: the type can no longer change.
    TypDefined = -118,
    /// `NC_EBADFIELD`: no such field.
    BadField = -119,
    /// `NC_EBADCLASS`: wrong class of type.
    BadClass = -120,
    /// `NC_EMAPTYPE`: mapped access needs an atomic type.
    MapType = -121,
    /// `NC_ELATEFILL`: fill value set after data were written.
    LateFill = -122,
    /// `NC_ELATEDEF`: layout set after data were written.
    LateDef = -123,
    /// `NC_EDIMSCALE`: invalid HDF5 dimension scales.
    DimScale = -124,
    /// `NC_ENOGRP`: no such group name.
    NoGrp = -125,
    /// `NC_ESTORAGE`: contiguous and chunked at the same time.
    Storage = -126,
    /// `NC_EBADCHUNK`: invalid chunk shape.
    BadChunk = -127,
    /// `NC_ENOTBUILT`: feature not in this build.
    NotBuilt = -128,
    /// `NC_EDISKLESS`: the dataset cannot be in memory.
    Diskless = -129,
    /// `NC_ECANTEXTEND`: extension during independent parallel access.
    CantExtend = -130,
    /// `NC_EMPI`: MPI.
    Mpi = -131,
    /// `NC_EFILTER`: filter failed.
    Filter = -132,
    /// `NC_ERCFILE`: invalid rc file.
    RcFile = -133,
    /// `NC_ENULLPAD`: header padding not zero.
    NullPad = -134,
    /// `NC_EINMEMORY`: not a dataset in memory.
    InMemory = -135,
    /// `NC_ENOFILTER`: no such filter.
    NoFilter = -136,
    /// `NC_ENCZARR`: invalid NCZarr metadata.
    NcZarr = -137,
    /// `NC_ES3`: S3 request failed.
    S3 = -138,
    /// `NC_EEMPTY`: the key has no object.
    Empty = -139,
    /// `NC_EOBJECT`: an object already exists.
    Object = -140,
    /// `NC_ENOOBJECT`: an expected object does not exist.
    NoObject = -141,
    /// `NC_EPLUGIN`: plugin is unusable.
    Plugin = -142,
    /// `NC_ENOTZARR`: not NCZarr or Zarr.
    NotZarr = -143,
    /// `NC_EZARRMETA`: invalid consolidated metadata.
    ZarrMeta = -144,
    /// `NCZ_ECANCELLED`: an observer stopped the transfer. An extension: `netcdf.h` has no such code.
    Cancelled = -3001,
    /// `NCZ_ETIMEOUT`: a server or file system did not answer in time. An extension: `netcdf.h` has no such
    /// code.
    Timeout = -3002,
}

impl ErrorKind {
    /// Every kind, in the order of the codes.
    pub const ALL: &'static [Self] = &[
        Self::BadId,
        Self::NFile,
        Self::Exist,
        Self::Inval,
        Self::Perm,
        Self::NotInDefine,
        Self::InDefine,
        Self::InvalCoords,
        Self::MaxDims,
        Self::NameInUse,
        Self::NotAtt,
        Self::MaxAtts,
        Self::BadType,
        Self::BadDim,
        Self::UnlimPos,
        Self::MaxVars,
        Self::NotVar,
        Self::Global,
        Self::NotNc,
        Self::Sts,
        Self::MaxName,
        Self::Unlimit,
        Self::NoRecVars,
        Self::Char,
        Self::Edge,
        Self::Stride,
        Self::BadName,
        Self::Range,
        Self::NoMem,
        Self::VarSize,
        Self::DimSize,
        Self::Trunc,
        Self::AxisType,
        Self::Dap,
        Self::Curl,
        Self::Io,
        Self::NoData,
        Self::DapSvc,
        Self::Das,
        Self::Dds,
        Self::DataDds,
        Self::Url,
        Self::Constraint,
        Self::Translation,
        Self::Access,
        Self::Auth,
        Self::NotFound,
        Self::CantRemove,
        Self::Internal,
        Self::PNetcdf,
        Self::HdfErr,
        Self::CantRead,
        Self::CantWrite,
        Self::CantCreate,
        Self::FileMeta,
        Self::DimMeta,
        Self::AttMeta,
        Self::VarMeta,
        Self::NoCompound,
        Self::AttExists,
        Self::NotNc4,
        Self::StrictNc3,
        Self::NotNc3,
        Self::NoPar,
        Self::ParInit,
        Self::BadGrpId,
        Self::BadTypId,
        Self::TypDefined,
        Self::BadField,
        Self::BadClass,
        Self::MapType,
        Self::LateFill,
        Self::LateDef,
        Self::DimScale,
        Self::NoGrp,
        Self::Storage,
        Self::BadChunk,
        Self::NotBuilt,
        Self::Diskless,
        Self::CantExtend,
        Self::Mpi,
        Self::Filter,
        Self::RcFile,
        Self::NullPad,
        Self::InMemory,
        Self::NoFilter,
        Self::NcZarr,
        Self::S3,
        Self::Empty,
        Self::Object,
        Self::NoObject,
        Self::Plugin,
        Self::NotZarr,
        Self::ZarrMeta,
        Self::Cancelled,
        Self::Timeout,
    ];

    /// Returns the netCDF code, a negative number. Extensions are below -3000.
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// Returns the kind of a netCDF code, if it exists.
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.code() == code)
    }

    /// Returns the name of the constant in `netcdf.h`, for example `NC_EEDGE`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BadId => "NC_EBADID",
            Self::NFile => "NC_ENFILE",
            Self::Exist => "NC_EEXIST",
            Self::Inval => "NC_EINVAL",
            Self::Perm => "NC_EPERM",
            Self::NotInDefine => "NC_ENOTINDEFINE",
            Self::InDefine => "NC_EINDEFINE",
            Self::InvalCoords => "NC_EINVALCOORDS",
            Self::MaxDims => "NC_EMAXDIMS",
            Self::NameInUse => "NC_ENAMEINUSE",
            Self::NotAtt => "NC_ENOTATT",
            Self::MaxAtts => "NC_EMAXATTS",
            Self::BadType => "NC_EBADTYPE",
            Self::BadDim => "NC_EBADDIM",
            Self::UnlimPos => "NC_EUNLIMPOS",
            Self::MaxVars => "NC_EMAXVARS",
            Self::NotVar => "NC_ENOTVAR",
            Self::Global => "NC_EGLOBAL",
            Self::NotNc => "NC_ENOTNC",
            Self::Sts => "NC_ESTS",
            Self::MaxName => "NC_EMAXNAME",
            Self::Unlimit => "NC_EUNLIMIT",
            Self::NoRecVars => "NC_ENORECVARS",
            Self::Char => "NC_ECHAR",
            Self::Edge => "NC_EEDGE",
            Self::Stride => "NC_ESTRIDE",
            Self::BadName => "NC_EBADNAME",
            Self::Range => "NC_ERANGE",
            Self::NoMem => "NC_ENOMEM",
            Self::VarSize => "NC_EVARSIZE",
            Self::DimSize => "NC_EDIMSIZE",
            Self::Trunc => "NC_ETRUNC",
            Self::AxisType => "NC_EAXISTYPE",
            Self::Dap => "NC_EDAP",
            Self::Curl => "NC_ECURL",
            Self::Io => "NC_EIO",
            Self::NoData => "NC_ENODATA",
            Self::DapSvc => "NC_EDAPSVC",
            Self::Das => "NC_EDAS",
            Self::Dds => "NC_EDDS",
            Self::DataDds => "NC_EDATADDS",
            Self::Url => "NC_EURL",
            Self::Constraint => "NC_ECONSTRAINT",
            Self::Translation => "NC_ETRANSLATION",
            Self::Access => "NC_EACCESS",
            Self::Auth => "NC_EAUTH",
            Self::NotFound => "NC_ENOTFOUND",
            Self::CantRemove => "NC_ECANTREMOVE",
            Self::Internal => "NC_EINTERNAL",
            Self::PNetcdf => "NC_EPNETCDF",
            Self::HdfErr => "NC_EHDFERR",
            Self::CantRead => "NC_ECANTREAD",
            Self::CantWrite => "NC_ECANTWRITE",
            Self::CantCreate => "NC_ECANTCREATE",
            Self::FileMeta => "NC_EFILEMETA",
            Self::DimMeta => "NC_EDIMMETA",
            Self::AttMeta => "NC_EATTMETA",
            Self::VarMeta => "NC_EVARMETA",
            Self::NoCompound => "NC_ENOCOMPOUND",
            Self::AttExists => "NC_EATTEXISTS",
            Self::NotNc4 => "NC_ENOTNC4",
            Self::StrictNc3 => "NC_ESTRICTNC3",
            Self::NotNc3 => "NC_ENOTNC3",
            Self::NoPar => "NC_ENOPAR",
            Self::ParInit => "NC_EPARINIT",
            Self::BadGrpId => "NC_EBADGRPID",
            Self::BadTypId => "NC_EBADTYPID",
            Self::TypDefined => "NC_ETYPDEFINED",
            Self::BadField => "NC_EBADFIELD",
            Self::BadClass => "NC_EBADCLASS",
            Self::MapType => "NC_EMAPTYPE",
            Self::LateFill => "NC_ELATEFILL",
            Self::LateDef => "NC_ELATEDEF",
            Self::DimScale => "NC_EDIMSCALE",
            Self::NoGrp => "NC_ENOGRP",
            Self::Storage => "NC_ESTORAGE",
            Self::BadChunk => "NC_EBADCHUNK",
            Self::NotBuilt => "NC_ENOTBUILT",
            Self::Diskless => "NC_EDISKLESS",
            Self::CantExtend => "NC_ECANTEXTEND",
            Self::Mpi => "NC_EMPI",
            Self::Filter => "NC_EFILTER",
            Self::RcFile => "NC_ERCFILE",
            Self::NullPad => "NC_ENULLPAD",
            Self::InMemory => "NC_EINMEMORY",
            Self::NoFilter => "NC_ENOFILTER",
            Self::NcZarr => "NC_ENCZARR",
            Self::S3 => "NC_ES3",
            Self::Empty => "NC_EEMPTY",
            Self::Object => "NC_EOBJECT",
            Self::NoObject => "NC_ENOOBJECT",
            Self::Plugin => "NC_EPLUGIN",
            Self::NotZarr => "NC_ENOTZARR",
            Self::ZarrMeta => "NC_EZARRMETA",
            Self::Cancelled => "NCZ_ECANCELLED",
            Self::Timeout => "NCZ_ETIMEOUT",
        }
    }

    /// Returns a short description, like `nc_strerror`.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::BadId => "unknown dataset id",
            Self::NFile => "too many open datasets",
            Self::Exist => "the dataset exists and may not be replaced",
            Self::Inval => "bad argument",
            Self::Perm => "write to a read-only dataset",
            Self::NotInDefine => "not allowed in data mode (classic)",
            Self::InDefine => "not allowed in define mode (classic)",
            Self::InvalCoords => "index beyond the dimension",
            Self::MaxDims => "too many dimensions",
            Self::NameInUse => "name already taken",
            Self::NotAtt => "no such attribute",
            Self::MaxAtts => "too many attributes",
            Self::BadType => "no such type",
            Self::BadDim => "no such dimension",
            Self::UnlimPos => "unlimited dimension not first (classic)",
            Self::MaxVars => "too many variables",
            Self::NotVar => "no such variable",
            Self::Global => "not allowed for global attributes",
            Self::NotNc => "not a netCDF dataset",
            Self::Sts => "string too short (Fortran)",
            Self::MaxName => "name too long",
            Self::Unlimit => "second unlimited dimension (classic)",
            Self::NoRecVars => "no record variables",
            Self::Char => "text does not convert to numbers",
            Self::Edge => "start + count exceeds the dimension",
            Self::Stride => "stride < 1",
            Self::BadName => "illegal character in a name",
            Self::Range => "value not representable (reported after the whole transfer)",
            Self::NoMem => "out of memory",
            Self::VarSize => "variable too large for the format",
            Self::DimSize => "invalid or inconsistent dimension length",
            Self::Trunc => "file truncated",
            Self::AxisType => "OPeNDAP",
            Self::Dap => "OPeNDAP",
            Self::Curl => "network transfer failed",
            Self::Io => "input or output failed",
            Self::NoData => "variable without data",
            Self::DapSvc => "OPeNDAP",
            Self::Das => "OPeNDAP",
            Self::Dds => "OPeNDAP",
            Self::DataDds => "OPeNDAP",
            Self::Url => "malformed URL (same number as NC_EDAPURL)",
            Self::Constraint => "malformed constraint (same number as NC_EDAPCONSTRAINT)",
            Self::Translation => "construct has no equivalent",
            Self::Access => "access failed",
            Self::Auth => "not authorised",
            Self::NotFound => "no such file",
            Self::CantRemove => "cannot delete",
            Self::Internal => "bug in the library",
            Self::PNetcdf => "PnetCDF",
            Self::HdfErr => "error in an HDF5 file",
            Self::CantRead => "cannot read",
            Self::CantWrite => "cannot write",
            Self::CantCreate => "cannot create",
            Self::FileMeta => "invalid metadata of the dataset",
            Self::DimMeta => "invalid metadata of a dimension",
            Self::AttMeta => "invalid metadata of an attribute",
            Self::VarMeta => "invalid metadata of a variable",
            Self::NoCompound => "not a compound type",
            Self::AttExists => "attribute exists",
            Self::NotNc4 => "the format does not support the enhanced model",
            Self::StrictNc3 => "enhanced-model operation on a classic-model file",
            Self::NotNc3 => "classic-only operation",
            Self::NoPar => "parallel operation on a serial dataset",
            Self::ParInit => "parallel initialisation failed",
            Self::BadGrpId => "no such group",
            Self::BadTypId => "no such type id",
            Self::TypDefined => "the type can no longer change",
            Self::BadField => "no such field",
            Self::BadClass => "wrong class of type",
            Self::MapType => "mapped access needs an atomic type",
            Self::LateFill => "fill value set after data were written",
            Self::LateDef => "layout set after data were written",
            Self::DimScale => "invalid HDF5 dimension scales",
            Self::NoGrp => "no such group name",
            Self::Storage => "contiguous and chunked at the same time",
            Self::BadChunk => "invalid chunk shape",
            Self::NotBuilt => "feature not in this build",
            Self::Diskless => "the dataset cannot be in memory",
            Self::CantExtend => "extension during independent parallel access",
            Self::Mpi => "MPI",
            Self::Filter => "filter failed",
            Self::RcFile => "invalid rc file",
            Self::NullPad => "header padding not zero",
            Self::InMemory => "not a dataset in memory",
            Self::NoFilter => "no such filter",
            Self::NcZarr => "invalid NCZarr metadata",
            Self::S3 => "S3 request failed",
            Self::Empty => "the key has no object",
            Self::Object => "an object already exists",
            Self::NoObject => "an expected object does not exist",
            Self::Plugin => "plugin is unusable",
            Self::NotZarr => "not NCZarr or Zarr",
            Self::ZarrMeta => "invalid consolidated metadata",
            Self::Cancelled => "the transfer was cancelled",
            Self::Timeout => "no answer in time",
        }
    }

    /// Creates an error of this kind with a message.
    #[must_use]
    pub fn context(self, what: impl Into<String>) -> Error {
        let places = ErrorPlaces::default();
        Error(Box::new(ErrorInner { kind: self, what: what.into(), source: None, places }))
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.describe())
    }
}

/// An error: its kind, its message, and its cause. The value has the size of a pointer.
///
/// `{}` shows the error's own message. [`source`](StdError::source) gives the cause, which reporters such as
/// `anyhow` print after it. `{:#}` and `{:?}` show the message and all causes in one line.
#[derive(Clone)]
pub struct Error(Box<ErrorInner>);

#[derive(Clone)]
struct ErrorInner {
    kind: ErrorKind,
    what: String,
    source: Option<Arc<dyn StdError + Send + Sync>>,
    places: ErrorPlaces,
}

impl Error {
    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the netCDF code of the kind.
    pub fn code(&self) -> i32 {
        self.0.kind.code()
    }

    pub(crate) fn places(&self) -> &ErrorPlaces {
        &self.0.places
    }

    pub(crate) fn places_mut(&mut self) -> &mut ErrorPlaces {
        &mut self.0.places
    }

    /// Returns the message, without the name of the kind.
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// Prepends `place` (a path, a variable, a key) to the message.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.0.what =
            if self.0.what.is_empty() { place.to_string() } else { format!("{place}: {}", self.0.what) };
        self
    }

    /// Sets the error that caused this one.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into().into());
        self
    }

    /// Creates an error for a system error about `what`. "Not found" and "permission denied" have their own
    /// kinds.
    pub fn io(what: impl Into<String>, source: std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let kind = match source.kind() {
            Io::NotFound => ErrorKind::NotFound,
            Io::PermissionDenied | Io::ReadOnlyFilesystem => ErrorKind::Access,
            Io::AlreadyExists => ErrorKind::Exist,
            Io::OutOfMemory => ErrorKind::NoMem,
            Io::TimedOut => ErrorKind::Timeout,
            _ => ErrorKind::Io,
        };
        kind.context(what).caused_by(source)
    }

    /// As [`Error::io`], for the file at `path`.
    pub fn io_at(path: impl AsRef<std::path::Path>, source: std::io::Error) -> Self {
        Self::io(path.as_ref().display().to_string(), source)
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        kind.context("")
    }
}

impl fmt::Display for Error {
    /// The error's own message; with `#`, all causes after it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.what.is_empty() {
            write!(f, "{}", self.0.kind)?;
        } else {
            write!(f, "{}: {}", self.0.kind.name(), self.0.what)?;
        }
        let mut cause = self.source().filter(|_| f.alternate());
        let mut last = self.0.what.clone();
        while let Some(error) = cause {
            let text = error.to_string();
            // Foreign errors may print their cause themselves.
            if !last.ends_with(&text) {
                write!(f, ": {text}")?;
                last = text;
            }
            cause = error.source();
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    /// The message and all causes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:#}")
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_negative() {
        for (i, kind) in ErrorKind::ALL.iter().enumerate() {
            assert!(kind.code() < 0);
            assert_eq!(ErrorKind::from_code(kind.code()), Some(*kind), "{kind}");
            assert!(ErrorKind::ALL[i + 1..].iter().all(|other| other.name() != kind.name()));
        }
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }

    #[test]
    fn an_error_shows_place_and_cause() {
        let error = ErrorKind::Edge.context("start 10 + count 5 > length 12").at("temp[3]");
        assert_eq!(error.to_string(), "NC_EEDGE: temp[3]: start 10 + count 5 > length 12");
        let io = std::io::Error::new(std::io::ErrorKind::NotFound, "gone");
        let error = Error::io("a/b", io);
        assert_eq!(
            (error.to_string(), format!("{error:#}")),
            ("NC_ENOTFOUND: a/b".into(), "NC_ENOTFOUND: a/b: gone".into())
        );
    }

    #[test]
    fn a_clone_keeps_the_cause_and_each_cause_is_shown_once() {
        let io = std::io::Error::other(Error::from(ErrorKind::S3).at("far").caused_by("the deepest"));
        let error = Error::io("a/b", io).clone();
        let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
        assert!(source.is_some(), "it is the error itself");
        for text in [format!("{error:#}"), format!("{error:?}")] {
            assert_eq!(text, "NC_EIO: a/b: NC_ES3: far: the deepest");
        }
        assert_eq!(error.to_string(), "NC_EIO: a/b");
    }
}
