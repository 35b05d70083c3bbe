//! `C_format`: the number format of a variable.
//!
//! It is one `printf` conversion with text around it, for instance `%7.2f` or `0x%08x`. An invalid format, or
//! one that does not fit the variable's type, is ignored.

use std::io::Write as _;

use crate::number::{exponential, fixed, general};

/// Largest field width and precision.
const MAX_LEN: usize = 100;

/// A parsed format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CFormat {
    before: Vec<u8>,
    after: Vec<u8>,
    left: bool,
    zero: bool,
    keep: bool,
    plus: Option<u8>,
    width: usize,
    precision: Option<usize>,
    conversion: u8,
}

/// A number to print.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FormatNumber {
    /// An integer; `wide` for types of 64 bits.
    Int {
        /// Its value.
        value: i128,
        /// Whether C prints it modulo 2^64 in unsigned conversions.
        wide: bool,
    },
    /// A finite float.
    Float(f64),
}

impl CFormat {
    /// Parses a format for integers (`float` false) or floats.
    pub(crate) fn parse(text: &[u8], float: bool) -> Option<Self> {
        let (before, rest) = literal(text)?;
        let mut rest = rest.strip_prefix(b"%")?;
        let mut format = Self {
            before,
            after: Vec::new(),
            left: false,
            zero: false,
            keep: false,
            plus: None,
            width: 0,
            precision: None,
            conversion: 0,
        };
        while let Some((&flag, tail)) = rest.split_first() {
            match flag {
                b'-' => format.left = true,
                b'0' => format.zero = true,
                b'#' => format.keep = true,
                b'+' => format.plus = Some(b'+'),
                b' ' => format.plus = format.plus.or(Some(b' ')),
                _ => break,
            }
            rest = tail;
        }
        (format.width, rest) = number(rest)?;
        if let Some(tail) = rest.strip_prefix(b".") {
            let (precision, tail) = number(tail)?;
            format.precision = Some(precision);
            rest = tail;
        }
        while let Some(tail) = rest.strip_prefix(b"l").or_else(|| rest.strip_prefix(b"h")) {
            rest = tail;
        }
        let (&conversion, rest) = rest.split_first()?;
        let fits: &[u8] = if float { b"eEfFgG" } else { b"diuxXo" };
        format.conversion = fits.contains(&conversion).then_some(conversion)?;
        let (after, rest) = literal(rest)?;
        format.after = after;
        rest.is_empty().then_some(format)
    }

    /// Appends a number.
    pub(crate) fn push(&self, out: &mut Vec<u8>, number: FormatNumber) {
        out.extend_from_slice(&self.before);
        let (negative, prefix, digits) = match number {
            FormatNumber::Int { value, wide } => self.int(value, wide),
            FormatNumber::Float(value) => self.float(value),
        };
        let signed = !matches!(self.conversion, b'u' | b'x' | b'X' | b'o');
        let sign = if negative { Some(b'-') } else { self.plus.filter(|_| signed) };
        let len = sign.map_or(0, |_| 1) + prefix.len() + digits.len();
        let fill = self.width.saturating_sub(len);
        // The precision of an integer disables padding with zeros.
        let zeros = self.zero
            && !self.left
            && !(matches!(number, FormatNumber::Int { .. }) && self.precision.is_some());
        if !self.left && !zeros {
            out.resize(out.len() + fill, b' ');
        }
        out.extend(sign);
        out.extend_from_slice(prefix);
        if zeros {
            out.resize(out.len() + fill, b'0');
        }
        out.extend_from_slice(&digits);
        if self.left {
            out.resize(out.len() + fill, b' ');
        }
        out.extend_from_slice(&self.after);
    }

    fn int(&self, value: i128, wide: bool) -> (bool, &'static [u8], Vec<u8>) {
        let bits = if wide { value as u64 } else { u64::from(value as u32) };
        let mut digits = Vec::new();
        match self.conversion {
            b'x' => write!(digits, "{bits:x}"),
            b'X' => write!(digits, "{bits:X}"),
            b'o' => write!(digits, "{bits:o}"),
            b'u' => write!(digits, "{bits}"),
            _ => write!(digits, "{}", value.unsigned_abs()),
        }
        .expect("a vector takes everything");
        let prefix: &[u8] = match self.conversion {
            b'x' if self.keep && bits != 0 => b"0x",
            b'X' if self.keep && bits != 0 => b"0X",
            _ => b"",
        };
        if let Some(precision) = self.precision {
            if precision == 0 && value == 0 {
                digits.clear();
            }
            while digits.len() < precision {
                digits.insert(0, b'0');
            }
        }
        if self.conversion == b'o' && self.keep && digits.first() != Some(&b'0') {
            digits.insert(0, b'0');
        }
        let signed = matches!(self.conversion, b'd' | b'i');
        (signed && value < 0, prefix, digits)
    }

