//! [`Kind`]: the three classic formats and how they differ: widths of numbers, types, limits.
//!
//! Source: the format specification; limits as `NC_check_vlens` and `nc_def_dim` of netCDF-C have them.

use nczarr_dispatch::Format;
use nczarr_model::NcType;
use nczarr_url_infer::Target;

/// One of the classic formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Offsets of 32 bits.
    Cdf1,
    /// Offsets of 64 bits.
    Cdf2,
    /// Offsets and counts of 64 bits, and five more types.
    Cdf5,
}

impl Kind {
    /// The kind of a version byte.
    pub(crate) fn of_version(version: u8) -> Option<Self> {
        match version {
            1 => Some(Self::Cdf1),
            2 => Some(Self::Cdf2),
            5 => Some(Self::Cdf5),
            _ => None,
        }
    }

    /// The kind that the modes of a target ask for: the most particular word counts.
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

    /// The kind of a format, if it is a classic one.
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

    /// Bytes of a count.
    pub(crate) fn count_width(self) -> usize {
        if self == Self::Cdf5 { 8 } else { 4 }
    }

    /// Bytes of an offset.
    pub(crate) fn offset_width(self) -> usize {
        if self == Self::Cdf1 { 4 } else { 8 }
    }

    /// Whether variables and attributes may have this type.
    pub(crate) fn has(self, ty: NcType) -> bool {
        let last = if self == Self::Cdf5 { NcType::UInt64 } else { NcType::Double };
        ty.is_atomic() && ty.code() <= last.code()
    }

    /// The longest dimension, and the most bytes of a variable, or of one of its records, behind which another lies.
    pub(crate) fn largest(self) -> u64 {
        (match self {
            Self::Cdf1 => i32::MAX as u64,
            Self::Cdf2 => u32::MAX.into(),
            Self::Cdf5 => i64::MAX as u64,
        }) - 3
    }

    /// The furthest place a variable may begin at.
    pub(crate) fn furthest(self) -> u64 {
        if self == Self::Cdf1 { i32::MAX as u64 } else { i64::MAX as u64 }
    }

    /// The most records: one more means that their number is not told.
    pub(crate) fn most_records(self) -> u64 {
        if self == Self::Cdf5 { i64::MAX as u64 } else { u64::from(u32::MAX) - 1 }
    }
}
