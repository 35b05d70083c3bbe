//! Formats numbers as C's `printf` does.
//!
//! The standard library's `{:.*e}` rounds exactly (ties to even), so its digits equal those of C. This module
//! chooses between plain and exponent form. Source: ISO C, `fprintf`, conversions `e`, `f`, `g`.

use std::io::Write as _;

/// Room for the exponent form of any number with [`MAX_DIGITS`] digits.
const ROOM: usize = 128;
/// Most digits: `C_format` allows 100 behind the point.
const MAX_DIGITS: usize = ROOM - 16;

/// The decimal digits and exponent of a finite number, without heap allocation.
struct DecimalDigits {
    text: [u8; ROOM],
    len: usize,
    exponent: i32,
}

impl DecimalDigits {
    fn new(value: f64, digits: usize) -> Self {
        let mut this = Self { text: [0; ROOM], len: 0, exponent: 0 };
        let mut rest = &mut this.text[..];
        let precision = digits.clamp(1, MAX_DIGITS) - 1;
        write!(rest, "{:.precision$e}", value.abs()).expect("there is room for it");
        let room = rest.len();
        let text = &this.text[..ROOM - room];
        let at = text.iter().rposition(|&byte| byte == b'e').expect("this form always has an exponent");
        let (negative, number) = match &text[at + 1..] {
            [b'-', number @ ..] => (true, number),
            number => (false, number),
        };
        let size = number.iter().fold(0, |value, digit| value * 10 + i32::from(digit - b'0'));
        this.exponent = if negative { -size } else { size };
        // Before the exponent there is one digit, and a point if there are more.
        this.len = if at == 1 { 1 } else { at - 1 };
        this.text.copy_within(2..at.max(2), 1);
        this
    }

    fn all(&self) -> &[u8] {
        &self.text[..self.len]
    }
}

/// Formats as `%.{precision}g`, or `%#.{precision}g`, which keeps the point and trailing zeros. `value` must
/// be finite.
pub(crate) fn general(out: &mut Vec<u8>, value: f64, precision: usize, keep: bool) {
    let precision = precision.max(1);
    let digits = DecimalDigits::new(value, precision);
    let (mut digits, exponent) = (digits.all(), digits.exponent);
    let plain = exponent >= -4 && usize::try_from(exponent).map_or(true, |exponent| exponent < precision);
    // The digits before the point always stay.
    let least = if plain { usize::try_from(exponent).map_or(1, |exponent| exponent + 1) } else { 1 };
    if !keep {
        while let [more @ .., b'0'] = digits
            && digits.len() > least
        {
            digits = more;
        }
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if !plain {
        out.push(digits[0]);
        if digits.len() > 1 || keep {
            out.push(b'.');
        }
        out.extend_from_slice(&digits[1..]);
        push_exponent(out, exponent);
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + (-exponent - 1) as usize, b'0');
        out.extend_from_slice(digits);
    } else {
        let (whole, fraction) = digits.split_at(least);
        out.extend_from_slice(whole);
        if !fraction.is_empty() || keep {
            out.push(b'.');
        }
        out.extend_from_slice(fraction);
    }
}

/// `%.{precision}e`, or `%#.{precision}e`.
pub(crate) fn exponential(out: &mut Vec<u8>, value: f64, precision: usize, keep: bool) {
    let digits = DecimalDigits::new(value, precision.saturating_add(1));
    let (digits, exponent) = (digits.all(), digits.exponent);
    if value.is_sign_negative() {
        out.push(b'-');
    }
    out.push(digits[0]);
    if precision > 0 || keep {
        out.push(b'.');
    }
    out.extend_from_slice(&digits[1..]);
    push_exponent(out, exponent);
}

/// `%.{precision}f`, or `%#.{precision}f`.
pub(crate) fn fixed(out: &mut Vec<u8>, value: f64, precision: usize, keep: bool) {
    write!(out, "{value:.precision$}").expect("a vector takes everything");
    if precision == 0 && keep {
        out.push(b'.');
    }
}

fn push_exponent(out: &mut Vec<u8>, exponent: i32) {
    let sign = if exponent < 0 { '-' } else { '+' };
    write!(out, "e{sign}{:02}", exponent.unsigned_abs()).expect("a vector takes everything");
}

