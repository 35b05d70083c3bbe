//! Parses and prints filters as text, such as `307,9|zstd,-3`: the form of `nccopy -F` and of the CDL
//! attribute `_Filter`.
//!
//! A filter is an HDF5 id or a name, followed by parameters after commas. Several filters are joined by `|`,
//! in the order of encoding. The suffix of a parameter gives its type; each parameter becomes one or two
//! 32-bit words:
//!
//! | constant | example | words |
//! |---|---|---|
//! | 32 bits, signed or not | `77` `-77` `93u` `0xff` | one |
//! | 8 and 16 bits | `-17b` `23ub` `-25s` `27us` | one, the other bits 0 |
//! | 64 bits | `-5l` `18446744073709551615ul` | two, the low one first |
//! | float, double | `789f` `12.5d` | one; two, the low one first |
//!
//! After hexadecimal digits `b`, `f` and `d` are digits, not suffixes. A value that does not fit its type is
//! an error.

use std::fmt;
use std::str::FromStr;

use nczarr_model::{Error, ErrorKind, Result};

/// A filter and its parameters, parsed from text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterText {
    /// The filter's id or name.
    pub filter: FilterName,
    /// Its parameters.
    pub params: Vec<u32>,
}

/// The id or name of a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilterName {
    /// By its HDF5 id.
    Id(u32),
    /// By a name or an alias.
    Name(String),
}

impl FilterText {
    /// Parses filters that are joined by `|`.
    ///
    /// # Errors
    /// `NC_EINVAL` if one of them is invalid, or if there is none.
    pub fn parse_list(text: &str) -> Result<Vec<Self>> {
        text.split('|').map(str::parse).collect()
    }

    /// Prints filters in the form that [`FilterText::parse_list`] reads.
    pub fn render_list(filters: &[Self]) -> String {
        filters.iter().map(ToString::to_string).collect::<Vec<_>>().join("|")
    }
}

impl FromStr for FilterText {
    type Err = Error;

    /// Parses one filter.
    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split(',').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let digits = name.bytes().all(|byte| byte.is_ascii_digit());
        let filter = match name.parse() {
            Ok(id) if digits => FilterName::Id(id),
            _ if name.is_empty() => return Err(wrong(text, name, "no filter is named")),
            _ if digits => return Err(wrong(text, name, "no filter has so large an id")),
            _ => FilterName::Name(name.to_owned()),
        };
        let mut params = Vec::new();
        for part in parts {
            param(part, &mut params).map_err(|what| wrong(text, part, what))?;
        }
        Ok(Self { filter, params })
    }
}

fn wrong(text: &str, part: &str, what: &str) -> Error {
    ErrorKind::Inval.context(format!("filter {text:?}: invalid parameter {part:?}: {what}"))
}

impl fmt::Display for FilterText {
    /// Prints the form that [`FromStr`] reads, with unsigned parameters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.filter {
            FilterName::Id(id) => write!(f, "{id}")?,
            FilterName::Name(name) => f.write_str(name)?,
        }
        self.params.iter().try_for_each(|param| write!(f, ",{param}"))
    }
}

/// The reason why a text is not a constant.
type Problem = &'static str;

/// Appends the words of a constant.
fn param(text: &str, words: &mut Vec<u32>) -> Result<(), Problem> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    if let Some(rest) = lower.strip_prefix("0x") {
        let hex = rest.trim_end_matches(['u', 's', 'l']);
        let plain = hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = u64::from_str_radix(hex, 16).ok().filter(|_| plain);
        return integer(negative, value, &rest[hex.len()..], words);
    }
    let number = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    match &lower[number.len()..] {
        "f" => {
            // Rounded through a double, as in netCDF-C.
            let value = real(negative, number)? as f32;
            if value.is_infinite() {
                return Err("it is too large for a float");
            }
            words.push(value.to_bits());
            Ok(())
        }
        "d" => {
            push_both(real(negative, number)?.to_bits(), words);
            Ok(())
        }
        tag => {
            let plain = number.bytes().all(|byte| byte.is_ascii_digit());
            if !plain && real(negative, number).is_ok() {
                return Err("a number that is not whole needs a tag, f or d");
            }
            integer(negative, number.parse().ok().filter(|_| plain), tag, words)
        }
    }
}

fn real(negative: bool, number: &str) -> Result<f64, Problem> {
    let allowed = number.bytes().all(|byte| byte.is_ascii_digit() || b".e+-".contains(&byte));
    let starts = number.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    match number.parse::<f64>().ok().filter(|_| allowed && starts) {
        Some(value) if value.is_finite() => Ok(if negative { -value } else { value }),
        Some(_) => Err("it is too large for a double"),
        None => Err("no number"),
    }
}

/// Appends a whole number of the type `tag`.
fn integer(negative: bool, value: Option<u64>, tag: &str, words: &mut Vec<u32>) -> Result<(), Problem> {
    let (bits, unsigned) = match tag {
        "" => (32, false),
        "u" => (32, true),
        "b" => (8, false),
        "ub" => (8, true),
        "s" => (16, false),
        "us" => (16, true),
        "l" => (64, false),
        "ul" => (64, true),
        _ => return Err("unknown tag (expected u, b, ub, s, us, l, ul, f or d)"),
    };
    let value = value.ok_or("no number")?;
    if negative && unsigned {
        return Err("its tag says that it has no sign");
    }
    // Without a sign all bits may be used, whatever the suffix: netCDF-C accepts `200b`.
    let all = u64::MAX >> (64 - bits);
    if value > if negative { 1 << (bits - 1) } else { all } {
        return Err(match bits {
            8 => "it does not fit 8 bits",
            16 => "it does not fit 16 bits",
            32 => "it does not fit 32 bits; the tags l and ul have 64",
            _ => "it does not fit 64 bits",
        });
    }
    let value = if negative { value.wrapping_neg() & all } else { value };
    match u32::try_from(value) {
        Ok(word) if bits <= 32 => words.push(word),
        _ => push_both(value, words),
    }
    Ok(())
}

