//! [`CreateDefaults`]: settings for new datasets from the environment and rc files. A URL overrides them.
//!
//! Source: netCDF-C's pages on its environment variables and on the run-time configuration.

use nczarr_codec::ZarrFormat;
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::RcFile;

/// The version of Zarr for new datasets: 2 or 3.
const FORMAT: &str = "NCZARRFORMAT";
/// Whether new datasets of Zarr V2 get consolidated metadata: a number above 0, `true` or `yes`.
const CONSOLIDATED: &str = "NCZARR_CONSOLIDATED";
/// The rc key of the separator of chunk indices.
const SEPARATOR: &str = "ZARR.DIMENSION_SEPARATOR";

/// The settings for new datasets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CreateDefaults {
    pub(crate) format: Option<ZarrFormat>,
    pub(crate) consolidated: bool,
    pub(crate) separator: Option<char>,
}

impl CreateDefaults {
    /// Reads the environment through `variable`, and the rc files that it names.
    ///
    /// # Errors
    /// `NC_EINVAL` for an invalid value; `NC_ERCFILE` for an unreadable rc file.
    pub(crate) fn load(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let given = |name: &str| {
            variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let wrong = |name: &str, found: &str, expected: &str| {
            ErrorKind::Inval.context(format!("{name}: invalid value (expected {expected}, found {found})"))
        };
        let format = match given(FORMAT).as_deref() {
            None => None,
            Some("2") => Some(ZarrFormat::V2),
            Some("3") => Some(ZarrFormat::V3),
            Some(other) => return Err(wrong(FORMAT, other, "2 or 3")),
        };
        let consolidated = given(CONSOLIDATED).is_some_and(|value| {
            let is_word = ["true", "yes"].iter().any(|word| value.eq_ignore_ascii_case(word));
            is_word || value.parse::<i64>().is_ok_and(|number| number > 0)
        });
        let separator = match RcFile::load(variable)?.get(SEPARATOR, "") {
            None => None,
            Some(".") => Some('.'),
            Some("/") => Some('/'),
            Some(other) => return Err(wrong(SEPARATOR, other, "'.' or '/' in the rc file")),
        };
        Ok(Self { format, consolidated, separator })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(variables: &[(&str, &str)]) -> Result<CreateDefaults> {
        let folder = tempfile::tempdir().unwrap();
        let rc = folder.path().join("rc");
        let value = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        std::fs::write(&rc, value("rc").unwrap_or_default()).unwrap();
        CreateDefaults::load(&|name| match name {
            "NCRCENV_RC" => Some(rc.to_str().unwrap().to_owned()),
            name => value(name),
        })
    }

    #[test]
    fn variables_and_rc_files_are_read() {
        assert_eq!(load(&[]).unwrap(), CreateDefaults::default());
        let all = [(FORMAT, "3"), (CONSOLIDATED, "Yes"), ("rc", "ZARR.DIMENSION_SEPARATOR=/\n")];
        let expected =
            CreateDefaults { format: Some(ZarrFormat::V3), consolidated: true, separator: Some('/') };
        assert_eq!(load(&all).unwrap(), expected);
        for (value, expected) in [("1", true), ("0", false), ("-1", false), ("TRUE", true), ("no", false)] {
            assert_eq!(load(&[(CONSOLIDATED, value)]).unwrap().consolidated, expected, "{value}");
        }
        for wrong in [(FORMAT, "4"), ("rc", "ZARR.DIMENSION_SEPARATOR=-\n")] {
            assert_eq!(load(&[wrong]).unwrap_err().kind(), ErrorKind::Inval, "{wrong:?}");
        }
    }
}
