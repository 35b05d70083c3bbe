//! The fragment's grammar: `key=value&key=value&word`.
//!
//! Keys ignore letter case. A single word is a value of `mode`, with two exceptions. It is a key if it is a
//! known key without a value (`log`), or if it is unknown and a `mode=` exists.
//!
//! Source: NCZarr manual, section on URL fragments; the multi-value `mode` of netCDF-C.

use std::borrow::Cow;

use nczarr_model::{ErrorKind, Result};

/// Words of `mode` for the project's own drivers and maps, and words that are rejected by name.
///
/// They only distinguish a plain path's fragment from a file name with a `#`; a URL accepts any word.
const WORDS: &[&str] = &[
    "nczarr",
    "zarr",
    "xarray",
    "noxarray",
    "consolidated",
    "noconsolidated",
    "annotate",
    "v2",
    "v3",
    "file",
    "zip",
    "s3",
    "gs3",
    "http",
    "mem",
    "memory",
    "bytes",
    "classic",
    "netcdf-3",
    "64bitoffset",
    "64bitdata",
    "cdf1",
    "cdf2",
    "cdf5",
    "netcdf-4",
    "netcdf4",
    "nc4",
    "nc4-classic",
    "enhanced",
    "hdf5",
    "hdf4",
    "cdl",
    "dap2",
    "dap4",
    "udf0",
    "udf1",
    "udf2",
    "udf3",
    "udf4",
    "udf5",
    "udf6",
    "udf7",
    "udf8",
    "udf9",
];

/// Known keys other than `mode`, by their main names.
const KEYS: &[&str] = &["log", "show", "datetime", "aws.profile", "aws.region", "endpoint"];

/// Known keys that need a value.
const VALUED: &[&str] = &["zipdir", "missing_chunks", "dimension_separator", "forbidden", "exclusive"];

/// Other spellings of keys.
const ALIASES: &[(&str, &str)] = &[("awsprofile", "aws.profile"), ("awsregion", "aws.region")];

/// A parsed fragment before any rule is applied.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// Pairs other than `mode`; keys in lower case by their main names.
    pub(crate) pairs: Vec<(String, String)>,
    /// Values of `mode` and single words, in lower case, in order, with repeats.
    pub(crate) modes: Vec<String>,
    /// One line per word that was taken as a mode.
    pub(crate) steps: Vec<Cow<'static, str>>,
}

impl Fragment {
    /// Adds the contents of `text`, without `#` or brackets.
    pub(crate) fn add(&mut self, text: &str) -> Result<()> {
        let is_mode = |piece: &str| {
            piece.split_once('=').is_some_and(|(key, _)| key.trim().eq_ignore_ascii_case("mode"))
        };
        let beside = || text.split('&').any(is_mode);
        for piece in text.split('&').map(str::trim).filter(|piece| !piece.is_empty()) {
            match piece.split_once('=') {
                Some((key, value)) => {
                    let key = key.trim();
                    if key.is_empty() {
                        return Err(ErrorKind::Url.context("the fragment has a value without a key"));
                    }
                    self.pair(main_name(key), value.trim());
                }
                None => self.word(piece, beside()),
            }
        }
        Ok(())
    }

    fn pair(&mut self, key: Cow<'_, str>, value: &str) {
        if key == "mode" {
            let values = value.split(',').map(str::trim).filter(|value| !value.is_empty());
            // A fast path for ASCII words.
            let lower =
                |word: &str| if word.is_ascii() { word.to_ascii_lowercase() } else { word.to_lowercase() };
            self.modes.extend(values.map(lower));
        } else {
            self.pairs.push((key.into_owned(), value.to_owned()));
        }
    }

    fn word(&mut self, word: &str, beside: bool) {
        let word = main_name(word);
        if word == "mode" || KEYS.contains(&&*word) || (beside && !WORDS.contains(&&*word)) {
            self.pair(word, "");
        } else {
            self.steps.push(format!("#{word} means #mode={word}").into());
            self.pair("mode".into(), &word);
        }
    }
}

fn main_name(key: &str) -> Cow<'_, str> {
    let is_lower = key.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    let key = if is_lower { Cow::Borrowed(key) } else { Cow::Owned(key.to_lowercase()) };
    match ALIASES.iter().find(|(alias, _)| *alias == key) {
        Some((_, name)) => Cow::Borrowed(name),
        None => key,
    }
}

/// Whether the project defines this value of `mode`, given in lower case.
pub fn is_known_mode(mode: &str) -> bool {
    WORDS.contains(&mode)
}

/// Returns the values of `mode` that the project defines.
pub fn known_modes() -> &'static [&'static str] {
    WORDS
}

/// Returns the fragment keys that the project defines, by their main names and in lower case.
pub fn known_keys() -> Vec<&'static str> {
    let all = ["mode"].iter().chain(KEYS).chain(VALUED).copied();
    all.collect()
}

/// Whether `text`, the part after a `#` of a plain path, is a fragment rather than the end of a file name.
///
/// It is if every piece is a known word, or a `key=value` with a plausible key. A value with a `/` needs a
/// known key or a `mode`; an unknown word needs a `mode`. So `run#a=b/x.zarr` is a path.
pub(crate) fn looks_like_fragment(text: &str) -> bool {
    let is_mode = |key: &str| key.eq_ignore_ascii_case("mode");
    let sure = text.split('&').any(|piece| piece.split_once('=').is_some_and(|(key, _)| is_mode(key)));
    !text.is_empty()
        && text.split('&').all(|piece| match piece.split_once('=') {
            Some((key, value)) => {
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
                let known = || KEYS.contains(&&*main_name(key)) || VALUED.contains(&&*main_name(key));
                !key.is_empty() && key.chars().all(plain) && (!value.contains('/') || sure || known())
            }
            None => {
                let word = main_name(piece);
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                WORDS.contains(&&*word)
                    || KEYS.contains(&&*word)
                    || (sure && !word.is_empty() && word.chars().all(plain))
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_of_plain_paths() {
        for (text, expected) in [
            ("mode=zarr", true),
            ("MODE=NCZARR,FILE", true),
            ("zarr", true),
            ("Zarr", true),
            ("zarr&log", true),
            ("mode=null&colour=red", true),
            ("endpoint=http://localhost:9000/x", true),
            ("a=b", true),
            ("mode=nczarr,zip&zipdir=a/b", true),
            ("zipdir=a/b&mode=zip", true),
            ("zipdir=a/b", true),
            ("ZipDir=a/b/", true),
            ("zip&zipdir=a/b", true),
            ("mode=zarr&mine=a/b", true),
            ("missing_chunks=warn", true),
            ("", false),
            ("1", false),
            ("run", false),
            ("run/x.zarr", false),
            ("a=b/x.zarr", false),
            ("a=b/x.zarr&c=d", false),
            ("zarr&a=b/x.zarr", false),
            ("mode=zarr&/x", false),
            ("zipdir", false),
            ("a b=c", false),
            ("=b", false),
            ("zarr&run", false),
            ("mode=zarr&run", true),
            ("zarr&", false),
        ] {
            assert_eq!(looks_like_fragment(text), expected, "{text:?}");
        }
    }
}
