//! [`Constant`]: a value as written, with the type of its suffix.
//!
//! `values` converts it once the type of its variable or attribute is known. Source: netCDF-C's CDL reader,
//! its documents on constants and their suffixes.

use nczarr_model::{ErrorKind, NcType, Result};

use super::cursor::{CdlCursor, in_name};

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Constant {
    /// An integer, with the type of its suffix.
    Int { value: i128, ty: Option<NcType> },
    /// A float as text, without its suffix: a decimal number, `nan` or `infinity` with a sign; and its type.
    Float { text: String, ty: NcType },
    /// A byte in apostrophes.
    Char(u8),
    /// Text in quotation marks.
    Text(Vec<u8>),
    /// More than 16 hexadecimal digits.
    Opaque(Vec<u8>),
    /// A member of an enumeration, by its path.
    Name(Vec<String>),
    /// `_`: the fill value.
    Fill,
    /// `NIL`: a null string.
    Nil,
    /// Constants in braces.
    List(Vec<Placed>),
}

/// A constant and its offset.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Placed {
    pub(crate) constant: Constant,
    /// Byte offset.
    pub(crate) at: usize,
}

/// Most levels of nested lists.
const MAX_DEPTH: usize = 64;

/// Parses constants separated by commas.
pub(crate) fn list(cursor: &mut CdlCursor<'_>) -> Result<Vec<Placed>> {
    nested_list(cursor, 0)
}

fn nested_list(cursor: &mut CdlCursor<'_>, depth: usize) -> Result<Vec<Placed>> {
    let mut list = Vec::new();
    loop {
        list.push(nested(cursor, depth)?);
        if !cursor.take(b',') {
            return Ok(list);
        }
    }
}

/// Parses one constant.
///
/// # Errors
/// `NC_EINVAL` if there is none; `NC_ERANGE` for an integer of more than 64 bits.
pub(crate) fn one(cursor: &mut CdlCursor<'_>) -> Result<Placed> {
    nested(cursor, 0)
}

fn nested(cursor: &mut CdlCursor<'_>, depth: usize) -> Result<Placed> {
    let first = cursor.peek();
    let at = cursor.at();
    let constant = match first {
        Some(b'"') => Constant::Text(cursor.quoted()?),
        Some(b'\'') => Constant::Char(cursor.character()?),
        Some(b'{') => {
            cursor.bump();
            if depth == MAX_DEPTH {
                return Err(ErrorKind::Inval.context(format!("braces nested deeper than {MAX_DEPTH}")));
            }
            let list = if cursor.peek() == Some(b'}') { Vec::new() } else { nested_list(cursor, depth + 1)? };
            cursor.expect(b'}', "after a list")?;
            Constant::List(list)
        }
        Some(b'0'..=b'9' | b'+' | b'-' | b'.') => number(cursor)?,
        _ if cursor.at_name() => word(cursor)?,
        _ => return Err(cursor.unexpected("a value")),
    };
    Ok(Placed { constant, at })
}

/// Returns the token of a number: all bytes that may be part of one.
pub(crate) fn number_token<'t>(cursor: &mut CdlCursor<'t>) -> &'t [u8] {
    let from = cursor.at();
    let hexadecimal = matches!(strip_sign(cursor.rest()), [b'0', b'x' | b'X', ..]);
    let mut last = 0;
    while let Some(byte) = cursor.byte() {
        let part = match byte {
            b'+' | b'-' => cursor.at() == from || (matches!(last, b'e' | b'E') && !hexadecimal),
            byte => byte.is_ascii_alphanumeric() || byte == b'.',
        };
        if !part {
            break;
        }
        last = byte;
        cursor.bump();
    }
    cursor.since(from)
}

fn number(cursor: &mut CdlCursor<'_>) -> Result<Constant> {
    let token = number_token(cursor);
    parse_number(token).ok_or_else(|| {
        ErrorKind::Inval.context(format!("{:?} is not a number", String::from_utf8_lossy(token)))
    })?
}

fn strip_sign(token: &[u8]) -> &[u8] {
    match token {
        [b'+' | b'-', rest @ ..] => rest,
        all => all,
    }
}

