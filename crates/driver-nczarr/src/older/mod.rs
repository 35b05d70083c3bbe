//! Older styles of NCZarr metadata: how they are told from today's ([`Generation`]), and what else their writers did
//! otherwise ([`Defects`]).
//!
//! Their documents are turned into today's where they are read (`today`), so that nobody else knows of them; a
//! dataset that is written to is turned itself (`upgrade`). Today's documents and plain Zarr pass by all of it.
//!
//! Source: the formats notes; datasets written by netCDF-C 4.8.0, 4.9.0 and 4.9.2.

pub(crate) mod today;
mod upgrade;

use crate::attrs::NCZARR_SUPERBLOCK;
use crate::dtype::{DType, Kind};
use crate::json::Value;

/// The marker of the style with keys of its own.
pub(crate) const NCZARR: &str = ".nczarr";
pub(crate) const NCZGROUP: &str = ".nczgroup";
pub(crate) const NCZVAR: &str = ".nczvar";
pub(crate) const NCZATTR: &str = ".nczattr";

const UPPER_SUPERBLOCK: &str = "_NCZARR_SUPERBLOCK";

/// Where NCZarr's metadata stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// In `.zattrs`: netCDF-C from 4.9.3 on.
    Today,
    /// In `.zgroup`, `.zarray` and `.zattrs`, with names in lower case: 4.9.1, 4.9.2.
    Lower,
    /// The same with names in upper case: 4.8.1, 4.9.0.
    Upper,
    /// In `.nczarr`, `.nczgroup`, `.nczvar` and `.nczattr`: 4.8.0.
    Keys,
}

impl Generation {
    /// Which NCZarr the root's documents tell of, if they do; [`Generation::Keys`] is told by its marker alone.
    pub(crate) fn of_root(attrs: Option<&Value<'_>>, zgroup: Option<&Value<'_>>) -> Option<Self> {
        let has = |document: Option<&Value<'_>>, name: &str| {
            document.and_then(Value::as_object).is_some_and(|members| members.contains_key(name))
        };
        if has(attrs, NCZARR_SUPERBLOCK) {
            Some(Self::Today)
        } else if has(zgroup, NCZARR_SUPERBLOCK) {
            Some(Self::Lower)
        } else if has(zgroup, UPPER_SUPERBLOCK) {
            Some(Self::Upper)
        } else {
            None
        }
    }

    /// What the root holds that shows it.
    pub(crate) fn shown_by(self) -> &'static str {
        match self {
            Self::Today => "\"_nczarr_superblock\"",
            Self::Lower => "\"_nczarr_superblock\" in .zgroup, the style of netCDF-C 4.9.2",
            Self::Upper => "\"_NCZARR_SUPERBLOCK\", the style of netCDF-C 4.9.0",
            Self::Keys => ".nczarr, the style of netCDF-C 4.8.0",
        }
    }
}

/// What the writer of a dataset did otherwise than its documents say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Defects {
    /// Multi-byte elements are little-endian whatever their type says.
    pub(crate) swapped: bool,
    /// `<U1` is one byte of text, type char.
    pub(crate) wide_char: bool,
}

impl Defects {
    /// Those of the library that `_NCProperties` names: netCDF-C up to 4.9.2.
    pub(crate) fn of(properties: Option<&str>, generation: Option<Generation>) -> Self {
        let version = properties.and_then(|text| text.split(',').find_map(|item| item.trim().strip_prefix("netcdf=")));
        let early = version.is_some_and(|version| {
            let mut numbers = version.split(['.', '-', '_']).map(|part| part.parse::<u32>());
            let mut next = || numbers.next().and_then(Result::ok).unwrap_or(0);
            (next(), next(), next()) <= (4, 9, 2)
        });
        // No version of it ever wrote text of four bytes a character.
        Self { swapped: early, wide_char: early || matches!(generation, Some(Generation::Upper | Generation::Keys)) }
    }

    /// The type that elements really have, if that is another than `name` says.
    pub(crate) fn true_type(self, name: &str) -> Option<String> {
        if self == Self::default() {
            return None;
        }
        match DType::kind_of(name) {
            Kind::Utf32(1) if self.wide_char => Some(">S1".to_owned()),
            Kind::Number(ty) if self.swapped && ty.size() != Some(1) => Some(format!("<{}", name.strip_prefix('>')?)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;
    use nczarr_dispatch::Limits;

    #[test]
    fn the_root_tells_the_generation() {
        let value = |text: &str| parse(text.as_bytes(), &Limits::default()).unwrap();
        let (lower, upper) = (value(r#"{"_nczarr_superblock": {}}"#), value(r#"{"_NCZARR_SUPERBLOCK": {}}"#));
        let plain = value("{}");
        for (attrs, zgroup, expected) in [
            (Some(&lower), Some(&plain), Some(Generation::Today)),
            (Some(&lower), Some(&upper), Some(Generation::Today)),
            (Some(&plain), Some(&lower), Some(Generation::Lower)),
            (None, Some(&upper), Some(Generation::Upper)),
            (Some(&upper), Some(&plain), None),
            (None, None, None),
        ] {
            assert_eq!(Generation::of_root(attrs, zgroup), expected);
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
            let defects = Defects::of(Some(text), Some(Generation::Today));
            assert_eq!((defects.swapped, defects.wide_char), (early, early), "{text}");
        }
        assert_eq!(Defects::of(None, None), Defects::default());
        assert_eq!(Defects::of(None, Some(Generation::Keys)), Defects { swapped: false, wide_char: true });
    }

    #[test]
    fn types_that_are_others() {
        let both = Defects { swapped: true, wide_char: true };
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
            assert_eq!(Defects::default().true_type(name), None);
        }
    }
}