fn push_both(value: u64, words: &mut Vec<u32>) {
    words.extend([value as u32, (value >> 32) as u32]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn params(text: &str) -> Result<Vec<u32>> {
        Ok(format!("1,{text}").parse::<FilterText>()?.params)
    }

    #[test]
    fn constants_of_all_types() {
        for (text, words) in [
            ("77", &[77][..]),
            ("+77", &[77]),
            (" 77", &[77]),
            ("4294967295", &[u32::MAX]),
            ("-77", &[77u32.wrapping_neg()]),
            ("-2147483648", &[0x8000_0000]),
            ("93U", &[93]),
            ("0x1F", &[31]),
            ("0xabcdef", &[0xab_cdef]),
            ("-0x1", &[u32::MAX]),
            ("0x10us", &[16]),
            ("0x100000002ul", &[2, 1]),
            ("-17b", &[239]),
            ("-128B", &[128]),
            ("200b", &[200]),
            ("255UB", &[255]),
            ("-25S", &[65511]),
            ("27US", &[27]),
            ("-5l", &[u32::MAX - 4, u32::MAX]),
            ("-9223372036854775808L", &[0, 0x8000_0000]),
            ("18446744073709551615UL", &[u32::MAX, u32::MAX]),
            ("4294967298l", &[2, 1]),
            ("789f", &[0x4445_4000]),
            ("-0f", &[0x8000_0000]),
            ("2.5d", &[0, 0x4004_0000]),
            ("1,2b,3l", &[1, 2, 3, 0]),
        ] {
            assert_eq!(params(text).unwrap(), words, "{text}");
        }
    }

    #[test]
    fn invalid_constants_are_errors() {
        for (text, part) in [
            ("", "no number"),
            ("-", "no number"),
            ("x", "tag"),
            ("1x", "tag"),
            ("--1", "no number"),
            ("-+1", "no number"),
            ("1.5", "needs a tag"),
            ("1e400d", "too large"),
            ("1e39f", "too large"),
            ("inff", "tag"),
            ("nand", "tag"),
            ("f", "no number"),
            ("4294967296", "32 bits"),
            ("-2147483649", "32 bits"),
            ("18446744073709551616ul", "no number"),
            ("-9223372036854775809l", "64 bits"),
            ("-1u", "no sign"),
            ("-1ul", "no sign"),
            ("256b", "8 bits"),
            ("-129b", "8 bits"),
            ("65536us", "16 bits"),
            ("-32769s", "16 bits"),
            ("0x", "no number"),
            ("0x+1", "no number"),
            ("0xg", "no number"),
            ("1lu", "tag"),
            ("1_000", "no number"),
        ] {
            let error = params(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Inval);
            assert!(error.to_string().contains(part), "{text:?}: {error}");
        }
    }

    #[test]
    fn filters_by_id_and_by_name() {
        let list = FilterText::parse_list("307,9|32015, -3|shuffle").unwrap();
        assert_eq!(FilterText::render_list(&list), "307,9|32015,4294967293|shuffle");
        assert_eq!(list[0], FilterText { filter: FilterName::Id(307), params: vec![9] });
        assert_eq!(list[2], FilterText { filter: FilterName::Name("shuffle".into()), params: Vec::new() });
        for text in ["", "|", "307|", ",9", "99999999999,1", "307,,9", "307,"] {
            assert!(FilterText::parse_list(text).is_err(), "{text:?}");
        }
    }

    fn filter() -> impl Strategy<Value = FilterText> {
        let name = "[a-z][a-z0-9_.-]{0,12}".prop_map(FilterName::Name);
        let name = prop_oneof![any::<u32>().prop_map(FilterName::Id), name];
        (name, prop::collection::vec(any::<u32>(), 0..9))
            .prop_map(|(filter, params)| FilterText { filter, params })
    }

    proptest! {
        #[test]
        fn rendered_filters_parse_back(filters in prop::collection::vec(filter(), 1..4)) {
            prop_assert_eq!(FilterText::parse_list(&FilterText::render_list(&filters)).unwrap(), filters);
        }

        #[test]
        fn numbers_of_all_types_are_their_bits(value: u64, real in -1e300..1e300f64, single in -1e30..1e30f32) {
            let both = |bits: u64| vec![bits as u32, (bits >> 32) as u32];
            prop_assert_eq!(params(&format!("{value}ul")).unwrap(), both(value));
            prop_assert_eq!(params(&format!("{}l", value as i64)).unwrap(), both(value));
            prop_assert_eq!(params(&format!("{value:#x}ul")).unwrap(), both(value));
            prop_assert_eq!(params(&format!("{}", value as i32)).unwrap(), vec![value as u32]);
            prop_assert_eq!(params(&format!("{}s", value as i16)).unwrap(), vec![u32::from(value as u16)]);
            prop_assert_eq!(params(&format!("{}b", value as i8)).unwrap(), vec![u32::from(value as u8)]);
            prop_assert_eq!(params(&format!("{real:?}d")).unwrap(), both(real.to_bits()));
            prop_assert_eq!(params(&format!("{single:?}f")).unwrap(), vec![single.to_bits()]);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[-+0-9a-fx.uslUSL,| ]{0,20}") {
            if let Ok(list) = FilterText::parse_list(&text) {
                prop_assert_eq!(FilterText::parse_list(&FilterText::render_list(&list)).unwrap(), list);
            }
        }
    }
}
