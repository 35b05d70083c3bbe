//! [`CdfVersion`]: the three classic formats, and their differences: widths of numbers, types, limits.
//!
//! Source: the format specification; limits from netCDF-C, `NC_check_vlens` and `nc_def_dim`.

use nczarr_dispatch::Format;
use nczarr_model::NcType;
use nczarr_url_infer::Target;

/// One of the classic formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CdfVersion {
    /// 32-bit offsets.
    Cdf1,
    /// 64-bit offsets.
    Cdf2,
    /// 64-bit offsets and counts, and five more types.
    Cdf5,
}

impl CdfVersion {
    /// Returns the format of a version byte.
    pub(crate) fn of_version(version: u8) -> Option<Self> {
        match version {
            1 => Some(Self::Cdf1),
            2 => Some(Self::Cdf2),
            5 => Some(Self::Cdf5),
            _ => None,
        }
    }

    /// Returns the format of a target's modes: the most specific one counts.
    pub(crate) fn of_modes(target: &Target) -> Option<Self> {
        let any = |words: &[&str]| words.iter().any(|word| target.has_mode(word));
        if any(&["cdf5", "64bitdata"]) {
            Some(Self::Cdf5)
        } else if any(&["cdf2", "64bitoffset"]) {
            Some(Self::Cdf2)
        } else if any(&["cdf1"]) {
            Some(Self::Cdf1)
        } else {
            None
        }
    }

    /// Returns the classic format, if it is one.
    pub(crate) fn of_format(format: Format) -> Option<Self> {
        match format {
            Format::Classic => Some(Self::Cdf1),
            Format::Offset64 => Some(Self::Cdf2),
            Format::Cdf5 => Some(Self::Cdf5),
            _ => None,
        }
    }

    pub(crate) fn version(self) -> u8 {
        match self {
            Self::Cdf1 => 1,
            Self::Cdf2 => 2,
            Self::Cdf5 => 5,
        }
    }

    pub(crate) fn format(self) -> Format {
        match self {
            Self::Cdf1 => Format::Classic,
            Self::Cdf2 => Format::Offset64,
            Self::Cdf5 => Format::Cdf5,
        }
    }

    /// Returns the size of a count.
    pub(crate) fn count_width(self) -> usize {
        if self == Self::Cdf5 { 8 } else { 4 }
    }

    /// Returns the size of an offset.
    pub(crate) fn offset_width(self) -> usize {
        if self == Self::Cdf1 { 4 } else { 8 }
    }

    /// Whether variables and attributes may have this type.
    pub(crate) fn has(self, ty: NcType) -> bool {
        let last = if self == Self::Cdf5 { NcType::UInt64 } else { NcType::Double };
        ty.is_atomic() && ty.code() <= last.code()
    }

    /// Returns the maximum length of a dimension, and the maximum size of a variable, or of one record, that
    /// is not the last.
    pub(crate) fn largest(self) -> u64 {
        (match self {
            Self::Cdf1 => i32::MAX as u64,
            Self::Cdf2 => u32::MAX.into(),
            Self::Cdf5 => i64::MAX as u64,
        }) - 3
    }

    /// Returns the maximum offset of a variable.
    pub(crate) fn furthest(self) -> u64 {
        if self == Self::Cdf1 { i32::MAX as u64 } else { i64::MAX as u64 }
    }

    /// Returns the maximum number of records; the next number means unknown.
    pub(crate) fn most_records(self) -> u64 {
        if self == Self::Cdf5 { i64::MAX as u64 } else { u64::from(u32::MAX) - 1 }
    }
}