/// Parses a number; `None` if it is not one.
fn parse_number(token: &[u8]) -> Option<Result<Constant>> {
    let negative = token.first() == Some(&b'-');
    let digits = strip_sign(token);
    let hexadecimal = matches!(digits, [b'0', b'x' | b'X', ..]);
    let range =
        || ErrorKind::Range.context(format!("{} does not fit 64 bits", String::from_utf8_lossy(token)));
    if hexadecimal {
        let end = digits[2..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count() + 2;
        let (body, suffix) = digits.split_at(end);
        if body.len() > 18 && suffix.is_empty() && token == digits {
            return Some(Ok(Constant::Opaque(opaque(&body[2..]))));
        }
        // Here `b` is a digit, not the suffix of a byte.
        let ty = suffix_type(suffix)?;
        let value = i128::from_str_radix(std::str::from_utf8(&body[2..]).ok()?, 16).ok()?;
        return Some(int(if negative { -value } else { value }, ty).ok_or_else(range));
    }
    let end = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (body, suffix) = digits.split_at(end);
    if end > 0
        && let Some(ty) = suffix_type(suffix)
    {
        let text = std::str::from_utf8(body).ok()?;
        let octal =
            body.len() > 1 && body[0] == b'0' && body.iter().all(|digit| (b'0'..=b'7').contains(digit));
        let value = if octal { i128::from_str_radix(text, 8) } else { text.parse() };
        let value = value.ok().and_then(|value| int(if negative { -value } else { value }, ty));
        // The printer also writes large floats without a point. Integer types refuse such a value.
        if value.is_none() && ty.is_none() && !octal {
            return float(body, negative, NcType::Double).map(Ok);
        }
        return Some(value.ok_or_else(range));
    }
    let (text, ty) = match digits {
        [text @ .., b'f' | b'F'] => (text, NcType::Float),
        [text @ .., b'd' | b'D' | b'L' | b'l'] => (text, NcType::Double),
        text => (text, NcType::Double),
    };
    float(text, negative, ty).map(Ok)
}

/// Parses a float without its sign and suffix.
fn float(text: &[u8], negative: bool, ty: NcType) -> Option<Constant> {
    let known =
        text.eq_ignore_ascii_case(b"nan") || text.eq_ignore_ascii_case(b"infinity") || is_decimal(text);
    let text = std::str::from_utf8(text).ok().filter(|_| known)?;
    Some(Constant::Float { text: format!("{}{text}", if negative { "-" } else { "" }), ty })
}

/// `12`, `1.`, `.5`, `1e3`, `1.5e-3`.
fn is_decimal(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(text);
    let mut rest = &text[whole..];
    let mut part = 0;
    if let [b'.', after @ ..] = rest {
        part = digits(after);
        rest = &after[part..];
    }
    let exponent = match rest {
        [] => true,
        [b'e' | b'E', power @ ..] => {
            let power = strip_sign(power);
            !power.is_empty() && digits(power) == power.len()
        }
        _ => false,
    };
    whole + part > 0 && exponent
}

/// Parses a type suffix: `Some(None)` if it is empty, `None` if it is invalid.
fn suffix_type(suffix: &[u8]) -> Option<Option<NcType>> {
    let lower = suffix.to_ascii_lowercase();
    Some(Some(match lower.as_slice() {
        b"" => return Some(None),
        b"b" => NcType::Byte,
        b"s" => NcType::Short,
        b"l" => NcType::Int,
        b"ll" => NcType::Int64,
        b"ub" => NcType::UByte,
        b"us" => NcType::UShort,
        b"u" | b"ui" | b"ul" => NcType::UInt,
        b"ull" => NcType::UInt64,
        _ => return None,
    }))
}

/// Checks that an integer fits in 64 bits.
fn int(value: i128, ty: Option<NcType>) -> Option<Constant> {
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value).then_some(Constant::Int { value, ty })
}

/// Returns the bytes of hexadecimal digits. A single last digit is the upper half of a byte.
pub(crate) fn opaque(digits: &[u8]) -> Vec<u8> {
    let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
    digits.chunks(2).map(|pair| value(pair[0]) << 4 | pair.get(1).map_or(0, |&digit| value(digit))).collect()
}

/// Parses a word: a float without digits, a fill value, a null string, or a member of an enumeration.
fn word(cursor: &mut CdlCursor<'_>) -> Result<Constant> {
    let token: &[u8] = {
        let rest = cursor.rest();
        &rest[..rest.iter().take_while(|&&byte| in_name(byte)).count()]
    };
    let is_word = match &cursor.rest()[token.len()..] {
        [b'/', b'/' | b'*', ..] => true,
        behind => !matches!(behind, [b'\\' | b'/', ..]),
    };
    let known = match token {
        b"_" => Some(Constant::Fill),
        b"NIL" | b"NULL" | b"nil" | b"null" => Some(Constant::Nil),
        text => special_float(text),
    };
    if let Some(constant) = known.filter(|_| is_word) {
        cursor.seek(cursor.at() + token.len());
        return Ok(constant);
    }
    Ok(Constant::Name(cursor.path("a value")?))
}

/// `NaN`, `NaNf`, `Infinity`, `inff` …
fn special_float(text: &[u8]) -> Option<Constant> {
    let (text, ty) = match text.to_ascii_lowercase().as_slice() {
        b"nan" => ("nan", NcType::Double),
        b"nanf" => ("nan", NcType::Float),
        b"inf" | b"infinity" => ("infinity", NcType::Double),
        b"inff" | b"infinityf" => ("infinity", NcType::Float),
        _ => return None,
    };
    Some(Constant::Float { text: text.to_owned(), ty })
}