/// Formats as `%.{precision}g` with a point in any case, as float attributes are written (`347.`, `1.e+20`).
pub(crate) fn with_point(out: &mut Vec<u8>, value: f64, precision: usize) {
    let from = out.len();
    general(out, value, precision, false);
    if !out[from..].contains(&b'.') {
        let at = out[from..].iter().position(|&byte| byte == b'e').map_or(out.len(), |at| from + at);
        out.insert(at, b'.');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn g(value: f64, precision: usize) -> String {
        let mut out = Vec::new();
        general(&mut out, value, precision, false);
        String::from_utf8(out).unwrap()
    }

    fn point(value: f64, precision: usize) -> String {
        let mut out = Vec::new();
        with_point(&mut out, value, precision);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn general_form_is_that_of_c() {
        for (value, precision, want) in [
            (0.0, 7, "0"),
            (-0.0, 7, "-0"),
            (1.0, 1, "1"),
            (0.5, 1, "0.5"),
            (2.5, 1, "2"),
            (3.5, 1, "4"),
            (9.5, 1, "1e+01"),
            (99.5, 2, "1e+02"),
            (100.0, 3, "100"),
            (100.0, 2, "1e+02"),
            (123456.0, 6, "123456"),
            (1234567.0, 6, "1.23457e+06"),
            (999999.5, 6, "1e+06"),
            (0.0001, 7, "0.0001"),
            (0.00001, 7, "1e-05"),
            (0.00009999999, 3, "0.0001"),
            (1e100, 7, "1e+100"),
            (f64::MAX, 15, "1.79769313486232e+308"),
            (f64::MAX, 17, "1.7976931348623157e+308"),
            (5e-324, 15, "4.94065645841247e-324"),
            (0.1, 17, "0.10000000000000001"),
            (1.0 / 3.0, 15, "0.333333333333333"),
            (f64::from(0.1f32), 9, "0.100000001"),
            (f64::from(f32::MIN_POSITIVE), 7, "1.175494e-38"),
            (f64::from(31415926535.897932f32), 7, "3.141593e+10"),
            (-999.0, 15, "-999"),
            (12.0, 0, "1e+01"),
        ] {
            assert_eq!(g(value, precision), want, "{value:e} with {precision} digits");
        }
    }

    #[test]
    fn attributes_always_have_a_point() {
        for (value, precision, want) in [
            (347.0, 7, "347."),
            (0.0, 7, "0."),
            (-0.0, 15, "-0."),
            (1e20, 15, "1.e+20"),
            (3.14159e10, 7, "3.14159e+10"),
            (31415900000.0, 15, "31415900000."),
            (0.25, 7, "0.25"),
        ] {
            assert_eq!(point(value, precision), want);
        }
    }

    #[test]
    fn kept_zeros() {
        for (value, precision, want) in
            [(1.0, 3, "1.00"), (0.0, 3, "0.00"), (1e10, 3, "1.00e+10"), (100.0, 3, "100.")]
        {
            let mut out = Vec::new();
            general(&mut out, value, precision, true);
            assert_eq!(String::from_utf8(out).unwrap(), want);
        }
    }

    /// The literal rule of the C standard. Format with `%e` for the exponent X. Use `%f` with P - 1 - X
    /// decimals if P > X >= -4, else `%e` with P - 1. Then drop trailing zeros and a bare point.
    fn oracle(value: f64, precision: usize) -> String {
        let probe = format!("{:.*e}", precision - 1, value);
        let exponent: i32 = probe.split_once('e').unwrap().1.parse().unwrap();
        let trim = |text: &str| {
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text.to_owned()
            }
        };
        if (precision as i32) > exponent && exponent >= -4 {
            trim(&format!("{:.*}", (precision as i32 - 1 - exponent) as usize, value))
        } else {
            let (mantissa, _) = probe.split_once('e').unwrap();
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", trim(mantissa), exponent.abs())
        }
    }

    proptest! {
        #[test]
        fn any_double_is_written_by_the_rule(bits: u64, precision in 1usize..=20) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(g(value, precision), oracle(value, precision));
        }

        #[test]
        fn plain_numbers_are_written_by_the_rule(value in -1e18f64..1e18, scale in -20i32..20, precision in 1usize..=17) {
            let value = value * 10f64.powi(scale);
            prop_assert_eq!(g(value, precision), oracle(value, precision));
        }

        #[test]
        fn enough_digits_read_back(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(g(value, 17).parse::<f64>().unwrap().to_bits(), bits);
        }
    }
}