    fn float(&self, value: f64) -> (bool, &'static [u8], Vec<u8>) {
        let mut digits = Vec::new();
        let precision = self.precision.unwrap_or(6);
        match self.conversion {
            b'e' | b'E' => exponential(&mut digits, value.abs(), precision, self.keep),
            b'f' | b'F' => fixed(&mut digits, value.abs(), precision, self.keep),
            _ => general(&mut digits, value.abs(), precision, self.keep),
        }
        if self.conversion.is_ascii_uppercase() {
            digits.make_ascii_uppercase();
        }
        (value.is_sign_negative(), b"", digits)
    }
}

/// Parses text up to a conversion; `%%` stands for `%`.
fn literal(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        match (byte, tail.first()) {
            (b'%', Some(b'%')) => rest = &tail[1..],
            (b'%', _) => break,
            // The text goes into CDL unescaped, so these bytes make the format invalid.
            (b'\n' | b'"' | 0, _) => return None,
            _ => rest = tail,
        }
        out.push(byte);
    }
    Some((out, rest))
}

/// Parses a decimal number, 0 if there is none; `None` if it is too large.
fn number(text: &[u8]) -> Option<(usize, &[u8])> {
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(len);
    let value =
        digits.iter().fold(0usize, |n, digit| n.saturating_mul(10).saturating_add(usize::from(digit - b'0')));
    (value <= MAX_LEN).then_some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(format: &str, number: FormatNumber) -> Option<String> {
        let mut out = Vec::new();
        CFormat::parse(format.as_bytes(), matches!(number, FormatNumber::Float(_)))?.push(&mut out, number);
        Some(String::from_utf8(out).unwrap())
    }

    #[test]
    fn floats() {
        for (format, value, want) in [
            ("%4.1f", 1.25, " 1.2"),
            ("%4.1f", -3.75, "-3.8"),
            ("%4.1f", 1e10, "10000000000.0"),
            ("v=%8.3e", 3.5, "v=3.500e+00"),
            ("%-10.3gx", 0.5, "0.5       x"),
            ("%010.2f", -1.5, "-000001.50"),
            ("%+.0f", 2.5, "+2"),
            ("% g", 0.00001, " 1e-05"),
            ("%G", 1e-10, "1E-10"),
            ("%#.3g", 1.0, "1.00"),
            ("%f%%", 1.0, "1.000000%"),
            ("%lf", 1.0, "1.000000"),
            ("%#.0f", 1.0, "1."),
            ("%.0e", 15.0, "2e+01"),
        ] {
            assert_eq!(
                text(format, FormatNumber::Float(value)).as_deref(),
                Some(want),
                "{format} of {value}"
            );
        }
    }

    #[test]
    fn integers() {
        for (format, value, wide, want) in [
            ("%05x", 1, false, "00001"),
            ("%05x", -1, false, "ffffffff"),
            ("%x", -1, true, "ffffffffffffffff"),
            ("%#X", 255, false, "0XFF"),
            ("%#o", 8, false, "010"),
            ("%u", -1, false, "4294967295"),
            ("%5.3d", -7, false, " -007"),
            ("%-5dm", 42, false, "42   m"),
            ("%+d", 42, false, "+42"),
            ("%lld", i128::from(i64::MIN), true, "-9223372036854775808"),
            ("%.0d", 0, false, ""),
        ] {
            assert_eq!(
                text(format, FormatNumber::Int { value, wide }).as_deref(),
                Some(want),
                "{format} of {value}"
            );
        }
    }

    #[test]
    fn invalid_c_formats_are_ignored() {
        for format in
            ["", "plain", "%", "%d %d", "%s", "%n", "%9999999999999f", "%.101f", "%5", "%*d", "a\n%f", "%q"]
        {
            assert_eq!(text(format, FormatNumber::Float(1.0)), None, "{format:?}");
            if format != "%d %d" {
                assert_eq!(text(format, FormatNumber::Int { value: 1, wide: false }), None, "{format:?}");
            }
        }
        assert_eq!(text("%d", FormatNumber::Float(1.0)), None);
        assert_eq!(text("%f", FormatNumber::Int { value: 1, wide: false }), None);
    }
}
