//! Legacy styles of NCZarr metadata: detection ([`NczarrVersion`]) and known bugs of their writers
//! ([`WriterBugs`]).
//!
//! `convert` turns legacy documents into the current style as they are read, so other modules never see them.
//! `upgrade` rewrites a legacy dataset before its metadata is changed. Current documents and plain Zarr
//! bypass this module.
//!
//! Source: the format notes; datasets written by netCDF-C 4.8.0, 4.9.0 and 4.9.2.

pub(crate) mod convert;
pub(crate) mod upgrade;

use crate::metadata::attributes::NCZARR_SUPERBLOCK;
use crate::metadata::json::Value;
use crate::metadata::types::dtype::{DType, DTypeKind};

/// The marker of the style with separate documents.
pub(crate) const NCZARR: &str = ".nczarr";
pub(crate) const NCZGROUP: &str = ".nczgroup";
pub(crate) const NCZVAR: &str = ".nczvar";
pub(crate) const NCZATTR: &str = ".nczattr";

const UPPER_SUPERBLOCK: &str = "_NCZARR_SUPERBLOCK";

/// The style of NCZarr metadata, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NczarrVersion {
    /// In `.zattrs`: netCDF-C from 4.9.3 on.
    Current,
    /// In `.zgroup`, `.zarray` and `.zattrs`, with lower-case names: 4.9.1, 4.9.2.
    LowerCase,
    /// As `LowerCase`, with upper-case names: 4.8.1, 4.9.0.
    UpperCase,
    /// In `.nczarr`, `.nczgroup`, `.nczvar` and `.nczattr`: 4.8.0.
    SeparateKeys,
}

impl NczarrVersion {
    /// Detects the style from the root's documents; `None` if they have no NCZarr keys. The style with
    /// separate documents needs its marker and is never returned.
    pub(crate) fn of_root(attrs: Option<&Value<'_>>, zgroup: Option<&Value<'_>>) -> Option<Self> {
        let has = |document: Option<&Value<'_>>, name: &str| {
            document.and_then(Value::as_object).is_some_and(|members| members.contains_key(name))
        };
        if has(attrs, NCZARR_SUPERBLOCK) {
            Some(Self::Current)
        } else if has(zgroup, NCZARR_SUPERBLOCK) {
            Some(Self::LowerCase)
        } else if has(zgroup, UPPER_SUPERBLOCK) {
            Some(Self::UpperCase)
        } else {
            None
        }
    }

    /// Describes the root's key that shows the style.
    pub(crate) fn evidence(self) -> &'static str {
        match self {
            Self::Current => "\"_nczarr_superblock\"",
            Self::LowerCase => "\"_nczarr_superblock\" in .zgroup, the style of netCDF-C 4.9.2",
            Self::UpperCase => "\"_NCZARR_SUPERBLOCK\", the style of netCDF-C 4.9.0",
            Self::SeparateKeys => ".nczarr, the style of netCDF-C 4.8.0",
        }
    }
}

/// Bugs of the writer, which make data differ from their documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WriterBugs {
    /// Multi-byte elements are little-endian whatever their type says.
    pub(crate) swapped: bool,
    /// `<U1` is one byte of text, type char.
    pub(crate) wide_char: bool,
}

impl WriterBugs {
    /// Returns the bugs of the library that `_NCProperties` names: netCDF-C up to 4.9.2.
    pub(crate) fn of(properties: Option<&str>, generation: Option<NczarrVersion>) -> Self {
        let version =
            properties.and_then(|text| text.split(',').find_map(|item| item.trim().strip_prefix("netcdf=")));
        let early = version.is_some_and(|version| {
            let mut numbers = version.split(['.', '-', '_']).map(|part| part.parse::<u32>());
            let mut next = || numbers.next().and_then(Result::ok).unwrap_or(0);
            (next(), next(), next()) <= (4, 9, 2)
        });
        // None of these versions wrote UCS-4 text.
        Self {
            swapped: early,
            wide_char: early
                || matches!(generation, Some(NczarrVersion::UpperCase | NczarrVersion::SeparateKeys)),
        }
    }

    /// Returns the true type of elements if it differs from `name`.
    pub(crate) fn true_type(self, name: &str) -> Option<String> {
        if self == Self::default() {
            return None;
        }
        match DType::kind_of(name) {
            DTypeKind::Utf32(1) if self.wide_char => Some(">S1".to_owned()),
            DTypeKind::Number(ty) if self.swapped && ty.size() != Some(1) => {
                Some(format!("<{}", name.strip_prefix('>')?))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::json::parse;
    use nczarr_dispatch::Limits;

    #[test]
    fn the_root_shows_the_nczarr_version() {
        let value = |text: &str| parse(text.as_bytes(), &Limits::default()).unwrap();
        let (lower, upper) = (value(r#"{"_nczarr_superblock": {}}"#), value(r#"{"_NCZARR_SUPERBLOCK": {}}"#));
        let plain = value("{}");
        for (attrs, zgroup, expected) in [
            (Some(&lower), Some(&plain), Some(NczarrVersion::Current)),
            (Some(&lower), Some(&upper), Some(NczarrVersion::Current)),
            (Some(&plain), Some(&lower), Some(NczarrVersion::LowerCase)),
            (None, Some(&upper), Some(NczarrVersion::UpperCase)),
            (Some(&upper), Some(&plain), None),
            (None, None, None),
        ] {
            assert_eq!(NczarrVersion::of_root(attrs, zgroup), expected);
        }
    }

    #[test]
    fn versions_with_defects() {
        for (text, early) in [
            ("version=2,netcdf=4.8.0,nczarr=2.0.0", true),
            ("version=2,netcdf=4.9.2,nczarr=2.0.0", true),
            ("version=2,netcdf=4.9.3,nczarr=2.0.0", false),
            ("version=2,netcdf=4.9.3-development,nczarr=2.0.0", false),
            ("version=2,netcdf=4.10.1,nczarr=2.0.0", false),
            ("version=2,netcdf=4.10.2-development,nczarr=2.0.0", false),
            ("version=2,nczarr-rs=0.1.0", false),
            ("", false),
        ] {
            let defects = WriterBugs::of(Some(text), Some(NczarrVersion::Current));
            assert_eq!((defects.swapped, defects.wide_char), (early, early), "{text}");
        }
        assert_eq!(WriterBugs::of(None, None), WriterBugs::default());
        assert_eq!(
            WriterBugs::of(None, Some(NczarrVersion::SeparateKeys)),
            WriterBugs { swapped: false, wide_char: true }
        );
    }

    #[test]
    fn types_of_other_versions() {
        let both = WriterBugs { swapped: true, wide_char: true };
        for (name, expected) in [
            (">i4", Some("<i4")),
            (">f8", Some("<f8")),
            (">i1", None),
            ("<i4", None),
            ("i4", None),
            ("<U1", Some(">S1")),
            ("<U2", None),
            (">S1", None),
            (">S4", None),
            (">M8[s]", None),
        ] {
            assert_eq!(both.true_type(name).as_deref(), expected, "{name}");
            assert_eq!(WriterBugs::default().true_type(name), None);
        }
    }
}
